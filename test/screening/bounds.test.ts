/** Limits of screenings: exactly on a day, exactly at a limit, and each half of a condition. */
import { describe, expect, it } from 'vitest';
import { copyInto, integerInto, textInto } from '../../src/base/byte-text.ts';
import { silentLogger } from '../../src/base/log.ts';
import { parseAddress } from '../../src/chains/address/parse.ts';
import type { Label, SanctionsEntry } from '../../src/labels/label.ts';
import { evmHeadInto, headInto } from '../../src/screening/answer-bytes.ts';
import { coverageAsOf, endOfDayMs, labelsAsOf } from '../../src/screening/as-of.ts';
import { UNATTRIBUTED } from '../../src/screening/attribution.ts';
import { balanceCoverage, balanceFacts, balanceSections } from '../../src/screening/balances.ts';
import { beforeDesignationReason, earlierDealings } from '../../src/screening/before-designation.ts';
import { createLabelContext, NOT_READ } from '../../src/screening/context.ts';
import { directEvidence } from '../../src/screening/direct-evidence.ts';
import { isDustDealing } from '../../src/screening/dust.ts';
import { flowTotal, netTotal } from '../../src/screening/flow-totals.ts';
import {
  isWorthReason,
  labelEvidence,
  labelReason,
  labelReasons,
  suspectedOwnerReasons,
} from '../../src/screening/judge.ts';
import { interpretLaw } from '../../src/screening/legal.ts';
import { realCounterparties, spoofKindOf } from '../../src/screening/poisoning.ts';
import { priceOf, weakestPrice } from '../../src/screening/price-shown.ts';
import { createRememberedDegrees } from '../../src/screening/remembered-degrees.ts';
import {
  entryIdentity,
  isDirectHit,
  isHistory,
  isInForce,
  isSanctionHit,
  isSuspectedOwner,
  sanctionsDetail,
  sanctionsEntries,
} from '../../src/screening/sanctions-detail.ts';
import { hasChecksum, parseSubject, shownAsset } from '../../src/screening/subject.ts';
import { suspectedOwnerDealings } from '../../src/screening/suspected-owner.ts';
import { directionBasis, NOTHING_MOVED, withDust } from '../../src/screening/weighing.ts';
import { memoryGraph } from '../graph/memory-graph.ts';
import { NOW, policy } from './world.ts';

const entry = (change: Partial<SanctionsEntry> = {}): SanctionsEntry => ({
  list: 'OFAC_SDN',
  authority: 'OFAC',
  program: null,
  entityName: 'Party',
  entityId: '1',
  listedAt: '2024-01-10',
  listedAtBasis: 'PARTY',
  delistedAt: null,
  sourceUrl: '',
  matchType: 'DIRECT',
  ...change,
});
const owner = (confidence: number, change: Partial<SanctionsEntry> = {}) =>
  entry({ matchType: 'OWNER', attribution: { source: 'seed', confidence, date: null }, ...change });
const label = (change: Partial<Label> = {}): Label => ({
  entity: { id: 'e', name: 'E', category: 'OTHER', jurisdiction: null, url: null },
  scope: 'ETH',
  category: 'OTHER',
  threatLevel: 'LOW',
  source: 'seed',
  class: 'published',
  sourceUrl: null,
  tags: [],
  confidence: 0.8,
  sanctions: [],
  verified: true,
  synthetic: false,
  firstSeen: null,
  lastSeen: null,
  ...change,
});
const listed = (change: Partial<Label> = {}) =>
  label({ category: 'SANCTIONED_ENTITY', threatLevel: 'CRITICAL', sanctions: [entry()], ...change });

