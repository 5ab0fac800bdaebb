/**
 * JSON-RPC 2.0 over one WebSocket: questions matched to answers by id, and subscriptions that outlive cuts. Connects when first
 * needed; a cut ends the questions under way, and the next one connects again.
 */
import { type Agent, WebSocket } from 'undici';
import { AssayError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Logger } from '../../base/log.ts';
import { checkOutboundUrl, type OutboundPolicy } from '../../base/outbound.ts';
import { asObject, type Json, type JsonObject, parseExactJson } from './exact-json.ts';

/** A subscription as nodes offer them: `subscribe` answers an id, which each of its notices bears. */
export interface Subscription {
  readonly subscribe: string;
  /** Takes the id. */
  readonly unsubscribe: string;
  readonly params: readonly Json[];
}

export interface Notices {
  /** The `params` of a notice of this subscription. */
  onNotice(params: Json): void;
  /** The node took the subscription: at the beginning, and again after each cut. What happened before is not told. */
  onStart?(): void;
}

export interface JsonRpcSocket {
  /** Whether the line stands. */
  readonly isOpen: boolean;
  /** Sends a message and resolves with the text of the answer that bears its id. Throws CHAIN_UNREACHABLE where the line is cut. */
  exchange(id: number, message: string, signal: AbortSignal): Promise<string>;
  /** Subscribes now and after each cut. Returns the way to end it. */
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
  /** The node's name for it on the line that stands; null until it is told. */
  remoteId: string | null;
}

/** Ids of subscriptions are counted from here, those of questions from 1: they never meet. */
const SUBSCRIPTION_IDS_FROM = 2 ** 52;
/** A first message of a subscription after a cut waits this long at first, doubled up to the longest outage. */
const RECONNECT_MS_MIN = 250;

export function openJsonRpcSocket(
  options: JsonRpcSocketOptions,
  deps: { readonly agent: Agent; readonly log: Logger },
): JsonRpcSocket {
  const { host } = new URL(options.url);
  const pending = new Map<number, Pending>();
  const listeners = new Set<Listener>();
  /** Subscriptions that were asked for and not answered yet, by the id of the question. */
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
    // Whoever waits for the line hears of it there.
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

  /** The answer to a question for a subscription: its id, or why the node does not offer it. */
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
      // Already open: the subscriptions of a new line are sent when it opens.
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
