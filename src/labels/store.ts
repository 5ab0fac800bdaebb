/**
 * The label store on disk: imported datasets as segments, the state of each sanctions list, and one catalogue of the files
 * that count. Every change is committed by replacing the catalogue; files that it does not name are left over from a crash.
 *
 *   labels/catalogue.json    format, datasets, lists
 *   labels/datasets/FOLDER/  segments of one dataset
 *   labels/lists/FILE        the state of one sanctions list
 *   labels/rejects/          rows that the last import of each dataset could not use
 *   labels/freshness.json    when each list was last checked
 */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { AssayError } from '../base/errors.ts';
import type { SanctionsList } from '../sources/index.ts';
import { readJson, syncFolder, writeJsonAtomically } from '../state/atomic-file.ts';
import { PRIVATE_FOLDER } from '../state/data-folder.ts';
import { wrongFormat } from '../state/format-version.ts';
import { type LockOptions, withLock } from '../state/writer-lock.ts';
import { labelsFolderOf } from './folders.ts';
import { type ListChecks, writeListChecks } from './freshness.ts';
import { isIntactSegment } from './index/segment.ts';
import type { When } from './map.ts';
import { emptyList, type ListState } from './sanctions.ts';

export interface DatasetSegment {
  /** Name of the segment inside the dataset's folder. */
  readonly name: string;
  readonly when: When;
  readonly labels: number;
}

/** One imported unit of a source, which the next import of the same dataset replaces. */
export interface DatasetRow {
  readonly source: string;
  readonly dataset: string;
  readonly layout: string;
  /** SHA-256 of the decompressed content of the files. */
  readonly contentHash: string;
  /** Fingerprint of the rules that mapped it. */
  readonly rules: string;
  readonly files: readonly string[];
  readonly publishedAt: string | null;
  readonly importedAt: string;
  readonly url: string | null;
  readonly folder: string;
  readonly segments: readonly DatasetSegment[];
  readonly records: number;
  readonly rejected: number;
  /** Records in a segment that no index reads (lowered.ts); absent if there are none. */
  readonly keptApart?: number;
}

export interface ListRow {
  readonly list: SanctionsList;
  /** File of its state; the name contains the hash of the content. */
  readonly file: string;
  readonly publishedAt: string | null;
  readonly importedAt: string;
  readonly parties: number;
  readonly entries: number;
}

export interface Catalogue {
  readonly format: number;
  readonly datasets: readonly DatasetRow[];
  readonly lists: readonly ListRow[];
}

/** The changes of one import, committed together. */
export interface StoreChange {
  readonly datasets?: readonly Omit<DatasetRow, 'folder'>[];
  /** Staged folder of each dataset of `datasets`, in the same order. */
  readonly staged?: readonly string[];
  readonly lists?: readonly ListState[];
  readonly checks?: ListChecks;
  /** ISO time of the import. */
  readonly at: string;
}

export interface LabelStore {
  /** The folder of all label state. */
  readonly folder: string;
  /** Reads the present catalogue. Throws STORE_VERSION, STORE_CORRUPT. */
  catalogue(): Catalogue;
  /** Returns the state of a list; empty if the list was never imported. */
  listState(list: SanctionsList): ListState;
  /** Returns the hash of all inputs of a snapshot: equal content, equal revision. */
  revision(): string;
  /** Returns the path of a segment, without suffix. */
  segmentPath(row: DatasetRow, segment: DatasetSegment): string;
  /** Whether the files of a dataset are as they were written: if not, importing the same content again replaces them. */
  isIntact(row: DatasetRow): boolean;
  /** Runs `work` as the only writer of all processes. Throws STORE_BUSY. */
  locked<T>(work: (writer: StoreWriter) => Promise<T>): Promise<T>;
  /** Returns the path of the rejects file of a dataset. */
  rejectsPath(source: string, dataset: string): string;
}

export interface StoreWriter {
  /** Creates a folder for the segments of a dataset; it is deleted unless `commit` takes it. */
  stage(): string;
  commit(change: StoreChange): void;
}

/** Lock in the labels folder, held while lists are refreshed: downloads, imports, the build. */
export const REFRESH_LOCK = 'REFRESH_LOCK';

const FORMAT = 1;
const EMPTY: Catalogue = { format: FORMAT, datasets: [], lists: [] };

export interface StoreOptions {
  /** The program's data folder; labels are kept in `labels/` below it. */
  readonly dataDir: string;
  /** How long a writer waits for another one before it fails with STORE_BUSY, in milliseconds. Default 15 s. */
  readonly lockWaitMs?: number;
}

/**
 * A background refresh holds the lock for one import or one build at a time. That takes seconds, for which a user can wait.
 */
const LOCK_WAIT_MS = 15_000;

