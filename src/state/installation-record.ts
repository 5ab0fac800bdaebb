/**
 * The installation record: `installation.json` in the data folder, which lists every store that was ever created in the installation. If a
 * listed store is missing, it was lost: a start that silently created a new one would forget all balances, and a build without the
 * catalogue of labels would publish an index of the shipped labels alone.
 */
import { createHmac } from 'node:crypto';
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { type Clock, isoTime } from '../base/clock.ts';
import { AssayError } from '../base/errors.ts';
import type { Random } from '../base/random.ts';
import { readJson, writeJsonAtomically } from './atomic-file.ts';
import { BACKUP_MANIFEST } from './data-folder.ts';
import { installationKeyPath, onKeyCreated } from './encryption.ts';
import { OF_LATER_VERSION, wrongFormat } from './format-version.ts';
import { onEnvironmentMade } from './lmdb.ts';
import { isStorageFull } from './storage.ts';

const FORMAT = 1;
/** Name of the record in the data folder. */
export const RECORD_FILE = 'installation.json';

/** A store that cannot be rebuilt from others. */
export interface StoreKind {
  /** Its path inside the data folder. */
  readonly path: RegExp;
  readonly kind: string;
  /** True if Redis holds the store when one is configured: the file is then only a copy. */
  readonly isShared: boolean;
  /** True for an LMDB environment; a catalogue is a JSON file that names the other files of its folder, and the key is 32 bytes. */
  readonly isEnvironment: boolean;
}

const shared = { isShared: true, isEnvironment: true };
const ofNode = { isShared: false, isEnvironment: true };
const catalogue = { isShared: false, isEnvironment: false };
/** With a Redis, a node without the file may derive it, and compares it with the key of the others (`key-trial.ts`). */
const key = { isShared: true, isEnvironment: false };

const KINDS: readonly StoreKind[] = [
  { path: /^installation\.key$/, kind: 'encryption key', ...key },
  { path: /^accounts\/ledger\.mdb$/, kind: 'ledger', ...shared },
  { path: /^accounts\/keys\.mdb$/, kind: 'keys', ...shared },
  { path: /^accounts\/people\.mdb$/, kind: 'people', ...shared },
  { path: /^accounts\/audit\.mdb$/, kind: 'audit log', ...shared },
  { path: /^accounts\/quotas\.mdb$/, kind: 'quotas', ...shared },
  { path: /^accounts\/payments\.mdb$/, kind: 'payments', ...shared },
  { path: /^invoices\.mdb$/, kind: 'invoices', ...shared },
  { path: /^payment-watch\.mdb$/, kind: 'watched payments', ...shared },
  { path: /^authorized-payments\.mdb$/, kind: 'payments by a signed authorization', ...shared },
  { path: /^accounts\/cleared-names\.lmdb$/, kind: 'cleared names', ...shared },
  { path: /^accounts\/label-reports\.mdb$/, kind: 'reports on labels', ...shared },
  { path: /^monitoring\/monitoring\.lmdb$/, kind: 'monitoring', ...shared },
  { path: /^cases\.mdb$/, kind: 'cases', ...shared },
  { path: /^screenings\.mdb$/, kind: 'saved screenings', ...shared },
  { path: /^log\.mdb$/, kind: 'transparency log', ...shared },
  { path: /^receipts\.mdb$/, kind: 'receipts', ...shared },
  { path: /^jobs\.mdb$/, kind: 'bulk jobs', ...shared },
  { path: /^transfers\/[a-z0-9]+\.mdb$/, kind: 'transfers', ...ofNode },
  { path: /^outputs\/[a-z0-9]+-outputs\.mdb$/, kind: 'outputs', ...ofNode },
  { path: /^labels\/catalogue\.json$/, kind: 'catalogue of labels', ...catalogue },
  { path: /^names\/catalogue\.json$/, kind: 'catalogue of names', ...catalogue },
  { path: /^registers\/catalogue\.json$/, kind: 'catalogue of registers', ...catalogue },
];
const FOLDERS = ['', 'accounts', 'monitoring', 'transfers', 'outputs', 'labels', 'names', 'registers'];

/** Whether a store of the record is an LMDB environment, and not a catalogue. */
export const isEnvironment = (path: string): boolean => kindOf(path)?.isEnvironment === true;

const kindOf = (path: string): StoreKind | undefined => KINDS.find((kind) => kind.path.test(path));

export interface RecordedStore {
  /** Path inside the data folder, with slashes. */
  readonly path: string;
  readonly kind: string;
  /** When the store was first seen, ISO 8601. */
  readonly since: string;
}

export interface InstallationRecord {
  readonly format: number;
  /** Random id of this installation. */
  readonly id: string;
  readonly createdAt: string;
  readonly stores: readonly RecordedStore[];
  /** Tells whether `installation.key` is the one of this installation. Absent in records of earlier releases, and until there is a key. */
  readonly keyCheck?: string;
}

