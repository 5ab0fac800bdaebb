/**
 * A lock file for one writer at a time across processes. It names the process that holds it, and another process takes it over
 * once that process is gone. A process id can be reused (after a restart, in a container), so the file also holds the start time
 * of the process if the system provides it.
 */
import { linkSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { AssayError } from '../base/errors.ts';
import { sleep } from '../base/retry.ts';
import { PRIVATE_FOLDER } from './data-folder.ts';

/** A process, recognised also after its id was given to another one. */
export interface LockHolder {
  readonly pid: number;
  /** Start of the process in clock ticks since boot; empty if the system does not provide it. */
  readonly started: string;
}

export interface LockOptions {
  /** Maximum time to wait for another writer, in milliseconds; 0 fails immediately. */
  readonly waitMs: number;
  readonly signal?: AbortSignal;
}

const POLL_MS = 100;

let attempts = 0;

/**
 * Runs `work` while holding the lock at `path`.
 *
 * @throws STORE_BUSY if another writer holds it for longer than `waitMs`.
 */
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
    await sleep(POLL_MS);
  }
  try {
    return await work();
  } finally {
    rmSync(path, { force: true });
  }
}

/** Returns whether a running process holds the lock at `path`. */
export function isLocked(path: string): boolean {
  const holder = holderOf(readText(path) ?? '');
  return holder !== null && isHolderAlive(holder);
}

/** Acquires the lock and returns null, or returns the process that holds it. */
function tryLock(path: string): LockHolder | null {
  const own = `${path}.${process.pid}-${attempts++}`;
  const text = JSON.stringify(thisProcess());
  try {
    writeFileSync(own, text);
    // A link is created atomically, so an incomplete lock is never read.
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
      if (holder !== null && isHolderAlive(holder)) return holder;
      takeAway(path, found);
    }
    return holderOf(readText(path) ?? '') ?? { pid: 0, started: '' };
  } finally {
    rmSync(own, { force: true });
  }
}

/** Removes a stale lock. If another process has replaced it meanwhile, puts it back. */
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

/** Returns the holder that a lock names; null if it names none, so that no process holds it. */
function holderOf(text: string): LockHolder | null {
  try {
    const { pid, started } = JSON.parse(text) as Partial<LockHolder>;
    return typeof pid === 'number' && typeof started === 'string' ? { pid, started } : null;
  } catch {
    return null;
  }
}

let own: LockHolder | null = null;
/** Returns the calling process. */
export function thisProcess(): LockHolder {
  own ??= { pid: process.pid, started: startOf(process.pid) };
  return own;
}

/** Returns whether a process still runs. */
export function isHolderAlive(holder: LockHolder): boolean {
  try {
    process.kill(holder.pid, 0);
  } catch (error) {
    // EPERM: the process exists and belongs to another user.
    if ((error as NodeJS.ErrnoException).code === 'ESRCH') return false;
  }
  const started = startOf(holder.pid);
  return started === '' || holder.started === '' || started === holder.started;
}

/** Returns field 22 of /proc/PID/stat (proc(5)). It follows the command in parentheses, which may contain any character. */
function startOf(pid: number): string {
  const stat = readText(`/proc/${pid}/stat`);
  return stat === null ? '' : (stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? '');
}
