/**
 * Shared memory for results: a worker writes its bytes into a slot and lends it to the main thread, which gives it back once the
 * bytes are on their way. A result copied in a message costs the worker a serialisation and the main thread a buffer of its own,
 * and tens of kilobytes a request of those keep the collector busy all the time.
 */
import { LIMITS } from '../base/limits.ts';

/** Slot states, then the slots. */
const STATES_BYTES = LIMITS.poolSlots * 4;
const FREE = 0;
const LENT = 1;

export interface Loan {
  readonly slot: number;
  readonly length: number;
}

/** A result whose JSON text may be on loan: who has copied it calls `release`, once, and looks at it no more. */
export interface LendableJson {
  readonly json: Uint8Array;
  readonly release?: () => void;
}

/** What crosses the thread: the result, without its JSON text where that is on loan. */
export interface Lendable {
  readonly result: unknown;
  readonly loan?: Loan;
}

export function createLendingMemory(): SharedArrayBuffer {
  return new SharedArrayBuffer(STATES_BYTES + LIMITS.poolSlots * LIMITS.poolSlotBytes);
}

const placeOf = (slot: number): number => STATES_BYTES + slot * LIMITS.poolSlotBytes;

/** The worker's side: copies bytes into a free slot; null where none is free or they do not fit. */
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

/** Takes the JSON text out of a result that has one, and lends it. */
export function lendJson(result: unknown, lend: (bytes: Uint8Array) => Loan | null): Lendable {
  const json = (result as Partial<LendableJson> | null)?.json;
  const loan = json instanceof Uint8Array ? lend(json) : null;
  return loan === null ? { result } : { result: { ...(result as LendableJson), json: null }, loan };
}

/** The main thread's side: puts the JSON text of a loan back in its place. */
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
