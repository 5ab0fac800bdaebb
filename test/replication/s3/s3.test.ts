import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { silentLogger } from '../../../src/base/log.ts';
import { openPublisher, type Published, type Publisher } from '../../../src/replication/publish.ts';
import { openPuller } from '../../../src/replication/pull.ts';
import { openS3, type S3Client } from '../../../src/replication/s3/client.ts';
import { openS3Source } from '../../../src/replication/s3/source.ts';
import {
  openReleaseStore,
  type ReleaseStore,
  type UploadOptions,
} from '../../../src/replication/s3/store.ts';
import type { S3Place } from '../../../src/state/snapshot-places.ts';
import { S3_KEY, type S3Server, startS3Server } from '../../setup/s3-server.ts';
import { ADDRESS, makeWorld, type Node, type World } from '../world.ts';

let server: S3Server;
beforeAll(async () => {
  server = await startS3Server('assay-bucket');
});
afterAll(() => server.close());

let world: World;
let a: Node;
let b: Node;
let client: S3Client;
let prefixes = 0;
beforeEach(() => {
  world = makeWorld();
  a = world.node('a');
  b = world.node('b');
  client = openS3(place(), { clock: systemClock });
  server.requests.length = 0;
});
afterEach(async () => {
  server.fault = null;
  await client.close();
  world.end();
});

/** A prefix of its own for every test. */
const place = (secret: string = S3_KEY.secret): S3Place => ({
  bucket: 'assay-bucket',
  prefix: `nodes/test ${prefixes++}`.replace(' ', '-'),
  endpoint: server.endpoint,
  region: S3_KEY.region,
  credentials: { accessKeyId: S3_KEY.id, secretAccessKey: secret, sessionToken: null },
});

const publisherOf = (node: Node): Publisher =>
  openPublisher({ dataDir: node.dataDir, keys: null }, { clock: node.clock, log: silentLogger });

const storeOf = (options: Partial<UploadOptions> = {}, to: S3Client = client): ReleaseStore =>
  openReleaseStore(
    to,
    { folder: join(a.dataDir, 'travel', 'uploads'), retryWaitsMs: [0, 0, 0], ...options },
    { log: silentLogger },
  );

const current = (publisher: Publisher): Published => {
  if (publisher.current === null) throw new Error('nothing is published');
  return publisher.current;
};

const never = new AbortController().signal;

async function publish(labels: Readonly<Record<string, string>>, store: ReleaseStore): Promise<Publisher> {
  await a.build(labels);
  const publisher = publisherOf(a);
  await publisher.capture();
  await store.put(current(publisher), publisher.blobs, never);
  return publisher;
}

async function pull(): Promise<number> {
  const source = openS3Source(client);
  const puller = openPuller(
    { dataDir: b.dataDir, keys: null, retryWaitsMs: [0, 0, 0] },
    { clock: b.clock, log: silentLogger },
  );
  const latest = await source.latest(null, 0, never);
  if (latest.state !== 'new') throw new Error(latest.state);
  expect(await source.latest(latest.tag, 0, never)).toEqual({ state: 'unchanged' });
  return (await puller.pull(puller.read(latest.envelope, source), source, never)).fetchedBytes;
}

const puts = (): string[] =>
  server.requests.filter((line) => line.startsWith('PUT ')).map((line) => line.split('/').at(-1) as string);

