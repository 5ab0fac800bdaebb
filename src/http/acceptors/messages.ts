/** Messages between the main thread and its acceptors. Those of one turn of the event loop are sent together, in their order. */
import type { SharedCounts } from '../../accounts/accounting.ts';
import type { Admission, GateRequest } from '../../accounts/gate.ts';
import type { QuotaMeterName, RateClass } from '../../accounts/plans.ts';
import type { ErrorData } from '../../base/errors.ts';
import type { BodyReceiver, RefusedRequest } from '../server/port.ts';

/** Body of the requests of a route: read whole, or received as it arrives. Routes without a body are not listed. */
export interface RouteBody {
  readonly method: string;
  readonly pattern: string;
  readonly kind: 'whole' | 'pieces';
  readonly bytesMax: number;
}

/** The head of a request that the main thread answers. */
export interface ForwardedHead {
  readonly method: string;
  readonly path: string;
  readonly query: string;
  readonly headers: ReadonlyMap<string, string>;
  readonly remoteAddress: string;
}

/** An admission as data: errors are rebuilt on the other side. */
export type AdmissionData = Omit<Admission, 'refused'> & { readonly refused: ErrorData | null };

/** From an acceptor to the main thread. `id` numbers the forwarded requests of the acceptor. */
export type ToMain =
  | { readonly kind: 'listening' }
  /** The acceptor could not start, or has an error that nothing handles. */
  | { readonly kind: 'failed'; readonly error: ErrorData }
  | { readonly kind: 'request'; readonly id: number; readonly head: ForwardedHead }
  | { readonly kind: 'refused'; readonly id: number; readonly request: RefusedRequest }
  /** The whole body; null if it is too large, or if there is no room for it (`hasNoRoom`). */
  | {
      readonly kind: 'body';
      readonly id: number;
      readonly bytes: Uint8Array | null;
      readonly hasNoRoom: boolean;
    }
  /** A piece of a body. The next one is sent after the main thread has taken this one. */
  | { readonly kind: 'piece'; readonly id: number; readonly bytes: Uint8Array }
  | { readonly kind: 'ended'; readonly id: number; readonly how: Parameters<BodyReceiver['end']>[0] }
  /** The client disconnected before it got a response. */
  | { readonly kind: 'gone'; readonly id: number }
  /** The client can take the next bytes of a large response. */
  | { readonly kind: 'pull'; readonly id: number }
  /** A large response was handed to the socket, or will never be. */
  | { readonly kind: 'sent'; readonly id: number }
  /** `taken` bytes of events have reached the acceptor, and `waiting` bytes wait for the client. */
  | { readonly kind: 'events'; readonly id: number; readonly taken: number; readonly waiting: number }
  | { readonly kind: 'stream ended'; readonly id: number }
  | {
      readonly kind: 'admit';
      readonly id: number;
      readonly request: GateRequest;
      readonly monotonicMs: number;
    }
  | { readonly kind: 'lease'; readonly accountId: string; readonly meter: QuotaMeterName }
  | {
      readonly kind: 'give';
      readonly accountId: string;
      readonly meter: QuotaMeterName;
      readonly units: number;
    }
  | {
      readonly kind: 'uncount';
      readonly subject: string;
      readonly rateClass: RateClass;
      readonly second: number;
    };

/** From the main thread to an acceptor. */
export type ToAcceptor =
  | { readonly kind: 'listen'; readonly port: number }
  | { readonly kind: 'reload certificate' }
  | { readonly kind: 'close'; readonly withinMs: number }
  | {
      readonly kind: 'reply';
      readonly id: number;
      readonly status: number;
      readonly headers: string;
      readonly body: string | Uint8Array;
    }
  /** The piece of the body was taken. */
  | { readonly kind: 'taken'; readonly id: number }
  /** The beginning of a large response. */
  | {
      readonly kind: 'large';
      readonly id: number;
      readonly status: number;
      readonly headers: string;
      readonly length: number;
    }
  /** The next bytes of a large response; null if they could not be read. */
  | { readonly kind: 'bytes'; readonly id: number; readonly bytes: Uint8Array | null }
  | { readonly kind: 'open stream'; readonly id: number; readonly headers: string }
  | {
      readonly kind: 'event';
      readonly id: number;
      readonly event: { readonly id: string; readonly event: string; readonly data: string };
    }
  | { readonly kind: 'close stream'; readonly id: number; readonly reason: string }
  /** The handler threw: the connection is closed without a response. */
  | { readonly kind: 'drop'; readonly id: number }
  | {
      readonly kind: 'admitted';
      readonly id: number;
      readonly result: { readonly admission: AdmissionData; readonly counts: SharedCounts } | ErrorData;
    };

/** Bytes of a message in memory of their own: a view would copy all of the memory that it is a part of. */
export const ownBytes = (bytes: Uint8Array): Uint8Array =>
  bytes.byteLength === bytes.buffer.byteLength ? bytes : new Uint8Array(bytes);

interface Port<Message> {
  postMessage(messages: readonly Message[]): void;
}

/** Collects the messages of one turn of the event loop: a message costs as much as a small request. */
export class Outbox<Message> {
  readonly #port: Port<Message>;
  #waiting: Message[] = [];

  constructor(port: Port<Message>) {
    this.#port = port;
  }

  send(message: Message): void {
    if (this.#waiting.push(message) === 1) setImmediate(() => this.flush());
  }

  flush(): void {
    const messages = this.#waiting;
    if (messages.length === 0) return;
    this.#waiting = [];
    this.#port.postMessage(messages);
  }
}
