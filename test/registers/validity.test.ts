/** Registrations and registers that ended, and exchanges that closed. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { silentLogger } from '../../src/base/log.ts';
import {
  checkExchanges,
  checkRegisterFacts,
  type ExchangeIdentity,
  loadExchanges,
  loadRegisterFacts,
} from '../../src/registers/catalogue.ts';
import { createExchangeStatuses } from '../../src/registers/exchange-status.ts';
import { caspFile, openRegisterWorld, type RegisterWorld } from './world.ts';

let world: RegisterWorld;
beforeAll(() => {
  world = openRegisterWorld();
});
afterAll(() => world.close());

const on = (day: string) =>
  createExchangeStatuses({
    store: world.store,
    log: silentLogger,
    clock: { now: () => Date.parse(day), monotonic: () => 0 },
  });

describe('a registration with a last day', () => {
  it('is in force on that day, and withdrawn after it', () => {
    const french = (day: string) =>
      on(day)
        .answer('Binance', 'FR')
        .registrations.find(({ register }) => register === 'fr-amf');
    expect(french('2026-07-01')).toMatchObject({
      status: 'REGISTERED',
      endedAt: null,
      validUntil: '2026-07-01',
    });
    expect(french('2026-07-02')).toMatchObject({
      status: 'WITHDRAWN',
      endedAt: '2026-07-01',
      validUntil: '2026-07-01',
      note: expect.stringContaining('MiCA'),
    });
  });

  it('of an imported file is in force on that day, and withdrawn after it', async () => {
    const other = openRegisterWorld();
    try {
      const row = (name: string, status: string, endedAt: string): string =>
        `zz-test,SG,Authority,${name},${status},Platform,${endedAt}`;
      const file = [
        'register,jurisdiction,authority,legal_name,status,registered_as,ended_at',
        row('Okapi Limited', 'AUTHORISED', '2026-06-01'),
        row('Quagga Limited', 'REGISTERED', '2026-06'),
        row('Zebu Limited', 'REVOKED', '2026-06-01'),
      ].join('\n');
      await other.load('registers', [other.write('zz-2026-05-01.csv', file)]);
      const statuses = (day: string) => {
        const clock = { now: () => Date.parse(day), monotonic: () => 0 };
        const { answer } = createExchangeStatuses({ store: other.store, log: silentLogger, clock });
        return ['Okapi Limited', 'Quagga Limited', 'Zebu Limited'].map(
          (name) => answer(name, undefined).registrations[0]?.status,
        );
      };
      expect(statuses('2026-06-01')).toEqual(['AUTHORISED', 'REGISTERED', 'REVOKED']);
      expect(statuses('2026-06-02')).toEqual(['WITHDRAWN', 'REGISTERED', 'REVOKED']);
      expect(statuses('2026-07-01')).toEqual(['WITHDRAWN', 'WITHDRAWN', 'REVOKED']);
    } finally {
      other.close();
    }
  });

  it("of an authority's file is in force until then, and withdrawn if the file is of a later day", async () => {
    const other = openRegisterWorld();
    try {
      const ending = (name: string, ended: string) => ({ name, lei: '', ended });
      const file = caspFile([ending('Okapi GmbH', '31/12/2026'), ending('Quagga GmbH', '01/10/2026')]);
      const [report] = await other.load('esma', [other.write('CASP20261101.csv', file)]);
      expect(report).toMatchObject({ inForce: 1 });
      const statuses = (day: string) => {
        const clock = { now: () => Date.parse(day), monotonic: () => 0 };
        const { answer } = createExchangeStatuses({ store: other.store, log: silentLogger, clock });
        return ['Okapi GmbH', 'Quagga GmbH'].map((name) => {
          const { status, validUntil, history } =
            answer(name, undefined).registrations.find(({ register }) => register === 'esma-casp') ?? {};
          return [status, validUntil, history?.at(-1)?.status];
        });
      };
      expect(statuses('2026-11-30')).toEqual([
        ['AUTHORISED', '2026-12-31', 'AUTHORISED'],
        ['WITHDRAWN', '2026-10-01', 'WITHDRAWN'],
      ]);
      expect(statuses('2027-01-01')[0]?.[0]).toBe('WITHDRAWN');
    } finally {
      other.close();
    }
  });

  it('comes after those in force', () => {
    const statuses = on('2026-11-22')
      .answer('Binance', undefined)
      .registrations.map(({ status }) => status);
    expect(statuses.at(-1)).toBe('WITHDRAWN');
    expect(statuses.indexOf('WITHDRAWN')).toBe(statuses.length - 1);
  });

  it('changes on the next day, although answers are cached', () => {
    const clock = { day: '2026-07-01', now: () => Date.parse(clock.day), monotonic: () => 0 };
    const statuses = createExchangeStatuses({ store: world.store, log: silentLogger, clock });
    const text = () => statuses.answerBytes('Binance', 'FR').toString();
    const before = text();
    expect(before).not.toContain('WITHDRAWN');
    clock.day = '2026-07-02';
    expect(text()).toContain('WITHDRAWN');
  });

  it('is not listed as a gap in coverage once its regime ended', () => {
    expect(on('2026-07-01').answer('Binance', 'FR').registersNotRead).toContain('fr-amf');
    expect(on('2026-07-02').answer('Binance', 'FR').registersNotRead).not.toContain('fr-amf');
  });
});

describe('facts about exchanges that ship', () => {
  it('include the end of Bittrex, with the source', () => {
    expect(on('2026-11-22').answer('Bittrex', undefined).closed).toMatchObject({
      at: '2023-12-04',
      sourceUrl: expect.stringMatching(/^https:/),
      asOf: '2023-11-20',
      verified: false,
    });
    expect(on('2026-11-22').answer('Kraken', undefined).closed).toBeNull();
  });

  it('include the registration of CB Payments with the FCA since 2025', () => {
    expect(on('2026-11-22').answer('Coinbase', 'GB').registrations).toContainEqual(
      expect.objectContaining({
        register: 'gb-fca',
        legalName: expect.stringMatching(/^CB Payments,? Ltd$/),
        status: 'REGISTERED',
        registeredAt: '2025-02-03',
        asOf: '2026-08-18',
        verified: false,
      }),
    );
  });

  it('is checked: sources, dates and validity of every row', () => {
    const registers = loadRegisterFacts();
    const [first] = loadExchanges(registers);
    const withRegistration = (change: object): ExchangeIdentity[] => {
      const [registration, ...others] = first?.registrations ?? [];
      return [{ ...first, registrations: [{ ...registration, ...change }, ...others] } as ExchangeIdentity];
    };
    expect(checkExchanges(withRegistration({}), registers)).toHaveLength(1);
    for (const [change, field] of [
      [{ validUntil: '2026-02-30' }, 'validUntil'],
      [{ validUntil: 'soon' }, 'validUntil'],
      [{ sourceUrl: 'a book' }, 'sourceUrl'],
      [{ register: 'nobody' }, 'nobody'],
      [{ status: 'GONE' }, 'GONE'],
    ] as const)
      expect(() => checkExchanges(withRegistration(change), registers)).toThrow(field);
    const closed = {
      at: '2023',
      note: '',
      sourceUrl: 'https://example.org',
      asOf: '2023-11-20',
      verified: false,
    };
    expect(() => checkExchanges([{ ...first, closed } as ExchangeIdentity], registers)).toThrow('closed.at');
    const [register] = registers;
    if (register === undefined) throw new Error('No register ships.');
    expect(() => checkRegisterFacts([{ ...register, validUntil: '2026' }])).toThrow('validUntil');
  });
});
