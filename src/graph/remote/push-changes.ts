/** A push of the changes since the last push. */
import { AssayError } from '../../base/errors.ts';
import { EMPTY_RECORD, LOG_CHUNK_TRANSFERS, partiesOf, recordsIn } from '../store/log.ts';
import { packChunk } from '../store/log-chunk.ts';
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

/** Addresses checked for changes per batch. */
const NODES_AT_ONCE = 256;
/** Log chunks compared per batch. */
const LOG_AT_ONCE = 1_024;

/** The version that a push writes: the current version plus one. */
interface NextVersion {
  readonly writer: BucketWriter;
  /** The version that readers use. */
  readonly version: number;
  /** Milliseconds for which readers may still need earlier versions. Null if none can need one. */
  readonly keepMs: number | null;
}

/**
 * Puts the next version of a record if it differs from the stored one. A record carries two versions. If readers may need a third one, the
 * stored bytes are first copied to a key of their own.
 */
function putNext(
  { writer, version, keepMs }: NextVersion,
  { bucket, name, value }: LocalRecord,
  stored: Buffer | null,
): void {
  const found = stored === null ? null : unpackVersioned(stored);
  if (found?.value.equals(value)) return;
  // A record of an interrupted push carries the version that readers use. That push already copied the version before it.
  if (stored && found?.previous && found.version <= version && keepMs !== null)
    writer.put(bucket, NAMES.earlier(name, found.version), stored, keepMs);
  writer.put(bucket, name, packVersioned({ version: version + 1, value, previous: oldOf(found, version) }));
}

/**
 * Writes the records that changed since the last push as a new version.
 *
 * @throws INVALID_REQUEST if the remote store was filled from another LMDB
 * @throws STORE_CORRUPT if a server lost confirmed data
 * @throws LostWrites if the push must restart
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
        'Push with --full to replace it.',
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
  // Not earlier: until all addresses are up to date, a push that resumes this one must find the parties of reverted transfers.
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

/** Returns true if the remote store holds this exact commit. */
async function isCurrent(session: PushSession, head: Head, snapshot: Snapshot): Promise<boolean> {
  if (JSON.stringify(snapshot.state) !== JSON.stringify(head.state)) return false;
  const blocks = snapshot.blocks();
  const [stored] = await session.readRemote(head.generation, [blocks]);
  const pushed = stored ? oldOf(unpackVersioned(stored), head.version) : null;
  return pushed?.value.equals(blocks.value) === true;
}

/** Throws STORE_CORRUPT if a server lost data of an earlier push. */
async function checkMarkers(session: PushSession, { generation, version, buckets }: Head): Promise<void> {
  const places = Array.from({ length: buckets }, (_, bucket) => ({ bucket, name: NAMES.marker }));
  const found = await session.readRemote(generation, places);
  if (found.every((marker) => marker !== null && Number(marker.toString('latin1')) >= version)) return;
  throw new AssayError(
    'STORE_CORRUPT',
    `Servers lost parts of the graph of ${session.options.chain} that they had acknowledged. Push it again with --full.`,
  );
}

/**
 * Writes new transfers, leaves reverted ones in place for now, and marks the addresses of both. It marks the parties of every transfer
 * number that differs in any of three states: the local store, the current remote version, and the data of an interrupted push.
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
      putNext(next, { bucket, name, value: Buffer.from(packChunk(Buffer.concat(joined))) }, bytes);
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
    // After the chunks that they refer to.
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

/** The record at the version that readers use, even if an interrupted push wrote over it. */
const oldOf = (found: Versioned | null, version: number): Versioned['previous'] =>
  found === null || found.version <= version ? found : found.previous;
