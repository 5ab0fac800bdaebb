/**
 * Whether a process has a store open, by the lock that LMDB holds on the lock file of each open environment. The kernel lists all locks in
 * one small file: reading it takes 0.3 ms, and the maps of all processes of a busy machine take 20 ms, at each store that is closed.
 */
import { lstatSync, readFileSync, statSync } from 'node:fs';

const TABLE = '/proc/locks';

interface LockFile {
  readonly device: string;
  /** Device and inode as the table writes them. */
  readonly place: string;
}

/**
 * By device: whether a lock of this process was found under the numbers that `stat` returns. On some file systems they differ, and some
 * systems have no table.
 */
const shown = new Map<string, boolean>();

/** Returns null if the store has no lock file of its own. */
function lockFileOf(path: string): LockFile | null {
  try {
    // A store that is opened through a link to its file has its lock file beside the link.
    if (lstatSync(path).isSymbolicLink()) return null;
    const { dev, ino } = statSync(`${path}-lock`, { bigint: true });
    // As glibc takes a device number apart.
    const major = ((dev >> 8n) & 0xfffn) | ((dev >> 32n) & 0xfffff000n);
    const minor = (dev & 0xffn) | ((dev >> 12n) & 0xffffff00n);
    const device = [major, minor].map((part) => part.toString(16).padStart(2, '0')).join(':');
    return { device, place: `${device}:${ino}` };
  } catch {
    return null;
  }
}

/** Reads the processes that hold a lock of a file. A line is `39: POSIX  ADVISORY  READ 29197 fe:00:2181344 0 0`. */
function holdersOf({ place }: LockFile): readonly number[] {
  return readFileSync(TABLE, 'latin1')
    .split('\n')
    .map((line) => line.split(/\s+/))
    .filter((fields) => fields.includes(place))
    .map((fields) => Number(fields[fields.indexOf(place) - 1]));
}

/** Learns from a store that this process has just opened whether the table shows the locks of its file system. */
export function learnLocks(path: string): void {
  const file = lockFileOf(path);
  if (file === null || shown.has(file.device)) return;
  try {
    shown.set(file.device, holdersOf(file).includes(process.pid));
  } catch {
    shown.set(file.device, false);
  }
}

/**
 * Returns true if a process, including this one, has the store open.
 *
 * @param path - the store's file; its lock file has the same name with `-lock`
 * @returns null if the table does not tell, because this process has opened no store of that file system yet, or has not found its lock
 */
export function isOpenSomewhere(path: string): boolean | null {
  const file = lockFileOf(path);
  if (file === null || shown.get(file.device) !== true) return null;
  try {
    return holdersOf(file).length > 0;
  } catch {
    return null;
  }
}
