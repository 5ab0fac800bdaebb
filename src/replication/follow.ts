/**
 * Snapshot replication of a node: publishes the state that it builds, uploads it to an object store, follows another node. Runs on a thread
 * of its own, so that hashing and sending a gigabyte never delay an API response.
 */
import { join } from 'node:path';
import { type Clock, isoTime } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { backOffMs, sleep } from '../base/retry.ts';
import type { PullPlace, S3Place } from '../state/snapshot-places.ts';
import { listenForNodes, type SnapshotListener } from './http/listener.ts';
import { openHttpSource } from './http/source.ts';
import { REPLICATION_LIMITS } from './limits.ts';
import { openPublisher, type Publisher, replicationFolderOf } from './publish.ts';
import { openPuller, type Puller, type PullProgress } from './pull.ts';
import { type ClusterKeys, clusterKeys, type Release } from './release.ts';
import { openS3 } from './s3/client.ts';
import { openS3Source } from './s3/source.ts';
import { openReleaseStore, type ReleaseStore, storeFolderName } from './s3/store.ts';
import type { ReleaseSource } from './source.ts';

export interface ReplicationSettings {
  readonly dataDir: string;
  /** Shared by the nodes of a cluster; never written to a log. */
  readonly secret: string | null;
  /** Address on which other nodes can pull from this one. */
  readonly listen: { readonly host: string; readonly port: number } | null;
  /** Object store to which releases of this node are uploaded. */
  readonly store: S3Place | null;
  readonly from: PullPlace | null;
}

export interface ReplicationDeps {
  readonly clock: Clock;
  readonly log: Logger;
  /** Uniform in [0, 1). */
  readonly jitter: () => number;
}

/** A release as `/ready` and `status` report it. */
export interface ReleaseSummary {
  readonly release: string;
  readonly dataVersion: string;
  /** ISO time. */
  readonly publishedAt: string;
}

/** Replication state of a node that pulls. */
export interface PullState {
  /** Name of the publisher, without secrets. */
  readonly from: string;
  /** The newest release seen at the publisher; null before the first response. */
  readonly published: ReleaseSummary | null;
  readonly served: (ReleaseSummary & { readonly installedAt: string }) | null;
  /** ISO time since when the served release differs from the newest known one; null if they are the same. */
  readonly behindSince: string | null;
  /** ISO time of the last response. */
  readonly lookedAt: string | null;
  /** The last error, as a sentence; null after a success. */
  readonly error: string | null;
  /** ISO time of the first error since the last success; null without errors. */
  readonly errorSince: string | null;
}

export type ReplicationEvent =
  /** Serving has started; `url` is null if other nodes cannot pull from this one. */
  | { readonly type: 'started'; readonly url: string | null }
  /** A new release is available on this node or in the store. */
  | { readonly type: 'published'; readonly release: string }
  | { readonly type: 'state'; readonly state: PullState }
  | { readonly type: 'swapped'; readonly state: PullState };

export interface Replicator {
  /** Checks the publisher now instead of at the next interval. */
  look(): void;
  stop(): Promise<void>;
}

/** Interval at which a publisher checks the state in force: five `stat`s. */
const CAPTURE_EVERY_MS = 250;
const BACK_OFF = { firstMs: 1_000, maxMs: 60_000 } as const;

/** Derives the cluster keys; returns null without a secret. */
export const keysOf = (secret: string | null): ClusterKeys | null =>
  secret === null ? null : clusterKeys(secret);

/** Opens the source of releases for a pull location. */
export function openSource(
  from: PullPlace,
  keys: ClusterKeys | null,
  { clock }: Pick<ReplicationDeps, 'clock'>,
): ReleaseSource {
  return from.kind === 'http'
    ? openHttpSource({ url: from.url, keys })
    : openS3Source(openS3(from.place, { clock }));
}

