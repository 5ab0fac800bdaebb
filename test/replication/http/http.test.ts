import { createServer, type RequestListener, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { silentLogger } from '../../../src/base/log.ts';
import { listenForNodes, type SnapshotListener } from '../../../src/replication/http/listener.ts';
import { openHttpSource } from '../../../src/replication/http/source.ts';
import { openPublisher, type Published, type Publisher } from '../../../src/replication/publish.ts';
import { openPuller, type Pulled } from '../../../src/replication/pull.ts';
import { type ClusterKeys, clusterKeys } from '../../../src/replication/release.ts';
import type { ReleaseSource } from '../../../src/replication/source.ts';
import { ADDRESS, makeWorld, type Node, type World } from '../world.ts';

const KEYS = clusterKeys('a secret of the cluster');
const never = new AbortController().signal;

let world: World;
let a: Node;
let b: Node;
let publisher: Publisher;
let listener: SnapshotListener;
const closing: (() => Promise<unknown>)[] = [];
beforeEach(async () => {
  world = makeWorld();
  a = world.node('a');
  b = world.node('b');
  publisher = openPublisher({ dataDir: a.dataDir, keys: KEYS }, { clock: a.clock, log: silentLogger });
  listener = await listenForNodes(
    { host: '127.0.0.1', port: 0, keys: KEYS },
    { publisher, log: silentLogger },
  );
  closing.push(() => listener.close());
});
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
  world.end();
});

async function publish(labels: Readonly<Record<string, string>>): Promise<Published> {
  await a.build(labels);
  await publisher.capture();
  listener.published();
  if (publisher.current === null) throw new Error('nothing is published');
  return publisher.current;
}

function sourceOf(url: string, keys: ClusterKeys | null = KEYS): ReleaseSource {
  const source = openHttpSource({ url, keys });
  closing.push(() => source.close());
  return source;
}

async function pull(source: ReleaseSource): Promise<Pulled> {
  const puller = openPuller(
    { dataDir: b.dataDir, keys: KEYS, retryWaitsMs: [0, 0, 0] },
    { clock: b.clock, log: silentLogger },
  );
  const latest = await source.latest(null, 0, never);
  if (latest.state !== 'new') throw new Error(latest.state);
  return puller.pull(puller.read(latest.envelope, source), source, never);
}

