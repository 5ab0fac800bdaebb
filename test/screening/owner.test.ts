import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Transfer } from '../../src/chains/transfer.ts';
import { importSegment } from '../../src/labels/import-segment.ts';
import { createSegmentWriter } from '../../src/labels/index/segment.ts';
import type { LabelTemplate } from '../../src/labels/label.ts';
import { createAssessor } from '../../src/screening/assess.ts';
import { attribute, attributionAt } from '../../src/screening/attribution.ts';
import { createBulk } from '../../src/screening/bulk.ts';
import type { ScreeningDeps } from '../../src/screening/deps.ts';
import { createKyt } from '../../src/screening/kyt.ts';
import { createLabelSet, createLabelSetWriter } from '../../src/screening/label-set.ts';
import { createOracle } from '../../src/screening/oracle.ts';
import { createOracleWriter } from '../../src/screening/oracle-writer.ts';
import { createSanctionsCheck, createSanctionsCheckWriter } from '../../src/screening/sanctions-check.ts';
import { createScreening } from '../../src/screening/screen.ts';
import { parseSubject } from '../../src/screening/subject.ts';
import { createOwnerWorld, DESIGNATED, HTX, LABELLED, type OwnerWorld, UK_REGIME } from './owner-world.ts';
import { policy, sent } from './world.ts';

const address = (tail: string): string => `0x${tail.padStart(40, '0')}`;
const OWNED = address('a1');
const UNSURE = address('a2');
const TWICE = address('a3');
const CLUSTERED = address('a4');
const NAMED = address('a5');
const EARLY = address('e1');
const LATE = address('e2');
/** An unlisted token. */
const SPAM = '0x00000000000000000000000000000000deadbeef';
const BOTH = address('e3');
const SPAMMED = address('e4');
const POISONED = address('e5');
const DUSTED = address('e6');
const BEHIND = address('e7');
const PAYING = address('e8');
const SUSPECT_LATE = address('f1');
const SUSPECT_EARLY = address('f2');
const SUSPECT_DUST = address('f3');
const SUSPECT_PAYER = address('f4');
const SUSPECT_TOKEN = address('f5');

const quota = { limit: null, remaining: null, resetAt: '2026-12-01T00:00:00.000Z' };
const OWN_ROWS = [
  `${OWNED},ETH,htx,HTX,EXCHANGE,0.8`,
  `${UNSURE},ETH,htx,HTX,EXCHANGE,0.79`,
  `${TWICE},ETH,htx,HTX,EXCHANGE,0.79`,
];

const at = (date: string): Partial<Transfer> => ({ timestampMs: Date.parse(date) });
const TRANSFERS: readonly Transfer[] = [
  sent(1, OWNED, EARLY, at('2026-05-25T23:59:59.999Z')),
  sent(2, OWNED, LATE, at('2026-05-26T00:00:00.000Z')),
  sent(3, OWNED, BOTH, at('2026-01-10T00:00:00.000Z')),
  sent(4, OWNED, BOTH, at('2026-06-10T00:00:00.000Z')),
  sent(5, OWNED, SPAMMED, { ...at('2026-01-10T00:00:00.000Z'), asset: SPAM }),
  sent(6, OWNED, POISONED, { ...at('2026-01-10T00:00:00.000Z'), amount: 0n, valueUsd: 0 }),
  sent(7, UNSURE, SPAMMED, at('2026-01-10T00:00:00.000Z')),
  sent(8, UNSURE, POISONED, at('2026-01-10T00:00:00.000Z')),
  // Every customer of the exchange can withdraw a unit to a former customer.
  sent(9, OWNED, DUSTED, { ...at('2026-01-10T00:00:00.000Z'), amount: 10n ** 20n, valueUsd: 300_000 }),
  sent(10, OWNED, DUSTED, { ...at('2026-02-11T00:00:00.000Z'), amount: 10n ** 20n, valueUsd: 300_000 }),
  sent(11, OWNED, DUSTED, { ...at('2026-08-01T00:00:00.000Z'), amount: 1n, valueUsd: 0 }),
  sent(13, PAYING, OWNED, { ...at('2026-01-09T00:00:00.000Z'), valueUsd: 1_000 }),
  sent(14, UNSURE, SUSPECT_LATE, { ...at('2026-08-01T00:00:00.000Z'), valueUsd: 1_000 }),
  sent(15, UNSURE, SUSPECT_EARLY, { ...at('2026-01-10T00:00:00.000Z'), valueUsd: 1_000 }),
  sent(16, UNSURE, SUSPECT_DUST, { ...at('2026-01-10T00:00:00.000Z'), amount: 10n ** 18n, valueUsd: 3_000 }),
  sent(17, UNSURE, SUSPECT_DUST, { ...at('2026-08-01T00:00:00.000Z'), amount: 1n, valueUsd: 0 }),
  sent(18, SUSPECT_PAYER, UNSURE, { ...at('2026-08-01T00:00:00.000Z'), valueUsd: 1_000 }),
  sent(19, UNSURE, SUSPECT_TOKEN, { ...at('2026-08-01T00:00:00.000Z'), asset: SPAM }),
  sent(12, DUSTED, BEHIND, { ...at('2026-08-02T00:00:00.000Z'), amount: 10n ** 19n, valueUsd: 30_000 }),
];