const recordPath = (dataDir: string): string => join(dataDir, RECORD_FILE);

const isRecord = (value: unknown): value is InstallationRecord => {
  const record = value as Partial<InstallationRecord> | null;
  return (
    typeof record?.id === 'string' &&
    Array.isArray(record.stores) &&
    record.stores.every((store) => typeof store?.path === 'string' && typeof store.kind === 'string')
  );
};

/**
 * Reads the record of a data folder.
 * @returns null if missing: the folder is new, or an earlier version of the program made it.
 * @throws STORE_CORRUPT if the record is not valid, STORE_VERSION if a later version wrote it.
 */
export function readInstallation(dataDir: string): InstallationRecord | null {
  const path = recordPath(dataDir);
  let value: unknown;
  try {
    value = readJson(path);
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw unreadable(path, cause);
  }
  const { format } = (value ?? {}) as { readonly format?: unknown };
  if (typeof format === 'number' && format !== FORMAT) throw wrongFormat(path, format, FORMAT);
  if (!isRecord(value)) throw unreadable(path, null);
  const unknown = value.stores.find((store) => kindOf(store.path) === undefined);
  if (unknown === undefined) return value;
  throw new AssayError(
    'STORE_VERSION',
    `${path} names a store that this version of Assay does not know: ${unknown.path} (${unknown.kind}). ${OF_LATER_VERSION}`,
  );
}

const unreadable = (path: string, cause: unknown): AssayError =>
  new AssayError(
    'STORE_CORRUPT',
    `${path} is damaged: it is not the record of an installation. Restore it from a backup. If all stores exist, remove the file instead: it is created again.`,
    { cause },
  );

const exists = (dataDir: string, path: string): boolean =>
  (statSync(join(dataDir, path), { throwIfNoEntry: false })?.size ?? 0) > 0;

/** Returns the paths of the stores that exist in the folder. */
function storesIn(dataDir: string): string[] {
  const found: string[] = [];
  for (const folder of FOLDERS) {
    let names: string[];
    try {
      names = readdirSync(join(dataDir, folder));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') continue;
      throw error;
    }
    for (const name of names) {
      const path = folder === '' ? name : `${folder}/${name}`;
      if (kindOf(path) !== undefined && exists(dataDir, path)) found.push(path);
    }
  }
  return found.sort();
}

/** Returns true if stores were created in the folder, even if they are missing now. */
export const hasStores = (dataDir: string): boolean =>
  (readInstallation(dataDir)?.stores.length ?? 0) > 0 || storesIn(dataDir).length > 0;

export interface InstallationDeps {
  readonly clock: Clock;
  readonly random: Random;
}

/** Adds stores to the record, and creates the record if it is absent. */
function addStores(
  dataDir: string,
  paths: readonly string[],
  { clock, random }: InstallationDeps,
): InstallationRecord {
  const known = readInstallation(dataDir);
  const now = isoTime(clock.now());
  const record = known ?? {
    format: FORMAT,
    id: `inst_${Buffer.from(random.bytes(16)).toString('hex')}`,
    createdAt: now,
    stores: [],
  };
  const added = paths
    .filter((path) => !record.stores.some((store) => store.path === path))
    .map((path) => ({ path, kind: kindOf(path)?.kind ?? '', since: now }));
  const keyCheck = record.keyCheck ?? keyCheckOf(dataDir);
  if (known !== null && added.length === 0 && keyCheck === known.keyCheck) return known;
  const stores = [...record.stores, ...added].sort((a, b) => (a.path < b.path ? -1 : 1));
  const written = { ...record, stores, ...(keyCheck === undefined ? {} : { keyCheck }) };
  writeJsonAtomically(recordPath(dataDir), written);
  return written;
}

/** Returns the check value of the key in the folder, from which the key cannot be computed; undefined if there is no key that can be read. */
function keyCheckOf(dataDir: string): string | undefined {
  let key: Buffer;
  try {
    key = readFileSync(installationKeyPath(dataDir));
  } catch {
    return undefined;
  }
  return createHmac('sha256', key).update('assay installation key check').digest('hex').slice(0, 16);
}

/** Describes a key that is not the one with which the secrets of the installation were encrypted; null if it is, or nothing is recorded of it. */
export function keyFault(dataDir: string): string | null {
  const recorded = readInstallation(dataDir)?.keyCheck;
  const present = keyCheckOf(dataDir);
  if (recorded === undefined || present === undefined || recorded === present) return null;
  const path = installationKeyPath(dataDir);
  return (
    `${path} is not the key of this installation: stored secrets (webhooks, chats, second factors, signing keys) cannot be decrypted. ` +
    `Restore it from a backup; if it is lost, move the file away and run 'assay installation accept-loss installation.key'.`
  );
}

