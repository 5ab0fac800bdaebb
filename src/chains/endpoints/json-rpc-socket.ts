/**
 * JSON-RPC 2.0 over one WebSocket: matches responses to requests by id, and restores subscriptions after a lost connection. It connects
 * when first needed. A lost connection fails the requests in flight, and the next request connects again.
 */
import { type Agent, WebSocket } from 'undici';
import { AssayError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Logger } from '../../base/log.ts';
import { checkOutboundUrl, type OutboundPolicy } from '../../base/outbound.ts';
import { asObject, type Json, type JsonObject, parseExactJson } from './exact-json.ts';

/** A subscription as nodes offer it: `subscribe` returns an id, and each of its notifications carries that id. */
export interface Subscription {
  readonly subscribe: string;
  /** Takes the id as its parameter. */
  readonly unsubscribe: string;
  readonly params: readonly Json[];
}

export interface Notices {
  /** Receives the `params` of a notification of this subscription. */
  onNotice(params: Json): void;
  /** Called when the node has accepted the subscription: first and after each reconnection. Earlier events are not reported. */
  onStart?(): void;
}

export interface JsonRpcSocket {
  /** Whether the connection is open. */
  readonly isOpen: boolean;
  /**
   * Sends a message and resolves with the text of the response that has its id.
   *
   * @throws CHAIN_UNREACHABLE if the connection is lost
   */
  exchange(id: number, message: string, signal: AbortSignal): Promise<string>;
  /**
   * Subscribes now and after each reconnection.
   *
   * @returns a function that ends the subscription
   */
  listen(subscription: Subscription, notices: Notices): () => void;
  close(): void;
}

export interface JsonRpcSocketOptions {
  readonly url: string;
  readonly authorization: string | null;
  readonly policy: OutboundPolicy;
}

interface Pending {
  readonly resolve: (text: string) => void;
  readonly reject: (error: Error) => void;
}

interface Listener {
  readonly subscription: Subscription;
  readonly notices: Notices;
  /** The node's id of the subscription on the current connection; null until the node returns it. */
  remoteId: string | null;
}

/** First id of subscription requests; other requests count from 1, so the ids never collide. */
const SUBSCRIPTION_IDS_FROM = 2 ** 52;
/** Initial delay before a reconnection for subscriptions; it doubles up to `endpointDownMsMax`. */
const RECONNECT_MS_MIN = 250;

