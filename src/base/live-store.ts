/** Opening an environment of live state: its format version is checked before anything is read or written. */
import { closeSync, existsSync, openSync, readSync } from 'node:fs';
import { AssayError, messageOf } from './errors.ts';
import { type Database, openEnvironment, type RootDatabase } from './lmdb.ts';

export interface LiveStore {
  readonly root: RootDatabase;
  /** `formatVersion`, and whatever small numbers the owner keeps. */
  readonly meta: Database<number, string>;
}

/**
 * Opens (or makes) the environment at `path`, a file. Commits are durable when their promise resolves: the default of lmdb-js
 * resolves before the flush. Throws STORE_VERSION where another version of the program wrote it, STORE_CORRUPT where it is no
 * such environment.
 */
export function openLiveStore(path: string, formatVersion: number, { maxDbs = 8 } = {}): LiveStore {
  refuseForeignFile(path);
  let root: RootDatabase;
  try {
    root = openEnvironment(path, {
      maxDbs,
      noSubdir: true,
      overlappingSync: false,
      // Batching by turns makes a promise that nobody holds: a commit that fails, on a full disk say, would end the process.
      eventTurnBatching: false,
    });
    rejectWithCause(root);
  } catch (cause) {
    throw new AssayError('STORE_CORRUPT', `${path} cannot be opened as a store: ${messageOf(cause)}.`, {
      cause,
    });
  }
  const names = [...root.getKeys({ limit: 100 })];
  const isKnown = names.length === 0 || names.includes('meta');
  const meta = isKnown ? root.openDB<number, string>({ name: 'meta', encoding: 'json' }) : null;
  const found = names.length === 0 ? formatVersion : meta?.get('formatVersion');
  // The environment stays open: lmdb-js closes it in its own time, and whoever is refused here stops.
  if (meta === null || found !== formatVersion) {
    throw new AssayError(
      'STORE_VERSION',
      `${path} has format version ${found ?? 'unknown'}, and this version of Assay reads version ${formatVersion} only. It was left as it is.`,
    );
  }
  if (names.length === 0) meta.putSync('formatVersion', formatVersion);
  return { root, meta };
}

/**
 * lmdb-js rejects a failed commit with a general error whose `commitError` is a promise of the real one, and ends the process
 * where nobody looks at that: lets transactions reject with the real one.
 */
function rejectWithCause(root: RootDatabase): void {
  const transaction = root.transaction.bind(root);
  root.transaction = <T>(work: () => T): Promise<T> =>
    transaction(work).catch(async (error: unknown) => {
      const pending = error instanceof Error && 'commitError' in error ? error.commitError : null;
      // It rejects in the same turn, if ever.
      if (pending instanceof Promise)
        await Promise.race([pending, new Promise((resolve) => setImmediate(resolve))]);
      throw error;
    });
}

/** LMDB's magic number, 0xBEEFC0DE, behind the 24 bytes of the first page's header. */
const MAGIC = Buffer.from([0xde, 0xc0, 0xef, 0xbe]);
const MAGIC_AT = 24;

/** Looks before lmdb does: a file that is no environment brings the whole process down in it. */
function refuseForeignFile(path: string): void {
  if (!existsSync(path)) return;
  const head = Buffer.alloc(MAGIC_AT + MAGIC.length);
  const file = openSync(path, 'r');
  const read = readSync(file, head, 0, head.length, 0);
  closeSync(file);
  if (read === 0 || head.subarray(MAGIC_AT).equals(MAGIC)) return;
  throw new AssayError('STORE_CORRUPT', `${path} is not a store of Assay. It was left as it is.`);
}
