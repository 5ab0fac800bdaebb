/** Leases, embedded and in real Redis servers: their holder, how they are lost, and the result for a former holder. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { type Clock, systemClock } from '../../src/base/clock.ts';
import { silentLogger as log } from '../../src/base/log.ts';
import { createEmbeddedLeases, type Leases, underLease } from '../../src/state/leases.ts';
import { createRedisLeases } from '../../src/state/leases-redis.ts';
import { openRedis, parseRedisUrl, type RedisStore } from '../../src/state/redis.ts';
import { leasesConform } from '../conformance/leases.ts';
import {
  hasRedis,
  type RedisCluster,
  type RedisServer,
  startRedis,
  startRedisCluster,
} from '../setup/redis.ts';
import { sleep } from '../support/wait.ts';

/** Long enough that no lease is lost if a machine stops for a second. */
const LEASE_MS = 3_000;
/** A clock of a stopped machine: the clock goes on, and no code of the lease holder runs. */
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

  it('starts work at once, and again after a failure, until it is aborted', async () => {
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

  it('gives every holder a greater fencing token', async () => {
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
  it('gives a greater fencing token also if the clock of the server went back', async () => {
    const [redis] = open().stores;
    const ahead = Date.now() + 3_600_000;
    await redis?.connection.set(redis.key('store', 'fence:ahead'), ahead);
    const held = await leasesOf(redis).take('store', 'ahead');
    expect(held?.fence?.token).toBe(ahead + 1);
    await held?.release();
  });
  it('reports the holder, its time, and the previous holder', async () => {
    const [one, other] = [leasesOf(open().stores[0]), leasesOf(open().stores[1])];
    const stateOf = async (leases: Leases) => {
      await leases.look(['shown']);
      return leases.states().find(({ name }) => name === 'shown');
    };
    const begunMs = Date.now();
    const held = await one.take('shown', 'shown');
    const first = await stateOf(other);
    expect(first).toMatchObject({ holder: expect.stringMatching(/^node/), isHere: false });
    // Both run on one machine, so the clock is that of the server.
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
    // If a node takes a lease again that it held itself, this is no take-over.
    const again = await other.take('shown', 'shown');
    expect(again?.previous).toBeNull();
    await again?.release();
  });
  it('logs a take-over once, as a warning if the holder did not release', async () => {
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
      ['warn', { lease: 'passed', from: expect.stringMatching(/^node/) }, 'lease taken over'],
    ]);
  });
  it('stays held while its holder renews it', async () => {
    const [one, other] = [leasesOf(open().stores[0]), leasesOf(open().stores[1])];
    const held = await one.take('store', 'long');
    for (let looks = 0; looks < 6; looks++) {
      await sleep(LEASE_MS / 4);
      expect(await other.take('store', 'long')).toBeNull();
    }
    expect(held?.isHeld()).toBe(true);
    await held?.release();
  });
  it('passes to another node if its holder is stopped, and the holder detects the loss', async () => {
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

  it('is lost by the clock of its holder while no server responds', async () => {
    const leases = createRedisLeases(
      { nodeId: 'alone', leaseMs: LEASE_MS },
      { redis: stores[0] as RedisStore, clock: systemClock, log },
    );
    const held = await leases.take('store', 'silence');
    server.freeze();
    const frozenAt = systemClock.monotonic();
    let heldAt = frozenAt;
    /** Reads the clock first: if the lease is held, it was held at that time, however late this process checks. */
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
  it('aborts its work if another node has taken it', async () => {
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

describe.skipIf(!hasRedis)('leases in a Redis Cluster', () => {
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

  it('issues no fencing token twice if its master dies', async () => {
    const [one, other] = ['a', 'b'].map((nodeId, i) =>
      createRedisLeases(
        { nodeId, leaseMs: LEASE_MS },
        { redis: stores[i] as RedisStore, clock: systemClock, log },
      ),
    ) as [Leases, Leases];
    const held = await one.take('store', 'failover');
    const master = cluster.masterOf('assay:{store}:lease:failover');
    await master.kill();
    // A replica that takes over soon enough would let the holder keep it for ever, so release it.
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

describe('a lease in Redis', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  /** Leases of 6 s over scripts with replies that the test sets. */
  function world() {
    const said: string[] = [];
    const state = { isUsable: true };
    const replies = {
      lease_take: async (): Promise<unknown> => [7, ''],
      lease_renew: async (): Promise<unknown> => 1,
      lease_release: async (): Promise<unknown> => 1,
      lease_states: async (): Promise<unknown> => [],
    };
    const leases = createRedisLeases(
      { nodeId: 'me', isUsable: () => state.isUsable },
      {
        redis: {
          key: (slot: string, name: string) => `${slot}:${name}`,
          script: (name: keyof typeof replies) => (keys: readonly string[]) => {
            said.push(`${name.slice(6)} ${keys[0]}`);
            return replies[name]();
          },
        } as unknown as RedisStore,
        clock: { now: () => 0, monotonic: () => performance.now() },
        log: { ...log, warn: (fields: { reason: string }) => void said.push(fields.reason) } as typeof log,
      },
    );
    return { leases, said, state, replies };
  }

  it('is used for five sixths of its life, counted from before each request', async () => {
    const { leases, said, replies } = world();
    const held = await leases.take('s', 'l');
    expect(held).toMatchObject({ name: 'l', fence: { name: 'l', token: 7 }, previous: null });
    await vi.advanceTimersByTimeAsync(1_499);
    expect(said).toEqual(['take s:lease:l']);
    await vi.advanceTimersByTimeAsync(1);
    expect(said.slice(1)).toEqual(['renew s:lease:l']);
    replies.lease_renew = () => new Promise((resolve) => setTimeout(resolve, 400, 1));
    await vi.advanceTimersByTimeAsync(1_900);
    // The renewal sent at 3.0 s was answered at 3.4 s.
    replies.lease_renew = () => new Promise(() => {});
    await vi.advanceTimersByTimeAsync(4_599);
    expect([held?.isHeld(), held?.lost.aborted]).toEqual([true, false]);
    await vi.advanceTimersByTimeAsync(1);
    expect([held?.isHeld(), held?.lost.aborted]).toEqual([false, true]);
    expect(said.filter((word) => word.includes('in time'))).toEqual(['it could not be renewed in time.']);
    const asked = said.length;
    await vi.advanceTimersByTimeAsync(60_000);
    await held?.release();
    expect(said).toHaveLength(asked);
    expect(await leases.take('s', 'l')).not.toBeNull();
  });

  it('is lost if another node holds it or its store is unusable, but not by a failed request', async () => {
    const { leases, said, state, replies } = world();
    const held = await leases.take('s', 'l');
    replies.lease_renew = () => Promise.reject(new Error('away'));
    await vi.advanceTimersByTimeAsync(3_000);
    expect(held?.isHeld()).toBe(true);
    replies.lease_renew = async () => 0;
    await vi.advanceTimersByTimeAsync(1_500);
    expect([held?.isHeld(), said.at(-1)]).toEqual([false, 'another node holds it.']);
    const next = await leases.take('s', 'l');
    state.isUsable = false;
    await vi.advanceTimersByTimeAsync(1_500);
    expect([next?.isHeld(), next?.lost.aborted]).toEqual([false, true]);
    expect(said.slice(-2)).toEqual(['its store cannot be used.', 'release s:lease:l']);
    said.length = 0;
    expect([await leases.take('s', 'l'), said]).toEqual([null, []]);
  });

  it('is taken once by a process, and requested again after a refusal or a fault', async () => {
    const { leases, said, replies } = world();
    const [first, second] = await Promise.all([leases.take('s', 'l'), leases.take('s', 'l')]);
    expect([first === null, second, said]).toEqual([false, null, ['take s:lease:l']]);
    expect(await leases.take('t', 'l')).not.toBeNull();
    await first?.release();
    await first?.release();
    expect(said.filter((word) => word.startsWith('release'))).toEqual(['release s:lease:l']);
    replies.lease_take = async () => [0, ''];
    expect(await leases.take('s', 'l')).toBeNull();
    replies.lease_take = () => Promise.reject(new Error('away'));
    await expect(leases.take('s', 'l')).rejects.toThrow('away');
    replies.lease_take = async () => [8, ''];
    const again = await leases.take('s', 'l');
    expect(again?.fence?.token).toBe(8);
    // If the release fails, the lease expires by itself, and its holder uses it no longer.
    replies.lease_release = () => Promise.reject(new Error('away'));
    await again?.release();
    expect(again?.isHeld()).toBe(false);
    expect(await leases.take('s', 'l')).not.toBeNull();
  });

  it('reports the previous holder, and lists the leases of all nodes by name', async () => {
    const { leases, replies } = world();
    const previousOf = async (name: string, before: string) => {
      replies.lease_take = async () => [9, before];
      return (await leases.take('s', name))?.previous;
    };
    expect(await previousOf('a', 'other 5 held')).toEqual({
      holder: 'other',
      sinceMs: 5,
      wasReleased: false,
    });
    expect(await previousOf('b', 'other 5 released')).toMatchObject({ wasReleased: true });
    expect([
      await previousOf('c', 'me 5 held'),
      await previousOf('d', ''),
      await previousOf('e', 'x y'),
    ]).toEqual([...[null, null, null]]);
    replies.lease_states = async () => [
      ...['z', 'me 5 held', 'me'],
      ...['a', 'other 6 released', ''],
      ...['torn', 'x', 'me'],
      ...['m', 'other 7 held', 'other'],
    ];
    await leases.look(['s']);
    expect(leases.states()).toEqual([
      { name: 'a', holder: null, isHere: false, sinceMs: 6 },
      { name: 'm', holder: 'other', isHere: false, sinceMs: 7 },
      { name: 'z', holder: 'me', isHere: true, sinceMs: 5 },
    ]);
    // Redis is away: another node may hold them by now.
    await vi.advanceTimersByTimeAsync(5_999);
    expect(leases.states()).toHaveLength(3);
    await vi.advanceTimersByTimeAsync(1);
    expect(leases.states()).toEqual([]);
  });
});
