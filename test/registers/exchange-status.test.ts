import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { silentLogger } from '../../src/base/log.ts';
import { projectRoot } from '../../src/base/paths.ts';
import { loadExchanges, loadRegisterFacts } from '../../src/registers/catalogue.ts';
import { createExchangeStatuses } from '../../src/registers/exchange-status.ts';
import { foldName, foldWithoutForm } from '../../src/registers/name-index.ts';
import { parseScope } from '../../src/registers/regions.ts';
import { esmaReader } from '../../src/sources/esma/read.ts';
import { REGISTER_SOURCES } from '../../src/sources/index.ts';
import { readLei } from '../../src/sources/registers/registration.ts';
import { describeWithSharedData, sharedData } from '../setup/shared-data.ts';
import { caspFile, clock, openRegisterWorld, type RegisterWorld } from './world.ts';

describe('what ships', () => {
  const registers = loadRegisterFacts();
  const exchanges = loadExchanges(registers);

  it('is 50 registers, each with an https page and a way in', () => {
    expect(registers).toHaveLength(50);
    expect(new Set(registers.map((one) => one.id)).size).toBe(50);
    const importers = REGISTER_SOURCES.map(({ id }) => id as string);
    for (const register of registers) {
      expect(new URL(register.url).protocol, register.id).toBe('https:');
      expect(importers).toContain(register.importer);
      expect(register.registers, register.id).not.toBe('');
      if (register.jurisdiction !== 'EU') expect(() => parseScope(register.jurisdiction)).not.toThrow();
    }
  });

  it('is at least 60 exchanges, whose names and domains are their own', () => {
    expect(exchanges.length).toBeGreaterThanOrEqual(60);
    const owner = new Map<string, string>();
    for (const { id, name, aliases, domains, legalEntities } of exchanges) {
      for (const text of [name, ...aliases, ...legalEntities.map((entity) => entity.name)]) {
        const folded = foldName(text);
        expect(owner.get(folded) ?? id, `${text} of ${id}`).toBe(id);
        owner.set(folded, id);
      }
      for (const domain of domains) {
        expect(owner.get(`@${domain}`) ?? id, domain).toBe(id);
        owner.set(`@${domain}`, id);
      }
      for (const { lei } of legalEntities) if (lei !== null) expect(readLei(lei)).toBe(lei);
    }
  });

  it('links to entities that the labels know', () => {
    const { entities } = JSON.parse(
      readFileSync(join(projectRoot, 'data', 'entity-aliases.json'), 'utf8'),
    ) as {
      entities: { id: string }[];
    };
    const known = new Set(entities.map((entity) => entity.id));
    for (const { id, entity } of exchanges) if (entity !== null) expect(known.has(entity), id).toBe(true);
    expect(exchanges.filter((one) => one.entity !== null).length).toBeGreaterThanOrEqual(40);
  });

  it('lists the countries that an exchange does not serve by ISO code, with source and date', () => {
    const restricted = exchanges.flatMap(({ restrictions }) => restrictions ?? []);
    expect(restricted.length).toBeGreaterThan(0);
    for (const { jurisdictions, sourceUrl, asOf, verified } of restricted) {
      expect(jurisdictions).toEqual([...new Set(jurisdictions)].sort());
      for (const code of jurisdictions) expect(() => parseScope(code)).not.toThrow();
      expect(new URL(sourceUrl).protocol).toBe('https:');
      expect(asOf).toMatch(/^\d{4}-\d{2}-\d{2}$/);
      // None of them is the exchange's current page, so they must not pass for today's terms.
      expect(verified).toBe(false);
    }
  });

  it('is marked as verified only if ESMA’s files have it', () => {
    const verified = exchanges.flatMap((one) => one.registrations.filter((fact) => fact.verified));
    expect(verified.length).toBeGreaterThanOrEqual(60);
    for (const fact of verified) expect(fact.register).toMatch(/^esma-/);
  });
});

