/**
 * A folder of files named by the SHA-256 of their content. On the file system of the data folder they are hard links to the files in force,
 * and use no extra space while those exist.
 */
import { createHash } from 'node:crypto';
import {
  constants,
  copyFileSync,
  createReadStream,
  linkSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs';
import { join } from 'node:path';
import { PRIVATE_FOLDER } from '../state/data-folder.ts';

const BLOB = /^[0-9a-f]{64}$/;
/** Bytes hashed per turn of the event loop: about a millisecond. */
const CHUNK_BYTES = 1 << 20;

export interface Blobs {
  readonly folder: string;
  path(sha256: string): string;
  has(sha256: string, bytes: number): boolean;
  /**
   * Moves the files at `paths` into the folder; returns the name and size of each. A file that already has a link here is not read again.
   */
  take(paths: readonly string[], signal?: AbortSignal): Promise<readonly { sha256: string; bytes: number }[]>;
  /** Removes all other files. */
  keepOnly(names: ReadonlySet<string>): void;
}

/** Opens the folder, and creates it if it is missing. */
export function openBlobs(folder: string): Blobs {
  mkdirSync(folder, PRIVATE_FOLDER);
  const path = (sha256: string): string => join(folder, sha256);
  const names = (): string[] => readdirSync(folder).filter((name) => BLOB.test(name));

  return {
    folder,
    path,
    has: (sha256, bytes) => statSync(path(sha256), { throwIfNoEntry: false })?.size === bytes,
    async take(paths, signal) {
      const known = new Map(names().map((name) => [inodeOf(path(name)), name]));
      const taken: { sha256: string; bytes: number }[] = [];
      for (const from of paths) {
        const bytes = statSync(from).size;
        const found = known.get(inodeOf(from));
        const sha256 = found ?? (await sha256OfFile(from, signal));
        // Renaming a file over another link of the same file does nothing, and leaves both.
        if (found !== undefined) rmSync(from, { force: true });
        else renameSync(from, path(sha256));
        taken.push({ sha256, bytes });
      }
      return taken;
    },
    keepOnly(kept) {
      for (const name of names()) if (!kept.has(name)) rmSync(path(name), { force: true });
    },
  };
}

const inodeOf = (path: string): string => {
  const { dev, ino } = statSync(path, { bigint: true });
  return `${dev}:${ino}`;
};

/**
 * Returns the SHA-256 of a file, hex.
 *
 * @throws the error of reading, and the reason of an aborted signal
 */
export async function sha256OfFile(path: string, signal?: AbortSignal): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path, { highWaterMark: CHUNK_BYTES })) {
    signal?.throwIfAborted();
    hash.update(chunk as Uint8Array);
  }
  return hash.digest('hex');
}

/** Hard-links an immutable file, or copies it if the file system does not support links. `to` must not exist. */
export function linkOrCopy(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'EXDEV' && code !== 'EPERM' && code !== 'ENOTSUP' && code !== 'EMLINK') throw error;
    copyFileSync(from, to, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
  }
}
