/**
 * Shared buffer pool for results: a worker copies a result into a slot, and the main thread releases the slot when the bytes have
 * been sent. Copying a result in a message would cost the worker a serialisation and the main thread a buffer; at tens of kilobytes
 * per request, these would keep the garbage collector busy.
 */
import { LIMITS } from './limits.ts';

/** States of the slots, followed by the slots. */
const STATES_BYTES = LIMITS.poolSlots * 4;
const FREE = 0;
const ACQUIRED = 1;

/** A slot that holds `length` bytes. Plain data, so that it can be sent between threads. */
export interface PooledBuffer {
  readonly slot: number;
  readonly length: number;
}

/** A result that may have its JSON text in a slot. After copying it, the caller must call `release` and not use the text any more. */
export interface PooledJson {
  readonly json: Uint8Array;
  /** Further calls have no effect. Absent if the text is not in a slot. */
  readonly release?: () => void;
}

/** Returns the JSON text of a result as bytes that stay valid, and releases its slot. */
export function takeJson({ json, release }: PooledJson): Uint8Array {
  if (release === undefined) return json;
  const owned = Buffer.from(json);
  release();
  return owned;
}

/** The message between threads: the result, without its JSON text if that is in a slot. */
export interface PooledResult {
  readonly result: unknown;
  readonly buffer?: PooledBuffer;
}

const slotOffset = (slot: number): number => STATES_BYTES + slot * LIMITS.poolSlotBytes;

/** One thread's view of the pool. All views share the memory. */
export class BufferPool {
  readonly #states: Int32Array;
  readonly #bytes: Uint8Array;
  #next = 0;

  /** @param memory - as returned by `BufferPool.allocate` */
  constructor(memory: SharedArrayBuffer) {
    this.#states = new Int32Array(memory, 0, LIMITS.poolSlots);
    this.#bytes = new Uint8Array(memory);
  }

  /** Allocates the shared memory of a pool. */
  static allocate(): SharedArrayBuffer {
    return new SharedArrayBuffer(STATES_BYTES + LIMITS.poolSlots * LIMITS.poolSlotBytes);
  }

  /**
   * Copies bytes into a free slot.
   *
   * @returns null if no slot is free or the bytes do not fit
   */
  acquire(bytes: Uint8Array): PooledBuffer | null {
    if (bytes.length > LIMITS.poolSlotBytes) return null;
    for (let tried = 0; tried < LIMITS.poolSlots; tried++) {
      const slot = this.#next;
      this.#next = (slot + 1) % LIMITS.poolSlots;
      if (Atomics.compareExchange(this.#states, slot, FREE, ACQUIRED) !== FREE) continue;
      this.#bytes.set(bytes, slotOffset(slot));
      return { slot, length: bytes.length };
    }
    return null;
  }

  /** Makes a slot available again. Its bytes may be overwritten at any time. */
  release({ slot }: PooledBuffer): void {
    Atomics.store(this.#states, slot, FREE);
  }

  /**
   * Moves the JSON text of a result, if it has one and a slot is free, into the pool. The text may be a view of memory that its owner reuses
   * when this returns: without a slot, it is copied, because a message would otherwise contain all of that memory.
   */
  pack(result: unknown): PooledResult {
    const json = (result as Partial<PooledJson> | null)?.json;
    if (!(json instanceof Uint8Array)) return { result };
    const buffer = this.acquire(json);
    if (buffer !== null) return { result: { ...(result as PooledJson), json: null }, buffer };
    if (json.byteLength === json.buffer.byteLength) return { result };
    return { result: { ...(result as PooledJson), json: Uint8Array.prototype.slice.call(json) } };
  }

  /** Restores the result of `pack`, on the other side of a thread. Its JSON text is a view of the slot until it is released. */
  unpack({ result, buffer }: PooledResult): unknown {
    if (!buffer) return result;
    const start = slotOffset(buffer.slot);
    let isHeld = true;
    const pooled: PooledJson = {
      json: this.#bytes.subarray(start, start + buffer.length),
      // By then, another result may be in the slot of a second call.
      release: () => {
        if (isHeld) this.release(buffer);
        isHeld = false;
      },
    };
    return { ...(result as object), ...pooled };
  }
}
