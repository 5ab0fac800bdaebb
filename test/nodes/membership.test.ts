/** membership against a real server: live nodes, nodes that left, and nodes that went silent. */
import { afterAll, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import { silentLogger as log } from '../../src/base/log.ts';
import { joinMembership } from '../../src/nodes/membership.ts';
import { openRedis, parseRedisUrl, type RedisStore } from '../../src/state/redis.ts';
import { hasRedis, type RedisServer, startRedis } from '../setup/redis.ts';

describe.skipIf(!hasRedis)('cluster membership', () => {
  let server: RedisServer;
  let redis: RedisStore;
  beforeAll(async () => {
    server = await startRedis();
    redis = openRedis(parseRedisUrl(server.url), { log });
  });
  // A heartbeat that is under way when its node leaves lists it again for a while.
  beforeEach(() => {
    server.run('flushall');
  });
  afterAll(async () => {
    await redis.close();
    await server.stop();
  });
  const join = (nodeId: string, heartbeatMs = 100) =>
    joinMembership<{ readonly n: string }>({ nodeId, facts: { n: nodeId }, heartbeatMs }, { redis, log });

  it('lists live nodes on every node, and lists those that left or fell silent as gone', async () => {
    const one = await join('one');
    const two = await join('two');
    const silent = await joinMembership<{ readonly n: string }>(
      { nodeId: 'silent', facts: { n: 'silent' }, heartbeatMs: 3_600_000 },
      { redis, log },
    );
    const ids = (nodes: readonly { readonly id: string }[]): string => nodes.map(({ id }) => id).join();
    expect(silent.live().map(({ facts }) => facts.n)).toContain('two');
    await expect.poll(() => ids(one.live())).toBe('one,silent,two');
    const [first] = one.live();
    expect(Math.abs((first?.sinceMs ?? 0) - Date.now())).toBeLessThan(60_000);
    await expect.poll(() => one.live()[1]?.silentMs ?? 0).toBeGreaterThan(150);
    await one.heartbeat();
    expect(one.live()[0]).toMatchObject({ id: 'one', sinceMs: first?.sinceMs, silentMs: 0 });
    await two.leave();
    await one.heartbeat();
    expect(ids(one.live())).toBe('one,silent');
    expect(ids(one.gone())).toContain('two');
    await expect.poll(() => ids(one.live())).toBe('one');
    expect(ids(one.gone())).toBe('silent,two');
    await silent.heartbeat();
    await expect.poll(() => ids(one.live())).toBe('one,silent');
    await Promise.all([one.leave(), silent.leave()]);
  });

  it('lists all live nodes with the same facts', async () => {
    const join = (nodeId: string) =>
      joinMembership({ nodeId, facts: { n: 'same' }, heartbeatMs: 3_600_000 }, { redis, log });
    const [first, second] = [await join('first'), await join('second')];
    await first.heartbeat();
    expect(first.live().map(({ id }) => id)).toEqual(['first', 'second']);
    await Promise.all([first.expire(), second.expire()]);
  });

  it('announces changed facts with the next heartbeat', async () => {
    const [changing, watching] = [await join('changing'), await join('watching')];
    changing.setFacts({ n: 'changed' });
    await changing.heartbeat();
    await watching.heartbeat();
    expect(watching.live().find(({ id }) => id === 'changing')?.facts.n).toBe('changed');
    await Promise.all([changing.leave(), watching.leave()]);
  });

  it('keeps only the last of many gone nodes with the same facts, and none that was replaced', async () => {
    const facts = { n: 'worker' };
    const watcher = await join('watcher');
    for (let start = 0; start < 20; start++) {
      const node = await joinMembership(
        { nodeId: `start-${start}`, facts, heartbeatMs: 100 },
        { redis, log },
      );
      await node.leave();
    }
    await watcher.heartbeat();
    expect(watcher.gone().filter((node) => node.facts.n === 'worker')).toMatchObject([
      { id: 'start-19', facts },
    ]);
    expect(
      server
        .run('hkeys', 'assay:{roster}:facts')
        .split('\n')
        .filter((id) => id.startsWith('start-')),
    ).toEqual(['start-19']);
    // `start-19` joins again, and is itself removed after another node with the same facts joins and it leaves.
    const back = await joinMembership({ nodeId: 'start-19', facts, heartbeatMs: 100 }, { redis, log });
    await watcher.heartbeat();
    expect(watcher.live().map(({ id }) => id)).toContain('start-19');
    const next = await joinMembership({ nodeId: 'start-20', facts, heartbeatMs: 100 }, { redis, log });
    await back.leave();
    await watcher.heartbeat();
    expect(watcher.gone().filter((node) => node.facts.n === 'worker')).toEqual([]);
    await Promise.all([next.leave(), watcher.leave()]);
  });

  it('does not list an expired node as gone', async () => {
    const [one, refused] = [await join('one'), await join('refused', 3_600_000)];
    await refused.expire();
    await one.heartbeat();
    expect(one.live()).toMatchObject([{ id: 'one' }]);
    expect(one.gone().map(({ id }) => id)).not.toContain('refused');
    await one.leave();
  });

  it('ignores the leave of a node that is no longer in Redis', async () => {
    const [one, other] = [await join('one'), await join('other', 3_600_000)];
    server.run('flushall');
    await other.leave();
    await one.heartbeat();
    expect(one.live()).toMatchObject([{ id: 'one', facts: { n: 'one' } }]);
    expect(one.gone()).toEqual([]);
    await one.leave();
  });
});

it('counts a node as gone after four missed heartbeats, continues after a failure, and stops after leave', async () => {
  vi.useFakeTimers();
  try {
    const said: string[] = [];
    const reply = { now: [] as (string | number)[] | Error };
    const nodes = (...silent: number[]) =>
      silent.flatMap((ms, at) => [`n${9 - at}`, ms, at === 1 ? '' : 7, `{"n":${at}}`]);
    const redis = {
      key: (slot: string, name: string) => `${slot}:${name}`,
      script: (name: string) => async () => {
        said.push(name);
        if (reply.now instanceof Error) throw reply.now;
        return reply.now;
      },
    } as unknown as RedisStore;
    reply.now = nodes(0, 3_999, 4_000, 86_000_000);
    const membership = await joinMembership({ nodeId: 'n9', facts: { n: 0 } }, { redis, log });
    expect(membership.live()).toEqual([
      { id: 'n8', facts: { n: 1 }, silentMs: 3_999, sinceMs: null },
      { id: 'n9', facts: { n: 0 }, silentMs: 0, sinceMs: 7 },
    ]);
    expect(membership.gone().map(({ id }) => id)).toEqual(['n6', 'n7']);
    reply.now = new Error('away');
    await vi.advanceTimersByTimeAsync(2_000);
    expect([said.length, membership.live().length]).toEqual([3, 2]);
    await expect(membership.heartbeat()).rejects.toThrow('away');
    reply.now = nodes(0);
    await vi.advanceTimersByTimeAsync(1_000);
    expect([membership.live().length, membership.gone()]).toEqual([1, []]);
    reply.now = new Error('away');
    await membership.leave();
    await membership.expire();
    const spoken = said.length;
    await vi.advanceTimersByTimeAsync(10_000);
    expect(said.length).toBe(spoken);
    expect(said.slice(-2)).toEqual(['membership_leave', 'membership_expire']);
  } finally {
    vi.useRealTimers();
  }
});
