/**
 * Kills a server at random moments while clients add watched wallets, and resends what was not answered. In the end, the wallets are those
 * that were charged, and every request has its wallet.
 */
import { afterEach, describe, expect, it } from 'vitest';
import { seededUint32, systemRandom } from '../../src/base/random.ts';
import { hasRedis, type RedisServer, startRedis } from '../setup/redis.ts';
import { newWorld, patiently, type RunningServer, type World } from './program.ts';

const ROUNDS = process.env.ASSAY_TEST_LONG === '1' ? 40 : 3;
/** Concurrent clients, and requests that each sends in a round at most. */
const CLIENTS = 12;
const REQUESTS = 4;
/** A key may make 30 requests a minute. */
const KEYS = 18;

interface Sent {
  readonly address: string;
  readonly idempotencyKey: string;
  readonly token: string;
  /** Id of the wallet in the first response. */
  walletId: string | null;
}

interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

describe.each(['one machine', 'nodes over Redis'])('wallets and their charges: %s', (kind) => {
  const isShared = kind !== 'one machine';
  let world: World;
  let redis: RedisServer | null = null;
  afterEach(async () => {
    await world.end();
    await redis?.stop();
  });

  async function ask(
    { url }: RunningServer,
    token: string,
    method: string,
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ): Promise<Reply> {
    const response = await fetch(`${url}/api/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return { status: response.status, headers: response.headers, text: await response.text() };
  }

  const add = (server: RunningServer, { address, idempotencyKey, token }: Sent): Promise<Reply> =>
    ask(
      server,
      token,
      'POST',
      '/monitoring/wallets',
      { walletAddress: address, chain: 'ETH' },
      {
        'idempotency-key': idempotencyKey,
      },
    );
  // biome-ignore lint/suspicious/noExplicitAny: JSON of the program, read without a schema.
  const dataOf = ({ text }: Reply): any => JSON.parse(text).data;

  it.skipIf(isShared && !hasRedis)(
    'agree after kill -9, and every resent request is answered as the first was',
    async () => {
      world = newWorld();
      redis = isShared ? await startRedis() : null;
      const environment: Record<string, string> = {
        ASSAY_WORKERS: '1',
        ...(redis === null ? {} : { ASSAY_REDIS_URL: redis.url }),
      };
      if (isShared) expect((await world.run(['redis', 'found'], { environment })).code).toBe(0);
      let server = await world.serve(environment);
      const { firstKey } = server;
      const granted = await world.run(['credits', 'grant', 'local', '5000', '--reason', 'test'], {
        environment,
      });
      expect(granted.code, granted.err).toBe(0);
      const keys: string[] = [];
      while (keys.length < KEYS) {
        const made = await patiently(() => ask(server, firstKey, 'POST', '/keys', { name: 'of a test' }));
        expect(made.status, made.text).toBe(200);
        keys.push(dataOf(made).apiKey);
      }

      const seed = new DataView(systemRandom.bytes(4).buffer).getUint32(0);
      const random = seededUint32(seed);
      const sent: Sent[] = [];
      const answered = async (one: Sent): Promise<void> => {
        const reply = await add(server, one);
        if (reply.status !== 200) return;
        one.walletId = dataOf(reply).wallet.id;
      };
      /** Sends one request after the other, until the server is gone. */
      async function client(): Promise<void> {
        for (let n = 0; n < REQUESTS; n++) {
          const number = sent.length;
          const one: Sent = {
            address: `0x${(0xabc0000 + number).toString(16).padStart(40, '0')}`,
            idempotencyKey: `request-${number}`,
            token: keys[number % KEYS] as string,
            walletId: null,
          };
          sent.push(one);
          try {
            await answered(one);
          } catch {
            return;
          }
        }
      }

      for (let round = 0; round < ROUNDS; round++) {
        const said = `seed ${seed}, round ${round}`;
        const before = sent.length;
        const running = Promise.all(Array.from({ length: CLIENTS }, client));
        await new Promise((resolve) => setTimeout(resolve, 20 + (random() % 500)));
        await server.stop('SIGKILL');
        await running;
        server = await world.serve(environment);
        for (const one of sent.slice(before)) {
          const reply = await patiently(() => add(server, one));
          expect([reply.status, reply.text, said]).toEqual([200, expect.anything(), said]);
          const { id, walletAddress } = dataOf(reply).wallet;
          expect([id, walletAddress]).toEqual([one.walletId ?? id, one.address]);
          one.walletId = id;
        }
      }

      await expect
        .poll(
          async () =>
            dataOf(await patiently(() => ask(server, firstKey, 'GET', '/monitoring/wallets'))).total,
          // Another node may finish a purchase after 30 s; thirty requests a minute are allowed.
          { interval: 5_000, timeout: 180_000 },
        )
        .toBe(sent.length);
      const { wallets } = dataOf(await patiently(() => ask(server, firstKey, 'GET', '/monitoring/wallets')));
      const idOf = new Map(
        wallets.map((one: { id: string; walletAddress: string }) => [one.walletAddress, one.id]),
      );
      expect(idOf).toEqual(new Map(sent.map(({ address, walletId }) => [address, walletId])));
      const charged: string[] = [];
      for (let cursor = ''; ; ) {
        const page = dataOf(
          await patiently(() =>
            ask(server, firstKey, 'GET', `/usage?limit=100${cursor === '' ? '' : `&cursor=${cursor}`}`),
          ),
        );
        for (const { type, amount, reference } of page.history)
          if (type === 'SCREENING' || type === 'DEDUCTION' || type === 'REFUND')
            charged.push(`${type} ${amount} ${reference}`);
        cursor = page.nextCursor ?? '';
        if (cursor === '') break;
      }
      expect(charged.sort()).toEqual(
        sent.map(({ address }) => `SCREENING -1 monitoring/wallets ${address} ETH`).sort(),
      );
    },
    1_200_000,
  );
});