let world: OwnerWorld;
let deps: ScreeningDeps;
beforeEach(async () => {
  world = await createOwnerWorld(TRANSFERS);
  await world.importOwn('first', OWN_ROWS);
  await world.importOwn('second', [`${TWICE},ETH,htx,Huobi,EXCHANGE,0.79`]);
});
afterEach(() => world.close());

const ENTRY = {
  list: 'UK',
  authority: 'FCDO / OFSI',
  program: UK_REGIME,
  entityName: HTX.name,
  entityId: HTX.id,
  listedAt: DESIGNATED,
  delistedAt: null,
  matchType: 'OWNER',
};

function text(writer: (out: Buffer) => number): unknown {
  const out = Buffer.alloc(64 * 1024);
  return JSON.parse(out.toString('utf8', 0, writer(out)));
}

const bulkOf = (of: string): unknown => {
  const { json } = createBulk(deps)(Buffer.from(JSON.stringify({ addresses: [of], chain: 'ETH' })));
  return (JSON.parse(Buffer.from(json).toString('utf8')) as { results: unknown[] }).results[0];
};

/** All answers that state whether an address is sanctioned. */
function answersOf(of: string) {
  const assessor = createAssessor(deps);
  return {
    labels: createLabelSet(deps)('ETH', of),
    check: createSanctionsCheck(deps)('ETH', of),
    oracle: createOracle(deps)('ETH', of, quota),
    screening: createScreening(deps, assessor)({ chain: 'ETH', address: of }),
    kyt: createKyt(deps, assessor)({ chain: 'ETH', address: of }),
  };
}

