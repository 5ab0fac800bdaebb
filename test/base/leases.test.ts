/** Leases, embedded and in real Redis servers: who holds them, how they are lost, and what a holder of before is told. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import { createEmbeddedLeases, type Leases, underLease } from '../../src/base/leases.ts';
import { createRedisLeases } from '../../src/base/leases-redis.ts';
import { silentLogger as log } from '../../src/base/log.ts';
import { openRedis, parseRedisUrl, type RedisStore } from '../../src/base/redis.ts';
import { leasesConform } from '../conformance/leases.ts';
import {
  hasRedis,
  type RedisCluster,
  type RedisServer,
  startRedis,
  startRedisCluster,
} from '../setup/redis.ts';

/** Long enough that a machine which stands still for a second loses none. */
const LEASE_MS = 3_000;
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
/** A holder whose machine was stopped: its clock goes on, and nothing of it runs. */
const stoppedClock = (): Clock & { stoppedMs: number } => ({
  stoppedMs: 0,
  now: () => Date.now(),
  monotonic() {
    return systemClock.monotonic() + this.stoppedMs;
  },
});

describe('embedded leases', () => {
  leasesConform(() => {
    const leases = createEmbeddedLeases();
    return { one: leases, other: leases };
  });

  it('lets work begin at once, and anew when it fails, until it is not wanted', async () => {
    const leases = createEmbeddedLeases();
    const wanted = new AbortController();
    let begun = 0;
    const work = async (): Promise<void> => {
      if (++begun < 2) throw new Error('No luck.');
      wanted.abort();
    };
    await underLease({ store: 's', name: 'n', work }, wanted.signal, { leases, log });
    expect(begun).toBe(2);
    expect(await leases.take('s', 'n')).not.toBeNull();
  });
});

function redisLeases(
  open: () => { readonly server: () => RedisServer; readonly stores: readonly RedisStore[] },
): void {
  let nodes = 0;
  const leasesOf = (redis: RedisStore | undefined, clock: Clock = systemClock): Leases =>
    createRedisLeases(
      { nodeId: `node${++nodes}`, leaseMs: LEASE_MS },
      { redis: redis as RedisStore, clock, log },
    );
  leasesConform(() => ({ one: leasesOf(open().stores[0]), other: leasesOf(open().stores[1]) }));

  it('gives every holder a greater number than the one before', async () => {
    const [one, other] = [leasesOf(open().stores[0]), leasesOf(open().stores[1])];
    let before = 0;
    for (const leases of [one, other, other, one]) {
      const held = await leases.take('store', 'numbers');
      const token = held?.fence?.token ?? 0;
      expect(held?.fence?.name).toBe('numbers');
      expect(token).toBeGreaterThan(before);
      before = token;
      await held?.release();
    }
  });
  it('says who holds it since when, and from whom it was taken over', async () => {
    const [one, other] = [leasesOf(open().stores[0]), leasesOf(open().stores[1])];
    const stateOf = async (leases: Leases) => {
      await leases.look(['shown']);
      return leases.states().find(({ name }) => name === 'shown');
    };
    const begunMs = Date.now();
    const held = await one.take('shown', 'shown');
    const first = await stateOf(other);
    expect(first).toMatchObject({ holder: expect.stringMatching(/^node/), isHere: false });
    // Of one machine: its clock is that of the server.
    expect(first?.sinceMs).toBeGreaterThanOrEqual(begunMs - 1);
    expect(await stateOf(one)).toMatchObject({
      holder: first?.holder,
      isHere: true,
      sinceMs: first?.sinceMs,
    });
    await held?.release();
    expect(await stateOf(other)).toMatchObject({ holder: null });
    const next = await other.take('shown', 'shown');
    expect(next?.previous).toMatchObject({ holder: first?.holder, wasReleased: true });
    await next?.release();
    // Its own of before is no take-over.
    const again = await other.take('shown', 'shown');
    expect(again?.previous).toBeNull();
    await again?.release();
  });
  it('logs a take-over once, and as a warning if its holder was gone', async () => {
    const clock = stoppedClock();
    const [one, other] = [leasesOf(open().stores[0], clock), leasesOf(open().stores[1])];
    const lines: unknown[] = [];
    const note = (level: string) => (fields: unknown, text: unknown) =>
      void lines.push([level, fields, text]);
    const logged = { ...log, info: note('info'), warn: note('warn') } as typeof log;
    const held = await one.take('store', 'passed');
    clock.stoppedMs = LEASE_MS;
    expect(held?.isHeld()).toBe(false);
    const wanted = new AbortController();
    let times = 0;
    const work = async (): Promise<void> => {
      if (++times === 3) wanted.abort();
    };
    await underLease({ store: 'store', name: 'passed', work }, wanted.signal, { leases: other, log: logged });
    expect(lines).toEqual([
      ['warn', { lease: 'passed', from: expect.stringMatching(/^node/) }, 'This node took a lease over.'],
    ]);
  });
  it('lives on while its holder renews it', async () => {
    const [one, other] = [leasesOf(open().stores[0]), leasesOf(open().stores[1])];
    const held = await one.take('store', 'long');
    for (let looks = 0; looks < 6; looks++) {
      await sleep(LEASE_MS / 4);
      expect(await other.take('store', 'long')).toBeNull();
    }
    expect(held?.isHeld()).toBe(true);
    await held?.release();
  });
  it('passes to another once its holder was stopped, who knows it before it does anything', async () => {
    const clock = stoppedClock();
    const [one, other] = [leasesOf(open().stores[0], clock), leasesOf(open().stores[1])];
    const held = await one.take('store', 'stopped');
    clock.stoppedMs = LEASE_MS;
    expect(held?.isHeld()).toBe(false);
    expect(held?.lost.aborted).toBe(true);
    await expect.poll(() => other.take('store', 'stopped')).not.toBeNull();
  });
}

