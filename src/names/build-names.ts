/**
 * Builds a published index of names from the store of listed parties, if something changed. The new index is built next to the
 * published one and published by one rename. The caller holds the lock of the label store.
 */
import { createHash } from 'node:crypto';
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { type Clock, isoTime } from '../base/clock.ts';
import { AssayError, messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { readJson, syncFolder, writeJsonAtomically } from '../state/atomic-file.ts';
import { PRIVATE_FOLDER } from '../state/data-folder.ts';
import { FORMAT_VERSION } from './index/format.ts';
import type { NameListRow, NameStore } from './lists.ts';
import { type Fingerprints, FingerprintWriter, openFingerprints } from './lists-fingerprints.ts';
import type { NameEntity, NameIndex, NameIndexMeta } from './name.ts';

/** Builds an index in a folder, and opens one from a folder. */
export interface NameIndexer {
  build(entities: AsyncIterable<NameEntity>, folder: string): Promise<NameIndexMeta>;
  /** Throws STORE_CORRUPT, STORE_VERSION. */
  open(folder: string): NameIndex;
}

export interface BuildNamesDeps {
  readonly names: NameStore;
  readonly indexer: NameIndexer;
  readonly clock: Clock;
  readonly log: Logger;
}

export interface BuildNamesReport {
  /** False if the published index already matches the store. */
  readonly built: boolean;
  /** Of the new index; null if none was built. */
  readonly meta: NameIndexMeta | null;
}

/** The inputs of an index. */
interface BuiltFrom {
  /** Format of the index: an index of another format is rebuilt, even if the lists are unchanged. */
  readonly format: number;
  readonly revision: string;
  readonly lists: readonly NameListRow[];
}

const CURRENT = 'CURRENT';
const BUILDING = 'building-';
const PUBLISHED = 'names-';
const BUILT_FROM = 'built-from.json';

/** Increase this number when the layout of the files built here changes: an index of another layout is rebuilt. */
const LAYOUT = 1;

/** Returns the folder of published indexes, inside the names folder. */
export const nameIndexesOf = (namesFolder: string): string => join(namesFolder, 'index');

const indexFolderOf = (store: NameStore): string => nameIndexesOf(store.folder);

/** Drops the shipped heads of state if a whole list of politically exposed persons is loaded. */
function listsThatCount(rows: readonly NameListRow[]): readonly NameListRow[] {
  const hasWhole = rows.some((row) => row.listType === 'pep' && row.source === 'opensanctions');
  return hasWhole ? rows.filter((row) => row.source !== 'seed') : rows;
}

/**
 * Builds and publishes an index, unless the published index already matches the store.
 *
 * @throws NOT_READY if the store holds no list.
 */
export async function buildNames(
  deps: BuildNamesDeps,
  options: { readonly force?: boolean } = {},
): Promise<BuildNamesReport> {
  const { names, indexer, clock, log } = deps;
  const root = indexFolderOf(names);
  const rows = listsThatCount(names.rows());
  if (rows.length === 0) {
    throw new AssayError(
      'NOT_READY',
      "No list of names has been imported. Run 'assay sync' or 'assay import'.",
    );
  }
  const revision = createHash('sha256').update(`${LAYOUT} ${names.revision()}`).digest('hex');
  const current = currentNames(root);
  const before = current === null ? null : builtFromOrNone(current);
  if (options.force !== true && before?.format === FORMAT_VERSION && before.revision === revision) {
    return { built: false, meta: null };
  }
  mkdirSync(root, PRIVATE_FOLDER);
  for (const name of readdirSync(root)) {
    if (name.startsWith(BUILDING)) rmSync(join(root, name), { recursive: true, force: true });
  }
  const folder = join(root, `${BUILDING}${process.pid}`);
  mkdirSync(folder);
  try {
    const fingerprints = new FingerprintWriter();
    const meta = await indexer.build(inForce(names, rows, fingerprints), folder);
    fingerprints.write(folder);
    writeJsonAtomically(join(folder, BUILT_FROM), {
      format: FORMAT_VERSION,
      revision,
      lists: rows,
    } satisfies BuiltFrom);
    putNamesInForce({ root, folder, mark: revision.slice(0, 12) }, clock);
    log.debug({ names: meta.names, entities: meta.entities, version: meta.version }, 'names published');
    return { built: true, meta };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Publishes a finished folder by one rename. The previous index stays until the next one is published.
 *
 * @param mark End of the folder's published name.
 */
export function putNamesInForce(
  { root, folder, mark }: { readonly root: string; readonly folder: string; readonly mark: string },
  clock: Clock,
): void {
  const before = currentNames(root);
  const stamp = isoTime(clock.now()).replace(/\D/g, '');
  let name = `${PUBLISHED}${stamp}-${mark}`;
  for (let again = 2; existsSync(join(root, name)); again++) name = `${PUBLISHED}${stamp}-${mark}-${again}`;
  renameSync(folder, join(root, name));
  // Sync before CURRENT names the folder: after a power loss, a rename that was not synced may be lost.
  syncFolder(root);
  const next = join(root, `${CURRENT}.next`);
  writeFileSync(next, `${name}\n`, { flush: true });
  renameSync(next, join(root, CURRENT));
  syncFolder(root);
  removeOld(root, name, before);
}

/** Yields the parties that are on the lists now. Delisted parties stay in the store as history, but are not matched. */
async function* inForce(
  names: NameStore,
  rows: readonly NameListRow[],
  fingerprints: FingerprintWriter,
): AsyncGenerator<NameEntity, void, undefined> {
  for (const row of rows) {
    for await (const party of names.parties(row)) {
      if (party.delistedAt !== null) continue;
      fingerprints.add(party);
      yield party;
    }
  }
}

/**
 * Removes old indexes except the previous one: a reader that has just read its name may still open it. Open files remain usable
 * after deletion.
 */
function removeOld(root: string, published: string, before: string | null): void {
  for (const name of readdirSync(root)) {
    if (!name.startsWith(PUBLISHED) || name === published || join(root, name) === before) continue;
    rmSync(join(root, name), { recursive: true, force: true });
  }
}

/** Returns the path of the published index; null if none was published yet. */
export function currentNames(root: string): string | null {
  const path = join(root, CURRENT);
  if (!existsSync(path)) return null;
  const name = readFileSync(path, 'utf8').trim();
  if (!name.startsWith(PUBLISHED) || name.includes('/') || name.includes('..')) {
    throw new AssayError(
      'STORE_CORRUPT',
      `${path} does not name an index of names. Remove it: the index is then built or pulled again.`,
    );
  }
  return existsSync(join(root, name)) ? join(root, name) : null;
}

/** Returns null for an unreadable file: rebuilding the index repairs it. */
function builtFromOrNone(folder: string): BuiltFrom | null {
  try {
    return readBuiltFrom(folder);
  } catch (error) {
    if (error instanceof AssayError) return null;
    throw error;
  }
}

function readBuiltFrom(folder: string): BuiltFrom | null {
  const path = join(folder, BUILT_FROM);
  return existsSync(path) ? (readJson(path) as BuiltFrom) : null;
}

// --- following the published index --------------------------------------------------------------------------------------

/** An open index with its fingerprints and lists. */
export interface PublishedNames {
  readonly index: NameIndex;
  /** The fingerprint of each entity's content. */
  readonly fingerprints: Fingerprints;
  /** Returns the lists that the index was built from, each with its last check. */
  lists(): readonly NameListRow[];
}

/** The published index, followed by one thread. */
export interface NamesSet {
  /** Throws NOT_READY if none was published yet. */
  readonly current: PublishedNames;
  /** Switches to a newer index and returns true if there is one; otherwise it costs one system call. */
  refresh(): boolean;
  close(): void;
}

export interface NamesSetDeps extends Pick<BuildNamesDeps, 'names' | 'log'> {
  readonly indexer: Pick<NameIndexer, 'open'>;
}

/** Follows the published index. Nothing is opened before the first use: a thread that never screens a name pays nothing. */
export function openNamesSet(deps: NamesSetDeps): NamesSet {
  const { names, indexer, log } = deps;
  const root = indexFolderOf(names);
  let published: PublishedNames | null = null;
  let mark = '';

  const stampNow = (): string => {
    const found = statSync(join(root, CURRENT), { bigint: true, throwIfNoEntry: false });
    return found ? `${found.ino}.${found.mtimeNs}.${found.ctimeNs}` : '';
  };

  function open(): PublishedNames {
    const seen = stampNow();
    const path = currentNames(root);
    const from = path === null ? null : readBuiltFrom(path);
    if (path === null || from === null) {
      throw new AssayError('NOT_READY', "There is no index of names. Run 'assay index build'.");
    }
    const index = indexer.open(path);
    const checks = followChecks(names, from.lists);
    const opened = { index, fingerprints: openFingerprints(path), lists: checks };
    mark = seen;
    return opened;
  }

  return {
    get current() {
      published ??= open();
      return published;
    },
    refresh() {
      if (published === null || stampNow() === mark) return false;
      try {
        const before: PublishedNames = published;
        published = open();
        before.index.close();
        return true;
      } catch (error) {
        log.error({ root, reason: messageOf(error) }, 'newer index of names not opened');
        mark = stampNow();
        return false;
      }
    },
    close() {
      published?.index.close();
      published = null;
    },
  };
}

/** Returns the lists of an index with their newest checks, which need no new index. */
function followChecks(names: NameStore, lists: readonly NameListRow[]): () => readonly NameListRow[] {
  const path = join(names.folder, 'catalogue.json');
  let stamp = '';
  let current = lists;
  return () => {
    const found = statSync(path, { throwIfNoEntry: false });
    const seen = found ? `${found.ino}:${found.mtimeMs}:${found.size}` : '';
    if (seen === stamp) return current;
    const rows = new Map(names.rows().map((row) => [row.list, row]));
    current = lists.map((row) => {
      const now = rows.get(row.list);
      // If a newer publication is not in this index yet, its check does not apply to the index.
      return now?.file === row.file ? { ...row, checkedAt: now.checkedAt } : row;
    });
    stamp = seen;
    return current;
  };
}
