/**
 * Finds entries of the data folder that no program can read as what they are: a folder or a device in the place of a file, a link without a
 * target, a file of another user. The error of the operating system often does not name the file, and never the remedy.
 */
import { accessSync, constants, type Dirent, readdirSync, readlinkSync, type Stats, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { AssayError } from '../base/errors.ts';
import { wayOutOf } from './sound-file.ts';

/** Names of files of state. Other names are files of the operator, or of the file system (`lost+found`). */
const FILE = /\.(?:l?mdb|mdb-sums|json|csv|ndjson|records|templates|bin|size|key)$|^CURRENT$/;
/** Unfinished and deleted data, results of jobs (there may be thousands), leases, and files for people. */
const LEFT_OUT =
  /^(?:\..*|building.*|waste-.*|staged|partial|capture|jobs|leases|rejects|downloads|lost\+found|runs\.json)$/;
/** Entries of the data folder itself. An operator may keep others there: a damaged store that was moved aside, an export. */
const OF_THE_PROGRAM =
  /^(?:accounts|attribution|clusters|exposure|labels|monitoring|names|oracle|outputs|prices|receipts|registers|snapshots|transfers|travel|installation\.(?:json|key)|.*\.l?mdb)$/;

const restored = (path: string): string => `Move it away; then ${wayOutOf(path)}.`;

/** Returns how this user gets to read and write a file. */
function usableBy(path: string, { uid: owner }: Stats, dataDir: string): string {
  const uid = process.getuid?.();
  if (uid === undefined) return 'Run as its owner.';
  if (uid === owner) return `It belongs to this user, whose permissions were removed: chmod -R u+rwX ${path}`;
  return `It belongs to the user ${owner}: run as that user, or give the folder to this one: chown -R ${uid} ${dataDir}`;
}

/** Returns what an entry is, or what its link leads to; null if that cannot be reached. */
function targetOf(path: string): Stats | null {
  try {
    return statSync(path);
  } catch {
    return null;
  }
}

function faultOf(path: string, entry: Dirent, found: Stats | null, dataDir: string): string | null {
  if (found === null) {
    // Removed meanwhile by another process, unless it is a link.
    if (!entry.isSymbolicLink()) return null;
    return `${path} is a link to ${readlinkSync(path)}, which cannot be reached. Mount or restore its target. Otherwise remove the link; then ${wayOutOf(path)}.`;
  }
  if (found.isDirectory() && FILE.test(entry.name))
    return `${path} is a folder, and must be a file. ${restored(path)}`;
  if (!found.isDirectory() && !FILE.test(entry.name)) return null;
  if (!found.isDirectory() && !found.isFile()) return `${path} is not a file. ${restored(path)}`;
  try {
    accessSync(path, found.isDirectory() ? constants.R_OK | constants.X_OK : constants.R_OK);
    return null;
  } catch {
    return `${path} cannot be read by this user. ${usableBy(path, found, dataDir)}`;
  }
}

/** @param seen - folders that were looked at, by device and number: a link may lead back to one */
function* faultsBelow(folder: string, dataDir: string, seen: Set<string>): Generator<string> {
  let entries: Dirent[];
  try {
    entries = readdirSync(folder, { withFileTypes: true });
  } catch {
    // Removed meanwhile, or reported as unreadable already.
    return;
  }
  for (const entry of entries) {
    if (LEFT_OUT.test(entry.name) || (folder === dataDir && !OF_THE_PROGRAM.test(entry.name))) continue;
    const path = join(folder, entry.name);
    const target = targetOf(path);
    const fault = faultOf(path, entry, target, dataDir);
    if (fault !== null) yield fault;
    else if (target?.isDirectory()) {
      const id = `${target.dev} ${target.ino}`;
      if (seen.has(id)) continue;
      seen.add(id);
      yield* faultsBelow(path, dataDir, seen);
    }
  }
}

/**
 * Returns one sentence with the remedy for each unusable entry of a data folder. It looks at names and permissions, and opens nothing.
 */
export const unusableIn = (dataDir: string): readonly string[] => [
  ...faultsBelow(dataDir, dataDir, new Set()),
];

/** Formats faults as one line: the first, and how many follow. */
const firstOf = ([first = '', ...more]: readonly string[]): string =>
  more.length === 0 ? first : `${first} (${more.length} more: assay verify)`;

/**
 * Checks a data folder before a server opens anything in it.
 *
 * @throws STORE_CORRUPT with the first fault
 */
export function requireUsable(dataDir: string): void {
  const faults = unusableIn(dataDir);
  if (faults.length > 0) throw new AssayError('STORE_CORRUPT', firstOf(faults));
}

const isOfTheSystem = (error: unknown): error is NodeJS.ErrnoException =>
  error instanceof Error && typeof (error as NodeJS.ErrnoException).syscall === 'string';

/** Returns a sentence about a file or folder that this user can read and must write; null if the error has another cause. */
function unwritable(error: unknown, dataDir: string): string | null {
  const { code, path } = error as NodeJS.ErrnoException;
  if (code !== 'EACCES' || !path?.startsWith(join(dataDir, '/'))) return null;
  // A new file is refused by its folder.
  for (const each of [path, dirname(path)]) {
    const found = targetOf(each);
    if (found !== null) return `${each} cannot be written by this user. ${usableBy(each, found, dataDir)}`;
  }
  return null;
}

/**
 * Converts an error of the operating system to one that names the unusable file and its remedy, if the cause is in the data folder; otherwise
 * returns the error itself. An error that wraps one and names a file of the folder is converted too.
 */
export function asUnusable(error: unknown, dataDir: string): unknown {
  const inside = join(dataDir, '/');
  const isWrapped =
    error instanceof AssayError && isOfTheSystem(error.cause) && error.message.includes(inside);
  if (!isWrapped && !isOfTheSystem(error)) return error;
  const faults = unusableIn(dataDir);
  if (faults.length > 0) return new AssayError('STORE_CORRUPT', firstOf(faults), { cause: error });
  const fault = unwritable(isWrapped ? error.cause : error, dataDir);
  if (fault !== null) return new AssayError('STORE_CORRUPT', fault, { cause: error });
  if (!isOfTheSystem(error)) return error;
  const { code, path } = error;
  if (code !== 'ENOENT' || !path?.startsWith(inside)) return error;
  return new AssayError('STORE_CORRUPT', `${path} is missing: ${wayOutOf(path)}.`, { cause: error });
}
