/**
 * Finds the dense id of an address: a table has 36 bits of a keyed hash of each address key, and its id (places.ts), about 6 bytes an
 * address. `keys` has the whole key by id, so that a look-up compares it there. Stores before format 6 have whole keys in `ids`, which are
 * read too; ids that are assigned since then are in the table.
 */
import { ReadingValue } from '../../base/reading.ts';
import type { Database } from '../../state/lmdb.ts';
import type { ChainStore } from './chain-store.ts';
import { Fingerprinter } from './fingerprint.ts';
import { type PlacesState, type PlacesStore, PlacesWriter, placesOf, readPlacesState } from './places.ts';

/** No address has this id. */
const UNKNOWN = 0;
export const ADDRESS_HASH_BYTES = 8;

/** Writes the hash by which the table is ordered into `hash`, and returns it. */
export function addressHash(fingerprint: Fingerprinter, key: Uint8Array, hash: Buffer): Buffer {
  fingerprint.hash(key, 0, key.length);
  hash.writeUInt32BE(fingerprint.high, 0);
  hash.writeUInt32BE(fingerprint.low, 4);
  return hash;
}

const tableOf = (store: ChainStore): PlacesStore => ({
  meta: store.meta,
  get places() {
    return store.addressPlaces;
  },
  stateKey: 'address-places',
});

/** Returns the id among `ids` that has the key, or the one in the table of former stores, or 0. */
function idOf(
  { keys, ids: former }: Pick<ChainStore, 'keys' | 'ids'>,
  ids: readonly number[],
  key: Uint8Array,
): number {
  for (const id of ids) if (hasKey(keys, id, key)) return id;
  return former.getBinaryFast(key)?.readUInt32BE(0) ?? UNKNOWN;
}

function hasKey(keys: Database<Buffer, number>, id: number, key: Uint8Array): boolean {
  const found = keys.getBinaryFast(id);
  return found !== undefined && isSameKey(found, key);
}

function isSameKey(a: Uint8Array, b: Uint8Array): boolean {
  // A result of the store may have more memory than its length.
  if (a.length !== b.length) return false;
  for (let at = a.length - 1; at >= 0; at--) if (a[at] !== b[at]) return false;
  return true;
}

/** Creates the look-up of a reader, which sees the newest commit. It returns 0 for an unknown address. */
export function addressReader(store: ChainStore): (key: Uint8Array) => number {
  const table = tableOf(store);
  const fingerprint = new Fingerprinter(store.salt);
  const hash = Buffer.alloc(ADDRESS_HASH_BYTES);
  const state = new ReadingValue<PlacesState>();
  /** A screening asks for its own address again and again. */
  const last = new ReadingValue<{ readonly key: Uint8Array; readonly id: number }>();
  const find = (key: Uint8Array, placed: PlacesState): number =>
    idOf(store, placesOf(table, placed, hash), key);
  const read = (key: Uint8Array): number => {
    addressHash(fingerprint, key, hash);
    const cached = state.value;
    const found = cached === null ? UNKNOWN : find(key, cached);
    if (found !== UNKNOWN) return found;
    // A write of the same code may have divided the bucket in the meantime.
    const placed = readPlacesState(table);
    state.value = placed;
    return find(key, placed);
  };
  return (key) => {
    const known = last.value;
    if (known !== null && isSameKey(known.key, key)) return known.id;
    const id = read(key);
    // A write of the same code may add an unknown address.
    if (id !== UNKNOWN) last.value = { key: Uint8Array.from(key), id };
    return id;
  };
}

/** Finds and adds addresses inside one write transaction: fast if the calls are in the order of hashes. `finish` must be called at the end. */
export class AddressIds {
  readonly #store: ChainStore;
  readonly #table: PlacesStore;
  readonly #fingerprint: Fingerprinter;
  readonly #hash = Buffer.alloc(ADDRESS_HASH_BYTES);
  #state: PlacesState | null = null;
  #writer: PlacesWriter | null = null;
  #expected = 1;

  constructor(store: ChainStore, fingerprint: Fingerprinter) {
    this.#store = store;
    this.#table = tableOf(store);
    this.#fingerprint = fingerprint;
  }

  /** Announces that up to `count` more addresses will be added. */
  expect(count: number): void {
    if (this.#writer === null) this.#expected = count;
    else this.#writer.reserve(count);
  }

  /**
   * Returns the id of an address, or 0 if it has none.
   *
   * @param hash - of the key, if the caller has it (`addressHash`)
   */
  find(key: Uint8Array, hash = addressHash(this.#fingerprint, key, this.#hash)): number {
    this.#state ??= readPlacesState(this.#table);
    const ids = this.#writer?.find(hash) ?? placesOf(this.#table, this.#state, hash);
    return idOf(this.#store, ids, key);
  }

  /** Adds an address that has no id yet. `keys` is written by the caller. */
  add(key: Uint8Array, id: number, hash = addressHash(this.#fingerprint, key, this.#hash)): void {
    if (this.#writer === null) {
      this.#writer = new PlacesWriter(this.#table);
      this.#writer.reserve(this.#expected);
    }
    this.#writer.add(hash, id);
  }

  finish(): void {
    this.#writer?.finish();
    this.#writer = null;
    this.#state = null;
  }
}
