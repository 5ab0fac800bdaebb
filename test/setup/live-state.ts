/** The kinds of live state, for suites that each kind must pass: files of this machine, or a real Redis with a replica. */
import { afterAll, beforeAll, describe } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import { systemRandom } from '../../src/base/random.ts';
import { type LiveStore, type OpenStore, openLiveStore } from '../../src/state/live-store.ts';
import { openRedis, parseRedisUrl } from '../../src/state/redis.ts';
import { openReplicated } from '../../src/state/replicated-store.ts';
import { hasRedis, type RedisServer, startRedis } from './redis.ts';

export interface LiveState {
  readonly openStore: OpenStore;
  /** Resolves when all opened stores can be read. */
  ready(): Promise<void>;
  /** The URL of the Redis, with a prefix of its own; empty if there is none. */
  readonly url: string;
  /** Number of the last write set of a store; 0 if they are not numbered. */
  versionOf(name: string): Promise<number>;
  /** Call when all stores are closed. */
  close(): Promise<void>;
}

const EMBEDDED: LiveState = {
  openStore: openLiveStore,
  ready: async () => {},
  url: '',
  versionOf: async () => 0,
  close: async () => {},
};

/** One of the nodes that share the state under `prefix`. */
export function replicatedState(server: Pick<RedisServer, 'url'>, prefix: string): LiveState {
  const url = `${server.url}?prefix=${prefix}`;
  const redis = openRedis(parseRedisUrl(url), { log: silentLogger });
  const open = openReplicated({ redis, clock: systemClock, random: systemRandom, log: silentLogger });
  const opened: LiveStore[] = [];
  return {
    openStore(...store) {
      const live = open(...store);
      opened.push(live);
      return live;
    },
    async ready() {
      for (const store of opened.splice(0)) await store.ready();
    },
    url,
    versionOf: async (name) => Number(await redis.connection.hget(redis.key(name, 'head'), 'version')),
    close: () => redis.close(),
  };
}

let worlds = 0;

/** Runs a suite over each kind. `makeState` creates an empty state, which is the same at each opening of a store. */
export function overLiveStates(suite: (makeState: () => LiveState, name: 'LMDB' | 'Redis') => void): void {
  describe('on LMDB', () => suite(() => EMBEDDED, 'LMDB'));
  describe.skipIf(!hasRedis)('on Redis with a replica', () => {
    let server: RedisServer;
    beforeAll(async () => {
      server = await startRedis();
    });
    afterAll(() => server.stop());
    suite(() => replicatedState(server, `world${worlds++}`), 'Redis');
  });
}
