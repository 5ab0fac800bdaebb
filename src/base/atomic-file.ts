/** Files that are whole or not there: written beside their place, flushed, renamed into it. */
import { closeSync, fsyncSync, mkdirSync, openSync, renameSync, rmSync, writeSync } from 'node:fs';
import { dirname } from 'node:path';
import { PRIVATE_FILE, PRIVATE_FOLDER } from './data-folder.ts';
import { asStorageFull } from './storage.ts';

let writes = 0;

/**
 * Replaces the file at `path` by the JSON of `value`. A crash at any point leaves the old file or the new one.
 *
 * @throws STORAGE_FULL naming the file, if the disk has no room
 */
export function writeJsonAtomically(path: string, value: unknown): void {
  mkdirSync(dirname(path), PRIVATE_FOLDER);
  const partial = `${path}.${process.pid}-${writes++}.tmp`;
  try {
    const handle = openSync(partial, 'wx', PRIVATE_FILE);
    try {
      const bytes = Buffer.from(`${JSON.stringify(value)}\n`);
      for (let at = 0; at < bytes.length; ) at += writeSync(handle, bytes, at);
      fsyncSync(handle);
    } finally {
      closeSync(handle);
    }
    renameSync(partial, path);
    syncFolder(dirname(path));
  } catch (error) {
    rmSync(partial, { force: true });
    // The error of a write does not name its file.
    throw asStorageFull(error, path);
  }
}

/** Makes renames inside a folder survive a loss of power. */
export function syncFolder(folder: string): void {
  const handle = openSync(folder, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
