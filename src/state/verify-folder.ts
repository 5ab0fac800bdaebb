/** Checks all stores in a data folder: every page of every LMDB file, with or without a running server. */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { messageOf } from '../base/errors.ts';
import { readRecordedState } from './page-sums.ts';
import { verifyFile } from './sound-file.ts';
import { unusableIn } from './usable-files.ts';

/** Unfinished builds, deleted data and copies, which are never opened again. */
const LEFT_OUT = /^(?:building.*|waste-.*|staged|\.backup-.*|\.partial-.*|.*\.copy-.*|.*\.tmp)$/;
const STORE = /\.(?:mdb|lmdb)$/;

export interface FolderReport {
  readonly stores: readonly {
    readonly path: string;
    readonly bytes: number;
    /** Bytes written since the store was last closed in order: they have no checksum yet, so only their structure was checked. */
    readonly formOnlyBytes: number;
  }[];
  /** One sentence for each damaged store, and for each file that cannot be read. */
  readonly faults: readonly string[];
}

function storesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true })
    .filter(({ name }) => !LEFT_OUT.test(name))
    .flatMap((entry) => {
      const path = join(folder, entry.name);
      if (entry.isDirectory()) return storesBelow(path);
      const isStore = entry.isFile() && STORE.test(entry.name);
      // An empty file is being created, unless it had been closed before.
      return isStore && (statSync(path).size > 0 || readRecordedState(path) !== null) ? [path] : [];
    })
    .sort();
}

/** Reads every store below a folder. Reports all damaged stores; throws only if a file cannot be read at all. */
export function verifyFolder(
  dataDir: string,
  onProgress: (done: number, total: number) => void,
  signal?: AbortSignal,
): FolderReport {
  const paths = storesBelow(dataDir);
  const stores: FolderReport['stores'][number][] = [];
  const faults: string[] = [...unusableIn(dataDir)];
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
