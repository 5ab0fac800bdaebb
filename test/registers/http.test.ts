/** GET /exchange-status from socket to register file, on both servers. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { compileBody } from '../../src/http/pipeline/json-body.ts';
import { ExchangeStatusData } from '../../src/http/schemas/registers.ts';
import type { ExchangeStatus } from '../../src/registers/exchange-answer.ts';
import { openWorld, type World } from '../http/world.ts';
import { caspFile, openRegisterWorld, type RegisterWorld } from './world.ts';

describe.each(['uws', 'node'] as const)('GET /exchange-status on %s', (backend) => {
  let registers: RegisterWorld;
  let world: World;
  let key: string;
  beforeAll(async () => {
    registers = openRegisterWorld();
    await registers.load('esma', [
      registers.write(
        'CASP20261101.csv',
        caspFile([{ name: 'Payward Europe Solutions Limited', lei: '254900641D8KNHUZYX24', state: 'IE' }]),
      ),
    ]);
    world = await openWorld({ backend, useCases: { exchangeStatus: registers.statuses.answerBytes } });
    key = await world.key();
  });
  afterAll(async () => {
    await world.close();
    registers.close();
  });
  const ask = (query: string, asking = key): Promise<Response> =>
    fetch(`${world.url}/api/v1/exchange-status${query}`, { headers: { Authorization: `Bearer ${asking}` } });
  const checkData = compileBody(ExchangeStatusData);

  it('returns the registrations of an exchange in several countries, each with its source', async () => {
    const response = await ask('?name=Kraken');
    expect(response.status).toBe(200);
    expect(response.headers.get('x-ratelimit-limit')).toBe('100');
    const { success, data } = (await response.json()) as { success: boolean; data: ExchangeStatus };
    expect(success).toBe(true);
    checkData(data);
    expect(data.exchange).toBe('Kraken');
    expect(new Set(data.registrations.map((one) => one.jurisdiction)).size).toBeGreaterThanOrEqual(3);
    for (const one of data.registrations) expect(one.sourceUrl).toMatch(/^https:/);
    expect(data.totalRegistrations).toBe(data.registrations.length);
    const checked = new Map(data.registersChecked.map((register) => [register.id, register]));
    expect(checked.get('esma-casp')).toMatchObject({ source: 'esma', whole: true });
    expect(checked.get('us-nmls')).toMatchObject({ records: 0, source: null });
  });

  it('costs nothing, and decodes names from the path', async () => {
    expect((await ask('?name=crypto.com')).status).toBe(200);
    expect((await ask('?name=Independent+Reserve')).status).toBe(200);
    const encoded = (await (await ask('?name=Baden-W%C3%BCrttembergische%20krakken')).json()) as {
      error?: string;
    };
    expect(encoded.error).toContain('name:');
    const filtered = (await (await ask('?name=krakken&jurisdiction=ie')).json()) as { data: ExchangeStatus };
    expect(filtered.data.matched).toMatchObject({ by: 'NAME', value: 'Kraken', exact: false });
    expect(filtered.data.registrations.every((one) => one.jurisdiction === 'IE')).toBe(true);
  });

  it.each([
    ['', 400, 'name is required'],
    ['?name=', 400, 'name is required'],
    ['?name=%E0%A4%A', 400, 'name'],
    [`?name=${'x'.repeat(300)}`, 400, 'name: must have 1 to 200'],
    ['?name=kraken&jurisdiction=XX', 400, 'jurisdiction'],
    ['?name=kraken&jurisdiction=', 400, 'jurisdiction'],
    ['?name=krkn', 404, "'Kraken'"],
  ])('%s is %i', async (query, status, said) => {
    const response = await ask(query);
    expect(response.status).toBe(status);
    expect(((await response.json()) as { error: string }).error).toContain(said);
  });

  it('requires the permission entity, and has a rate limit of its own', async () => {
    const narrow = await world.key({ permissions: ['intel'] });
    expect((await ask('?name=kraken', narrow)).status).toBe(403);
    const slow = await world.key({ rateLimits: { 'exchange-status': 1 } });
    expect((await ask('?name=kraken', slow)).status).toBe(200);
    expect((await ask('?name=kraken', slow)).status).toBe(429);
  });
});
