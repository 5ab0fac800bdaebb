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

describe('a white paper with the LEI of another firm', () => {
  it('is of the firm that it names, and not of the exchange', async () => {
    for (const name of ['Eterna Ltd.', 'CarbonZero Corporation']) {
      const { exchange, entityId, registrations } = ask(name);
      expect([exchange, entityId]).toEqual([name, null]);
      expect(registrations).toMatchObject([{ register: 'esma-other', legalName: name }]);
    }
    const kraken = ask('Kraken', 'IE').registrations.map(({ legalName }) => legalName);
    expect(kraken).toContain('Payward Global Solutions LTD');
    expect(kraken).not.toContain('Eterna Ltd.');
    // The LEI is that of the firm that the register of service providers has.
    expect(ask('9845003D98SCC2851458').exchange).toBe('Kraken');
  });

  it('is so also in an imported file, whatever the order of the registers', async () => {
    const own = openRegisterWorld();
    const paper = (name: string, lei: string, casp = '', caspLei = '') =>
      `Central Bank of Ireland (CBI),IE,${name},${lei},VG,${casp},${caspLei},,,,https://example.org/${encodeURIComponent(name)}.pdf,,16/09/2025`;
    try {
      const file = [
        'ae_competentAuthority,ae_homeMemberState,ae_lei_name,ae_lei,ae_lei_cou_code,ae_lei_name_casp,ae_lei_casp,ae_offerCode_cou,ae_DTI_FFG,ae_DTI,wp_url,wp_comments,wp_lastupdate',
        paper('Okapi Ltd.', '9845003D98SCC2851458'),
        paper('Quagga Corporation', '9845003D98SCC2851458'),
        paper('Not Available', '', 'Payward Global Solutions LTD', '9845003D98SCC2851458'),
      ].join('\n');
      await own.load('esma', [own.write('OTHER20261101.csv', file)]);
      await own.statuses.refresh();
      for (const name of ['Okapi Ltd.', 'Quagga Corporation'])
        expect(own.statuses.answer(name, undefined)).toMatchObject({
          ...{ exchange: name, entityId: null },
          registrations: [{ register: 'esma-other', legalName: name, status: 'REGISTERED' }],
        });
      const kraken = own.statuses.answer('Kraken', 'IE').registrations;
      expect(kraken.filter(({ register }) => register === 'esma-other')).toMatchObject([
        { source: 'esma', legalName: 'Payward Global Solutions LTD' },
      ]);
      expect(() => own.statuses.answer('Not Available', undefined)).toThrowError(
        expect.objectContaining({ code: 'NOT_FOUND' }),
      );
    } finally {
      own.close();
    }
  });

  it('is not joined to a second firm of the same register either', async () => {
    const own = openRegisterWorld();
    const lei = '5299009N55YRQC69CN08';
    try {
      const file = caspFile([
        { name: 'Okapi GmbH', lei, site: 'okapi.example', services: 'a. custody' },
        { name: 'Zebu GmbH', lei, site: 'www.okapi.example', services: 'b. exchange' },
      ]);
      const renamed = file.replaceAll('01/02/2025', '');
      await own.load('esma', [own.write('CASP20261101.csv', renamed)]);
      await own.statuses.refresh();
      // One site: a firm that was renamed.
      expect(own.statuses.answer('Zebu GmbH', undefined).registrations).toMatchObject([
        { legalName: 'Okapi GmbH', services: ['a. custody', 'b. exchange'] },
      ]);
      const other = renamed.replace('www.okapi.example', 'zebu.example');
      await own.load('esma', [own.write('CASP20261102.csv', other)]);
      await own.statuses.refresh();
      expect(own.statuses.answer('Zebu GmbH', undefined).registrations).toMatchObject([
        { legalName: 'Zebu GmbH', services: ['b. exchange'] },
      ]);
      expect(own.statuses.answer('Okapi GmbH', undefined).registrations).toMatchObject([
        { legalName: 'Okapi GmbH', services: ['a. custody'] },
      ]);
    } finally {
      own.close();
    }
  });

  it('a firm that the register has under two names is found by both', () => {
    const names = ask('Newrails, UAB').registrations.map(({ register, legalName }) => [register, legalName]);
    expect(names).toContainEqual(['esma-emt', 'Ambr Payments, UAB']);
    expect(ask('Ambr Payments').registrations).toContainEqual(
      expect.objectContaining({ register: 'esma-emt', status: 'AUTHORISED' }),
    );
  });
});

describe('a file of a register', () => {
  it('replaces the shipped rows if it is newer and whole, and only its own firms if it is not', async () => {
    const own = openRegisterWorld();
    const registrations = (name: string) =>
      own.statuses.answer(name, undefined).registrations.filter(({ register }) => register === 'esma-casp');
    try {
      const kraken = { name: 'Payward Europe Solutions Limited', lei: '254900641D8KNHUZYX24', state: 'IE' };
      const gone = { name: 'Decubate B.V', lei: '894500ZVOL3A9LO8LN34', state: 'NL' };
      const unlisted = { name: 'Okapi Trading GmbH', lei: '5299009N55YRQC69CN08' };
      const older = own.write('CASP20260201.csv', caspFile([kraken, gone, unlisted]));
      await own.load('esma', [older]);
      await own.statuses.refresh();
      const checked = () =>
        own.statuses.answer('WhiteBIT', 'DE').registersChecked.find(({ id }) => id === 'esma-casp');
      // The shipped rows are the whole register of a later day.
      expect(checked()).toMatchObject({ asOf: '2026-08-22', whole: true, source: 'shipped' });
      expect(registrations('WhiteBIT')).toMatchObject([{ source: 'shipped', status: 'AUTHORISED' }]);
      expect(registrations(kraken.name)).toContainEqual(
        expect.objectContaining({
          ...{ source: 'shipped', asOf: '2026-08-22', registrationId: kraken.lei, verified: true },
          history: [
            expect.objectContaining({ firstSeen: '2026-02-01' }),
            expect.objectContaining({ firstSeen: '2026-08-22' }),
          ],
        }),
      );
      expect(registrations(gone.name)).toMatchObject([{ source: 'shipped', status: 'WITHDRAWN' }]);
      expect(registrations(unlisted.name)).toMatchObject([
        { source: 'shipped', asOf: '2026-08-22', status: 'WITHDRAWN', verified: false },
      ]);
      // A newer file that is not whole decides only about its own firms.
      const part = own.write(
        'part-2026-10-01.csv',
        'register,jurisdiction,authority,legal_name,status,registered_as,lei\n' +
          `esma-casp,DE,BaFin,${unlisted.name},AUTHORISED,CASP,${unlisted.lei}\n`,
      );
      await own.load('registers', [part]);
      await own.statuses.refresh();
      expect(registrations(unlisted.name)).toMatchObject([{ status: 'AUTHORISED', asOf: '2026-10-01' }]);
      expect(registrations(gone.name)).toMatchObject([{ status: 'WITHDRAWN' }]);
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