/** Starts a server in front of the listener that `handle` controls. */
async function inFront(handle: (pass: RequestListener) => RequestListener): Promise<string> {
  const pass: RequestListener = (incoming, outgoing) => {
    const { method, url, headers } = incoming;
    request(new URL(url ?? '/', listener.url), { method, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
      answer.pipe(outgoing);
    }).end();
  };
  const server: Server = createServer(handle(pass));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(() => {
    server.closeAllConnections();
    return new Promise((resolve) => server.close(resolve));
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const get = (path: string, headers: Readonly<Record<string, string>> = {}): Promise<Response> =>
  fetch(new URL(path, listener.url), { headers: { authorization: `Bearer ${KEYS.reader}`, ...headers } });

describe('the listener', () => {
  it('returns nothing without the cluster secret', async () => {
    const { release } = await publish({ [ADDRESS(1)]: 'one' });
    const file = `/snapshot/files/${release.files[0]?.sha256}`;
    for (const authorization of ['', 'Bearer x', `Bearer ${KEYS.reader}0`, 'Bearer a secret of the cluster'])
      for (const path of ['/snapshot', file, '/nothing'])
        expect((await get(path, { authorization })).status, `${authorization} ${path}`).toBe(401);
    expect((await get('/health', { authorization: '' })).status).toBe(200);
    await expect(sourceOf(listener.url, null).latest(null, 0, never)).rejects.toThrow('ASSAY_CLUSTER_SECRET');
  });

  it('serves files of releases with ranges, and no other files', async () => {
    const { release } = await publish({ [ADDRESS(1)]: 'one' });
    const { sha256, bytes } = release.files.find(({ path }) => path === 'labels/labels.mdb') ?? {
      sha256: '',
      bytes: 0,
    };
    const path = `/snapshot/files/${sha256}`;
    const whole = await get(path);
    expect([whole.status, whole.headers.get('etag')]).toEqual([200, `"${sha256}"`]);
    const body = Buffer.from(await whole.arrayBuffer());
    expect(body).toHaveLength(bytes);
    for (const [range, from, to] of [
      ['bytes=0-0', 0, 0],
      ['bytes=100-', 100, bytes - 1],
      [`bytes=100-${bytes + 50}`, 100, bytes - 1],
    ] as const) {
      const part = await get(path, { range });
      expect(part.status).toBe(206);
      expect(part.headers.get('content-range')).toBe(`bytes ${from}-${to}/${bytes}`);
      expect(Buffer.from(await part.arrayBuffer()).equals(body.subarray(from, to + 1))).toBe(true);
    }
    for (const range of [`bytes=${bytes}-`, 'bytes=9-3'])
      expect((await get(path, { range })).status).toBe(416);
    for (const other of ['/snapshot/files/../releases.json', `${path}0`, '/snapshot/files/', '/'])
      expect((await get(other)).status).toBe(404);
    expect((await get(`/snapshot/files/${'0'.repeat(64)}`)).status).toBe(404);
    expect((await fetch(new URL('/snapshot', listener.url), { method: 'POST' })).status).toBe(401);
  });

  it('answers a long poll when a release is published', async () => {
    const source = sourceOf(listener.url);
    expect(await source.latest(null, 0, never)).toEqual({ state: 'none' });
    const first = source.latest(null, 20_000, never);
    await publish({ [ADDRESS(1)]: 'one' });
    const one = await first;
    if (one.state !== 'new') throw new Error(one.state);
    expect(await source.latest(one.tag, 0, never)).toEqual({ state: 'unchanged' });
    const second = source.latest(one.tag, 20_000, never);
    await publish({ [ADDRESS(1)]: 'two' });
    expect((await second).state).toBe('new');
  });
});

describe('a pull over HTTP', () => {
  it('swaps to each published release', async () => {
    const source = sourceOf(`${listener.url}`);
    await publish({ [ADDRESS(1)]: 'one' });
    expect((await pull(source)).swapped).toBe(true);
    expect(b.answers().entityOf(ADDRESS(1))).toBe('one');
    expect(await pull(source)).toMatchObject({ swapped: false, fetchedBytes: 0 });
    await publish({ [ADDRESS(1)]: 'two' });
    await pull(source);
    expect(b.answers().entityOf(ADDRESS(1))).toBe('two');
  });

  it('resumes with ranges if connections are cut', async () => {
    const { release } = await publish({ [ADDRESS(1)]: 'one' });
    const ranges: string[] = [];
    const url = await inFront((pass) => (incoming, outgoing) => {
      if (incoming.url?.includes('/files/') !== true) return pass(incoming, outgoing);
      ranges.push(incoming.headers.range ?? '-');
      request(new URL(incoming.url, listener.url), { headers: incoming.headers }, (answer) => {
        outgoing.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.once('data', (chunk: Buffer) => {
          answer.destroy();
          outgoing.write(chunk.subarray(0, 9_000), () => outgoing.destroy());
        });
        answer.on('end', () => outgoing.end());
        answer.on('error', () => {});
      }).end();
    });
    await pull(sourceOf(url));
    expect(ranges).toContain('bytes=9000-');
    expect(ranges).toContain('bytes=18000-');
    expect(ranges.length).toBeGreaterThan(release.files.length);
    expect(b.answers().entityOf(ADDRESS(1))).toBe('one');
  });

  it('rejects changed bytes, and a release with another signature', async () => {
    await publish({ [ADDRESS(1)]: 'one' });
    const changed = await inFront((pass) => (incoming, outgoing) => {
      if (incoming.url?.includes('/files/') !== true) return pass(incoming, outgoing);
      outgoing.writeHead(200).end(Buffer.alloc(8_192, 7));
    });
    await expect(pull(sourceOf(changed))).rejects.toMatchObject({ code: 'SOURCE_UNAVAILABLE' });
    const forged = await inFront(() => (_incoming, outgoing) => {
      outgoing.writeHead(200).end(
        Buffer.from(publisher.current?.envelope ?? '')
          .toString()
          .replace('one', 'two')
          // One signature in 256 begins with the digits that replace its first ones.
          .replace(/"signature":"(..)/, (_, digits) => `"signature":"${digits === '00' ? '11' : '00'}`),
      );
    });
    await expect(pull(sourceOf(forged))).rejects.toThrow('not signed');
    expect(() => b.answers()).toThrow('There is no label index');
  });

  it('rejects an endless response, and one of another kind', async () => {
    const page = await inFront(() => (_incoming, outgoing) => void outgoing.end('<html>maintenance</html>'));
    await expect(pull(sourceOf(page))).rejects.toThrow('is not a release');
    const endless = await inFront(() => (_incoming, outgoing) => {
      const chunk = Buffer.alloc(1 << 20, 0x61);
      const pump = (): void => {
        while (!outgoing.destroyed && outgoing.write(chunk));
        outgoing.once('drain', pump);
      };
      pump();
    });
    await expect(pull(sourceOf(endless))).rejects.toThrow('larger than');
    const away = await inFront(() => (incoming) => void incoming.socket.destroy());
    await expect(pull(sourceOf(away))).rejects.toMatchObject({ code: 'SOURCE_UNAVAILABLE' });
  });
});
