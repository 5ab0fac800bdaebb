/**
 * Signatures of receipts with one key. A few at a time are made on the threads of the pool of Node. There, each costs the thread of the
 * requests some 25 µs, so while many receipts are issued, their texts are passed together to one thread that only signs.
 */
import { createPrivateKey, type JsonWebKey, type KeyObject, sign } from 'node:crypto';
import { Worker } from 'node:worker_threads';
import { workerUrl } from '../base/paths.ts';
import { whenEnded } from '../base/threads.ts';
import { RECEIPT_LIMITS } from './limits.ts';
import { type SigningJob, type SigningMessage, SigningSlot } from './signing-thread.ts';

/**
 * Objects of a key, used in turn. node:crypto locks an object while a thread signs with it, and the thread of the requests would wait
 * for the lock when it starts the next signature. The pool has four threads; with 16 objects, few starts find a locked one.
 */
const KEY_OBJECTS = 16;
/** Groups that the thread has at the same time. */
const SENT_MAX = 2;

/** A call that waits for its signature. */
interface Waiting {
  readonly resolve: (signature: Uint8Array) => void;
  readonly reject: (error: unknown) => void;
}

/** A group of texts, and the calls that wait for their signatures. */
interface Group {
  readonly slot: SigningSlot;
  readonly calls: Waiting[];
}

/** Signs texts with one key. */
export class Signatures {
  readonly #keys: readonly KeyObject[];
  #nextKey = 0;
  readonly #memory = SigningSlot.memory();
  readonly #free: Group[] = SigningSlot.all(this.#memory).map((slot) => ({ slot, calls: [] }));
  /** Texts of this turn of the event loop, and of many turns while the thread works: the more a message has, the less each of them costs. */
  #open: Group | null = null;
  #isPlanned = false;
  /** Groups that the thread has, by number. */
  readonly #sent = new Map<number, Group>();
  #thread: Worker | null = null;
  #isClosed = false;

  constructor(jwk: JsonWebKey) {
    this.#keys = Array.from({ length: KEY_OBJECTS }, () => createPrivateKey({ key: jwk, format: 'jwk' }));
  }

  /** Returns the signature of a text. The bytes are copied before it returns. */
  sign(bytes: Uint8Array): Promise<Uint8Array> {
    return new Promise((resolve, reject) => {
      const call = { resolve, reject };
      this.#open ??= this.#free.pop() ?? null;
      // A text that does not fit is larger than any receipt, or one of hundreds that wait.
      if (this.#open === null || !this.#open.slot.add(bytes)) return this.#signHere(bytes, call);
      this.#open.calls.push(call);
      if (this.#isPlanned) return;
      this.#isPlanned = true;
      // After all requests that have arrived.
      setImmediate(() => {
        this.#isPlanned = false;
        this.#start();
      });
    });
  }

  #start(): void {
    const group = this.#open;
    if (group === null || this.#sent.size >= SENT_MAX) return;
    this.#open = null;
    const isSmall = group.calls.length < RECEIPT_LIMITS.signedByThreadMin && this.#sent.size === 0;
    if (isSmall || this.#isClosed) {
      this.#signGroupHere(group);
      return;
    }
    this.#thread ??= this.#startThread();
    const { number, count } = group.slot;
    this.#sent.set(number, group);
    if (this.#sent.size === 1) this.#thread.ref();
    this.#thread.postMessage({ slot: number, count } satisfies SigningMessage);
  }

  #startThread(): Worker {
    const [key] = this.#keys as [KeyObject];
    const thread = new Worker(workerUrl('signatures'), {
      workerData: { memory: this.#memory, key } satisfies SigningJob,
      execArgv: [],
    });
    thread.on('message', ({ slot }: NonNullable<SigningMessage>) => this.#onSigned(slot));
    // Without a listener, the error would end the process. `exit` follows.
    thread.on('error', () => {});
    thread.on('exit', () => this.#onExit(thread));
    return thread;
  }

  #onSigned(number: number): void {
    const group = this.#sent.get(number);
    if (group === undefined) return;
    this.#sent.delete(number);
    // An idle thread does not keep the process running.
    if (this.#sent.size === 0) this.#thread?.unref();
    for (const [place, { resolve }] of group.calls.entries()) resolve(group.slot.signature(place));
    this.#release(group);
    this.#start();
  }

  /** The next group starts another thread. */
  #onExit(thread: Worker): void {
    if (this.#thread !== thread) return;
    this.#thread = null;
    const lost = [...this.#sent.values()];
    this.#sent.clear();
    for (const group of lost) this.#signGroupHere(group);
    this.#start();
  }

  #signGroupHere(group: Group): void {
    const { slot, calls } = group;
    slot.each(slot.count, (text, number) => this.#signHere(text, calls[number] as Waiting));
    this.#release(group);
  }

  #release(group: Group): void {
    group.slot.clear();
    group.calls.length = 0;
    this.#free.push(group);
  }

  /** Signs a text on a thread of the pool of Node, which gets a copy of the bytes. */
  #signHere(bytes: Uint8Array, { resolve, reject }: Waiting): void {
    const key = this.#keys[this.#nextKey++ % KEY_OBJECTS] as KeyObject;
    sign(null, bytes, key, (error, signed) => {
      if (error === null) resolve(signed);
      else reject(error);
    });
  }

  /** Ends the thread. Texts that come later are signed all the same. */
  async close(): Promise<void> {
    this.#isClosed = true;
    const thread = this.#thread;
    if (thread === null) return;
    thread.ref();
    thread.postMessage(null);
    await whenEnded(thread);
  }
}
