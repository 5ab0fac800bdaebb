/**
 * JSON-RPC 2.0 over one WebSocket: matches responses to requests by id, and restores subscriptions after a lost connection. It connects
 * when first needed. A lost connection fails the requests in flight, and the next request connects again.
 */
import type { Agent, WebSocket } from 'undici';
import { AssayError } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import { checkOutboundUrl, type OutboundPolicy } from '../../base/outbound.ts';
import { undici } from '../../base/undici.ts';
import { asObject, type Json, type JsonObject, parseExactJson } from './exact-json.ts';
import { ENDPOINT_LIMITS } from './limits.ts';

/** A subscription as nodes offer it: `subscribe` returns an id, and each of its notifications carries that id. */
export interface Subscription {
  readonly subscribe: string;
  /** Takes the id as its parameter. */
  readonly unsubscribe: string;
  readonly params: readonly Json[];
}

export interface NotificationHandlers {
  /** Receives the `params` of a notification of this subscription. */
  onNotification(params: Json): void;
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
  listen(subscription: Subscription, notices: NotificationHandlers): () => void;
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
  readonly notices: NotificationHandlers;
  /** The node's id of the subscription on the current connection; null until the node returns it. */
  remoteId: string | null;
}

/** First id of subscription requests; other requests count from 1, so the ids never collide. */
const SUBSCRIPTION_IDS_FROM = 2 ** 52;
/** Initial delay before a reconnection for subscriptions; it doubles up to `endpointDownMsMax`. */
const RECONNECT_MS_MIN = 250;

interface Line {
  readonly socket: WebSocket;
  readonly opened: Promise<void>;
}

/** A client for one WebSocket. */
class UndiciJsonRpcSocket implements JsonRpcSocket {
  readonly #options: JsonRpcSocketOptions;
  readonly #deps: { readonly agent: Agent; readonly log: Logger };
  readonly #host: string;

  readonly #pending = new Map<number, Pending>();

  readonly #listeners = new Set<Listener>();

  /** Subscription requests without a response yet, by request id. */
  readonly #subscribing = new Map<number, Listener>();
  #line: Line | null = null;
  #nextSubscriptionId = SUBSCRIPTION_IDS_FROM;
  #reconnect: NodeJS.Timeout | null = null;
  #reconnectMs = RECONNECT_MS_MIN;
  #isClosed = false;

  constructor(options: JsonRpcSocketOptions, deps: { readonly agent: Agent; readonly log: Logger }) {
    this.#options = options;
    this.#deps = deps;
    this.#host = new URL(options.url).host;
  }

