/**
 * The transfers of one transaction, by its id. `places` has their numbers in the log. Transactions that still wait in the writer's
 * memory (fresh-transactions.ts), and those that an earlier version stored without numbers, are found in the log itself.
 */
import { GRAPH_LIMITS } from '../limits.ts';
import { lostRecord, recordsOf } from './chain-records.ts';
import { type ChainStore, isLoading, readState } from './chain-store.ts';
import { Fingerprinter, packTransaction, positionMark, transactionKey } from './fingerprint.ts';
import type { FreshState } from './fresh-transactions.ts';
import { LOG_CHUNK_TRANSFERS, type LoggedTransfer, transferAt } from './log.ts';
import { placesOf, readPlacesState } from './places.ts';
import { readPositions } from './transactions.ts';

const NOTHING = new Uint8Array(0);

/** The stored transfers of a transaction. */
export interface LoggedTransaction {
  /** In the order of the log, at most as many as were asked for. */
  readonly transfers: readonly LoggedTransfer[];
  /** All that are stored, with those that are left out. */
  readonly total: number;
  /** Transfers without their record: an earlier version stored them, and they are older than the part of the log that is read. */
  readonly unread: number;
}

const isOneOf = (packed: readonly Buffer[], transaction: Uint8Array): boolean =>
  packed.some((one) => one.equals(transaction));

/**
 * Adds the numbers of the transfers of a transaction between `first` and `end - 1`, the newest first.
 *
 * @param packed - the spellings of the transaction id, as the log has them
 * @param wanted - stops when `found` has this many numbers
 */
function search(
  store: ChainStore,
  packed: readonly Buffer[],
  range: { readonly first: number; readonly end: number; readonly wanted: number },
  found: Set<number>,
): void {
  const { first, end, wanted } = range;
  const { logChunk } = recordsOf(store);
  if (end <= first) return;
  for (let chunk = Math.floor((end - 1) / LOG_CHUNK_TRANSFERS); chunk >= 0; chunk--) {
    const from = chunk * LOG_CHUNK_TRANSFERS;
    if (from + LOG_CHUNK_TRANSFERS <= first || found.size >= wanted) return;
    const bytes = logChunk(chunk);
    if (bytes === undefined) continue;
    const view = bytes.subarray(0, bytes.length);
    // Without its tag, which the length follows if the id is a text.
    if (!packed.some((one) => view.includes(one.subarray(1)))) continue;
    for (let ordinal = Math.max(from, first); ordinal < Math.min(end, from + LOG_CHUNK_TRANSFERS); ordinal++)
      if (isOneOf(packed, transferAt({ logChunk }, ordinal)?.transaction ?? NOTHING)) found.add(ordinal);
  }
}

/**
 * Finds the transfers of a transaction as of the newest commit. Reads one record of `places`, the waiting part of the log, and, only
 * for a transaction that an earlier version stored, the newest `transactionScanMax` transfers.
 *
 * @param txHashes - the spellings that the stored transfers may have
 * @param limit - the most transfers returned
 */
export function findTransaction(
  store: ChainStore,
  txHashes: readonly string[],
  limit: number,
): LoggedTransaction {
  const fingerprinter = new Fingerprinter(store.salt);
  const packed = txHashes.map(packTransaction);
  const positions = packed.flatMap((one) =>
    readPositions(store.transactions.getBinary(transactionKey(one, fingerprinter))),
  );
  const found = new Set(positions.flatMap(({ ordinal }) => (ordinal === null ? [] : [ordinal])));
  const records = recordsOf(store);
  const placed = readPlacesState(store);
  // Others have a transaction of equal bits, or are not in the log yet: a bulk load stores their places first.
  for (const one of packed)
    for (const ordinal of placesOf(store, placed, transactionKey(one, fingerprinter)))
      if (isOneOf(packed, transferAt(records, ordinal)?.transaction ?? NOTHING)) found.add(ordinal);
  const waiting = store.meta.get('fresh') as FreshState | undefined;
  const inWaiting = new Set<number>();
  if (waiting !== undefined)
    search(
      store,
      packed,
      { first: waiting.from, end: waiting.to, wanted: Number.POSITIVE_INFINITY },
      inWaiting,
    );
  for (const ordinal of inWaiting) found.add(ordinal);
  // A position that an earlier version stored without its number has one if its transfer waits, or waited until a later version stored it.
  const unnumbered = positions.filter(({ ordinal }) => ordinal === null);
  const numbered = new Set<number>();
  for (const ordinal of unnumbered.length > 0 ? found : []) {
    const logged = transferAt(records, ordinal);
    if (logged !== null) numbered.add(positionMark(logged.position, fingerprinter));
  }
  const old = unnumbered.filter(({ mark }) => !numbered.has(mark)).length;
  const wanted = found.size + old;
  if (old > 0) {
    const end = readState(store).nextOrdinal;
    search(store, packed, { first: Math.max(0, end - GRAPH_LIMITS.transactionScanMax), end, wanted }, found);
  }
  const total = Math.max(wanted, found.size);
  const transfers: LoggedTransfer[] = [];
  for (const ordinal of [...found].sort((a, b) => a - b).slice(0, limit)) {
    const logged = transferAt(records, ordinal);
    // A bulk load stores transactions before their transfers.
    if (logged === null && isLoading(store)) continue;
    if (logged === null) throw lostRecord(store.chain, `transfer ${ordinal}`);
    if (isOneOf(packed, logged.transaction)) transfers.push(logged);
  }
  return { transfers, total, unread: total - found.size };
}
