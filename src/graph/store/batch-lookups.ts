/**
 * Look-ups of a large batch in the order of keys: keys that follow each other are mostly on one page, which is searched while it is in the
 * processor's cache. Looking up one transfer after another costs a cache miss or more for each.
 */
import { maxKeyBytes, writeAddressKeyFromText } from '../../chains/address/parse.ts';
import type { Transfer } from '../../chains/transfer.ts';
import { ADDRESS_HASH_BYTES, type AddressIds, addressHash } from './address-ids.ts';
import { ByteWriter } from './bytes.ts';
import type { ChainStore } from './chain-store.ts';
import {
  FINGERPRINT_BYTES,
  type Fingerprinter,
  HEX_PACKED_BYTES,
  packTransactionInto,
  transactionKey,
} from './fingerprint.ts';
import type { FreshTransactions } from './fresh-transactions.ts';
import type { IdCache } from './id-cache.ts';

/** The most transfers that are looked up together: the key and the place of a look-up share the 53 bits of a number. */
const TRANSFERS_MAX = 2 ** 20;
const PLACES = 2 * TRANSFERS_MAX;

/** Bytes of several values, one after another. */
class Values {
  readonly #bytes = new ByteWriter();
  #ends = new Float64Array(1024);
  #count = 0;

  add(value: Uint8Array, length = value.length): void {
    this.#bytes.copy(value, 0, length);
    if (this.#count === this.#ends.length) {
      const grown = new Float64Array(2 * this.#count);
      grown.set(this.#ends);
      this.#ends = grown;
    }
    this.#ends[this.#count++] = this.#bytes.length;
  }

  get count(): number {
    return this.#count;
  }

  /** Returns a view, which is valid until the next `add`. */
  at(index: number): Buffer {
    const start = index === 0 ? 0 : (this.#ends[index - 1] as number);
    return this.#bytes.bytes.subarray(start, this.#ends[index] as number);
  }
}

/** Returns the places of values in the order of their first four bytes. */
function orderOf(values: Values): Float64Array {
  const order = new Float64Array(values.count);
  for (let place = 0; place < order.length; place++) {
    const value = values.at(place);
    order[place] = value.readUInt32BE(0) * PLACES + place;
  }
  order.sort();
  for (let at = 0; at < order.length; at++) order[at] = (order[at] as number) % PLACES;
  return order;
}

/** The results for the transfers of a batch, by their place in it. */
export interface BatchLookups {
  /** Packed transaction ids. */
  readonly packed: Values;
  /** Numbers from `FreshTransactions.open`. */
  readonly transactions: Uint32Array;
  /** Ids of the sender and the receiver. 0 if there is none, or if the address is not stored yet. */
  readonly ids: Uint32Array;
  /** The most addresses that are not stored yet. */
  readonly unknown: number;
}

interface BatchReaderParts {
  readonly cache: IdCache;
  readonly ids: AddressIds;
  readonly fresh: FreshTransactions;
  readonly fingerprint: Fingerprinter;
}

/** Looks up a batch. Runs inside its write transaction, after `FreshTransactions.begin`. */
export class BatchReader {
  readonly #store: ChainStore;
  readonly #cache: IdCache;
  readonly #addressIds: AddressIds;
  readonly #fresh: FreshTransactions;
  readonly #fingerprint: Fingerprinter;

  constructor(store: ChainStore, { cache, ids, fresh, fingerprint }: BatchReaderParts) {
    this.#store = store;
    this.#cache = cache;
    this.#addressIds = ids;
    this.#fresh = fresh;
    this.#fingerprint = fingerprint;
  }

  /** Returns null if there are too many transfers: then they are looked up one by one. */
  read(transfers: readonly Transfer[]): BatchLookups | null {
    if (transfers.length > TRANSFERS_MAX) return null;
    const packed = new Values();
    const transactions = this.#transactions(transfers, packed);
    return { packed, transactions, ...this.#ids(transfers) };
  }

  #transactions(transfers: readonly Transfer[], packed: Values): Uint32Array {
    const numbers = new Uint32Array(transfers.length);
    const keys = new Values();
    const into = Buffer.allocUnsafe(HEX_PACKED_BYTES);
    const key = Buffer.allocUnsafe(FINGERPRINT_BYTES);
    for (const { txHash } of transfers) {
      const one = packTransactionInto(txHash, into);
      packed.add(one);
      keys.add(transactionKey(one, this.#fingerprint, key));
    }
    for (const place of orderOf(keys)) numbers[place] = this.#fresh.open(keys.at(place));
    return numbers;
  }

  #ids(transfers: readonly Transfer[]): Pick<BatchLookups, 'ids' | 'unknown'> {
    const { chain } = this.#store;
    const found = new Uint32Array(2 * transfers.length);
    const keys = new Values();
    const hashes = new Values();
    const hash = Buffer.allocUnsafe(ADDRESS_HASH_BYTES);
    const missing: string[] = [];
    /** Place in `found`, by the place of the key. */
    const sides: number[] = [];
    const key = Buffer.alloc(maxKeyBytes);
    for (const [index, { from, to }] of transfers.entries())
      for (let side = 0; side < 2; side++) {
        const text = side === 0 ? from : to;
        if (text === null) continue;
        const id = this.#cache.get(text);
        found[2 * index + side] = id;
        if (id !== 0) continue;
        const length = writeAddressKeyFromText(chain, text, key, 0);
        // The batch refuses an address that is not valid when it comes to it.
        if (length < 0) continue;
        keys.add(key, length);
        hashes.add(addressHash(this.#fingerprint, key.subarray(0, length), hash));
        missing.push(text);
        sides.push(2 * index + side);
      }
    let unknown = 0;
    for (const place of orderOf(hashes)) {
      const text = missing[place] as string;
      const id = this.#cache.get(text) || this.#addressIds.find(keys.at(place), hashes.at(place));
      if (id === 0) {
        unknown++;
        continue;
      }
      this.#cache.set(text, id);
      found[sides[place] as number] = id;
    }
    return { ids: found, unknown };
  }
}
