/**
 * Checks an LMDB file before it is mapped: its size must match its header, and its pages must match their checksums. An error is one
 * sentence that names the file, the fault and the remedy.
 */
import { existsSync, readdirSync, readFileSync, realpathSync, statSync } from 'node:fs';
import { isMainThread } from 'node:worker_threads';
import { AssayError } from '../base/errors.ts';
import { STATE_LIMITS } from './limits.ts';
import { DamagedPages, fullBytes, openPageFile, walkPages } from './lmdb-pages.ts';
import {
  isAsRecorded,
  type RecordedState,
  readRecordedState,
  recordPageSums,
  removeSums,
  sumsFileOf,
  verifyPages,
} from './page-sums.ts';
import { isOpenSomewhere } from './store-locks.ts';

const INGEST_AGAIN = (name: string): string =>
  `restore it from a backup, or move it away, run 'assay installation accept-loss ${name}' and ingest its files again`;

/** How to rebuild files that are derived from others; all other files are restored from a backup. */
const WAYS_OUT: readonly (readonly [RegExp, (name: string) => string])[] = [
  [
    /\/(?:labels|names)\.mdb$|\/(?:snapshots|names\/index)\/(?:CURRENT|(?:snapshot|names)-[^/]+\/[^/]+)$/,
    () => "'assay index build --force' builds it again",
  ],
  [
    /\/exposure\/[^/]+\/(?:CURRENT|snapshot-[^/]+\/[^/]+)$/,
    () => "remove the folder 'exposure': the index is built again",
  ],
  [
    /\/labels\/datasets\/[^/]+\/[^/]+$/,
    () => 'import the files of its dataset again, or restore it from a backup',
  ],
  [/\/clusters\/[^/]+\/[^/]+$/, () => "'assay cluster' builds it again"],
  [/\/replicas\/.*\.mdb$/, () => 'remove it: it is copied from Redis again'],
  [/\/fetched\.lmdb$/, () => 'remove it: its data is fetched again'],
  [/\/(?:transfers|outputs)\/[^/]*\.mdb$/, INGEST_AGAIN],
];
const RESTORE = 'restore it from a backup (docs/OPERATIONS.md, Damaged files)';

/** Returns how to get a file back, as part of a sentence. */
export const wayOutOf = (path: string): string =>
  WAYS_OUT.find(([files]) => files.test(path))?.[1](path.split('/').slice(-2).join('/')) ?? RESTORE;

/** Returns the error for a damaged file. */
function damaged(path: string, fault: string, cause: unknown): AssayError {
  const wayOut = wayOutOf(path);
  const sums = existsSync(sumsFileOf(path))
    ? ` If another file was put in its place, remove ${sumsFileOf(path)}.`
    : '';
  return new AssayError(
    'STORE_CORRUPT',
    `${path} is damaged: ${fault}. The file was not changed; ${wayOut}.${sums}`,
    {
      cause,
    },
  );
}

/** Runs a check of a file; throws STORE_CORRUPT if the check finds damage. */
function refusing<T>(path: string, look: () => T): T {
  try {
    return look();
  } catch (error) {
    if (error instanceof DamagedPages) throw damaged(path, error.message, error);
    throw error;
  }
}

/** Files that this thread has open, with the number of opens: a file is checked at its first open. */
const opened = new Map<string, number>();

/** Returns true if this thread has the file open. */
export const isOpenHere = (path: string): boolean => opened.has(path);

/** Records that this thread has opened the file. */
export function noteOpened(path: string): void {
  opened.set(path, (opened.get(path) ?? 0) + 1);
}

/** Records that this thread has closed the file. */
export function noteClosed(path: string): void {
  const left = (opened.get(path) ?? 1) - 1;
  if (left > 0) opened.set(path, left);
  else opened.delete(path);
}

/**
 * Returns true if a running process, including this one, has the file open. It asks the kernel: to read LMDB's reader table, it would
 * have to open the lock file, and closing that again drops the locks that this process holds on it. If the table of locks does not tell, it
 * looks for the file in the maps of all processes.
 */
function isInUse(path: string): boolean {
  const isOpen = isOpenSomewhere(path);
  if (isOpen !== null) return isOpen;
  let end: Buffer;
  let processes: string[];
  try {
    end = Buffer.from(` ${realpathSync(path)}\n`);
    processes = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
  } catch {
    return false;
  }
  return processes.some((pid) => {
    try {
      // Bytes: the maps of a busy machine are megabytes, and most of them of no use as text.
      const maps = readFileSync(`/proc/${pid}/maps`);
      return maps.includes(end);
    } catch {
      // The process has ended, or belongs to another user.
      return false;
    }
  });
}