describe('a list entry', () => {
  it('is in force from the day of its listing to the day before its delisting', () => {
    const past = entry({ delistedAt: '2024-03-01T10:00:00Z' });
    expect(
      ['2024-01-09', '2024-01-10', '2024-02-29', '2024-03-01'].map((day) => isInForce(past, day)),
    ).toEqual([false, true, true, false]);
    expect([isInForce(past), isInForce(entry()), isInForce(entry({ listedAt: null }), '1990-01-01')]).toEqual(
      [false, true, true],
    );
    expect([
      isDirectHit(entry()),
      isDirectHit(past),
      isDirectHit(owner(1)),
      isSanctionHit(owner(1)),
      isSanctionHit(owner(0.5)),
      isSanctionHit(past),
    ]).toEqual([true, false, false, true, false, false]);
    expect([
      isSuspectedOwner(owner(0.5)),
      isSuspectedOwner(owner(1)),
      isSuspectedOwner(entry()),
      isSuspectedOwner(owner(0.5, { delistedAt: '2024-03-01' })),
    ]).toEqual([true, false, false, false]);
    expect([
      isHistory(listed()),
      isHistory(listed({ sanctions: [past] })),
      isHistory(listed({ sanctions: [] })),
      isHistory(label({ sanctions: [past] })),
      isHistory(listed(), '2024-01-09'),
    ]).toEqual([false, true, false, false, true]);
  });

  it('is reported once, by its best attribution, unless the list already reports it', () => {
    const entries = (...sanctions: SanctionsEntry[]) =>
      sanctionsEntries(sanctions.map((one) => label({ sanctions: [one] })));
    expect(entries(entry(), entry())).toHaveLength(1);
    expect(
      entries(owner(0.5), owner(0.9), owner(0.7)).map(({ attribution }) => attribution?.confidence),
    ).toEqual([0.9]);
    expect(entries(entry(), owner(1)).map(({ matchType }) => matchType)).toEqual(['DIRECT']);
    expect(entries(entry({ delistedAt: '2024-03-01' }), owner(1)).map(({ matchType }) => matchType)).toEqual([
      'OWNER',
      'DIRECT',
    ]);
    expect(entries(entry({ list: 'EU' }), owner(1))).toHaveLength(2);
    // A wallet that was listed twice has two ends; two sources may describe one of them.
    const ended = entry({ delistedAt: '2024-03-01' });
    expect(entries(ended, entry({ delistedAt: '2025-03-01' }))).toHaveLength(2);
    expect(entries(ended, entry({ delistedAt: '2024-03-01', program: 'X' }))).toHaveLength(1);
    expect(entries(entry({ entityId: '2' }), owner(1))).toHaveLength(2);
    const dated = [
      label({ sanctions: [owner(0.5)], lastSeen: '2025-01-01' }),
      label({ sanctions: [owner(0.5)], firstSeen: '2025-01-02' }),
    ];
    expect(sanctionsEntries(dated)[0]?.attribution?.date).toBe('2025-01-02');
    expect(entryIdentity(entry())).not.toBe(entryIdentity(entry({ program: 'X' })));
    const detail = sanctionsDetail(
      [
        label({
          sanctions: [
            entry(),
            entry({ list: 'OFAC_CONS' }),
            entry({ list: 'EU' }),
            owner(0.5, { list: 'UN' }),
          ],
        }),
      ],
      'now',
    );
    expect(detail).toMatchObject({
      isSanctioned: true,
      agreementCount: 2,
      dataAsOf: 'now',
      lists: { length: 4 },
    });
    expect(sanctionsDetail([label({ sanctions: [owner(0.5)] })], null)).toMatchObject({
      isSanctioned: false,
      agreementCount: 0,
    });
  });

  it('has a reason that names it', () => {
    const reason = (one: SanctionsEntry, verified = true) =>
      labelReasons([label({ sanctions: [one], verified })], policy)[0];
    expect(reason(entry({ program: 'CYBER' }))).toMatchObject({
      code: 'SANCTIONED',
      severity: 'CRITICAL',
      verified: true,
      message: 'Listed by OFAC_SDN as Party under CYBER since 2024-01-10.',
    });
    expect(reason(entry({ listedAt: null }), false)).toMatchObject({
      verified: false,
      message: 'Listed by OFAC_SDN as Party.',
    });
    expect(reason(entry({ delistedAt: '2024-03-01' }))).toMatchObject({
      code: 'DELISTED',
      severity: 'LOW',
      message: 'Was listed by OFAC_SDN as Party until 2024-03-01; not in force.',
    });
    expect(reason(entry({ matchType: 'CLUSTER' }))).toMatchObject({
      severity: 'HIGH',
      message: expect.stringContaining('share its owner'),
    });
    expect(reason(owner(1, { matchType: 'CLUSTER' }))).toMatchObject({
      severity: 'HIGH',
      message: expect.stringContaining('belong to a party'),
    });
    expect(reason(owner(0.8))).toMatchObject({ code: 'SANCTIONED_OWNER', severity: 'CRITICAL' });
    expect(reason(owner(0.79))).toMatchObject({
      code: 'SANCTIONED_OWNER',
      severity: 'HIGH',
      message: expect.stringContaining('below 0.8'),
    });
    expect(
      suspectedOwnerReasons([label({ sanctions: [owner(0.5), entry({ entityId: '2' })] })]),
    ).toHaveLength(1);
    expect(labelReasons([], policy)).toEqual([]);
  });
});

