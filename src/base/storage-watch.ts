/** Looks whether folders of state can be written, so that a full disk is known before a request meets it, and so is its end. */
import { open, rm, statfs } from 'node:fs/promises';
import { join } from 'node:path';
import { PRIVATE_FILE } from './data-folder.ts';
import type { Logger } from './log.ts';
import { asStorageFull, isStorageFull, noteRefused, noteRoom, refusedNow } from './storage.ts';

const LOOK_MS = 1_000;
/** Below this a file is written to try: the system may keep space from us, or let us have more than it says. */
const DOUBTFUL_BYTES = 1024 * 1024;
/** As much as a commit of some requests takes. */
const TRIAL_BYTES = 64 * 1024;

export interface StorageWatch {
  /** Looks now. */
  look(): Promise<void>;
  stop(): Promise<void>;
}

/** Looks at once and then each second, until `stop`. */
export function watchStorage(folders: readonly string[], { log }: { readonly log: Logger }): StorageWatch {
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
      if (!isRefused && bavail * bsize >= DOUBTFUL_BYTES) return;
      await tryToWrite(folder);
      noteRoom(folder);
      if (isRefused) log.info({ folder }, 'the disk takes writes again');
    } catch (error) {
      // A folder that is not there, or may not be read, is noticed by what needs it.
      if (!isStorageFull(error)) return;
      if (!isRefused) log.error({ folder, err: error }, 'the disk is full: writes are refused');
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
