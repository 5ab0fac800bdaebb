import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { silentLogger } from '../../src/base/log.ts';
import { parseAddress } from '../../src/chains/address/parse.ts';
import { snapshotsFolderOf } from '../../src/labels/folders.ts';
import { openSnapshotSet } from '../../src/labels/index/snapshot-set.ts';
import {
  type ReplicationEvent,
  type ReplicationSettings,
  type Replicator,
  startReplication,
} from '../../src/replication/follow.ts';
import { tooFarBehind } from '../../src/replication/replication.ts';
import { S3_KEY, type S3Server, startS3Server } from '../setup/s3-server.ts';
import { ADDRESS, makeWorld, NOW, type Node, type World } from './world.ts';

let world: World;
let a: Node;
let b: Node;
const running: Replicator[] = [];
beforeEach(() => {
  world = makeWorld();
  a = world.node('a');
  b = world.node('b');
});
afterEach(async () => {
  for (const one of running.splice(0)) await one.stop();
  world.end();
});

interface Started {
  readonly events: ReplicationEvent[];
  readonly replicator: Replicator;
  readonly url: string;
}

async function start(node: Node, settings: Partial<ReplicationSettings>, jitter = 0.5): Promise<Started> {
  const events: ReplicationEvent[] = [];
  const replicator = await startReplication(
    {
      dataDir: node.dataDir,
      secret: 'a secret of the cluster',
      listen: null,
      store: null,
      from: null,
      ...settings,
    },
    { clock: node.clock, log: silentLogger, jitter: () => jitter },
    (event) => events.push(event),
  );
  running.push(replicator);
  const started = events.find((event) => event.type === 'started');
  return { events, replicator, url: started?.type === 'started' ? (started.url ?? '') : '' };
}

const lastState = ({ events }: Started) => {
  const states = events.flatMap((event) => ('state' in event ? [event.state] : []));
  return states.at(-1) ?? null;
};

const LISTEN = { host: '127.0.0.1', port: 0 };
const LONG = { timeout: 60_000, interval: 20 };