describe('a label', () => {
  it('scores by its threat, and at least one point', () => {
    for (const threatLevel of ['MEDIUM', 'HIGH', 'CRITICAL'] as const)
      expect(isWorthReason(label({ threatLevel, confidence: 0 }), policy)).toBe(true);
    const weighed = { ...policy, weights: { ...policy.weights, OTHER: 2 } };
    expect([0.5, 0.49].map((confidence) => isWorthReason(label({ confidence }), weighed))).toEqual([
      true,
      false,
    ]);
    expect([labelReason(label({}), 'LOW').severity, labelReason(label({}), 'HIGH').severity]).toEqual([
      'LOW',
      'HIGH',
    ]);
    expect(labelReasons([listed()], policy).map(({ code }) => code)).toEqual(['SANCTIONED']);
    expect(labelReasons([listed({ sanctions: [] })], policy).map(({ code }) => code)).toEqual(['LABEL']);
  });

  it('makes its address a service if it is the first, published and harmless', () => {
    const service = label({ category: 'EXCHANGE' });
    const isService = (...labels: Label[]) => labelEvidence(labels, policy).isService;
    expect([
      isService(service),
      isService(),
      isService({ ...service, class: 'inferred' }),
      isService(label(), service),
      isService(label({ category: 'SCAM' })),
    ]).toEqual([true, false, false, false, false]);
    expect(isService(label({ category: 'MIXER' }))).toBe(false);
    expect(labelEvidence([listed({ sanctions: [owner(1)] })], policy).sanctions).toEqual([
      'OFAC_SDN: Party (as owner)',
    ]);
  });

  const reader = (...labels: Label[]) => {
    const meta = {
      sources: [
        { id: 'seed', publishedAt: '2024-01-01', importedAt: '2025-01-01', lists: [] },
        { id: 'seed', publishedAt: null, importedAt: '2023-01-01', lists: [] },
        { id: 'ofac', publishedAt: null, importedAt: '2025-01-01', lists: ['OFAC_SDN'] },
      ],
    };
    return { meta, lookup: () => labels, labels: () => labels } as never;
  };
  const then = (day: string, one: Label) =>
    labelsAsOf(reader(one), day, policy).lookup(undefined as never, 'ETH')[0];

  it('is known from its own date on, or from the date of its newest dataset', () => {
    expect([
      then('2024-05-01', label({ firstSeen: '2024-05-01T10:00:00Z' })) !== undefined,
      then('2024-04-30', label({ firstSeen: '2024-05-01' })),
      then('2024-05-01', label({ lastSeen: '2024-05-02' })),
    ]).toEqual([true, undefined, undefined]);
    expect([
      then('2024-01-01', label()) !== undefined,
      then('2023-12-31', label()),
      then('2030-01-01', label({ source: 'unknown' })),
    ]).toEqual([true, undefined, undefined]);
  });

  it('of a list shows the state of the list on that day', () => {
    const past = listed({
      category: 'OTHER',
      threatLevel: 'LOW',
      source: 'ofac',
      confidence: 0.5,
      tags: ['delisted', 'x'],
      sanctions: [entry({ delistedAt: '2024-03-01' })],
    });
    expect(then('2024-01-09', past)).toBeUndefined();
    expect(then('2024-02-29', past)).toMatchObject({
      category: 'SANCTIONED_ENTITY',
      threatLevel: 'CRITICAL',
      confidence: 1,
      tags: ['sanctioned', 'x'],
      sanctions: [{ delistedAt: null }],
    });
    expect(then('2024-03-01', past)).toMatchObject({
      category: 'OTHER',
      sanctions: [{ delistedAt: '2024-03-01' }],
    });
    expect(then('2024-01-10', listed({ source: 'ofac' }))).toMatchObject({
      category: 'SANCTIONED_ENTITY',
      confidence: 0.8,
    });
    expect(
      then(
        '2024-02-01',
        label({ firstSeen: '2024-01-01', sanctions: [owner(1, { listedAt: '2024-02-02' })] }),
      ),
    ).toMatchObject({ sanctions: [] });
    const undated = listed({
      source: 'ofac',
      firstSeen: '2024-01-05',
      sanctions: [entry({ listedAt: null })],
    });
    expect([then('2024-01-04', undated), then('2024-01-05', undated) !== undefined]).toEqual([
      undefined,
      true,
    ]);
    expect(endOfDayMs('2024-01-01')).toBe(Date.UTC(2024, 0, 2) - 1);
    const complete = { status: 'COMPLETE', asOf: 'x' } as const;
    const coverage = {
      labels: complete,
      sanctions: { ...complete, status: 'NONE' },
      graph: complete,
    } as never;
    expect(coverageAsOf(coverage)).toMatchObject({
      labels: { status: 'PARTIAL' },
      sanctions: { status: 'NONE' },
      graph: { status: 'COMPLETE' },
    });
  });
});