const stateOf = ({ id, dataVersion, publishedAt }: Release): ReleaseSummary => ({
  release: id,
  dataVersion,
  publishedAt,
});

/**
 * Starts replication as configured.
 *
 * @throws LISTEN_FAILED
 */
export async function startReplication(
  settings: ReplicationSettings,
  deps: ReplicationDeps,
  emit: (event: ReplicationEvent) => void,
): Promise<Replicator> {
  const { dataDir, listen, store, from } = settings;
  const keys = keysOf(settings.secret);
  const stopping = new AbortController();
  const { signal } = stopping;
  const work: Promise<void>[] = [];
  let listener: SnapshotListener | null = null;
  let wake = (): void => {};

  if (listen !== null || store !== null) {
    const publisher = openPublisher({ dataDir, keys }, deps);
    if (listen !== null) listener = await listenForNodes({ ...listen, keys }, { publisher, log: deps.log });
    const uploader = store === null ? null : openUploader(publisher, store, settings, deps, signal, emit);
    work.push(
      publishOn(publisher, deps, signal, (release) => {
        listener?.published();
        uploader?.wake();
        if (listen !== null) emit({ type: 'published', release });
      }),
    );
    if (uploader !== null) work.push(uploader.done);
  }
  if (from !== null) {
    const source = openSource(from, keys, deps);
    const puller = openPuller({ dataDir, keys }, deps);
    const follower = follow(source, puller, deps, signal, emit);
    wake = follower.wake;
    work.push(follower.done.finally(() => source.close()));
  }
  emit({ type: 'started', url: listener?.url ?? null });
  return {
    look: () => wake(),
    async stop() {
      stopping.abort();
      await listener?.close();
      await Promise.all(work);
    },
  };
}

async function publishOn(
  publisher: Publisher,
  { log }: ReplicationDeps,
  signal: AbortSignal,
  onPublished: (release: string) => void,
): Promise<void> {
  let loggedReason = '';
  while (!signal.aborted) {
    try {
      if ((await publisher.capture(signal)) && publisher.current !== null)
        onPublished(publisher.current.release.id);
      loggedReason = '';
    } catch (error) {
      const reason = messageOf(error);
      if (!signal.aborted && reason !== loggedReason) log.warn({ reason }, 'publishing a release failed');
      loggedReason = reason;
    }
    await sleep(CAPTURE_EVERY_MS, signal);
  }
}

/** A sleep that `wake` ends early; if `wake` was called before, it ends at once. */
class WakeableSleep {
  #woken = new AbortController();

  wake(): void {
    this.#woken.abort();
  }

