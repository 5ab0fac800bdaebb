/**
 * The store of registers on disk: the state of each register as immutable shards, and one catalogue that lists the current shards. Every
 * change is committed by replacing the catalogue; shards that it does not list are obsolete or left over from a crash.
 *
 *     registers/catalogue.json   format, registers
 *     registers/states/FILE      up to 250 firms of one register
 */
import { existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { AssayError } from '../base/errors.ts';
import { readJson, syncFolder, writeJsonAtomically } from '../state/atomic-file.ts';
import { PRIVATE_FOLDER } from '../state/data-folder.ts';
import { isLeaseLive, takeLease } from '../state/file-lease.ts';
import { wrongFormat } from '../state/format-version.ts';
import { emptyRegister, type Firm, type RegisterFile, type RegisterState, sha256 } from './history.ts';

export interface RegisterRow {
  readonly register: string;
  readonly source: string;
  readonly files: readonly RegisterFile[];
  readonly firms: number;
  /** Files with its firms; their names contain the hash of the content. */
  readonly shards: readonly string[];
  readonly importedAt: string;
}

export interface RegisterCatalogue {
  readonly format: number;
  readonly registers: readonly RegisterRow[];
}

export interface RegisterStore {
  readonly folder: string;
  /** Reads the current catalogue. Throws STORE_VERSION, STORE_CORRUPT. */
  catalogue(): RegisterCatalogue;
  /** Returns a value that changes whenever the catalogue is replaced; costs one `stat`. */
  stamp(): string;
  shard(name: string): readonly Firm[];
  state(register: string, source: string): RegisterState;
  /** Runs `work` as the only writer among all processes. Throws STORE_BUSY. */
  locked<T>(work: (commit: (states: readonly RegisterState[], at: string) => void) => Promise<T>): Promise<T>;
}

const FORMAT = 1;
const EMPTY: RegisterCatalogue = { format: FORMAT, registers: [] };
/** Firms in one shard: parsed in a millisecond or two, so that a server can load a large register between requests. */
const SHARD_FIRMS = 250;

/** Returns the folder of registers. */
export const registersFolderOf = (dataDir: string): string => join(dataDir, 'registers');

/** Opens the store; nothing is written before the first change. */
export function openRegisterStore(options: { readonly dataDir: string }): RegisterStore {
  const folder = registersFolderOf(options.dataDir);
  const cataloguePath = join(folder, 'catalogue.json');
  const shardPath = (name: string): string => join(folder, 'states', name);

  const catalogue = (): RegisterCatalogue =>
    existsSync(cataloguePath) ? checked(readJson(cataloguePath) as RegisterCatalogue, cataloguePath) : EMPTY;

  function shard(name: string): readonly Firm[] {
    const path = shardPath(name);
    return checked(readJson(path) as { format: number; firms: readonly Firm[] }, path).firms;
  }

  function state(register: string, source: string): RegisterState {
    const row = catalogue().registers.find((one) => one.register === register);
    if (row === undefined) return emptyRegister(register, source);
    return { register, source: row.source, files: row.files, firms: row.shards.flatMap(shard) };
  }

  function writeState({ register, source, files, firms }: RegisterState, at: string): RegisterRow {
    const shards: string[] = [];
    for (let from = 0; from < firms.length; from += SHARD_FIRMS) {
      const content = { format: FORMAT, firms: firms.slice(from, from + SHARD_FIRMS) };
      const name = `${register}-${sha256(JSON.stringify(content)).slice(0, 16)}.json`;
      if (!existsSync(shardPath(name))) writeJsonAtomically(shardPath(name), content);
      shards.push(name);
    }
    return { register, source, files, firms: firms.length, shards, importedAt: at };
  }

  function commit(states: readonly RegisterState[], at: string): void {
    const before = catalogue();
    const rows = new Map(before.registers.map((row) => [row.register, row]));
    for (const changed of states) rows.set(changed.register, writeState(changed, at));
    const registers = [...rows.values()].sort((a, b) => (a.register < b.register ? -1 : 1));
    writeJsonAtomically(cataloguePath, { format: FORMAT, registers } satisfies RegisterCatalogue);
    removeUnnamed(folder, [...registers, ...before.registers]);
  }

  return {
    folder,
    catalogue,
    stamp() {
      const found = statSync(cataloguePath, { throwIfNoEntry: false });
      return found === undefined ? '' : `${found.ino}-${found.mtimeMs}-${found.size}`;
    },
    shard,
    state,
    async locked(work) {
      const release = takeLock(folder);
      try {
        return await work(commit);
      } finally {
        release();
      }
    },
  };
}

/** Removes shards that neither this nor the previous catalogue lists: a server may still be reading the previous ones. */
function removeUnnamed(folder: string, named: readonly RegisterRow[]): void {
  const keep = new Set(named.flatMap((row) => row.shards));
  const inside = join(folder, 'states');
  for (const name of existsSync(inside) ? readdirSync(inside) : []) {
    if (!keep.has(name)) rmSync(join(inside, name), { force: true });
  }
}

/**
 * Puts a catalogue that another node wrote in force, after its shards were copied to `states/`.
 *
 * @param file - a complete catalogue on the same file system; it is moved
 */
export function adoptCatalogue(dataDir: string, file: string): void {
  const { folder, catalogue } = openRegisterStore({ dataDir });
  const before = catalogue();
  renameSync(file, join(folder, 'catalogue.json'));
  syncFolder(folder);
  removeUnnamed(folder, [...before.registers, ...catalogue().registers]);
}

/** Takes the lock file of the only writer. The lock of a dead process is taken over, also if this process has the same id. */
function takeLock(folder: string): () => void {
  mkdirSync(folder, PRIVATE_FOLDER);
  const path = join(folder, 'LOCK');
  for (let attempt = 0; ; attempt++) {
    try {
      const { release } = takeLease(path);
      return release;
    } catch (cause) {
      if ((cause as NodeJS.ErrnoException).code !== 'EEXIST') throw cause;
      if (attempt > 0 || isLeaseLive(path)) {
        throw new AssayError('STORE_BUSY', `Another process writes registers (${path}).`, { cause });
      }
      rmSync(path, { force: true });
    }
  }
}

/** Rejects a file of another version of the program, so that it is not overwritten. */
function checked<T extends { readonly format: number }>(file: T, path: string): T {
  if (file.format === FORMAT) return file;
  throw wrongFormat(
    path,
    file.format,
    FORMAT,
    'Use the version of Assay that wrote it, or another ASSAY_DATA_DIR.',
  );
}
