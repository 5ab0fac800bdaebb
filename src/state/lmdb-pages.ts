/**
 * Reads the pages of an LMDB file as bytes, without LMDB. The library maps a file and follows its page numbers without checks, so a
 * truncated file ends the process with a signal, and a flipped page number does the same or reads another record. This is data format 2 of
 * LMDB, which lmdb-js 3 writes. The format has no checksums (page-sums.ts keeps them), and lmdb-js does not offer LMDB's option for them.
 */
import { closeSync, fstatSync, openSync, readSync } from 'node:fs';
import { crc32 } from 'node:zlib';

const MAGIC = 0xbeefc0de;
const DATA_VERSION = 2;
/** The page header: page number, transaction, padding, flags, and the bounds of the free space or the number of pages. */
const HEADER = 24;
/** Offsets inside a meta page: the magic number and the version, then the tree of free pages, the main tree, and two counters. */
const VERSION_AT = 28;
const FREE_TREE_AT = 48;
/** Flags of the file, in the place of those of the tree of free pages. */
const FLAGS_AT = FREE_TREE_AT + 4;
/** Of a file with encrypted pages. LMDB would call a function to decrypt them that no store of Assay has, and end the process. */
const ENCRYPTED = 0x2000;
const TREE_BYTES = 48;
const MAIN_TREE_AT = FREE_TREE_AT + TREE_BYTES;
const LAST_PAGE_AT = MAIN_TREE_AT + TREE_BYTES;
const TRANSACTION_AT = LAST_PAGE_AT + 8;
const META_BYTES = TRANSACTION_AT + 16;
/** LMDB uses the page size of the system: 4 KB, or 16 and 64 KB on some ARM machines. */
const PAGE_BYTES_MIN = 256;
const PAGE_BYTES_MAX = 65_536;
const NODE_HEADER = 8;
/** LMDB's own cursors support 32 levels. */
const DEPTH_MAX = 32;

const BRANCH = 0x01;
const LEAF = 0x02;
const OVERFLOW = 0x04;
const META = 0x08;

const IN_OVERFLOW = 0x01;
const SUBTREE = 0x02;
const DUPLICATES = 0x04;

/** Pages of a long value in one read: 4 MB. A value of a label snapshot has gigabytes. */
const READ_PAGES = 1024;
/** Files up to this size are read at once, which is faster than page by page; 256 MB are read in a tenth of a second. */
const READ_WHOLE_MAX = 256 * 1024 * 1024;

/** A file with invalid pages; the message is part of a sentence. */
export class DamagedPages extends Error {}

interface Tree {
  readonly depth: number;
  readonly root: bigint;
  readonly entries: bigint;
}

/** The newest state of a file, as its meta pages describe it. */
export interface Meta {
  readonly pageBytes: number;
  readonly lastPage: number;
  readonly transaction: number;
  readonly free: Tree;
  readonly main: Tree;
  /**
   * True if the transactions of the two meta pages differ by at most one, as after every commit; or if the file is an unmodified compacted
   * copy, whose other meta page is that of a new file.
   */
  readonly isInStep: boolean;
}

const NO_ROOT = 0xffff_ffff_ffff_ffffn;

const treeAt = (bytes: Buffer, at: number): Tree => ({
  depth: bytes.readUInt16LE(at + 6),
  entries: bytes.readBigUInt64LE(at + 32),
  root: bytes.readBigUInt64LE(at + 40),
});

/** A file that is open for reading its pages. */
export interface PageFile {
  readonly bytes: number;
  readonly mtimeNs: bigint;
  readonly meta: Meta;
  /** Returns bytes from a page on; fewer at the end of the file. Valid until the next call, or until the close. */
  read(page: number, pages: number): Buffer;
  /** Returns true if a transaction was committed since the file was opened: pages may come from two states. */
  hasMoved(): boolean;
  close(): void;
}

/**
 * Opens a file and reads its meta pages.
 * @throws DamagedPages if the file is shorter than its meta pages, is not an LMDB file, or has another format.
 */
