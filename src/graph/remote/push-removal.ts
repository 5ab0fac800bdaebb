/**
 * Removes generations of a remote graph. Addresses name the records of their neighbours, so all records are found without a list of keys.
 */
import { LOG_CHUNK_TRANSFERS } from '../store/log.ts';
import { patiently } from './bucket-writer.ts';
import {
  APART,
  assetPageOf,
  bucketOfKey,
  bucketSlot,
  HUB,
  NAMES,
  unpackDirectory,
  unpackRemoteNode,
  unpackVersioned,
} from './layout.ts';
import { COMPARED_AT_ONCE, type OldGeneration, type PushSession } from './push-session.ts';

/**
 * Removes data that is no longer read: the generation before a full push, and abandoned pushes. Needs no lease: an abandoned generation is
 * never written again, and two concurrent removals of the same one have the effect of one.
 */
export async function removeOld(session: PushSession): Promise<void> {
  // The order matters: a generation is recorded as old before the head leaves it.
  const old = await session.oldGenerations();
  const head = await session.readHead();
  const begun = await session.get('push');
  // A generation can be recorded as old and still be resumable: its push was killed in between.
  const resumable = begun === null ? null : (JSON.parse(begun) as Pick<OldGeneration, 'generation'> | null);
  const inUse = [head?.generation, resumable?.generation];
  const gone = old.filter(({ generation }) => !inUse.includes(generation));
  if (gone.length === 0 || head === null) return;
  await session.waitForReaders(head.switchedMs);
  for (const each of gone) await remove(session, each);
  await session.forgetOld(new Set(gone.map(({ generation }) => generation)));
}

async function remove(session: PushSession, { generation, buckets, state }: OldGeneration): Promise<void> {
  const { chain, onProgress } = session.options;
  const unlink = async (
    records: readonly { readonly bucket: number; readonly name: string }[],
  ): Promise<void> => {
    const groups = new Map<number, string[]>();
    for (const { bucket, name } of records) {
      const keys = groups.get(bucket) ?? [];
      keys.push(session.redis.key(bucketSlot(chain, bucket), `${generation}:${name}`));
      groups.set(bucket, keys);
    }
    const { connection } = session.redis;
    await Promise.all(
      [...groups.values()].map((keys) =>
        patiently(() => session.redis.guard(connection.unlink(...keys)), session.patience),
      ),
    );
    await session.renew();
  };
  // First: readers of this generation then get an error, and do not see addresses as unknown.
  await unlink(Array.from({ length: buckets }, (_, bucket) => ({ bucket, name: NAMES.marker })));
  const { nextAddress } = state;
  for (let from = 1; from < nextAddress; from += COMPARED_AT_ONCE) {
    const until = Math.min(nextAddress, from + COMPARED_AT_ONCE);
    const places = Array.from({ length: until - from }, (_, at) => ({
      bucket: (from + at) % buckets,
      name: NAMES.node(from + at),
    }));
    const gone = [...places];
    const directories: { bucket: number; name: string; node: number; direction: number }[] = [];
    for (const [at, bytes] of (await session.readRemote(generation, places)).entries()) {
      if (bytes === null) continue;
      const { bucket } = places[at] as (typeof places)[number];
      const node = from + at;
      const { key, edges } = unpackRemoteNode(unpackVersioned(bytes).value);
      gone.push({ bucket: bucketOfKey(key, buckets), name: NAMES.id(key) });
      for (const [direction, { kind }] of edges.entries()) {
        if (kind === APART || kind === HUB) gone.push({ bucket, name: NAMES.chunk(node, direction, 0) });
        if (kind === HUB)
          directories.push({ bucket, name: NAMES.directory(node, direction), node, direction });
      }
    }
    const found = await session.readRemote(generation, directories);
    for (const [at, bytes] of found.entries()) {
      const { bucket, name, node, direction } = directories[at] as (typeof directories)[number];
      gone.push({ bucket, name });
      if (bytes === null) continue;
      for (const first of unpackDirectory(unpackVersioned(bytes).value))
        gone.push({ bucket, name: NAMES.chunk(node, direction, first) });
    }
    await unlink(gone);
    onProgress?.('remove', until, nextAddress);
  }
  const chunks = Math.ceil(state.nextOrdinal / LOG_CHUNK_TRANSFERS);
  for (let from = 0; from < chunks; from += COMPARED_AT_ONCE)
    await unlink(
      Array.from({ length: Math.min(chunks - from, COMPARED_AT_ONCE) }, (_, at) => ({
        bucket: (from + at) % buckets,
        name: NAMES.log(from + at),
      })),
    );
  const pages = assetPageOf(state.nextAsset) + 1;
  await unlink(
    Array.from({ length: pages }, (_, page) => ({ bucket: page % buckets, name: NAMES.assets(page) })),
  );
  await unlink([{ bucket: 0, name: NAMES.blocks }]);
}
