/** Credits through the front end: what is charged, what is free, and the responses that a client gets. */
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AssayError } from '../../src/base/errors.ts';
import type { UseCases } from '../../src/http/ports.ts';
import { EXCHANGE, openWorld, type World } from '../http/world.ts';
import { sleep } from '../support/wait.ts';

interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly body: {
    readonly error: string;
    readonly credits: { readonly remaining: number };
    readonly ignored: readonly string[];
    readonly data: {
      readonly balance: number;
      readonly history: readonly {
        readonly type: string;
        readonly amount: number;
        readonly reference: string;
      }[];
      readonly nextCursor: string | null;
      readonly totals: { readonly byType: Readonly<Record<string, number>> };
      readonly credits: { readonly free: number; readonly held: number };
    };
  };
}

const BODY = { address: EXCHANGE, chain: 'eth' };

describe.each(['uws', 'node'] as const)('credits on %s', (backend) => {
  let world: World;
  let key: string;
  let screened = 0;
  /** Runs in the screening before it answers. */
  let before: () => Promise<void> | void;

  beforeEach(async () => {
    screened = 0;
    before = () => {};
    const screening: UseCases['screening'] = async ({ chain, address }) => {
      screened++;
      await before();
      return { json: Buffer.from(JSON.stringify({ chain, address, run: screened })) };
    };
    world = await openWorld({ backend, useCases: { screening } });
    key = await world.key({ rateLimits: { screening: 10_000 } });
  });

  afterEach(async () => {
    expect((await world.access.ledger().verify()).faults).toEqual([]);
    await world.close();
  });

  async function ask(
    path: string,
    options: { body?: unknown; idempotencyKey?: string } = {},
  ): Promise<Answer> {
    const { body, idempotencyKey } = options;
    const response = await fetch(`${world.url}/api/v1${path}`, {
      method: body === undefined ? 'GET' : 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        ...(body === undefined ? {} : { 'content-type': 'application/json' }),
        ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
      },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, text, body: JSON.parse(text) };
  }

  const screen = (body: unknown = BODY, idempotencyKey?: string): Promise<Answer> =>
    ask('/screening', { body, ...(idempotencyKey === undefined ? {} : { idempotencyKey }) });

  const balance = async (): Promise<number> => (await ask('/usage')).body.data.balance;

  it('charges 1 credit for a screening, returns the remaining credits, and records the purpose', async () => {
    const answer = await screen({ ...BODY, jursidiction: 'CH' });
    expect(answer.body).toMatchObject({ credits: { remaining: 9 }, ignored: ['jursidiction'] });
    const usage = await ask('/usage');
    expect(usage.headers.get('x-ratelimit-limit')).toBeNull();
    expect(usage.body.data).toMatchObject({
      balance: 9,
      history: [
        { type: 'SCREENING', amount: -1, balance: 9, reference: `screening ${EXCHANGE} ETH` },
        { type: 'GRANT', amount: 10, balance: 10, reference: null },
      ],
      nextCursor: null,
      totals: { byType: { SCREENING: -1, GRANT: 10 } },
      credits: { free: 9, held: 0 },
    });
  });

  it('gives ten free screenings a month, then a 402 that explains the renewal', async () => {
    for (let left = 9; left >= 0; left--) expect((await screen()).body.credits.remaining).toBe(left);
    const refused = await screen();
    expect(refused.status).toBe(402);
    expect(refused.body.error).toMatch(
      /^Insufficient credits: this operation costs 1 credit, and the account has 0 available\. 10 free credits will be added at \d{4}-\d\d-01T00:00:00\.000Z\.$/,
    );
    expect(screened).toBe(10);
    await world.access.ledger().book({ accountId: 'local', type: 'GRANT', amount: 5, reference: null });
    expect((await screen()).body.credits.remaining).toBe(4);
  });

  it('charges no error: bad bodies, rejections, faults, full queues', async () => {
    expect((await screen('{')).status).toBe(400);
    expect((await screen({ chain: 'ETH' })).status).toBe(400);
    for (const [error, status] of [
      [new AssayError('INVALID_ADDRESS', 'address: is none.'), 400],
      [new AssayError('OVERLOADED', 'Too much.', { retryAfterSeconds: 1 }), 429],
      [new Error('broken'), 500],
    ] as const) {
      before = () => {
        throw error;
      };
      expect((await screen()).status).toBe(status);
      expect((await screen(BODY, `k-${status}`)).status).toBe(status);
    }
    expect((await ask('/usage')).body.data).toMatchObject({ balance: 10, credits: { held: 0 } });
  });

  it('serves exactly 100 of 300 concurrent screenings on 100 credits', async () => {
    await world.access.ledger().book({ accountId: 'local', type: 'GRANT', amount: 90, reference: null });
    before = () => sleep(2);
    const answers = await Promise.all(Array.from({ length: 300 }, () => screen()));
    expect(answers.filter((answer) => answer.status === 200)).toHaveLength(100);
    expect(answers.filter((answer) => answer.status === 402)).toHaveLength(200);
    expect(await balance()).toBe(0);
  });

  it('replays the response of an Idempotency-Key and charges once, concurrently or later', async () => {
    before = () => sleep(20);
    const answers = await Promise.all(Array.from({ length: 20 }, () => screen(BODY, 'one')));
    const later = await screen(BODY, 'one');
    expect(new Set([...answers, later].map((answer) => answer.text)).size).toBe(1);
    expect(answers[0]?.body.credits.remaining).toBe(9);
    expect(later.headers.get('idempotency-replayed')).toBe('true');
    expect(screened).toBe(1);
    expect(await balance()).toBe(9);
  });

  it('rejects an Idempotency-Key with another body, and a malformed one, with 400', async () => {
    await screen(BODY, 'one');
    const other = await screen({ ...BODY, chain: 'bsc' }, 'one');
    expect(other).toMatchObject({ status: 400 });
    expect(other.body.error).toContain('Idempotency-Key');
    expect((await screen(BODY, 'x'.repeat(300))).status).toBe(400);
    expect(await balance()).toBe(9);
  });

  it('separates the same Idempotency-Key of two accounts', async () => {
    await screen(BODY, 'one');
    const first = key;
    key = await world.key({ accountId: 'other' });
    expect((await screen(BODY, 'one')).body.credits.remaining).toBe(9);
    expect(screened).toBe(2);
    expect((await ask('/usage')).body.data.history).toHaveLength(2);
    key = first;
    expect((await ask('/usage')).body.data.history).toHaveLength(2);
  });

  it('does not charge a client that disconnects, unless it sent an Idempotency-Key', async () => {
    let go: () => void = () => {};
    const gate = new Promise<void>((resolve) => {
      go = resolve;
    });
    before = () => gate;
    const leaving = new AbortController();
    const lost = ['', 'kept'].map((idempotencyKey) =>
      fetch(`${world.url}/api/v1/screening`, {
        method: 'POST',
        headers: {
          authorization: `Bearer ${key}`,
          'content-type': 'application/json',
          ...(idempotencyKey === '' ? {} : { 'idempotency-key': idempotencyKey }),
        },
        body: JSON.stringify(BODY),
        signal: leaving.signal,
      }).catch(() => null),
    );
    await expect.poll(() => screened).toBe(2);
    leaving.abort();
    await Promise.all(lost);
    const pending = async (): Promise<number> =>
      Number(
        /assay_http_pending_requests (\d+)/.exec(await (await fetch(`${world.url}/metrics`)).text())?.[1],
      );
    await expect.poll(pending).toBeLessThanOrEqual(1);
    go();
    await expect.poll(balance).toBe(9);
    before = () => {};
    const again = await screen(BODY, 'kept');
    expect(again.body.credits.remaining).toBe(9);
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect(screened).toBe(2);
  });

  it('pages through the ledger, and names the allowed values for a bad limit or cursor', async () => {
    for (let call = 0; call < 5; call++) await screen();
    const first = await ask('/usage?limit=4');
    expect(first.body.data.history).toHaveLength(4);
    const second = await ask(`/usage?limit=4&cursor=${first.body.data.nextCursor}`);
    expect(second.body.data.history.map((entry) => entry.type)).toEqual(['SCREENING', 'GRANT']);
    expect(second.body.data.nextCursor).toBeNull();
    for (const query of ['limit=0', 'limit=101', 'limit=x', 'cursor=x', 'cursor=999999999999']) {
      const answer = await ask(`/usage?${query}`);
      expect([query, answer.status]).toEqual([query, 400]);
      expect(answer.body.error).toContain(query.split('=')[0] as string);
    }
  });

  it('lets a key without permissions read its usage, and requires a key', async () => {
    key = await world.key({ permissions: [] });
    expect((await ask('/usage')).status).toBe(200);
    key = '';
    expect((await ask('/usage')).status).toBe(401);
  });
});

describe('a ledger that cannot be opened', () => {
  it('fails only charged requests with 500 and a log line, and retries to open', async () => {
    const lines: string[] = [];
    const note = (...parts: unknown[]): void => void lines.push(JSON.stringify(parts));
    const world = await openWorld({
      backend: 'uws',
      log: { debug: note, info: note, warn: note, error: note },
    });
    const key = await world.key();
    const ask = async (path: string, body?: unknown): Promise<number> => {
      const response = await fetch(`${world.url}/api/v1${path}`, {
        method: body === undefined ? 'GET' : 'POST',
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
      });
      return response.status;
    };
    const path = join(world.folder, 'ledger.mdb');
    writeFileSync(path, Buffer.alloc(8192, 7));
    expect(await ask('/screening', BODY)).toBe(500);
    expect(lines.join()).toContain('is not a store of Assay');
    expect(await ask(`/entity/${EXCHANGE}`)).toBe(200);
    expect(await ask(`/oracle/address/ETH/${EXCHANGE}`)).toBe(200);
    rmSync(path);
    expect(await ask('/screening', BODY)).toBe(200);
    await world.close();
  });
});
