/** Checks whether data folders can be written, so that a full or read-only disk, and its end, is detected before a request meets it. */
import { access, constants, open, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { systemClock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import { PRIVATE_FILE } from './data-folder.ts';
import { asStorageFull, isStorageFull, noteRefused, noteRoom, refusedNow } from './storage.ts';

const LOOK_MS = 1_000;
/** Time between two test writes without a reason: a file system that stopped after an error still reports its space, and itself as writable. */
const TRIAL_MS = 60_000;
/** Below this many free bytes a file is written as a test: the system may reserve space, or allow more than it reports. */
const DOUBTFUL_BYTES = 1024 * 1024;
/** About as much as a commit of a few requests writes. */
export const TRIAL_BYTES = 64 * 1024;

export interface StorageWatch {
  /** Checks the folders now. */
  look(): Promise<void>;
  stop(): Promise<void>;
}

/** Checks the folders at once and then every second, until `stop`. */
export function watchStorage(
  folders: readonly string[],
  { log }: { readonly log: Logger },
  { trialMs = TRIAL_MS }: { readonly trialMs?: number } = {},
): StorageWatch {
  const startedAt = systemClock.monotonic();
  const triedAt = new Map<string, number>();

  async function tryToWrite(folder: string): Promise<void> {
    const path = join(folder, `.room-${process.pid}`);
    try {
      const file = await open(path, 'w', PRIVATE_FILE);
      try {
        await file.writeFile(Buffer.alloc(TRIAL_BYTES));
        await file.sync();
      } finally {
        await file.close();
      }
    } finally {
      await rm(path, { force: true });
    }
  }

  async function lookAt(folder: string): Promise<void> {
    const isRefused = refusedNow().some(({ path }) => path === folder || path.startsWith(`${folder}/`));
    try {
      const { bavail, bsize } = await statfs(folder);
      // Fails on a file system that became read-only, for root as well, although space is left.
      await access(folder, constants.W_OK);
      const isDue = systemClock.monotonic() - (triedAt.get(folder) ?? startedAt) >= trialMs;
      if (!isRefused && !isDue && bavail * bsize >= DOUBTFUL_BYTES) return;
      triedAt.set(folder, systemClock.monotonic());
      await tryToWrite(folder);
      noteRoom(folder);
      if (isRefused) log.info({ folder }, 'disk writable again');
    } catch (error) {
      // If a folder is missing or unreadable, the code that needs it reports that.
      if (!isStorageFull(error)) return;
      if (!isRefused) log.error({ folder, err: error }, 'disk cannot be written, writes rejected');
      noteRefused(folder, asStorageFull(error, folder));
    }
  }

  let looking: Promise<void> = Promise.resolve();
  const look = (): Promise<void> => {
    looking = looking.then(() => Promise.all(folders.map(lookAt))).then(() => undefined);
    return looking;
  };
  const timer = setInterval(() => void look(), LOOK_MS);
  timer.unref();
  void look();
  return {
    look,
    async stop() {
      clearInterval(timer);
      await looking;
    },
  };
}
