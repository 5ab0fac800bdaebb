/** Verifies all files of a folder of state that are not stores: compares each with the checksum that was written with it. */
import { existsSync, readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { AssayError, messageOf } from '../base/errors.ts';
import { dailyFolderOf, pricesFolderOf, readTableLines } from '../chains/prices/table.ts';
import { CHAINS } from '../chains/registry.ts';
import { exposureFolderOf } from '../exposure/reader.ts';
import { faultsOfResults } from '../jobs/bulk/verify-results.ts';
import { snapshotsFolderOf } from '../labels/folders.ts';
import { currentSnapshot } from '../labels/index/folder.ts';
import { readSegment } from '../labels/index/segment.ts';
import { openLabelStore } from '../labels/store.ts';
import { currentNames, nameIndexesOf } from '../names/build-names.ts';
import { namesFolderOf, openNameStore } from '../names/lists.ts';
import { openFingerprints } from '../names/lists-fingerprints.ts';
import { openRegisterStore } from '../registers/store.ts';
import { sha256OfFile } from '../replication/blobs.ts';
import { replicationFolderOf } from '../replication/publish.ts';
import { readJson } from '../state/atomic-file.ts';
import { wayOutOf } from '../state/sound-file.ts';

/** Throws or rejects if the file differs from what was written. */
type Check = () => unknown;

/** Folders of temporary files, and of files with content that is not this program's. */
const LEFT_OUT = /^(?:jobs|downloads|building.*|waste-.*|staged|capture|partial)$/;

function jsonFilesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true }).flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return LEFT_OUT.test(entry.name) ? [] : jsonFilesBelow(path);
    return entry.isFile() && entry.name.endsWith('.json') ? [path] : [];
  });
}

const filesIn = (folder: string): string[] =>
  existsSync(folder) ? readdirSync(folder).map((name) => join(folder, name)) : [];

function* ofLabels(dataDir: string): Generator<Check> {
  const store = openLabelStore({ dataDir });
  const { datasets, lists } = store.catalogue();
  for (const { list } of lists) yield () => store.listState(list);
  for (const row of datasets)
    for (const one of row.segments)
      yield () => {
        const segment = readSegment(store.segmentPath(row, one));
        for (const _ of segment.chunks(true));
        return segment.templateTexts;
      };
}

function* ofNames(dataDir: string): Generator<Check> {
  const store = openNameStore({ folder: namesFolderOf(dataDir) });
  for (const row of store.rows())
    yield async () => {
      for await (const _ of store.parties(row));
    };
  const current = currentNames(nameIndexesOf(namesFolderOf(dataDir)));
  if (current !== null && existsSync(current)) yield () => openFingerprints(current);
}

function* ofRegisters(dataDir: string): Generator<Check> {
  const store = openRegisterStore({ dataDir });
  for (const { shards } of store.catalogue().registers)
    for (const shard of shards) yield () => store.shard(shard);
}

function* ofPrices(dataDir: string): Generator<Check> {
  const folder = pricesFolderOf(dataDir);
  for (const path of [...filesIn(folder), ...filesIn(dailyFolderOf(folder))])
    if (path.endsWith('.csv')) yield () => readTableLines(path);
}

/** Checks that a pointer names an existing folder with an index. */
function requirePointed(root: string, current: (root: string) => string | null, file: string): void {
  const pointer = join(root, 'CURRENT');
  if (!existsSync(pointer)) return;
  const path = current(root);
  if (path === null || !existsSync(path))
    throw new AssayError('STORE_CORRUPT', `${pointer} names ${path ?? 'a folder'}, which does not exist.`);
  const index = join(path, file);
  if (!existsSync(index)) throw new AssayError('STORE_CORRUPT', `${index} is missing: ${wayOutOf(index)}.`);
}

function* ofPointers(dataDir: string): Generator<Check> {
  yield () => requirePointed(snapshotsFolderOf(dataDir), currentSnapshot, 'labels.mdb');
  yield () => requirePointed(nameIndexesOf(namesFolderOf(dataDir)), currentNames, 'names.mdb');
  for (const { id } of CHAINS)
    yield () => requirePointed(exposureFolderOf(join(dataDir, 'exposure'), id), currentSnapshot, 'index.mdb');
}

/** Release files are named by the hash of their content. */
function* ofReleases(dataDir: string): Generator<Check> {
  for (const part of ['published', 'pulled'])
    for (const path of filesIn(join(replicationFolderOf(dataDir), part, 'files')))
      if (/^[0-9a-f]{64}$/.test(basename(path)))
        yield async () => {
          if ((await sha256OfFile(path)) !== basename(path))
            throw new AssayError(
              'STORE_CORRUPT',
              `${path} is damaged: its content does not match its name. Remove it; it is published or fetched again.`,
            );
        };
}

/** Settings: the folders of an installation's files. */
export interface FilePlaces {
  readonly dataDir: string;
  /** If null, the folder is below the folder of state. */
  readonly jobsDir: string | null;
  /** Whether Redis holds the state that nodes share. */
  readonly isShared: boolean;
}

/**
 * Verifies every file of an installation that has a checksum and is not a store.
 *
 * @returns one sentence for each damaged file
 */
export async function faultsOfFiles(
  { dataDir, jobsDir, isShared }: FilePlaces,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const faults = new Set<string>();
  async function look(check: Check): Promise<void> {
    signal.throwIfAborted();
    try {
      await check();
    } catch (error) {
      faults.add(messageOf(error));
    }
  }
  if (!existsSync(dataDir)) return [];
  for (const path of jsonFilesBelow(dataDir)) await look(() => readJson(path));
  // If a catalogue cannot be read, this is itself a fault, and the files that it lists are unknown.
  for (const checks of [ofLabels, ofNames, ofRegisters, ofPrices, ofPointers, ofReleases])
    await look(async () => {
      for (const check of checks(dataDir)) await look(check);
    });
  await look(async () => {
    const jobs = { storePath: join(dataDir, 'jobs.mdb'), folder: jobsDir ?? join(dataDir, 'jobs'), isShared };
    for (const fault of await faultsOfResults(jobs, signal)) faults.add(fault);
  });
  return [...faults];
}
