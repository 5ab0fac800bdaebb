/** Screening as of a past day: labels, lists and transfers as they were known then. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Label, SanctionsEntry } from '../../src/labels/label.ts';
import { labelsAsOf } from '../../src/screening/as-of.ts';
import { createAssessor } from '../../src/screening/assess.ts';
import { labelConflicts } from '../../src/screening/label-conflicts.ts';
import { createScreening, type ScreeningQuery, type ScreeningRequest } from '../../src/screening/screen.ts';
import { createWorld, policy, sent, WALLETS, type World } from './world.ts';

const LATE = '0x000000000000000000000000000000000000fade';
const MIDDLE = '0x000000000000000000000000000000000000fa11';
const BEHIND = '0x000000000000000000000000000000000000fab1';
const OTHER = '0x000000000000000000000000000000000000facd';

const REPEATED = '0x000000000000000000000000000000000000faee';

let world: World;
let screening: ScreeningQuery;
// Transfers are dated from 2026-01-01 on, one day apart: number 3 is of 2026-01-04.
beforeAll(async () => {
  world = await createWorld([
    sent(20, WALLETS.exchange, LATE, { valueUsd: 900, amount: 9n * 10n ** 17n }),
    sent(40, WALLETS.sanctioned, LATE, { valueUsd: 9_100, amount: 91n * 10n ** 17n }),
    sent(10, WALLETS.mixer, MIDDLE),
    sent(21, MIDDLE, BEHIND),
    sent(50, WALLETS.sanctioned, MIDDLE),
    sent(41, LATE, OTHER, { valueUsd: 50 }),
    sent(19, WALLETS.exchange, REPEATED, { valueUsd: 100, amount: 10n ** 17n }),
    sent(23, WALLETS.sanctioned, REPEATED, { valueUsd: 100, amount: 10n ** 17n }),
    sent(42, WALLETS.sanctioned, REPEATED, { valueUsd: 9_800, amount: 98n * 10n ** 17n }),
  ]);
  screening = createScreening(world.deps, createAssessor(world.deps));
});
afterAll(() => world.close());

const screen = (address: string, more: Partial<ScreeningRequest> = {}) =>
  screening({ chain: 'ETH', address, ...more });

describe('a screening as of a day', () => {
  it('returns the date, and null for now', () => {
    expect(screen(WALLETS.payer, { asOf: '2026-02-01' }).asOf).toBe('2026-02-01');
    expect(screen(WALLETS.payer).asOf).toBeNull();
    expect(screen(WALLETS.payer, { asOf: '2026-11-21' }).asOf).toBe('2026-11-21');
  });

  it('rejects a future date, and names the field', () => {
    expect(() => screen(WALLETS.payer, { asOf: '2026-11-22' })).toThrow(
      expect.objectContaining({
        code: 'INVALID_REQUEST',
        field: 'asOf',
        message: expect.stringContaining('2026-11-21'),
      }),
    );
  });

  it('hides later counterparties, transfers and totals', () => {
    const now = screen(LATE);
    expect(now.exposureReceiving).toEqual({ EXCHANGE: 9, SANCTIONED_ENTITY: 91 });
    const then = screen(LATE, { asOf: '2026-01-31' });
    expect(then.exposureReceiving).toEqual({ EXCHANGE: 100 });
    expect(then.exposureSending).toEqual({});
    expect(then.topCounterparties.map(({ address }) => address)).toEqual([WALLETS.exchange]);
    expect(then.flaggedTransactions).toEqual([]);
    expect(then.transactionFlow).toMatchObject({
      inflow: { valueUsd: 900, txCount: 1 },
      outflow: { txCount: 0 },
      daily: [{ date: '2026-01-21' }],
    });
    expect(then.totalTransactions).toBeNull();
    expect(then.riskScore).toBeLessThan(now.riskScore);
    expect(JSON.stringify(then)).not.toContain(WALLETS.sanctioned);
    expect(JSON.stringify(then)).not.toContain(OTHER);
  });

  it('hides later transfers behind an intermediate address', () => {
    expect(screen(BEHIND).exposureReceiving).toEqual({ MIXER: 50, SANCTIONED_ENTITY: 50 });
    expect(screen(BEHIND, { asOf: '2026-01-31' }).exposureReceiving).toEqual({ MIXER: 100 });
  });

  it('splits transfers with one counterparty at the end of the day', () => {
    const { transactionFlow, exposureReceiving } = screen(REPEATED, { asOf: '2026-01-31' });
    expect(exposureReceiving).toEqual({ EXCHANGE: 50, SANCTIONED_ENTITY: 50 });
    expect(transactionFlow.inflow).toMatchObject({ valueUsd: 200, txCount: 2 });
    expect(screen(REPEATED).exposureReceiving).toEqual({ EXCHANGE: 1, SANCTIONED_ENTITY: 99 });
  });

  it('includes all transfers of a period that ended before', () => {
    const { screenedAt: _, ...now } = screen(LATE);
    const { screenedAt: __, ...then } = screen(LATE, { asOf: '2026-11-20' });
    expect({ ...then, asOf: null, coverage: now.coverage, clusterAnalysis: now.clusterAnalysis }).toEqual(
      now,
    );
  });

  it('has no data of an address before its first transfer', () => {
    const then = screen(OTHER, { asOf: '2026-02-01' });
    expect(then).toMatchObject({ assessed: false, totalTransactions: null, topCounterparties: [] });
    expect(screen(OTHER)).toMatchObject({ assessed: true });
  });

  it('is never complete, and dates the graph by the day', () => {
    expect(screen(LATE, { asOf: '2026-01-31' }).coverage).toMatchObject({
      labels: { status: 'PARTIAL' },
      sanctions: { status: 'PARTIAL' },
      graph: { status: 'PARTIAL', asOf: '2026-01-31T23:59:59.999Z' },
      balances: { status: 'NONE' },
    });
    expect(screen(LATE).coverage).toMatchObject({
      labels: { status: 'COMPLETE' },
      sanctions: { status: 'COMPLETE' },
    });
  });

  it('shows no later listing, delisting or label', () => {
    const before = screen(WALLETS.sanctioned, { asOf: '2019-01-01' });
    expect(before).toMatchObject({ sanctioned: false, entity: null, entityLabels: [], assessed: false });
    expect(before.sanctionsCheck.lists).toEqual([]);
    expect(before.reasons.map(({ code }) => code)).toEqual([]);
    const listed = screen(WALLETS.delisted, { asOf: '2025-03-20' });
    expect(listed).toMatchObject({ sanctioned: true, riskScore: 100 });
    expect(listed.sanctionsCheck.lists).toMatchObject([{ list: 'OFAC_SDN', delistedAt: null }]);
    // The common labels are dated 2021-05-01.
    expect(screen(WALLETS.exchange, { asOf: '2021-04-30' })).toMatchObject({
      entity: null,
      entityLabels: [],
    });
    expect(screen(WALLETS.exchange, { asOf: '2021-05-01' }).entity).toMatchObject({ name: 'Binance' });
  });

  it('does not read balances or clusters, which are current', () => {
    const balances = {
      status: 'COMPLETE' as const,
      asOf: '2026-11-21T00:00:00.000Z',
      chains: [{ chain: 'ETH' as const, balance: 5, balanceUsd: 10 }],
    };
    expect(screening({ chain: 'ETH', address: LATE }, { balances }).balance).toBe(5);
    expect(screening({ chain: 'ETH', address: LATE, asOf: '2026-01-31' }, { balances })).toMatchObject({
      balance: null,
      balanceUsd: null,
      crossChainBalances: {},
      clusterAnalysis: { clusterId: null },
    });
  });
});

describe('a label as of a day', () => {
  const sanction = (fields: Partial<SanctionsEntry>): SanctionsEntry => ({
    list: 'OFAC_SDN',
    authority: 'OFAC',
    program: null,
    entityName: 'X',
    entityId: '1',
    listedAt: '2022-08-08',
    delistedAt: null,
    sourceUrl: 'https://example.org',
    matchType: 'DIRECT',
    listedAtBasis: 'PARTY',
    ...fields,
  });
  const label = (fields: Partial<Label>): Label => ({
    entity: { id: 'x', name: 'X', category: 'MIXER', jurisdiction: null, url: null },
    scope: 'EVM',
    category: 'MIXER',
    threatLevel: 'HIGH',
    class: 'published',
    source: 'graphsense',
    sourceUrl: null,
    tags: [],
    confidence: 0.5,
    sanctions: [],
    verified: true,
    synthetic: false,
    firstSeen: null,
    lastSeen: null,
    ...fields,
  });
  const then = (labels: Label | readonly Label[], day: string): readonly Label[] => {
    const reader = world.deps.labels.current;
    const meta = {
      ...reader.meta,
      sources: [
        ...reader.meta.sources,
        ...['2026-02-01', '2026-01-01'].map((publishedAt) => ({
          ...{ id: 'files', dataset: publishedAt, publishedAt, importedAt: '2026-03-01T00:00:00.000Z' },
          ...{ url: null, labels: 1, lists: [] },
        })),
        {
          id: 'ofac',
          dataset: 'OFAC_SDN',
          publishedAt: '2026-01-01',
          importedAt: '2026-01-02T00:00:00.000Z',
          url: null,
          labels: 1,
          lists: ['OFAC_SDN' as const],
        },
      ],
    };
    const fixed = { ...reader, meta, lookup: () => [labels].flat(), labels: () => [labels].flat() };
    return labelsAsOf(fixed, day, policy).lookup(new Uint8Array(), 'ETH');
  };

  it('applies from its own date, else from the publication of its source', () => {
    expect(then(label({ lastSeen: '2024-05-01' }), '2024-05-01')).toHaveLength(1);
    expect(then(label({ lastSeen: '2024-05-01' }), '2024-04-30')).toHaveLength(0);
    expect(then(label({}), '2026-11-01')).toHaveLength(1);
    expect(then(label({}), '2026-10-31')).toHaveLength(0);
    expect(then(label({ source: 'nobody' }), '2026-11-21')).toHaveLength(0);
    // A label does not name its file: the newest one of its source counts.
    expect(then(label({ source: 'files' }), '2026-02-01')).toHaveLength(1);
    expect(then(label({ source: 'files' }), '2026-01-31')).toHaveLength(0);
  });

  it('on a list follows its entries: before, during and after the listing', () => {
    const listed = label({
      source: 'ofac',
      tags: ['delisted'],
      firstSeen: '2025-03-04',
      sanctions: [sanction({ delistedAt: '2025-03-21' })],
    });
    expect(then(listed, '2022-08-07')).toEqual([]);
    expect(then(listed, '2025-03-20')).toMatchObject([
      {
        category: 'SANCTIONED_ENTITY',
        threatLevel: 'CRITICAL',
        tags: ['sanctioned'],
        confidence: 1,
        sanctions: [{ delistedAt: null }],
      },
    ]);
    expect(then(listed, '2025-03-21')).toEqual([listed]);
    // A label from another source than a list, dated by the delisting.
    const named = label({ ...listed, source: 'seed', firstSeen: null, lastSeen: '2025-03-21' });
    expect(then(named, '2022-08-07')).toEqual([]);
    expect(then(named, '2022-08-08')).toMatchObject([
      { category: 'MIXER', tags: ['sanctioned'], lastSeen: null, sanctions: [{ delistedAt: null }] },
    ]);
    expect(then(named, '2025-03-21')).toEqual([named]);
    // The party was listed before its address was known.
    const owned = label({ ...named, sanctions: [sanction({ matchType: 'OWNER' })] });
    expect(then(owned, '2024-01-01')).toEqual([]);
    // An attribution without a date applies to all days since the designation.
    const owner = label({ ...owned, lastSeen: null });
    expect(then(owner, '2022-08-07')).toEqual([]);
    expect(then(owner, '2022-08-08')).toMatchObject([{ sanctions: [{ matchType: 'OWNER' }] }]);
    // Another list designated the party before this one listed the wallet.
    const designated = sanction({ list: 'EU', matchType: 'OWNER', listedAt: '2021-01-01' });
    const later = label({ source: 'ofac', firstSeen: '2022-08-08', sanctions: [sanction({}), designated] });
    expect(then(later, '2022-08-07')).toEqual([]);
    expect(then(later, '2022-08-08')).toHaveLength(1);
    // The list dropped the wallet later; the other list still designates the party.
    const dropped = { ...later, sanctions: [sanction({ delistedAt: '2025-03-21' }), designated] };
    expect(then(dropped, '2025-03-20')).toMatchObject([{ category: 'SANCTIONED_ENTITY', confidence: 1 }]);
    expect(then(dropped, '2025-03-21')).toMatchObject([{ category: 'MIXER', confidence: 0.5 }]);
    const undated = label({
      source: 'ofac',
      firstSeen: '2025-03-04',
      sanctions: [sanction({ listedAt: null })],
    });
    expect(then(undated, '2025-03-03')).toEqual([]);
    expect(then(undated, '2025-03-04')).toHaveLength(1);
  });

  it('comes first while its listing was in force, and is taken for that reason', () => {
    const listed = label({
      source: 'ofac',
      class: 'list',
      tags: ['delisted'],
      firstSeen: '2025-03-04',
      sanctions: [sanction({ delistedAt: '2025-03-21' })],
    });
    const mixer = label({ source: 'seed', confidence: 0.95, firstSeen: '2022-01-01' });
    const now = [mixer, listed];
    expect(then(now, '2025-03-21').map(({ source }) => source)).toEqual(['seed', 'ofac']);
    const before = then(now, '2025-03-20');
    expect(before.map(({ source }) => source)).toEqual(['ofac', 'seed']);
    expect(labelConflicts(before, '2025-03-20')).toMatchObject([
      { decided: { category: 'SANCTIONED_ENTITY', source: 'ofac' }, decidedBy: 'SANCTION' },
    ]);
  });
});
