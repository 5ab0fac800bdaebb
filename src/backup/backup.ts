/**
 * Copies the data folder while the server is running and writing. LMDB environments are copied with LMDB's hot copy, each in one read
 * transaction; immutable files are copied as one consistent set. `BACKUP.json` is written last and lists every file with its SHA-256.
 */
import {
  accessSync,
  closeSync,
  constants,
  existsSync,
  lstatSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  rmSync,
  statSync,
} from 'node:fs';
import { basename, dirname, join, relative, sep } from 'node:path';
import { type Clock, isoTime } from '../base/clock.ts';
import { AssayError, messageOf } from '../base/errors.ts';
import { snapshotsFolderOf } from '../labels/folders.ts';
import { leaseCurrent } from '../labels/index/folder.ts';
import { linkOrCopy, sha256OfFile } from '../replication/blobs.ts';
import { stateMark } from '../replication/state-files.ts';
import { readJson, writeJsonAtomically } from '../state/atomic-file.ts';
import {
  BACKUP_MANIFEST,
  FIRST_KEY_FILE,
  JOBS_FOLDER_FILE,
  makeFolder,
  PRIVATE_FOLDER,
} from '../state/data-folder.ts';
import { isRunning } from '../state/file-lease.ts';
import { wrongFormat } from '../state/format-version.ts';
import { RECORD_FILE } from '../state/installation-record.ts';
import { isStorageFull } from '../state/storage.ts';
import { type Copier, openCopier } from './copier.ts';
import type { DatabaseDigest } from './digests.ts';

export interface BackupFile {
  /** Path inside the data folder, with `/`. */
  readonly path: string;
  readonly bytes: number;
  readonly sha256: string;
  /** `lmdb`: an environment, copied by LMDB. */
  readonly kind: 'file' | 'lmdb';
  /** Digests of the databases of an environment. Absent for other files, and in backups of earlier releases. */
  readonly databases?: readonly DatabaseDigest[];
}

export interface BackupReport {
  readonly format: number;
  /** ISO time at which the backup began: it contains everything older. */
  readonly takenAt: string;
  readonly files: readonly BackupFile[];
}

export interface BackupProgress {
  readonly path: string;
  readonly files: number;
  readonly totalFiles: number;
}

export interface BackupOptions {
  readonly dataDir: string;
  /** Must be missing or empty. */
  readonly folder: string;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: BackupProgress) => void;
}

const FORMAT = 1;
/** Prefix of the folder in which files are hard-linked before they are copied; the suffix is the process id. */
const STAGING = '.backup-';
/** Publications are minutes apart. */
const ROUNDS_MAX = 20;

/** Files that are useless elsewhere: locks, leases, unfinished work, deleted data, and data that is rebuilt automatically. */
const LEFT_OUT =
  /^(?:.*-lock|.*-sums|LOCK|REFRESH_LOCK|build\.lock|opening-.*|building.*|waste-.*|leases|staged|.*\.next|.*\.tmp|.*\.partial|\.partial-.*|\.backup-.*|capture.*|\.room-.*|BACKUP\.json)$/;
/** Rebuilt from other data (of `oracle`, also the journal of a push: its transaction is over by a restore); a secret that the operator moves elsewhere; and the name of this machine's jobs folder. */
const TOP_LEFT_OUT: ReadonlySet<string> = new Set([
  'travel',
  'snapshots',
  'exposure',
  'oracle',
  FIRST_KEY_FILE,
  JOBS_FOLDER_FILE,
]);
/** Environments below these paths are never modified after they are published, so they are copied as plain files. */
const IMMUTABLE = /^(?:snapshots|names)\//;

/**
 * Stores of payments in the order in which they are copied, after all others. The copies are from different moments, and what an earlier one
 * lacks is done again after a restore: the position in a chain before the invoices, so that no block with a missing payment counts as read;
 * the payments before the ledger, which books each of them once by its name.
 */
