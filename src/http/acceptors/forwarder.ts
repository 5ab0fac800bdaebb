/** An acceptor's side of the requests that the main thread answers: it passes them on, and sends the responses. */
import { AssayError } from '../../base/errors.ts';
import { HTTP_LIMITS } from '../limits.ts';
import { BodyBudget } from '../server/body-budget.ts';
import type {
  ByteSource,
  EventStream,
  ForwardableExchange,
  Handler,
  RefusedRequest,
} from '../server/port.ts';
import { createRouter, type Router } from '../server/router.ts';
import { type Outbox, ownBytes, type RouteBody, type ToAcceptor, type ToMain } from './messages.ts';

/** Interval at which the main thread learns how many bytes of events a slow client has not taken. */
const WAITING_MS = 100;

/** A forwarded request without a response yet. */
interface Forwarded {
  readonly exchange: ForwardableExchange;
  /** Lets the next piece of the body come; null while the main thread has taken all of them. */
  onTaken: (() => void) | null;
}

/** The message types that this class handles. */
export type ForwardedAnswer = Extract<ToAcceptor, { readonly id: number }> & {
  readonly kind: Exclude<Extract<ToAcceptor, { readonly id: number }>['kind'], 'admitted'>;
};

/** A large response, whose bytes the main thread reads when the client can take them. */
class RemoteSource implements ByteSource {
  readonly length: number;
  readonly #pull: () => void;
  readonly #closed: () => void;
  #next: { readonly resolve: (bytes: Uint8Array) => void; readonly reject: (error: unknown) => void } | null =
    null;

  constructor(length: number, pull: () => void, closed: () => void) {
    this.length = length;
    this.#pull = pull;
    this.#closed = closed;
  }

  next(): Promise<Uint8Array> {
    return new Promise((resolve, reject) => {
      this.#next = { resolve, reject };
      this.#pull();
    });
  }

  /** Passes on the bytes that were read; null if they could not be read. */
  received(bytes: Uint8Array | null): void {
    const next = this.#next;
    this.#next = null;
    if (bytes === null)
      next?.reject(new AssayError('INTERNAL', 'The main thread could not read the response.'));
    else next?.resolve(bytes);
  }

  async close(): Promise<void> {
    this.#closed();
  }
}

/** See the module. */
export class Forwarder {
  readonly #outbox: Outbox<ToMain>;
  readonly #bodies: Router<RouteBody>;
  readonly #requests = new Map<number, Forwarded>();
  /** The main thread counts them by accounts: this thread does not know whose a key is. */
  readonly #budget = new BodyBudget();
  readonly #sources = new Map<number, RemoteSource>();
  readonly #streams = new Map<number, EventStream>();
  /** Streams of which a report is due. */
  readonly #reporting = new Set<EventStream>();
  #last = 0;

  constructor(bodies: readonly RouteBody[], outbox: Outbox<ToMain>) {
    this.#outbox = outbox;
    this.#bodies = createRouter(bodies.map((value) => ({ ...value, value })));
  }

