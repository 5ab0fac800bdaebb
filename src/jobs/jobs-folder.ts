/** The jobs folder that nodes share. Each node may mount it at a path of its own, so messages contain paths relative to it. */
import { existsSync } from 'node:fs';
import { link, mkdtemp, readFile, rm, rmdir, writeFile } from 'node:fs/promises';
import { isAbsolute, join, normalize, relative, sep } from 'node:path';
import { AssayError, messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { Random } from '../base/random.ts';
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
  if (!existsSync(path)) {
    makeFolder(folder);
    const name = Buffer.from(random.bytes(NAME_BYTES)).toString('hex');
    const draft = `${path}.${name}`;
    await writeFile(draft, name);
    // Unlike a rename, a link fails if another node was first.
    await link(draft, path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'EEXIST') throw error;
    });
    await rm(draft);
  }
  return readFile(path, 'utf8');
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
 * @throws NOT_READY if the job's files are missing here, so that another node may process the chunk; INVALID_REQUEST
 * if a path leads out of the folder
 */
export function fromOthers(
  runner: ChunkRunner,
  folder: string,
  { log }: { readonly log: Logger },
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
      if (!existsSync(own.input.path)) refuse(task.jobId);
      return runner.run(own, signal);
    },
    close: () => runner.close(),
  };
}