const COPIED_LAST: readonly string[] = [
  'payment-watch.mdb',
  'invoices.mdb',
  'authorized-payments.mdb',
  'accounts/payments.mdb',
  'accounts/ledger.mdb',
];

/**
 * Copies the data folder. A folder without BACKUP.json is not a backup.
 *
 * @throws NOT_FOUND if the data folder has no state, INVALID_REQUEST if the target is not empty or is inside the data folder, STORE_BUSY if the state changes faster than its files
 * can be linked, and the reason of an aborted signal
 */
export async function backUp(options: BackupOptions, deps: { readonly clock: Clock }): Promise<BackupReport> {
  const { dataDir, folder } = options;
  requireEmpty(folder, dataDir);
  try {
    return await copyState(options, deps);
  } catch (error) {
    // The folder was empty before: after clearing it, the same command works when there is space.
    if (isStorageFull(error) && existsSync(folder))
      for (const name of readdirSync(folder)) rmSync(join(folder, name), { recursive: true, force: true });
    throw error;
  }
}

async function copyState(
  { dataDir, folder, signal, onProgress }: BackupOptions,
  { clock }: { readonly clock: Clock },
): Promise<BackupReport> {
  removeLeftStagings(dataDir);
  const takenAt = isoTime(clock.now());
  const found = walk(dataDir);
  requireState(dataDir, found);
  const live = found
    .filter((path) => !IMMUTABLE.test(path) && isEnvironment(join(dataDir, path)))
    .toSorted((a, b) => COPIED_LAST.indexOf(a) - COPIED_LAST.indexOf(b));
  const staging = join(dataDir, `${STAGING}${process.pid}`);
  const files: BackupFile[] = [];
  const copier = openCopier(signal);
  const take = async (path: string, type: 'copy-store' | 'copy-file', total: number): Promise<void> => {
    const to = join(folder, path);
    const from = join(type === 'copy-store' ? dataDir : staging, path);
    mkdirSync(dirname(to), PRIVATE_FOLDER);
    const { databases, ...copied } = await copier.run({ type, from, to });
    files.push(
      type === 'copy-store'
        ? { path, ...copied, kind: 'lmdb', databases }
        : { path, ...copied, kind: 'file' },
    );
    onProgress?.({ path, files: files.length, totalFiles: total });
  };
  try {
    makeTarget(folder);
    // Environments first: the files that they refer to exist already, and are linked afterwards.
    for (const path of live) await take(path, 'copy-store', live.length);
    const named = nameAll(dataDir, staging, new Set(live));
    for (const path of named) await take(path, 'copy-file', live.length + named.length);
  } finally {
    copier.close();
    rmSync(staging, { recursive: true, force: true });
  }
  const report: BackupReport = {
    format: FORMAT,
    takenAt,
    files: files.sort((a, b) => (a.path < b.path ? -1 : 1)),
  };
  writeJsonAtomically(join(folder, BACKUP_MANIFEST), report);
  return report;
}

const refused = (sentence: string, cause?: unknown): AssayError =>
  new AssayError('INVALID_REQUEST', `folder: ${sentence}`, {
    field: 'folder',
    ...(cause === undefined ? {} : { cause }),
  });

function requireEmpty(folder: string, dataDir: string): void {
  const inside = relative(dataDir, folder);
  if (inside === '' || !(inside.startsWith('..') || inside.startsWith(sep)))
    throw refused(`${folder} is inside the data folder: choose another.`);
  if (!existsSync(folder)) return;
  if (!statSync(folder).isDirectory()) throw refused(`${folder} is not a folder.`);
  if (readdirSync(folder).length > 0)
    throw refused(`${folder} is not empty: each backup needs its own folder.`);
}

/** Throws NOT_FOUND if nothing was stored in the folder: it is not the one of the server, and its backup would restore nothing. */
function requireState(dataDir: string, paths: readonly string[]): void {
  if (paths.some((path) => path !== RECORD_FILE)) return;
  throw new AssayError(
    'NOT_FOUND',
    `${dataDir} has no state to back up. Set ASSAY_DATA_DIR to the folder of the server.`,
  );
}

