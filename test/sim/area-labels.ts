/** Imports and snapshots: an import is complete or absent, and the snapshot in force opens and holds a published version. */
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { parseAddress } from '../../src/chains/address/parse.ts';
import { buildLabelIndex } from '../../src/labels/build-index.ts';
import { importFiles } from '../../src/labels/import.ts';
import type { ImportDeps } from '../../src/labels/import-report.ts';
import type { LabelReader } from '../../src/labels/index/reader.ts';
import { ownReader } from '../../src/sources/own/read.ts';
import { own } from '../../src/sources/own/source.ts';
import { addressOf, MIXER } from './area-monitoring.ts';
import { type Area, must, type Schedule } from './schedule.ts';

// A publisher's file is on another disk.
const { writeFileSync }: typeof import('node:fs') = createRequire(import.meta.url)('node:fs');

const DATASETS = ['d0', 'd1'] as const;
const ROWS = 5;
const FIRST = 'Version 0';
/** Its reader is loaded already. The test runner asks another process at each dynamic import, which takes as many turns as the machine pleases. */
const OWN = { ...own, read: async () => ownReader() };

const rowAddress = (dataset: string, row: number): string =>
  addressOf(0x5_000 + DATASETS.indexOf(dataset as (typeof DATASETS)[number]) * 0x100 + row);

function csvOf(dataset: string, version: string): string {
  const rows = Array.from(
    { length: ROWS },
    (_, row) => `${rowAddress(dataset, row)},ETH,${version},EXCHANGE`,
  );
  return `address,chain,entity,category\n${MIXER},ETH,The Mixer,MIXER\n${rows.join('\n')}\n`;
}

async function importVersion(folder: string, dataset: string, version: string, deps: ImportDeps) {
  const path = join(folder, `${dataset}.csv`);
  writeFileSync(path, csvOf(dataset, version));
  return importFiles({ source: 'own', files: [path], dataset }, { ...deps, sources: [OWN] });
}

/** The labels with which an installation begins: each start imports the missing ones, as for the shipped labels. */
export async function foundLabels(folder: string, deps: ImportDeps): Promise<void> {
  for (const name of DATASETS) {
    const isThere = deps.store.catalogue().datasets.some(({ dataset }) => dataset === name);
    if (!isThere) await importVersion(folder, name, FIRST, deps);
  }
}

/** The version of a dataset that a reader sees. All of its rows must have the same. */
function versionIn(reader: LabelReader, dataset: string): string {
  const names = Array.from({ length: ROWS }, (_, row) =>
    reader
      .lookup(parseAddress('ETH', rowAddress(dataset, row)).key, 'ETH')
      .map(({ entity }) => entity.name)
      .join('+'),
  );
  must(new Set(names).size === 1, `the dataset ${dataset} is of several versions: ${names.join(', ')}`);
  return names[0] as string;
}

export function labelsArea(schedule: Schedule): Area & { readonly imports: number } {
  const { pick } = schedule;
  /** The versions that a dataset may have in the store, and in the snapshot in force. */
  const stored = new Map<string, Set<string>>(DATASETS.map((name) => [name, new Set([FIRST])]));
  const published = new Map<string, Set<string>>(DATASETS.map((name) => [name, new Set([FIRST])]));
  let made = 0;
  let isBusy = false;
  let imports = 0;

  function importOne(): void {
    if (isBusy) return;
    isBusy = true;
    const dataset = pick(DATASETS);
    const version = `Version ${++made}`;
    const { folder, labels } = schedule.process;
    stored.get(dataset)?.add(version);
    schedule.ask(
      `import ${version} of ${dataset}`,
      () => importVersion(folder, dataset, version, labels),
      ({ error }) => {
        isBusy = false;
        if (error !== null) return;
        stored.set(dataset, new Set([version]));
        imports++;
      },
    );
  }

  function build(): void {
    if (isBusy) return;
    isBusy = true;
    const { labels, snapshots, snapshotsFolder } = schedule.process;
    for (const [dataset, versions] of stored)
      for (const version of versions) published.get(dataset)?.add(version);
    schedule.ask(
      'build the index',
      async () => {
        await buildLabelIndex({ snapshotsFolder }, labels);
        snapshots.refresh();
      },
      ({ error }) => {
        isBusy = false;
        if (error !== null) return;
        for (const [dataset, versions] of stored) published.set(dataset, new Set(versions));
        checkPublished();
      },
    );
  }

  function checkPublished(): void {
    const { current } = schedule.process.snapshots;
    for (const dataset of DATASETS) {
      const version = versionIn(current, dataset);
      const allowed = [...(published.get(dataset) ?? [])];
      must(
        allowed.includes(version),
        `the snapshot has ${version} of ${dataset}, and ${allowed.join(' or ')} was published`,
      );
    }
  }

  return {
    get imports() {
      return imports;
    },
    acts: [
      [2, importOne],
      [3, build],
    ],
    onStart() {
      isBusy = false;
      if (!schedule.process.hasBuilt) {
        // A killed start may have published the contents of the store.
        for (const [dataset, versions] of stored)
          for (const version of versions) published.get(dataset)?.add(version);
        return;
      }
      // A start builds the contents of the store before it serves.
      for (const dataset of DATASETS) {
        const version = versionIn(schedule.process.snapshots.current, dataset);
        const allowed = [...(stored.get(dataset) ?? [])];
        must(
          allowed.includes(version),
          `the store has ${version} of ${dataset}, not ${allowed.join(' or ')}`,
        );
        stored.set(dataset, new Set([version]));
        published.set(dataset, new Set([version]));
      }
    },
    check: checkPublished,
    settle() {
      return !isBusy;
    },
  };
}
