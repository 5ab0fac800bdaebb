/**
 * Live writing. A batch checks transfers against the known transactions, logs them, and appends them to the deltas of both addresses, in
 * one LMDB transaction. A delta that has grown long is merged. Reverting a block removes its transfers from the deltas.
 */
import { AssayError } from '../../base/errors.ts';
import { maxKeyBytes, parseAddress, writeAddressKeyFromText } from '../../chains/address/parse.ts';
import type { Transfer } from '../../chains/transfer.ts';
import { GRAPH_LIMITS } from '../limits.ts';
import { AddressIds } from './address-ids.ts';
import { type BatchLookups, BatchReader } from './batch-lookups.ts';
import { ByteWriter } from './bytes.ts';
import {
  type ChainStore,
  type Coverage,
  joinCoverage,
  NO_COVERAGE,
  NODE_ID_MAX,
  readState,
  type State,
} from './chain-store.ts';
import { type DeltaEntry, packEntries, readEntries, writeEntry } from './delta.ts';
import {
  FINGERPRINT_BYTES,
  Fingerprinter,
  HEX_PACKED_BYTES,
  packTransactionInto,
  positionMark,
  transactionKey,
} from './fingerprint.ts';
import type { FreshTransactions } from './fresh-transactions.ts';
import type { IdCache } from './id-cache.ts';
import { initiationCode } from './initiation.ts';
import { eraseTransfers, LogWriter, loggedTransfers } from './log.ts';
import { mergeNode } from './merge.ts';
import { counterpartiesIn } from './node-record.ts';
import { PlacesWriter } from './places.ts';
import { RecentBatch } from './recent-halves.ts';
import { packPositions, readPositions } from './transactions.ts';

const IN = 0;
const OUT = 1;
const APPEND = { append: true };
/** Fewer transfers have keys that are too far apart to share pages. */
const LOOKED_UP_TOGETHER_FROM = 2_000;

/** An address and an arrival number in one key: 31 and 22 bits. */
const ARRIVALS = 2 ** 22;

/** Collects halves of transfers in the order of arrival, and groups them by address. */
class Halves {
  readonly #packed = new ByteWriter();
  #keys = new Float64Array(1024);
  #ends = new Uint32Array(1025);
  #count = 0;

