/** Keys and sessions of two nodes that share a Redis: each refuses what the other ended, and a node with outdated state says so. */
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { KeyStore } from '../../src/accounts/keys.ts';
import { openKeyStore } from '../../src/accounts/keys-lmdb.ts';
import { openPeopleStore } from '../../src/accounts/people-lmdb.ts';
import type { Person } from '../../src/accounts/people-records.ts';
import type { PeopleStore } from '../../src/accounts/people-store.ts';
import { systemClock } from '../../src/base/clock.ts';
import { AssayError } from '../../src/base/errors.ts';
import { silentLogger } from '../../src/base/log.ts';
import { systemRandom } from '../../src/base/random.ts';
import { type LiveState, replicatedState } from '../setup/live-state.ts';
import { hasRedis, type RedisServer, startRedis } from '../setup/redis.ts';
import { startProxy, type TcpProxy } from '../setup/tcp-proxy.ts';
import { sleep, until } from '../support/wait.ts';
import { tempFolder } from './temp-folder.ts';

const DAY_MS = 24 * 3_600_000;
const ANN: Person = {
  id: 'acc_1',
  email: 'ann@example.org',
  emailVerified: true,
  password: 'x',
  createdAt: '2026-11-21T00:00:00.000Z',
  sessionEpoch: 1,
};

interface Node {
  readonly state: LiveState;
  readonly keys: KeyStore;
  readonly people: PeopleStore;
  close(): Promise<void>;
}

async function openNode(url: string): Promise<Node> {
  const folder = tempFolder();
  const state = replicatedState({ url }, 'shared');
  const deps = { clock: systemClock, random: systemRandom, log: silentLogger, openStore: state.openStore };
  const keys = openKeyStore({ path: join(folder.path, 'keys.mdb') }, deps);
  const people = openPeopleStore({ path: join(folder.path, 'people.mdb') }, deps);
  await state.ready();
  return {
    state,
    keys,
    people,
    async close() {
      await Promise.all([keys.close(), people.close()]);
      await state.close();
      folder.remove();
    },
  };
}

/** The error of a node with possibly outdated state, which happens to any node of a busy machine for a moment. */
const isUnsure = (error: unknown): boolean => error instanceof AssayError && error.code === 'NOT_READY';

/** Waits until a condition holds; repeats the check if the node's state may be outdated. */
const untilSure = (isMet: () => boolean): Promise<void> =>
  until(() => {
    try {
      return isMet();
    } catch (error) {
      if (!isUnsure(error)) throw error;
      return false;
    }
  });

/**
 * Waits until `isGood` returns false. Returns how many milliseconds from now it last returned true. The clock is read before each check, so
 * that a pause of the machine does not lengthen the result. A node with possibly outdated state counts as not good.
 */
async function msGood(isGood: () => boolean): Promise<number> {
  const from = performance.now();
  let last = 0;
  for (;;) {
    const at = performance.now() - from;
    try {
      if (!isGood()) return last;
      last = at;
    } catch (error) {
      if (!isUnsure(error)) throw error;
    }
    await sleep(1);
  }
}

const refusal = (ask: () => unknown): unknown => {
  try {
    return ask();
  } catch (error) {
    return error;
  }
};

describe.skipIf(!hasRedis)('two nodes', () => {
  let server: RedisServer;
  let proxy: TcpProxy;
  let near: Node;
  let far: Node;
  beforeEach(async () => {
    server = await startRedis();
    proxy = await startProxy(server.port);
    [near, far] = await Promise.all([openNode(server.url), openNode(`redis://127.0.0.1:${proxy.port}`)]);
  });
  afterEach(async () => {
    await Promise.all([near.close(), far.close()]);
    await proxy.close();
    await server.stop();
  });

  it('accept a key created on the other, and reject a key revoked there within a second', async () => {
    const { record, apiKey } = await near.keys.create({ name: 'k' });
    await untilSure(() => far.keys.verify(apiKey) !== null);
    const generation = far.keys.generation();
    await near.keys.revoke(record.id);
    expect(await msGood(() => far.keys.verify(apiKey) !== null)).toBeLessThan(1_000);
    expect(far.keys.generation()).not.toBe(generation);
  });

  it('share the start and the end of a session', async () => {
    expect(await near.people.add(ANN)).toBe(true);
    expect(await far.people.add({ ...ANN, id: 'acc_2' })).toBe(false);
    const first = await far.people.begin(ANN, DAY_MS);
    const second = await far.people.begin(ANN, DAY_MS);
    await untilSure(() => near.people.session(second.token) !== null);
    await near.people.end(first.token);
    expect(await msGood(() => far.people.session(first.token) !== null)).toBeLessThan(1_000);
    await near.people.change(ANN.id, (person) => ({ ...person, sessionEpoch: 2 }));
    expect(await msGood(() => far.people.session(second.token) !== null)).toBeLessThan(1_000);
  });

  it('redeem a token once, also concurrently', async () => {
    await near.people.add(ANN);
    const token = await near.people.issue(ANN.id, 'reset', DAY_MS);
    const redeemed = await Promise.all([near, far].map((node) => node.people.redeem(token, 'reset')));
    expect(redeemed.filter((accountId) => accountId !== null)).toEqual([ANN.id]);
  });

  it.each(['cut', 'hold'] as const)(
    'reject keys and sessions with 503 while cut off (%s), and recover afterwards',
    async (fault) => {
      await near.people.add(ANN);
      const { record, apiKey } = await near.keys.create({ name: 'k' });
      const { token } = await near.people.begin(ANN, DAY_MS);
      await untilSure(() => far.keys.verify(apiKey) !== null && far.people.session(token) !== null);
      proxy[fault]();
      const revoking = near.keys.revoke(record.id);
      // From one second after the fault, the node no longer answers from earlier state.
      const isRefused = (ask: () => unknown): boolean => isUnsure(refusal(ask));
      expect(await msGood(() => !isRefused(() => far.keys.verify(apiKey)))).toBeLessThan(1_000);
      await untilSure(() => isRefused(() => far.people.session(token)));
      for (const ask of [
        () => far.keys.verify(apiKey),
        () => far.keys.list(),
        () => far.people.session(token),
        () => far.people.byEmail(ANN.email),
      ])
        expect(refusal(ask)).toMatchObject({
          code: 'NOT_READY',
          status: 503,
          message: expect.stringContaining('has not heard from Redis'),
        });
      await revoking;
      proxy.heal();
      // The first answer after the node is current again.
      let verified: unknown;
      await untilSure(() => {
        verified = far.keys.verify(apiKey);
        return true;
      });
      expect(verified).toBeNull();
      await untilSure(() => far.people.session(token) !== null);
      const made = await far.keys.create({ name: 'after' });
      await untilSure(() => near.keys.verify(made.apiKey) !== null);
    },
  );
});