/** Creates the folder of the backup. Throws INVALID_REQUEST naming it and the reason if it cannot be created or written. */
function makeTarget(folder: string): void {
  try {
    makeFolder(folder);
    accessSync(folder, constants.W_OK | constants.X_OK);
  } catch (cause) {
    throw refused(`${folder} cannot be used for a backup: ${messageOf(cause)}.`, cause);
  }
}

/** Removes hard links that a killed backup left behind: they would keep the bytes of files that have been deleted since. */
function removeLeftStagings(dataDir: string): void {
  for (const name of readdirSync(dataDir)) {
    const pid = name.startsWith(STAGING) ? Number(name.slice(STAGING.length)) : 0;
    if (Number.isSafeInteger(pid) && pid > 0 && !isRunning(pid))
      rmSync(join(dataDir, name), { recursive: true, force: true });
  }
}

/** Returns the path of every file to back up in the data folder; `nameAll` adds the snapshot in force. */
function walk(dataDir: string): string[] {
  const found: string[] = [];
  const visit = (inside: string): void => {
    for (const name of readdirSync(join(dataDir, inside))) {
      if (LEFT_OUT.test(name) || (inside === '' && TOP_LEFT_OUT.has(name))) continue;
      const path = inside === '' ? name : `${inside}/${name}`;
      const state = lstatSync(join(dataDir, path), { throwIfNoEntry: false });
      if (state?.isDirectory()) visit(path);
      else if (state?.isFile()) found.push(path);
    }
  };
  visit('');
  return found;
}

/** LMDB's magic number, 0xBEEFC0DE, after the 24 bytes of the first page's header. */
const MAGIC = Buffer.from([0xde, 0xc0, 0xef, 0xbe]);
const MAGIC_AT = 24;

function isEnvironment(path: string): boolean {
  const head = Buffer.alloc(MAGIC_AT + MAGIC.length);
  let handle: number;
  try {
    handle = openSync(path, 'r');
  } catch (error) {
    // Deleted since it was listed.
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return false;
    throw error;
  }
  try {
    readSync(handle, head, 0, head.length, 0);
  } finally {
    closeSync(handle);
  }
  return head.subarray(MAGIC_AT).equals(MAGIC);
}

/**
 * Hard-links every other file into `staging`, while nothing is published, so that every file which one of them refers to is included.
 *
 * @returns the paths of the files
 */
function nameAll(dataDir: string, staging: string, live: ReadonlySet<string>): readonly string[] {
  const name = (path: string): void => {
    mkdirSync(dirname(join(staging, path)), PRIVATE_FOLDER);
    linkOrCopy(join(dataDir, path), join(staging, path));
  };
  for (let round = 0; round < ROUNDS_MAX; round++) {
    rmSync(staging, { recursive: true, force: true });
    mkdirSync(staging, PRIVATE_FOLDER);
    const mark = stateMark(dataDir);
    try {
      const paths = walk(dataDir).filter((path) => !live.has(path));
      for (const path of paths) name(path);
      const snapshot = nameSnapshot(dataDir, name);
      if (stateMark(dataDir) === mark) return [...paths, ...snapshot];
    } catch (error) {
      // Deleted after it was listed and before it was linked.
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
    }
  }
  throw new AssayError('STORE_BUSY', `${dataDir} changes faster than it can be listed. Try again.`);
}

/** Links the snapshot in force and its pointer; other snapshots are obsolete. */
function nameSnapshot(dataDir: string, name: (path: string) => void): readonly string[] {
  const leased = leaseCurrent(snapshotsFolderOf(dataDir));
  if (leased === null) return [];
  try {
    const folder = `snapshots/${basename(leased.path)}`;
    const paths = readdirSync(leased.path)
      .filter((one) => !LEFT_OUT.test(one))
      .map((one) => `${folder}/${one}`);
    for (const path of [...paths, 'snapshots/CURRENT']) name(path);
    return [...paths, 'snapshots/CURRENT'];
  } finally {
    leased.lease.release();
  }
}