  add(node: number, entry: DeltaEntry): void {
    if (this.#count === this.#keys.length) this.#grow();
    writeEntry(this.#packed, entry);
    this.#keys[this.#count] = node * ARRIVALS + this.#count;
    this.#ends[++this.#count] = this.#packed.length;
  }

  #grow(): void {
    if (this.#count === ARRIVALS)
      throw new AssayError('INVALID_REQUEST', `transfers: more than ${ARRIVALS / 2} in one block.`);
    const keys = new Float64Array(this.#count * 2);
    keys.set(this.#keys);
    this.#keys = keys;
    const ends = new Uint32Array(keys.length + 1);
    ends.set(this.#ends);
    this.#ends = ends;
  }

  get count(): number {
    return this.#count;
  }

  /** Calls `take` with the entries of each address and their number, in the order of ids and of arrival. The bytes are valid until the next call. */
  forEach(take: (node: number, entries: Buffer, count: number) => void): void {
    const keys = this.#keys.subarray(0, this.#count).sort();
    const { bytes } = this.#packed;
    const joined = new ByteWriter(4096);
    for (let at = 0; at < keys.length; ) {
      const node = Math.floor((keys[at] as number) / ARRIVALS);
      joined.length = 0;
      const from = at;
      for (; at < keys.length && (keys[at] as number) < (node + 1) * ARRIVALS; at++) {
        const index = (keys[at] as number) - node * ARRIVALS;
        joined.copy(bytes, this.#ends[index] as number, this.#ends[index + 1] as number);
      }
      take(node, joined.bytes.subarray(0, joined.length), at - from);
    }
  }
}

/** Collects all changes of one batch in memory, then writes them in key order. */
export class Batch {
  readonly #store: ChainStore;
  readonly #cache: IdCache;
  readonly #fingerprint: Fingerprinter;
  readonly #pendingBlock: number | null;
  readonly #key = Buffer.alloc(maxKeyBytes);
  /** Memory for the transaction of the transfer that is being added. */
  readonly #packed = Buffer.allocUnsafe(HEX_PACKED_BYTES);
  readonly #transactionKey = Buffer.allocUnsafe(FINGERPRINT_BYTES);
  readonly #ids: AddressIds;
  readonly #log: LogWriter;
  readonly #assetIds = new Map<string, number>();
  /** Ids of assets that have decimals in the store or by a row of this batch. */
  readonly #assetsWithDecimals = new Set<number>();
  readonly #fresh: FreshTransactions;
  /** New entries for the deltas of addresses. */
  readonly #halves = new Halves();
  readonly #state: { -readonly [K in keyof State]: State[K] };
  readonly firstOrdinal: number;
  coverage: Coverage = NO_COVERAGE;
  stored = 0;
  duplicates = 0;

  /** `pendingBlock`: the height of a block that can be reverted, or null. */
  constructor(store: ChainStore, cache: IdCache, fresh: FreshTransactions, pendingBlock: number | null) {
    this.#store = store;
    this.#fresh = fresh;
    fresh.begin();
    this.#cache = cache;
    this.#fingerprint = new Fingerprinter(store.salt);
    this.#pendingBlock = pendingBlock;
    this.#ids = new AddressIds(store, this.#fingerprint);
    this.#log = new LogWriter(store);
    this.#state = { ...readState(store) };
    this.firstOrdinal = this.#state.nextOrdinal;
  }

  /** Adds transfers in their order. */
  addAll(transfers: readonly Transfer[]): void {
    const reader = new BatchReader(this.#store, {
      cache: this.#cache,
      ids: this.#ids,
      fresh: this.#fresh,
      fingerprint: this.#fingerprint,
    });
    const lookups = transfers.length < LOOKED_UP_TOGETHER_FROM ? null : reader.read(transfers);
    this.#ids.expect(lookups?.unknown ?? 2 * transfers.length);
    for (const [index, transfer] of transfers.entries())
      if (lookups === null) this.#addSingle(transfer);
      else this.#addFound(transfer, lookups, index);
  }

  #addSingle(transfer: Transfer): void {
    const packed = packTransactionInto(transfer.txHash, this.#packed);
    const key = transactionKey(packed, this.#fingerprint, this.#transactionKey);
    this.#add(transfer, packed, this.#fresh.open(key), 0, 0);
  }

  #addFound(transfer: Transfer, { packed, transactions, ids }: BatchLookups, index: number): void {
    const transaction = transactions[index] as number;
    const [from, to] = [ids[2 * index] as number, ids[2 * index + 1] as number];
    this.#add(transfer, packed.at(index), transaction, from, to);
  }

  /** `knownFrom`, `knownTo`: ids that were looked up already, or 0. */
  #add(transfer: Transfer, packed: Buffer, transaction: number, knownFrom: number, knownTo: number): void {
    const fresh = this.#fresh;
    const mark = positionMark(transfer.position, this.#fingerprint);
    if (fresh.has(transaction, mark)) {
      this.duplicates++;
      return;
    }
    const from = transfer.from === null ? 0 : knownFrom || this.#addressId(transfer.from);
    const to = transfer.to === null ? 0 : knownTo || this.#addressId(transfer.to);
    const asset = this.#assetId(transfer);
    const { amount, timestampMs, blockNumber } = transfer;
    const cents = transfer.valueUsd === null ? null : Math.round(transfer.valueUsd * 100);
    const ordinal = this.#state.nextOrdinal++;
    const append = (node: number, direction: number, counterparty: number): void =>
      this.#halves.add(node, {
        direction,
        counterparty,
        asset,
        amount,
        cents,
        timestampMs,
        ordinal,
        isNewTransaction: !fresh.isParty(transaction, node),
        pendingBlock: this.#pendingBlock,
      });
    if (from !== 0) append(from, OUT, to);
    if (to !== 0 && to !== from) append(to, IN, from);
    const { position } = transfer;
    this.#log.append(ordinal, {
      position,
      blockNumber,
      timestampMs,
      from,
      to,
      asset,
      amount,
      cents,
      transaction: packed,
      initiation: initiationCode(transfer),
    });
    fresh.add(transaction, { mark, from, to, ordinal });
    this.stored++;
    this.#cover(blockNumber, timestampMs);
  }

  #cover(block: number, timestampMs: number): void {
    const { firstBlock, lastBlock, newestMs } = this.coverage;
    const isCovered = firstBlock !== null && firstBlock <= block && lastBlock !== null && lastBlock >= block;
    if (isCovered && newestMs !== null && newestMs >= timestampMs) return;
    const own = { firstBlock: block, lastBlock: block, newestMs: timestampMs };
    this.coverage = joinCoverage(this.coverage, own);
  }

  /** Writes the collected changes. Returns the state, which the caller writes. Runs inside the write transaction. */
  write(): State {
    this.#log.flush();
    this.#ids.finish();
    this.#fresh.settle(this.firstOrdinal, this.#state.nextOrdinal);
    this.#writeHalves();
    this.#state.transfers += this.stored;
    return this.#state;
  }

