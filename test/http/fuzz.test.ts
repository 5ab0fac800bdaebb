/**
 * Hostile clients: random, truncated, contradictory, flooding and pipelined requests. No crash, no leak, no response to the wrong request.
 */
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { LOCAL_ACCOUNT } from '../../src/accounts/keys.ts';
import { seededUint32 } from '../../src/base/random.ts';
import { sleep } from '../support/wait.ts';
import { RawClient } from './raw-client.ts';
import { EXCHANGE, openWorld, UNKNOWN, type World } from './world.ts';

setFlagsFromString('--expose-gc');
const collectGarbage = runInNewContext('gc') as () => void;

const CLIENTS_AT_ONCE = 20;

describe.each(['uws', 'node'] as const)('hostile clients of %s', (backend) => {
  let world: World;
  let key: string;
  const next = seededUint32(20_261_121);
  const below = (bound: number): number => next() % bound;

  beforeAll(async () => {
    world = await openWorld({
      backend,
      useCases: {
        // Answers later and in another order than the requests, as a pool does.
        async screening({ address }) {
          await sleep(below(4));
          return { json: Buffer.from(JSON.stringify({ address })) };
        },
      },
    });
    const credits = { type: 'GRANT', amount: 1_000_000, reference: null } as const;
    await world.access.ledger().book({ accountId: LOCAL_ACCOUNT, ...credits });
    key = await world.key({
      plan: 'ENTERPRISE',
      rateLimits: { entity: 1_000_000, oracle: 1_000_000, intel: 1_000_000, screening: 1_000_000 },
    });
  });
  afterAll(() => world.close());

  const getRequest = (path: string, id: string): string =>
    `GET ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nX-Request-Id: ${id}\r\n\r\n`;
  const postRequest = (path: string, id: string, body: string): string =>
    `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nX-Request-Id: ${id}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;

  const body = JSON.stringify({ address: UNKNOWN, chain: 'ETH' });
  const templates = (id: string): string[] => [
    getRequest(`/api/v1/entity/${EXCHANGE}`, id),
    getRequest(`/api/v1/oracle/address/ETH/${UNKNOWN}`, id),
    getRequest('/nope', id),
    postRequest('/api/v1/screen', id, body),
    postRequest('/api/v1/screening', id, body),
    postRequest('/api/v1/screen/bulk', id, JSON.stringify({ addresses: [EXCHANGE, UNKNOWN], chain: 'ETH' })),
    postRequest('/api/v1/screen', id, '{"broken'),
  ];

  async function settled(): Promise<void> {
    const deadline = performance.now() + 60_000;
    const metrics = async (): Promise<string> => (await fetch(`${world.url}/metrics`)).text();
    // The scrape itself is one pending request on one open socket.
    for (;;) {
      const text = await metrics();
      const sockets = Number(/assay_http_open_sockets (\d+)/.exec(text)?.[1]);
      const pending = Number(/assay_http_pending_requests (\d+)/.exec(text)?.[1]);
      if (sockets <= 2 && pending <= 1) return;
      if (performance.now() > deadline)
        throw new Error(`${sockets} sockets and ${pending} requests are left.`);
      await sleep(100);
    }
  }

  async function attack(
    rounds: number,
    one: (client: RawClient, round: number) => Promise<void>,
  ): Promise<void> {
    for (let round = 0; round < rounds; round += CLIENTS_AT_ONCE) {
      await Promise.all(
        Array.from({ length: CLIENTS_AT_ONCE }, async (_, n) => {
          const client = new RawClient(world.port);
          await one(client, round + n);
          client.destroy();
        }),
      );
    }
    expect((await fetch(`${world.url}/health`)).status).toBe(200);
  }

  const randomBytes = (length: number): Buffer => Buffer.from(Array.from({ length }, () => below(256)));

  it('survives random bytes', async () => {
    await attack(400, async (client) => {
      client.send(randomBytes(1 + below(2000)));
      const answer = await client.next({ timeoutMs: 20 });
      expect(answer === null || answer.status >= 400).toBe(true);
    });
  });

  it('survives requests with changed bytes', async () => {
    await attack(600, async (client, round) => {
      const all = templates(`r${round}`);
      const bytes = Buffer.from(all[below(all.length)] as string);
      for (let change = 0; change <= below(4); change++) bytes[below(bytes.length)] = below(256);
      client.send(bytes);
      const answer = await client.next({ timeoutMs: 20 });
      expect(answer === null || answer.status < 500 || answer.status === 505).toBe(true);
    });
  });

  it('survives requests that are truncated, split or abandoned', async () => {
    await attack(400, async (client, round) => {
      const all = templates(`r${round}`);
      const text = all[below(all.length)] as string;
      const end = below(text.length);
      for (let at = 0; at < end; at += 1 + below(60)) {
        client.send(text.slice(at, Math.min(end, at + 1 + below(60))));
        if (below(3) === 0) await new Promise((resolve) => setImmediate(resolve));
      }
      if (below(2) === 0) client.socket.end();
    });
  });

  it('survives wrong content lengths', async () => {
    const lies = [
      '-1',
      '1e3',
      '0x10',
      '5, 6',
      '99999999999999999999',
      'abc',
      '',
      ' 5 5',
      '4294967297',
      '3',
      '500',
    ];
    await attack(220, async (client, round) => {
      const lie = lies[round % lies.length] as string;
      const more = below(3) === 0 ? 'Transfer-Encoding: chunked\r\n' : '';
      client.send(
        `POST /api/v1/screen HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${key}\r\nX-Request-Id: lie\r\n${more}Content-Length: ${lie}\r\n\r\n${body}`,
      );
      const answer = await client.next({ timeoutMs: 30 });
      // uWebSockets.js reads an empty length as none, and so the body as a request of an unknown version: 505.
      expect(answer === null || answer.status >= 400).toBe(true);
      expect(answer?.status).not.toBe(500);
    });
  });

  it('survives floods of headers', async () => {
    await attack(60, async (client, round) => {
      const kinds = [
        `X-${round}: ${'y'.repeat(300_000 + below(900_000))}\r\n`,
        'A: b\r\n'.repeat(5000),
        `${'Z'.repeat(60_000)}: 1\r\n`.repeat(20),
      ];
      client.send(`GET /health HTTP/1.1\r\nHost: x\r\n${kinds[round % kinds.length]}\r\n`);
      const answer = await client.next({ timeoutMs: 200 });
      expect(answer === null || answer.status >= 400 || backend === 'uws').toBe(true);
    });
  });

  it('answers pipelined requests in order, each with its own response, or not at all', async () => {
    let answered = 0;
    await attack(200, async (client, round) => {
      const synchronous = round % 2 === 0;
      const count = 1 + below(30);
      const asked = Array.from({ length: count }, (_, n) => {
        const id = `${round}-${n}`;
        const address = `0x${(round * 1000 + n).toString(16).padStart(40, '0')}`;
        const kind = synchronous ? below(2) : below(3);
        const text = [
          () => getRequest(`/api/v1/entity/${address}`, id),
          () => postRequest('/api/v1/screen', id, JSON.stringify({ address, chain: 'ETH' })),
          () => postRequest('/api/v1/screening', id, JSON.stringify({ address, chain: 'ETH' })),
        ][kind]?.() as string;
        return { id, address, text };
      });
      client.send(asked.map(({ text }) => text).join(''));
      for (const { id, address } of asked) {
        // A busy machine takes longer to answer, but answers all the same.
        const answer = await client.next({ timeoutMs: synchronous ? 30_000 : 1000 });
        if (answer === null) {
          expect(synchronous, 'requests answered at once are all answered').toBe(false);
          break;
        }
        answered++;
        expect(answer.status).toBe(200);
        expect(answer.headers.get('x-request-id')).toBe(id);
        expect((JSON.parse(answer.body) as { data: { address: string } }).data.address).toBe(address);
      }
    });
    expect(answered).toBeGreaterThan(1000);
  });

  it('survives clients that disconnect while a request is pending', async () => {
    await attack(300, async (client, round) => {
      client.send(postRequest('/api/v1/screening', `gone-${round}`, body));
      await sleep(below(5));
    });
  });

  it('leaves no socket, pending request or memory behind', async () => {
    const noise = async (): Promise<void> => {
      await attack(400, async (client, round) => {
        const all = templates(`leak-${round}`);
        client.send(all[below(all.length)] as string);
        if (below(2) === 0) await client.next({ timeoutMs: 50 });
      });
      await settled();
      collectGarbage();
      collectGarbage();
    };
    await noise();
    const before = process.memoryUsage().heapUsed;
    for (let n = 0; n < 4; n++) await noise();
    const grown = process.memoryUsage().heapUsed - before;
    expect(grown).toBeLessThan(6 * 1024 * 1024);
  });
});