  #cut(): AssayError {
    return new AssayError('CHAIN_UNREACHABLE', `${this.#host}: the WebSocket connection was lost.`);
  }

  #connect(): Line {
    if (this.#isClosed) throw this.#cut();
    if (this.#line !== null) return this.#line;
    checkOutboundUrl(new URL(this.#options.url.replace(/^ws/, 'http')), this.#options.policy);
    const socket = new (undici().WebSocket)(this.#options.url, {
      dispatcher: this.#deps.agent,
      ...(this.#options.authorization === null
        ? {}
        : { headers: { authorization: this.#options.authorization } }),
    });
    const opened = new Promise<void>((resolve, reject) => {
      socket.addEventListener('open', () => resolve());
      socket.addEventListener('error', (event) =>
        reject(
          new AssayError(
            'CHAIN_UNREACHABLE',
            `${this.#host}: the WebSocket connection could not be opened.`,
            {
              cause: event.error,
            },
          ),
        ),
      );
      socket.addEventListener('close', () => reject(this.#cut()));
    });
    const mine: Line = { socket, opened };
    this.#line = mine;
    socket.addEventListener('message', (event) => this.#receive(event.data));
    socket.addEventListener('close', () => this.#lost(mine));
    // Callers that await `opened` receive the error there.
    opened.then(
      () => this.#subscribeAll(),
      () => this.#lost(mine),
    );
    return mine;
  }

  #lost(which: { readonly socket: WebSocket }): void {
    if (this.#line?.socket !== which.socket) return;
    this.#line = null;
    for (const { reject } of this.#pending.values()) reject(this.#cut());
    this.#pending.clear();
    this.#subscribing.clear();
    for (const listener of this.#listeners) listener.remoteId = null;
    if (this.#isClosed || this.#listeners.size === 0 || this.#reconnect !== null) return;
    this.#reconnect = setTimeout(() => {
      this.#reconnect = null;
      if (!this.#isClosed && this.#listeners.size > 0) this.#connect();
    }, this.#reconnectMs);
    this.#reconnect.unref();
    this.#reconnectMs = Math.min(this.#reconnectMs * 2, ENDPOINT_LIMITS.endpointDownMsMax);
  }

  #subscribeAll(): void {
    this.#reconnectMs = RECONNECT_MS_MIN;
    for (const listener of this.#listeners) this.#subscribe(listener);
  }

  #subscribe(listener: Listener): void {
    const { subscribe: method, params } = listener.subscription;
    const id = this.#nextSubscriptionId++;
    this.#subscribing.set(id, listener);
    this.#line?.socket.send(JSON.stringify({ jsonrpc: '2.0', id, method, params }));
  }

  #unsubscribe({ subscription, remoteId }: Listener): void {
    if (remoteId === null || this.#line?.socket.readyState !== this.#line?.socket.OPEN) return;
    const params = [/^\d{1,15}$/.test(remoteId) ? Number(remoteId) : remoteId];
    const message = {
      jsonrpc: '2.0',
      id: this.#nextSubscriptionId++,
      method: subscription.unsubscribe,
      params,
    };
    this.#line?.socket.send(JSON.stringify(message));
  }

  /** Handles the response to a subscription request: the subscription id, or the reason why the node does not offer it. */
  #subscribed(listener: Listener, { result, error }: JsonObject): void {
    if (typeof result !== 'string' && typeof result !== 'number') {
      const reason = JSON.stringify(error ?? null).slice(0, 200);
      this.#deps.log.warn(
        { host: this.#host, method: listener.subscription.subscribe, reason },
        'subscription rejected by node',
      );
      return;
    }
    listener.remoteId = String(result);
    if (this.#listeners.has(listener)) listener.notices.onStart?.();
    else this.#unsubscribe(listener);
  }

  #receive(data: unknown): void {
    if (typeof data !== 'string') return;
    let message: JsonObject;
    try {
      message = asObject(parseExactJson(data), 'message');
    } catch (error) {
      this.#deps.log.warn(
        { host: this.#host, error: String(error) },
        'invalid JSON-RPC message, connection closed',
      );
      this.#line?.socket.close();
      return;
    }
    const { id, method, params } = message;
    if (typeof id === 'number') {
      const listener = this.#subscribing.get(id);
      this.#subscribing.delete(id);
      if (listener !== undefined) this.#subscribed(listener, message);
      this.#pending.get(id)?.resolve(data);
      this.#pending.delete(id);
    } else if (typeof method === 'string' && params !== undefined) {
      const about = String((params as { readonly subscription?: Json } | null)?.subscription);
      for (const { remoteId, notices } of this.#listeners)
        if (remoteId === about) notices.onNotification(params);
    }
  }

  get isOpen(): boolean {
    return this.#line !== null && this.#line.socket.readyState === this.#line.socket.OPEN;
  }

  async exchange(id: number, message: string, signal: AbortSignal): Promise<string> {
    const { socket, opened } = this.#connect();
    await opened;
    signal.throwIfAborted();
    return new Promise((resolve, reject) => {
      const onAbort = (): void => {
        this.#pending.delete(id);
        reject(signal.reason);
      };
      const settle =
        <T>(done: (value: T) => void) =>
        (value: T): void => {
          signal.removeEventListener('abort', onAbort);
          done(value);
        };
      signal.addEventListener('abort', onAbort, { once: true });
      this.#pending.set(id, { resolve: settle(resolve), reject: settle(reject) });
      socket.send(message);
    });
  }

  listen(subscription: Subscription, notices: NotificationHandlers): () => void {
    const listener: Listener = { subscription, notices, remoteId: null };
    this.#listeners.add(listener);
    const { socket } = this.#connect();
    // If the connection is already open, subscribe now; otherwise `subscribeAll` does it when it opens.
    if (socket.readyState === socket.OPEN) this.#subscribe(listener);
    return () => {
      if (this.#listeners.delete(listener)) this.#unsubscribe(listener);
    };
  }

  close(): void {
    this.#isClosed = true;
    if (this.#reconnect !== null) clearTimeout(this.#reconnect);
    this.#line?.socket.close();
    const open = this.#line;
    if (open !== null) this.#lost(open);
  }
}

/** Creates a client for one WebSocket; it connects on first use. */
export function openJsonRpcSocket(
  options: JsonRpcSocketOptions,
  deps: { readonly agent: Agent; readonly log: Logger },
): JsonRpcSocket {
  return new UndiciJsonRpcSocket(options, deps);
}
