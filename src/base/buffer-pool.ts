/**
 * Shared buffer pool for results: a worker writes a result into a slot, and the main thread releases the slot when the bytes have
 * been sent. Copying a result in a message would cost the worker a serialisation and the main thread a buffer; at tens of kilobytes
 * per request, these would keep the garbage collector busy.
 */
import { LIMITS } from './limits.ts';

/** States of the slots, followed by the slots. */
const STATES_BYTES = LIMITS.poolSlots * 4;
const FREE = 0;
const LENT = 1;

export interface Loan {
  readonly slot: number;
  readonly length: number;
}

/**
 * A result that may have its JSON text in a slot. After copying it, the caller must call `release` once and not use the text any more.
 */
export interface LendableJson {
  readonly json: Uint8Array;
  readonly release?: () => void;
}

/** The message between threads: the result, without its JSON text if that is in a slot. */
export interface Lendable {
  readonly result: unknown;
  readonly loan?: Loan;
}

/** Allocates the shared memory of the pool. */
export function createLendingMemory(): SharedArrayBuffer {
  return new SharedArrayBuffer(STATES_BYTES + LIMITS.poolSlots * LIMITS.poolSlotBytes);
}

const placeOf = (slot: number): number => STATES_BYTES + slot * LIMITS.poolSlotBytes;

/**
 * Creates the worker's side: a function that copies bytes into a free slot; it returns null if no slot is free or the bytes do not
 * fit.
 */
export function createLender(memory: SharedArrayBuffer): (bytes: Uint8Array) => Loan | null {
  const states = new Int32Array(memory, 0, LIMITS.poolSlots);
  const all = new Uint8Array(memory);
  let next = 0;
  return (bytes) => {
    if (bytes.length > LIMITS.poolSlotBytes) return null;
    for (let tried = 0; tried < LIMITS.poolSlots; tried++) {
      const slot = next;
      next = (next + 1) % LIMITS.poolSlots;
      if (Atomics.compareExchange(states, slot, FREE, LENT) !== FREE) continue;
      all.set(bytes, placeOf(slot));
      return { slot, length: bytes.length };
    }
    return null;
  };
}

/** Moves the JSON text of a result, if it has one, into a slot. */
export function lendJson(result: unknown, lend: (bytes: Uint8Array) => Loan | null): Lendable {
  const json = (result as Partial<LendableJson> | null)?.json;
  const loan = json instanceof Uint8Array ? lend(json) : null;
  return loan === null ? { result } : { result: { ...(result as LendableJson), json: null }, loan };
}

/** Creates the main thread's side: a function that restores the JSON text of a result from its slot. */
export function createBorrower(memory: SharedArrayBuffer): (answer: Lendable) => unknown {
  const states = new Int32Array(memory, 0, LIMITS.poolSlots);
  return ({ result, loan }) => {
    if (!loan) return result;
    const { slot, length } = loan;
    const lent: LendableJson = {
      json: new Uint8Array(memory, placeOf(slot), length),
      release: () => void Atomics.store(states, slot, FREE),
    };
    return { ...(result as object), ...lent };
  };
}