export function openPageFile(path: string): PageFile {
  const file = openSync(path, 'r');
  try {
    const { size, mtimeNs } = fstatSync(file, { bigint: true });
    const bytes = Number(size);
    const meta = readMeta(file, bytes);
    let whole: Whole | null = null;
    let one = Buffer.alloc(meta.pageBytes);
    return {
      bytes,
      mtimeNs,
      meta,
      read(page, pages) {
        const at = page * meta.pageBytes;
        const length = Math.max(0, Math.min(pages * meta.pageBytes, bytes - at));
        if (bytes <= READ_WHOLE_MAX) {
          whole ??= readWhole(file, bytes);
          return whole.content.subarray(at, at + length);
        }
        if (one.length < length) one = Buffer.allocUnsafe(length);
        return readAt(file, one.subarray(0, length), at);
      },
      hasMoved() {
        const now = fstatSync(file, { bigint: true });
        if (now.mtimeNs !== mtimeNs || now.size !== size) return true;
        return readMeta(file, bytes).transaction !== meta.transaction;
      },
      close() {
        closeSync(file);
        whole?.free();
        whole = null;
      },
    };
  } catch (error) {
    closeSync(file);
    throw error;
  }
}

/** A whole file in memory. */
interface Whole {
  readonly content: Buffer;
  /** Frees the memory. Views of the content are empty afterwards. */
  free(): void;
}

/** ECMAScript 2024; Node supports it from version 20. */
type ResizableBuffer = ArrayBuffer & { resize(bytes: number): void };
const ResizableBuffer = ArrayBuffer as unknown as new (
  bytes: number,
  options: { readonly maxByteLength: number },
) => ResizableBuffer;

/**
 * Reads a file into memory that can be freed at once. A plain Buffer would wait for a full garbage collection, which a thread that
 * allocates little delays for minutes: a server would hold as much memory as its stores have bytes.
 */
function readWhole(file: number, bytes: number): Whole {
  const memory = new ResizableBuffer(bytes, { maxByteLength: bytes });
  return { content: readAt(file, Buffer.from(memory, 0, bytes), 0), free: () => memory.resize(0) };
}

/** Fills `target`; the result is shorter if the file ends earlier. */
function readAt(file: number, target: Buffer, at: number): Buffer {
  let done = 0;
  while (done < target.length) {
    // One call reads at most 2 GB.
    const read = readSync(file, target, done, Math.min(target.length - done, 1 << 30), at + done);
    if (read === 0) break;
    done += read;
  }
  return target.subarray(0, done);
}

function readMeta(file: number, bytes: number): Meta {
  const first = Buffer.alloc(META_BYTES);
  const second = Buffer.alloc(META_BYTES);
  if (readAt(file, first, 0).length < META_BYTES)
    throw new DamagedPages(`it has ${bytes} bytes, and its header alone has 8192`);
  if (first.readUInt32LE(HEADER) !== MAGIC || (first.readUInt16LE(18) & META) === 0)
    throw new DamagedPages('it is not a store of Assay');
  const pageBytes = first.readUInt32LE(FREE_TREE_AT);
  if (pageBytes < PAGE_BYTES_MIN || pageBytes > PAGE_BYTES_MAX || (pageBytes & (pageBytes - 1)) !== 0)
    throw new DamagedPages(`its header gives pages of ${pageBytes} bytes`);
  if (bytes < 2 * pageBytes)
    throw new DamagedPages(`it has ${bytes} bytes, and its header alone has ${2 * pageBytes}`);
  readAt(file, second, pageBytes);
  for (const page of [first, second]) {
    if (page.readUInt32LE(HEADER) !== MAGIC || (page.readUInt16LE(18) & META) === 0)
      throw new DamagedPages('one of its two headers is damaged');
    if (page.readUInt16LE(VERSION_AT) !== DATA_VERSION)
      throw new DamagedPages(
        `its data format is ${page.readUInt16LE(VERSION_AT)}, and this program reads ${DATA_VERSION}`,
      );
    if (page.readUInt32LE(FREE_TREE_AT) !== pageBytes)
      throw new DamagedPages('its two headers name different page sizes');
    if ((page.readUInt16LE(FLAGS_AT) & ENCRYPTED) !== 0)
      throw new DamagedPages('a header says that it is encrypted, which no store is');
  }
  const transactions = [first, second].map((page) => Number(page.readBigUInt64LE(TRANSACTION_AT)));
  const [a = 0, b = 0] = transactions;
  const [newest, older] = a >= b ? [first, second] : [second, first];
  const meta = {
    pageBytes,
    lastPage: Number(newest.readBigUInt64LE(LAST_PAGE_AT)),
    transaction: Math.max(a, b),
    free: treeAt(newest, FREE_TREE_AT),
    main: treeAt(newest, MAIN_TREE_AT),
  };
  // The size must match as well: a compacted copy ends with its last page.
  const isCompacted = isNew(older) && isEmpty(meta.free) && fullBytes(meta) === bytes;
  return { ...meta, isInStep: Math.abs(a - b) <= 1 || isCompacted };
}

