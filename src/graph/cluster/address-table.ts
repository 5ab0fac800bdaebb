/**
 * Address keys ↔ dense ids in the order of their first appearance, in typed arrays, for tens of millions of addresses. A Map of strings is
 * limited to 16.7 million entries and takes three times the memory.
 */
import { AssayError } from '../../base/errors.ts';
import type { AddressKey } from '../../chains/address/address.ts';
import { CLUSTER_LIMITS } from './limits.ts';

export interface AddressTable {
  readonly count: number;
  /**
   * Returns the id of the key at `bytes[0, length)`, and assigns one if it has none. Throws INVALID_REQUEST above `clusterAddressesMax`.
   */
  idOf(bytes: Uint8Array, length: number): number;
  /** -1 if the key has no id. */
  find(bytes: Uint8Array, length: number): number;
  /** A view of the key, valid until the table is dropped. */
  keyOf(id: number): AddressKey;
  /** Compares two keys by their bytes. */
  compare(a: number, b: number): number;
}

/** Keys are stored in blocks of memory, so that growing copies none of them. */
const ARENA_BYTES = 16 * 1024 * 1024;
const EMPTY = -1;

/** FNV-1a, 32 bits: keys are already hashes, and only need to be folded. */
function hashOf(bytes: Uint8Array, length: number): number {
  let hash = 0x811c9dc5;
  for (let at = 0; at < length; at++) hash = Math.imul(hash ^ (bytes[at] as number), 0x01000193);
  return (hash ^ (hash >>> 15)) >>> 0;
}

/** Creates an empty table. */
export function createAddressTable(): AddressTable {
  const arenas: Buffer[] = [];
  let free = ARENA_BYTES;
  let count = 0;
  /** Location of each key: arena times ARENA_BYTES plus the offset in it. The key's length is in the first two bytes. */
  let places = new Float64Array(1024);
  let hashes = new Uint32Array(1024);
  let slots = new Int32Array(4096).fill(EMPTY);

  function keyOf(id: number): Buffer {
    const place = places[id] as number;
    const arena = arenas[Math.floor(place / ARENA_BYTES)] as Buffer;
    const offset = place % ARENA_BYTES;
    return arena.subarray(offset + 2, offset + 2 + arena.readUInt16LE(offset));
  }

  function slotOf(hash: number, bytes: Uint8Array, length: number): number {
    const mask = slots.length - 1;
    for (let slot = hash & mask; ; slot = (slot + 1) & mask) {
      const id = slots[slot] as number;
      if (id === EMPTY || (hashes[id] === hash && isKey(id, bytes, length))) return slot;
    }
  }

  function isKey(id: number, bytes: Uint8Array, length: number): boolean {
    const place = places[id] as number;
    const arena = arenas[Math.floor(place / ARENA_BYTES)] as Buffer;
    const offset = place % ARENA_BYTES;
    if (arena.readUInt16LE(offset) !== length) return false;
    for (let at = 0; at < length; at++) if (arena[offset + 2 + at] !== bytes[at]) return false;
    return true;
  }

  function add(hash: number, bytes: Uint8Array, length: number): number {
    if (count >= CLUSTER_LIMITS.clusterAddressesMax)
      throw new AssayError(
        'INVALID_REQUEST',
        `More than ${CLUSTER_LIMITS.clusterAddressesMax} addresses to cluster at once.`,
      );
    if (free + 2 + length > ARENA_BYTES) {
      arenas.push(Buffer.allocUnsafeSlow(ARENA_BYTES));
      free = 0;
    }
    const arena = arenas[arenas.length - 1] as Buffer;
    arena.writeUInt16LE(length, free);
    arena.set(bytes.subarray(0, length), free + 2);
    if (count === places.length) {
      const morePlaces = new Float64Array(count * 2);
      morePlaces.set(places);
      places = morePlaces;
      const moreHashes = new Uint32Array(count * 2);
      moreHashes.set(hashes);
      hashes = moreHashes;
    }
    places[count] = (arenas.length - 1) * ARENA_BYTES + free;
    hashes[count] = hash;
    free += 2 + length;
    return count++;
  }

  function widen(): void {
    slots = new Int32Array(slots.length * 2).fill(EMPTY);
    const mask = slots.length - 1;
    for (let id = 0; id < count; id++) {
      let slot = (hashes[id] as number) & mask;
      while (slots[slot] !== EMPTY) slot = (slot + 1) & mask;
      slots[slot] = id;
    }
  }

  return {
    get count() {
      return count;
    },
    idOf(bytes, length) {
      const hash = hashOf(bytes, length);
      const slot = slotOf(hash, bytes, length);
      const known = slots[slot] as number;
      if (known !== EMPTY) return known;
      const id = add(hash, bytes, length);
      slots[slot] = id;
      // Two thirds full at most: a lookup then takes two or three probes.
      if (count * 3 > slots.length * 2) widen();
      return id;
    },
    find(bytes, length) {
      return slots[slotOf(hashOf(bytes, length), bytes, length)] as number;
    },
    keyOf,
    compare: (a, b) => Buffer.compare(keyOf(a), keyOf(b)),
  };
}
