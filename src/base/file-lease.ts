/**
 * Leases of files, on one machine: small files that say "this thread uses this". A lease lives as long as its file is held open by its
 * process; the kernel closes it with the thread or process however that ends, so a dead holder is always told from a living one.
 * (Which of many nodes does something is said by leases.ts.)
 */
import { closeSync, openSync, readdirSync, readFileSync, readlinkSync, rmSync, writeSync } from 'node:fs';
import { basename, join } from 'node:path';
import { isStorageFull } from './storage.ts';

const PROCESS_START_FIELD = 19;

/**
 * When a process began, as the kernel counts it: tells a process from a later one with its number. Null where the process is
 * gone or the system does not say.
 */
export function processStart(pid: number): string | null {
  try {
    const status = readFileSync(`/proc/${pid}/stat`, 'utf8');
    // The name in parentheses may hold anything; fields are counted behind it.
    return status.slice(status.lastIndexOf(')') + 2).split(' ')[PROCESS_START_FIELD] ?? null;
  } catch {
    return null;
  }
}

/** Whether there is a process of that number now. */
export function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // The process is there, only not ours.
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Whether the process still has a file of that name open; true where the system does not let us look. */
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
      // Closed while we looked.
    }
  }
  return false;
}

export interface FileLease {
  readonly path: string;
  release(): void;
}

const content = (pid: number): string => `${pid} ${processStart(pid) ?? '-'}`;

/**
 * Lays a lease at `path`, whose last part must be unique to the holder. Throws EEXIST where there is one. On a full disk the lease stays
 * empty if its name says whose it is: the first number in it is that of the process.
 */
export function takeLease(path: string): FileLease {
  const file = openSync(path, 'wx');
  try {
    writeSync(file, content(process.pid));
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
 * What a lease says; null where there is none. An empty one is being written this moment, or its writer died between two
 * system calls: it is given a tenth of a second to fill.
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

/** What a lease would say that was laid on a full disk. */
const emptyLease = (path: string): string => `${/\d+/.exec(basename(path))?.[0] ?? ''} -`;

/** Whether the holder of the lease at `path` lives. False where there is no lease. */
export function isLeaseLive(path: string): boolean {
  const text = leaseText(path);
  if (text === null) return false;
  const [pidText, start] = (text === '' ? emptyLease(path) : text).split(' ');
  const pid = Number(pidText);
  if (!Number.isInteger(pid) || pid <= 0 || !isRunning(pid)) return false;
  if (start !== '-' && start !== processStart(pid)) return false;
  return holdsOpen(pid, basename(path));
}

/** Removes the leases of the dead in a folder; true where a living one is left. A folder that is not there has none. */
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