/** Creates a client for one WebSocket; it connects on first use. */
export function openJsonRpcSocket(
  options: JsonRpcSocketOptions,
  deps: { readonly agent: Agent; readonly log: Logger },
): JsonRpcSocket {
  const { host } = new URL(options.url);
  const pending = new Map<number, Pending>();
  const listeners = new Set<Listener>();
  /** Subscription requests without a response yet, by request id. */
  const subscribing = new Map<number, Listener>();
  let line: { readonly socket: WebSocket; readonly opened: Promise<void> } | null = null;
  let nextSubscriptionId = SUBSCRIPTION_IDS_FROM;
  let reconnect: NodeJS.Timeout | null = null;
  let reconnectMs = RECONNECT_MS_MIN;
  let isClosed = false;

  const cut = (): AssayError => new AssayError('CHAIN_UNREACHABLE', `The WebSocket to ${host} was cut.`);

  function connect(): { readonly socket: WebSocket; readonly opened: Promise<void> } {
    if (isClosed) throw cut();
    if (line !== null) return line;
    checkOutboundUrl(new URL(options.url.replace(/^ws/, 'http')), options.policy);
    const socket = new WebSocket(options.url, {
      dispatcher: deps.agent,
      ...(options.authorization === null ? {} : { headers: { authorization: options.authorization } }),
    });
    const opened = new Promise<void>((resolve, reject) => {
      socket.addEventListener('open', () => resolve());
      socket.addEventListener('error', (event) =>
        reject(
          new AssayError('CHAIN_UNREACHABLE', `The WebSocket to ${host} could not be opened.`, {
            cause: event.error,
          }),
        ),
      );
      socket.addEventListener('close', () => reject(cut()));
    });
    const mine = { socket, opened };
    line = mine;
    socket.addEventListener('message', (event) => receive(event.data));
    socket.addEventListener('close', () => lost(mine));
    // Callers that await `opened` receive the error there.
    opened.then(subscribeAll, () => lost(mine));
    return mine;
  }

  function lost(which: { readonly socket: WebSocket }): void {
    if (line?.socket !== which.socket) return;
    line = null;
    for (const { reject } of pending.values()) reject(cut());
    pending.clear();
    subscribing.clear();
    for (const listener of listeners) listener.remoteId = null;
    if (isClosed || listeners.size === 0 || reconnect !== null) return;
    reconnect = setTimeout(() => {
      reconnect = null;
      if (!isClosed && listeners.size > 0) connect();
    }, reconnectMs);
    reconnect.unref();
    reconnectMs = Math.min(reconnectMs * 2, LIMITS.endpointDownMsMax);
  }

  function subscribeAll(): void {
    reconnectMs = RECONNECT_MS_MIN;
    for (const listener of listeners) subscribe(listener);
  }

  function subscribe(listener: Listener): void {
    const { subscribe: method, params } = listener.subscription;
    const id = nextSubscriptionId++;
    subscribing.set(id, listener);
    line?.socket.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
  }

  function unsubscribe({ subscription, remoteId }: Listener): void {
    if (remoteId === null || line?.socket.readyState !== line?.socket.OPEN) return;
    const params = [/^\d{1,15}$/.test(remoteId) ? Number(remoteId) : remoteId];
    const message = { jsonrpc: '2.0', id: nextSubscriptionId++, method: subscription.unsubscribe, params };
    line?.socket.send(JSON.stringify(message));
  }

  /** Handles the response to a subscription request: the subscription id, or the reason why the node does not offer it. */
  function subscribed(listener: Listener, { result, error }: JsonObject): void {
    if (typeof result !== 'string' && typeof result !== 'number') {
      const reason = JSON.stringify(error ?? null).slice(0, 200);
      deps.log.warn({ host, method: listener.subscription.subscribe, reason }, 'a node offers no notices');
      return;
    }
    listener.remoteId = String(result);
    if (listeners.has(listener)) listener.notices.onStart?.();
    else unsubscribe(listener);
  }

  function receive(data: unknown): void {
    if (typeof data !== 'string') return;
    let message: JsonObject;
    try {
      message = asObject(parseExactJson(data), 'message');
    } catch (error) {
      deps.log.warn({ host, error: String(error) }, 'a WebSocket sent what is no JSON-RPC');
      line?.socket.close();
      return;
    }
    const { id, method, params } = message;
    if (typeof id === 'number') {
      const listener = subscribing.get(id);
      subscribing.delete(id);
      if (listener !== undefined) subscribed(listener, message);
      pending.get(id)?.resolve(data);
      pending.delete(id);
    } else if (typeof method === 'string' && params !== undefined) {
      const about = String((params as { readonly subscription?: Json } | null)?.subscription);
      for (const { remoteId, notices } of listeners) if (remoteId === about) notices.onNotice(params);
    }
  }

  return {
    get isOpen() {
      return line !== null && line.socket.readyState === line.socket.OPEN;
    },
    async exchange(id, message, signal) {
      const { socket, opened } = connect();
      await opened;
      signal.throwIfAborted();
      return new Promise((resolve, reject) => {
        const onAbort = (): void => {
          pending.delete(id);
          reject(signal.reason);
        };
        const settle =
          <T>(done: (value: T) => void) =>
          (value: T): void => {
            signal.removeEventListener('abort', onAbort);
            done(value);
          };
        signal.addEventListener('abort', onAbort, { once: true });
        pending.set(id, { resolve: settle(resolve), reject: settle(reject) });
        socket.send(message);
      });
    },
    listen(subscription, notices) {
      const listener: Listener = { subscription, notices, remoteId: null };
      listeners.add(listener);
      const { socket } = connect();
      // If the connection is already open, subscribe now; otherwise `subscribeAll` does it when it opens.
      if (socket.readyState === socket.OPEN) subscribe(listener);
      return () => {
        if (listeners.delete(listener)) unsubscribe(listener);
      };
    },
    close() {
      isClosed = true;
      if (reconnect !== null) clearTimeout(reconnect);
      line?.socket.close();
      const open = line;
      if (open !== null) lost(open);
    },
  };
}