/**
 * Returns true if the file was last written after this process started: an index that was built while the server runs, which is opened by
 * the thread that answers requests. What the check is for, damage between two runs, cannot be in it.
 */
const isOfThisRun = ({ mtimeNs }: RecordedState): boolean => Number(mtimeNs) / 1e6 > performance.timeOrigin;

/**
 * Checks a file before it is mapped. The size is always checked. The pages are compared with their checksums if the file is small and older
 * than this process, if a process wrote to it after it was closed, or if it was not closed in order; but not if it is in use, because the
 * process that has it open has done so.
 * @throws STORE_CORRUPT with one sentence.
 */
export function requireSound(path: string): void {
  const bytes = statSync(path, { throwIfNoEntry: false })?.size;
  if (bytes === undefined) {
    // A checksum file beside a missing store belongs to a deleted one.
    removeSums(path);
    return;
  }
  // Another process is creating the file, unless it had been closed before.
  if (bytes === 0 && readRecordedState(path) === null) return;
  refusing(path, () => {
    requireReached(path);
    if (isOpenHere(path)) return;
    const recorded = readRecordedState(path);
    // Read after the record: another process may have extended and closed the file meanwhile. LMDB never shrinks a file.
    const now = statSync(path).size;
    if (recorded !== null && now < recorded.bytes)
      throw new DamagedPages(
        `it has ${now} bytes, and had ${recorded.bytes} when it was closed: it was truncated`,
      );
    const isClosed = recorded !== null && isAsRecorded(path, recorded);
    if (isClosed && (now > STATE_LIMITS.checkedAtOpenBytesMax || !isMainThread || isOfThisRun(recorded)))
      return;
    if (!isClosed && isInUse(path)) return;
    verify(path);
  });
}

/** How often a file is read again because another process has committed to it meanwhile. */
const READS_MAX = 3;

/**
 * Unused pages may be missing at the end of an intact file; throws only if a referenced page is missing. If another process commits
 * meanwhile, size, header and pages come from several states of the file: it is read again, and then left to that process, which has
 * checked the file when it opened it.
 */
function requireReached(path: string): void {
  for (let reads = 0; reads < READS_MAX; reads++) {
    const file = openPageFile(path);
    try {
      if (fullBytes(file.meta) > file.bytes) walkPages(file, { onPage: () => {} });
      return;
    } catch (error) {
      if (!(error instanceof DamagedPages)) throw error;
      if (!file.hasMoved())
        throw new DamagedPages(
          `it has ${file.bytes} bytes, and its header gives ${fullBytes(file.meta)}: it was truncated`,
        );
    } finally {
      file.close();
    }
  }
}

function verify(path: string): number {
  try {
    return verifyPages(path, { recordAfter: true });
  } catch (error) {
    // The process may not write to the folder, or the disk is full: check without writing the checksums.
    if (error instanceof DamagedPages || !isWriteError(error)) throw error;
    return verifyPages(path, { recordAfter: false });
  }
}

const isWriteError = (error: unknown): boolean =>
  ['EACCES', 'EROFS', 'EPERM', 'ENOSPC', 'EDQUOT'].includes((error as NodeJS.ErrnoException).code ?? '');

/**
 * Compares all pages of a file with their checksums, whatever its size.
 * @returns the number of bytes of the file, and how many of them had no checksum yet, so that only their structure was checked.
 * @throws STORE_CORRUPT with one sentence.
 */
export function verifyFile(path: string): { readonly bytes: number; readonly formOnly: number } {
  const bytes = statSync(path).size;
  return { bytes, formOnly: refusing(path, () => verify(path)) };
}

/** Computes the checksums of a closed file, unless another process still has it open; the last one to close it does so. */
export function recordFileSums(path: string): void {
  if (isOpenHere(path)) return;
  try {
    const recorded = readRecordedState(path);
    // Asked last whether the file is open elsewhere: that may read the maps of all processes.
    if ((recorded === null || !isAsRecorded(path, recorded)) && !isInUse(path)) recordPageSums(path);
  } catch {
    // Without checksums the next open checks the file in full, and reports the error.
  }
}