describe('a firm that was renamed between two files', () => {
  const lei = '5299009N55YRQC69CN08';
  let world: RegisterWorld;
  beforeAll(async () => {
    world = openRegisterWorld();
    const file = (day: string, name: string): string =>
      world.write(`CASP202603${day}.csv`, caspFile([{ name, lei }, { name: `Other ${day} AG` }]));
    await world.load('esma', [file('02', 'Quokka Pay Limited')]);
    await world.load('esma', [file('01', 'Old Quagga GmbH'), file('03', 'New Wombat AG')]);
  });
  afterAll(() => world.close());

  it('is found by its former names, which are marked as such', () => {
    for (const name of ['Quokka Pay Ltd', 'old quagga']) {
      const { exchange, matched, registrations } = world.statuses.answer(name, undefined);
      expect([exchange, matched.by, matched.exact]).toEqual(['New Wombat AG', 'FORMER_NAME', true]);
      expect(registrations).toMatchObject([
        { legalName: 'New Wombat AG', formerNames: ['Old Quagga GmbH', 'Quokka Pay Limited'] },
      ]);
    }
    const { matched } = world.statuses.answer('New Wombat', undefined);
    expect(matched.by).toBe('LEGAL_NAME');
  });

  it('does not hide a firm that has the name now', async () => {
    const taken = caspFile([{ name: 'New Wombat AG', lei }, { name: 'Quokka Pay Limited' }]);
    await world.load('esma', [world.write('CASP20260304.csv', taken)]);
    await world.statuses.refresh();
    const { exchange, matched, registrations } = world.statuses.answer('Quokka Pay', undefined);
    expect([exchange, matched.by]).toEqual(['Quokka Pay Limited', 'LEGAL_NAME']);
    expect(registrations).toHaveLength(1);
  });
});

describeWithSharedData('what ships as verified', () => {
  it('agrees with the real files', async () => {
    const real = new Set<string>();
    for (const name of ['CASP20260130.csv', 'NCASP20260130.csv']) {
      for await (const record of esmaReader(sharedData('esma', name))) {
        if (record.type !== 'registration') continue;
        real.add(
          [record.register, record.jurisdiction, record.status, record.legalName, record.registeredAt].join(
            '|',
          ),
        );
        if (record.lei !== null) real.add(`${record.legalName}|${record.lei}`);
      }
    }
    for (const { legalEntities, registrations } of loadExchanges(loadRegisterFacts())) {
      for (const fact of registrations) {
        if (!fact.verified) continue;
        const { register, jurisdiction, status, legalName, registeredAt } = fact;
        expect(real).toContain([register, jurisdiction, status, legalName, registeredAt].join('|'));
      }
      for (const { name, lei, verified } of legalEntities)
        if (lei !== null && verified) expect(real).toContain(`${name}|${lei}`);
    }
  });
});

