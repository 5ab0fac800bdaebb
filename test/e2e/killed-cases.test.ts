/**
 * Kills a server at random moments while clients open cases, add notes, save screenings and add watched wallets, and resends what was not
 * answered. In the end each case, note, saved screening and wallet is there once, and each screening and wallet has its charge.
 */
import { afterEach, describe, expect, it } from 'vitest';
import { seededUint32, systemRandom } from '../../src/base/random.ts';
import { hasRedis, type RedisServer, startRedis } from '../setup/redis.ts';
import { sleep } from '../support/wait.ts';
import { newWorld, patiently, type RunningServer, type World } from './program.ts';

const IS_LONG = process.env.ASSAY_TEST_LONG === '1';
/** One kill interrupts as many requests as there are clients. */
const ROUNDS = IS_LONG ? 24 : 1;
const TIMEOUT_MS = IS_LONG ? 2_400_000 : 600_000;
/** Concurrent clients, and requests that each sends in a round at most. */
const CLIENTS = 12;
const REQUESTS = 6;
/** A key may make 30 requests to cases and wallets each and 20 screenings a minute, and 20 keys may be created. */
const KEYS = 18;

const WALLETS = '/monitoring/wallets';

/** A request that is resent under its Idempotency-Key until it is answered. */
interface Sent {
  readonly path: string;
  readonly body: object;
  readonly idempotencyKey: string;
  readonly token: string;
  /** `data` of the first response; of a wallet, whose score may change, its id and address. */
  first: string | null;
}