/** Adds the stores of the folder to the record. On a full disk an existing record stays as it is, so that reading works; a later start adds them. */
function addExisting(dataDir: string, deps: InstallationDeps): InstallationRecord {
  const known = readInstallation(dataDir);
  try {
    return addStores(dataDir, storesIn(dataDir), deps);
  } catch (error) {
    if (known === null || !isStorageFull(error)) throw error;
    return known;
  }
}

/**
 * Returns the stores of the record that are missing in the folder.
 * @param isShared - true if Redis holds the stores that nodes share; their files may then be missing.
 */
export function missingStores(dataDir: string, isShared: boolean): readonly RecordedStore[] {
  const stores = readInstallation(dataDir)?.stores ?? [];
  return stores.filter(
    ({ path }) => !exists(dataDir, path) && !(isShared && kindOf(path)?.isShared === true),
  );
}

/** Returns what the next start creates in the place of a lost store, as part of a sentence. */
const replacementOf = (dataDir: string, { path }: RecordedStore): string =>
  join(dataDir, path) === installationKeyPath(dataDir)
    ? 'a new one, with which the stored secrets (webhooks, chats, second factors, signing keys) cannot be decrypted'
    : 'an empty one';

/**
 * Requires that the copy of a backup did not end before the record: the record that would be created instead lists only the stores that
 * were copied.
 *
 * @throws STORE_CORRUPT
 */
function requireWholeCopy(dataDir: string): void {
  if (existsSync(recordPath(dataDir)) || !existsSync(join(dataDir, BACKUP_MANIFEST))) return;
  const { files } = readJson(join(dataDir, BACKUP_MANIFEST)) as {
    readonly files?: readonly { readonly path?: unknown }[];
  };
  if (files?.some(({ path }) => path === RECORD_FILE) !== true) return;
  throw new AssayError(
    'STORE_CORRUPT',
    `${dataDir} is an incomplete copy of a backup: ${RECORD_FILE} is missing. Copy the backup again, and check the copy with 'assay backup ${dataDir} --verify'. ` +
      `If the folder was used after it was restored and all stores exist, remove ${BACKUP_MANIFEST} instead: the record is created again.`,
  );
}

export interface OpenInstallation {
  readonly record: InstallationRecord;
  /** Paths of the LMDB environments that exist in the folder. */
  stores(): readonly string[];
  /** Stops recording new stores. A catalogue that was written meanwhile is recorded by the next start. */
  close(): void;
}

/**
 * Opens the record of a data folder, and adds every store that is created in it from now on. If the folder has no record, one is created
 * from its existing stores.
 * @throws STORE_CORRUPT naming a missing store or an incomplete copy of a backup, and what the operator can do.
 */
export function openInstallation(
  { dataDir, isShared }: { readonly dataDir: string; readonly isShared: boolean },
  deps: InstallationDeps,
): OpenInstallation {
  requireWholeCopy(dataDir);
  const [missing] = missingStores(dataDir, isShared);
  if (missing !== undefined)
    throw new AssayError(
      'STORE_CORRUPT',
      `${join(dataDir, missing.path)} (${missing.kind}) is missing, but it existed since ${missing.since.slice(0, 10)}: ` +
        `restore it from a backup (docs/OPERATIONS.md, Damaged files), or run 'assay installation accept-loss ${missing.path}' to start with ${replacementOf(dataDir, missing)}.`,
    );
  const record = addExisting(dataDir, deps);
  const add = (file: string): void => {
    const path = relative(dataDir, file);
    if (kindOf(path) !== undefined) addStores(dataDir, [path], deps);
  };
  const ends = [onEnvironmentMade(add), onKeyCreated(add)];
  return {
    record,
    stores: () => storesIn(dataDir).filter(isEnvironment),
    close() {
      for (const end of ends) end();
    },
  };
}

/**
 * Removes a missing store from the record: the next start creates an empty store.
 * @param path - path in the record, like `accounts/ledger.mdb`.
 * @throws NOT_FOUND if the record does not list the store, INVALID_REQUEST if the store is not missing.
 */
export function acceptLoss(dataDir: string, path: string): RecordedStore {
  const record = readInstallation(dataDir);
  const store = record?.stores.find((each) => each.path === path);
  if (!record || store === undefined)
    throw new AssayError(
      'NOT_FOUND',
      `${recordPath(dataDir)} lists no store '${path}'. It lists ${record?.stores.map((each) => each.path).join(', ') || 'none'}.`,
    );
  if (exists(dataDir, path))
    throw new AssayError(
      'INVALID_REQUEST',
      `${join(dataDir, path)} exists. Move it away first to accept its loss.`,
    );
  const { keyCheck, ...rest } = record;
  const isKey = join(dataDir, path) === installationKeyPath(dataDir);
  writeJsonAtomically(recordPath(dataDir), {
    ...rest,
    stores: record.stores.filter((each) => each !== store),
    ...(keyCheck === undefined || isKey ? {} : { keyCheck }),
  });
  return store;
}