describe('looking an exchange up', () => {
  let world: RegisterWorld;
  beforeAll(async () => {
    world = openRegisterWorld();
    await world.load('esma', [
      world.write(
        'CASP20260101.csv',
        caspFile([
          {
            name: 'Payward Europe Solutions Limited',
            lei: '254900641D8KNHUZYX24',
            state: 'IE',
            site: 'https://www.kraken.com/',
            countries: 'DE|FR',
          },
          { name: 'Zebra Trading s. r. o.', state: 'SK', trade: 'Zebra', site: 'zebra.example' },
        ]),
      ),
    ]);
  });
  afterAll(() => world.close());
  const ask = (name: string, jurisdiction?: string) => world.statuses.answer(name, jurisdiction);

  it.each([
    ['Kraken', 'Kraken', 'NAME', true],
    ['  kRAKEN ', 'Kraken', 'NAME', true],
    ['okex', 'OKX', 'ALIAS', true],
    ['Huobi', 'HTX', 'ALIAS', true],
    ['payward europe solutions ltd.', 'Kraken', 'LEGAL_NAME', true],
    ['254900641d8knhuzyx24', 'Kraken', 'LEI', true],
    ['https://www.coinbase.com/de', 'Coinbase', 'DOMAIN', true],
    ['pro.kraken.com', 'Kraken', 'DOMAIN', true],
    ['krakken', 'Kraken', 'NAME', false],
    ['Binanse', 'Binance', 'NAME', false],
    ['Bitpnada', 'Bitpanda', 'NAME', false],
    ['Kraken Wallet', 'Kraken', 'NAME', false],
    ['Kraken Exchange', 'Kraken', 'ALIAS', true],
    ['Zebra Trading sro', 'Zebra', 'LEGAL_NAME', true],
  ])('%s is %s by %s', (text, exchange, by, exact) => {
    const answer = ask(text);
    expect(answer.exchange).toBe(exchange);
    expect(answer.matched).toMatchObject({ by, exact });
  });

  it('an older file of the register adds its history to the shipped row, and is linked to the label', () => {
    const { registrations, entityId } = ask('kraken', 'IE');
    expect(entityId).toBe('kraken');
    expect(registrations.filter((one) => one.legalName === 'Payward Europe Solutions Limited')).toMatchObject(
      [
        {
          source: 'shipped',
          verified: true,
          asOf: '2026-08-22',
          history: [
            { status: 'AUTHORISED', firstSeen: '2026-01-01', lastSeen: '2026-01-01' },
            { status: 'AUTHORISED', firstSeen: '2026-08-22', lastSeen: '2026-08-22' },
          ],
        },
      ],
    );
  });

  it('filters by jurisdiction: a country, firms passported into it, the Union', () => {
    expect(new Set(ask('kraken', 'gb').registrations.map((one) => one.jurisdiction))).toEqual(
      new Set(['GB']),
    );
    expect(ask('kraken', 'UK').jurisdiction).toBe('GB');
    expect(ask('kraken', 'DE').registrations.map((one) => one.jurisdiction)).toContain('IE');
    const union = ask('kraken', 'EU');
    expect(new Set(union.registrations.map((one) => one.jurisdiction))).toEqual(new Set(['IE']));
    expect(union.totalRegistrations).toBe(union.registrations.length);
    expect(ask('kraken', 'JP').registrations).toEqual([]);
    expect(() => ask('kraken', 'XX')).toThrowError(expect.objectContaining({ code: 'INVALID_REQUEST' }));
  });

  it('lists the registers that were read and those that were not', () => {
    const answer = ask('kraken', 'DE');
    const checked = new Map(answer.registersChecked.map((register) => [register.id, register]));
    expect(checked.get('esma-casp')).toMatchObject({ jurisdiction: 'EU', asOf: '2026-08-22', whole: true });
    expect(checked.get('esma-ncasp')).toMatchObject({ asOf: '2026-07-16', source: 'shipped', whole: true });
    // A register without rows says so, with the page on which people search it.
    expect(checked.get('de-bafin')).toEqual({
      id: 'de-bafin',
      jurisdiction: 'DE',
      asOf: null,
      records: 0,
      whole: false,
      source: null,
      url: 'https://portal.mvp.bafin.de/database/InstInfo/',
      access: expect.stringContaining('`assay import bafin FILE`'),
    });
    expect(answer.registersNotRead).toContain('de-bafin');
    expect(answer.registersNotRead).not.toContain('us-fincen-msb');
    const us = ask('kraken', 'US').registersChecked;
    expect(us.find(({ id }) => id === 'us-fincen-msb')).toMatchObject({ source: 'shipped', whole: false });
    expect(us.map(({ id }) => id)).not.toContain('esma-casp');
  });

  it('an unknown exchange is not found, with the nearest names', () => {
    expect(() => ask('Krkn')).toThrowError(
      expect.objectContaining({ code: 'NOT_FOUND', message: expect.stringContaining("'Kraken'") }),
    );
    expect(() => ask('qqqqzzzzxxxx')).toThrowError(expect.objectContaining({ code: 'NOT_FOUND' }));
    for (const bad of [' ', 'x'.repeat(201)])
      expect(() => ask(bad)).toThrowError(
        expect.objectContaining({ code: 'INVALID_REQUEST', field: 'name' }),
      );
  });

  it('a firm is not found by words that other firms have in their names, too', () => {
    for (const other of ['FTX Europe', 'Coinbase Europe Limited', 'Coinbase Europe Limited Exchange'])
      expect(() => ask(other), other).toThrowError(expect.objectContaining({ code: 'NOT_FOUND' }));
    for (const [typo, exchange] of [
      ['Coinjarr Europe Limited', 'CoinJar'],
      ['Robinhod Europe UAB', 'Robinhood'],
      ['Coinbasse Exchange', 'Coinbase'],
    ] as const)
      expect(ask(typo), typo).toMatchObject({ exchange, matched: { exact: false } });
  });

  it('firms of one name are all reported, and the firm that is known by the name is named', async () => {
    const other = openRegisterWorld();
    try {
      const file = caspFile([
        { name: 'Okapi Prime Ltd', state: 'MT', trade: 'Okapi Prime|Okapi' },
        { name: 'Okapi Markets AB', state: 'SE', trade: 'Okapi' },
        // The name of an exchange is a claim of the firm.
        { name: 'Clone UAB', state: 'LT', trade: 'Kraken' },
      ]);
      await other.load('esma', [other.write('CASP20260301.csv', file)]);
      const named = (name: string) =>
        other.statuses.answer(name, undefined).registrations.map(({ legalName }) => legalName);
      expect(named('Okapi')).toEqual(['Okapi Prime Ltd', 'Okapi Markets AB']);
      expect(other.statuses.answer('Okapi', undefined).exchange).toBe('Okapi');
      expect(other.statuses.answer('Okapi', 'SE').registrations).toMatchObject([{ jurisdiction: 'SE' }]);
      expect(named('Okapi Markets AB')).toEqual(['Okapi Markets AB']);
      expect(named('Kraken')).not.toContain('Clone UAB');
    } finally {
      other.close();
    }
  });

  it('a warning about a clone is not reported for the exchange that it imitates', async () => {
    const other = openRegisterWorld();
    try {
      const header =
        'ae_competentAuthority,ae_homeMemberState,ae_lei_name,ae_lei,ae_lei_cou_code,ae_commercial_name,ae_website,ae_infrigment,ae_reason,ae_decision_date,ae_comments,ae_lastupdate';
      const row = (name: string, site: string): string =>
        `TA,IT,${name},,,${name},${site},No,None,01/02/2026,,01/02/2026`;
      await other.load('esma', [
        other.write(
          'NCASP20260301.csv',
          [
            header,
            row('Kraken', 'https://kraken-clone.example'),
            row('MEXC Global', 'https://www.mexc.com/'),
            '',
          ].join('\n'),
        ),
      ]);
      expect(
        other.statuses.answer('Kraken', undefined).registrations.some((one) => one.status === 'WARNING'),
      ).toBe(false);
      expect(other.statuses.answer('kraken-clone.example', undefined).registrations).toMatchObject([
        { status: 'WARNING' },
      ]);
      // A warning about the site of the exchange itself applies to the exchange.
      expect(other.statuses.answer('MEXC', 'IT').registrations).toMatchObject([{ status: 'WARNING' }]);
      // The authority that warns of a firm is not the authority of its seat.
      expect(other.statuses.answer('MEXC', 'IT').legalEntities).toMatchObject([{ jurisdiction: null }]);
    } finally {
      other.close();
    }
  });

  it('loads a new import while it answers, and keeps the old state if it cannot be read', async () => {
    const errors: unknown[] = [];
    const statuses = createExchangeStatuses({
      store: world.store,
      log: { ...silentLogger, error: (line: unknown) => void errors.push(line) },
      clock,
    });
    expect(() => statuses.answer('Yak Markets', undefined)).toThrow();
    await world.load(
      'registers',
      [
        world.write(
          'r.csv',
          'register,jurisdiction,authority,legal_name,status,registered_as\nmy-list,AU,Own,Yak Markets Pty Ltd,PENDING,Exchange\n',
        ),
      ],
      { published: '2026-03-01' },
    );
    await statuses.refresh();
    expect(statuses.answer('Yak Markets', undefined).registrations).toMatchObject([{ status: 'PENDING' }]);
    expect(JSON.parse(statuses.answerBytes('Yak Markets', 'AU').toString('utf8'))).toEqual(
      statuses.answer('Yak Markets', 'AU'),
    );
    expect(errors).toEqual([]);
  });
});