interface Reply {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** Waits for a rate limit as well: over many rounds it is reached, because Redis keeps it when a node is killed. */
async function whenAllowed(askOnce: () => Promise<Reply>): Promise<Reply> {
  for (;;) {
    const reply = await patiently(askOnce);
    if (reply.status !== 429) return reply;
    await sleep(Number(reply.headers.get('retry-after')) * 1_000);
  }
}

describe.each(['one machine', 'a node over Redis'])('cases, saved screenings and wallets: %s', (kind) => {
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
  const send = (server: RunningServer, { path, body, idempotencyKey, token }: Sent): Promise<Reply> =>
    ask(server, token, 'POST', path, body, { 'idempotency-key': idempotencyKey });
  // biome-ignore lint/suspicious/noExplicitAny: JSON of the program, read without a schema.
  const dataOf = ({ text }: Pick<Reply, 'text'>): any => JSON.parse(text).data;

  it.skipIf(isShared && !hasRedis)(
    'are all there once after kill -9, and every resent request is answered as the first was',
    async () => {
      world = newWorld();
      redis = isShared ? await startRedis() : null;
      const environment: Record<string, string> = {
        ASSAY_WORKERS: '1',
        ...(redis === null ? {} : { ASSAY_REDIS_URL: redis.url }),
      };
      if (isShared) expect((await world.here(['redis', 'found'], { environment })).code).toBe(0);
      let server = await world.serve(environment);
      const { firstKey } = server;
      const granted = await world.here(['credits', 'grant', 'local', '5000', '--reason', 'test'], {
        environment,
      });
      expect(granted.code, granted.err).toBe(0);
      const keys: string[] = [];
      while (keys.length < KEYS) {
        const made = await patiently(() => ask(server, firstKey, 'POST', '/keys', { name: 'of a test' }));
        expect(made.status, made.text).toBe(200);
        keys.push(dataOf(made).apiKey);
      }
      /** Reads all rows of a list. */
      // biome-ignore lint/suspicious/noExplicitAny: JSON of the program, read without a schema.
      async function all(path: string, rows: string): Promise<any[]> {
        const found = [];
        for (let cursor = ''; ; ) {
          const query = `limit=100${cursor === '' ? '' : `&cursor=${cursor}`}`;
          const reply = await patiently(() => ask(server, firstKey, 'GET', `${path}?${query}`));
          expect(reply.status, reply.text).toBe(200);
          const page = dataOf(reply);
          found.push(...page[rows]);
          cursor = page.nextCursor ?? '';
          if (cursor === '') return found;
        }
      }

      const opened = await ask(server, firstKey, 'POST', '/cases', { title: 'of all notes' });
      const { id: caseId } = dataOf(opened).case;
      const seed = new DataView(systemRandom.bytes(4).buffer).getUint32(0);
      const random = seededUint32(seed);
      const sent: Sent[] = [];
      const draft = (n: number): Pick<Sent, 'path' | 'body'> => {
        if (n % 4 === 0) return { path: '/cases', body: { title: `case ${n}` } };
        if (n % 4 === 1)
          return { path: `/cases/${caseId}/events`, body: { type: 'NOTE', note: `note ${n}` } };
        const address = `0x${(0xabc0000 + n).toString(16).padStart(40, '0')}`;
        if (n % 4 === 2) return { path: '/screening', body: { address, chain: 'ETH', save: true } };
        return { path: WALLETS, body: { walletAddress: address, chain: 'ETH' } };
      };
      async function note(one: Sent, reply: Reply, said: string): Promise<void> {
        if (reply.status !== 200) return;
        const whole = dataOf(reply);
        const { id, walletAddress } = whole.wallet ?? {};
        const data = JSON.stringify(one.path === WALLETS ? { id, walletAddress } : whole);
        expect([data, said]).toEqual([one.first ?? data, said]);
        one.first = data;
      }
      /** Sends one request after the other, until the server is gone. */
      async function client(said: string): Promise<void> {
        for (let n = 0; n < REQUESTS; n++) {
          const number = sent.length;
          const token = keys[number % KEYS] as string;
          const one: Sent = { ...draft(number), idempotencyKey: `request-${number}`, token, first: null };
          sent.push(one);
          const reply = await send(server, one).catch(() => null);
          if (reply === null) return;
          await note(one, reply, said);
        }
      }

      for (let round = 0; round < ROUNDS; round++) {
        const said = `seed ${seed}, round ${round}`;
        const before = sent.length;
        const running = Promise.all(Array.from({ length: CLIENTS }, () => client(said)));
        await new Promise((resolve) => setTimeout(resolve, 20 + (random() % 400)));
        await server.stop('SIGKILL');
        await running;
        server = await world.serve(environment);
        for (const one of sent.slice(before)) {
          const reply = await whenAllowed(() => send(server, one));
          expect([reply.status, reply.text, said]).toEqual([200, expect.anything(), said]);
          await note(one, reply, said);
        }
      }

      const of = (path: string): Sent[] => sent.filter((one) => one.path === path);
      const titles = (await all('/cases', 'cases')).map(({ title }) => title);
      expect(titles.sort()).toEqual(
        [...of('/cases').map(({ body }) => (body as { title: string }).title), 'of all notes'].sort(),
      );
      const events = await all(`/cases/${caseId}/events`, 'events');
      expect(
        events
          .map(({ note: text }) => text)
          .filter((text) => text !== null)
          .sort(),
      ).toEqual(
        of(`/cases/${caseId}/events`)
          .map(({ body }) => (body as { note: string }).note)
          .sort(),
      );
      expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, at) => events.length - at));

      const saves = of('/screening');
      // Another node may finish a purchase after 30 s.
      await expect
        .poll(async () => (await all('/screenings', 'screenings')).length, {
          interval: 5_000,
          timeout: 180_000,
        })
        .toBe(saves.length);
      const screenings = await all('/screenings', 'screenings');
      expect(new Set(screenings.map(({ id }) => id))).toEqual(
        new Set(saves.map(({ first }) => JSON.parse(first as string).screeningId)),
      );
      for (const { first } of saves.slice(-3)) {
        const { screeningId: id } = JSON.parse(first as string);
        const { text } = await patiently(() => ask(server, firstKey, 'GET', `/screenings/${id}`));
        expect(JSON.stringify(dataOf({ text }).answer)).toBe(first);
      }
      const watched = of(WALLETS);
      const walletsAt = async (offset: number) =>
        dataOf(await patiently(() => ask(server, firstKey, 'GET', `${WALLETS}?limit=100&offset=${offset}`)));
      await expect
        .poll(async () => (await walletsAt(0)).total, { interval: 5_000, timeout: 180_000 })
        .toBe(watched.length);
      const wallets: unknown[] = [];
      while (wallets.length < watched.length)
        for (const { id, walletAddress } of (await walletsAt(wallets.length)).wallets)
          wallets.push(JSON.stringify({ id, walletAddress }));
      const walletOf = ({ first, body }: Sent): string => {
        const { id } = JSON.parse(first as string) as { id: string };
        return JSON.stringify({ id, walletAddress: (body as { walletAddress: string }).walletAddress });
      };
      expect(wallets.sort()).toEqual(watched.map(walletOf).sort());
      const charged = (await all('/usage', 'history'))
        .filter(({ type }) => ['SCREENING', 'DEDUCTION', 'REFUND'].includes(type))
        .map(({ type, amount, reference }) => `${type} ${amount} ${reference}`);
      expect(charged.sort()).toEqual(
        [
          ...saves.map(({ body }) => `SCREENING -1 screening ${(body as { address: string }).address} ETH`),
          ...watched.map(
            ({ body }) =>
              `SCREENING -1 monitoring/wallets ${(body as { walletAddress: string }).walletAddress} ETH`,
          ),
        ].sort(),
      );
      expect(await server.stop()).toBe(0);
      const verified = await world.here(['ledger', 'verify'], { environment });
      expect(verified.code, verified.err).toBe(0);
    },
    TIMEOUT_MS,
  );
});
