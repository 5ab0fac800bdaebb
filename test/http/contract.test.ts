/** The contract of requests and refusals: what a response lists as ignored, what an error names, and the headers of refusals. */
import { join } from 'node:path';
import { Type } from 'typebox';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import type { AssayError } from '../../src/base/errors.ts';
import { compileBody } from '../../src/http/pipeline/json-body.ts';
import { ChannelsBody, WalletPatch } from '../../src/http/schemas/monitoring.ts';
import { type ClearedStore, openClearedStore } from '../../src/names/cleared.ts';
import { tempFolder } from '../accounts/temp-folder.ts';
import { EXCHANGE, openWorld, type World } from './world.ts';
import { worldNames } from './world-names.ts';

const RATE_HEADERS = ['x-ratelimit-limit', 'x-ratelimit-remaining', 'x-ratelimit-reset'] as const;

function faultOf(schema: Parameters<typeof compileBody>[0], value: unknown): string | null {
  try {
    compileBody(schema)(value);
    return null;
  } catch (error) {
    return (error as AssayError).message;
  }
}

describe('a body', () => {
  it('loses unknown fields at every depth, and their paths are reported', () => {
    const schema = Type.Object({
      list: Type.Array(Type.Object({ a: Type.Optional(Type.String()) })),
      choice: Type.Optional(Type.Union([Type.String(), Type.Object({ b: Type.Number() }), Type.Null()])),
      deep: Type.Optional(Type.Object({ in: Type.Array(Type.Array(Type.Object({ c: Type.Number() }))) })),
      open: Type.Optional(Type.Object({})),
      map: Type.Optional(Type.Record(Type.String(), Type.String())),
    });
    const ignored: string[] = [];
    const value = compileBody(schema)(
      {
        list: [{ a: 'x' }, { a: 'y', A: 1 }, { z: { y: 1 } }],
        choice: { b: 1, c: 2 },
        deep: { in: [[{ c: 1 }], [{ c: 1, d: 2 }]], out: 1 },
        open: { any: 1 },
        map: { any: 'x' },
        list2: [],
      },
      ignored,
    );
    expect(ignored).toEqual(['list[1].A', 'list[2].z', 'choice.c', 'deep.in[1][0].d', 'deep.out', 'list2']);
    expect(value).toEqual({
      list: [{ a: 'x' }, { a: 'y' }, {}],
      choice: { b: 1 },
      deep: { in: [[{ c: 1 }], [{ c: 1 }]] },
      open: { any: 1 },
      map: { any: 'x' },
    });
  });

  it('gets at most 32 paths of at most 64 characters', () => {
    const schema = Type.Object({ list: Type.Array(Type.Object({ a: Type.Optional(Type.String()) })) });
    const ignored: string[] = [];
    const items = Array.from({ length: 40 }, () => ({ ['x'.repeat(100)]: 1 }));
    expect(compileBody(schema)({ list: items }, ignored)).toEqual({ list: items.map(() => ({})) });
    expect(ignored).toHaveLength(32);
    expect(ignored.every((path) => path.length === 64 && path.startsWith('list['))).toBe(true);
  });

  it('gets errors of patterns with the description of the nested field', () => {
    const inner = Type.String({ pattern: '^p$', description: 'the letter p' });
    const schema = Type.Object({
      list: Type.Optional(Type.Array(Type.Object({ p: inner }))),
      choice: Type.Optional(
        Type.Union([Type.Object({ p: inner }), Type.Null()], { description: 'not this' }),
      ),
      outer: Type.Optional(
        Type.Union([Type.String({ pattern: '^q$' }), Type.Null()], { description: 'the letter q' }),
      ),
      'a/b': Type.Optional(inner),
    });
    expect(faultOf(schema, { list: [{ p: 'p' }, { p: 'x' }] })).toBe('list[1].p: must be the letter p.');
    expect(faultOf(schema, { choice: { p: 'x' } })).toBe('choice.p: must be the letter p.');
    expect(faultOf(schema, { outer: 'x' })).toBe('outer: must be the letter q.');
    expect(faultOf(schema, { 'a/b': 'x' })).toMatch(/must be the letter p\.$/);
    expect(faultOf(ChannelsBody, { email: 'nobody' })).toBe(
      'email: must be one email address, such as compliance@example.org.',
    );
    expect(faultOf(ChannelsBody, { telegram: { botToken: 'x', chatId: '1' } })).toMatch(
      /^telegram\.botToken: must be the token /,
    );
    expect(faultOf(ChannelsBody, { telegram: { botToken: '1:a', chatId: '#' } })).toMatch(
      /^telegram\.chatId: must be the number /,
    );
  });

  it('that changes nothing gets the list of the fields that can be changed', () => {
    expect(faultOf(WalletPatch, {})).toBe(
      'The request body must have at least one of the fields label, status, action, alertThreshold, alertFrequency, enabledRules, customWebhookUrl, notes.',
    );
  });
});

