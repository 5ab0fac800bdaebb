/**
 * Where the log has the transfers of a transaction: a table from 36 bits of its fingerprint to numbers of the log, about 7 bytes each. The
 * log has the whole hash, the position and both parties, so that a look-up compares these there. Transactions of equal
 * bits cost one more read of the log, and nothing else.
 *
 * Entries are in buckets by the highest bits of the fingerprint. Their number doubles bucket by bucket, in key order (linear hashing: W.
 * Litwin, "Linear hashing: a new tool for file and table addressing", 1980), so that no single write pays for all.
 */
import type { Database } from '../../state/lmdb.ts';
import { ByteReader, ByteWriter } from './bytes.ts';

/** The state of the table, in `meta`. */
export interface PlacesState {
  /** Highest bits of a fingerprint that are the key of its bucket, from `split` on. */
  readonly bits: number;
  /** The same below `split`: these buckets are already divided. */
  readonly nextBits: number;
  readonly split: number;
  readonly entries: number;
}

/** The part of a store that this module reads. */
export interface PlacesStore {
  readonly meta: Pick<Database<unknown, string>, 'get' | 'putSync'>;
  /** Null in a store of an earlier version that is only read. */
  readonly places: Database<Buffer, number> | null;
  /** Key in `meta` of the state of the table, if it is not that of transactions: addresses have one, too (address-ids.ts). */
  readonly stateKey?: string;
}

const stateKeyOf = ({ stateKey }: PlacesStore): string => stateKey ?? 'places';

const EMPTY: PlacesState = { bits: 0, nextBits: 0, split: 0, entries: 0 };
/** Buckets then have 32 to 64 entries: about 300 bytes, a dozen to a page, of which a look-up decodes all. */
const ENTRIES_MAX = 64;
/** 2^26 buckets are enough for 2^32 transfers. More of them make buckets larger, not wrong. */
const BITS_MAX = 26;
const KEYS_END = 2 ** 32;
/** Bits of a fingerprint behind its first word that an entry has. */
const MORE_BITS = 4;

const reader = new ByteReader();
const out = new ByteWriter();

/** The key of a bucket in the database: a reversed range of numbers leaves out 0. The lowest bits of a bucket are free. */
const storedKey = (bucket: number): number => bucket + 1;

const fingerprintOf = (high: number, low: number): number =>
  high * 2 ** MORE_BITS + (low >>> (32 - MORE_BITS));

const keyWith = (bits: number, high: number): number =>
  bits === 0 ? 0 : ((high >>> (32 - bits)) << (32 - bits)) >>> 0;

const keyOf = ({ bits, nextBits, split }: PlacesState, high: number): number =>
  keyWith(high < split ? nextBits : bits, high);

const bitsFor = (entries: number): number =>
  Math.min(BITS_MAX, Math.max(0, Math.ceil(Math.log2(entries / ENTRIES_MAX))));

/** Reads the state of a table. */
export const readPlacesState = (store: PlacesStore): PlacesState =>
  (store.meta.get(stateKeyOf(store)) as PlacesState | undefined) ?? EMPTY;

/** Appends the entries of a bucket. */
function readEntries(
  bytes: Buffer | undefined,
  key: number,
  { fingerprints, ordinals }: { readonly fingerprints: number[]; readonly ordinals: number[] },
): void {
  if (bytes === undefined) return;
  reader.open(bytes);
  let fingerprint = key * 2 ** MORE_BITS;
  let ordinal = 0;
  while (!reader.isAtEnd) {
    const more = reader.varint();
    fingerprint += more;
    // Transfers of one transaction mostly follow each other.
    ordinal = more === 0 ? ordinal + reader.signed() : reader.varint();
    fingerprints.push(fingerprint);
    ordinals.push(ordinal);
  }
}

const NO_ORDINALS: readonly number[] = [];

/** Returns the numbers that a bucket has for a fingerprint. Reads half of a bucket, and allocates nothing if there are none. */
function ordinalsIn(bytes: Buffer, key: number, wanted: number): readonly number[] {
  reader.open(bytes);
  let fingerprint = key * 2 ** MORE_BITS;
  let ordinal = 0;
  let ordinals: number[] | null = null;
  while (!reader.isAtEnd) {
    const more = reader.varint();
    fingerprint += more;
    if (fingerprint > wanted) break;
    // A number depends on the one before it only if both have the same fingerprint.
    if (fingerprint < wanted) {
      reader.skipVarint();
      continue;
    }
    ordinal = more === 0 ? ordinal + reader.signed() : reader.varint();
    ordinals ??= [];
    ordinals.push(ordinal);
  }
  return ordinals ?? NO_ORDINALS;
}

