/**
 * Leases of files on one machine: small files that say that a thread uses another file. A lease is valid as long as its process holds the
 * lease file open; the kernel closes the file when the thread or process ends for any reason, so a dead holder can always be distinguished
 * from a living one. (leases.ts has the leases that nodes compete for.)
 */
import { closeSync, openSync, readdirSync, readFileSync, readlinkSync, rmSync, writeSync } from 'node:fs';
import { basename, join } from 'node:path';
import { isStorageFull } from './storage.ts';

const PROCESS_START_FIELD = 19;

/**
 * Returns the start time of a process, as the kernel counts it. It distinguishes a process from a later process with the same id. Null if
 * the process is gone or the system does not report it.
 */
export function processStart(pid: number): string | null {
  try {
    const status = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name in parentheses may contain any character, so fields are counted after it.
    return status.slice(status.lastIndexOf(')') + 2).split(' ')[PROCESS_START_FIELD] ?? null;
  } catch {
    return null;
  }
}

/** Returns true if a process with that id runs. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // EPERM: the process runs, but belongs to another user.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Returns true if the process still has a file of that name open, or if the system does not allow the check. */
function holdsOpen(pid: number, name: string): boolean {
  let descriptors: string[];
  try {
    descriptors = readdirSync(`/proc/${pid}/fd`);
  } catch {
    return true;
  }
  for (const descriptor of descriptors) {
    try {
      if (basename(readlinkSync(`/proc/${pid}/fd/${descriptor}`)) === name) return true;
    } catch {
      // The descriptor was closed meanwhile.
    }
  }
  return false;
}

export interface FileLease {
  readonly path: string;
  release(): void;
}

let ownContent = '';
/** Returns the text of the leases of this process, which does not change. */
function content(): string {
  if (ownContent === '') ownContent = `${process.pid} ${processStart(process.pid) ?? '-'}`;
  return ownContent;
}

/**
 * Creates a lease at `path`; the last part of the path must be unique to the holder. On a full disk the lease stays empty if its file name
 * identifies the holder: the first number in the name must be the process id.
 *
 * @throws EEXIST if the lease exists
 */
export function takeLease(path: string): FileLease {
  const file = openSync(path, 'wx');
  try {
    writeSync(file, content());
  } catch (error) {
    if (!isStorageFull(error) || emptyLease(path) !== `${process.pid} -`) {
      closeSync(file);
      rmSync(path, { force: true });
      throw error;
    }
  }
  let held = true;
  return {
    path,
    release() {
      if (!held) return;
      held = false;
      closeSync(file);
      rmSync(path, { force: true });
    },
  };
}

/**
 * Returns the text of a lease, or null if missing. An empty lease is being written, or its writer died between two system calls: this
 * function waits a tenth of a second for the text.
 */
export function leaseText(path: string): string | null {
  const sleeper = new Int32Array(new SharedArrayBuffer(4));
  for (let round = 0; ; round++) {
    let text: string;
    try {
      text = readFileSync(path, 'utf8');
    } catch {
      return null;
    }
    if (text !== '' || round === 20) return text;
    Atomics.wait(sleeper, 0, 0, 5);
  }
}

/** Returns the text that an empty lease on a full disk represents. */
const emptyLease = (path: string): string => `${/\d+/.exec(basename(path))?.[0] ?? ''} -`;

/** Returns true if the holder of the lease at `path` is alive; false if there is no lease. */
export function isLeaseLive(path: string): boolean {
  const text = leaseText(path);
  if (text === null) return false;
  const [pidText, start] = (text === '' ? emptyLease(path) : text).split(' ');
  const pid = Number(pidText);
  if (!Number.isInteger(pid) || pid <= 0 || !isRunning(pid)) return false;
  if (start !== '-' && start !== processStart(pid)) return false;
  return holdsOpen(pid, basename(path));
}

/**
 * Removes the leases of dead holders in a folder.
 *
 * @returns true if a live one remains; false if the folder does not exist
 */
export function sweepLeases(folder: string): boolean {
  let names: string[];
  try {
    names = readdirSync(folder);
  } catch {
    return false;
  }
  let live = false;
  for (const name of names) {
    if (isLeaseLive(join(folder, name))) live = true;
    else rmSync(join(folder, name), { force: true });
  }
  return live;
}
