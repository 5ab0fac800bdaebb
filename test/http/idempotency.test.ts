/** Idempotency-Key over HTTP: requests with the same content are the same request, however their JSON is written. */
import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { canonicalJson, hashBody, replayed } from '../../src/accounts/idempotency.ts';
import { AssayError } from '../../src/base/errors.ts';
import type { Purchase } from '../../src/http/pipeline/work.ts';
import { RawClient } from './raw-client.ts';
import { EXCHANGE, openWorld, type World } from './world.ts';

describe('canonical JSON', () => {
  it.each([
    ['{"b":[1,{"d":1,"c":2}],"a":null}', '{"a":null,"b":[1,{"c":2,"d":1}]}'],
    [' { "a" : 1.0 , "b" : 1e2 } ', '{"a":1,"b":100}'],
    ['"\\u0041\\/"', '"A/"'],
    // Sorted by UTF-16 units, not by code points or a language (RFC 8785, section 3.2.3).
    [
      '{"\\ufb33":1,"\\ud83d\\ude00":2,"\\u00f6":3,"1":4,"10":5,"2":6}',
      '{"1":4,"10":5,"2":6,"ö":3,"😀":2,"\ufb33":1}',
    ],
    ['{"__proto__":{"a":1}}', '{"__proto__":{"a":1}}'],
    ['[]', '[]'],
  ])('of %s is %s', (text, canonical) => {
    expect(canonicalJson(JSON.parse(text))).toBe(canonical);
  });

  it('tells apart what differs', () => {
    const texts = [
      '{"a":1}',
      '{"a":"1"}',
      '{"a":[1]}',
      '{"a":{"0":1}}',
      '{"a":null}',
      '{}',
      '[]',
      '{"a":[1,2]}',
      '{"a":[2,1]}',
    ];
    expect(new Set(texts.map((text) => Buffer.from(hashBody(JSON.parse(text))).toString('hex'))).size).toBe(
      texts.length,
    );
  });

  it('replays a response that an earlier release stored with the hash of the bytes', () => {
    const bytes = Buffer.from('{"b":1, "a":2}');
    const stored = { body: Buffer.from('x'), bodyHash: createHash('sha256').update(bytes).digest() };
    const hash = hashBody(JSON.parse(bytes.toString()));
    expect(replayed(stored, hash, stored.bodyHash).replayed).toBe(true);
    expect(() => replayed(stored, hash)).toThrow('different request body');
  });
});

describe.each(['uws', 'node'] as const)('an Idempotency-Key on %s', (backend) => {
  let world: World;
  let key: string;
  beforeAll(async () => {
    world = await openWorld({ backend });
    key = await world.key();
  });
  afterAll(() => world.close());

  async function screen(body: string, name: string) {
    const response = await fetch(`${world.url}/api/v1/screening`, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'idempotency-key': name,
      },
      body,
    });
    const { headers, status } = response;
    return { status, isReplay: headers.get('idempotency-replayed') === 'true', body: await response.json() };
  }

  it('replays for another order of fields and other white space, and charges once', async () => {
    const first = await screen(`{"address":"${EXCHANGE}","chain":"ETH","jurisdiction":"DE"}`, 'k1');
    expect([first.status, first.isReplay]).toEqual([200, false]);
    for (const body of [
      `{"chain":"ETH","jurisdiction":"DE","address":"${EXCHANGE}"}`,
      `\n{ "jurisdiction" : "DE",\t"chain":"ETH", "address":"${EXCHANGE}"}\n`,
      `{"chain":"\\u0045TH","jurisdiction":"DE","address":"${EXCHANGE}"}`,
    ])
      expect(await screen(body, 'k1')).toEqual({ ...first, isReplay: true });
  });

  it.each([
    ['another value', `{"address":"${EXCHANGE}","chain":"BSC"}`],
    ['one more field', `{"address":"${EXCHANGE}","chain":"ETH","jurisdiction":"CH"}`],
    ['an unknown field', `{"address":"${EXCHANGE}","chain":"ETH","x":1}`],
  ])('is refused with %s', async (_what, body) => {
    const name = `k2-${_what.replaceAll(' ', '-')}`;
    expect((await screen(`{"address":"${EXCHANGE}","chain":"ETH"}`, name)).status).toBe(200);
    expect(await screen(body, name)).toMatchObject({
      status: 400,
      body: {
        error: expect.stringMatching(/^Idempotency-Key: was already used with a different request body/),
      },
    });
  });

  it.each(['', ' ', '\t'])('is refused if it is %j', async (empty) => {
    const body = `{"address":"${EXCHANGE}","chain":"ETH"}`;
    const client = new RawClient(Number(new URL(world.url).port));
    client.send(
      `POST /api/v1/screening HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer ${key}\r\nContent-Type: application/json\r\n` +
        `Idempotency-Key:${empty}\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
    const answer = await client.next();
    client.destroy();
    expect(answer?.status).toBe(400);
    expect(answer?.body).toMatch(/Idempotency-Key: must have 1 to 255 /);
  });

  it('names its field if it is too long', async () => {
    expect(await screen('{}', 'k'.repeat(256))).toMatchObject({
      status: 400,
      body: { error: expect.stringMatching(/^Idempotency-Key: must have 1 to 255 /) },
    });
  });
});

/** A second node that adds the same wallet between the steps of the first. */
describe('a request that another node has carried out meanwhile', () => {
  it('gets the response of that node if it is refused, and an error if nothing was stored', async () => {
    const taken = new AssayError('INVALID_REQUEST', 'walletAddress: this account has this address already.');
    const ledger = () => world.access.ledger();
    const world: World = await openWorld({
      backend: 'node',
      useCases: {
        monitoring: () =>
          ({
            async buy(accountId: string, { notes }: { notes?: string }, { keep }: Purchase) {
              if (notes !== 'not there' && keep !== null)
                await ledger().commit(await ledger().reserve(accountId, 1), {
                  ...{
                    type: 'SCREENING',
                    amount: 1,
                    reference: 'other node',
                    answer: () => Buffer.from('{}'),
                  },
                  keep: {
                    slot: Buffer.from(String(keep.slot), 'hex'),
                    bodyHash: Buffer.from(String(keep.bodyHash), 'hex'),
                  },
                });
              throw taken;
            },
          }) as never,
      },
    });
    try {
      const key = await world.key({ accountId: 'acc' });
      const add = async (notes: string, name: string) => {
        const response = await fetch(`${world.url}/api/v1/monitoring/wallets`, {
          method: 'POST',
          headers: {
            authorization: `Bearer ${key}`,
            'content-type': 'application/json',
            ...(name === '' ? {} : { 'idempotency-key': name }),
          },
          body: JSON.stringify({ walletAddress: EXCHANGE, chain: 'ETH', notes }),
        });
        return [response.status, response.headers.get('idempotency-replayed'), await response.text()];
      };
      expect(await add('there', 'k1')).toEqual([200, 'true', '{}']);
      expect((await add('not there', 'k2')).slice(0, 2)).toEqual([400, null]);
      expect((await add('there', '')).slice(0, 2)).toEqual([400, null]);
      expect(
        (await ledger().usage('acc', { limit: 10 })).history.filter(({ amount }) => amount < 0),
      ).toHaveLength(1);
    } finally {
      await world.close();
    }
  });
});
