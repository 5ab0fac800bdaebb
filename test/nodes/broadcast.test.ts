/** Messages that one node publishes to all others, on real servers. */
import { EventEmitter } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { silentLogger as log } from '../../src/base/log.ts';
import { openBroadcast } from '../../src/nodes/broadcast.ts';
import { openRedis, parseRedisUrl, type RedisStore } from '../../src/state/redis.ts';
import { hasRedis, startRedis, startRedisCluster } from '../setup/redis.ts';
import { sleep } from '../support/wait.ts';

describe.skipIf(!hasRedis).each([
  ['one server', startRedis],
  ['a cluster', startRedisCluster],
] as const)('broadcasts over %s', (_, start) => {
  let servers: Awaited<ReturnType<typeof start>>;
  let stores: RedisStore[];
  beforeAll(async () => {
    servers = await start();
    stores = [0, 1, 2].map(() => openRedis(parseRedisUrl(servers.url), { log }));
  });
  afterAll(async () => {
    await Promise.all(stores.map((store) => store.close()));
    await servers.stop();
  });

  it('reach every other node, but not the sender', async () => {
    const heard: string[] = [];
    const nodes = stores.map((redis, i) => openBroadcast({ nodeId: `n${i}` }, { redis, log }));
    for (const [i, node] of nodes.entries()) node.subscribe((message) => heard.push(`${i} ${message}`));
    await expect
      .poll(async () => {
        heard.length = 0;
        await nodes[1]?.publish('labels');
        await sleep(50);
        return [...heard].sort();
      })
      .toEqual(['0 labels', '2 labels']);
  });
});

describe('a broadcast', () => {
  const world = () => {
    const said: string[] = [];
    const replies = { publish: async () => 1 as unknown, subscribe: async () => 1 as unknown };
    const hearing = Object.assign(new EventEmitter(), { subscribe: () => replies.subscribe() });
    const redis = {
      key: (slot: string, name: string) => `${slot}:${name}`,
      another: () => hearing,
      guard: <T>(command: Promise<T>) => command,
      connection: {
        publish: (channel: string, text: string) => {
          said.push(`${channel} ${text}`);
          return replies.publish();
        },
      },
    } as unknown as RedisStore;
    const note = (_fields: object, text: string): void => void said.push(text);
    const open = () => openBroadcast({ nodeId: 'me' }, { redis, log: { ...log, debug: note } as typeof log });
    return { open, said, replies, hearing };
  };

  it('resolves after it was sent, and never rejects', async () => {
    const { open, said, replies } = world();
    const node = open();
    let arrive = () => {};
    replies.publish = () => new Promise((resolve) => (arrive = () => resolve(1)));
    let isPublished = false;
    const publishing = node.publish('labels').then(() => (isPublished = true));
    await new Promise((resolve) => setImmediate(resolve));
    expect([isPublished, said]).toEqual([false, ['nodes:announcements me labels']]);
    arrive();
    await publishing;
    replies.publish = () => Promise.reject(new Error('away'));
    await node.publish('labels');
    expect(said.at(-1)).toContain('read the change by polling');
  });

  it('is received from other nodes until it is unsubscribed, even if the first subscription fails', async () => {
    const { open, said, replies, hearing } = world();
    replies.subscribe = () => Promise.reject(new Error('away'));
    const node = open();
    await new Promise((resolve) => setImmediate(resolve));
    expect(said).toEqual(['subscription to broadcasts failed, retrying']);
    const heard: string[] = [];
    const leave = node.subscribe((message) => heard.push(message));
    for (const text of ['me labels', 'other labels', 'other']) hearing.emit('message', '', text);
    expect(heard).toEqual(['labels', '']);
    leave();
    hearing.emit('message', '', 'other labels');
    expect(heard).toHaveLength(2);
  });
});
