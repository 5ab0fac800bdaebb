/** POST /namescreen/bulk and cleared matches in the front end: bounds, charges, and the account that owns each match. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { NameRequest } from '../../src/names/screen-names.ts';
import { openWorld, type World } from './world.ts';
import { worldNames } from './world-names.ts';

describe.each(['uws', 'node'] as const)('name screening on %s', (backend) => {
  let world: World;
  let key: string;
  /** The names of the last request. */
  let screened: readonly NameRequest[] = [];
  beforeAll(async () => {
    const names = worldNames();
    world = await openWorld({
      backend,
      useCases: {
        names: {
          ...names,
          screen(requests) {
            screened = requests;
            return names.screen(requests);
          },
        },
      },
    });
    key = await world.key({ rateLimits: { names: 1_000 } });
  });
  afterAll(() => world.close());

  async function ask(method: string, path: string, body?: unknown, as = key) {
    const response = await fetch(`${world.url}/api/v1${path}`, {
      method,
      headers: { Authorization: `Bearer ${as}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return {
      status: response.status,
      body: (await response.json()) as Record<string, never>,
      headers: response.headers,
    };
  }
  const account = () => world.access.verify(key)?.accountId ?? '';
  const balance = async () => (await world.access.ledger().balance(account())).balance;

  it('responds without an envelope and charges one credit per name', async () => {
    const before = await balance();
    const { status, body } = await ask('POST', '/namescreen/bulk', {
      names: [
        { name: 'Ann Listed' },
        { name: 'Bob Unknown', birthDate: '1970', countries: ['de'], schema: 'Person' },
      ],
      nonsense: 1,
    });
    expect(status).toBe(200);
    expect(body).toMatchObject({
      results: [
        {
          name: 'Ann Listed',
          topMatches: [{ confidence: 0.97, listType: 'sanctions', source: 'EU' }],
          totalMatches: 1,
        },
        { name: 'Bob Unknown', topMatches: [], totalMatches: 0 },
      ],
      creditsUsed: 2,
      coverage: { sanctions: { status: 'NONE' }, pep: { status: 'NONE' }, adverse_media: { status: 'NONE' } },
      ignored: ['nonsense'],
    });
    expect(body).not.toHaveProperty('success');
    expect(body).not.toHaveProperty('data');
    expect(await balance()).toBe(before - 2);
  });

  it('screens every name with the options of the request, and with no others', async () => {
    const names = [{ name: 'Ann Listed' }, { name: 'Bob Unknown' }];
    const accountId = `options-${backend}`;
    const own = await world.key({ accountId, rateLimits: { names: 1_000 } });
    await world.access.ledger().book({ accountId, type: 'GRANT', amount: 100, reference: null });
    const options = { threshold: 0.98, limit: 3, explain: false };
    for (const given of [
      {},
      options,
      ...Object.entries(options).map(([name, value]) => ({ [name]: value })),
    ]) {
      expect((await ask('POST', '/namescreen/bulk', { names, ...given }, own)).status).toBe(200);
      expect(
        screened.map(({ name, threshold, limit, explain }) => ({ name, threshold, limit, explain })),
      ).toEqual(
        names.map((one) => ({
          ...one,
          ...{ threshold: undefined, limit: undefined, explain: undefined },
          ...given,
        })),
      );
    }
  });

  it('reads UK as the code of the United Kingdom, which lists write as GB', async () => {
    const accountId = `countries-${backend}`;
    const own = await world.key({ accountId });
    const names = [{ name: 'Ann Listed', countries: ['uk', 'GB', 'fr'] }];
    expect((await ask('POST', '/namescreen/bulk', { names }, own)).status).toBe(200);
    expect(screened).toMatchObject([{ countries: ['GB', 'GB', 'FR'] }]);
  });

  it.each([
    ['empty', '', 'names[1].name'],
    ['blank', '  ', 'names[1].name'],
    ['over-long', 'x'.repeat(301), 'names[1].name'],
    ['with a control character', 'a\u0007b', 'names[1].name'],
    ['no text', 7, 'names[1].name'],
    ['null', null, 'names[1].name'],
    ['only signs', '?!', 'names[1].name'],
    ['of too many words', `${'Mr '.repeat(30)}Kim Jong Un`, 'names[1].name: must have at most 24 words'],
  ])('rejects a name that is %s, names its position, and charges nothing', async (_, name, field) => {
    const before = await balance();
    const { status, body } = await ask('POST', '/namescreen/bulk', {
      names: [{ name: 'Good Name' }, { name }],
    });
    expect(status).toBe(400);
    expect(body.error).toContain(field);
    expect(await balance()).toBe(before);
  });

  it('rejects anything but 1 to 50 names, and invalid evidence', async () => {
    const before = await balance();
    const one = { name: 'Good Name' };
    for (const [body, words] of [
      [{}, 'names'],
      [{ names: [] }, 'names'],
      [{ names: Array.from({ length: 51 }, () => one) }, 'at most 50'],
      [{ names: ['Good Name'] }, 'names[0]'],
      [{ names: [{ ...one, birthDate: 'yesterday' }] }, 'names[0].birthDate'],
      [{ names: [{ ...one, birthDate: '1970-13' }] }, 'names[0].birthDate'],
      [{ names: [{ ...one, countries: ['Germany'] }] }, 'names[0].countries'],
      [{ names: [{ ...one, countries: ['DE', 'XX'] }] }, "names[0].countries[1]: 'XX' is not a country code"],
      [{ names: [{ ...one, schema: 'Ghost' }] }, 'names[0].schema'],
    ] as const) {
      const answer = await ask('POST', '/namescreen/bulk', body);
      expect([answer.status, answer.body.error]).toEqual([400, expect.stringContaining(words)]);
    }
    expect(await balance()).toBe(before);
  });

  it('requires the permission screening and enough credits for the whole request', async () => {
    const entity = await world.key({ permissions: ['entity'] });
    expect((await ask('POST', '/namescreen/bulk', { names: [{ name: 'A' }] }, entity)).status).toBe(403);
    const names = Array.from({ length: 50 }, (_, at) => ({ name: `Name ${at}` }));
    const before = await balance();
    expect(before).toBeLessThan(50);
    expect((await ask('POST', '/namescreen/bulk', { names })).status).toBe(402);
    expect(await balance()).toBe(before);
  });

  it('clears, marks, lists and deletes a cleared match, for its own account only', async () => {
    const wanted = { name: 'Ann Listed', source: 'EU', entityId: '1', note: 'another person' };
    expect((await ask('POST', '/namescreen/cleared', { ...wanted, entityId: '2' })).status).toBe(404);
    const made = await ask('POST', '/namescreen/cleared', wanted);
    expect(made).toMatchObject({
      status: 200,
      body: {
        data: { cleared: { source: 'EU', entityId: '1', entityName: 'Ann Listed', note: 'another person' } },
      },
    });
    const { id } = (made.body.data as unknown as { cleared: { id: string } }).cleared;
    const marked = await ask('POST', '/namescreen/bulk', { names: [{ name: 'Ann Listed' }] });
    expect(marked.body).toMatchObject({ results: [{ topMatches: [{ cleared: true }] }] });
    expect((await ask('GET', '/namescreen/cleared?limit=10')).body).toMatchObject({
      data: { cleared: [{ id }], nextCursor: null },
    });
    expect((await ask('GET', '/namescreen/cleared?limit=0')).status).toBe(400);
    expect((await ask('GET', '/namescreen/cleared?name=Ann%20Listed&limit=1')).body).toMatchObject({
      data: { cleared: [{ id }], nextCursor: null },
    });
    expect((await ask('GET', '/namescreen/cleared?name=Another')).body).toMatchObject({
      data: { cleared: [] },
    });
    const other = await world.key({ accountId: 'other-account' });
    expect((await ask('GET', '/namescreen/cleared', undefined, other)).body).toMatchObject({
      data: { cleared: [] },
    });
    expect((await ask('DELETE', `/namescreen/cleared/${id}`, undefined, other)).status).toBe(404);
    expect((await ask('DELETE', `/namescreen/cleared/${id}`)).status).toBe(200);
    expect((await ask('DELETE', `/namescreen/cleared/${id}`)).status).toBe(404);
  });

  it('allows 20 requests a minute', async () => {
    const plain = await world.key();
    const { headers } = await ask('GET', '/namescreen/cleared', undefined, plain);
    expect(headers.get('x-ratelimit-limit')).toBe('20');
  });
});
