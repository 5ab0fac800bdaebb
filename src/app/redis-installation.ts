/**
 * The start of a node with a Redis: determines which installation the Redis holds, and whether this folder belongs to it. Only `assay redis
 * found` creates an installation in an empty Redis: an empty Redis may have lost its data, and a node cannot detect that.
 * docs/decisions/replicated-stores.md has more.
 */
import { join } from 'node:path';
import { type Clock, isoTime } from '../base/clock.ts';
import { AssayError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { Random } from '../base/random.ts';
import { openLiveFile } from '../state/live-file.ts';
import type { RedisStore } from '../state/redis.ts';
import {
  type Installation,
  installationOf,
  markStores,
  nameInstallation,
  newInstallation,
  readInstallation,
} from '../state/redis-installation.ts';
import { replicaPath, replicaState } from '../state/replicated-store.ts';
import { fieldOf } from '../state/write-set.ts';
import { formatOf, requireEmpty, requireFilled, SHARED_STORES } from './redis-fill.ts';

export interface EnterDeps {
  readonly redis: RedisStore;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
}

/** The installation of the replicas in a folder. */
interface FolderState {
  /** Null if there are no replicas, or only replicas that are older than installation ids. */
  readonly installation: Installation | null;
  readonly hasReplicas: boolean;
}

const STORE_NAMES = SHARED_STORES.map(({ name }) => name);
/** Keys of a replica that are looked up in Redis: a single match proves the same installation. */
const PROOFS = 1_000;

const refuse = (message: string): AssayError =>
  new AssayError('INVALID_CONFIG', `ASSAY_REDIS_URL: ${message}`, { field: 'ASSAY_REDIS_URL' });

async function stateOfFolder(dataDir: string): Promise<FolderState> {
  let installation: Installation | null = null;
  let hasReplicas = false;
  for (const { name, formatVersion, file } of SHARED_STORES) {
    const state = await replicaState(join(dataDir, file), formatVersion, name);
    if (state === null) continue;
    hasReplicas = true;
    if (installation !== null && state.installation !== null && state.installation.id !== installation.id)
      throw refuse(
        `the replicas below ${dataDir} belong to two installations, ${installation.id} and ${state.installation.id}. Move the replicas of one of them elsewhere.`,
      );
    installation ??= state.installation;
  }
  return { installation, hasReplicas };
}

/** Returns true if Redis has one of the keys of a replica without an id: no two installations share a key. */
async function sharesKeys(dataDir: string, redis: RedisStore): Promise<boolean> {
  const store = SHARED_STORES.find(({ name }) => name === 'keys');
  if (store === undefined) return false;
  const { formatVersion } = store;
  const file = openLiveFile({
    path: replicaPath(join(dataDir, store.file), formatVersion, store.name),
    formatVersion,
  });
  try {
    const fields: Buffer[] = [];
    for (const [hash] of file?.databases.includes('idByHash') ? file.records('idByHash') : []) {
      fields.push(fieldOf('idByHash', hash));
      if (fields.length === PROOFS) break;
    }
    if (fields.length === 0) return true;
    const found = await redis.guard(redis.connection.hmget(redis.key(store.name, 'data'), ...fields));
    return found.some((value) => value !== null);
  } finally {
    await file?.close();
  }
}

const otherThan = (dataDir: string, own: string, found: string): AssayError =>
  refuse(
    `Redis contains the installation ${found}, and the replicas below ${dataDir} are of ${own}. The replicas are unchanged. Set ASSAY_REDIS_URL to the Redis of their installation, or move them elsewhere to join this one.`,
  );

/** Determines the name for a Redis without one; returns null if Redis is empty. Rejects with INVALID_CONFIG, NOT_READY. */
async function nameWithout(
  { installation, hasReplicas }: FolderState,
  { redis, clock, random, log }: EnterDeps,
): Promise<Installation | null> {
  const marks = new Set<string>();
  let hasStores = false;
  for (const name of STORE_NAMES) {
    const mark = await installationOf(redis, name);
    if (mark !== null) marks.add(mark);
    hasStores ||= (await formatOf(redis, name)) !== null;
  }
  const [mark] = marks;
  if (mark !== undefined) {
    // The shard of the Redis Cluster that held the name was lost.
    if (marks.size === 1 && installation?.id === mark) return nameInstallation(redis, installation);
    throw refuse(
      `Redis has lost the id of its installation, and its stores belong to ${[...marks].join(', ')}: start a node that has replicas of it first, or restore Redis from its backup.`,
    );
  }
  if (!hasStores) return null;
  if (installation !== null)
    throw refuse(
      `Redis has stores that are older than the ids of installations, and the replicas of this node are of ${installation.id}: restore a later backup, or move the folders named replicas elsewhere to take this Redis as it is.`,
    );
  const named = await nameInstallation(
    redis,
    newInstallation((count) => random.bytes(count), isoTime(clock.now()), false),
  );
  log.info({ installation: named.id, hasReplicas }, 'installation id assigned');
  return named;
}

/**
 * Determines the installation that a node joins, and completes its marks in Redis.
 *
 * @returns the installation that Redis names; if it is older than installation ids, it gets an id here
 * @throws INVALID_CONFIG if Redis is empty, or holds another installation than the replicas of this folder; NOT_READY, also while Redis is
 * being filled
 */
export async function enterInstallation(
  { dataDir }: { readonly dataDir: string },
  deps: EnterDeps,
): Promise<Installation> {
  const { redis } = deps;
  await requireFilled({ dataDir }, deps);
  const folder = await stateOfFolder(dataDir);
  const named = (await readInstallation(redis)) ?? (await nameWithout(folder, deps));
  if (named === null) {
    if (folder.hasReplicas)
      throw refuse(
        `Redis is empty, and this node has replicas${folder.installation === null ? '' : ` of the installation ${folder.installation.id}`}: restore Redis from its backup, or from the newest replica with \`assay redis restore --from-replica\`.`,
      );
    throw refuse(
      'Redis is empty. If its data was lost, restore it. If it is new, create an installation in it once with `assay redis found`.',
    );
  }
  if (folder.installation !== null && folder.installation.id !== named.id)
    throw otherThan(dataDir, folder.installation.id, named.id);
  if (folder.hasReplicas && folder.installation === null && !(await sharesKeys(dataDir, redis)))
    throw otherThan(dataDir, 'another installation, which has no id', named.id);
  await markStores(redis, named, STORE_NAMES);
  return named;
}

/**
 * Creates an installation in an empty Redis.
 *
 * @throws INVALID_REQUEST if Redis is not empty, or this folder has replicas of an installation; INVALID_CONFIG if it has the files of a
 * standalone machine; NOT_READY
 */
export async function foundInstallation(
  { dataDir }: { readonly dataDir: string },
  deps: EnterDeps,
): Promise<Installation> {
  const { redis, clock, random } = deps;
  await requireFilled({ dataDir }, deps);
  await requireEmpty(redis);
  if ((await stateOfFolder(dataDir)).hasReplicas)
    throw new AssayError(
      'INVALID_REQUEST',
      `${dataDir} has replicas of an installation. Restore Redis from them with \`assay redis restore --from-replica\`, or move them elsewhere to start without them.`,
      { field: 'ASSAY_DATA_DIR' },
    );
  const own = newInstallation((count) => random.bytes(count), isoTime(clock.now()));
  const named = await nameInstallation(redis, own);
  if (named.id !== own.id)
    throw new AssayError(
      'INVALID_REQUEST',
      `Another process has just founded the installation ${named.id}.`,
      {
        field: 'ASSAY_REDIS_URL',
      },
    );
  await markStores(redis, named, STORE_NAMES);
  return named;
}
