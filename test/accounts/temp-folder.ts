/** A folder for one test, removed after it. */
import { mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface TempFolder {
  readonly path: string;
  remove(): void;
}

/** Linux's file system in memory. */
const MEMORY = '/dev/shm';
/** Free space of it that tests need to use it, so that it stays far from full: the default of containers is 64 MB in all. */
const FREE_BYTES_MIN = 1024 ** 3;

function folderIn(parent: string): TempFolder {
  const path = mkdtempSync(join(parent, 'assay-test-'));
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) };
}

export const tempFolder = (): TempFolder => folderIn(tmpdir());

function hasMemory(): boolean {
  try {
    const { bsize, bavail } = statfsSync(MEMORY);
    return bsize * bavail >= FREE_BYTES_MIN;
  } catch {
    return false;
  }
}

/** A folder in memory, if there is room. For tests that open and commit to small stores: a commit waits for no disk. */
export const memoryFolder = (): TempFolder => folderIn(hasMemory() ? MEMORY : tmpdir());
