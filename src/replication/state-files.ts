/**
 * The files of the data folder on which responses about labels, names and registers depend: captured as one consistent set on the
 * publisher, and put in force on the node that pulled them. The graph, accounts and monitoring are replicated in other ways.
 */
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { AssayError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { labelsFolderOf, snapshotsFolderOf } from '../labels/folders.ts';
import { freshnessPath } from '../labels/freshness.ts';
import { beginBuild, currentSnapshot, dataVersionOf, leaseCurrent } from '../labels/index/folder.ts';
import { FORMAT_VERSION as LABELS_FORMAT, PARTITIONED_FORMAT } from '../labels/index/format.ts';
import { currentNames, nameIndexesOf, putNamesInForce } from '../names/build-names.ts';
import { FORMAT_VERSION as NAMES_FORMAT } from '../names/index/format.ts';
import { namesFolderOf } from '../names/lists.ts';
import { adoptCatalogue, openRegisterStore, registersFolderOf } from '../registers/store.ts';
import { syncFolder } from '../state/atomic-file.ts';
import { PRIVATE_FOLDER } from '../state/data-folder.ts';
import { linkOrCopy } from './blobs.ts';
import type { Release, ReleaseFile, ReleaseFormats } from './release.ts';

/** Files of a label snapshot: of one partition, or of several. */
const LABELS = /^labels(?:-\d{1,2})?\.(?:mdb|size)$/;
const LABELS_PREFIX = 'labels/labels';
const LABELS_FORMATS: readonly number[] = [LABELS_FORMAT, PARTITIONED_FORMAT];
const FRESHNESS = 'labels/freshness.json';
const NAMES_CATALOGUE = 'names/catalogue.json';
const NAMES_INDEX = 'names/index/';
const REGISTERS_CATALOGUE = 'registers/catalogue.json';
const REGISTERS_STATES = 'registers/states/';

/** Every publication replaces one of these files. */
const pointersOf = (dataDir: string): readonly string[] => [
  join(snapshotsFolderOf(dataDir), 'CURRENT'),
  join(nameIndexesOf(namesFolderOf(dataDir)), 'CURRENT'),
  freshnessPath(labelsFolderOf(dataDir)),
  join(namesFolderOf(dataDir), 'catalogue.json'),
  join(registersFolderOf(dataDir), 'catalogue.json'),
];

/** Returns a value that changes whenever a replicated file is replaced; costs five system calls. */
export function stateMark(dataDir: string): string {
  const marks = pointersOf(dataDir).map((path) => {
    const found = statSync(path, { bigint: true, throwIfNoEntry: false });
    return found === undefined ? '-' : `${found.ino}.${found.mtimeNs}.${found.size}`;
  });
  return marks.join(' ');
}

export interface CapturedState {
  readonly dataVersion: string;
  readonly formats: ReleaseFormats;
  /** Path in the release → file in the capture folder. */
  readonly files: ReadonlyMap<string, string>;
  readonly mark: string;
}

/** Publications are minutes apart; if this many rounds are not enough, there is another problem. */
const ROUNDS_MAX = 20;

/**
 * Hard-links every current file into `folder`, which is emptied first. Retries until no file was replaced meanwhile.
 *
 * @returns null if no snapshot was published yet
 * @throws STORE_BUSY
 */
export function captureState(dataDir: string, folder: string): CapturedState | null {
  for (let round = 0; round < ROUNDS_MAX; round++) {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, PRIVATE_FOLDER);
    const mark = stateMark(dataDir);
    let captured: Omit<CapturedState, 'mark'> | null;
    try {
      captured = linkAll(dataDir, folder);
    } catch (error) {
      // The file was deleted after it was listed and before it was linked: there is a newer one.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT' || stateMark(dataDir) === mark) throw error;
      continue;
    }
    if (stateMark(dataDir) === mark) return captured === null ? null : { ...captured, mark };
  }
  throw new AssayError(
    'STORE_BUSY',
    `The files in ${dataDir} change faster than they can be captured. Try again.`,
  );
}

function linkAll(dataDir: string, folder: string): Omit<CapturedState, 'mark'> | null {
  const files = new Map<string, string>();
  const add = (path: string, from: string): void => {
    const to = join(folder, String(files.size));
    linkOrCopy(from, to);
    files.set(path, to);
  };
  const addIfThere = (path: string, from: string): void => {
    if (existsSync(from)) add(path, from);
  };
  const leased = leaseCurrent(snapshotsFolderOf(dataDir));
  if (leased === null) return null;
  let labelsFormat: number = LABELS_FORMAT;
  try {
    for (const name of readdirSync(leased.path)) {
      if (!LABELS.test(name)) continue;
      if (name.startsWith('labels-')) labelsFormat = PARTITIONED_FORMAT;
      add(`labels/${name}`, join(leased.path, name));
    }
  } finally {
    leased.lease.release();
  }
  addIfThere(FRESHNESS, freshnessPath(labelsFolderOf(dataDir)));
  addIfThere(NAMES_CATALOGUE, join(namesFolderOf(dataDir), 'catalogue.json'));
  const names = currentNames(nameIndexesOf(namesFolderOf(dataDir)));
  for (const name of names === null ? [] : readdirSync(names)) {
    // The folder also has a lock file and page checksums, which each node creates itself.
    if (!/-(?:lock|sums)$/.test(name)) add(`${NAMES_INDEX}${name}`, join(names ?? '', name));
  }
  addIfThere(REGISTERS_CATALOGUE, join(registersFolderOf(dataDir), 'catalogue.json'));
  for (const { shards } of openRegisterStore({ dataDir }).catalogue().registers) {
    for (const shard of shards)
      add(`${REGISTERS_STATES}${shard}`, join(registersFolderOf(dataDir), 'states', shard));
  }
  return {
    dataVersion: dataVersionOf(leased.path),
    formats: { labels: labelsFormat, names: names === null ? null : NAMES_FORMAT },
    files,
  };
}