describe('the label context', () => {
  it('is complete while its newest import is recent, and is checked once a second', () => {
    const source = (id: string, labels: number, importedAt: string) => ({ id, labels, importedAt });
    const at = (ageMs: number) => new Date(NOW - ageMs).toISOString();
    const day = 86_400_000;
    const contextOf = (
      sources: object[],
      freshness: object = { complete: true, asOf: at(0), staleLists: [] },
    ) => {
      const world = { now: NOW, reads: 0, freshness };
      const labels = { current: { meta: { sources } } };
      const context = createLabelContext({
        labels,
        clock: { now: () => world.now },
        policy: { labelsMaxAgeDays: 2 },
        freshness: () => {
          world.reads++;
          return world.freshness;
        },
      } as never);
      return { world, context };
    };
    const status = (...sources: object[]) => contextOf(sources).context().coverage.labels;
    expect([
      status(source('a', 1, at(2 * day))).status,
      status(source('a', 1, at(2 * day + 1))).status,
    ]).toEqual(['COMPLETE', 'PARTIAL']);
    expect(status(source('a', 1, at(5 * day)), source('b', 1, at(day)))).toEqual({
      status: 'COMPLETE',
      asOf: at(day),
    });
    expect([status(source('seed', 1, at(0))), status(source('a', 0, at(0))), status()]).toEqual([
      { status: 'PARTIAL', asOf: at(0) },
      NOT_READ,
      NOT_READ,
    ]);
    const { world, context } = contextOf([source('a', 1, at(0))]);
    const first = context();
    world.now += 999;
    world.freshness = {
      complete: false,
      asOf: at(day),
      staleLists: [
        { list: 'EU', checkedAt: at(day) },
        { list: 'UN', checkedAt: null },
      ],
    };
    expect([context() === first, world.reads]).toEqual([true, 1]);
    world.now += 1;
    expect(context()).toMatchObject({
      sanctionsAsOf: at(day),
      coverage: { sanctions: { status: 'PARTIAL' } },
      staleReason: { message: expect.stringContaining(`EU (last checked ${at(day)}), UN (never loaded)`) },
    });
    expect(first).toMatchObject({ staleReason: null, coverage: { sanctions: { status: 'COMPLETE' } } });
    expect(
      contextOf([], { complete: false, asOf: null, staleLists: [] }).context().coverage.sanctions,
    ).toEqual(NOT_READ);
  });
});

describe('response bytes', () => {
  it('fit exactly into their space, and are never written beyond it', () => {
    const out = Buffer.alloc(25);
    const text = Buffer.from('x'.repeat(25));
    expect([
      copyInto(text, out, 0),
      copyInto(text, out, 1),
      copyInto(text, out, -1),
      copyInto(Buffer.from('ab'), out, 23),
      copyInto(Buffer.from('ab'), out, 24),
    ]).toEqual([25, -1, -1, 25, -1]);
    for (const value of [0, 9, 10, 99, 100, 4_294_967_295, 4_294_967_296, -1, 1.5, null]) {
      const wide = Buffer.alloc(60);
      expect(wide.toString('latin1', 0, integerInto(value, wide, 0))).toBe(String(value));
    }
    expect([integerInto(10, out, 23), integerInto(10, out, 24), integerInto(10, out, -1)]).toEqual([
      25, -1, -1,
    ]);
    expect([textInto('ab', out, 19), textInto('ab', out, 20), textInto('ab', out, -1)]).toEqual([21, -1, -1]);
    const room = Buffer.alloc(641);
    expect([
      evmHeadInto(Buffer.alloc(22, 0xab), 'ETH', room, 2),
      headInto('x', 'BTC', room, 2),
      headInto('x', 'BTC', room, -1),
    ]).toEqual([-1, -1, -1]);
    const end = evmHeadInto(Buffer.alloc(22, 0xab), 'ETH', room, 1);
    expect(room.toString('latin1', 1, end)).toBe(`{"address":"0x${'ab'.repeat(20)}","chain":"ETH",`);
    expect(room.toString('latin1', 0, headInto('x', 'BTC', room, 0))).toBe('{"address":"x","chain":"BTC",');
  });
});