/**
 * Returns the numbers of the log that may belong to a transaction, in their order.
 *
 * @param key key of the transaction (`transactionKey`)
 */
export function placesOf(store: PlacesStore, state: PlacesState, key: Buffer): readonly number[] {
  if (state.entries === 0 || store.places === null) return NO_ORDINALS;
  const high = key.readUInt32BE(0);
  const wanted = fingerprintOf(high, key.readUInt32BE(4));
  const bucket = keyOf(state, high);
  const bytes = store.places.getBinaryFast(storedKey(bucket));
  return bytes === undefined ? NO_ORDINALS : ordinalsIn(bytes, bucket, wanted);
}

/** Writes the table inside one write transaction: fast if its calls are in the order of keys. `finish` must be called at the end. */
export class PlacesWriter {
  readonly #store: PlacesStore;
  readonly #places: Database<Buffer, number>;
  #state: PlacesState;
  /** Greatest stored bucket, or -1. What follows is appended, which fills the pages. */
  #lastKey = -1;
  /** The bucket in memory. */
  #bucket = -1;
  #fingerprints: number[] = [];
  #ordinals: number[] = [];
  #isChanged = false;
  #added = 0;

  constructor(store: PlacesStore) {
    if (store.places === null) throw new Error('The table of places was opened for reading only.');
    this.#store = store;
    this.#places = store.places;
    this.#state = readPlacesState(store);
    for (const key of this.#places.getKeys({ reverse: true, limit: 1 })) this.#lastKey = key - 1;
  }

  /** Announces that `count` entries follow, so that buckets are divided: all at once if the table is small, or some at each call. */
  reserve(count: number): void {
    const { split } = this.#state;
    const entries = this.#state.entries + this.#added;
    const wanted = bitsFor(entries + count);
    if (entries === 0) this.#state = { ...EMPTY, bits: wanted, nextBits: wanted };
    else if (split === 0 && wanted > this.#state.bits) this.#state = { ...this.#state, nextBits: wanted };
    this.#divide(entries <= count ? Number.POSITIVE_INFINITY : 2 * count);
  }

  /** Divides buckets with about `budget` entries, if the number of buckets grows. */
  #divide(budget: number): void {
    let left = budget;
    while (this.#state.nextBits > this.#state.bits && left > 0) {
      const { bits, split } = this.#state;
      this.#load(split);
      left -= this.#ordinals.length + 1;
      const end = split + 2 ** (32 - bits);
      const isLast = end === KEYS_END;
      this.#state = { ...this.#state, split: isLast ? KEYS_END : end };
      this.#divideLoaded();
      if (isLast) this.#state = { ...this.#state, bits: this.#state.nextBits, split: 0 };
    }
  }

  /** Writes the entries of the bucket in memory to the buckets that the state says now. */
  #divideLoaded(): void {
    const fingerprints = this.#fingerprints;
    const ordinals = this.#ordinals;
    const parent = this.#bucket;
    this.#take(parent);
    for (const [at, fingerprint] of fingerprints.entries()) {
      const key = keyOf(this.#state, Math.floor(fingerprint / 2 ** MORE_BITS));
      if (key !== this.#bucket) {
        this.#flush();
        this.#take(key);
      }
      this.#fingerprints.push(fingerprint);
      this.#ordinals.push(ordinals[at] as number);
      this.#isChanged = true;
    }
    this.#flush();
    // If all entries are in other buckets, the one they came from is still stored.
    if (
      fingerprints.length > 0 &&
      keyOf(this.#state, Math.floor((fingerprints[0] as number) / 2 ** MORE_BITS)) !== parent
    )
      this.#places.removeSync(storedKey(parent));
    this.#take(-1);
  }

  /** Starts an empty bucket. */
  #take(key: number): void {
    this.#bucket = key;
    this.#fingerprints = [];
    this.#ordinals = [];
    this.#isChanged = false;
  }

  #load(key: number): void {
    if (key === this.#bucket) return;
    this.#flush();
    this.#take(key);
    if (key > this.#lastKey) return;
    const into = { fingerprints: this.#fingerprints, ordinals: this.#ordinals };
    readEntries(this.#places.getBinaryFast(storedKey(key)), key, into);
  }

  /** As `placesOf`, with what was added since. */
  find(key: Buffer): readonly number[] {
    return this.findBits(key.readUInt32BE(0), key.readUInt32BE(4));
  }

  /** Like `find`, by the first two words of a key. */
  findBits(high: number, middle: number): readonly number[] {
    const wanted = fingerprintOf(high, middle);
    this.#load(keyOf(this.#state, high));
    const fingerprints = this.#fingerprints;
    let found: number[] | null = null;
    for (let at = 0; at < fingerprints.length; at++)
      if (fingerprints[at] === wanted) {
        found ??= [];
        found.push(this.#ordinals[at] as number);
      }
    return found ?? NO_ORDINALS;
  }

  /** Adds an entry. The table must not have it. */
  add(key: Buffer, ordinal: number): void {
    this.addBits(key.readUInt32BE(0), key.readUInt32BE(4), ordinal);
  }

  /** Like `add`, by the first two words of a key. */
  addBits(high: number, middle: number, ordinal: number): void {
    this.#load(keyOf(this.#state, high));
    this.#fingerprints.push(fingerprintOf(high, middle));
    this.#ordinals.push(ordinal);
    this.#isChanged = true;
    this.#added++;
  }

  /** Removes the entries of a transaction with the numbers from `first` to `end - 1`. */
  remove(key: Buffer, first: number, end: number): void {
    const high = key.readUInt32BE(0);
    const wanted = fingerprintOf(high, key.readUInt32BE(4));
    this.#load(keyOf(this.#state, high));
    for (let at = this.#ordinals.length - 1; at >= 0; at--) {
      const ordinal = this.#ordinals[at] as number;
      if (this.#fingerprints[at] !== wanted || ordinal < first || ordinal >= end) continue;
      this.#fingerprints.splice(at, 1);
      this.#ordinals.splice(at, 1);
      this.#isChanged = true;
      this.#added--;
    }
  }

  #flush(): void {
    if (!this.#isChanged) return;
    const key = this.#bucket;
    const fingerprints = this.#fingerprints;
    const ordinals = this.#ordinals;
    if (ordinals.length === 0) this.#places.removeSync(storedKey(key));
    else {
      const order = orderOf(fingerprints, ordinals);
      out.length = 0;
      let fingerprint = key * 2 ** MORE_BITS;
      let ordinal = 0;
      for (let index = 0; index < ordinals.length; index++) {
        const at = order === null ? index : (order[index] as number);
        const more = (fingerprints[at] as number) - fingerprint;
        out.varint(more);
        if (more === 0) out.signed((ordinals[at] as number) - ordinal);
        else out.varint(ordinals[at] as number);
        fingerprint = fingerprints[at] as number;
        ordinal = ordinals[at] as number;
      }
      const bytes = out.bytes.subarray(0, out.length);
      if (key > this.#lastKey) this.#places.putSync(storedKey(key), bytes, { append: true });
      else this.#places.putSync(storedKey(key), bytes);
      this.#lastKey = Math.max(this.#lastKey, key);
    }
    this.#isChanged = false;
  }

  /** Writes what is left, and returns the state of the table. */
  finish(): PlacesState {
    this.#flush();
    this.#take(-1);
    this.#state = { ...this.#state, entries: this.#state.entries + this.#added };
    this.#added = 0;
    this.#store.meta.putSync(stateKeyOf(this.#store), this.#state);
    return this.#state;
  }
}

/** The order of entries by fingerprint and number. Null if they are in order. */
function orderOf(fingerprints: readonly number[], ordinals: readonly number[]): number[] | null {
  const compare = (a: number, b: number): number =>
    (fingerprints[a] as number) - (fingerprints[b] as number) ||
    (ordinals[a] as number) - (ordinals[b] as number);
  let isOrdered = true;
  for (let at = 1; at < ordinals.length && isOrdered; at++) isOrdered = compare(at - 1, at) <= 0;
  return isOrdered ? null : ordinals.map((_, at) => at).sort(compare);
}
