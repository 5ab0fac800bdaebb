/** A push of what changed since the last one. */
import { AssayError } from '../../base/errors.ts';
import { EMPTY_RECORD, LOG_CHUNK_TRANSFERS, partiesOf, recordsIn } from '../store/log.ts';
import type { BucketWriter } from './bucket-writer.ts';
import {
  Checksum,
  digestsIn,
  type Head,
  NAMES,
  packVersioned,
  unpackVersioned,
  type Versioned,
} from './layout.ts';
import { COMPARED_AT_ONCE, type PushReport, type PushSession } from './push-session.ts';
import type { LocalRecord, Snapshot } from './snapshot.ts';

/** Addresses whose changes are looked for at a time. */
const NODES_AT_ONCE = 256;
/** Chunks of log that are compared at a time. */
const LOG_AT_ONCE = 1_024;

/** The version that a push writes: the one after that which is read. */
interface NextVersion {
  readonly writer: BucketWriter;
  /** The version that is read. */
  readonly version: number;
  /** How long readers may still need versions before that; null if none can hold one. */
  readonly keepMs: number | null;
}

/**
 * Puts the next version of a record, if it differs from what is stored. A record carries two versions: if readers may hold a third one,
 * the stored bytes go to a key of their own first.
 */
function putNext(
  { writer, version, keepMs }: NextVersion,
  { bucket, name, value }: LocalRecord,
  stored: Buffer | null,
): void {
  const found = stored === null ? null : unpackVersioned(stored);
  if (found?.value.equals(value)) return;
  // What an interrupted push wrote carries the version that is read, and the one before was put aside by that push.
  if (stored && found?.previous && found.version <= version && keepMs !== null)
    writer.put(bucket, NAMES.earlier(name, found.version), stored, keepMs);
  writer.put(bucket, name, packVersioned({ version: version + 1, value, previous: oldOf(found, version) }));
}

/**
 * Writes what changed since the last push as a new version of the records that changed. Throws INVALID_REQUEST where the remote store
 * was filled from another LMDB, STORE_CORRUPT where a server lost what it had confirmed; LostWrites: begin again.
 */
export async function pushChanges(session: PushSession, head: Head, snapshot: Snapshot): Promise<PushReport> {
  const { state, source } = snapshot;
  if (
    source !== head.source ||
    state.nextAddress < head.state.nextAddress ||
    state.nextOrdinal < head.state.nextOrdinal
  )
    throw new AssayError(
      'INVALID_REQUEST',
      `The remote graph of ${session.options.chain} was pushed from another store, or from a newer state of this one. ` +
        'Push with --full to put this one in its place.',
    );
  const { generation, version } = head;
  if (await isCurrent(session, head, snapshot)) return session.report('unchanged', head, snapshot, null);
  await checkMarkers(session, head);
  const writer = await session.openWriter(generation, head.buckets);
  const next: NextVersion = { writer, version, keepMs: session.keepMs(head) };
  const sum = new Checksum(head);
  const changed = new Uint8Array((state.nextAddress >> 3) + 1);
  const mark = (node: number): void => {
    if (node > 0) changed[node >> 3] = (changed[node >> 3] as number) | (1 << (node & 7));
  };

  const compare = async (records: readonly LocalRecord[]): Promise<void> => {
    const stored = await session.readRemote(generation, records);
    for (const [at, record] of records.entries()) {
      const { name, value } = record;
      const bytes = stored[at] ?? null;
      const old = oldOf(bytes && unpackVersioned(bytes), version);
      if (old?.value.equals(value) !== true) {
        if (old) sum.remove(name, old.value);
        sum.add(name, value);
      }
      putNext(next, record, bytes);
    }
    if (writer.isFull) await writer.flush();
    await session.renew();
  };

  await pushNewLog(session, head, snapshot, { next, mark });
  for (let node = head.state.nextAddress; node < state.nextAddress; node++) mark(node);
  await pushNodes(session, head, snapshot, { changed, compare, sum, writer });
  // Only now: until all addresses are as they are here, a push that takes up this one must find who was in what was taken back.
  const first = Math.floor(head.openOrdinal / LOG_CHUNK_TRANSFERS);
  for (let from = first; from < snapshot.logChunks; from += LOG_AT_ONCE) {
    const until = Math.min(snapshot.logChunks, from + LOG_AT_ONCE);
    await compare(Array.from({ length: until - from }, (_, at) => snapshot.logChunk(from + at)));
  }
  const pages = Array.from({ length: snapshot.assetPages }, (_, page) => snapshot.assetPage(page));
  await compare([...pages, snapshot.blocks()]);
  await writer.flush();
  const made = await session.switchTo({ ...head, version: version + 1, snapshot, sum, writer });
  return session.report('changes', made, snapshot, writer);
}

/** Whether the remote store holds this very commit. */
async function isCurrent(session: PushSession, head: Head, snapshot: Snapshot): Promise<boolean> {
  if (JSON.stringify(snapshot.state) !== JSON.stringify(head.state)) return false;
  const blocks = snapshot.blocks();
  const [stored] = await session.readRemote(head.generation, [blocks]);
  const pushed = stored ? oldOf(unpackVersioned(stored), head.version) : null;
  return pushed?.value.equals(blocks.value) === true;
}