describe('an address of a designated owner', () => {
  it('is sanctioned in every answer from a confidence of 0.8 on', async () => {
    await world.importUk('2026-08-22', [HTX]);
    deps = await world.build();
    const { labels, check, oracle, screening, kyt } = answersOf(OWNED);
    const entry = { ...ENTRY, attribution: { source: 'own', confidence: 0.8, date: LABELLED } };
    const detail = { isSanctioned: true, agreementCount: 1, lists: [entry] };
    expect(labels).toMatchObject({
      sanctioned: true,
      sanctionsDetail: detail,
      labels: [{ entityId: 'htx', category: 'EXCHANGE' }],
    });
    expect(check).toMatchObject({ sanctioned: true, lists: [entry], agreementCount: 1 });
    expect(oracle).toMatchObject({ verdict: 'danger', score: 100, riskLevel: 'CRITICAL', sanctioned: true });
    expect(oracle.reasons[0]).toMatchObject({
      code: 'SANCTIONED_OWNER',
      severity: 'CRITICAL',
      category: 'SANCTIONED_ENTITY',
      source: 'own',
      message: expect.stringContaining('UK as HUOBI GLOBAL S.A.'),
    });
    expect(screening).toMatchObject({ sanctioned: true, sanctionsCheck: detail, riskScore: 100 });
    const entity = { name: 'HTX', category: 'EXCHANGE', threatLevel: 'CRITICAL' };
    expect(screening.entity).toEqual(entity);
    expect(oracle.entity).toEqual(entity);
    expect(kyt).toMatchObject({
      decision: 'BLOCK',
      riskScore: 100,
      address: { sanctioned: true, entity },
      flags: [{ code: 'SANCTIONED', message: 'Listed in force by UK: HUOBI GLOBAL S.A. (as owner).' }],
    });
    expect(bulkOf(OWNED)).toMatchObject({ sanctioned: true, sanctionsDetail: detail });
  });

  it('gives a HIGH reason and is not sanctioned below 0.8', async () => {
    await world.importUk('2026-08-22', [HTX]);
    deps = await world.build();
    const { labels, check, oracle, screening, kyt } = answersOf(UNSURE);
    expect(labels).toMatchObject({ sanctioned: false, sanctionsDetail: null });
    const reason = { code: 'SANCTIONED_OWNER', severity: 'HIGH', message: expect.stringContaining('0.79') };
    expect(check).toMatchObject({
      sanctioned: false,
      agreementCount: 0,
      lists: [{ ...ENTRY, attribution: { confidence: 0.79 } }],
      reasons: [reason],
    });
    expect(oracle.sanctioned).toBe(false);
    expect(oracle.verdict).not.toBe('danger');
    expect(oracle.reasons).toContainEqual(expect.objectContaining(reason));
    expect(screening).toMatchObject({ sanctioned: false, riskLevel: 'LOW' });
    expect(screening.reasons).toContainEqual(expect.objectContaining(reason));
    expect(kyt).toMatchObject({
      decision: 'REVIEW',
      flags: [{ code: 'DESIGNATED_OWNER', severity: 'HIGH' }],
    });
    expect(bulkOf(UNSURE)).toMatchObject({ sanctioned: false, sanctionsDetail: null });
  });

  it('is not sanctioned by two labels below the threshold', async () => {
    await world.importUk('2026-08-22', [HTX]);
    deps = await world.build();
    const { check, oracle } = answersOf(TWICE);
    expect(createLabelSet(deps)('ETH', TWICE).labels).toHaveLength(2);
    expect(check.sanctioned).toBe(false);
    expect(oracle.sanctioned).toBe(false);
  });

  it('has the same bytes as the serialized objects', async () => {
    await world.importUk('2026-08-22', [HTX]);
    deps = await world.build();
    for (const of of [OWNED, UNSURE, TWICE]) {
      const { labels, check, oracle } = answersOf(of);
      expect(text((out) => createLabelSetWriter(deps)('ETH', of, out, 0))).toEqual(labels);
      expect(text((out) => createSanctionsCheckWriter(deps)('ETH', of, out, 0))).toEqual(check);
      expect(text((out) => createOracleWriter(deps)('ETH', of, quota, out, 0))).toEqual(oracle);
      expect(bulkOf(of)).toEqual({
        address: labels.address,
        chain: labels.chain,
        labels: labels.labels,
        sanctioned: labels.sanctioned,
        sanctionsDetail: labels.sanctionsDetail,
        assessed: labels.assessed,
      });
    }
  });

  it('keeps the entry as history once the party is delisted, and counts before that date', async () => {
    await world.importUk('2026-08-22', [HTX]);
    await world.importUk('2026-10-01', []);
    deps = await world.build();
    const { check, oracle, screening, kyt } = answersOf(OWNED);
    expect(check).toMatchObject({ sanctioned: false, lists: [{ ...ENTRY, delistedAt: '2026-10-01' }] });
    expect(oracle).toMatchObject({ sanctioned: false, reasons: [{ code: 'DELISTED', severity: 'LOW' }] });
    expect(screening).toMatchObject({ sanctioned: false, riskLevel: 'LOW' });
    expect(kyt.decision).toBe('ALLOW');
    const screen = createScreening(deps, createAssessor(deps));
    const on = (asOf: string) => screen({ chain: 'ETH', address: OWNED, asOf }).sanctioned;
    expect([on('2026-05-25'), on('2026-05-26'), on('2026-09-30'), on('2026-10-01')]).toEqual([
      false,
      true,
      true,
      false,
    ]);
  });

  it('counts whether the labels or the list is imported first', async () => {
    deps = await world.build();
    const other = await createOwnerWorld();
    try {
      await world.importUk('2026-08-22', [HTX]);
      await other.importUk('2026-08-22', [HTX]);
      await other.importOwn('first', OWN_ROWS);
      await other.importOwn('second', [`${TWICE},ETH,htx,Huobi,EXCHANGE,0.79`]);
      const [one, two] = [await world.build(), await other.build()];
      expect(one.labels.current.meta.dataVersion).toBe(two.labels.current.meta.dataVersion);
    } finally {
      await other.close();
    }
  });

  it('counts by the shipped link until the list is imported, and by the list afterwards', async () => {
    deps = await world.build();
    expect(createSanctionsCheck(deps)('ETH', OWNED)).toMatchObject({
      sanctioned: true,
      lists: [{ ...ENTRY, sourceUrl: 'https://www.gov.uk/government/publications/the-uk-sanctions-list' }],
    });
    await world.importUk('2026-04-01', []);
    deps = await world.build();
    expect(createSanctionsCheck(deps)('ETH', OWNED)).toMatchObject({ sanctioned: false, lists: [] });
  });

  it('is not sanctioned by a designation without an asset freeze', async () => {
    await world.importUk('2026-08-22', [{ ...HTX, freeze: false }]);
    deps = await world.build();
    expect(createSanctionsCheck(deps)('ETH', OWNED)).toMatchObject({ sanctioned: false, lists: [] });
    expect(deps.labels.current.meta.designations).toContainEqual(
      expect.objectContaining({ entity: 'htx', assetFreeze: false, measures: ['Trust Services Sanctions'] }),
    );
  });

  it('is shown once if the list names the address itself', async () => {
    await world.importOwn('third', [`${NAMED},ETH,htx,HTX,EXCHANGE,0.9`]);
    await world.importUk('2026-08-22', [{ ...HTX, remarks: `Digital address: ${NAMED}` }]);
    deps = await world.build();
    const { lists } = createSanctionsCheck(deps)('ETH', NAMED);
    expect(lists).toMatchObject([{ list: 'UK', entityId: HTX.id, matchType: 'DIRECT' }]);
  });

  it('is only suspected from a derived label', async () => {
    const key = parseSubject('ETH', CLUSTERED).key;
    const template: LabelTemplate = {
      entity: { id: 'htx', name: 'HTX', category: 'EXCHANGE', jurisdiction: null, url: null },
      scope: 'EVM',
      category: 'EXCHANGE',
      threatLevel: 'SAFE',
      source: 'cluster',
      sourceUrl: null,
      tags: [],
      confidence: 0.95,
      sanctions: [],
      verified: true,
      synthetic: false,
    };
    await importSegment(
      {
        source: 'cluster',
        dataset: 'ETH',
        layout: 'CLUSTER',
        contentHash: 'a cluster',
        files: [],
        publishedAt: null,
        write: async (path) => {
          const segment = createSegmentWriter(path);
          segment.add(key, 0, key.length, segment.template(template), 0, 0);
          await segment.close();
          return { labels: 1, records: 1 };
        },
      },
      world.labels.deps,
    );
    await world.importUk('2026-08-22', [HTX]);
    deps = await world.build();
    const { check, oracle, kyt } = answersOf(CLUSTERED);
    expect(check).toMatchObject({ sanctioned: false, lists: [{ matchType: 'CLUSTER', entityId: HTX.id }] });
    expect(oracle.reasons).toContainEqual(
      expect.objectContaining({
        code: 'SANCTIONED',
        severity: 'HIGH',
        message: expect.stringContaining('Thought'),
      }),
    );
    expect(kyt.decision).toBe('REVIEW');
  });
});

