import fc from 'fast-check';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { OracleQuota } from '../../src/screening/answers.ts';
import { createAssessor } from '../../src/screening/assess.ts';
import { createLabelContext } from '../../src/screening/context.ts';
import { createLabelSet, createLabelSetWriter, labelSetVersion } from '../../src/screening/label-set.ts';
import { createOracle } from '../../src/screening/oracle.ts';
import { createOracleWriter } from '../../src/screening/oracle-writer.ts';
import { createSanctionsCheck, createSanctionsCheckWriter } from '../../src/screening/sanctions-check.ts';
import { createScreening } from '../../src/screening/screen.ts';
import { allFresh, BTC_WALLET, createWorld, someStale, WALLETS, type World } from './world.ts';

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.close());
beforeEach(() => world.setLists(allFresh));

const quota: OracleQuota = { limit: 1000, remaining: 999, resetAt: '2026-12-01T00:00:00.000Z' };

it('the version of label sets changes if an answer changes without a new snapshot', async () => {
  const own = await createWorld();
  try {
    const contextNow = createLabelContext(own.deps);
    const seen = new Map<string, string>();
    const look = (): void => {
      const answer = createLabelSet(own.deps)('ETH', WALLETS.sanctioned);
      const version = labelSetVersion(contextNow());
      expect(version).toMatch(/^[\w.:-]+$/);
      const text = JSON.stringify(answer);
      expect(seen.get(version) ?? text).toBe(text);
      seen.set(version, text);
    };
    look();
    // The lists are checked every day, but no labels are imported for a year.
    for (let day = 0; day < 365; day++) {
      own.clock.at += 86_400_000;
      const checkedAt = new Date(own.clock.at).toISOString();
      if (day % 2 === 0)
        own.setLists({ ...allFresh, CH: { publishedAt: '2026-11-20', checkedAt, records: 10 } });
      look();
    }
    own.setLists(someStale);
    look();
    own.setLists({});
    look();
  } finally {
    await own.close();
  }
});

