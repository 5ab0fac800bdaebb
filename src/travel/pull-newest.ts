/** One pull, to its end: what a node does before it first serves, and what `assay snapshot pull` does. */
import { setTimeout as pause } from 'node:timers/promises';
import { AssayError, messageOf } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import type { PullPlace } from '../base/snapshot-places.ts';
import type { LabelStore } from '../labels/store.ts';
import type { RegisterStore } from '../registers/store.ts';
import { keysOf, openSource, type TravelDeps, type TravelSettings } from './follow.ts';
import { openPuller, type Pulled, type PullProgress } from './pull.ts';
import type { Latest, ReleaseSource } from './source.ts';

export interface PullNewestOptions {
  readonly from: PullPlace;
  /** How long a publisher that does not answer, or has nothing yet, is waited for. */
  readonly patienceMs: number;
  readonly signal: AbortSignal;
  readonly onProgress?: (progress: PullProgress) => void;
}

const AGAIN_MS = 1_000;

/**
 * Pulls the newest release and puts it in force. Throws SOURCE_UNAVAILABLE where there is none to be had, STORE_VERSION where this version
 * cannot read it, STORE_BUSY where another process pulls here.
 */
export async function pullNewest(
  settings: Pick<TravelSettings, 'dataDir' | 'secret'>,
  { from, patienceMs, signal, onProgress }: PullNewestOptions,
  deps: TravelDeps,
): Promise<Pulled> {
  const keys = keysOf(settings.secret);
  const source = openSource(from, keys, deps);
  try {
    const puller = openPuller(
      { dataDir: settings.dataDir, keys, ...(onProgress ? { onProgress } : {}) },
      deps,
    );
    const latest = await patientLatest(source, patienceMs, signal, deps);
    return await puller.pull(puller.read(latest.envelope, source), source, signal);
  } finally {
    await source.close();
  }
}

/** The newest release there. Throws SOURCE_UNAVAILABLE when the patience ends. */
export async function patientLatest(
  source: ReleaseSource,
  patienceMs: number,
  signal: AbortSignal,
  { clock, log }: TravelDeps,
): Promise<Latest & { readonly state: 'new' }> {
  const until = clock.monotonic() + patienceMs;
  let told = false;
  for (;;) {
    const left = until - clock.monotonic();
    let failure: unknown;
    try {
      const waitMs = Math.max(0, Math.min(left, LIMITS.snapshotWaitMsMax));
      const latest = await source.latest(null, waitMs, signal);
      if (latest.state === 'new') return latest;
      failure = new AssayError('SOURCE_UNAVAILABLE', `${source.name} has published nothing yet.`);
    } catch (error) {
      signal.throwIfAborted();
      failure = error;
    }
    if (left <= AGAIN_MS) throw failure;
    if (!told) log.warn({ from: source.name, reason: messageOf(failure) }, 'waiting for the first snapshot');
    told = true;
    await pause(AGAIN_MS, undefined, { signal });
  }
}

/** Why nothing is built on a node that pulls: what it built would be replaced by the next release. */
const buildsNothing = (): AssayError =>
  new AssayError(
    'FORBIDDEN',
    'This node pulls its labels, names and registers (ASSAY_SNAPSHOT_FROM): import, sync and build on the node that publishes them.',
  );

/** What a node that pulls has in place of its stores: they can be read, and every writer is refused. */
export const readOnlyStores = (
  labels: LabelStore,
  registers: RegisterStore,
): { readonly labels: LabelStore; readonly registers: RegisterStore } => ({
  labels: { ...labels, locked: () => Promise.reject(buildsNothing()) },
  registers: { ...registers, locked: () => Promise.reject(buildsNothing()) },
});

/** Throws FORBIDDEN on a node that pulls. */
export function requireBuilder(from: PullPlace | null): void {
  if (from !== null) throw buildsNothing();
}
