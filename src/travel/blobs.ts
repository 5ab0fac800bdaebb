/**
 * A folder of files named by the SHA-256 of what they hold. On the file system of the state they are further names of the files in
 * force, and cost nothing while those are there.
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
import { PRIVATE_FOLDER } from '../base/data-folder.ts';

const BLOB = /^[0-9a-f]{64}$/;
/** As much as one look at the event loop costs: about a millisecond of hashing. */
const CHUNK_BYTES = 1 << 20;

export interface Blobs {
  readonly folder: string;
  path(sha256: string): string;
  has(sha256: string, bytes: number): boolean;
  /** Takes over the files at `paths`, which go; returns the name and size of each. Those that are blobs already are not read again. */
  take(paths: readonly string[], signal?: AbortSignal): Promise<readonly { sha256: string; bytes: number }[]>;
  /** Removes all others. */
  keepOnly(names: ReadonlySet<string>): void;
}

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
        // Renaming one name of a file over another name of it does nothing, and leaves both.
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

/** Hex. Throws what reading throws, and the reason of an aborted signal. */
export async function sha256OfFile(path: string, signal?: AbortSignal): Promise<string> {
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path, { highWaterMark: CHUNK_BYTES })) {
    signal?.throwIfAborted();
    hash.update(chunk as Uint8Array);
  }
  return hash.digest('hex');
}

/** Gives a file that never changes a second name; a copy where the file system has no such thing. `to` must not be there. */
export function linkOrCopy(from: string, to: string): void {
  try {
    linkSync(from, to);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'EXDEV' && code !== 'EPERM' && code !== 'ENOTSUP' && code !== 'EMLINK') throw error;
    copyFileSync(from, to, constants.COPYFILE_EXCL | constants.COPYFILE_FICLONE);
  }
}