// --- verifying ----------------------------------------------------------------------------------------------------------

export interface VerifiedBackup {
  readonly takenAt: string;
  readonly files: number;
  readonly bytes: number;
  /** Environments, each read from its first entry to its last. */
  readonly environments: number;
  readonly entries: number;
}

/** Returns true if a path of a manifest is a file inside its folder. */
const isInside = (path: unknown): boolean =>
  typeof path === 'string' && path.split('/').every((part) => !['', '.', '..'].includes(part));

/**
 * Reads a whole backup and compares it with its manifest.
 *
 * @throws NOT_FOUND if the folder holds no backup; STORE_CORRUPT naming the file, and for a store the database, that differs from the
 * copied data.
 */
export async function verifyBackup(folder: string, signal?: AbortSignal): Promise<VerifiedBackup> {
  const report = readManifest(folder);
  const copier = openCopier(signal);
  let entries = 0;
  try {
    for (const file of report.files) entries += await verifyFile(folder, file, copier, signal);
  } finally {
    copier.close();
  }
  return {
    takenAt: report.takenAt,
    files: report.files.length,
    bytes: report.files.reduce((sum, file) => sum + file.bytes, 0),
    environments: report.files.filter(({ kind }) => kind === 'lmdb').length,
    entries,
  };
}

/** Verifies one file. Returns the number of entries: 0 unless it is an environment. */
async function verifyFile(
  folder: string,
  { path, bytes, sha256, kind, databases }: BackupFile,
  copier: Copier,
  signal?: AbortSignal,
): Promise<number> {
  const file = join(folder, path);
  if (!existsSync(file)) throw new AssayError('STORE_CORRUPT', `${file} is missing.`);
  const damaged = (what: string): AssayError =>
    new AssayError('STORE_CORRUPT', `${file} differs from its entry in the manifest${what}.`);
  if (kind !== 'lmdb') {
    if (statSync(file).size !== bytes || (await sha256OfFile(file, signal)) !== sha256) throw damaged('');
    return 0;
  }
  const found = await copier.run({ type: 'read-store', file });
  const difference = databases === undefined ? null : differs(databases, found.databases);
  if (difference !== null) throw damaged(`: ${difference}`);
  if (found.bytes !== bytes || found.sha256 !== sha256) throw damaged('');
  return found.databases.reduce((sum, database) => sum + database.entries, 0);
}

/** Describes the first database that differs; returns null if all are equal. */
function differs(then: readonly DatabaseDigest[], now: readonly DatabaseDigest[]): string | null {
  for (const { name, entries, sha256 } of then) {
    const found = now.find((database) => database.name === name);
    if (found === undefined) return `database '${name}' is missing`;
    if (found.entries !== entries) return `database '${name}' has ${found.entries} of ${entries} entries`;
    if (found.sha256 !== sha256) return `database '${name}' has entries that were altered`;
  }
  const added = now.find(({ name }) => !then.some((database) => database.name === name));
  return added === undefined ? null : `database '${added.name}' was added`;
}

function readManifest(folder: string): BackupReport {
  const path = join(folder, BACKUP_MANIFEST);
  if (!existsSync(path))
    throw new AssayError('NOT_FOUND', `${folder} is not a complete backup: ${BACKUP_MANIFEST} is missing.`);
  const report = readJson(path) as BackupReport;
  if (report.format !== FORMAT) throw wrongFormat(path, report.format, FORMAT);
  if (!Array.isArray(report.files) || !report.files.every((file) => isInside(file?.path)))
    throw new AssayError('STORE_CORRUPT', `${path} names a file that is not part of a backup.`);
  return report;
}
