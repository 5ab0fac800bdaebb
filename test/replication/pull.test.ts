import { readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { silentLogger } from '../../src/base/log.ts';
import { buildLabelIndex } from '../../src/labels/build-index.ts';
import { snapshotsFolderOf } from '../../src/labels/folders.ts';
import { openPublisher, type Publisher } from '../../src/replication/publish.ts';
import { openPuller, type Puller } from '../../src/replication/pull.ts';
import {
  clusterKeys,
  makeRelease,
  openRelease,
  type Release,
  signRelease,
} from '../../src/replication/release.ts';
import { type ReleaseSource, SourceFault } from '../../src/replication/source.ts';
import { ADDRESS, makeWorld, type Node, type World } from './world.ts';

let world: World;
let a: Node;
let b: Node;
beforeEach(() => {
  world = makeWorld();
  a = world.node('a');
  b = world.node('b');
});
afterEach(() => world.end());

const publisherOf = (node: Node): Publisher =>
  openPublisher({ dataDir: node.dataDir, keys: null }, { clock: node.clock, log: silentLogger });

const pullerOf = (node: Node): Puller =>
  openPuller(
    { dataDir: node.dataDir, keys: null, retryWaitsMs: [0, 0, 0] },
    { clock: node.clock, log: silentLogger },
  );

/** Reads directly from the publisher's folder; `spoil` may cut, change or refuse the data. */
function sourceOf(
  publisher: Publisher,
  spoil: (bytes: Buffer, path: string, from: number) => Iterable<Uint8Array> = (bytes) => [bytes],
): ReleaseSource & { readonly reads: { path: string; from: number }[] } {
  const reads: { path: string; from: number }[] = [];
  return {
    name: 'test',
    pollMs: 1,
    reads,
    latest: async () =>
      publisher.current === null
        ? { state: 'none' }
        : { state: 'new', envelope: publisher.current.envelope, tag: null },
    async read(file, from) {
      reads.push({ path: file.path, from });
      const bytes = readFileSync(publisher.blobs.path(file.sha256)).subarray(from);
      return (async function* () {
        yield* spoil(bytes, file.path, from);
      })();
    },
    close: async () => {},
  };
}

const never = new AbortController().signal;

const current = (publisher: Publisher): Release => {
  if (publisher.current === null) throw new Error('nothing is published');
  return publisher.current.release;
};

describe('a node that pulls', () => {
  it('gets an index of several partitions, and then one of a single partition again', async () => {
    const labels = Object.fromEntries(
      Array.from({ length: 9 }, (_, at) => [ADDRESS(at + 1), `entity ${at}`]),
    );
    await a.build(labels);
    const folder = snapshotsFolderOf(a.dataDir);
    const { meta } = await buildLabelIndex(
      { snapshotsFolder: folder, force: true, partitionLabels: 3 },
      a.deps,
    );
    const publisher = publisherOf(a);
    await publisher.capture();
    const release = current(publisher);
    expect(release.formats.labels).toBe(2);
    expect(release.files.filter(({ path }) => /labels-\d\.mdb$/.test(path))).toHaveLength(4);
    await pullerOf(b).pull(current(publisher), sourceOf(publisher), never);
    const { dataVersion, entityOf } = b.answers();
    expect(dataVersion).toBe(meta?.dataVersion);
    expect(entityOf(ADDRESS(9))).toBe('entity-8');

    await a.build({ [ADDRESS(1)]: 'alone' });
    await publisher.capture();
    await pullerOf(b).pull(current(publisher), sourceOf(publisher), never);
    expect(b.answers().entityOf(ADDRESS(1))).toBe('alone');
  });

  it('returns the same data as the publisher: labels, list dates, names, registers', async () => {
    const version = await a.build({ [ADDRESS(1)]: 'one' });
    a.checked('2026-11-21T08:00:00.000Z');
    await a.buildNames();
    await a.importRegister('Hash Blockchain Limited');
    const publisher = publisherOf(a);
    expect(await publisher.capture()).toBe(true);
    const pulled = await pullerOf(b).pull(current(publisher), sourceOf(publisher), never);
    expect(pulled.swapped).toBe(true);
    const there = b.answers();
    expect(there.dataVersion).toBe(version);
    expect(there.entityOf(ADDRESS(1))).toBe('one');
    expect(there.freshness).toEqual(a.answers().freshness);
    expect(there.freshness.lists.OFAC_SDN?.checkedAt).toBe('2026-11-21T08:00:00.000Z');
    expect(b.nameLists()).toEqual(a.nameLists());
    expect(b.nameLists().length).toBeGreaterThan(0);
    expect(b.registers()).toEqual(a.registers());
    expect(b.registers().join()).toContain('Hash Blockchain');
  });

  it('fetches only changed files, and keeps the others in force', async () => {
    await a.build({ [ADDRESS(1)]: 'one' });
    a.checked('2026-11-21T08:00:00.000Z');
    await a.importRegister('First Limited');
    const publisher = publisherOf(a);
    await publisher.capture();
    const puller = pullerOf(b);
    await puller.pull(current(publisher), sourceOf(publisher), never);
    const snapshots = readdirSync(join(b.dataDir, 'snapshots')).sort();
    a.checked('2026-11-21T09:00:00.000Z');
    expect(await publisher.capture()).toBe(true);
    const source = sourceOf(publisher);
    await puller.pull(current(publisher), source, never);
    expect(source.reads.map(({ path }) => path)).toEqual(['labels/freshness.json']);
    expect(readdirSync(join(b.dataDir, 'snapshots')).sort()).toEqual(snapshots);
    expect(b.answers().freshness.lists.OFAC_SDN?.checkedAt).toBe('2026-11-21T09:00:00.000Z');
    await a.importRegister('Second Limited');
    await publisher.capture();
    await puller.pull(current(publisher), source, never);
    expect(b.registers()).toEqual(a.registers());
    // If nothing changed, a second capture is the same release.
    rmSync(join(a.dataDir, 'travel', 'published', 'releases.json'));
    const again = publisherOf(a);
    await again.capture();
    expect(current(again).id).toBe(current(publisher).id);
  });

  it('resumes after a broken connection, also in another process', async () => {
    await a.build({ [ADDRESS(1)]: 'one' });
    const publisher = publisherOf(a);
    await publisher.capture();
    const cut = sourceOf(publisher, function* (bytes, path) {
      if (path !== 'labels/labels.mdb') return yield bytes;
      yield bytes.subarray(0, 10_000);
      throw new SourceFault('cut');
    });
    // Every attempt gets 10,000 bytes further, so it never gives up.
    await pullerOf(b).pull(current(publisher), cut, never);
    const froms = cut.reads.filter(({ path }) => path === 'labels/labels.mdb').map(({ from }) => from);
    expect(froms.length).toBeGreaterThan(3);
    expect(froms).toEqual(froms.map((_, at) => at * 10_000));
    expect(b.answers().entityOf(ADDRESS(1))).toBe('one');

    await a.build({ [ADDRESS(1)]: 'two' });
    await publisher.capture();
    const stopping = new AbortController();
    const stopped = sourceOf(publisher, function* (bytes, path) {
      if (path !== 'labels/labels.mdb') return yield bytes;
      yield bytes.subarray(0, 12_345);
      stopping.abort(new Error('stopped'));
      throw new Error('unreachable: the signal comes first');
    });
    await expect(pullerOf(b).pull(current(publisher), stopped, stopping.signal)).rejects.toThrow('stopped');
    expect(b.answers().entityOf(ADDRESS(1))).toBe('one');
    const source = sourceOf(publisher);
    const pulled = await pullerOf(b).pull(current(publisher), source, never);
    expect(source.reads).toEqual([{ path: 'labels/labels.mdb', from: 12_345 }]);
    const whole = current(publisher).files.find(({ path }) => path === 'labels/labels.mdb')?.bytes ?? 0;
    expect(pulled.fetchedBytes).toBe(whole - 12_345);
    expect(b.answers().entityOf(ADDRESS(1))).toBe('two');
    expect(readdirSync(join(b.dataDir, 'travel', 'pulled', 'partial'))).toEqual([]);
  });

  it('rejects a flipped byte twice, and keeps the release in force', async () => {
    await a.build({ [ADDRESS(1)]: 'one' });
    const publisher = publisherOf(a);
    await publisher.capture();
    await pullerOf(b).pull(current(publisher), sourceOf(publisher), never);
    await a.build({ [ADDRESS(1)]: 'two' });
    await publisher.capture();
    const flipped = sourceOf(publisher, (bytes, path) => {
      const copy = Buffer.from(bytes);
      if (path === 'labels/labels.mdb') copy[5_000] = (copy[5_000] as number) ^ 1;
      return [copy];
    });
    await expect(pullerOf(b).pull(current(publisher), flipped, never)).rejects.toMatchObject({
      code: 'SOURCE_UNAVAILABLE',
      message: expect.stringContaining('checksum'),
    });
    expect(flipped.reads.filter(({ path }) => path === 'labels/labels.mdb')).toHaveLength(2);
    expect(b.answers().entityOf(ADDRESS(1))).toBe('one');
    // A file with one bit flipped in transit is fetched again.
    let times = 0;
    const once = sourceOf(publisher, (bytes, path) => {
      const copy = Buffer.from(bytes);
      if (path === 'labels/labels.mdb' && times++ === 0) copy[5_000] = (copy[5_000] as number) ^ 1;
      return [copy];
    });
    await pullerOf(b).pull(current(publisher), once, never);
    expect(b.answers().entityOf(ADDRESS(1))).toBe('two');
  });

  it('reads no more bytes than announced, and fails if its source only fails', async () => {
    await a.build({ [ADDRESS(1)]: 'one' });
    const publisher = publisherOf(a);
    await publisher.capture();
    const endless = sourceOf(publisher, function* () {
      for (;;) yield Buffer.alloc(1 << 20);
    });
    await expect(pullerOf(b).pull(current(publisher), endless, never)).rejects.toThrow('more than');
    const dead = sourceOf(publisher, function* () {
      yield* [];
      throw new SourceFault('HTTP 502');
    });
    await expect(pullerOf(world.node('c')).pull(current(publisher), dead, never)).rejects.toThrow('HTTP 502');
    expect(dead.reads).toHaveLength(4);
  });

  it('keeps one snapshot and the files of one release', async () => {
    const publisher = publisherOf(a);
    const puller = pullerOf(b);
    for (const name of ['one', 'two', 'three', 'four']) {
      await a.build({ [ADDRESS(1)]: name });
      world.now += 1_000;
      await publisher.capture();
      await puller.pull(current(publisher), sourceOf(publisher), never);
    }
    const snapshots = readdirSync(join(b.dataDir, 'snapshots')).filter((name) =>
      name.startsWith('snapshot-'),
    );
    expect(snapshots).toHaveLength(1);
    const kept = readdirSync(join(b.dataDir, 'travel', 'pulled', 'files'));
    expect(kept).toHaveLength(new Set(current(publisher).files.map((file) => file.sha256)).size);
    // On one file system they are the same bytes, not a copy.
    const mdb = current(publisher).files.find(({ path }) => path === 'labels/labels.mdb')?.sha256 ?? '';
    const inode = (path: string): number => statSync(path).ino;
    expect(inode(join(b.dataDir, 'travel', 'pulled', 'files', mdb))).toBe(
      inode(join(b.dataDir, 'snapshots', snapshots[0] as string, 'labels.mdb')),
    );
    // The publisher keeps the earlier release for nodes that are still fetching it.
    const published = readdirSync(join(a.dataDir, 'travel', 'published', 'files'));
    expect(published.length).toBeGreaterThan(kept.length);
    expect(published.length).toBeLessThanOrEqual(2 * kept.length);
  });
});

describe('a publisher', () => {
  it('publishes nothing before the first snapshot or during a refresh', async () => {
    const publisher = publisherOf(a);
    expect(await publisher.capture()).toBe(false);
    await a.build({ [ADDRESS(1)]: 'one' });
    const lock = join(a.dataDir, 'labels', 'REFRESH_LOCK');
    writeFileSync(lock, JSON.stringify({ pid: process.pid, started: '' }));
    expect(await publisher.capture()).toBe(false);
    // The lock of a refresh that died blocks nothing.
    writeFileSync(lock, JSON.stringify({ pid: 2 ** 30, started: '1' }));
    expect(await publisher.capture()).toBe(true);
    expect(await publisher.capture()).toBe(false);
  });

  it('restores its releases after a restart', async () => {
    await a.build({ [ADDRESS(1)]: 'one' });
    const publisher = publisherOf(a);
    await publisher.capture();
    const { id } = current(publisher);
    expect(current(publisherOf(a)).id).toBe(id);
    // If the files of a release are gone, it is not used.
    for (const name of readdirSync(publisher.blobs.folder)) rmSync(join(publisher.blobs.folder, name));
    const lost = publisherOf(a);
    expect(lost.current).toBeNull();
    expect(await lost.capture()).toBe(true);
    expect(current(lost).id).toBe(id);
    // Nor is a release of another version of the program, or other data in that file.
    const kept = join(publisher.blobs.folder, '..', 'releases.json');
    for (const written of [JSON.stringify([{ ...current(lost), format: 99 }]), '{}']) {
      writeFileSync(kept, written);
      const other = publisherOf(a);
      expect(other.current).toBeNull();
      expect(await other.capture()).toBe(true);
      expect(current(other).id).toBe(id);
    }
  });
});

describe('an envelope', () => {
  const keys = clusterKeys('a secret of the cluster');
  const made = async (): Promise<Release> => {
    await a.build({ [ADDRESS(1)]: 'one' });
    const publisher = publisherOf(a);
    await publisher.capture();
    return current(publisher);
  };
  const refused = (bytes: Uint8Array, why: RegExp, used: typeof keys | null = null): void =>
    expect(() => openRelease(bytes, used, 'there')).toThrow(why);

  it('is accepted if it was signed with the same secret', async () => {
    const release = await made();
    expect(openRelease(signRelease(release, keys), keys, 'there')).toEqual(release);
    refused(signRelease(release, clusterKeys('another secret')), /not signed/, keys);
    refused(signRelease(release, null), /not signed/, keys);
    // Readers present another key than the one that signs.
    expect(keys.reader).not.toBe(keys.signing.toString('hex'));
  });

  it('is rejected if it names a path that is not replicated, or does not match its id', async () => {
    const release = await made();
    const [first] = release.files;
    const withFile = (file: object): Buffer =>
      signRelease({ ...release, files: [...release.files, { ...first, ...file }] } as Release, null);
    for (const path of [
      '../keys.mdb',
      'labels/../../x',
      'accounts/keys.mdb',
      'names/index/../x',
      '/etc/passwd',
      'names/index/..',
      'registers/states/a/b',
    ])
      refused(withFile({ path }), /damaged/);
    refused(withFile({ path: 'names/index/x', bytes: -1 }), /damaged/);
    refused(withFile({ path: 'names/index/x', bytes: 1e15 }), /damaged/);
    refused(withFile({ path: 'names/index/x', sha256: 'zz' }), /damaged/);
    refused(withFile({}), /damaged/);
    refused(withFile({ path: 'names/index/x' }), /its own id/);
    refused(signRelease({ ...release, format: 2 }, null), /format 2/);
    refused(Buffer.from('<html>'), /not a release/);
    refused(Buffer.alloc(5 << 20), /larger/);
  });

  it('with an unknown format changes nothing', async () => {
    const release = await made();
    const newer = makeRelease({ ...release, formats: { labels: 999, names: null } });
    const puller = pullerOf(b);
    const source = sourceOf(publisherOf(a));
    expect(() => puller.read(signRelease(newer, null), source)).toThrow(/format 999/);
  });
});
