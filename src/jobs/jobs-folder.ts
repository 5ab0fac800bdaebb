/** The jobs folder that nodes share. Each node may mount it at a path of its own, so messages contain paths relative to it. */
import { existsSync } from 'node:fs';
import { link, mkdtemp, readFile, rm, rmdir, writeFile } from 'node:fs/promises';
import { dirname, isAbsolute, join, normalize, relative, sep } from 'node:path';
import { AssayError, messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { Random } from '../base/random.ts';
import { within } from '../base/within.ts';
import { writeTextAtomically } from '../state/atomic-file.ts';
import { makeFolder } from '../state/data-folder.ts';
import type { ChunkRunner, ChunkTask } from './chunks.ts';

/**
 * Checks that the folder can be created and written to.
 *
 * @throws INVALID_CONFIG with the setting
 */
export async function requireJobsFolder(folder: string, setting: string): Promise<void> {
  try {
    makeFolder(folder);
    await rmdir(await mkdtemp(join(folder, '.check-')));
  } catch (cause) {
    throw new AssayError(
      'INVALID_CONFIG',
      `${setting}: jobs cannot be stored in ${folder}: ${messageOf(cause)}`,
      {
        field: setting,
        cause,
      },
    );
  }
}

/** File with the name of a folder, by which nodes recognise that they share it. */
const NAME_FILE = '.folder';
const NAME_BYTES = 12;

/** Returns the name of a folder; the first caller creates it. Rejects with file system errors. */
export async function nameOfFolder(folder: string, random: Random): Promise<string> {
  const path = join(folder, NAME_FILE);
  if (existsSync(path)) return readFile(path, 'utf8');
  makeFolder(folder);
  const name = Buffer.from(random.bytes(NAME_BYTES)).toString('hex');
  const draft = `${path}.${name}`;
  try {
    // Durable first, so that a name is never empty after a loss of power.
    await writeFile(draft, name, { flush: true });
    // Unlike a rename, a link fails if another node was first.
    await link(draft, path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
  } finally {
    await rm(draft, { force: true });
  }
  return readFile(path, 'utf8');
}

/** Time for reading the name of the folder: a network file system may not respond for as long as its server is away. */
const NAME_READ_MS = 2_000;

/** Checks whether a folder is still usable. Returns the reason if it is not, as a sentence; null if it is. Never rejects. */
export type FolderCheck = () => Promise<string | null>;

/** Returns the sentence of a check. */
export const unavailable = (reason: string): string =>
  `The folder of bulk jobs is not available on this node: ${reason}`.replace(/\.?$/, '.');

/**
 * Creates the check of whether a folder is still the one with this name. While a server runs, a network file system may be unmounted, which
 * leaves an empty folder, or fail.
 */
export function checkOfFolder(folder: string, name: string): FolderCheck {
  /** The read in progress: a file system that does not respond must not occupy a thread for each check. */
  let reading: Promise<string> | null = null;
  return async () => {
    reading ??= readFile(join(folder, NAME_FILE), 'utf8').finally(() => {
      reading = null;
    });
    const found = await within(NAME_READ_MS, reading, folder).catch((error: unknown) => error as Error);
    if (found === name) return null;
    const what =
      typeof found === 'string' ? `its file ${NAME_FILE} does not contain ${name}` : messageOf(found);
    return unavailable(what);
  };
}

/**
 * Returns the name of the jobs folder that is expected at `folder`, and stores it. That is the folder at the last start, if the one that is
 * there now has another name and lacks the files of jobs: its file system may not be mounted.
 *
 * @param options.file - `JOBS_FOLDER_FILE` of the data folder
 * @param options.isLackingFiles - is called only if the name has changed
 */
export async function expectedFolder(
  options: {
    readonly folder: string;
    readonly file: string;
    readonly isLackingFiles: () => Promise<boolean>;
  },
  { random }: { readonly random: Random },
): Promise<string> {
  const { folder, file, isLackingFiles } = options;
  const name = await nameOfFolder(folder, random);
  const before = await readFile(file, 'utf8').catch(() => null);
  if (before === name) return name;
  if (before !== null && (await isLackingFiles())) return before;
  try {
    writeTextAtomically(file, name);
  } catch {
    // The disk is full: the next start stores it.
  }
  return name;
}

const withPaths = (task: ChunkTask, change: (path: string) => string): ChunkTask => ({
  ...task,
  input: { ...task.input, path: change(task.input.path) },
  output: change(task.output),
});

/** Wraps a runner that sends chunks to nodes with another path of the folder. */
export const towardsOthers = (runner: ChunkRunner, folder: string): ChunkRunner => ({
  get slots() {
    return runner.slots;
  },
  run: (task, signal) =>
    runner.run(
      withPaths(task, (path) => relative(folder, path)),
      signal,
    ),
  close: () => runner.close(),
});

/**
 * Wraps a runner that processes chunks of other nodes in this node's folder.
 *
 * @param check - default: the folder is always usable
 * @throws NOT_READY if the job's files are missing here, so that another node may process the chunk; INVALID_REQUEST
 * if a path leads out of the folder
 */
export function fromOthers(
  runner: ChunkRunner,
  folder: string,
  { log, check = async () => null }: { readonly log: Logger; readonly check?: FolderCheck },
): ChunkRunner {
  /** The last job with missing files: logged once, not with every chunk. */
  let missed = '';
  const here = (path: string): string => {
    const plain = normalize(path);
    if (isAbsolute(plain) || plain === '..' || plain.startsWith(`..${sep}`))
      throw new AssayError('INVALID_REQUEST', 'A chunk names a file outside the jobs folder.');
    return join(folder, plain);
  };
  function refuse(jobId: string): never {
    const sentence =
      'A worker cannot find the files of the job: its ASSAY_JOBS_DIR is not the folder that the other nodes share.';
    if (missed !== jobId) log.error({ job: jobId, folder }, sentence);
    missed = jobId;
    throw new AssayError('NOT_READY', sentence, { retryAfterSeconds: 1 });
  }
  return {
    get slots() {
      return runner.slots;
    },
    async run(task, signal) {
      const own = withPaths(task, here);
      if (!existsSync(own.input.path)) {
        // A job that ends loses its input first.
        if (!existsSync(dirname(own.input.path))) refuse(task.jobId);
        throw new AssayError('NOT_READY', 'The job has ended.', { retryAfterSeconds: 1 });
      }
      try {
        return await runner.run(own, signal);
      } catch (error) {
        // Another node, which has the folder, can process the chunk.
        const reason = await check();
        if (reason === null) throw error;
        throw new AssayError('NOT_READY', reason, { retryAfterSeconds: 1, cause: error });
      }
    },
    close: () => runner.close(),
  };
}