const isEmpty = ({ root, entries, depth }: Tree): boolean =>
  root === NO_ROOT && entries === 0n && depth === 0;

/** Returns true if the meta page is that of a file without any transaction. */
const isNew = (page: Buffer): boolean =>
  page.readBigUInt64LE(TRANSACTION_AT) === 0n &&
  page.readBigUInt64LE(LAST_PAGE_AT) === 1n &&
  isEmpty(treeAt(page, FREE_TREE_AT)) &&
  isEmpty(treeAt(page, MAIN_TREE_AT));

/** Returns the size of an untruncated file. LMDB may leave out pages at the end that a transaction allocated and freed. */
export const fullBytes = ({ lastPage, pageBytes }: Pick<Meta, 'lastPage' | 'pageBytes'>): number =>
  (lastPage + 1) * pageBytes;

/** Stored in place of a checksum if a page has none. */
export const PAGE_CHECKSUM_NONE = 0;
/** Returns the checksum of a page; never `PAGE_CHECKSUM_NONE`. */
export const checksumOfPage = (page: Uint8Array): number => crc32(page) || 1;

export interface PageWalkOptions {
  /** Skips pages of this transaction or an earlier one, with their subtrees. */
  readonly newerThan?: number;
  /** Called for every visited page, with the transaction that wrote it, and whether it is a page of records and not of one long value. */
  readonly onPage: (page: number, transaction: number, bytes: Buffer, isNode: boolean) => void;
}

/** Returns the bounds of the unused part of a page of records that a walk has checked. */
export const unusedPart = (bytes: Buffer): readonly [from: number, to: number] => [
  HEADER + bytes.readUInt16LE(20),
  HEADER + bytes.readUInt16LE(22),
];

/**
 * Reads every page that the newest state references. Checks that each has the right type and matches its header, and that no two trees
 * share a page: LMDB can then follow the file, whatever the records contain.
 * @throws DamagedPages naming the first damaged page.
 */