/**
 * Checks that this version of the program can read a release.
 *
 * @throws STORE_VERSION if it cannot
 */
export function requireReadable(release: Release, from: string): void {
  const { labels, names } = release.formats;
  const foreign = !LABELS_FORMATS.includes(labels) || (names !== null && names !== NAMES_FORMAT);
  if (!foreign) return;
  throw new AssayError(
    'STORE_VERSION',
    `${from} publishes labels of format ${labels} and names of format ${String(names)}; this version reads ${LABELS_FORMATS.join(' or ')} and ${NAMES_FORMAT}. The release in force is unchanged.`,
  );
}

/** Returns true if the snapshot in force has this data version. */
export const isInForce = (dataDir: string, dataVersion: string): boolean => {
  const current = currentSnapshot(snapshotsFolderOf(dataDir));
  return current !== null && dataVersionOf(current) === dataVersion;
};

export interface PutInForce {
  readonly dataDir: string;
  readonly release: Release;
  /** The release in force before; null if the state in force did not come from a release. */
  readonly before: Release | null;
  /** Returns the path of a complete and verified file by its hash. */
  readonly blob: (sha256: string) => string;
}

/**
 * Puts a release in force: labels, then names, then registers, each by its own pointer, and the state of the lists last, so that no
 * response reports a list as checked before its entries are there. Unchanged parts are not touched. Takes milliseconds.
 */
export function putInForce({ dataDir, release, before, blob }: PutInForce, deps: PutDeps): void {
  const inside = (prefix: string): ReleaseFile[] =>
    release.files.filter((file) => file.path.startsWith(prefix));
  const one = (path: string): ReleaseFile | undefined => release.files.find((file) => file.path === path);
  const isNew = (prefix: string): boolean => textOf(release, prefix) !== textOf(before, prefix);

  if (isNew(LABELS_PREFIX) || !isInForce(dataDir, release.dataVersion)) {
    const building = beginBuild(snapshotsFolderOf(dataDir), deps);
    try {
      for (const { path, sha256 } of inside(LABELS_PREFIX))
        linkOrCopy(blob(sha256), join(building.folder, basename(path)));
      syncFolder(building.folder);
      building.publish(release.dataVersion);
    } finally {
      building.end();
    }
  }
  const indexes = nameIndexesOf(namesFolderOf(dataDir));
  const index = inside(NAMES_INDEX);
  if (index.length > 0 && (isNew(NAMES_INDEX) || currentNames(indexes) === null)) {
    const folder = join(indexes, `building-${process.pid}`);
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, PRIVATE_FOLDER);
    for (const { path, sha256 } of index) linkOrCopy(blob(sha256), join(folder, basename(path)));
    syncFolder(folder);
    putNamesInForce({ root: indexes, folder, mark: release.id.slice(0, 12) }, deps.clock);
  }
  place(one(NAMES_CATALOGUE), join(namesFolderOf(dataDir), 'catalogue.json'), blob);
  const registers = one(REGISTERS_CATALOGUE);
  if (registers !== undefined && isNew('registers/')) {
    const states = join(registersFolderOf(dataDir), 'states');
    mkdirSync(states, PRIVATE_FOLDER);
    for (const { path, sha256 } of inside(REGISTERS_STATES)) {
      const to = join(states, basename(path));
      if (!existsSync(to)) linkOrCopy(blob(sha256), to);
    }
    syncFolder(states);
    adoptCatalogue(
      dataDir,
      linked(blob(registers.sha256), join(registersFolderOf(dataDir), 'catalogue.json')),
    );
  }
  place(one(FRESHNESS), freshnessPath(labelsFolderOf(dataDir)), blob);
}

export interface PutDeps {
  readonly clock: Clock;
  readonly log: Logger;
}

const textOf = (release: Release | null, prefix: string): string =>
  (release?.files ?? [])
    .filter((file) => file.path.startsWith(prefix))
    .map((file) => `${file.path} ${file.sha256}`)
    .join('\n');

/** Links the blob beside `path`, to be renamed over it. */
function linked(blob: string, path: string): string {
  const beside = `${path}.${process.pid}-pulled`;
  mkdirSync(dirname(path), PRIVATE_FOLDER);
  rmSync(beside, { force: true });
  linkOrCopy(blob, beside);
  return beside;
}

/** Puts a small file in place, unless it is there already: readers compare its inode. */
function place(file: ReleaseFile | undefined, path: string, blob: (sha256: string) => string): void {
  if (file === undefined) return;
  const beside = linked(blob(file.sha256), path);
  const there = statSync(path, { throwIfNoEntry: false });
  if (there !== undefined && there.ino === statSync(beside).ino) {
    rmSync(beside, { force: true });
    return;
  }
  renameSync(beside, path);
  syncFolder(dirname(path));
}