  /** The halves wait if there is room. Otherwise those that wait, which are older, are moved to the deltas before these are. */
  #writeHalves(): void {
    const { recentHalves: recent } = this.#store;
    if (this.#halves.count === 0) return;
    if (recent.hasRoom(this.#halves.count)) {
      const batch = new RecentBatch();
      this.#halves.forEach((node, entries, count) => {
        batch.add(node, entries, count);
      });
      recent.add(batch);
      return;
    }
    recent.move();
    this.#halves.forEach((node, more) => {
      appendDelta(this.#store, node, more, this.#state.settledHeight);
    });
  }

  #addressId(text: string): number {
    const known = this.#cache.get(text);
    if (known !== 0) return known;
    const { keys, chain } = this.#store;
    const length = writeAddressKeyFromText(chain, text, this.#key, 0);
    // `parseAddress` throws an error that explains why the address is not valid.
    if (length < 0) parseAddress(chain, text);
    const key = Buffer.from(this.#key.subarray(0, length));
    let id = this.#ids.find(key);
    if (id === 0) {
      id = this.#state.nextAddress++;
      if (id > NODE_ID_MAX)
        throw new AssayError('INTERNAL', `The transfer store of ${chain} is full: all address ids are used.`);
      this.#ids.add(key, id);
      // Ids ascend, so that each is greater than all stored ones.
      keys.putSync(id, key, APPEND);
    }
    this.#cache.set(text, id);
    return id;
  }

  #assetId({ asset, decimals }: Transfer): number {
    const known = this.#assetIds.get(asset);
    // A later row may have decimals that the first one of the asset did not have.
    if (known !== undefined && (decimals === null || this.#assetsWithDecimals.has(known))) return known;
    const found = assetId(this.#store, asset, decimals, this.#state.nextAsset);
    if (found === this.#state.nextAsset) this.#state.nextAsset++;
    this.#assetIds.set(asset, found);
    if (decimals !== null) this.#assetsWithDecimals.add(found);
    return found;
  }
}

/** Returns the id of an asset: the stored one, or `next` if the asset is new. */
export function assetId(store: ChainStore, asset: string, decimals: number | null, next: number): number {
  const { assetIds, assets } = store;
  const id = assetIds.get(asset);
  if (id === undefined) {
    assetIds.putSync(asset, next);
    assets.putSync(next, { asset, decimals });
    return next;
  }
  if (decimals !== null && assets.get(id)?.decimals === null) assets.putSync(id, { asset, decimals });
  return id;
}

/** A delta that is being written. */
const delta = new ByteWriter();

/** Appends to the delta of an address. If the delta is too long, its final entries are merged. */
function appendDelta(store: ChainStore, node: number, more: Buffer, settledHeight: number): void {
  const stored = store.deltas.getBinaryFast(node);
  delta.length = 0;
  if (stored) delta.copy(stored, 0, stored.length);
  delta.copy(more, 0, more.length);
  const { length } = delta;
  const bytes = delta.bytes.subarray(0, length);
  if (
    length <= GRAPH_LIMITS.deltaBytesMax ||
    (length <= GRAPH_LIMITS.hubDeltaBytesMax && isHub(store, node))
  ) {
    store.deltas.putSync(node, bytes);
    return;
  }
  const entries = readEntries(bytes);
  const isFinal = (block: number | null): boolean => block === null || block <= settledHeight;
  const final = entries.filter((entry) => isFinal(entry.pendingBlock));
  if (final.length > 0) mergeNode(store, node, final);
  const rest = final.length === 0 ? entries : entries.filter((entry) => !isFinal(entry.pendingBlock));
  if (rest.length > 0) store.deltas.putSync(node, packEntries(rest));
  else if (stored) store.deltas.removeSync(node);
}

function isHub(store: ChainStore, node: number): boolean {
  const record = store.nodes.getBinaryFast(node);
  if (!record) return false;
  return (
    counterpartiesIn(record, IN) + counterpartiesIn(record, OUT) > GRAPH_LIMITS.hubDeltaFromCounterparties
  );
}

/** Removes the transfers `first` to `first + count - 1` from all records. Their numbers are not assigned again. */
export function revertTransfers(
  store: ChainStore,
  fresh: FreshTransactions,
  first: number,
  count: number,
): void {
  const fingerprint = new Fingerprinter(store.salt);
  const nodes = new Set<number>();
  const marks = new Map<string, { key: Buffer; marks: Set<number> }>();
  for (const { transaction, position, from, to } of loggedTransfers(store, first, first + count)) {
    if (from !== 0) nodes.add(from);
    if (to !== 0) nodes.add(to);
    const key = transactionKey(transaction, fingerprint);
    const name = key.toString('latin1');
    const entry = marks.get(name) ?? { key, marks: new Set() };
    entry.marks.add(positionMark(position, fingerprint));
    marks.set(name, entry);
  }
  eraseTransfers(store, first, count);
  store.recentHalves.move();
  fresh.begin();
  const places = new PlacesWriter(store);
  for (const { key, marks: gone } of marks.values()) {
    fresh.remove(key, gone);
    places.remove(key, first, first + count);
    const stored = store.transactions.getBinary(key);
    if (!stored) continue;
    const left = readPositions(stored).filter(({ mark }) => !gone.has(mark));
    if (left.length > 0) store.transactions.putSync(key, packPositions(left));
    else store.transactions.removeSync(key);
  }
  places.finish();
  fresh.noteRemoval();
  for (const node of nodes) {
    const stored = store.deltas.getBinary(node);
    const left = (stored ? readEntries(stored) : []).filter(
      ({ ordinal }) => ordinal < first || ordinal >= first + count,
    );
    if (left.length > 0) store.deltas.putSync(node, packEntries(left));
    else store.deltas.removeSync(node);
  }
}
