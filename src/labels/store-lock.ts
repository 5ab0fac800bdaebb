/**
 * One writer at a time across processes: a lock file that names its process, and is taken over once that process is gone.
 * A process id alone can be reused (after a restart, in a container), so its start time stands beside it where the system says it.
 */
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { PRIVATE_FOLDER } from '../base/data-folder.ts';
import { AssayError } from '../base/errors.ts';

interface Holder {
  readonly pid: number;
  /** Start of the process in clock ticks since boot; empty where the system does not say. */
  readonly started: string;
}

export interface LockOptions {
  /** How long to wait for another writer, in milliseconds; 0 refuses at once. */
  readonly waitMs: number;
  readonly signal?: AbortSignal;
}

const POLL_MS = 100;

let attempts = 0;

/** Does `work` while holding the lock at `path`. Throws STORE_BUSY where another writer holds it for longer than `waitMs`. */
export async function withLock<T>(path: string, options: LockOptions, work: () => Promise<T>): Promise<T> {
  mkdirSync(dirname(path), PRIVATE_FOLDER);
  for (let waited = 0; ; waited += POLL_MS) {
    options.signal?.throwIfAborted();
    const holder = tryLock(path);
    if (holder === null) break;
    if (waited >= options.waitMs) {
      throw new AssayError(
        'STORE_BUSY',
        `Process ${holder.pid} is writing to ${dirname(path)}; try again when it has finished.`,
      );
    }
    await pause(POLL_MS);
  }
  try {
    return await work();
  } finally {
    rmSync(path, { force: true });
  }
}

/** Whether a living process holds the lock at `path`. */
export function isLocked(path: string): boolean {
  const holder = holderOf(readText(path) ?? '');
  return holder !== null && isAlive(holder);
}

/** Takes the lock and returns null, or returns the process that holds it. */
function tryLock(path: string): Holder | null {
  const own = `${path}.${process.pid}-${attempts++}`;
  const text = JSON.stringify({ pid: process.pid, started: startOf(process.pid) } satisfies Holder);
  try {
    writeFileSync(own, text);
    // A link appears whole or not at all: nobody ever reads half a lock.
    for (let tries = 0; tries < 3; tries++) {
      try {
        linkSync(own, path);
        return null;
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
      }
      const found = readText(path);
      if (found === null) continue;
      const holder = holderOf(found);
      if (holder !== null && isAlive(holder)) return holder;
      takeAway(path, found);
    }
    return holderOf(readText(path) ?? '') ?? { pid: 0, started: '' };
  } finally {
    rmSync(own, { force: true });
  }
}

/** Removes a stale lock, unless another process has replaced it meanwhile: then it is put back. */
function takeAway(path: string, stale: string): void {
  const aside = `${path}.stale-${process.pid}-${attempts++}`;
  try {
    renameSync(path, aside);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return;
    throw error;
  }
  if (readText(aside) !== stale) linkSync(aside, path);
  rmSync(aside, { force: true });
}

function readText(path: string): string | null {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
}

/** The holder that a lock names; null where it names none, which is a lock of nobody. */
function holderOf(text: string): Holder | null {
  try {
    const { pid, started } = JSON.parse(text) as Partial<Holder>;
    return typeof pid === 'number' && typeof started === 'string' ? { pid, started } : null;
  } catch {
    return null;
  }
}

function isAlive(holder: Holder): boolean {
  try {
    process.kill(holder.pid, 0);
  } catch (error) {
    // EPERM: it lives, and belongs to somebody else.
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
  }
  const started = startOf(holder.pid);
  return started === '' || holder.started === '' || started === holder.started;
}

/** Field 22 of /proc/PID/stat (proc(5)), behind the command in brackets, which may hold anything. */
function startOf(pid: number): string {
  const stat = readText(`/proc/${pid}/stat`);
  return stat === null ? '' : (stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '');
}