/** Opens the store. Nothing is written before the first change. */
export function openLabelStore(options: StoreOptions): LabelStore {
  const folder = labelsFolderOf(options.dataDir);
  const lock: LockOptions = { waitMs: options.lockWaitMs ?? LOCK_WAIT_MS };
  const cataloguePath = join(folder, 'catalogue.json');
  let staged = 0;

  const catalogue = (): Catalogue => readCatalogue(cataloguePath);

  function listState(list: SanctionsList): ListState {
    const row = catalogue().lists.find((one) => one.list === list);
    return row ? readListState(join(folder, 'lists', row.file)) : emptyList(list);
  }

  function commit(change: StoreChange): void {
    const before = catalogue();
    // Written first, so that a crash during the first commit does not look like a lost catalogue.
    if (!existsSync(cataloguePath)) writeJsonAtomically(cataloguePath, EMPTY);
    const datasets = new Map(before.datasets.map((row) => [`${row.source}/${row.dataset}`, row]));
    for (const [at, row] of (change.datasets ?? []).entries()) {
      const from = change.staged?.[at];
      if (from === undefined) throw new Error(`Dataset ${row.dataset} has no staged folder.`);
      const name = moveInto(
        from,
        join(folder, 'datasets'),
        `${row.source}-${row.dataset}-${row.contentHash.slice(0, 12)}`,
      );
      datasets.set(`${row.source}/${row.dataset}`, { ...row, folder: name });
    }
    const lists = new Map(before.lists.map((row) => [row.list, row]));
    for (const state of change.lists ?? []) lists.set(state.list, writeListState(folder, state, change.at));
    const after: Catalogue = {
      format: FORMAT,
      datasets: sorted([...datasets.values()], (row) => `${row.source}/${row.dataset}`),
      lists: sorted([...lists.values()], (row) => row.list),
    };
    writeJsonAtomically(cataloguePath, after);
    if (change.checks) writeListChecks(folder, change.checks);
    removeRubbish(folder, after);
  }

  return {
    folder,
    catalogue,
    listState,
    revision() {
      const { datasets, lists } = catalogue();
      const content = [
        datasets.map((row) => [row.source, row.dataset, row.contentHash, row.rules]),
        lists.map((row) => [row.list, row.file]),
      ];
      return createHash('sha256').update(JSON.stringify(content)).digest('hex');
    },
    segmentPath: (row, segment) => join(folder, 'datasets', row.folder, segment.name),
    isIntact: (row) =>
      row.segments.every(({ name }) => isIntactSegment(join(folder, 'datasets', row.folder, name))),
    locked: (work) =>
      withLock(join(folder, 'LOCK'), lock, async () => {
        // With the lock held, no other process is staging: this is left over from a writer that crashed.
        rmSync(join(folder, 'staged'), { recursive: true, force: true });
        try {
          return await work({
            stage() {
              const path = join(folder, 'staged', String(staged++));
              mkdirSync(path, PRIVATE_FOLDER);
              return path;
            },
            commit,
          });
        } finally {
          rmSync(join(folder, 'staged'), { recursive: true, force: true });
        }
      }),
    rejectsPath: (source, dataset) => join(folder, 'rejects', `${source}-${dataset}.ndjson`),
  };
}

const sorted = <T>(rows: readonly T[], nameOf: (row: T) => string): T[] =>
  [...rows].sort((a, b) => (nameOf(a) < nameOf(b) ? -1 : 1));

const isFilled = (folder: string): boolean => existsSync(folder) && readdirSync(folder).length > 0;

function readCatalogue(path: string): Catalogue {
  if (!existsSync(path)) {
    const orphans = ['datasets', 'lists'].filter((name) => isFilled(join(dirname(path), name)));
    if (orphans.length === 0) return EMPTY;
    throw new AssayError(
      'STORE_CORRUPT',
      `${path} is missing, but ${orphans.join(' and ')} next to it contain labels. Restore it from a backup, or use another ASSAY_DATA_DIR.`,
    );
  }
  return checkFormat(readJson(path) as Catalogue, path);
}

/** Rejects a file of another version of the program, instead of overwriting it. */
function checkFormat<T extends { readonly format: number }>(file: T, path: string): T {
  if (file.format === FORMAT) return file;
  throw wrongFormat(
    path,
    file.format,
    FORMAT,
    'Use the version of Assay that wrote it, or another ASSAY_DATA_DIR.',
  );
}

interface ListFile extends ListState {
  readonly format: number;
}

function readListState(path: string): ListState {
  const { format: _, ...state } = checkFormat(readJson(path) as ListFile, path);
  // States that were written before details of parties were kept have none.
  return { ...state, details: (state as Partial<ListState>).details ?? [] };
}

function writeListState(folder: string, state: ListState, at: string): ListRow {
  const content: ListFile = { format: FORMAT, ...state };
  const hash = createHash('sha256').update(JSON.stringify(content)).digest('hex');
  const file = `${state.list}-${hash.slice(0, 16)}.json`;
  const path = join(folder, 'lists', file);
  if (!existsSync(path)) writeJsonAtomically(path, content);
  return {
    list: state.list,
    file,
    publishedAt: state.newestAt,
    importedAt: at,
    parties: state.parties.length,
    entries: state.entries.length,
  };
}

/** Moves a staged folder to a new name: the folder that the catalogue names now must stay until the commit. */
function moveInto(from: string, folder: string, wanted: string): string {
  mkdirSync(folder, PRIVATE_FOLDER);
  let name = wanted;
  for (let copy = 2; existsSync(join(folder, name)); copy++) name = `${wanted}-${copy}`;
  renameSync(from, join(folder, name));
  syncFolder(folder);
  return name;
}

/** Removes segments and list states that the catalogue does not name. */
function removeRubbish(folder: string, named: Catalogue): void {
  const keep = new Set([...named.datasets.map((row) => row.folder), ...named.lists.map((row) => row.file)]);
  for (const part of ['datasets', 'lists']) {
    const inside = join(folder, part);
    if (!existsSync(inside)) continue;
    for (const name of readdirSync(inside)) {
      if (!keep.has(name)) rmSync(join(inside, name), { recursive: true, force: true });
    }
  }
}
