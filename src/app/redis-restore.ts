/**
 * `assay redis restore --from-replica`: restores the replicas of a node into a Redis that was emptied. The stores then have the same
 * position in the history, so the other nodes continue from there. Credits, quotas and stored responses are not in any replica.
 */
import { join } from 'node:path';
import { isoTime } from '../base/clock.ts';
import { AssayError } from '../base/errors.ts';
import type { FillRequest, RestoreReport } from '../cli/services.ts';
import { type LiveFile, openLiveFile } from '../state/live-file.ts';
import {
  type Installation,
  markStores,
  nameInstallation,
  newInstallation,
} from '../state/redis-installation.ts';
import { createStoreFilling } from '../state/replica-fill.ts';
import { type ReplicaState, readReplica, replicaPath } from '../state/replicated-store.ts';
import {
  asOnlyWriter,
  begunBefore,
  type FillDeps,
  type FillMark,
  putMark,
  requireUnchanged,
  requireUnused,
  SHARED_STORES,
  type SharedStore,
} from './redis-fill.ts';

interface Replica {
  readonly store: SharedStore;
  readonly file: LiveFile;
  readonly state: ReplicaState;
}

/** Opens the replicas of a folder. Throws STORE_VERSION, STORE_CORRUPT. */
async function openReplicas(dataDir: string): Promise<readonly Replica[]> {
  const replicas: Replica[] = [];
  try {
    for (const store of SHARED_STORES) {
      const { name, formatVersion } = store;
      const path = replicaPath(join(dataDir, store.file), formatVersion, name);
      const file = openLiveFile({ path, formatVersion });
      if (file === null) continue;
      const state = readReplica(file);
      if (state === null) await file.close();
      else replicas.push({ store, file, state });
    }
    return replicas;
  } catch (error) {
    for (const { file } of replicas) await file.close();
    throw error;
  }
}

/** Throws INVALID_REQUEST if the replicas belong to two installations. */
function installationOfAll(dataDir: string, replicas: readonly Replica[]): Installation | null {
  const found = replicas.map(({ state }) => state.installation).filter((one) => one !== null);
  const [first = null] = found;
  if (found.some(({ id }) => id !== first?.id))
    throw new AssayError('INVALID_REQUEST', `The replicas below ${dataDir} belong to two installations.`, {
      field: 'ASSAY_DATA_DIR',
    });
  return first;
}

/**
 * Restores the replicas of this folder into an empty Redis, or resumes its own interrupted restore. After any error, no node takes the
 * partial data for a complete store.
 *
 * @param request - `isCheck`: only checks whether a restore is possible
 * @throws NOT_FOUND if the folder has no replica of keys, STORE_BUSY if a process uses the replicas, INVALID_REQUEST if Redis is not empty,
 * STORE_VERSION, STORE_CORRUPT, NOT_READY
 */
export async function restoreRedis(
  request: FillRequest & { readonly dataDir: string; readonly isCheck: boolean },
  deps: FillDeps,
): Promise<RestoreReport> {
  const { dataDir, signal, onProgress, isCheck } = request;
  const replicas = await openReplicas(dataDir);
  try {
    if (!replicas.some(({ store }) => store.name === 'keys'))
      throw new AssayError(
        'NOT_FOUND',
        `${dataDir} has no replica of the keys. Set ASSAY_DATA_DIR to the folder of a node.`,
      );
    const installation = installationOfAll(dataDir, replicas);
    const keys = replicas.find(({ store }) => store.name === 'keys') as Replica;
    const source = `replica ${installation?.id ?? keys.state.last}`;
    if (!isCheck) requireUnused(replicas.map(({ file }) => file));
    const begun = await begunBefore(deps.redis, source);
    if (isCheck) return reportOf(replicas, installation, { begun, ended: null });
    return await asOnlyWriter({ source, signal }, deps, (mark, both) =>
      restoreUnderLease(replicas, installation, mark, { signal: both, onProgress }, deps),
    );
  } finally {
    for (const { file } of replicas) await file.close();
  }
}

function reportOf(
  replicas: readonly Replica[],
  installation: Installation | null,
  { begun, ended }: { readonly begun: FillMark | null; readonly ended: string | null },
): RestoreReport {
  return {
    installation: installation?.id ?? null,
    resumed: begun !== null,
    ended,
    stores: SHARED_STORES.map(({ name }) => ({
      name,
      version: replicas.find(({ store }) => store.name === name)?.state.version ?? 0,
    })),
  };
}

async function restoreUnderLease(
  replicas: readonly Replica[],
  own: Installation | null,
  fresh: FillMark,
  { signal, onProgress }: FillRequest,
  { redis, clock, random }: FillDeps,
): Promise<RestoreReport> {
  const files = replicas.map(({ file }) => file);
  const asOf = files.map((file) => file.lastTransaction());
  const begun = await begunBefore(redis, fresh.source);
  const mark = begun ?? fresh;
  if (begun === null) await putMark(redis, mark);
  const installation = await nameInstallation(
    redis,
    own ?? newInstallation((count) => random.bytes(count), mark.begun, false),
  );
  const fillings = replicas.map(({ store, file, state }) =>
    createStoreFilling(
      { ...store, file, id: mark.id, installation: installation.id, at: state, signal },
      { redis },
    ),
  );
  // Claim all of them first, so that running nodes write to none before all are complete.
  for (const filling of fillings) await filling.claim();
  await markStores(
    redis,
    installation,
    SHARED_STORES.map(({ name }) => name),
  );
  for (const filling of fillings)
    await filling.fill((done, total) => onProgress(filling.name, done, total, 'records'));
  requireUnchanged(files, asOf);
  signal.throwIfAborted();
  for (const filling of fillings) await filling.finish();
  const ended = isoTime(clock.now());
  await putMark(redis, { ...mark, state: 'whole', ended });
  return reportOf(replicas, installation, { begun, ended });
}
