/** The check of all stores in a folder of state: every page of every LMDB file, beside a running server or without one. */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from './errors.ts';
import { readSealed } from './page-sums.ts';
import { verifyFile } from './sound-file.ts';

/** Unfinished builds, waste and copies, which nothing opens any more. */
const LEFT_OUT = /^(?:building.*|waste-.*|staged|\.backup-.*|\.partial-.*|.*\.copy-.*|.*\.tmp)$/;
const STORE = /\.(?:mdb|lmdb)$/;

export interface FolderReport {
  readonly stores: readonly {
    readonly path: string;
    readonly bytes: number;
    /** Written since the store was last closed in order: these have no checksum yet, and were checked in form only. */
    readonly formOnlyBytes: number;
  }[];
  /** One sentence a damaged store. */
  readonly faults: readonly string[];
}

function storesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter(({ name }) => !LEFT_OUT.test(name))
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return storesBelow(path);
      const isStore = entry.isFile() && STORE.test(entry.name);
      // One without a byte is being made, unless it had been closed before.
      return isStore && (statSync(path).size > 0 || readSealed(path) !== null) ? [path] : [];
    })
    .sort();
}

/** Reads every store below a folder. Reports all that are damaged; throws only if a file cannot be read at all. */
export function verifyFolder(
  dataDir: string,
  onProgress: (done: number, total: number) => void,
  signal?: AbortSignal,
): FolderReport {
  const paths = storesBelow(dataDir);
  const stores: FolderReport['stores'][number][] = [];
  const faults: string[] = [];
  for (const [done, path] of paths.entries()) {
    signal?.throwIfAborted();
    onProgress(done, paths.length);
    try {
      const { bytes, formOnly } = verifyFile(path);
      stores.push({ path, bytes, formOnlyBytes: formOnly });
    } catch (error) {
      faults.push(messageOf(error));
    }
  }
  return { stores, faults };
}