describe('an object store', () => {
  it('replicates a release, and writes the pointer last', async () => {
    expect(await openS3Source(client).latest(null, 0, never)).toEqual({ state: 'none' });
    await publish({ [ADDRESS(1)]: 'one' }, storeOf());
    expect(puts().at(-1)).toBe('latest.json');
    await pull();
    expect(b.answers().entityOf(ADDRESS(1))).toBe('one');
    expect(b.answers().dataVersion).toBe(a.answers().dataVersion);
  });

  it('receives each missing file once', async () => {
    const store = storeOf();
    const publisher = await publish({ [ADDRESS(1)]: 'one' }, store);
    server.requests.length = 0;
    a.checked('2026-11-21T09:00:00.000Z');
    await publisher.capture();
    const { bytes } = await store.put(current(publisher), publisher.blobs, never);
    expect(bytes).toBeLessThan(1_000);
    expect(puts().filter((name) => name.length === 64)).toHaveLength(1);
    // Another publisher of the same state finds all of it there.
    server.requests.length = 0;
    expect((await storeOf().put(current(publisher), publisher.blobs, never)).bytes).toBe(0);
  });

  it('receives large files in parts, and resumes after a stop', async () => {
    // A fifth of what S3 requires; the server of the test takes any size.
    const partBytes = 1024 * 1024;
    // Enough labels for a file of more than two parts.
    const labels = Object.fromEntries(
      Array.from({ length: 30_000 }, (_, n) => [ADDRESS(n + 1), `entity-${n % 50}`]),
    );
    const stopping = new AbortController();
    await a.build(labels);
    const publisher = publisherOf(a);
    await publisher.capture();
    server.fault = (method, path) => {
      if (method === 'PUT' && path.includes('partNumber=2')) stopping.abort(new Error('stopped'));
      return null;
    };
    const store = storeOf({ partBytes });
    await expect(store.put(current(publisher), publisher.blobs, stopping.signal)).rejects.toThrow('stopped');
    expect(await openS3Source(client).latest(null, 0, never)).toEqual({ state: 'none' });
    server.fault = null;
    server.requests.length = 0;
    await storeOf({ partBytes }).put(current(publisher), publisher.blobs, never);
    const parts = server.requests.filter((line) => line.includes('partNumber='));
    expect(parts.length).toBeGreaterThan(0);
    expect(parts.join()).not.toContain('partNumber=1&');
    expect(server.requests.join()).not.toContain('uploads=');
    await pull();
    expect(b.answers().entityOf(ADDRESS(30_000))).toBe('entity-49');
    expect(readdirSync(join(a.dataDir, 'travel', 'uploads'))).toEqual([]);
  });

  it('may be slow, cut responses and fail temporarily', async () => {
    let asked = 0;
    server.fault = () => (asked++ % 3 === 0 ? { status: 503 } : null);
    await publish({ [ADDRESS(1)]: 'one' }, storeOf());
    server.fault = (_method, path) =>
      path.includes('/files/') ? (asked++ % 2 === 0 ? { status: 500 } : { cutAfter: 20_000 }) : null;
    await pull();
    expect(b.answers().entityOf(ADDRESS(1))).toBe('one');
    server.fault = () => ({ status: 503 });
    await expect(publish({ [ADDRESS(1)]: 'two' }, storeOf())).rejects.toMatchObject({
      code: 'SOURCE_UNAVAILABLE',
    });
  });

  it('rejects another key, and the error contains no secret', async () => {
    const other = openS3(place('another+secret'), { clock: systemClock });
    try {
      const failure = openS3Source(other).latest(null, 0, never);
      await expect(failure).rejects.toMatchObject({
        message: expect.stringContaining('SignatureDoesNotMatch'),
      });
      await expect(failure).rejects.not.toThrow('another+secret');
    } finally {
      await other.close();
    }
  });

  it('keeps a few releases, and deletes files of no kept release', async () => {
    const store = storeOf({ kept: 2 });
    const first = await publish({ [ADDRESS(1)]: 'one' }, store);
    const oldest = current(first).release;
    for (const name of ['two', 'three']) await publish({ [ADDRESS(1)]: name }, store);
    const deleted = server.requests.filter((line) => line.startsWith('DELETE')).join();
    expect(deleted).toContain(`releases/${oldest.id}.json`);
    expect(deleted).toContain(oldest.files.find(({ path }) => path === 'labels/labels.mdb')?.sha256);
    await pull();
    expect(b.answers().entityOf(ADDRESS(1))).toBe('three');
  });
});
