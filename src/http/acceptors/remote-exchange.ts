/** The main thread's side of a request that an acceptor has passed on: an exchange like any other for its handler. */
import type { BodyShare } from '../server/body-budget.ts';
import type { HeaderLines } from '../server/header-bytes.ts';
import type { BodyReceiver, ByteSource, EventStream, Exchange } from '../server/port.ts';
import { eventBytes } from './forwarder.ts';
import type { ForwardedHead, ToAcceptor, ToMain } from './messages.ts';

/** A message about one request. */
export type RequestMessage = Extract<
  ToMain,
  {
    readonly kind: 'body' | 'piece' | 'ended' | 'gone' | 'pull' | 'sent' | 'events' | 'stream ended';
  }
>;

type Send = (message: ToAcceptor) => void;
type Ending = Parameters<BodyReceiver['end']>[0];

/** Receives the pieces of a body in order, and its end when they have been taken. */
class RemoteBody {
  readonly #receiver: BodyReceiver;
  readonly #onTaken: () => void;
  #isWriting = false;
  #ending: Ending | null = null;
  #isOver = false;
  #bytesLeft: number;

  constructor(bytesMax: number, receiver: BodyReceiver, onTaken: () => void) {
    this.#bytesLeft = bytesMax;
    this.#receiver = receiver;
    this.#onTaken = onTaken;
  }