describe.each([
  ['uws', false],
  ['node', false],
  ['uws', true],
] as const)('requests on %s (late gate: %s)', (backend, isGateLate) => {
  const folder = tempFolder();
  let cleared: ClearedStore;
  let world: World;
  let key: string;
  beforeAll(async () => {
    cleared = openClearedStore({ path: join(folder.path, 'cleared.mdb') }, { clock: systemClock });
    world = await openWorld({
      backend,
      isGateLate,
      useCases: { names: { ...worldNames(), cleared: () => cleared } },
    });
    key = await world.key({ plan: 'FREE', accountId: 'acc_1' });
  });
  afterAll(async () => {
    await world.close();
    await cleared.close();
    folder.remove();
  });

  async function ask(method: string, path: string, body?: unknown, headers: Record<string, string> = {}) {
    const response = await fetch(`${world.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json', ...headers },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    const text = await response.text();
    return { status: response.status, headers: response.headers, body: JSON.parse(text || 'null') as never };
  }

  it.each([
    [
      'POST',
      '/api/v1/screening?x=1',
      { address: EXCHANGE, chain: 'ETH', jurisdicton: 'CH' },
      ['jurisdicton', 'x'],
    ],
    [
      'POST',
      '/api/v1/namescreen/bulk',
      { names: [{ name: 'Ann' }, { name: 'Bob', birthdate: '1970' }] },
      ['names[1].birthdate'],
    ],
    [
      'POST',
      '/api/v1/screen/bulk',
      { addresses: [EXCHANGE, { address: EXCHANGE, chian: 'ETH' }], chain: 'ETH', x: 1 },
      ['addresses[1].chian', 'x'],
    ],
    [
      'POST',
      '/api/v1/screen/bulk?y=1',
      { addresses: [EXCHANGE], chain: 'ETH', verdicts: true },
      ['verdicts', 'y'],
    ],
    ['GET', '/health?x=1', undefined, ['x']],
    ['GET', '/ready?four=writes', undefined, ['four']],
    ['GET', '/api/v1/usage?limt=1', undefined, ['limt']],
  ] as const)('%s %s lists what it ignores', async (method, path, body, ignored) => {
    const answer = await ask(method, path, body);
    expect([answer.status, (answer.body as { ignored: unknown }).ignored]).toEqual([200, ignored]);
  });

  it('name the nested field of a query of names', async () => {
    const answer = await ask('POST', '/api/v1/namescreen/bulk', {
      names: [{ name: 'Ann' }, { name: 'Bob', birthDate: 'May' }],
    });
    expect([answer.status, answer.body]).toEqual([
      400,
      {
        error:
          'names[1].birthDate: must be an ISO date, or the year or month of one, such as 1972 or 1972-05.',
      },
    ]);
  });

  it.each([
    [[], /^body: must be a JSON object\.$/],
    [{ addresses: [5] }, /^addresses\[0\]: must be a string or an object with the field address\.$/],
    [{ addresses: [{ address: 5 }] }, /^addresses\[0\]\.address: must be a string\.$/],
    [{ addresses: [EXCHANGE], verdict: 1 }, /^verdict: must be true or false\.$/],
  ])('of bulk labels are refused with the field: %j', async (body, message) => {
    const { countBulkAddresses } = await import('../../src/screening/bulk.ts');
    expect(() => countBulkAddresses(Buffer.from(JSON.stringify(body)))).toThrow(message);
  });

  it('show the quota that is left when the oracle refuses', async () => {
    const path = `/api/v1/oracle/address/ETH/${EXCHANGE}`;
    const poor = await world.key({ plan: 'FREE', accountId: 'acc_poor' });
    const limit = 1_000;
    expect((await world.access.quota.take('acc_poor', 'oracle', limit - 1)).ok).toBe(true);
    const authorization = { authorization: `Bearer ${poor}` };
    const last = await ask('GET', path, undefined, authorization);
    expect([last.status, last.headers.get('x-quota-remaining')]).toEqual([200, '0']);
    const refused = await ask('GET', path, undefined, authorization);
    expect([refused.status, refused.headers.get('x-quota-remaining')]).toEqual([402, '0']);
    for (const name of RATE_HEADERS) expect(refused.headers.has(name)).toBe(true);
    // A response of another quota has no such header.
    const bulk = await ask('POST', '/api/v1/screen', { address: EXCHANGE, chain: 'ETH' });
    expect(bulk.headers.has('x-quota-remaining')).toBe(false);
  });

  it('get a 304 for a valid copy although the quota is used up, and nothing else', async () => {
    const accountId = 'acc_cached';
    const cached = await world.key({ plan: 'FREE', accountId });
    const read = (tag: string | null, address: string = EXCHANGE) =>
      ask('GET', `/api/v1/address/ETH/${address}/labels`, undefined, {
        authorization: `Bearer ${cached}`,
        ...(tag === null ? {} : { 'if-none-match': tag }),
      });
    const tag = (await read(null)).headers.get('etag') as string;
    expect((await world.access.quota.take(accountId, 'intel', 999)).ok).toBe(true);
    expect((await read(null)).status).toBe(402);
    const same = await read(tag);
    expect([same.status, same.headers.get('etag')]).toEqual([304, tag]);
    for (const name of RATE_HEADERS) expect(same.headers.has(name)).toBe(true);
    expect((await read('W/"another"')).status).toBe(402);
    expect((await read(tag, 'junk')).status).toBe(400);
    expect(await world.access.quota.used(accountId, 'intel')).toBe(1_000);
  });

  it('with a session from a page of another host are counted and have rate-limit headers', async () => {
    const people = world.access.people();
    const { email } = await people.create('ann@example.org', 'correct horse battery', 'FREE');
    const { token } = await people.login(email, 'correct horse battery', '127.0.0.1');
    const cookie = { cookie: `assay_session=${token}`, authorization: '' };
    const foreign = { ...cookie, origin: 'https://evil.example' };
    const seen: number[] = [];
    for (const [method, path, body, headers] of [
      ['POST', '/api/v1/keys', { name: 'x' }, foreign],
      ['POST', '/api/v1/keys', { name: 'x' }, cookie],
      ['PATCH', '/api/v1/keys/key_x', { permission: 'intel', enabled: true }, foreign],
      ['DELETE', '/api/v1/keys/key_x', undefined, foreign],
      ['POST', '/api/v1/auth/logout', undefined, foreign],
    ] as const) {
      const answer = await ask(method, path, body, headers);
      expect([path, answer.status]).toEqual([path, 403]);
      for (const name of RATE_HEADERS) expect([path, answer.headers.has(name)]).toEqual([path, true]);
      seen.push(Number(answer.headers.get('x-ratelimit-remaining')));
    }
    expect(seen.map((remaining) => (seen[0] ?? 0) - remaining)).toEqual([0, 1, 2, 3, 4]);
  });

  it('refuse a key without any permission', async () => {
    const answer = await ask('POST', '/api/v1/keys', { name: 'x', permissions: [] });
    expect([answer.status, answer.body]).toEqual([400, { error: 'permissions: must not be empty.' }]);
  });

  it.each(['x', '../x', '0'.repeat(31)])('refuse the cursor %s of cleared matches', async (cursor) => {
    const answer = await ask('GET', `/api/v1/namescreen/cleared?cursor=${encodeURIComponent(cursor)}`);
    expect([answer.status, answer.body]).toEqual([
      400,
      { error: 'cursor: not a cursor returned by this endpoint.' },
    ]);
  });
});
