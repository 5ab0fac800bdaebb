/** The thread that signs many texts at a time (signatures.ts), in memory that it shares with the thread of the requests. */
import type { KeyObject } from 'node:crypto';
import { parentPort } from 'node:worker_threads';
import { endBehind } from '../base/threads.ts';
import { nodeSigner, SIGNATURE_BYTES, sodiumSigner, type TextSigner } from './ed25519.ts';
import { RECEIPT_LIMITS } from './limits.ts';

const { signedAtOnceMax: COUNT_MAX, signedAtOnceBytes: TEXT_BYTES, signedGroupsMax: SLOTS } = RECEIPT_LIMITS;
const LENGTHS_BYTES = COUNT_MAX * Uint32Array.BYTES_PER_ELEMENT;
const SLOT_BYTES = LENGTHS_BYTES + COUNT_MAX * SIGNATURE_BYTES + TEXT_BYTES;

/** What the thread gets when it starts. */
export interface SigningJob {
  readonly memory: SharedArrayBuffer;
  readonly key: KeyObject;
}

/** A group of texts that are in the memory: sent to be signed, and sent back when they are. Null ends the thread. */
export type SigningMessage = { readonly slot: number; readonly count: number } | null;

/** A group of texts, and their signatures. */
export class SigningSlot {
  readonly number: number;
  readonly #lengths: Uint32Array;
  readonly #signatures: Buffer;
  readonly #texts: Buffer;
  #count = 0;
  #end = 0;

  constructor(memory: SharedArrayBuffer, number: number) {
    this.number = number;
    const from = number * SLOT_BYTES;
    this.#lengths = new Uint32Array(memory, from, COUNT_MAX);
    this.#signatures = Buffer.from(memory, from + LENGTHS_BYTES, COUNT_MAX * SIGNATURE_BYTES);
    this.#texts = Buffer.from(memory, from + SLOT_BYTES - TEXT_BYTES, TEXT_BYTES);
  }

  static memory(): SharedArrayBuffer {
    return new SharedArrayBuffer(SLOTS * SLOT_BYTES);
  }

  static all(memory: SharedArrayBuffer): SigningSlot[] {
    return Array.from({ length: SLOTS }, (_, number) => new SigningSlot(memory, number));
  }

  get count(): number {
    return this.#count;
  }

  get isFull(): boolean {
    return this.#count === COUNT_MAX;
  }

  /** Adds a copy of a text. Returns false if it does not fit. */
  add(text: Uint8Array): boolean {
    if (this.isFull || this.#end + text.length > TEXT_BYTES) return false;
    this.#texts.set(text, this.#end);
    this.#end += text.length;
    this.#lengths[this.#count++] = text.length;
    return true;
  }

  clear(): void {
    this.#count = 0;
    this.#end = 0;
  }

  /** Calls a function with each text; the bytes are not copied. */
  each(count: number, use: (text: Buffer, number: number) => void): void {
    let at = 0;
    for (let number = 0; number < count; number++) {
      const from = at;
      at += this.#lengths[number] as number;
      use(this.#texts.subarray(from, at), number);
    }
  }

  /** Signs the texts. */
  sign(count: number, signer: TextSigner): void {
    this.each(count, (text, number) => {
      const from = number * SIGNATURE_BYTES;
      signer.sign(text, this.#signatures.subarray(from, from + SIGNATURE_BYTES));
    });
  }

  /** Returns a copy of a signature. */
  signature(number: number): Buffer {
    const from = number * SIGNATURE_BYTES;
    return Buffer.from(this.#signatures.subarray(from, from + SIGNATURE_BYTES));
  }
}

/** Signs until a message ends the thread. */
export function runSigningThread({ memory, key }: SigningJob): void {
  const port = parentPort;
  if (port === null) throw new Error('Signatures are made on a thread of its own.');
  const slots = SigningSlot.all(memory);
  const signer = sodiumSigner(key) ?? nodeSigner(key);
  port.on('message', (message: SigningMessage) => {
    if (message === null) {
      signer.wipe();
      return endBehind(port);
    }
    slots[message.slot]?.sign(message.count, signer);
    port.postMessage(message);
  });
}