/** Throws STORE_CORRUPT where a server lost what was pushed before. */
async function checkMarkers(session: PushSession, { generation, version, buckets }: Head): Promise<void> {
  const places = Array.from({ length: buckets }, (_, bucket) => ({ bucket, name: NAMES.marker }));
  const found = await session.readRemote(generation, places);
  if (found.every((marker) => marker !== null && Number(marker.toString('latin1')) >= version)) return;
  throw new AssayError(
    'STORE_CORRUPT',
    `Servers lost parts of the graph of ${session.options.chain} that they had confirmed. Push it anew with --full.`,
  );
}

/**
 * Writes transfers that came, leaves those that were taken back for now, and marks the addresses of both: of every number of which
 * any of the states differ (here, in the version that is read, in what a push that was interrupted wrote).
 */
async function pushNewLog(
  session: PushSession,
  head: Head,
  snapshot: Snapshot,
  { next, mark }: { readonly next: NextVersion; readonly mark: (node: number) => void },
): Promise<void> {
  const { generation, version } = head;
  const { writer } = next;
  const first = Math.floor(head.openOrdinal / LOG_CHUNK_TRANSFERS);
  for (let from = first; from < snapshot.logChunks; from += LOG_AT_ONCE) {
    const until = Math.min(snapshot.logChunks, from + LOG_AT_ONCE);
    const locals = Array.from({ length: until - from }, (_, at) => snapshot.logChunk(from + at));
    const stored = await session.readRemote(generation, locals);
    for (const [at, { bucket, name, value }] of locals.entries()) {
      const bytes = stored[at] ?? null;
      const found = bytes === null ? null : unpackVersioned(bytes);
      const old = oldOf(found, version);
      const here = recordsIn(value);
      const there = recordsIn(found?.value);
      const before = recordsIn(old?.value);
      const joined: Buffer[] = [];
      for (let slot = 0; slot < Math.max(here.length, there.length, before.length); slot++) {
        const states = [here, there, before].map((records) => records[slot] ?? EMPTY_RECORD);
        const [now, held] = states as [Buffer, Buffer, Buffer];
        joined.push(now.length > EMPTY_RECORD.length ? now : held);
        if (states.every((state) => state.equals(now))) continue;
        for (const state of states) for (const party of partiesOf(state)) mark(party);
      }
      putNext(next, { bucket, name, value: Buffer.concat(joined) }, bytes);
    }
    if (writer.isFull) await writer.flush();
    await session.renew();
  }
  await writer.flush();
}

async function pushNodes(
  session: PushSession,
  head: Head,
  snapshot: Snapshot,
  deps: {
    readonly changed: Uint8Array;
    readonly compare: (records: readonly LocalRecord[]) => Promise<void>;
    readonly sum: Checksum;
    readonly writer: BucketWriter;
  },
): Promise<void> {
  const { changed, compare, sum, writer } = deps;
  const { nextAddress } = snapshot.state;
  let batch: number[] = [];
  const push = async (): Promise<void> => {
    const locals = batch.map((node) => snapshot.node(node));
    batch = [];
    const hubs = locals.flatMap((local) =>
      local.records.filter(({ name }) => local.hubs.has(name)).map((directory) => ({ local, directory })),
    );
    const stored = await session.readRemote(
      head.generation,
      hubs.map(({ directory }) => directory),
    );
    for (const [at, { local, directory }] of hubs.entries()) {
      const bytes = stored[at] ?? null;
      const found = bytes === null ? null : unpackVersioned(bytes);
      const known = [found, oldOf(found, head.version)].map((one) =>
        digestsIn(one?.value ?? Buffer.alloc(0)),
      );
      const chunks = (local.hubs.get(directory.name) ?? []).filter(({ firstId, digest }) =>
        known.some((digests) => digests.get(firstId) !== digest),
      );
      for (let from = 0; from < chunks.length; from += COMPARED_AT_ONCE)
        await compare(chunks.slice(from, from + COMPARED_AT_ONCE));
    }
    // Behind the chunks that they name.
    await compare(locals.flatMap(({ records }) => records));
  };
  for (let node = 1; node < nextAddress; node++) {
    const byte = changed[node >> 3] as number;
    if (byte === 0) {
      node |= 7;
      continue;
    }
    if ((byte & (1 << (node & 7))) === 0) continue;
    if (node >= head.state.nextAddress) {
      const { bucket, name, value } = snapshot.id(snapshot.node(node).key, node);
      writer.put(bucket, name, value);
      sum.add(name, value);
    }
    batch.push(node);
    if (batch.length < NODES_AT_ONCE) continue;
    await push();
    session.options.onProgress?.('changes', node, nextAddress - 1);
  }
  await push();
  await writer.flush();
}

/** What a record was at the version that is read, whatever an interrupted push wrote over it. */
const oldOf = (found: Versioned | null, version: number): Versioned['previous'] =>
  found === null || found.version <= version ? found : found.previous;