  async sleep(ms: number, signal: AbortSignal): Promise<void> {
    if (!this.#woken.signal.aborted) await sleep(ms, AbortSignal.any([signal, this.#woken.signal]));
    if (this.#woken.signal.aborted) this.#woken = new AbortController();
  }
}

/** Uploads the newest release to the store, and retries until it succeeds. */
function openUploader(
  publisher: Publisher,
  place: S3Place,
  { dataDir }: ReplicationSettings,
  deps: ReplicationDeps,
  signal: AbortSignal,
  emit: (event: ReplicationEvent) => void,
): { wake(): void; readonly done: Promise<void> } {
  const client = openS3(place, deps);
  const store = openStoreAt(client.name, dataDir, place, deps, () => {}, client);
  const pause = new WakeableSleep();
  async function run(): Promise<void> {
    let uploaded = '';
    let failures = 0;
    while (!signal.aborted) {
      const { current } = publisher;
      if (current === null || current.release.id === uploaded) {
        await pause.sleep(BACK_OFF.maxMs, signal);
        continue;
      }
      try {
        const { bytes } = await store.put(current, publisher.blobs, signal);
        uploaded = current.release.id;
        failures = 0;
        deps.log.info({ release: uploaded, to: client.name, bytes }, 'release uploaded');
        emit({ type: 'published', release: uploaded });
      } catch (error) {
        if (signal.aborted) break;
        deps.log.warn({ to: client.name, reason: messageOf(error) }, 'release upload failed');
        await pause.sleep(retryDelayMs(failures++, deps), signal);
      }
    }
    await client.close();
  }
  return { wake: () => pause.wake(), done: run() };
}

/** Opens a store for uploads; the state of its uploads is kept in a folder of its own. */
export function openStoreAt(
  name: string,
  dataDir: string,
  place: S3Place,
  deps: ReplicationDeps,
  onProgress: (progress: PullProgress) => void,
  client = openS3(place, deps),
): ReleaseStore {
  const folder = join(replicationFolderOf(dataDir), 'uploads', storeFolderName(name));
  return openReleaseStore(client, { folder, onProgress }, deps);
}

/** Returns the delay after a failure, in milliseconds, with jitter of a quarter in each direction. */
const retryDelayMs = (failures: number, { jitter }: ReplicationDeps): number =>
  backOffMs(failures, BACK_OFF) * (0.75 + jitter() / 2);

function follow(
  source: ReleaseSource,
  puller: Puller,
  deps: ReplicationDeps,
  signal: AbortSignal,
  emit: (event: ReplicationEvent) => void,
): { wake(): void; readonly done: Promise<void> } {
  const pause = new WakeableSleep();
  const now = (): string => isoTime(deps.clock.now());
  let state: PullState = {
    from: source.name,
    published: null,
    served: servedBy(puller),
    behindSince: null,
    lookedAt: null,
    error: null,
    errorSince: null,
  };
  const change = (part: Partial<PullState>): void => {
    state = { ...state, ...part };
    emit({ type: 'state', state });
  };

  async function run(): Promise<void> {
    let tag: string | null = null;
    let failures = 0;
    change({});
    while (!signal.aborted) {
      const requestedAt = deps.clock.monotonic();
      try {
        const latest = await source.latest(tag, REPLICATION_LIMITS.snapshotWaitMsMax, signal);
        change({ lookedAt: now() });
        if (latest.state === 'new') {
          const release = puller.read(latest.envelope, source);
          await take(release);
          tag = latest.tag;
        }
        if (state.error !== null) change({ error: null, errorSince: null });
        failures = 0;
      } catch (error) {
        if (signal.aborted) break;
        const reason = messageOf(error);
        if (state.error !== reason) deps.log.warn({ from: source.name, reason }, 'snapshot pull failed');
        change({ error: reason, errorSince: state.errorSince ?? now() });
        // Retry without the tag: if this release caused the error, the next one may work.
        tag = null;
        await pause.sleep(retryDelayMs(failures++, deps), signal);
        continue;
      }
      // After a long poll, the publisher is polled again at once.
      const left = source.pollMs * (0.75 + deps.jitter() / 2) - (deps.clock.monotonic() - requestedAt);
      if (left > 0) await pause.sleep(left, signal);
    }
  }

  async function take(release: Release): Promise<void> {
    change({ published: stateOf(release) });
    if (puller.installed?.release.id === release.id) {
      change({ served: servedBy(puller), behindSince: null });
      return;
    }
    if (state.behindSince === null) change({ behindSince: now() });
    const startedAt = deps.clock.monotonic();
    const pulled = await puller.pull(release, source, signal);
    change({ served: servedBy(puller), behindSince: null, error: null, errorSince: null });
    emit({ type: 'swapped', state });
    deps.log.info(
      {
        from: source.name,
        release: release.id,
        dataVersion: release.dataVersion,
        bytes: pulled.fetchedBytes,
        milliseconds: Math.round(deps.clock.monotonic() - startedAt),
      },
      'snapshot pulled',
    );
  }

  return { wake: () => pause.wake(), done: run() };
}

function servedBy({ installed }: Puller): PullState['served'] {
  return installed === null ? null : { ...stateOf(installed.release), installedAt: installed.installedAt };
}