describe('balances and totals', () => {
  const report = {
    status: 'COMPLETE',
    asOf: 'now',
    chains: [
      { chain: 'BSC', balance: 1, balanceUsd: 2 },
      { chain: 'ETH', balance: 3, balanceUsd: null },
    ],
  } as never;

  it('cover the chain and the others beside it, and are omitted for an earlier date', async () => {
    expect(balanceSections('ETH', report)).toEqual({
      balance: 3,
      balanceUsd: null,
      crossChainBalances: { BSC: { balance: 1, balanceUsd: 2 }, ETH: { balance: 3, balanceUsd: null } },
    });
    expect(balanceSections('ETH', undefined)).toEqual({
      balance: null,
      balanceUsd: null,
      crossChainBalances: {},
    });
    expect([balanceCoverage(undefined), balanceCoverage(report)]).toEqual([
      NOT_READ,
      { status: 'COMPLETE', asOf: 'now' },
    ]);
    const request = { chain: 'eth', address: `0x${'ab'.repeat(20)}` };
    const source = { balancesOf: async () => report };
    expect(await balanceFacts(request, source, silentLogger)).toEqual({ balances: report });
    for (const without of [
      await balanceFacts(request, null, silentLogger),
      await balanceFacts(request, { balancesOf: () => Promise.reject(new Error('no')) }, silentLogger),
    ])
      expect(without).toEqual({});
    const asOf = { ...request, asOf: '2024-01-01' };
    expect(await balanceFacts(asOf, source, silentLogger)).toEqual({});
  });

  it('of a faulty request are no line of the log, and those that cannot be read are', async () => {
    const lines: string[] = [];
    const log = {
      ...silentLogger,
      warn: (_: object, line: string) => lines.push(line),
    } as never;
    const failing = { balancesOf: () => Promise.reject(new Error('no')) };
    expect(await balanceFacts({ chain: 'ETH', address: '0x12' }, failing, log)).toEqual({});
    expect(lines).toEqual([]);
    expect(await balanceFacts({ chain: 'ETH', address: `0x${'ab'.repeat(20)}` }, failing, log)).toEqual({});
    expect(lines).toEqual(['reading balances failed']);
  });

  const names = (status: string) =>
    ({
      chain: 'ETH',
      atMs: NOW,
      assets: {
        isKnown: (_: string, asset: string) => asset !== 'SPAM',
        priceStatusAt: () => status,
        lastPriceAt: (_: string, asset: string) =>
          status === 'LAST_KNOWN' ? Date.UTC(2024, 0, asset === 'A' ? 2 : 1) : null,
      },
    }) as never;
  const flow = (asset: string, valueUsd: number | null, unpricedTransfers = 0, amount = 10n) => ({
    asset,
    decimals: 0,
    transfers: 2,
    amount,
    valueUsd,
    unpricedTransfers,
  });
  const all = (...byAsset: ReturnType<typeof flow>[]) => ({
    transfers: byAsset.length * 2,
    unpricedTransfers: byAsset.reduce((sum, one) => sum + one.unpricedTransfers, 0),
    valueUsd: byAsset.reduce((sum, one) => sum + (one.valueUsd ?? 0), 0),
    byAsset,
  });

  it('have the weakest price status of the evidence', () => {
    expect([
      priceOf(flow('A', 1), names('PEG')).priceStatus,
      priceOf(flow('A', 0), names('PEG')).priceStatus,
      priceOf(flow('A', 0, 1), names('PEG')).priceStatus,
      priceOf(flow('A', null), names('PEG')).priceStatus,
      priceOf(flow('A', 1), names('NONE')).priceStatus,
    ]).toEqual(['PEG', 'PEG', 'NONE', 'NONE', 'EXACT']);
    expect(priceOf(flow('A', 1), names('LAST_KNOWN'))).toEqual({
      priceStatus: 'LAST_KNOWN',
      priceDate: '2024-01-02',
    });
    expect(weakestPrice(all(flow('A', 1), flow('B', 1)), names('LAST_KNOWN'))).toEqual({
      priceStatus: 'LAST_KNOWN',
      priceDate: '2024-01-01',
    });
    expect([
      weakestPrice(all(flow('A', 1), flow('B', null)), names('LAST_KNOWN')),
      weakestPrice(all(flow('B', null)), names('PEG')),
      weakestPrice(all(flow('SPAM', 1)), names('PEG')),
    ]).toEqual([
      { priceStatus: 'LAST_KNOWN', priceDate: '2024-01-02' },
      { priceStatus: 'NONE', priceDate: null },
      { priceStatus: 'NONE', priceDate: null },
    ]);
    expect(flowTotal(all(flow('SPAM', 1)), names('PEG'))).toMatchObject({
      txCount: 2,
      valueUsd: 1,
      byAsset: [{ isEvidence: false, amount: '10', txCount: 2 }],
    });
  });

  it('are netted by asset, with a value only if all of it is priced', () => {
    expect(netTotal(all(flow('A', 5), flow('B', 1, 1)), all(flow('A', 2.5, 0, 4n)), names('PEG'))).toEqual({
      valueUsd: null,
      txCount: 6,
      byAsset: [
        expect.objectContaining({ asset: 'A', amount: '6', valueUsd: 2.5, txCount: 4, priceStatus: 'PEG' }),
        expect.objectContaining({ asset: 'B', amount: '10', valueUsd: null, txCount: 2 }),
      ],
    });
    expect(netTotal(all(flow('A', 5)), all(flow('A', 2, 1)), names('PEG')).byAsset[0]?.valueUsd).toBeNull();
    expect(netTotal(all(flow('A', null, 1)), all(flow('A', 2)), names('PEG')).byAsset[0]).toMatchObject({
      valueUsd: null,
      priceStatus: 'NONE',
    });
    expect([
      netTotal(all(flow('A', 5)), all(), names('PEG')).valueUsd,
      netTotal(all(), all(), names('PEG')).valueUsd,
    ]).toEqual([5, null]);
  });

  it('name assets without a price, and their share of the flow', () => {
    const weighing = { isEvidence: (asset: string) => asset !== 'SPAM', dustUsd: 10, dustShare: 0.1 };
    const graph = memoryGraph([
      { from: 1, to: 2, amount: 100, unpriced: 1, asset: 'A' },
      { from: 2, to: 1, amount: 400, unpriced: 1, asset: 'A' },
      { from: 1, to: 2, valueUsd: 5, asset: 'B' },
      { from: 1, to: 2, unpriced: 1, asset: 'SPAM' },
      { from: 1, to: 3, amount: 0, unpriced: 1, asset: 'C' },
    ]);
    expect(directionBasis(graph, 1, 'out', weighing).unpriced).toEqual([
      { asset: 'A', amount: 100, transfers: 1, flowPart: 0.25, spentPart: 0 },
    ]);
    expect(directionBasis(graph, 1, 'in', weighing).unpriced).toEqual([
      { asset: 'A', amount: 400, transfers: 1, flowPart: 1, spentPart: 0.25 },
    ]);
    expect(withDust(weighing)).toMatchObject({ dustUsd: 0, dustShare: 0 });
  });
});