  /** Passes a request to the main thread. */
  readonly handler: Handler = (given) => {
    const exchange = given as ForwardableExchange;
    const { method, path } = exchange;
    exchange.keep();
    const id = this.#add(exchange);
    const head = {
      ...{ method, path, query: exchange.query() },
      headers: exchange.keptHeaders(),
      remoteAddress: exchange.remoteAddress(),
    };
    this.#outbox.send({ kind: 'request', id, head });
    const body = this.#bodies.match(method, path, []);
    if (body?.kind === 'whole') {
      const { headers, remoteAddress } = head;
      const sender = headers.get('authorization') ?? headers.get('cookie') ?? remoteAddress;
      const share = this.#budget.share(sender, HTTP_LIMITS.heldBodyBytesOfAccount);
      exchange.readBody(
        body.bytesMax,
        (bytes) =>
          this.#outbox.send({
            ...{ kind: 'body', id, bytes: bytes && ownBytes(bytes) },
            hasNoRoom: share.isRefused,
          }),
        share,
      );
    } else if (body?.kind === 'pieces')
      exchange.receiveBody(body.bytesMax, {
        write: (bytes) =>
          new Promise((resolve) => {
            const request = this.#requests.get(id);
            // The client has gone: `end` says so.
            if (request === undefined) return resolve();
            request.onTaken = resolve;
            this.#outbox.send({ kind: 'piece', id, bytes: ownBytes(bytes) });
          }),
        // If the client has gone, pieces were dropped: what the main thread has is not the whole.
        end: (how) => this.#outbox.send({ kind: 'ended', id, how: this.#requests.has(id) ? how : 'gone' }),
      });
  };

  /** Passes on a request that is refused before any handler. */
  refused(request: RefusedRequest, exchange: ForwardableExchange): void {
    const id = this.#add(exchange);
    this.#outbox.send({ kind: 'refused', id, request });
  }

  #add(exchange: ForwardableExchange): number {
    const id = ++this.#last;
    this.#requests.set(id, { exchange, onTaken: null });
    exchange.onGone(() => this.#gone(id));
    return id;
  }

  /** Handles a message of the main thread about a forwarded request. */
  receive(message: ForwardedAnswer): void {
    const { id } = message;
    switch (message.kind) {
      case 'taken':
        this.#taken(id);
        return;
      case 'bytes':
        this.#sources.get(id)?.received(message.bytes);
        return;
      case 'event':
        this.#sendEvent(id, message.event);
        return;
      case 'close stream':
        this.#streams.get(id)?.close(message.reason);
        return;
    }
    const exchange = this.#requests.get(id)?.exchange;
    this.#requests.delete(id);
    switch (message.kind) {
      case 'reply':
        exchange?.reply(message.status, message.headers, message.body);
        return;
      case 'drop':
        exchange?.drop();
        return;
      case 'large':
        if (exchange === undefined) this.#outbox.send({ kind: 'sent', id });
        else this.#sendLarge(id, exchange, message);
        return;
      case 'open stream':
        if (exchange === undefined) this.#outbox.send({ kind: 'stream ended', id });
        else this.#openStream(id, exchange, message.headers);
    }
  }

  #gone(id: number): void {
    this.#outbox.send({ kind: 'gone', id });
    // The intake of the body then ends, and says so.
    this.#taken(id);
    this.#requests.delete(id);
  }

  #taken(id: number): void {
    const request = this.#requests.get(id);
    const onTaken = request?.onTaken ?? null;
    if (request !== undefined) request.onTaken = null;
    onTaken?.();
  }

  #sendLarge(
    id: number,
    exchange: ForwardableExchange,
    { status, headers, length }: Extract<ToAcceptor, { readonly kind: 'large' }>,
  ): void {
    const source = new RemoteSource(
      length,
      () => this.#outbox.send({ kind: 'pull', id }),
      () => {
        this.#sources.delete(id);
        this.#outbox.send({ kind: 'sent', id });
      },
    );
    this.#sources.set(id, source);
    // The main thread knows the error of its source, and reports it; the connection is closed already.
    exchange.replyBytes(status, headers, source).catch(() => {});
  }

  #openStream(id: number, exchange: ForwardableExchange, headers: string): void {
    const stream = exchange.openStream(headers);
    this.#streams.set(id, stream);
    stream.onEnd(() => {
      this.#streams.delete(id);
      this.#outbox.send({ kind: 'stream ended', id });
    });
  }

  #sendEvent(id: number, event: Extract<ToAcceptor, { readonly kind: 'event' }>['event']): void {
    const stream = this.#streams.get(id);
    if (stream === undefined) return;
    stream.send(event);
    this.#reportWaiting(id, stream, eventBytes(event));
  }

  /** Tells the main thread how much of a stream waits for its client, and again until nothing waits. */
  #reportWaiting(id: number, stream: EventStream, taken: number): void {
    const waiting = stream.waitingBytes;
    this.#outbox.send({ kind: 'events', id, taken, waiting });
    if (waiting === 0 || this.#reporting.has(stream)) return;
    this.#reporting.add(stream);
    const again = setTimeout(() => {
      this.#reporting.delete(stream);
      if (this.#streams.get(id) === stream) this.#reportWaiting(id, stream, 0);
    }, WAITING_MS);
    again.unref();
  }
}

/** Size of an event between the threads, as both of them count it. */
export const eventBytes = ({ id, event, data }: { id: string; event: string; data: string }): number =>
  id.length + event.length + Buffer.byteLength(data);