describe('bytes of answers', () => {
  it('are cached for what a query finds, however it is written', () => {
    const own = openRegisterWorld();
    try {
      const statuses = createExchangeStatuses({ store: own.store, clock, log: silentLogger });
      const bytes = statuses.answerBytes('Kraken', 'DE');
      for (const [name, jurisdiction] of [
        ['kRAKEN', 'DE'],
        [' Kraken ', ' de '],
      ] as const)
        expect(statuses.answerBytes(name, jurisdiction), name).toBe(bytes);
      // Another country, a region, another name of the exchange, and a misspelt one have answers of their own.
      for (const [name, jurisdiction] of [
        ['Kraken', undefined],
        ['Kraken', 'FR'],
        ['Kraken', 'EU'],
        ['kraken.com', 'DE'],
        ['Krakken', 'DE'],
        ['Coinbase', 'DE'],
      ] as const)
        for (const round of ['first', 'cached'])
          expect(
            JSON.parse(statuses.answerBytes(name, jurisdiction).toString('utf8')),
            `${name} ${jurisdiction} ${round}`,
          ).toEqual(statuses.answer(name, jurisdiction));
    } finally {
      own.close();
    }
  });
});

describe('designations of exchanges', () => {
  const designation = {
    entity: 'htx',
    checkedBy: 'A. Analyst',
    list: 'UK',
    authority: 'FCDO / OFSI',
    entityName: 'HUOBI GLOBAL S.A.',
    entityId: 'RUS3619',
    program: 'The Russia (Sanctions) (EU Exit) Regulations 2019',
    listedAt: '2026-05-26',
    delistedAt: null,
    assetFreeze: true,
    measures: ['Asset freeze', 'Trust Services Sanctions'],
    sourceUrl: 'https://example.org/uk',
    basis: 'list',
    checkedAt: '2026-11-22',
    verified: true,
  } as const;
  const { entity: _, checkedBy: __, ...shown } = designation;

  it('are found by every name of the exchange, and change with the snapshot', () => {
    const own = openRegisterWorld();
    try {
      let designations: readonly (typeof designation)[] = [designation];
      const statuses = createExchangeStatuses({
        store: own.store,
        clock,
        log: silentLogger,
        designations: () => designations,
      });
      const bytes = (name: string, jurisdiction?: string): unknown =>
        JSON.parse(statuses.answerBytes(name, jurisdiction).toString('utf8'));
      for (const name of ['HTX', 'huobi', 'Huobi Global S.A.', 'huobi.com'])
        expect(bytes(name), name).toMatchObject({ sanctioned: true, designations: [shown] });
      expect(bytes('HTX', 'JP')).toMatchObject({ sanctioned: true, designations: [shown] });
      expect(bytes('Kraken')).toMatchObject({ sanctioned: false, designations: [] });
      designations = [{ ...designation, delistedAt: '2026-10-01' } as never];
      expect(bytes('HTX')).toMatchObject({
        sanctioned: false,
        designations: [{ ...shown, delistedAt: '2026-10-01' }],
      });
      const stale = { message: 'EU (never loaded)' };
      expect(bytes('Kraken')).toMatchObject({ sanctioned: false, reasons: [] });
      expect(JSON.parse(statuses.answerBytes('Kraken', undefined, stale).toString('utf8'))).toMatchObject({
        sanctioned: false,
        reasons: [{ code: 'STALE_OR_MISSING_DATA', severity: 'MEDIUM', ...stale }],
      });
      expect(bytes('Kraken')).toMatchObject({ reasons: [] });
      designations = [{ ...designation, assetFreeze: false } as never];
      expect(bytes('HTX')).toMatchObject({ sanctioned: false, designations: [{ assetFreeze: false }] });
    } finally {
      own.close();
    }
  });
});

it('the company form is ignored at both ends of a name', () => {
  for (const [one, other] of [
    ['UAB Decentralized', 'Decentralized'],
    ['FUMBI, s. r. o.', 'Fumbi'],
    ['Bitvavo B.V.', 'bitvavo'],
    ['Coinbase, Inc.', 'Coinbase Incorporated'],
    ['X Y, S.A.', 'X Y SA'],
    ['X Y S. A.', 'X Y SA'],
    ['Zebu S.à r.l.', 'Zebu SARL'],
    ['Zebu Sp. z o.o.', 'Zebu sp. zoo'],
    ['Zebu A/S', 'Zebu AS'],
    ['Zebu, S.L.U.', 'Zebu SLU'],
  ] as const)
    expect(foldWithoutForm(one)).toBe(foldWithoutForm(other));
  // A form is not all of a name.
  expect(['S. A.', 'AS SA', 'Coin Bit AG'].map(foldWithoutForm)).toEqual(['sa', 'as', 'coinbit']);
});