export function walkPages(file: PageFile, { newerThan = -1, onPage }: PageWalkOptions): void {
  const { meta } = file;
  const { pageBytes, lastPage } = meta;
  if (!Number.isSafeInteger(lastPage) || lastPage < 1 || lastPage > 2 ** 40)
    throw new DamagedPages(`its header gives ${lastPage} as the last page`);
  const filePages = Math.floor(file.bytes / pageBytes);
  const reached = new Uint8Array(Math.ceil((Math.max(lastPage, filePages) + 1) / 8));

  function take(page: number, pages: number, from: string): void {
    if (!(page >= 2) || page + pages - 1 > lastPage)
      throw new DamagedPages(`${from} refers to page ${page} of ${lastPage + 1}`);
    if (page + pages > filePages)
      throw new DamagedPages(
        `it has ${file.bytes} bytes, and ${from} refers to page ${page + pages - 1}, which ends at byte ${(page + pages) * pageBytes}`,
      );
    for (let at = page; at < page + pages; at++) {
      const bit = 1 << (at & 7);
      if (((reached[at >>> 3] as number) & bit) !== 0)
        throw new DamagedPages(`page ${at} is referenced twice`);
      reached[at >>> 3] = (reached[at >>> 3] as number) | bit;
    }
  }

  /** Checks the header of a page; returns false if the page is skipped. */
  function head(bytes: Buffer, page: number, flags: number): boolean {
    const transaction = Number(bytes.readBigUInt64LE(8));
    if (Number(bytes.readBigUInt64LE(0)) !== page) throw new DamagedPages(`page ${page} has another number`);
    if (transaction > meta.transaction)
      throw new DamagedPages(
        `page ${page} is of transaction ${transaction}, the newest is ${meta.transaction}`,
      );
    if ((bytes.readUInt16LE(18) & 0x7f) !== flags) throw new DamagedPages(`page ${page} is of another kind`);
    return transaction > newerThan;
  }

  function tree({ root, depth, entries }: Tree, name: string): void {
    if (root === NO_ROOT) {
      if (entries !== 0n) throw new DamagedPages(`${name} has no root, and ${entries} entries`);
      return;
    }
    if (depth < 1 || depth > DEPTH_MAX) throw new DamagedPages(`${name} is ${depth} levels deep`);
    const skippedOrCounted = visit(Number(root), depth, name);
    if (skippedOrCounted !== null && BigInt(skippedOrCounted) !== entries)
      throw new DamagedPages(`${name} has ${skippedOrCounted} of ${entries} entries`);
  }

  /** Returns the number of entries below a page; null if some were skipped or hold duplicates. */
  function visit(page: number, depth: number, from: string): number | null {
    take(page, 1, from);
    // If the file is not read as a whole, the next read overwrites this page's buffer.
    const shown = file.read(page, 1);
    const bytes = file.bytes <= READ_WHOLE_MAX ? shown : Buffer.from(shown);
    if (!head(bytes, page, depth === 1 ? LEAF : BRANCH)) return null;
    onPage(page, Number(bytes.readBigUInt64LE(8)), bytes, true);
    const lower = bytes.readUInt16LE(20);
    const upper = bytes.readUInt16LE(22);
    const count = lower >>> 1;
    if (HEADER + upper > pageBytes || lower > upper || (lower & 1) !== 0 || count === 0)
      throw new DamagedPages(`page ${page} has free space from ${lower} to ${upper}`);
    let entries: number | null = depth === 1 ? count : 0;
    for (let index = 0; index < count; index++) {
      const at = HEADER + bytes.readUInt16LE(HEADER + index * 2);
      if (at < HEADER + upper || at + NODE_HEADER > pageBytes)
        throw new DamagedPages(`page ${page} has a record outside of it`);
      const keyEnd = at + NODE_HEADER + bytes.readUInt16LE(at + 6);
      if (keyEnd > pageBytes) throw new DamagedPages(`page ${page} has a key that exceeds it`);
      if (depth > 1) {
        const child = bytes.readUInt32LE(at) + bytes.readUInt16LE(at + 4) * 2 ** 32;
        const below = visit(child, depth - 1, `page ${page}`);
        entries = entries === null || below === null ? null : entries + below;
      } else if (!leafNode(bytes, page, at, keyEnd)) entries = null;
    }
    return entries;
  }

  /** Checks a record; returns false if it holds several values. */
  function leafNode(bytes: Buffer, page: number, at: number, keyEnd: number): boolean {
    const valueBytes = bytes.readUInt32LE(at);
    const flags = bytes.readUInt16LE(at + 4);
    if ((flags & ~(IN_OVERFLOW | SUBTREE | DUPLICATES)) !== 0)
      throw new DamagedPages(`page ${page} has a record of an unknown kind`);
    if ((flags & IN_OVERFLOW) !== 0) {
      if (keyEnd + HEADER > pageBytes) throw new DamagedPages(`page ${page} has a value that exceeds it`);
      const first = Number(bytes.readBigUInt64LE(keyEnd));
      const pages = Number(bytes.readBigUInt64LE(keyEnd + 16));
      // A value that became shorter within the transaction that wrote it keeps its pages.
      if (pages < Math.floor((HEADER - 1 + valueBytes) / pageBytes) + 1)
        throw new DamagedPages(`page ${page} has a value of ${valueBytes} bytes on ${pages} pages`);
      overflow(first, pages, `page ${page}`);
      return (flags & DUPLICATES) === 0;
    }
    if (keyEnd + valueBytes > pageBytes) throw new DamagedPages(`page ${page} has a value that exceeds it`);
    if ((flags & SUBTREE) !== 0) {
      if (valueBytes !== TREE_BYTES) throw new DamagedPages(`page ${page} has a database of another size`);
      tree(treeAt(bytes, keyEnd), `the database on page ${page}`);
    }
    return (flags & DUPLICATES) === 0;
  }

  function overflow(page: number, pages: number, from: string): void {
    take(page, pages, from);
    const first = file.read(page, 1);
    if (first.readUInt32LE(20) !== pages)
      throw new DamagedPages(`page ${page} holds another number of pages`);
    if (!head(first, page, OVERFLOW)) return;
    const transaction = Number(first.readBigUInt64LE(8));
    for (let done = 0; done < pages; done += READ_PAGES) {
      const count = Math.min(READ_PAGES, pages - done);
      const bytes = file.read(page + done, count);
      for (let at = 0; at < count; at++)
        onPage(page + done + at, transaction, bytes.subarray(at * pageBytes, (at + 1) * pageBytes), false);
    }
  }

  tree(meta.free, 'the list of free pages');
  tree(meta.main, 'the list of databases');
}