describe('transfers with a designated owner', () => {
  beforeEach(async () => {
    await world.importUk('2026-08-22', [HTX]);
    deps = await world.build();
  });

  it('count as transfers with an exchange if they ended before the designation', () => {
    const { screening, kyt } = answersOf(EARLY);
    expect(screening.topCounterparties).toMatchObject([{ category: 'EXCHANGE', sanctioned: false }]);
    expect(screening).toMatchObject({ riskScore: 0, flaggedTransactions: [] });
    expect(screening.exposureReceiving).toEqual({ EXCHANGE: 100 });
    expect(screening.exposures).toMatchObject([{ category: 'EXCHANGE', type: 'DIRECT' }]);
    expect(screening.taint.methods.map(({ received }) => received)).toEqual([{ EXCHANGE: 100 }]);
    expect(screening.reasons).toMatchObject([
      {
        code: 'BEFORE_DESIGNATION',
        severity: 'LOW',
        category: 'EXCHANGE',
        message: expect.stringMatching(/HTX until 2026-05-25, before UK .* 2026-05-26/),
      },
    ]);
    expect(kyt).toMatchObject({ decision: 'ALLOW', flags: [] });
  });

  it('count as transfers with a sanctioned party from the day of the designation on', () => {
    const { screening, kyt } = answersOf(LATE);
    expect(screening.topCounterparties).toMatchObject([{ category: 'SANCTIONED_ENTITY', sanctioned: true }]);
    expect(screening.flaggedTransactions).toMatchObject([{ severity: 'CRITICAL' }]);
    expect(screening.exposureReceiving).toEqual({ SANCTIONED_ENTITY: 100 });
    expect(screening.reasons.map(({ code }) => code)).not.toContain('BEFORE_DESIGNATION');
    expect(kyt.flags[0]).toMatchObject({ code: 'SANCTIONED_EXPOSURE' });
    expect(kyt.decision).not.toBe('ALLOW');
  });

  it('are not reported if only an unknown token, or no amount, moved', () => {
    for (const of of [SPAMMED, POISONED]) {
      const codes = answersOf(of).screening.reasons.map(({ code }) => code);
      expect(codes).not.toContain('BEFORE_DESIGNATION');
    }
  });

  it('are flagged only since the designation', () => {
    const { screening } = answersOf(BOTH);
    expect(screening.flaggedTransactions.map(({ timestamp }) => timestamp.slice(0, 10))).toEqual([
      '2026-06-10',
    ]);
  });

  it('count by the amounts before and since, of one wallet', () => {
    const { screening } = answersOf(BOTH);
    expect(screening.exposureReceiving).toEqual({ SANCTIONED_ENTITY: 50, EXCHANGE: 50 });
    expect(screening.exposures).toMatchObject([
      { type: 'DIRECT', percentage: 50, txCount: 1 },
      { type: 'DIRECT', percentage: 50, txCount: 1 },
    ]);
    expect(screening.reasons).toContainEqual(
      expect.objectContaining({
        code: 'BEFORE_DESIGNATION',
        message: expect.stringMatching(
          /^Dealt with HTX until 2026-01-10, before UK .*: these earlier dealings /,
        ),
      }),
    );
  });

  it('are not dated later by a unit that anybody can send since', () => {
    const { screening, kyt, oracle } = answersOf(DUSTED);
    expect(screening).toMatchObject({ riskScore: 0, exposureReceiving: { EXCHANGE: 100 } });
    expect(screening.reasons).toContainEqual(
      expect.objectContaining({
        code: 'BEFORE_DESIGNATION',
        message: expect.stringMatching(
          /^Dealt with HTX until 2026-02-11, before UK .*: these earlier dealings /,
        ),
      }),
    );
    expect(screening.topCounterparties.map(({ txCount }) => txCount)).toEqual([3, 1]);
    expect(kyt.flags.map(({ severity }) => severity)).not.toContain('CRITICAL');
    expect(kyt.decision).toBe('ALLOW');
    expect(oracle.verdict).toBe('safe');
    expect(answersOf(BEHIND).screening).toMatchObject({
      riskScore: 0,
      exposureReceiving: { EXCHANGE: 100 },
    });
  });

  it('between two parties count by the amounts since the designation, without dust', () => {
    const pair = (to: string) =>
      createKyt(
        deps,
        createAssessor(deps),
      )({ chain: 'ETH', from: PAYING, to }).flags.map(({ category }) => category);
    expect(pair(DUSTED)).not.toContain('SANCTIONED_ENTITY');
    expect(pair(LATE)).toContain('SANCTIONED_ENTITY');
  });

  it.each([
    ['received', SUSPECT_LATE, 'Received value from'],
    ['sent', SUSPECT_PAYER, 'Sent value to'],
  ])('are reported without points if the owner is uncertain (%s)', (_way, of, verb) => {
    const { screening, kyt } = answersOf(of);
    const reason = {
      code: 'SUSPECTED_OWNER',
      severity: 'MEDIUM',
      category: 'SANCTIONED_ENTITY',
      message: `${verb} an address that own attributes to HUOBI GLOBAL S.A., listed by UK since 2026-05-26, with confidence 0.79: below 0.8, so these dealings do not count as dealings with a sanctioned party.`,
      source: null,
      verified: true,
    };
    expect(screening.reasons).toContainEqual(reason);
    expect(kyt.reasons).toContainEqual(reason);
    expect(screening).toMatchObject({ riskScore: 0, sanctioned: false });
    expect(kyt.decision).toBe('ALLOW');
  });

  it('are not reported of an uncertain owner if they were earlier, dust, or an unknown token', () => {
    for (const of of [SUSPECT_EARLY, SUSPECT_DUST, SUSPECT_TOKEN, LATE]) {
      const codes = answersOf(of).screening.reasons.map(({ code }) => code);
      expect(codes, of).not.toContain('SUSPECTED_OWNER');
    }
  });

  it('are attributed by the time of a transfer', () => {
    const { labels } = createAssessor(deps).read(parseSubject('ETH', OWNED), null);
    const attribution = attribute(labels, policy, null);
    expect(attribution).toMatchObject({ category: 'SANCTIONED_ENTITY', sanctioned: true });
    const fromMs = Date.parse(DESIGNATED);
    expect(attribution.until).toMatchObject({ fromMs, before: { category: 'EXCHANGE', sanctioned: false } });
    expect(attributionAt(attribution, fromMs - 1)).toMatchObject({ category: 'EXCHANGE' });
    expect(attributionAt(attribution, fromMs)).toBe(attribution);
  });
});
