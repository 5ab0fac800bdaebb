/**
 * A first or full push. It first writes everything without reading, as fast as the servers accept it. Then it compares the result with one
 * commit, which corrects changes in the meantime and data lost in an interruption.
 */

import type { ChainStore } from '../store/chain-store.ts';
import { LOG_CHUNK_TRANSFERS } from '../store/log.ts';
import type { BucketWriter } from './bucket-writer.ts';
import { Checksum, type Head, packVersioned } from './layout.ts';
import { REMOTE_LIMITS } from './limits.ts';
import { COMPARED_AT_ONCE, type OldGeneration, type PushReport, type PushSession } from './push-session.ts';
import { type LocalRecord, Snapshot } from './snapshot.ts';

/** The progress of a full push, stored in the server so that a later run can resume it. */
interface Place {
  readonly stage: 'addresses' | 'log';
  readonly at: number;
  /** The write step of each bucket. A bucket at an earlier step has lost writes since then. */
  readonly steps: readonly number[];
}

interface Progress extends OldGeneration {
  readonly source: string;
  readonly place: Place;
  /** The previous place. Writes lost in a fail-over are newer than this. */
  readonly before: Place | null;
}

const FROM_THE_START: Place = { stage: 'addresses', at: 1, steps: [] };

/**
 * Pushes everything as a generation that no reader uses until the end. Rejects like `pushChain`. Rejects with LostWrites if it must
 * restart.
 */
export async function pushWhole(
  session: PushSession,
  store: ChainStore,
  head: Head | null,
): Promise<PushReport> {
  const progress = await takeUp(session, store, head);
  const { generation, buckets } = progress;
  const writer = await session.openWriter(generation, buckets);
  const isWhole = (place: Place): boolean =>
    place.steps.every((step, bucket) => (writer.steps[bucket] as number) >= step);
  const start = [progress.place, progress.before].find((place) => place !== null && isWhole(place));
  await scan(session, store, { progress, from: start ?? FROM_THE_START, writer });
  // Data that was written while the store changed, or before an interruption, is compared with one commit.
  const snapshot = new Snapshot(store, buckets);
  try {
    const sum = await compareAll(session, { generation, snapshot, writer });
    if (head !== null) await session.noteOld(head);
    const made = await session.switchTo({ generation, version: 1, buckets, snapshot, sum, writer });
    await session.set('push', null);
    return session.report('full', made, snapshot, writer);
  } finally {
    snapshot.close();
  }
}

/** Returns the interrupted push, or starts a new one. */
async function takeUp(session: PushSession, store: ChainStore, head: Head | null): Promise<Progress> {
  const text = await session.get('push');
  const found = text === null ? null : (JSON.parse(text) as Progress | null);
  const snapshot = new Snapshot(store, session.buckets);
  const { source, state } = snapshot;
  snapshot.close();
  const isOurs = found?.source === source && found.generation > (head?.generation ?? 0);
  if (found && isOurs) return found;
  if (found) await session.noteOld(found);
  const generation = Math.max(head?.generation ?? 0, found?.generation ?? 0) + 1;
  const begun: Progress = {
    generation,
    buckets: session.buckets,
    source,
    state,
    place: FROM_THE_START,
    before: null,
  };
  await session.set('push', begun);
  return begun;
}

/** Writes everything from a place on, without reading the stored data. */
async function scan(
  session: PushSession,
  store: ChainStore,
  {
    progress,
    from,
    writer,
  }: { readonly progress: Progress; readonly from: Place; readonly writer: BucketWriter },
): Promise<void> {
  let last = from;
  let savedMs = session.clock.monotonic();
  const first = { version: 1, previous: null };
  const put = ({ bucket, name, value }: LocalRecord): void =>
    writer.put(bucket, name, packVersioned({ ...first, value }));
  const flush = async (stage: Place['stage'], at: number): Promise<void> => {
    await writer.flush();
    await session.renew();
    const now = session.clock.monotonic();
    if (now - savedMs < REMOTE_LIMITS.remotePushSaveMs) return;
    savedMs = now;
    const place: Place = { stage, at, steps: [...writer.steps] };
    await session.set('push', { ...progress, place, before: last } satisfies Progress);
    last = place;
  };
  const snapshot = new Snapshot(store, progress.buckets);
  try {
    const { nextAddress } = snapshot.state;
    for (let node = from.stage === 'addresses' ? from.at : nextAddress; node < nextAddress; node++) {
      const local = snapshot.node(node);
      const id = snapshot.id(local.key, node);
      writer.put(id.bucket, id.name, id.value);
      for (const chunks of local.hubs.values())
        for (const chunk of chunks) {
          put(chunk);
          if (writer.isFull) await writer.flush();
        }
      for (const record of local.records) put(record);
      if (!writer.isFull) continue;
      await flush('addresses', node + 1);
      session.options.onProgress?.('push addresses', node, nextAddress - 1);
    }
    for (let chunk = from.stage === 'log' ? from.at : 0; chunk < snapshot.logChunks; chunk++) {
      put(snapshot.logChunk(chunk));
      if (!writer.isFull) continue;
      await flush('log', chunk + 1);
      session.options.onProgress?.('push transfers', chunk * LOG_CHUNK_TRANSFERS, snapshot.state.nextOrdinal);
    }
    await writer.flush();
  } finally {
    snapshot.close();
  }
}

/** Reads everything back, and rewrites records that differ from the snapshot. Returns the sum over all records. */
async function compareAll(
  session: PushSession,
  {
    generation,
    snapshot,
    writer,
  }: { readonly generation: number; readonly snapshot: Snapshot; readonly writer: BucketWriter },
): Promise<Checksum> {
  const sum = new Checksum();
  let batch: LocalRecord[] = [];
  const ids = new Set<string>();
  const { nextAddress } = snapshot.state;
  const compare = async (): Promise<void> => {
    const stored = await session.readRemote(generation, batch);
    for (const [at, { bucket, name, value }] of batch.entries()) {
      const expected = ids.has(name) ? value : packVersioned({ version: 1, value, previous: null });
      sum.add(name, value);
      if (!stored[at]?.equals(expected)) writer.put(bucket, name, expected);
    }
    batch = [];
    ids.clear();
    if (writer.isFull) await writer.flush();
    await session.renew();
  };
  const add = async (record: LocalRecord): Promise<void> => {
    batch.push(record);
    if (batch.length >= COMPARED_AT_ONCE) await compare();
  };
  for (let node = 1; node < nextAddress; node++) {
    const local = snapshot.node(node);
    const id = snapshot.id(local.key, node);
    ids.add(id.name);
    await add(id);
    for (const chunks of local.hubs.values()) for (const chunk of chunks) await add(chunk);
    for (const record of local.records) await add(record);
    if (node % COMPARED_AT_ONCE === 0) session.options.onProgress?.('compare', node, nextAddress - 1);
  }
  for (let chunk = 0; chunk < snapshot.logChunks; chunk++) await add(snapshot.logChunk(chunk));
  for (let page = 0; page < snapshot.assetPages; page++) await add(snapshot.assetPage(page));
  await add(snapshot.blocks());
  await compare();
  await writer.flush();
  return sum;
}