describe('nodes', () => {
  it('swap releases under load without a failed response', async () => {
    await a.build({ [ADDRESS(1)]: 'version-0', [ADDRESS(2)]: 'steady' });
    const { url } = await start(a, { listen: LISTEN });
    const pulling = await start(b, { from: { kind: 'http', url } });
    await vi.waitFor(() => expect(b.answers().entityOf(ADDRESS(1))).toBe('version-0'), LONG);

    const set = openSnapshotSet(snapshotsFolderOf(b.dataDir), { log: silentLogger });
    const keys = [1, 2].map((n) => parseAddress('ETH', ADDRESS(n)).key);
    const seen = new Set<string>();
    let asked = 0;
    let stop = false;
    const load = (async () => {
      while (!stop) {
        set.refresh();
        const { current } = set;
        for (let n = 0; n < 500; n++) {
          seen.add(current.lookup(keys[0] as Uint8Array, 'ETH')[0]?.entity.id ?? 'NONE');
          expect(current.lookup(keys[1] as Uint8Array, 'ETH')[0]?.entity.id).toBe('steady');
          asked++;
        }
        await new Promise((resolve) => setImmediate(resolve));
      }
    })();
    for (const version of [1, 2, 3]) {
      world.now += 1_000;
      const wanted = await a.build({ [ADDRESS(1)]: `version-${version}`, [ADDRESS(2)]: 'steady' });
      await vi.waitFor(() => expect(set.current.meta.dataVersion).toBe(wanted), LONG);
    }
    stop = true;
    await load;
    set.close();
    expect(seen).toEqual(new Set(['version-0', 'version-1', 'version-2', 'version-3']));
    expect(asked).toBeGreaterThan(1_000);
    await vi.waitFor(
      () => expect(pulling.events.filter(({ type }) => type === 'swapped')).toHaveLength(4),
      LONG,
    );
    expect(lastState(pulling)).toMatchObject({ behindSince: null, error: null });
    expect(lastState(pulling)?.served?.release).toBe(lastState(pulling)?.published?.release);
  });

  it('publish releases that they pulled', async () => {
    await a.build({ [ADDRESS(1)]: 'one' });
    const first = await start(a, { listen: LISTEN });
    const middle = await start(b, { from: { kind: 'http', url: first.url }, listen: LISTEN });
    const c = world.node('c');
    const last = await start(c, { from: { kind: 'http', url: middle.url } });
    await vi.waitFor(() => expect(c.answers().entityOf(ADDRESS(1))).toBe('one'), LONG);
    await vi.waitFor(() => expect(lastState(last)?.served).not.toBeNull(), LONG);
    // The same content has the same name, however many nodes it passed.
    expect(lastState(last)?.published?.release).toBe(lastState(middle)?.published?.release);
  });

  it('replicate through an object store', async () => {
    const server: S3Server = await startS3Server('assay-bucket');
    try {
      const place = {
        bucket: 'assay-bucket',
        prefix: 'a/b',
        endpoint: server.endpoint,
        region: S3_KEY.region,
        credentials: { accessKeyId: S3_KEY.id, secretAccessKey: S3_KEY.secret, sessionToken: null },
      };
      await a.build({ [ADDRESS(1)]: 'one' });
      const publishing = await start(a, { store: place });
      await vi.waitFor(() => expect(publishing.events.map(({ type }) => type)).toContain('published'), LONG);
      // Its next check would be due in an hour.
      const pulling = await start(b, { from: { kind: 's3', place } }, 1_000);
      await vi.waitFor(() => expect(b.answers().entityOf(ADDRESS(1))).toBe('one'), LONG);
      await a.build({ [ADDRESS(1)]: 'two' });
      await vi.waitFor(
        () => expect(publishing.events.filter(({ type }) => type === 'published')).toHaveLength(2),
        LONG,
      );
      // An announcement triggers a check at once.
      pulling.replicator.look();
      await vi.waitFor(() => expect(b.answers().entityOf(ADDRESS(1))).toBe('two'), LONG);
    } finally {
      await Promise.all(running.splice(0).map((one) => one.stop()));
      await server.close();
    }
  });

  it('report that they are behind, keep their release, and catch up', async () => {
    await a.build({ [ADDRESS(1)]: 'one' });
    const first = await start(a, { listen: LISTEN });
    const port = Number(new URL(first.url).port);
    const pulling = await start(b, { from: { kind: 'http', url: first.url } });
    await vi.waitFor(() => expect(lastState(pulling)?.served).not.toBeNull(), LONG);
    await first.replicator.stop();
    await vi.waitFor(() => expect(lastState(pulling)?.error).toContain('does not respond'), LONG);
    const away = lastState(pulling);
    expect(tooFarBehind(away, NOW + 5_000, 10)).toBeNull();
    expect(tooFarBehind(away, NOW + 11_000, 10)).toContain('could not be followed since 2026-11-21T12:00');
    expect(tooFarBehind(away, NOW + 11_000, 0)).toBeNull();
    expect(b.answers().entityOf(ADDRESS(1))).toBe('one');
    await a.build({ [ADDRESS(1)]: 'two' });
    await start(a, { listen: { host: '127.0.0.1', port } });
    await vi.waitFor(() => expect(b.answers().entityOf(ADDRESS(1))).toBe('two'), LONG);
    await vi.waitFor(
      () => expect(lastState(pulling)).toMatchObject({ error: null, behindSince: null }),
      LONG,
    );
  });

  it('with another secret get nothing', async () => {
    await a.build({ [ADDRESS(1)]: 'one' });
    const { url } = await start(a, { listen: LISTEN });
    const pulling = await start(b, { from: { kind: 'http', url }, secret: 'another secret of another' });
    await vi.waitFor(() => expect(lastState(pulling)?.error).toContain('ASSAY_CLUSTER_SECRET'), LONG);
    expect(lastState(pulling)).toMatchObject({ published: null, served: null });
    // A publisher that never answered counts as behind, too.
    expect(tooFarBehind(lastState(pulling), NOW + 11_000, 10)).toContain('could not be followed');
  });

  it('reject a port that is in use', async () => {
    const { url } = await start(a, { listen: LISTEN });
    const port = Number(new URL(url).port);
    await expect(start(b, { listen: { host: '127.0.0.1', port } })).rejects.toMatchObject({
      code: 'LISTEN_FAILED',
    });
  });
});