describe('transfers with counterparties', () => {
  const party = (
    entityId: string,
    lastSeenMs: number,
    category = 'EXCHANGE',
    designatedLater: object | null = {
      entityId,
      entity: 'Exchange',
      entityName: 'Listed',
      list: 'EU',
      listedAt: '2025-01-01',
      source: 's',
    },
  ) => ({
    lastSeenMs,
    attribution: {
      entityId,
      entity: null,
      category,
      designatedLater: designatedLater ?? undefined,
    },
  });

  it('before a designation are reported by the last day, once per party and category', () => {
    const day = 86_400_000;
    const sides = [
      { attributed: [party('b', 3 * day), party('a', day), party('c', day, 'EXCHANGE', null)] },
      { attributed: [party('a', 2 * day + 5), party('a', day), party('b', day, 'SCAM')] },
    ] as never;
    const found = earlierDealings(sides);
    expect(found.map(({ party: { entityId, category }, lastDay }) => [entityId, category, lastDay])).toEqual([
      ['a', 'EXCHANGE', 2],
      ['b', 'EXCHANGE', 3],
      ['b', 'SCAM', 1],
    ]);
    expect(beforeDesignationReason(found[0]!).message).toBe(
      'Dealt with Exchange until 1970-01-03, before EU designated it as Listed on 2025-01-01: these earlier dealings count as EXCHANGE.',
    );
  });

  it('before a designation on one day are reported by the first of them', () => {
    const day = 86_400_000;
    const designated = (source: string) => ({
      ...{ entityId: 'a', entity: 'Exchange', entityName: 'Listed', list: 'EU', listedAt: '2025-01-01' },
      source,
    });
    const by = (source: string, lastSeenMs: number) => party('a', lastSeenMs, 'EXCHANGE', designated(source));
    const sourceOf = (...parties: ReturnType<typeof by>[]) =>
      earlierDealings([{ attributed: parties }] as never).map(({ party: { source } }) => source);
    expect(sourceOf(by('first', day), by('second', 2 * day - 1))).toEqual(['first']);
    expect(sourceOf(by('second', 2 * day - 1), by('first', day))).toEqual(['second']);
    expect(sourceOf(by('first', day), by('second', 2 * day))).toEqual(['second']);
  });

  it('with a suspected owner are reported by the surest label, of equal ones by the name of its source', () => {
    const owner = (confidence: number, source: string, change: object = {}) => ({
      ...{ list: 'EU', entityId: 'a', entityName: 'Listed', listedAt: null, source, confidence },
      ...change,
    });
    const sourcesOf = (...suspected: ReturnType<typeof owner>[]) =>
      suspectedOwnerDealings([{ direction: 'in', suspected }] as never).map(
        ({ message }) => /that (\S+) attributes/.exec(message)?.[1],
      );
    const [less, more] = [owner(0.4, 'a'), owner(0.6, 'b')];
    expect([sourcesOf(less, more), sourcesOf(more, less)]).toEqual([['b'], ['b']]);
    const [first, second] = [owner(0.5, 'a'), owner(0.5, 'b')];
    expect([sourcesOf(first, second), sourcesOf(second, first)]).toEqual([['a'], ['a']]);
    expect(sourcesOf(less, owner(0.6, 'b', { entityId: 'b' }), owner(0.1, 'c', { list: 'UK' }))).toEqual([
      'a',
      'b',
      'c',
    ]);
    const both = [
      { direction: 'out', suspected: [less] },
      { direction: 'in', suspected: [less] },
    ];
    expect(suspectedOwnerDealings(both as never)).toHaveLength(2);
  });

  it('in an asset that is not followed leave a rest only if not all of it moved with labelled ones', () => {
    const asset = { asset: 'T', flowPart: 0.5 };
    const attribution = {
      ...UNATTRIBUTED,
      ...{
        key: 'mixer',
        category: 'MIXER',
        entity: { name: 'M' },
        confidence: 1,
        isFirm: true,
        isRisky: true,
      },
    };
    const party = { attribution, direction: 'in', node: 1, value: 0 };
    const rowsOf = (...shares: number[]) =>
      directEvidence(
        [
          {
            direction: 'in',
            basis: { ...NOTHING_MOVED, unpriced: [asset] },
            attributed: [],
            unpriced: shares.map((share) => ({ party, asset, share })),
          },
        ] as never,
        { policy, own: UNATTRIBUTED, sentTo: () => false, derived: 'COUNTED' },
      ).map(({ category, share, flowPart }) => [category, share, flowPart]);
    expect(rowsOf(0.25, 0.5)).toEqual([
      ['MIXER', 0.75, 0.5],
      ['UNKNOWN', 0.25, 0.5],
    ]);
    expect(rowsOf(0.5, 0.5)).toEqual([['MIXER', 1, 0.5]]);
    // The shares of many add up to one but for rounding.
    expect(rowsOf(...Array<number>(10).fill(0.1))).toHaveLength(1);
    expect(rowsOf()).toEqual([['UNKNOWN', 1, 0.5]]);
  });

  it('are dust below the limit in USD, and without a price below the share or amount of the asset', () => {
    const sums = { usd: 0, amountOf: () => 0, flowOf: () => 1_000 };
    const weighing = { dustUsd: 10, dustShare: 0.01 } as never;
    const isDust = (
      amount: bigint,
      valueUsd: number | null,
      change: object = {},
      limits: object = weighing,
    ) => isDustDealing(limits as never, { asset: 'T', amount, valueUsd }, { ...sums, ...change });
    expect([9.99, 10].map((usd) => isDust(1n, usd))).toEqual([true, false]);
    expect([9.99, 10].map((usd) => isDust(1n, 1, { usd }))).toEqual([true, false]);
    expect([9n, 10n].map((amount) => isDust(amount, null))).toEqual([true, false]);
    expect([9, 10].map((amount) => isDust(1n, null, { amountOf: () => amount }))).toEqual([true, false]);
    const withAmount = { dustUsd: 10, dustShare: 0.01, dustAmount: () => 20 };
    expect([19n, 20n].map((amount) => isDust(amount, null, {}, withAmount))).toEqual([true, false]);
    const small = { ...withAmount, dustAmount: () => 5 };
    expect([9n, 10n].map((amount) => isDust(amount, null, {}, small))).toEqual([true, false]);
  });

  const known = { isKnown: (_: string, asset: string) => asset !== 'SPAM' } as never;
  const real = '0x1234000000000000000000000000000000005678';
  const fake = '0x1234000000000000000000000000000000015678';
  const dealtWith = { key: parseAddress('ETH', real).key, address: real };

  it('that nobody can forge count as real, and show which address is imitated', () => {
    expect([
      spoofKindOf('ETH', { asset: 'SPAM', amount: 1n }, known),
      spoofKindOf('ETH', { asset: 'T', amount: 0n }, known),
      spoofKindOf('ETH', { asset: 'ETH', amount: 0n }, known),
      spoofKindOf('ETH', { asset: 'T', amount: 1n }, known),
    ]).toEqual(['UNKNOWN_TOKEN', 'ZERO_VALUE_TOKEN', null, null]);
    const subject = { chain: 'ETH', key: new Uint8Array(22) } as never;
    const imitated = (
      asset: string,
      amount: bigint,
      valueUsd: number | null,
      address = fake,
      isRecent = false,
    ) => {
      const dealt = { asset, amount, valueUsd };
      const transfers = {
        counterparties: (_: string, __: unknown, { direction }: { direction: string }) =>
          isRecent || direction === 'in' ? [] : [{ ...dealtWith, assets: [dealt] }],
        recent: () =>
          isRecent
            ? [
                { counterparty: dealtWith, ...dealt },
                { counterparty: null, ...dealt },
              ]
            : [],
      };
      return realCounterparties(subject, { transfers, assets: known, dustUsd: 10 } as never).imitatedBy(
        address,
      );
    };
    expect([imitated('T', 1n, 10), imitated('T', 1n, null), imitated('T', 1n, 10, fake, true)]).toEqual([
      real,
      real,
      real,
    ]);
    expect([
      imitated('T', 1n, 9.99),
      imitated('T', 0n, 10),
      imitated('SPAM', 1n, 10),
      imitated('T', 1n, 10, real),
      imitated('T', 1n, 10, `0x${'9'.repeat(40)}`),
    ]).toEqual([null, null, null, null, null]);
  });

  it('are not read on a chain that uses each address once', () => {
    const read = (): never => {
      throw new Error('counterparties were read');
    };
    const subject = { chain: 'BTC', key: new Uint8Array(22) } as never;
    const deps = { transfers: { counterparties: read, recent: read }, assets: known, dustUsd: 10 } as never;
    expect(realCounterparties(subject, deps).imitatedBy('1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa')).toBeNull();
  });

  it('read degrees once while the store is unchanged', () => {
    let reads = 0;
    const graph = { chain: 'ETH', version: '1', degree: () => ++reads } as never;
    const remember = createRememberedDegrees();
    const coverage = { transfers: 1, lastBlock: 1, asOf: 'x' } as never;
    const first = remember(graph, coverage);
    expect([
      first.degree(5, 'in'),
      first.degree(5, 'in'),
      first.degree(5, 'out'),
      remember(graph, coverage).degree(5, 'in'),
    ]).toEqual([1, 1, 2, 1]);
    for (const changed of [{ transfers: 2 }, { lastBlock: 2 }, { asOf: 'y' }]) {
      const before = reads;
      expect(remember(graph, { ...(coverage as object), ...changed } as never).degree(5, 'in')).toBe(
        before + 1,
      );
    }
    expect(remember({ ...(graph as object), chain: 'BSC' } as never, coverage).degree(5, 'in')).toBe(reads);
  });

  it('name addresses as displayed, with or without a checksum', () => {
    const mixed = '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed';
    const subject = parseSubject('eth', mixed);
    expect([
      subject.shown,
      hasChecksum(subject, mixed),
      hasChecksum(subject, mixed.toLowerCase()),
      hasChecksum(subject, `0x${mixed.slice(2).toUpperCase()}`),
    ]).toEqual([mixed.toLowerCase(), true, false, false]);
    expect([shownAsset('ETH', '0xAB'), shownAsset('ETH', 'ETH'), shownAsset('TRON', '0xAB')]).toEqual([
      '0xab',
      'ETH',
      '0xAB',
    ]);
    const ofChain = (chain: string) => ({ chain }) as never;
    expect([
      hasChecksum(ofChain('SOL'), 'x'),
      hasChecksum(ofChain('BTC'), 'x'),
      hasChecksum(ofChain('TON'), '0:ab'),
      hasChecksum(ofChain('TON'), 'EQab'),
      hasChecksum(ofChain('DOT'), '0xab'),
      hasChecksum(ofChain('DOT'), '1ab'),
    ]).toEqual([false, true, false, true, false, true]);
  });
});

