/**
 * Reads the blocks of a chain into the log of links, which is kept for the next build. The state after a settled block is recorded from time
 * to time: a later run continues there, after a crash as well. Records are discarded, and the chain is read again from its first block, if
 * the store no longer matches them: a settled block was reverted, earlier blocks were added, or its addresses have other numbers.
 */
import { existsSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import { AssayError } from '../../base/errors.ts';
import type { AddressKey } from '../../chains/address/address.ts';
import { readJson, writeBytesAtomically, writeJsonAtomically } from '../../state/atomic-file.ts';
import { LinkLog, type LinkLogEnds } from './components.ts';
import { numberingOf } from './format.ts';
import { CLUSTER_LIMITS } from './limits.ts';
import {
  CHANGE_CONFIDENCE_MIN,
  createLinkFinder,
  type LinkCounts,
  type LinkFinder,
  type LinkOptions,
  type NumberedTransaction,
} from './links.ts';

/** A block and its transactions, in chain order. */
export interface NumberedBlock {
  readonly height: number;
  readonly timestampMs: number;
  readonly transactions: readonly NumberedTransaction[];
}

/** The stored transactions of a chain. */
export interface ClusterSource {
  /** Null if no block is stored. */
  readonly firstBlock: number | null;
  readonly lastBlock: number | null;
  /** Number of transactions from the first to the last block. */
  readonly transactions: number;
  /** The blocks from a height to the last one, in ascending order. */
  blocks(from: number): Iterable<NumberedBlock>;
  /** Null if the block is not stored or its hash is not known. */
  hashOf(height: number): string | null;
  /** The key of an address; null for a number that was not assigned. */
  keyOf(number: number): AddressKey | null;
}

export interface ScanOptions extends LinkOptions {
  /** The folder of the log. */
  readonly folder: string;
  /** Ignores the records of earlier runs. */
  readonly fresh?: boolean;
  readonly bucketBits?: number;
  readonly settledBlocks?: number;
  readonly transactionsPerRecord?: number;
  /** Called between blocks at most once per 10,000 transactions, where the work can end with an error. */
  readonly onProgress: (transactions: number) => Promise<void>;
}

export interface Scanned {
  readonly links: LinkLog;
  readonly counts: LinkCounts;
  readonly highest: number;
  readonly newestMs: number | null;
  /** Transactions that an earlier run had read already. */
  readonly continuedAfter: number;
}

/** Changes when the meaning of any bytes changes. */
const FORMAT = 1;
const RECORD = 'progress.json';
const PROGRESS_EVERY = 10_000;

interface ScanRecord {
  readonly format: number;
  readonly bucketBits: number;
  readonly changeConfidenceMin: number;
  readonly completeHistory: boolean;
  readonly firstBlock: number;
  /** The last block that was read. */
  readonly block: number;
  readonly hash: string | null;
  readonly counts: LinkCounts;
  readonly highest: number;
  readonly numbering: string;
  readonly newestMs: number;
  readonly links: LinkLogEnds;
  /** File of the bits of the addresses seen, and its checksum. */
  readonly seen: string;
  readonly seenCrc: number;
}

/** Reads all blocks of the source. Transactions are read once, except for those of the newest blocks. */
export async function scanLinks(options: ScanOptions, source: ClusterSource): Promise<Scanned> {
  const record = options.fresh ? null : usableRecord(options, source);
  if (record !== null) {
    try {
      const scanned = await scanFrom(record, options, source);
      // More or fewer transactions than the store has: blocks below the record were added or changed since.
      if (scanned.counts.transactions === source.transactions) return scanned;
    } catch (error) {
      if (!(error instanceof AssayError) || error.code !== 'STORE_CORRUPT') throw error;
    }
  }
  return scanFrom(null, options, source);
}

function usableRecord(options: ScanOptions, source: ClusterSource): ScanRecord | null {
  const path = join(options.folder, RECORD);
  if (!existsSync(path)) return null;
  let record: ScanRecord;
  try {
    record = readJson(path) as ScanRecord;
  } catch (error) {
    if (error instanceof AssayError) return null;
    throw error;
  }
  const { bucketBits = CLUSTER_LIMITS.bucketBits, changeConfidenceMin = CHANGE_CONFIDENCE_MIN } = options;
  const isUsable =
    record.format === FORMAT &&
    record.bucketBits === bucketBits &&
    record.changeConfidenceMin === changeConfidenceMin &&
    record.completeHistory === options.completeHistory &&
    record.firstBlock === source.firstBlock &&
    record.block <= (source.lastBlock ?? -1) &&
    record.hash === source.hashOf(record.block) &&
    record.numbering === numberingOf(record.highest, source.keyOf);
  return isUsable ? record : null;
}

async function scanFrom(
  record: ScanRecord | null,
  options: ScanOptions,
  source: ClusterSource,
): Promise<Scanned> {
  const {
    folder,
    bucketBits = CLUSTER_LIMITS.bucketBits,
    settledBlocks = CLUSTER_LIMITS.settledBlocks,
    transactionsPerRecord = CLUSTER_LIMITS.transactionsPerRecord,
    onProgress,
  } = options;
  if (record === null) rmSync(folder, { recursive: true, force: true });
  const links = new LinkLog(folder, 'links', bucketBits, record?.links);
  // One damaged link would join two owners.
  links.verify();
  const onLink = (a: number, b: number, attribute: number): void => links.add(a, b, attribute);
  const from = record && { counts: record.counts, seen: readSeen(folder, record) };
  const finder = createLinkFinder(options, onLink, from ?? undefined);
  const settled = (source.lastBlock ?? -1) - settledBlocks;
  let newestMs = record?.newestMs ?? null;
  let read = 0;
  let unrecorded = 0;
  let reported = 0;
  let last = -1;

  for (const { height, timestampMs, transactions } of source.blocks(
    record ? record.block + 1 : (source.firstBlock ?? 0),
  )) {
    const isDue = unrecorded >= transactionsPerRecord || (height > settled && last >= 0 && last <= settled);
    if (isDue && unrecorded > 0 && last <= settled) {
      writeRecord(options, source, { links, finder, block: last, newestMs: newestMs as number });
      unrecorded = 0;
    }
    for (const transaction of transactions) finder.add(transaction);
    read += transactions.length;
    unrecorded += transactions.length;
    newestMs = Math.max(newestMs ?? 0, timestampMs);
    last = height;
    if (read - reported < PROGRESS_EVERY) continue;
    reported = read;
    await onProgress(read);
  }
  const { counts } = finder.state;
  return {
    links,
    counts,
    highest: finder.highest,
    newestMs,
    continuedAfter: record?.counts.transactions ?? 0,
  };
}

/** Records the state after a block: first everything that the record names, then the record. */
function writeRecord(
  options: ScanOptions,
  source: ClusterSource,
  at: {
    readonly links: LinkLog;
    readonly finder: LinkFinder;
    readonly block: number;
    readonly newestMs: number;
  },
): void {
  const { folder, completeHistory, changeConfidenceMin = CHANGE_CONFIDENCE_MIN } = options;
  const { links, finder, block, newestMs } = at;
  const { counts, seen } = finder.state;
  const { highest } = finder;
  const numbering = numberingOf(highest, source.keyOf);
  if (numbering === null || source.firstBlock === null) return;
  const name = `seen-${block}`;
  writeBytesAtomically(join(folder, name), seen);
  const record: ScanRecord = {
    format: FORMAT,
    bucketBits: links.bucketBits,
    changeConfidenceMin,
    completeHistory,
    firstBlock: source.firstBlock,
    block,
    hash: source.hashOf(block),
    counts,
    highest,
    numbering,
    newestMs,
    links: links.sync(),
    seen: name,
    seenCrc: crc32(seen),
  };
  writeJsonAtomically(join(folder, RECORD), record);
  for (const file of readdirSync(folder))
    if (file.startsWith('seen-') && file !== name) rmSync(join(folder, file));
}

function readSeen(folder: string, record: ScanRecord): Uint8Array {
  const path = join(folder, record.seen);
  const bytes = existsSync(path) ? readFileSync(path) : Buffer.alloc(0);
  if (crc32(bytes) === record.seenCrc) return bytes;
  throw new AssayError('STORE_CORRUPT', `${path} is missing or damaged.`);
}