  /** The acceptor sends the next piece only after `onTaken`. */
  write(bytes: Uint8Array): void {
    if (this.#isOver) return;
    this.#bytesLeft -= bytes.length;
    if (this.#bytesLeft < 0) {
      this.end('too large');
      return;
    }
    this.#isWriting = true;
    const taken = (): void => {
      this.#isWriting = false;
      if (this.#isOver) return;
      if (this.#ending !== null) this.end(this.#ending);
      else this.#onTaken();
    };
    Promise.resolve(this.#receiver.write(bytes)).then(taken, taken);
  }

  end(how: Ending): void {
    if (this.#isOver) return;
    this.#ending = how;
    if (this.#isWriting) return;
    this.#isOver = true;
    this.#receiver.end(how);
  }

  /** The exchange was answered: the receiver is not called any more. */
  stop(): void {
    this.#isOver = true;
  }
}

/** The main thread's side of a stream of events. */
class RemoteStream implements EventStream {
  readonly #id: number;
  readonly #send: Send;
  readonly #onEnd: (() => void)[] = [];
  #isEnded = false;
  /** Bytes that the acceptor has not received yet, and bytes that wait for the client. */
  #sentBytes = 0;
  #waitingBytes = 0;

  constructor(id: number, send: Send) {
    this.#id = id;
    this.#send = send;
  }

  get waitingBytes(): number {
    return this.#isEnded ? 0 : this.#sentBytes + this.#waitingBytes;
  }

  send(event: { readonly id: string; readonly event: string; readonly data: string }): boolean {
    if (this.#isEnded) return false;
    this.#sentBytes += eventBytes(event);
    this.#send({ kind: 'event', id: this.#id, event });
    return true;
  }

  close(reason: string): void {
    if (this.#isEnded) return;
    this.#send({ kind: 'close stream', id: this.#id, reason });
    this.ended();
  }

  onEnd(listener: () => void): void {
    if (this.#isEnded) listener();
    else this.#onEnd.push(listener);
  }

  taken(bytes: number, waiting: number): void {
    this.#sentBytes -= bytes;
    this.#waitingBytes = waiting;
  }

  ended(): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    for (const listener of this.#onEnd.splice(0)) listener();
  }
}

/** See the module. */
export class RemoteExchange implements Exchange {
  readonly method: string;
  readonly path: string;
  readonly params: string[] = [];
  readonly #id: number;
  readonly #head: ForwardedHead;
  readonly #send: Send;
  /** Called when no more messages of the acceptor can follow. */
  readonly #forget: () => void;
  #isGone = false;
  #isReplied = false;
  /** The body that came before the handler asked for it; undefined before it came. */
  #wholeBody: Uint8Array | null | undefined;
  #onBody: ((body: Uint8Array | null) => void) | null = null;
  /** What its body holds; null before `readBody`. */
  #share: BodyShare | null = null;
  /** Whether the acceptor had no room for the body. */
  #hasNoRoom = false;
  /** Messages about a body that came before the handler asked for it. At most one piece, and the end. */
  #early: RequestMessage[] = [];
  #body: RemoteBody | null = null;
  #large: { readonly pull: () => void; readonly sent: () => void } | null = null;
  #stream: RemoteStream | null = null;

  constructor(id: number, head: ForwardedHead, send: Send, forget: () => void) {
    this.method = head.method;
    this.path = head.path;
    this.#id = id;
    this.#head = head;
    this.#send = send;
    this.#forget = forget;
  }

  query(): string {
    return this.#head.query;
  }

  header(name: string): string {
    return this.#head.headers.get(name) ?? '';
  }

  optionalHeader(name: string): string | null {
    return this.#head.headers.get(name) ?? null;
  }

  keep(): void {}

  remoteAddress(): string {
    return this.#head.remoteAddress;
  }

  get isGone(): boolean {
    return this.#isGone;
  }

  readBody(bytesMax: number, onBody: (body: Uint8Array | null) => void, share?: BodyShare): void {
    this.#share = share ?? null;
    this.#onBody = (body) => {
      if (this.#hasNoRoom) share?.refuse();
      const isKept = body !== null && body.length <= bytesMax && share?.take(body.length) !== false;
      onBody(isKept ? body : null);
    };
    if (this.#wholeBody !== undefined) this.#onBody(this.#wholeBody);
  }

  receiveBody(bytesMax: number, receiver: BodyReceiver): void {
    this.#body = new RemoteBody(bytesMax, receiver, () => this.#send({ kind: 'taken', id: this.#id }));
    for (const message of this.#early.splice(0)) this.receive(message);
  }

  reply(status: number, headers: HeaderLines, body: string | Uint8Array): void {
    this.#markReplied();
    const { isGone } = this;
    this.#forget();
    if (isGone) return;
    // The caller may reuse the bytes, and they are sent at the end of this turn.
    const copy = typeof body === 'string' ? body : new Uint8Array(body);
    this.#send({ kind: 'reply', id: this.#id, status, headers: String(headers), body: copy });
  }

  async replyBytes(status: number, headers: string, source: ByteSource): Promise<void> {
    this.#markReplied();
    try {
      if (this.#isGone) return;
      await new Promise<void>((resolve, reject) => {
        const pull = async (): Promise<void> => {
          try {
            const bytes = new Uint8Array(await source.next());
            this.#send({ kind: 'bytes', id: this.#id, bytes });
          } catch (error) {
            this.#send({ kind: 'bytes', id: this.#id, bytes: null });
            reject(error);
          }
        };
        this.#large = { pull: () => void pull(), sent: resolve };
        const { length } = source;
        this.#send({ kind: 'large', id: this.#id, status, headers, length });
      });
    } finally {
      this.#forget();
      await source.close();
    }
  }

  openStream(headers: string): EventStream {
    this.#markReplied();
    const stream = new RemoteStream(this.#id, this.#send);
    if (this.#isGone) {
      stream.ended();
      return stream;
    }
    this.#stream = stream;
    this.#send({ kind: 'open stream', id: this.#id, headers });
    return stream;
  }

  /** Closes the connection without a response. */
  drop(): void {
    this.#forget();
    if (!this.#isReplied) this.#send({ kind: 'drop', id: this.#id });
  }

  /** Handles a message of the acceptor. */
  receive(message: RequestMessage): void {
    switch (message.kind) {
      case 'body':
        this.#hasNoRoom = message.hasNoRoom;
        if (this.#onBody === null) this.#wholeBody = message.bytes;
        else if (!this.#isGone) this.#onBody(message.bytes);
        return;
      case 'piece':
        if (this.#body === null) this.#early.push(message);
        else this.#body.write(message.bytes);
        return;
      case 'ended':
        if (this.#body === null) this.#early.push(message);
        else this.#endBody(this.#body, message.how);
        return;
      case 'gone':
        this.#isGone = true;
        this.#share?.release();
        this.#stream?.ended();
        // The end of a body, or of a large response, follows.
        if (this.#body === null && this.#large === null) this.#forget();
        return;
      case 'pull':
        this.#large?.pull();
        return;
      case 'sent':
        this.#large?.sent();
        return;
      case 'events':
        this.#stream?.taken(message.taken, message.waiting);
        return;
      case 'stream ended':
        this.#forget();
        this.#stream?.ended();
    }
  }

  #endBody(body: RemoteBody, how: Ending): void {
    if (how === 'gone') {
      this.#isGone = true;
      this.#forget();
    }
    body.end(how);
  }

  #markReplied(): void {
    if (this.#isReplied) throw new Error('The exchange already has a response.');
    this.#isReplied = true;
    this.#share?.release();
    this.#body?.stop();
  }
}