describe('the entity label set', () => {
  it('of an exchange is clean if all five lists are fresh', () => {
    const answer = createLabelSet(world.deps)('eth', WALLETS.exchange.toUpperCase().replace('0X', '0x'));
    expect(answer).toMatchObject({
      address: WALLETS.exchange,
      chain: 'ETH',
      labels: [
        {
          name: 'Binance',
          category: 'EXCHANGE',
          threatLevel: 'SAFE',
          source: 'graphsense',
          class: 'published',
          tags: ['hot wallet', 'a "quoted" tag'],
          confidence: 0.9,
          entityId: 'binance',
          jurisdiction: 'MT',
          firstSeen: '2021-05-01',
          lastSeen: null,
          verified: true,
          chain: 'EVM',
        },
      ],
      sanctioned: false,
      sanctionsDetail: null,
      assessed: true,
      reasons: [],
    });
    expect(answer.coverage).toMatchObject({
      labels: { status: 'COMPLETE', asOf: '2026-11-20T00:00:00.000Z' },
      graph: { status: 'NONE', asOf: null },
      sanctions: { status: 'COMPLETE', asOf: '2026-11-21T06:00:00.000Z' },
    });
    expect(answer.dataVersion).toBe(world.deps.labels.current.meta.dataVersion);
  });

  it('of a sanctioned wallet names every list in force', () => {
    const { sanctioned, sanctionsDetail } = createLabelSet(world.deps)('BSC', WALLETS.sanctioned);
    expect(sanctioned).toBe(true);
    expect(sanctionsDetail).toMatchObject({
      isSanctioned: true,
      agreementCount: 2,
      dataAsOf: '2026-11-21T06:00:00.000Z',
    });
    expect(sanctionsDetail?.lists.map((row) => row.list).sort()).toEqual(['EU', 'OFAC_SDN']);
  });

  it('of a delisted wallet is not sanctioned', () => {
    const answer = createLabelSet(world.deps)('ETH', WALLETS.delisted);
    expect(answer).toMatchObject({
      sanctioned: false,
      sanctionsDetail: null,
      labels: [{ category: 'MIXER' }],
    });
  });

  it('limits contracts to their own chain', () => {
    const ask = createLabelSet(world.deps);
    expect(ask('ETH', WALLETS.contract).labels).toHaveLength(1);
    expect(ask('BASE', WALLETS.contract)).toMatchObject({ labels: [], assessed: false });
  });

  it('marks shipped labels as unverified', () => {
    expect(createLabelSet(world.deps)('ETH', WALLETS.seeded).labels).toMatchObject([{ verified: false }]);
  });

  it('qualifies "not sanctioned" if lists are missing or stale, and names them', () => {
    world.setLists(someStale);
    const answer = createLabelSet(world.deps)('ETH', WALLETS.unknown);
    expect(answer).toMatchObject({
      sanctioned: false,
      assessed: false,
      coverage: { sanctions: { status: 'PARTIAL' } },
    });
    expect(answer.reasons).toMatchObject([{ code: 'STALE_OR_MISSING_DATA' }]);
    expect(answer.reasons[0]?.message).toMatch(/UK \(last checked 2026-10-20.*CH \(never loaded\)/);
  });

  it('rejects an invalid chain or address, and names the field', () => {
    const ask = createLabelSet(world.deps);
    expect(() => ask('ETHX', WALLETS.unknown)).toThrow(expect.objectContaining({ code: 'UNKNOWN_CHAIN' }));
    expect(() => ask('ETH', '0x12')).toThrow(
      expect.objectContaining({ code: 'INVALID_ADDRESS', field: 'address' }),
    );
    const write = createLabelSetWriter(world.deps);
    expect(() => write('ETH', `${WALLETS.unknown}0`, Buffer.alloc(4096), 0)).toThrow(
      expect.objectContaining({ code: 'INVALID_ADDRESS' }),
    );
  });
});

describe('the sanctions check', () => {
  it('shows lists, agreement and the dates of every list', () => {
    const answer = createSanctionsCheck(world.deps)('ETH', WALLETS.sanctioned);
    expect(answer).toMatchObject({ sanctioned: true, agreementCount: 2, assessed: true, reasons: [] });
    expect(answer.freshness).toMatchObject({
      OFAC_SDN: { publishedAt: '2026-11-20', checkedAt: '2026-11-21T06:00:00.000Z' },
      CH: { publishedAt: '2026-11-20' },
    });
  });

  it('keeps a delisted entry as history', () => {
    const answer = createSanctionsCheck(world.deps)('ETH', WALLETS.delisted);
    expect(answer).toMatchObject({
      sanctioned: false,
      agreementCount: 0,
      lists: [{ delistedAt: '2025-03-21' }],
    });
  });

  it('returns timestamps if a list was last checked on its publication date', () => {
    world.setLists({ OFAC_SDN: { publishedAt: '2025-03-21', checkedAt: '2025-03-21', records: 1 } });
    const answer = createSanctionsCheck(world.deps)('ETH', WALLETS.unknown);
    expect(answer).toMatchObject({
      dataAsOf: '2025-03-21T00:00:00.000Z',
      coverage: { sanctions: { status: 'PARTIAL' } },
    });
    expect(answer.freshness.OFAC_SDN).toEqual({
      publishedAt: '2025-03-21',
      checkedAt: '2025-03-21T00:00:00.000Z',
    });
    expect(answer.reasons[0]?.message).toContain('OFAC_CONS (never loaded)');
  });

  it('is qualified if a list was never loaded', () => {
    world.setLists({});
    const answer = createSanctionsCheck(world.deps)('ETH', WALLETS.unknown);
    expect(answer).toMatchObject({
      sanctioned: false,
      dataAsOf: null,
      coverage: { sanctions: { status: 'NONE', asOf: null } },
      reasons: [{ code: 'STALE_OR_MISSING_DATA' }],
    });
    expect(answer.freshness.EU).toEqual({ publishedAt: null, checkedAt: null });
  });
});

describe('the oracle', () => {
  const ask = (address: string, chain = 'ETH') => createOracle(world.deps)(chain, address, quota);

  it('returns danger with 100 for a sanction in force', () => {
    const answer = ask(WALLETS.sanctioned);
    expect(answer).toMatchObject({ verdict: 'danger', score: 100, riskLevel: 'CRITICAL', sanctioned: true });
    const codes = answer.reasons.map((reason) => reason.code);
    expect(codes).toEqual(['SANCTIONED', 'SANCTIONED']);
    expect(answer.reasons.map((reason) => reason.message).join()).toContain(
      'Listed by OFAC_SDN as LAZARUS GROUP under DPRK3',
    );
  });

  it('does not return a delisted mixer as sanctioned, and shows the past listing', () => {
    const answer = ask(WALLETS.delisted);
    expect(answer).toMatchObject({ verdict: 'warning', sanctioned: false });
    expect(answer.score).toBe(Math.round(world.deps.policy.weights.MIXER * 0.9));
    expect(answer.reasons.map((reason) => reason.code)).toEqual(['LABEL', 'DELISTED']);
    expect(answer.reasons[1]?.message).toContain('until 2025-03-21');
  });

  it('returns safe for an exchange', () => {
    expect(ask(WALLETS.exchange)).toMatchObject({
      verdict: 'safe',
      score: 0,
      riskLevel: 'LOW',
      reasons: [],
      assessed: true,
    });
  });

  it('returns danger for phishing of confidence 0.8, and names the source', () => {
    expect(ask(WALLETS.phishing)).toMatchObject({
      verdict: 'danger',
      score: 80,
      riskLevel: 'CRITICAL',
      entity: { name: 'Fake_Phishing77', category: 'PHISHING', threatLevel: 'CRITICAL' },
      reasons: [
        { code: 'LABEL', severity: 'CRITICAL', category: 'PHISHING', source: 'scams', verified: true },
      ],
    });
  });

  it('returns danger if two independent publishers agree, each below the threshold', () => {
    expect(ask(WALLETS.agreed)).toMatchObject({ verdict: 'danger', score: 80 });
  });

  it('does not score the crime from which seized coins came', () => {
    const answer = ask(WALLETS.seized);
    expect(answer).toMatchObject({ verdict: 'safe', entity: { category: 'SEIZED_FUNDS' } });
    expect(answer.score).toBe(Math.round(world.deps.policy.weights.SEIZED_FUNDS * 0.9));
    expect(answer.reasons.map(({ category }) => category)).toEqual(['SEIZED_FUNDS']);
  });

  it('names the owner, or null if no label does', () => {
    expect(ask(WALLETS.exchange).entity).toEqual({
      name: 'Binance',
      category: 'EXCHANGE',
      threatLevel: 'SAFE',
    });
    expect(ask(WALLETS.twice).entity?.name).toBe('Binance');
    expect(ask(WALLETS.unknown).entity).toBeNull();
  });

  it('separates stale lists from danger: an unknown address is a warning with one reason', () => {
    world.setLists(someStale);
    const unknown = ask(WALLETS.unknown);
    expect(unknown).toMatchObject({ verdict: 'warning', score: 0, entity: null });
    expect(unknown.reasons.map(({ code }) => code)).toEqual(['STALE_OR_MISSING_DATA']);
    expect(ask(WALLETS.phishing)).toMatchObject({ verdict: 'danger', score: 80 });
  });

  it('never returns safe while a list is missing or stale', () => {
    world.setLists(someStale);
    expect(ask(WALLETS.exchange)).toMatchObject({ verdict: 'warning', score: 0 });
    expect(ask(WALLETS.unknown).reasons).toMatchObject([
      { code: 'STALE_OR_MISSING_DATA', severity: 'MEDIUM' },
    ]);
    expect(ask(WALLETS.sanctioned)).toMatchObject({ verdict: 'danger', score: 100 });
  });

  it('changes from safe to warning when a list becomes stale, without an import', () => {
    const oracle = createOracle(world.deps);
    expect(oracle('ETH', WALLETS.unknown, quota).verdict).toBe('safe');
    const before = world.clock.at;
    world.clock.at += 8 * 86_400_000;
    expect(oracle('ETH', WALLETS.unknown, quota).verdict).toBe('warning');
    world.clock.at = before;
  });

  it('reports an unknown address as not assessed', () => {
    expect(ask(WALLETS.unknown)).toMatchObject({
      verdict: 'safe',
      score: 0,
      assessed: false,
      exposureAsOf: null,
      reasons: [{ code: 'NOT_ASSESSED', severity: 'LOW' }],
    });
  });

  it('scores the labels of an address exactly like a screening', () => {
    const screen = createScreening(world.deps, createAssessor(world.deps));
    for (const address of Object.values(WALLETS)) {
      const own = screen({ chain: 'ETH', address }).scoreBreakdown.filter(
        (factor) => factor.riskType === 'OWNERSHIP',
      );
      expect(ask(address).score).toBe(own.reduce((sum, factor) => sum + factor.points, 0));
    }
  });

  it('repeats the remaining quota and how long it is valid', () => {
    expect(ask(WALLETS.unknown)).toMatchObject({
      quota,
      ttlSeconds: 300,
      evaluatedAt: new Date(world.clock.at).toISOString(),
    });
  });
});

describe('answers as bytes', () => {
  const addresses: readonly (readonly [string, string])[] = [
    ...Object.values(WALLETS).flatMap((address) => [
      ['ETH', address] as const,
      ['polygon', address] as const,
    ]),
    ['BTC', BTC_WALLET],
    ['btc', '1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2'],
  ];
  const lists = [allFresh, someStale, {}];
  const anyCase = fc.tuple(fc.constantFrom(...addresses), fc.constantFrom(...lists), fc.nat({ max: 500 }));
  const anyQuota: fc.Arbitrary<OracleQuota> = fc.record({
    limit: fc.option(fc.nat(), { nil: null }),
    remaining: fc.option(fc.nat(), { nil: null }),
    resetAt: fc.constantFrom('2026-12-01T00:00:00.000Z', '2027-01-01T00:00:00.000Z'),
  });

  it('equal the JSON text of the objects, at any offset', () => {
    const { deps } = world;
    const out = Buffer.alloc(64 * 1024);
    const pairs = [
      [createLabelSet(deps), createLabelSetWriter(deps)],
      [createSanctionsCheck(deps), createSanctionsCheckWriter(deps)],
    ] as const;
    fc.assert(
      fc.property(anyCase, ([[chain, address], checks, offset]) => {
        world.setLists(checks);
        for (const [ask, write] of pairs) {
          const end = write(chain, address, out, offset);
          expect(out.toString('utf8', offset, end)).toBe(JSON.stringify(ask(chain, address)));
        }
      }),
    );
  });

  it('of the oracle equal the JSON text of its objects', () => {
    const { deps } = world;
    const out = Buffer.alloc(64 * 1024);
    const ask = createOracle(deps);
    const write = createOracleWriter(deps);
    fc.assert(
      fc.property(anyCase, anyQuota, ([[chain, address], checks, offset], left) => {
        world.setLists(checks);
        const end = write(chain, address, left, out, offset);
        expect(out.toString('utf8', offset, end)).toBe(JSON.stringify(ask(chain, address, left)));
      }),
    );
  });

  it('report insufficient space, and never write beyond the end', () => {
    const { deps } = world;
    const oracle = createOracleWriter(deps);
    const writers = [
      createLabelSetWriter(deps),
      createSanctionsCheckWriter(deps),
      (chain: string, address: string, out: Buffer, offset: number) =>
        oracle(chain, address, quota, out, offset),
    ];
    for (const write of writers) {
      for (const address of Object.values(WALLETS)) {
        const whole = Buffer.alloc(64 * 1024);
        const length = write('ETH', address, whole, 0);
        for (let size = 0; size < length; size += 7)
          expect(write('ETH', address, Buffer.alloc(size), 0)).toBe(-1);
      }
    }
  });
});
