/** Rows of registers that ship, and how files of the registers replace them. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { loadRegisterFacts } from '../../src/registers/catalogue.ts';
import { checkShippedRegisters, loadShippedRegisters } from '../../src/registers/shipped.ts';
import { caspFile, openRegisterWorld, type RegisterWorld } from './world.ts';

const registers = loadRegisterFacts();
const shipped = loadShippedRegisters(registers);
let world: RegisterWorld;
beforeAll(() => {
  world = openRegisterWorld();
});
afterAll(() => world.close());
const ask = (name: string, jurisdiction?: string) => world.statuses.answer(name, jurisdiction);

describe('rows that ship', () => {
  it('come from 20 registers, with date, source and verification', () => {
    expect(shipped.length).toBeGreaterThanOrEqual(20);
    expect(shipped.reduce((sum, { rows }) => sum + rows.length, 0)).toBeGreaterThan(1_300);
    for (const { rows } of shipped) for (const { span } of rows) expect(span.firstSeen).toMatch(/^20\d\d-/);
    // Only ESMA's own files were at hand.
    for (const { id, rows } of shipped)
      if (rows.some(({ verified }) => verified)) expect(id).toMatch(/^esma-/);
  });

  it.each([
    'us-fincen-msb',
    'ca-fintrac-msb',
    'ae-vara',
    'hk-sfc',
    'sg-mas',
    'jp-fsa',
    'au-austrac',
    'esma-emt',
  ])('of %s all have their number', (id) => {
    const rows = shipped.find((register) => register.id === id)?.rows ?? [];
    expect(rows.length).toBeGreaterThan(0);
    expect(rows.filter(({ details }) => details.registrationId === null)).toEqual([]);
    expect(registers.find((register) => register.id === id)?.idName).not.toBeNull();
  });

  it('of esma-casp have their LEI, except three that ESMA misprints', () => {
    const rows = shipped.find(({ id }) => id === 'esma-casp')?.rows ?? [];
    expect(rows.filter(({ details }) => details.registrationId === null)).toHaveLength(3);
    for (const { details } of rows) expect(details.registrationId).toBe(details.lei);
  });

  it('are validated', () => {
    const row = {
      jurisdiction: 'DE',
      authority: 'A',
      legalName: 'X GmbH',
      registeredAs: 'C',
      status: 'AUTHORISED',
      sourceUrl: 'https://example.org',
      verified: false,
    };
    const check = (change: object, register: object = {}) =>
      checkShippedRegisters(
        { registers: [{ id: 'esma-casp', asOf: '2026-01-01', rows: [{ ...row, ...change }], ...register }] },
        registers,
      );
    expect(check({})).toHaveLength(1);
    for (const [change, register, field] of [
      [{ status: 'GONE' }, {}, 'status'],
      [{ lei: '123' }, {}, 'lei'],
      [{ sourceUrl: 'a book' }, {}, 'sourceUrl'],
      [{ legalName: '' }, {}, 'legalName'],
      [{ verified: 'yes' }, {}, 'verified'],
      [{ tradeNames: 'x' }, {}, 'tradeNames'],
      [{}, { id: 'nobody' }, 'register'],
      [{}, { asOf: 'soon' }, 'asOf'],
    ] as const)
      expect(() => check(change, register)).toThrow(field);
  });
});

describe('a look-up among shipped rows', () => {
  it.each([
    ['HTX', 'HTX'],
    ['Huobi', 'HTX'],
    ['iFinex', 'Bitfinex'],
    ['BitMEX.com', 'BitMEX'],
    ['FTX', 'FTX'],
    ['Bitreserve', 'Uphold'],
    ['cex.io', 'CEX.IO'],
    ['CEXIO', 'CEX.IO'],
    ['WhiteBIT EU', 'WhiteBIT'],
    ['Swissquote Bank SA', 'Swissquote'],
    ['Garantex Europe OU', 'Garantex'],
  ])('knows %s as %s', (name, exchange) => {
    expect(ask(name).exchange).toBe(exchange);
  });

  it('are those of the exchange whose name they have as their legal name', () => {
    expect(ask('Bullish', 'HK').registrations).toMatchObject([
      { legalName: 'Bullish', status: 'AUTHORISED' },
    ]);
  });

  it('of an exchange and of firms that have the name of its group are all reported', () => {
    const { exchange, registrations } = ask('Ripple');
    expect(exchange).toBe('Ripple');
    const names = registrations.map(({ legalName }) => legalName);
    expect(names).toEqual(
      expect.arrayContaining(['RIPPLE MARKETS APAC PTE. LTD.', 'Hidden Road Partners CIV UK Ltd']),
    );
    expect(ask('Hidden Road').registrations.map(({ legalName }) => legalName)).not.toContain(
      'RIPPLE MARKETS APAC PTE. LTD.',
    );
  });

  it('answers with the number of each registration', () => {
    expect(ask('Uphold', 'GB').registrations).toMatchObject([{ register: 'gb-fca', source: 'shipped' }]);
    expect(ask('WhiteBIT').registrations).toMatchObject([
      { register: 'esma-casp', registrationId: '254900ERDZ4CZ5IF7P56', asOf: '2026-08-22', verified: false },
    ]);
    expect(ask('Upbit', 'KR').registrations).toContainEqual(
      expect.objectContaining({ registrationId: '119-86-54968', status: 'REGISTERED' }),
    );
    expect(ask('FTX').closed).toMatchObject({ at: '2022-11-11' });
  });

  it.each(['Bank', 'bank ltd', 'Bank Exchange', 'Coin', 'Exchange'])(
    'does not correct %s to an exchange',
    (name) => {
      expect(() => ask(name)).toThrowError(expect.objectContaining({ code: 'NOT_FOUND' }));
    },
  );
});

describe('a file of a register', () => {
  it('replaces the shipped rows if it is newer and whole, and only its own firms if it is not', async () => {
    const own = openRegisterWorld();
    const registrations = (name: string) =>
      own.statuses.answer(name, undefined).registrations.filter(({ register }) => register === 'esma-casp');
    try {
      const kraken = { name: 'Payward Europe Solutions Limited', lei: '254900641D8KNHUZYX24', state: 'IE' };
      await own.load('esma', [own.write('CASP20260201.csv', caspFile([kraken]))]);
      await own.statuses.refresh();
      // The older file does not say that the others are off the register.
      expect(registrations('WhiteBIT')).toMatchObject([{ source: 'shipped', status: 'AUTHORISED' }]);
      expect(registrations('Payward Europe Solutions Limited')).toContainEqual(
        expect.objectContaining({ source: 'esma', registrationId: kraken.lei, verified: true }),
      );
      await own.load('esma', [own.write('CASP20261101.csv', caspFile([kraken]))]);
      await own.statuses.refresh();
      expect(registrations('WhiteBIT')).toEqual([]);
      const { registersChecked } = own.statuses.answer('WhiteBIT', 'DE');
      expect(registersChecked.find(({ id }) => id === 'esma-casp')).toMatchObject({
        asOf: '2026-11-01',
        records: 1,
        source: 'esma',
        whole: true,
      });
    } finally {
      own.close();
    }
  });

  it('leaves its firms with the exchanges that the shipped rows were joined to', async () => {
    const own = openRegisterWorld();
    const row = (id: string, fields: string) =>
      own.write(
        `${id}-2026-11-01.csv`,
        `register,jurisdiction,authority,legal_name,status,registered_as,registration_id,trade_names\n${id},${fields}\n`,
      );
    const registrations = (name: string, register: string) =>
      own.statuses.answer(name, undefined).registrations.filter((one) => one.register === register);
    try {
      await own.load('registers', [
        row('hk-sfc', 'HK,SFC,Bullish HK Limited,AUTHORISED,Operator,BUQ956,'),
        row('ae-adgm', 'AE,FSRA,Kraken,AUTHORISED,Permission,,'),
        // Another firm that has the name of an exchange is not the exchange.
        row('us-fincen-msb', 'US,FinCEN,Kraken,REGISTERED,MSB,99999999,'),
      ]);
      await own.statuses.refresh();
      expect(registrations('Bullish', 'hk-sfc')).toMatchObject([
        { source: 'registers', legalName: 'Bullish HK Limited', asOf: '2026-11-01' },
      ]);
      expect(registrations('Kraken', 'ae-adgm')).toMatchObject([{ source: 'registers' }]);
      expect(
        registrations('Kraken', 'us-fincen-msb').map(({ registrationId }) => registrationId),
      ).not.toContain('99999999');
    } finally {
      own.close();
    }
  });
});
