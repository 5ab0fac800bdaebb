/**
 * Brings large mapped files into the page cache of the operating system. After a start of the machine nothing of them is there, and a request
 * that looks up an address waits for the disk once for each page that it meets: on the thread that answers all other requests, if it reads
 * labels. Read in order, a file is there after seconds, in the large pieces that the kernel maps as one.
 */
import { open, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { isMissingFile, messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { STATE_LIMITS } from './limits.ts';

export interface CacheFilling {
  /** Ends the reading; resolves when no file is open any more. */
  stop(): Promise<void>;
}

export interface CacheFillingDeps {
  readonly clock: Clock;
  readonly log: Logger;
  /** Bytes of memory that are free or could be freed. Default: as the operating system says. */
  readonly availableBytes?: () => number;
  /** Files up to this size are left out. Default: those that were read when they were opened. */
  readonly smallBytes?: number;
}

interface LargeFile {
  readonly path: string;
  readonly bytes: number;
}

/** Enough for the disk to be busy all the time, and little beside what the caches of the processor hold. */
const PIECE_BYTES = 1024 * 1024;

/** Returns the LMDB files of a folder that have more than `smallBytes`; none if the folder is missing. */
async function largeFilesOf(folder: string, smallBytes: number): Promise<LargeFile[]> {
  const names = await readdir(folder).catch((error: unknown) => {
    if (isMissingFile(error)) return [];
    throw error;
  });
  const paths = names
    .filter((name) => name.endsWith('.mdb'))
    .sort()
    .map((name) => join(folder, name));
  const files = await Promise.all(paths.map(async (path) => ({ path, bytes: (await stat(path)).size })));
  return files.filter(({ bytes }) => bytes > smallBytes);
}

async function readWhole(path: string, signal: AbortSignal): Promise<void> {
  const file = await open(path);
  try {
    const piece = Buffer.allocUnsafeSlow(PIECE_BYTES);
    while (!signal.aborted && (await file.read(piece, 0, PIECE_BYTES, null)).bytesRead > 0);
  } finally {
    await file.close();
  }
}

/**
 * Reads the LMDB files of folders, in the order of the folders, until `stop`. A file that would not fit into a share of the available memory
 * is left out: reading it would take the place of what requests use. Never rejects; a file that cannot be read is left to those who need it.
 *
 * @param folders - null is a folder that does not exist yet
 */
export function fillPageCache(folders: readonly (string | null)[], deps: CacheFillingDeps): CacheFilling {
  const { clock, log } = deps;
  const { availableBytes = () => process.availableMemory() } = deps;
  const { smallBytes = STATE_LIMITS.checkedAtOpenBytesMax } = deps;
  const stopped = new AbortController();

  async function fill(): Promise<void> {
    let room = availableBytes() * STATE_LIMITS.pageCacheShare;
    for (const folder of folders) {
      if (folder === null) continue;
      for (const { path, bytes } of await largeFilesOf(folder, smallBytes)) {
        if (stopped.signal.aborted) return;
        if (bytes > room) {
          log.info({ path, bytes, room: Math.floor(room) }, 'file left to the disk, too large for memory');
          continue;
        }
        room -= bytes;
        const startMs = clock.monotonic();
        await readWhole(path, stopped.signal);
        if (stopped.signal.aborted) return;
        log.info(
          { path, bytes, durationMs: Math.round(clock.monotonic() - startMs) },
          'file read into memory',
        );
      }
    }
  }

  const filling = fill().catch((error: unknown) => {
    // A snapshot may be replaced, and removed, while it is read.
    if (!isMissingFile(error)) log.warn({ reason: messageOf(error) }, 'files not read into memory');
  });
  return {
    async stop() {
      stopped.abort();
      await filling;
    },
  };
}