describe('the legal interpretation', () => {
  const fact = {
    sourceUrl: 'u',
    date: 'd',
    verified: true,
    validFrom: '2024-01-01',
    validUntil: '2024-12-31',
  };
  const jurisdiction = {
    code: 'XX',
    name: 'X',
    regulator: { name: 'R', ...fact },
    reportingTo: { name: 'F', ...fact },
    sanctionsAuthority: { name: 'S', ...fact },
    travelRule: { law: 'T', article: null, threshold: 1_000, currency: 'EUR', note: 'Note.', ...fact },
    statutes: [{ law: 'L', article: 'Art. 1', duty: 'DUE_DILIGENCE', ...fact }],
  };
  const jurisdictions = {
    version: 'v',
    of: (code: string) => (code === 'XX' ? jurisdiction : null),
  } as never;
  const read = (change: object) =>
    interpretLaw(
      {
        jurisdiction: 'XX',
        sanctioned: false,
        riskLevel: 'LOW',
        isStale: false,
        assessed: true,
        day: '2024-06-01',
        ...change,
      } as never,
      jurisdictions,
    );

  it('depends on the findings: first a sanction, then the risk, then missing data', () => {
    const assessment = (change: object) => read(change).assessment;
    expect(assessment({ sanctioned: true, riskLevel: 'CRITICAL', isStale: true })).toContain(
      'sanctions list in force names',
    );
    expect(assessment({ riskLevel: 'HIGH', isStale: true })).toContain('serious risk');
    expect(assessment({ isStale: true, assessed: false })).toContain('missing or too old');
    expect([assessment({ assessed: false }), assessment({})]).toEqual([
      expect.stringContaining('Nothing is known'),
      expect.stringContaining('usual care'),
    ]);
  });

  it('applies the law of the day, or the standard if no law is known', () => {
    const now = read({});
    expect(now).toMatchObject({
      standard: 'NATIONAL',
      framework: ['L, Art. 1', 'T'],
      travelRule: { threshold: 1_000, law: 'T' },
      version: 'v',
    });
    expect(now.obligations).toEqual([
      expect.stringContaining('(L, Art. 1)'),
      'From EUR 1,000, particulars of sender and receiver accompany a transfer (T). Note.',
    ]);
    const later = read({ day: '2025-01-01' });
    expect(later).toMatchObject({ framework: [], travelRule: null });
    expect(later.obligations).toHaveLength(1);
    expect(later.sources[0]?.fact).toBe('Not in force on 2025-01-01: Regulator: R');
    expect(read({ jurisdiction: 'YY' })).toMatchObject({
      standard: 'FATF',
      jurisdiction: 'YY',
      regulator: null,
      version: null,
    });
  });
});
