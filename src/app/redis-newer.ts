/**
 * `assay redis newer`: the states of stores that Redis has lost and this node has kept, and their restoration. A restored state replaces the
 * store in Redis as a whole; credits, quotas and all other stores stay as they are.
 */
import { join } from 'node:path';
import { isoTime } from '../base/clock.ts';
import { AssayError } from '../base/errors.ts';
import type { NewerReport, NewerRequest } from '../cli/services.ts';
import { type LiveFile, openLiveFile } from '../state/live-file.ts';
import type { NewerState } from '../state/live-store.ts';
import { type Installation, readInstallation } from '../state/redis-installation.ts';
import { NewerReplicas } from '../state/replica/newer-replicas.ts';
import { createStoreFilling } from '../state/replica-fill.ts';
import { readReplica, replicaPath } from '../state/replicated-store.ts';
import { asOnlyWriter, type FillDeps, SHARED_STORES, type SharedStore } from './redis-fill.ts';

const newerOf = (dataDir: string, { name, formatVersion, file }: SharedStore): readonly NewerState[] =>
  new NewerReplicas(replicaPath(join(dataDir, file), formatVersion, name)).list();

/** Throws INVALID_REQUEST for a store that does not exist or has no kept state. */
function chosenOf(
  dataDir: string,
  names: readonly string[],
): readonly { store: SharedStore; newer: NewerState }[] {
  return [...new Set(names)].map((name) => {
    const store = SHARED_STORES.find((each) => each.name === name);
    const newer = store === undefined ? undefined : newerOf(dataDir, store).at(-1);
    if (store === undefined || newer === undefined)
      throw new AssayError('INVALID_REQUEST', `${dataDir} has no kept state of a store '${name}'.`);
    return { store, newer };
  });
}

/**
 * Lists the kept states of a folder, and restores the newest one of each store in `restore`. After any error, no node takes partial data for a
 * complete store; the command can be run again.
 *
 * @throws INVALID_REQUEST if there is no such state, or Redis contains another installation; STORE_BUSY if another process fills Redis;
 * STORE_VERSION, STORE_CORRUPT, NOT_READY
 */
export async function newerStates(
  { dataDir, restore, signal, onProgress }: NewerRequest & { readonly dataDir: string },
  deps: FillDeps,
): Promise<NewerReport> {
  const { redis } = deps;
  const chosen = chosenOf(dataDir, restore);
  const versionIn = async (name: string): Promise<number> =>
    Number((await redis.guard(redis.connection.hget(redis.key(name, 'head'), 'version'))) ?? 0);
  if (chosen.length > 0) {
    const installation = await readInstallation(redis);
    if (installation === null)
      throw new AssayError('INVALID_REQUEST', 'Redis is empty. See `assay redis restore`.');
    await asOnlyWriter({ source: 'newer', signal }, deps, (_, both) =>
      restoreAll(chosen, installation, { restore, signal: both, onProgress }, deps),
    );
  }
  const states: NewerReport['states'][number][] = [];
  for (const store of SHARED_STORES)
    for (const { path, version, keptAtMs } of newerOf(dataDir, store))
      states.push({
        store: store.name,
        version,
        keptAt: isoTime(keptAtMs),
        path,
        redisVersion: await versionIn(store.name),
      });
  return { restored: chosen.map(({ store, newer }) => ({ store: store.name, path: newer.path })), states };
}

async function restoreAll(
  chosen: ReturnType<typeof chosenOf>,
  installation: Installation,
  { signal, onProgress }: NewerRequest,
  { redis }: FillDeps,
): Promise<void> {
  const files: LiveFile[] = [];
  try {
    const fillings = chosen.map(({ store, newer }) => {
      const file = openLiveFile({ path: newer.path, formatVersion: store.formatVersion });
      const at = file === null ? null : readReplica(file);
      if (file !== null) files.push(file);
      if (file === null || at === null || at.installation?.id !== installation.id)
        throw new AssayError(
          'INVALID_REQUEST',
          `${newer.path} is no state of the installation ${installation.id}.`,
        );
      const id = `newer-${at.version}-${at.last}`;
      return createStoreFilling(
        { ...store, file, id, installation: installation.id, at, isReplacing: true, signal },
        { redis },
      );
    });
    // Claim all of them first, so that running nodes write to none before all are complete.
    for (const filling of fillings) await filling.claim();
    for (const filling of fillings)
      await filling.fill((done, total) => onProgress(filling.name, done, total, 'records'));
    signal.throwIfAborted();
    for (const filling of fillings) await filling.finish();
  } finally {
    for (const file of files) await file.close();
  }
}
