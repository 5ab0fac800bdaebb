/** Folders that the first of several processes makes, and all of them use. */
import { existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

/** Between two looks at whether another process is done: what it does takes seconds. */
const LOOK_MS = 100;
/** Longer than any folder takes. Without a limit, a process that has the number of a killed one would be waited for. */
const WAIT_MS = 600_000;

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM';
  }
}

/** Takes the lock, unless a process that runs has it. */
function take(lock: string): boolean {
  try {
    writeFileSync(lock, String(process.pid), { flag: 'wx' });
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  }
  try {
    // Empty for the moment between its creation and its content.
    const pid = Number(readFileSync(lock, 'utf8'));
    if (pid > 0 && !isRunning(pid)) rmSync(lock, { force: true });
  } catch {
    // Its owner was done in between.
  }
  return false;
}

/**
 * Makes a folder if it does not exist. Other processes that need it at the same moment wait: unpacking a browser takes ten seconds of processor
 * time, and four test files that start together need it. It has its name only once it is complete.
 *
 * @param make - fills the empty folder whose path it gets
 * @throws what `make` throws; the next process tries again. Error if another process does not finish it within ten minutes
 */
export function madeOnce(folder: string, make: (path: string) => void): void {
  const lock = `${folder}.lock`;
  const making = `${folder}.${process.pid}`;
  const sleeper = new Int32Array(new SharedArrayBuffer(4));
  mkdirSync(dirname(folder), { recursive: true });
  const beganMs = performance.now();
  while (!existsSync(folder)) {
    if (!take(lock)) {
      if (performance.now() - beganMs > WAIT_MS) throw new Error(`${folder} was not made: ${lock} is there.`);
      Atomics.wait(sleeper, 0, 0, LOOK_MS);
      continue;
    }
    try {
      if (existsSync(folder)) return;
      rmSync(making, { recursive: true, force: true });
      mkdirSync(making);
      make(making);
      renameSync(making, folder);
    } finally {
      rmSync(making, { recursive: true, force: true });
      rmSync(lock, { force: true });
    }
  }
}
