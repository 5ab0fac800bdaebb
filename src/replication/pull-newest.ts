/** Pulls one release, as a node does before it first serves, and as `assay snapshot pull` does. */
import { AssayError, messageOf } from '../base/errors.ts';
import { sleep } from '../base/retry.ts';
import type { LabelStore } from '../labels/store.ts';
import type { RegisterStore } from '../registers/store.ts';
import type { PullPlace } from '../state/snapshot-places.ts';
import { keysOf, openSource, type ReplicationDeps, type ReplicationSettings } from './follow.ts';
import { REPLICATION_LIMITS } from './limits.ts';
import { openPuller, type Pulled, type PullProgress } from './pull.ts';
import type { Latest, ReleaseSource } from './source.ts';

export interface PullNewestOptions {
  readonly from: PullPlace;
  /** How long to wait for a publisher that does not respond or has no release yet. */
  readonly patienceMs: number;
  readonly signal: AbortSignal;
  readonly onProgress?: (progress: PullProgress) => void;
}

const RETRY_MS = 1_000;

/**
 * Pulls the newest release and puts it in force.
 *
 * @throws SOURCE_UNAVAILABLE if no release is available, STORE_VERSION if this version cannot read it, STORE_BUSY if another process is
 * pulling on this node
 */
export async function pullNewest(
  settings: Pick<ReplicationSettings, 'dataDir' | 'secret'>,
  { from, patienceMs, signal, onProgress }: PullNewestOptions,
  deps: ReplicationDeps,
): Promise<Pulled> {
  const keys = keysOf(settings.secret);
  const source = openSource(from, keys, deps);
  try {
    const puller = openPuller(
      { dataDir: settings.dataDir, keys, ...(onProgress ? { onProgress } : {}) },
      deps,
    );
    const latest = await waitForLatest(source, patienceMs, signal, deps);
    return await puller.pull(puller.read(latest.envelope, source), source, signal);
  } finally {
    await source.close();
  }
}

/**
 * Returns the newest release, and waits for it up to `patienceMs`.
 *
 * @throws SOURCE_UNAVAILABLE on timeout
 */
export async function waitForLatest(
  source: ReleaseSource,
  patienceMs: number,
  signal: AbortSignal,
  { clock, log }: ReplicationDeps,
): Promise<Latest & { readonly state: 'new' }> {
  const until = clock.monotonic() + patienceMs;
  let isLogged = false;
  for (;;) {
    const left = until - clock.monotonic();
    let failure: unknown;
    try {
      const waitMs = Math.max(0, Math.min(left, REPLICATION_LIMITS.snapshotWaitMsMax));
      const latest = await source.latest(null, waitMs, signal);
      if (latest.state === 'new') return latest;
      failure = new AssayError('SOURCE_UNAVAILABLE', `${source.name} has published nothing yet.`);
    } catch (error) {
      signal.throwIfAborted();
      failure = error;
    }
    if (left <= RETRY_MS) throw failure;
    if (!isLogged)
      log.warn({ from: source.name, reason: messageOf(failure) }, 'waiting for the first snapshot');
    isLogged = true;
    await sleep(RETRY_MS, signal);
    signal.throwIfAborted();
  }
}

/** Returns the error for a build on a node that pulls: the next release would replace its result. */
const notBuilder = (): AssayError =>
  new AssayError(
    'FORBIDDEN',
    'This node pulls its labels, names and registers (ASSAY_SNAPSHOT_FROM): run import, sync and build on the node that publishes them.',
  );

/** Returns the stores of a node that pulls: they can be read, but not written. */
export const readOnlyStores = (
  labels: LabelStore,
  registers: RegisterStore,
): { readonly labels: LabelStore; readonly registers: RegisterStore } => ({
  labels: { ...labels, locked: () => Promise.reject(notBuilder()) },
  registers: { ...registers, locked: () => Promise.reject(notBuilder()) },
});

/**
 * Checks that this node builds its own snapshots.
 *
 * @throws FORBIDDEN on a node that pulls
 */
export function requireBuilder(from: PullPlace | null): void {
  if (from !== null) throw notBuilder();
}
