/** Nodes in folders of their own: some build, others only pull. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Clock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import { parseAddress } from '../../src/chains/address/parse.ts';
import { buildLabelIndex } from '../../src/labels/build-index.ts';
import { labelsFolderOf, snapshotsFolderOf } from '../../src/labels/folders.ts';
import { type ListFreshness, openFreshness, writeListChecks } from '../../src/labels/freshness.ts';
import { importFiles } from '../../src/labels/import.ts';
import type { ImportDeps } from '../../src/labels/import-report.ts';
import { openSnapshotSet } from '../../src/labels/index/snapshot-set.ts';
import { loadRulebook } from '../../src/labels/map.ts';
import { openLabelStore } from '../../src/labels/store.ts';
import { buildNames, openNamesSet } from '../../src/names/build-names.ts';
import { buildNameIndex } from '../../src/names/index/build.ts';
import { openNameIndex } from '../../src/names/index/open.ts';
import { namesFolderOf, openNameStore } from '../../src/names/lists.ts';
import { ensurePepSeed } from '../../src/names/lists-import.ts';
import { importRegisters } from '../../src/registers/import.ts';
import { openRegisterStore } from '../../src/registers/store.ts';

export const NOW = Date.UTC(2026, 10, 21, 12);

const rules = loadRulebook();

export interface Node {
  readonly dataDir: string;
  readonly deps: ImportDeps;
  readonly clock: Clock;
  /** Imports these labels (address → entity) instead of the earlier ones, and builds. */
  build(labels: Readonly<Record<string, string>>): Promise<string>;
  /** Records that the OFAC list was checked at this ISO time. */
  checked(at: string): void;
  buildNames(): Promise<void>;
  importRegister(firm: string): Promise<void>;
  /** The data in force on this node, as every reader sees it. */
  answers(): {
    readonly dataVersion: string;
    readonly entityOf: (address: string) => string | null;
    readonly freshness: ListFreshness;
  };
  nameLists(): readonly { readonly list: string; readonly checkedAt: string }[];
  registers(): readonly string[];
}

export interface World {
  readonly folder: string;
  now: number;
  node(name: string): Node;
  end(): void;
}

export const ADDRESS = (n: number): string => `0x${n.toString(16).padStart(40, '0')}`;

export function makeWorld(): World {
  const folder = mkdtempSync(join(tmpdir(), 'assay-travel-'));
  const clock: Clock = { now: () => world.now, monotonic: () => performance.now() };
  const world: World = {
    folder,
    now: NOW,
    node: (name) => makeNode(join(folder, name), clock),
    end: () => rmSync(folder, { recursive: true, force: true }),
  };
  return world;
}

function makeNode(dataDir: string, clock: Clock): Node {
  mkdirSync(dataDir, { recursive: true });
  const store = openLabelStore({ dataDir, lockWaitMs: 0 });
  const deps: ImportDeps = { store, rules, clock, log: silentLogger };
  const names = openNameStore({ folder: namesFolderOf(dataDir) });
  const indexer = {
    build: (entities: Parameters<typeof buildNameIndex>[0], folder: string) =>
      buildNameIndex(entities, folder, { clock }),
    open: openNameIndex,
  };
  return {
    dataDir,
    deps,
    clock,
    async build(labels) {
      const file = join(dataDir, 'own.csv');
      const rows = Object.entries(labels).map(([address, entity]) => `${address},ETH,${entity},EXCHANGE`);
      writeFileSync(file, `address,chain,entity,category\n${rows.join('\n')}\n`);
      await importFiles({ source: 'own', files: [file], force: true }, deps);
      const { meta } = await buildLabelIndex({ snapshotsFolder: snapshotsFolderOf(dataDir) }, deps);
      if (meta === null) throw new Error('nothing was built');
      return meta.dataVersion;
    },
    checked(at) {
      writeListChecks(labelsFolderOf(dataDir), {
        OFAC_SDN: { publishedAt: '2026-11-20', checkedAt: at, records: 5 },
      });
    },
    async buildNames() {
      await ensurePepSeed({ names, clock, log: silentLogger });
      await buildNames({ names, indexer, clock, log: silentLogger });
    },
    async importRegister(firm) {
      const file = join(dataDir, 'registers-2026-10-01.csv');
      writeFileSync(
        file,
        `register,jurisdiction,authority,legal_name,status,registered_as\nhk-sfc,HK,SFC,${firm},AUTHORISED,Platform\n`,
      );
      await importRegisters(
        { source: 'registers', files: [file] },
        { store: openRegisterStore({ dataDir }), clock },
      );
    },
    answers() {
      const set = openSnapshotSet(snapshotsFolderOf(dataDir), { log: silentLogger });
      const reader = set.current;
      set.close();
      return {
        dataVersion: reader.meta.dataVersion,
        entityOf: (address) => reader.lookup(parseAddress('ETH', address).key, 'ETH')[0]?.entity.id ?? null,
        freshness: openFreshness({ labelsFolder: labelsFolderOf(dataDir) }).listFreshness(clock.now(), 7),
      };
    },
    nameLists() {
      const set = openNamesSet({ names, indexer, log: silentLogger });
      try {
        return set.current.lists().map(({ list, checkedAt }) => ({ list, checkedAt }));
      } finally {
        set.close();
      }
    },
    registers() {
      const registers = openRegisterStore({ dataDir });
      return registers
        .catalogue()
        .registers.flatMap((row) => row.shards.flatMap((name) => registers.shard(name)))
        .map((firm) => JSON.stringify(firm));
    },
  };
}
