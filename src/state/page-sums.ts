/**
 * Checksums of the pages of an LMDB file, in a file beside it (`ledger.mdb-sums`). They are written when the store is closed in order, and
 * compared before it is mapped again. LMDB copies a page to change it and stores the transaction id in the page, so only pages that changed
 * since the last time are read (docs/decisions/damaged-files.md has the reasons and the figures).
 */
import {
  closeSync,
  fsyncSync,
  openSync,
  readFileSync,
  readSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
} from 'node:fs';
import { threadId } from 'node:worker_threads';
import { crc32 } from 'node:zlib';
import { PRIVATE_FILE } from './data-folder.ts';
import {
  checksumOfPage,
  DamagedPages,
  openPageFile,
  PAGE_CHECKSUM_NONE,
  type PageFile,
  walkPages,
} from './lmdb-pages.ts';

const MAGIC = 0x534d5553;
const VERSION = 1;
const HEAD_BYTES = 48;
/** Number of pages in one read when the whole file is read: 4 MB. */
const SCAN_PAGES = 1024;

/** The state of the file for which the checksums were computed. */
export interface RecordedState {
  readonly transaction: number;
  readonly bytes: number;
  readonly mtimeNs: bigint;
}

/** Returns the path of the checksum file of the LMDB file at `path`. */
export const sumsFileOf = (path: string): string => `${path}-sums`;

/**
 * Layout of the header: magic number, version, transaction, size and modification time of the file, number of checksums, CRC of the
 * checksums, CRC of the header.
 */
function parseHead(
  head: Buffer,
): (RecordedState & { readonly pages: number; readonly sumsCrc: number }) | null {
  if (head.length < HEAD_BYTES || head.readUInt32LE(0) !== MAGIC || head.readUInt32LE(4) !== VERSION)
    return null;
  if (crc32(head.subarray(0, HEAD_BYTES - 4)) !== head.readUInt32LE(HEAD_BYTES - 4)) return null;
  return {
    transaction: Number(head.readBigUInt64LE(8)),
    bytes: Number(head.readBigUInt64LE(16)),
    mtimeNs: head.readBigUInt64LE(24),
    pages: Number(head.readBigUInt64LE(32)),
    sumsCrc: head.readUInt32LE(40),
  };
}

