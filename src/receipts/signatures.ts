/**
 * Signatures of receipts with one key. A few at a time are made at once, in some 30 µs. While many receipts are issued, their texts are passed
 * in groups to one thread that only signs. Without libsodium, a few at a time are made on the threads of the pool of Node: to start one of
 * them there costs the thread of the requests 25 µs.
 */
import { createPrivateKey, type JsonWebKey, type KeyObject, sign } from 'node:crypto';
import { Worker } from 'node:worker_threads';
import { workerUrl } from '../base/paths.ts';
import { whenEnded } from '../base/threads.ts';
import { SIGNATURE_BYTES, type Sodium, sodiumSigner, type TextSigner } from './ed25519.ts';
import { RECEIPT_LIMITS } from './limits.ts';
import { SIGNED_GROUPS, type SigningJob, type SigningMessage } from './signing-thread.ts';
import { groupsIn, groupsMemory, type TextGroup } from './text-groups.ts';

/**
 * Objects of a key, used in turn. node:crypto locks an object while a thread signs with it, and the thread of the requests would wait
 * for the lock when it starts the next signature. The pool has four threads; with 16 objects, few starts find a locked one.
 */
const KEY_OBJECTS = 16;

/** Groups that the thread signs or has next: with fewer, it would wait for the thread of the requests. */
const ENOUGH_SENT = 2;

/** A call that waits for its signature. */
interface Waiting {
  readonly resolve: (signature: Uint8Array) => void;
  readonly reject: (error: unknown) => void;
}

/** A group of texts, and the calls that wait for their signatures. */
interface Group {
  readonly texts: TextGroup;
  readonly calls: Waiting[];
}

export interface SignaturesDeps {
  /** Loads libsodium; throws on a platform without it. */
  readonly load?: () => Sodium;
  /** Starts a thread that signs. */
  readonly newThread?: (job: SigningJob) => Worker;
}

const threadOf = (job: SigningJob): Worker =>
  new Worker(workerUrl('signatures'), { workerData: job, execArgv: [] });

/** Adds a copy of a text to a group. Returns false if it does not fit. */
function addText(group: TextGroup, text: Uint8Array): boolean {
  const from = group.reserve(text.length);
  if (from >= 0) group.texts.set(text, from);
  return from >= 0;
}

/** Signs texts with one key. */
export class Signatures {
  readonly #key: KeyObject;
  /** Null without libsodium: then texts are signed on the pool of Node, with `#poolKeys`. */
  readonly #signer: TextSigner | null;
  readonly #poolKeys: readonly KeyObject[];
  #nextKey = 0;
  readonly #memory = groupsMemory(SIGNED_GROUPS);
  readonly #free: Group[] = groupsIn(this.#memory, SIGNED_GROUPS).map((texts) => ({ texts, calls: [] }));
  /** Texts of this turn of the event loop that no message has yet. */
  #open: Group | null = null;
  #isPlanned = false;
  /** Groups that the thread has, by number. */
  readonly #sent = new Map<number, Group>();
  readonly #newThread: (job: SigningJob) => Worker;
  #thread: Worker | null = null;
  #isClosed = false;

  constructor(jwk: JsonWebKey, { load, newThread = threadOf }: SignaturesDeps = {}) {
    this.#newThread = newThread;
    const open = (): KeyObject => createPrivateKey({ key: jwk, format: 'jwk' });
    this.#key = open();
    this.#signer = sodiumSigner(this.#key, load);
    this.#poolKeys = this.#signer === null ? Array.from({ length: KEY_OBJECTS }, open) : [];
  }

  /** Returns the signature of a text. The bytes are copied before it returns. */
  sign(bytes: Uint8Array): Promise<Uint8Array> {
    return new Promise((resolve, reject) => {
      const call = { resolve, reject };
      // Texts of different sizes: a group may have no place for this one before it has its number of texts.
      if (this.#open !== null && !addText(this.#open.texts, bytes)) this.#send();
      else if (this.#open !== null) return this.#added(call);
      this.#open = this.#free.pop() ?? null;
      // A text that does not fit is larger than any receipt, or one of hundreds that wait.
      if (this.#open === null) return this.#signHere(bytes, call);
      if (!addText(this.#open.texts, bytes)) return this.#signHere(bytes, call);
      this.#added(call);
    });
  }

  /** Records the call of a text that was added to the open group. */
  #added(call: Waiting): void {
    const group = this.#open as Group;
    group.calls.push(call);
    // The thread signs the first ones while the next are made.
    if (group.texts.isFull) this.#send();
    // While the thread has enough, the next ones wait for each other: a message costs the thread of the requests as much as the hash of a receipt.
    if (this.#open === null || this.#isPlanned || this.#sent.size >= ENOUGH_SENT) return;
    this.#isPlanned = true;
    // After all requests that have arrived.
    setImmediate(() => {
      this.#isPlanned = false;
      this.#send();
    });
  }

  /** Passes the open group to the thread. A few texts are signed here while the thread has none. */
  #send(): void {
    const group = this.#open;
    if (group === null || group.calls.length === 0) return;
    this.#open = null;
    const isSmall = group.calls.length < RECEIPT_LIMITS.signedByThreadMin && this.#sent.size === 0;
    if (isSmall || this.#isClosed) {
      this.#signGroupHere(group);
      return;
    }
    this.#thread ??= this.#startThread();
    const { number, count } = group.texts;
    this.#sent.set(number, group);
    if (this.#sent.size === 1) this.#thread.ref();
    this.#thread.postMessage({ group: number, count } satisfies SigningMessage);
  }

  #startThread(): Worker {
    const thread = this.#newThread({ memory: this.#memory, key: this.#key });
    thread.on('message', (message: NonNullable<SigningMessage>) => this.#onSigned(message.group));
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
    // A copy: the memory is used again.
    for (const [place, { resolve }] of group.calls.entries()) resolve(Buffer.from(group.texts.result(place)));
    this.#release(group);
    this.#send();
  }

  /** Signs here the texts that a thread had when it ended; the next group starts another thread. */
  #onExit(thread: Worker): void {
    if (this.#thread !== thread) return;
    this.#thread = null;
    const lost = [...this.#sent.values()];
    this.#sent.clear();
    for (const group of lost) this.#signGroupHere(group);
    // It waited for them.
    this.#send();
  }

  #signGroupHere(group: Group): void {
    const { texts, calls } = group;
    texts.each(texts.count, (text, _, number) => this.#signHere(text, calls[number] as Waiting));
    this.#release(group);
  }

  #release(group: Group): void {
    group.texts.clear();
    group.calls.length = 0;
    this.#free.push(group);
  }

  /** Signs a text: at once, or without libsodium on a thread of the pool of Node, which gets a copy of the bytes. */
  #signHere(bytes: Uint8Array, { resolve, reject }: Waiting): void {
    if (this.#signer !== null) {
      const signature = Buffer.alloc(SIGNATURE_BYTES);
      this.#signer.sign(bytes, signature);
      resolve(signature);
      return;
    }
    const key = this.#poolKeys[this.#nextKey++ % KEY_OBJECTS] as KeyObject;
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
