/** A store of labels in a folder of its own, with a clock that only the test moves. */
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import { parseAddress } from '../../src/chains/address/parse.ts';
import type { ChainId } from '../../src/chains/registry.ts';
import { buildLabelIndex } from '../../src/labels/build-index.ts';
import { snapshotsFolderOf } from '../../src/labels/folders.ts';
import { importFiles } from '../../src/labels/import.ts';
import type { ImportDeps, ImportReport, ImportRequest } from '../../src/labels/import-report.ts';
import type { SnapshotSet } from '../../src/labels/index/reader.ts';
import { openSnapshotSet } from '../../src/labels/index/snapshot-set.ts';
import type { Label } from '../../src/labels/label.ts';
import { loadRulebook } from '../../src/labels/map.ts';
import { openLabelStore } from '../../src/labels/store.ts';
import type { Source } from '../../src/sources/source.ts';

export const NOW = Date.UTC(2026, 10, 21, 12);

export interface World {
  readonly folder: string;
  readonly snapshotsFolder: string;
  readonly deps: ImportDeps;
  now: number;
  /** Writes a file of the world and returns its path. */
  file(name: string, text: string): string;
  import(request: ImportRequest): Promise<ImportReport>;
  /** Builds the index and opens it. */
  build(): Promise<SnapshotSet>;
  lookup(snapshots: SnapshotSet, chain: ChainId, address: string): readonly Label[];
  end(): void;
}

/** Settings of a world. */
export interface WorldOptions {
  /** A world whose imported labels the new one starts with. */
  readonly from?: World;
  /** The sources that exist. Default: those of the program. */
  readonly sources?: readonly Source[];
}

/** Makes a world. */
export function makeWorld({ from, sources }: WorldOptions = {}): World {
  const folder = mkdtempSync(join(tmpdir(), 'assay-labels-'));
  const files = join(folder, 'files');
  mkdirSync(files);
  const opened: SnapshotSet[] = [];
  const clock: Clock = { now: () => world.now, monotonic: () => world.now };
  const dataDir = join(folder, 'store');
  if (from !== undefined) cpSync(join(from.folder, 'store'), dataDir, { recursive: true });
  const deps: ImportDeps = {
    store: openLabelStore({ dataDir, lockWaitMs: 0 }),
    rules: loadRulebook(),
    clock,
    log: silentLogger,
    ...(sources === undefined ? {} : { sources }),
  };
  const world: World = {
    folder,
    snapshotsFolder: snapshotsFolderOf(dataDir),
    deps,
    now: NOW,
    file(name, text) {
      const path = join(files, name);
      writeFileSync(path, text);
      return path;
    },
    import: (request) => importFiles(request, deps),
    async build() {
      await buildLabelIndex({ snapshotsFolder: world.snapshotsFolder }, deps);
      const snapshots = openSnapshotSet(world.snapshotsFolder, deps);
      opened.push(snapshots);
      return snapshots;
    },
    lookup: (snapshots, chain, address) => snapshots.current.lookup(parseAddress(chain, address).key, chain),
    end() {
      for (const snapshots of opened) snapshots.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  return world;
}