describe.skipIf(!hasRedis)('leases in one Redis server', () => {
  let server: RedisServer;
  let stores: RedisStore[];
  beforeAll(async () => {
    server = await startRedis();
    stores = [0, 1].map(() => openRedis(parseRedisUrl(server.url), { log }));
  });
  afterAll(async () => {
    await Promise.all(stores.map((store) => store.close()));
    await server.stop();
  });
  redisLeases(() => ({ server: () => server, stores }));

  it('is lost by its holder, by its own clock, while no server answers', async () => {
    const leases = createRedisLeases(
      { nodeId: 'alone', leaseMs: LEASE_MS },
      { redis: stores[0] as RedisStore, clock: systemClock, log },
    );
    const held = await leases.take('store', 'silence');
    server.freeze();
    const frozenAt = systemClock.monotonic();
    let heldAt = frozenAt;
    /** The clock is read first: what holds is held at that time, however late this process looks. */
    const isHeld = (): boolean => {
      const at = systemClock.monotonic();
      if (held?.isHeld() !== true) return false;
      heldAt = at;
      return true;
    };
    while (isHeld()) await sleep(10);
    expect(held?.lost.aborted).toBe(true);
    expect(heldAt - frozenAt).toBeLessThan(LEASE_MS);
    server.thaw();
    await expect.poll(() => leases.take('store', 'silence').catch(() => null)).not.toBeNull();
  });
  it('tells its work that it was taken by another', async () => {
    const leases = createRedisLeases(
      { nodeId: 'robbed', leaseMs: LEASE_MS },
      { redis: stores[0] as RedisStore, clock: systemClock, log },
    );
    const wanted = new AbortController();
    const tokens: number[] = [];
    const working = underLease(
      {
        store: 'store',
        name: 'robbed',
        async work({ fence }, signal) {
          tokens.push(fence?.token ?? 0);
          if (tokens.length === 2) return wanted.abort();
          await new Promise((resolve) => signal.addEventListener('abort', resolve));
        },
      },
      wanted.signal,
      { leases, log },
    );
    await expect.poll(() => tokens.length).toBe(1);
    server.run('set', 'assay:{store}:lease:robbed', 'somebody', 'PX', '1000');
    await working;
    expect(tokens[1]).toBeGreaterThan(tokens[0] as number);
  });
});

describe.skipIf(!hasRedis)('leases in a cluster', () => {
  let cluster: RedisCluster;
  let stores: RedisStore[];
  beforeAll(async () => {
    cluster = await startRedisCluster();
    stores = [0, 1].map(() => openRedis(parseRedisUrl(cluster.url), { log }));
  });
  afterAll(async () => {
    await Promise.all(stores.map((store) => store.close()));
    await cluster.stop();
  });
  redisLeases(() => ({ server: () => cluster.masterOf('assay:{store}:lease:x'), stores }));

  it('gives out no number twice when its master dies', async () => {
    const [one, other] = ['a', 'b'].map((nodeId, i) =>
      createRedisLeases(
        { nodeId, leaseMs: LEASE_MS },
        { redis: stores[i] as RedisStore, clock: systemClock, log },
      ),
    ) as [Leases, Leases];
    const held = await one.take('store', 'failover');
    const master = cluster.masterOf('assay:{store}:lease:failover');
    await master.kill();
    // Or a replica that takes over soon enough lets it go on for ever.
    await held?.release();
    await expect
      .poll(() =>
        other.take('store', 'failover').then(
          (lease) => lease?.fence?.token ?? 0,
          () => 0,
        ),
      )
      .toBeGreaterThan(held?.fence?.token ?? 0);
    await master.restart();
  });
});