/** Returns the state for which the checksums of a file were computed, or null if there are none or the file is truncated. */
export function readRecordedState(path: string): RecordedState | null {
  const head = Buffer.alloc(HEAD_BYTES);
  try {
    const file = openSync(sumsFileOf(path), 'r');
    try {
      readSync(file, head, 0, HEAD_BYTES, 0);
    } finally {
      closeSync(file);
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
  return parseHead(head);
}

function readSums(path: string): { readonly state: RecordedState; readonly sums: Uint32Array } | null {
  let bytes: Buffer;
  try {
    bytes = readFileSync(sumsFileOf(path));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
  const head = parseHead(bytes);
  if (head === null || bytes.length !== HEAD_BYTES + head.pages * 4) return null;
  const body = bytes.subarray(HEAD_BYTES);
  if (crc32(body) !== head.sumsCrc) return null;
  const sums = new Uint32Array(head.pages);
  Buffer.from(sums.buffer).set(body);
  return { state: head, sums };
}

function writeSums(path: string, { transaction, bytes, mtimeNs }: RecordedState, sums: Uint32Array): void {
  const body = Buffer.from(sums.buffer, sums.byteOffset, sums.byteLength);
  const head = Buffer.alloc(HEAD_BYTES);
  head.writeUInt32LE(MAGIC, 0);
  head.writeUInt32LE(VERSION, 4);
  head.writeBigUInt64LE(BigInt(transaction), 8);
  head.writeBigUInt64LE(BigInt(bytes), 16);
  head.writeBigUInt64LE(mtimeNs, 24);
  head.writeBigUInt64LE(BigInt(sums.length), 32);
  head.writeUInt32LE(crc32(body), 40);
  head.writeUInt32LE(crc32(head.subarray(0, HEAD_BYTES - 4)), HEAD_BYTES - 4);
  // Not flushed: if the file does not survive a power loss, it is missing, and the store is then checked in full.
  const partial = `${sumsFileOf(path)}.${process.pid}-${threadId}.tmp`;
  try {
    const file = openSync(partial, 'w', PRIVATE_FILE);
    try {
      for (const part of [head, body]) for (let at = 0; at < part.length; ) at += writeSync(file, part, at);
    } finally {
      closeSync(file);
    }
    renameSync(partial, sumsFileOf(path));
  } catch (error) {
    rmSync(partial, { force: true });
    throw error;
  }
}

/** Removes the checksum file of an LMDB file that is deleted or created again. */
export const removeSums = (path: string): void => rmSync(sumsFileOf(path), { force: true });

/**
 * Computes the checksums of all pages that changed since the last time. The writers of the file must have closed it.
 * @returns false if another process committed meanwhile; no checksums are written then.
 * @throws DamagedPages if a changed page is damaged.
 */
export function recordPageSums(path: string): boolean {
  flush(path);
  const file = openPageFile(path);
  try {
    const before = readSums(path);
    const { meta, bytes, mtimeNs } = file;
    const isOlder = before !== null && before.state.transaction <= meta.transaction;
    const sums = new Uint32Array(meta.lastPage + 1);
    if (isOlder) sums.set(before.sums.subarray(0, sums.length));
    walkPages(file, {
      newerThan: isOlder ? before.state.transaction : -1,
      onPage: (page, _, content) => {
        sums[page] = checksumOfPage(content);
      },
    });
    sumHeaders(file, sums);
    if (file.hasMoved()) return false;
    writeSums(path, { transaction: meta.transaction, bytes, mtimeNs }, sums);
    return true;
  } finally {
    file.close();
  }
}

/** Adds the checksums of the two meta pages, which are not part of any tree. */
function sumHeaders(file: PageFile, sums: Uint32Array): void {
  for (const page of [0, 1]) sums[page] = checksumOfPage(file.read(page, 1));
}

/**
 * Flushes the file. Without this, a power loss could undo a transaction that the checksums cover, and the file would be rejected as older
 * than its checksums.
 */
function flush(path: string): void {
  const file = openSync(path, 'r');
  try {
    fsyncSync(file);
  } finally {
    closeSync(file);
  }
}

/**
 * Reads a whole file that no process writes to, and compares it with its checksums.
 *
 * If the file was closed in order, all its pages have a checksum. If not, pages that changed since then have none, and only their structure
 * is checked: that they have the right type, and that LMDB can follow them.
 * @param recordAfter - if true, updates the checksums of an intact file, so that the next check is short.
 * @returns the number of bytes of which only the structure was checked.
 * @throws DamagedPages naming the first damaged page.
 */
export function verifyPages(path: string, { recordAfter }: { readonly recordAfter: boolean }): number {
  for (;;) {
    const file = openPageFile(path);
    try {
      return verifyOpened(path, file, recordAfter);
    } catch (error) {
      // The pages come from two states of the file, because another process wrote to it; that process has checked the file itself.
      if (!(error instanceof DamagedPages) || !file.hasMoved()) throw error;
    } finally {
      file.close();
    }
  }
}

function verifyOpened(path: string, file: PageFile, recordAfter: boolean): number {
  const { meta, bytes, mtimeNs } = file;
  const known = readSums(path);
  if (known !== null && known.state.transaction > meta.transaction)
    throw new DamagedPages(
      `its newest transaction is ${meta.transaction}, and its checksums are of transaction ${known.state.transaction}`,
    );
  const isSame = known !== null && known.state.transaction === meta.transaction;
  const now: RecordedState = { transaction: meta.transaction, bytes, mtimeNs };
  if (isSame) requireHeaders(file, known.sums);
  else if (!meta.isInStep)
    throw new DamagedPages('its two headers are of transactions that are not neighbours');
  if (isSame && scanAgrees(file, known.sums)) {
    if (recordAfter && known.state.mtimeNs !== mtimeNs) writeSums(path, now, known.sums);
    return 0;
  }
  const sums = new Uint32Array(meta.lastPage + 1);
  let formOnly = 0;
  walkPages(file, {
    onPage: (page, transaction, content) => {
      const sum = checksumOfPage(content);
      sums[page] = sum;
      if (known === null || transaction > known.state.transaction) {
        formOnly += content.length;
        return;
      }
      // A page of a transaction that was closed in order has a checksum, because the tree contained it then.
      if (known.sums[page] !== sum) throw new DamagedPages(`page ${page} does not match its checksum`);
    },
  });
  sumHeaders(file, sums);
  if (recordAfter) {
    flush(path);
    if (!file.hasMoved()) writeSums(path, now, sums);
  }
  return formOnly;
}

function requireHeaders(file: PageFile, sums: Uint32Array): void {
  for (const page of [0, 1])
    if (checksumOfPage(file.read(page, 1)) !== sums[page])
      throw new DamagedPages(`page ${page} does not match its checksum`);
}

/** Reads a file from start to end. Returns false if a page differs; that page may be unused. */
function scanAgrees(file: PageFile, sums: Uint32Array): boolean {
  const { pageBytes } = file.meta;
  for (let first = 0; first < sums.length; first += SCAN_PAGES) {
    const bytes = file.read(first, Math.min(SCAN_PAGES, sums.length - first));
    for (let page = first; page < Math.min(first + SCAN_PAGES, sums.length); page++) {
      const sum = sums[page] as number;
      if (sum === PAGE_CHECKSUM_NONE) continue;
      const at = (page - first) * pageBytes;
      if (checksumOfPage(bytes.subarray(at, at + pageBytes)) !== sum) return false;
    }
  }
  return true;
}

/**
 * Returns true if the file has the size and modification time for which its checksums were computed: no process has written to it since.
 */
export function isAsRecorded(path: string, recorded: RecordedState): boolean {
  const { size, mtimeNs } = statSync(path, { bigint: true });
  return Number(size) === recorded.bytes && mtimeNs === recorded.mtimeNs;
}
