/**
 * The installation record: `installation.json` in the folder of state, which names the installation and every store that was ever made in
 * it. A store that is named and missing was lost: a start that made a new one in its place would forget all balances in silence.
 */
import { readdirSync, statSync } from 'node:fs';
import { join, relative } from 'node:path';
import { readJson, writeJsonAtomically } from './atomic-file.ts';
import { type Clock, isoTime } from './clock.ts';
import { AssayError } from './errors.ts';
import { onEnvironmentMade } from './lmdb.ts';
import type { Random } from './random.ts';

const FORMAT = 1;
const RECORD_FILE = 'installation.json';

/** A store that cannot be made again from others. */
export interface StoreKind {
  /** Its path inside the folder of state. */
  readonly path: RegExp;
  readonly kind: string;
  /** Whether a Redis holds it, if one is configured: the file is a copy then. */
  readonly isShared: boolean;
}

const KINDS: readonly StoreKind[] = [
  { path: /^accounts\/ledger\.mdb$/, kind: 'ledger', isShared: true },
  { path: /^accounts\/keys\.mdb$/, kind: 'keys', isShared: true },
  { path: /^accounts\/people\.mdb$/, kind: 'people', isShared: true },
  { path: /^accounts\/audit\.mdb$/, kind: 'audit log', isShared: true },
  { path: /^accounts\/quotas\.mdb$/, kind: 'quotas', isShared: true },
  { path: /^accounts\/payments\.mdb$/, kind: 'payments', isShared: true },
  { path: /^accounts\/cleared-names\.lmdb$/, kind: 'cleared names', isShared: true },
  { path: /^monitoring\/monitoring\.lmdb$/, kind: 'monitoring', isShared: true },
  { path: /^jobs\.mdb$/, kind: 'bulk jobs', isShared: true },
  { path: /^transfers\/[a-z0-9]+\.mdb$/, kind: 'transfers', isShared: false },
  { path: /^outputs\/[a-z0-9]+-outputs\.mdb$/, kind: 'outputs', isShared: false },
];
const FOLDERS = ['', 'accounts', 'monitoring', 'transfers', 'outputs'];

const kindOf = (path: string): StoreKind | undefined => KINDS.find((kind) => kind.path.test(path));

export interface RecordedStore {
  /** Inside the folder of state, with slashes. */
  readonly path: string;
  readonly kind: string;
  /** When it was first seen, ISO 8601. */
  readonly since: string;
}

export interface InstallationRecord {
  readonly format: number;
  /** Random; names this installation among others. */
  readonly id: string;
  readonly createdAt: string;
  readonly stores: readonly RecordedStore[];
}

const recordPath = (dataDir: string): string => join(dataDir, RECORD_FILE);

const isRecord = (value: unknown): value is InstallationRecord => {
  const record = value as Partial<InstallationRecord> | null;
  return (
    typeof record?.id === 'string' &&
    Array.isArray(record.stores) &&
    record.stores.every((store) => typeof store?.path === 'string' && kindOf(store.path) !== undefined)
  );
};

/**
 * Reads the record of a folder of state.
 * @returns null if there is none: the folder is new, or of an earlier version of the program.
 * @throws STORE_CORRUPT if it cannot be read as one, STORE_VERSION if a later version wrote it.
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
  if (typeof format === 'number' && format !== FORMAT)
    throw new AssayError('STORE_VERSION', `${path} has format ${format}; this version reads ${FORMAT}.`);
  if (!isRecord(value)) throw unreadable(path, null);
  return value;
}

const unreadable = (path: string, cause: unknown): AssayError =>
  new AssayError(
    'STORE_CORRUPT',
    `${path} is damaged: it is not the record of an installation. Restore it from a backup; if every store is there, remove it, and it is written again.`,
    { cause },
  );

const isThere = (dataDir: string, path: string): boolean =>
  (statSync(join(dataDir, path), { throwIfNoEntry: false })?.size ?? 0) > 0;

/** Stores that lie in the folder now, by their paths. */
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
      if (kindOf(path) !== undefined && isThere(dataDir, path)) found.push(path);
    }
  }
  return found.sort();
}

export interface InstallationDeps {
  readonly clock: Clock;
  readonly random: Random;
}

/** Adds stores to the record, and makes it if there is none. */
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
  if (known !== null && added.length === 0) return known;
  const stores = [...record.stores, ...added].sort((a, b) => (a.path < b.path ? -1 : 1));
  writeJsonAtomically(recordPath(dataDir), { ...record, stores });
  return { ...record, stores };
}

/**
 * Returns the stores of the record that are not in the folder.
 * @param isShared - whether a Redis holds what nodes share; the files of it may then be missing.
 */
export function missingStores(dataDir: string, isShared: boolean): readonly RecordedStore[] {
  const stores = readInstallation(dataDir)?.stores ?? [];
  return stores.filter(
    ({ path }) => !isThere(dataDir, path) && !(isShared && kindOf(path)?.isShared === true),
  );
}

export interface Installation {
  readonly record: InstallationRecord;
  /** Paths of the stores that lie in the folder. */
  stores(): readonly string[];
  /** Ends the noting of new stores. */
  close(): void;
}

/**
 * Opens the record of a folder of state, and notes every store that is made in it from now on. A folder without a record gets one from
 * what lies in it.
 * @throws STORE_CORRUPT naming a store that is missing, and what the operator can do.
 */
export function openInstallation(
  { dataDir, isShared }: { readonly dataDir: string; readonly isShared: boolean },
  deps: InstallationDeps,
): Installation {
  const [missing] = missingStores(dataDir, isShared);
  if (missing !== undefined)
    throw new AssayError(
      'STORE_CORRUPT',
      `${join(dataDir, missing.path)} (${missing.kind}) is missing, and it has been there since ${missing.since.slice(0, 10)}: ` +
        `restore it from a backup (docs/OPERATIONS.md, Damaged files), or run 'assay installation accept-loss ${missing.path}' to begin a new one without its records.`,
    );
  const record = addStores(dataDir, storesIn(dataDir), deps);
  const end = onEnvironmentMade((file) => {
    const path = relative(dataDir, file);
    if (kindOf(path) !== undefined) addStores(dataDir, [path], deps);
  });
  return { record, stores: () => storesIn(dataDir), close: end };
}

/**
 * Takes a store that is missing out of the record: the next start makes a new one without its records.
 * @param path - as the record names it, like `accounts/ledger.mdb`.
 * @throws NOT_FOUND if the record does not name it, INVALID_REQUEST if it is not missing.
 */
export function acceptLoss(dataDir: string, path: string): RecordedStore {
  const record = readInstallation(dataDir);
  const store = record?.stores.find((each) => each.path === path);
  if (!record || store === undefined)
    throw new AssayError(
      'NOT_FOUND',
      `${recordPath(dataDir)} names no store '${path}'. It names ${record?.stores.map((each) => each.path).join(', ') || 'none'}.`,
    );
  if (isThere(dataDir, path))
    throw new AssayError(
      'INVALID_REQUEST',
      `${join(dataDir, path)} is there. Move it away first if it is to be given up.`,
    );
  writeJsonAtomically(recordPath(dataDir), {
    ...record,
    stores: record.stores.filter((each) => each !== store),
  });
  return store;
}
