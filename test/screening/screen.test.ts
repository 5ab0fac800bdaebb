import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import type { UtxoBlock } from '../../src/chains/utxo-transaction.ts';
import { createAssessor } from '../../src/screening/assess.ts';
import { roundedShares } from '../../src/screening/exposure-sections.ts';
import { createScreening, type ScreeningQuery, type ScreeningRequest } from '../../src/screening/screen.ts';
import { allFresh, BTC_WALLET, createWorld, sent, someStale, WALLETS, type World } from './world.ts';

let world: World;
beforeAll(async () => {
  world = await createWorld();
});
afterAll(() => world.close());
beforeEach(() => world.setLists(allFresh));

let screening: ScreeningQuery;
beforeAll(() => {
  screening = createScreening(world.deps, createAssessor(world.deps));
});
const screen = (address: string, more: Partial<ScreeningRequest> = {}) =>
  screening({ chain: 'ETH', address, ...more });

const sum = (shares: object): number =>
  Math.round(Object.values(shares).reduce((total: number, share: number) => total + share, 0) * 100) / 100;

const satoshi = 1_000n;

/** A block in which the first address mines one coin, which then moves from address to address. */
function btcBlock(addresses: readonly string[]): UtxoBlock {
  const txid = (index: number): string => index.toString(16).padStart(64, '0');
  const at = { height: 7, timestampMs: Date.parse('2026-01-01T00:00:00Z') };
  return {
    ...at,
    hash: null,
    parentHash: null,
    transactions: addresses.map((address, index) => ({
      chain: 'BTC',
      txid: txid(index + 1),
      blockNumber: at.height,
      indexInBlock: index,
      timestampMs: at.timestampMs,
      isCoinbase: index === 0,
      inputs:
        index === 0
          ? []
          : [{ txid: txid(index), vout: 0, address: addresses[index - 1] ?? null, value: satoshi }],
      outputs: [{ n: 0, address, value: satoshi, script: 'p2pkh' }],
    })),
  };
}

/** Every field of the specification and its decisions. */
const FIELDS = [
  'walletAddress',
  'address',
  'chain',
  'asOf',
  'riskScore',
  'riskLevel',
  'scoreBreakdown',
  'policyVersion',
  'assessed',
  'reasons',
  'balance',
  'balanceUsd',
  'totalTransactions',
  'sanctionsCheck',
  'sanctioned',
  'entity',
  'entityLabels',
  'flaggedTransactions',
  'topCounterparties',
  'exposureSending',
  'exposureReceiving',
  'exposures',
  'clusterAnalysis',
  'transactionFlow',
  'geographicRisk',
  'fundFlowJurisdictions',
  'historicalServices',
  'crossChainBalances',
  'bridgeActivity',
  'darknetExposure',
  'addressValidation',
  'legalInterpretation',
  'coverage',
  'dataVersion',
];

describe('screening', () => {
  it.each(Object.entries(WALLETS))(
    'returns every field for the %s wallet, and its points add up',
    (_, address) => {
      const answer = screen(address);
      const json = JSON.parse(JSON.stringify(answer)) as Record<string, unknown>;
      for (const field of FIELDS) expect(json).toHaveProperty(field);
      const points = answer.scoreBreakdown.reduce((total, factor) => total + factor.points, 0);
      expect(answer.riskScore).toBe(Math.min(100, points));
      expect(answer.walletAddress).toBe(answer.address);
      expect(answer.sanctioned).toBe(answer.sanctionsCheck.isSanctioned);
      for (const shares of [answer.exposureSending, answer.exposureReceiving])
        expect(Object.keys(shares).length === 0 || sum(shares) === 100).toBe(true);
    },
  );

  it('scores a sanction in force at 100', () => {
    expect(screen(WALLETS.sanctioned)).toMatchObject({
      riskScore: 100,
      riskLevel: 'CRITICAL',
      sanctioned: true,
      sanctionsCheck: { agreementCount: 2 },
      entity: { name: 'LAZARUS GROUP', category: 'SANCTIONED_ENTITY', threatLevel: 'CRITICAL' },
      legalInterpretation: { jurisdiction: 'CH', assessment: expect.stringContaining('in force') },
    });
  });

  it('keeps a delisting as history', () => {
    const answer = screen(WALLETS.delisted);
    expect(answer).toMatchObject({ sanctioned: false, riskLevel: 'HIGH', entity: { category: 'MIXER' } });
    expect(answer.sanctionsCheck.lists).toMatchObject([{ list: 'OFAC_SDN', delistedAt: '2025-03-21' }]);
    expect(answer.reasons.map((reason) => reason.code)).toContain('DELISTED');
  });

  it('uses the lists that were in force as of a date', () => {
    expect(screen(WALLETS.delisted, { asOf: '2025-03-20' })).toMatchObject({
      sanctioned: true,
      riskScore: 100,
    });
    expect(screen(WALLETS.delisted, { asOf: '2025-03-21' }).sanctioned).toBe(false);
    const before = screen(WALLETS.sanctioned, { asOf: '2019-01-01' });
    expect(before).toMatchObject({ sanctioned: false, riskScore: 0 });
  });

  it('finds the exchange that a wallet paid and the mixer that paid it', () => {
    const answer = screen(WALLETS.payer);
    expect(answer.exposureSending).toEqual({ EXCHANGE: 25, UNKNOWN: 75 });
    expect(answer.exposureReceiving).toEqual({ MIXER: 100 });
    expect(answer.totalTransactions).toBe(3);
    expect(answer.entity).toBeNull();
    expect(answer.topCounterparties).toMatchObject([
      { address: WALLETS.mixer, category: 'MIXER', direction: 'in', valueUsd: 10_000, percentage: 100 },
      { address: WALLETS.unknown, category: 'UNKNOWN', entity: null, direction: 'out', percentage: 75 },
      { address: WALLETS.exchange, entity: { name: 'Binance' }, txCount: 1, valueUsd: 2_000, percentage: 25 },
    ]);
    expect(answer.exposures).toContainEqual({
      category: 'EXCHANGE',
      entity: { name: 'Binance', category: 'EXCHANGE', threatLevel: 'SAFE' },
      direction: 'out',
      type: 'DIRECT',
      percentage: 25,
      asset: null,
      // The newest shipped close is from the end of 2025.
      priceStatus: 'LAST_KNOWN',
      priceDate: '2026-01-01',
      class: 'published',
      label: expect.objectContaining({ address: WALLETS.exchange, source: 'graphsense', confidence: 0.9 }),
      valueUsd: 2_000,
      hops: 1,
      txCount: 1,
      unpricedTxCount: 0,
    });
    expect(answer.scoreBreakdown).toMatchObject([
      {
        factor: 'DIRECT_EXPOSURE',
        category: 'MIXER',
        direction: 'in',
        percentage: 100,
        evidence: ['Blender'],
      },
    ]);
    expect(answer.flaggedTransactions).toMatchObject([
      {
        direction: 'in',
        counterparty: WALLETS.mixer,
        severity: 'HIGH',
        amount: '5',
        decimals: 18,
        valueUsd: 10_000,
      },
    ]);
    expect(answer.transactionFlow).toMatchObject({
      inflow: { valueUsd: 10_000, txCount: 1 },
      outflow: { valueUsd: 8_000, txCount: 2 },
      net: { valueUsd: 2_000, txCount: 3, byAsset: [{ asset: 'ETH', amount: '1', decimals: 18 }] },
    });
    expect(answer.fundFlowJurisdictions).toEqual([
      { jurisdiction: 'MT', inUsd: null, outUsd: 2_000, percentage: 11.11 },
    ]);
    expect(answer.historicalServices.map((service) => service.name)).toEqual(['Blender', 'Binance']);
    expect(answer.coverage.graph).toMatchObject({ status: 'PARTIAL' });
    expect(answer.assessed).toBe(true);
  });

  it('follows money through unlabelled addresses, up to the requested hops', () => {
    // Blender paid the payer, who paid the exchange and an unknown address.
    const answer = screen(WALLETS.unknown);
    expect(answer.exposureReceiving).toEqual({ MIXER: 100 });
    expect(answer.exposures).toMatchObject([
      {
        ...{
          category: 'MIXER',
          type: 'INDIRECT',
          direction: 'in',
          percentage: 100,
          hops: 2,
          valueUsd: 6_000,
        },
        // The label of the address at which the money began, not of one that it passed.
        label: { address: WALLETS.mixer },
      },
    ]);
    expect(answer.scoreBreakdown).toMatchObject([
      { factor: 'INDIRECT_EXPOSURE', category: 'MIXER', riskType: 'INDIRECT', hops: 2, percentage: 100 },
    ]);
    expect(answer.stoppedAt).toEqual([]);
    expect(screen(WALLETS.unknown, { maxHops: 1 }).exposureReceiving).toEqual({ UNKNOWN: 100 });
  });

  it('names the sources of received money, on account chains by haircut and poison', () => {
    expect(screen(WALLETS.unknown).taint).toMatchObject({
      basis: 'ACCOUNTS',
      methods: [{ method: 'haircut', received: { MIXER: 100 }, unspent: null, isTruncated: false }],
    });
    // The payer received from the mixer only, so all of its payments are money of the mixer.
    expect(screen(WALLETS.exchange, { taint: 'all' }).taint.methods).toMatchObject([
      { method: 'poison', received: { MIXER: 100 } },
      { method: 'haircut', received: { MIXER: 100 } },
    ]);
    expect(screen(WALLETS.exchange, { taint: 'poison', maxHops: 1 }).taint.methods).toMatchObject([
      { method: 'poison', received: { UNKNOWN: 100 } },
    ]);
    expect(screen(WALLETS.seeded, { taint: 'poison' }).taint.methods).toEqual([]);
  });

  it('names no source of value if nothing of value was received from it', async () => {
    const [receiver, stranger, other] = ['1', '2', '3'].map((end) => `0x${end.padStart(40, 'b')}`) as [
      string,
      string,
      string,
    ];
    const unpriced = (asset: string) => ({ asset, amount: 5n, decimals: null, valueUsd: null });
    const [usdt, link] = [
      '0xdAC17F958D2ee523a2206206994597C13D831ec7',
      '0x514910771AF9Ca656af840dff83E8264EcF986CA',
    ] as const;
    const apart = `0x${'4'.padStart(40, 'b')}`;
    const own = await createWorld([
      sent(40, WALLETS.mixer, receiver, { valueUsd: 900 }),
      sent(41, stranger, receiver, { amount: 0n, valueUsd: null }),
      sent(42, other, receiver, unpriced(`0x${'70'.repeat(20)}`)),
      // Two assets without a price cannot be weighed against each other.
      sent(43, stranger, apart, unpriced(usdt)),
      sent(44, other, apart, unpriced(link)),
    ]);
    try {
      const ask = createScreening(own.deps, createAssessor(own.deps));
      const received = (address: string) =>
        ask({ chain: 'ETH', address, taint: 'all' }).taint.methods.map((one) => [one.method, one.received]);
      const mixer = { MIXER: 100 };
      expect(received(receiver)).toEqual([
        ['poison', mixer],
        ['haircut', mixer],
      ]);
      expect(received(apart)).toContainEqual(['poison', {}]);
    } finally {
      await own.close();
    }
  });

  it('follows outputs on UTXO chains, under the requested rule or all five', () => {
    const [label, middle, end] = [
      BTC_WALLET,
      '1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2',
      '1BoatSLRHtKNngkdXEeobR76b53LETtpyT',
    ];
    world.outputs.put('BTC', [btcBlock([label, middle, end])]);
    const taint = (choice?: string) =>
      screening({ chain: 'BTC', address: end, ...(choice === undefined ? {} : { taint: choice }) }).taint;
    expect(taint()).toMatchObject({
      basis: 'OUTPUTS',
      methods: [{ method: 'haircut', outputs: 1, isTruncated: false }],
    });
    const all = taint('all').methods;
    expect(all.map(({ method }) => method)).toEqual(['poison', 'haircut', 'fifo', 'lifo', 'tiho']);
    for (const { received } of all) expect(received.MINING_POOL).toBe(100);
  });

  it('follows outputs no further back than maxHops, and reports the unread ones', () => {
    const chain = [BTC_WALLET, '1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2', '1BoatSLRHtKNngkdXEeobR76b53LETtpyT'];
    world.outputs.put('BTC', [btcBlock(chain)]);
    const taint = (maxHops: number) =>
      screening({ chain: 'BTC', address: chain[2] as string, maxHops }).taint.methods[0];
    expect(taint(2)).toMatchObject({ received: { MINING_POOL: 100 }, unexploredPercentage: 0 });
    expect(taint(2)?.isTruncated).toBe(false);
    expect(taint(1)).toMatchObject({
      received: { UNKNOWN: 100 },
      unexploredPercentage: 100,
      isTruncated: true,
    });
  });

  it('lists the flow per day, newest first', () => {
    expect(screen(WALLETS.payer).transactionFlow).toMatchObject({
      daily: [
        { date: '2026-01-04', inUsd: 10_000, outUsd: 0, inTxCount: 1, outTxCount: 0 },
        { date: '2026-01-03', inUsd: 0, outUsd: 6_000 },
        { date: '2026-01-02', outUsd: 2_000 },
      ],
      dailyIsComplete: true,
    });
  });

  it('returns the same bytes for the same request at any time', () => {
    const first = { ...screen(WALLETS.payer), screenedAt: '' };
    world.clock.at += 5_000;
    expect(JSON.stringify({ ...screen(WALLETS.payer), screenedAt: '' })).toBe(JSON.stringify(first));
  });

  it('counts transfers without a price, flags sanctioned counterparties, and ignores contacts without value', () => {
    const answer = screen(WALLETS.victim);
    expect(answer.exposureReceiving).toEqual({});
    // By amount: 1 ETH without a price to each of two, a quarter of one to the third.
    expect(answer.exposureSending).toEqual({ PHISHING: 44.44, BRIDGE: 44.45, SANCTIONED_ENTITY: 11.11 });
    expect(answer.sanctioned).toBe(false);
    expect(answer.flaggedTransactions.map((one) => [one.category, one.severity])).toEqual([
      ['SANCTIONED_ENTITY', 'CRITICAL'],
      ['PHISHING', 'CRITICAL'],
    ]);
    expect(answer.riskLevel).toBe('MEDIUM');
    expect(answer.bridgeActivity).toMatchObject({ bridges: ['Some Bridge'], txCount: 1, outUsd: null });
    expect(answer.darknetExposure).toEqual({ direct: 0, indirect: 0, percentage: 0, markets: [] });
    expect(answer.totalTransactions).toBe(5);
  });

  it('reports an unknown address as not assessed', () => {
    const answer = screening({
      chain: 'BTC',
      address: '1BvBMSEYstWetqTFn5Au4m4GFg7xJaNVN2',
    });
    expect(answer).toMatchObject({
      riskScore: 0,
      assessed: false,
      totalTransactions: null,
      entity: null,
      exposureSending: {},
      coverage: { graph: { status: 'NONE', asOf: null } },
      darknetExposure: { direct: null, percentage: null },
    });
    expect(answer.legalInterpretation.assessment).toContain('Nothing is known');
  });

  it('is never clean while lists are missing or stale', () => {
    world.setLists(someStale);
    const answer = screen(WALLETS.exchange);
    expect(answer.reasons.at(-1)).toMatchObject({
      code: 'STALE_OR_MISSING_DATA',
      message: expect.stringMatching(/UK.*CH/),
    });
    expect(answer.legalInterpretation.assessment).toContain('missing or too old');
    // The client cannot run a command of the operator.
    expect(JSON.stringify(answer)).not.toMatch(/\bassay [a-z]|ASSAY_/);
  });

  it('rejects an invalid address with its own message', () => {
    expect(screen(WALLETS.exchange).addressValidation).toMatchObject({ valid: true, checksum: false });
    const mixed = screen(WALLETS.exchange).addressValidation.canonical;
    expect(screen(mixed).addressValidation).toMatchObject({ canonical: mixed, checksum: true });
    const bitcoin = screening({ chain: 'btc', address: BTC_WALLET });
    expect(bitcoin).toMatchObject({ chain: 'BTC', address: BTC_WALLET, entity: { name: 'Genesis' } });
    expect(bitcoin.addressValidation).toMatchObject({ canonical: BTC_WALLET, checksum: true });
  });

  it.each([
    ['jurisdiction', { jurisdiction: 'XX' }],
    ['jurisdiction', { jurisdiction: 'CHE' }],
    ['asOf', { asOf: '2025-02-30' }],
    ['asOf', { asOf: 'yesterday' }],
    ['asOf', { asOf: '2026-11-22' }],
    ['maxHops', { maxHops: 0 }],
    ['maxHops', { maxHops: 6 }],
    ['maxHops', { maxHops: 1.5 }],
    ['taint', { taint: 'fifo' }],
    ['taint', { taint: 'lifo' }],
    ['taint', { taint: 'tiho' }],
    ['taint', { taint: 'chemistry' }],
    ['chain', { chain: 'NOPE' }],
    ['address', { address: '0x1' }],
  ])('rejects an invalid %s: %j', (field, change) => {
    expect(() => screen(WALLETS.payer, change)).toThrow(expect.objectContaining({ field, status: 400 }));
  });

  it('accepts a jurisdiction in any letter case', () => {
    const german = screen(WALLETS.payer, { jurisdiction: 'de' }).legalInterpretation;
    expect(german).toMatchObject({ jurisdiction: 'DE', standard: 'NATIONAL', regulator: expect.any(String) });
    expect(german.sources[0]).toMatchObject({
      sourceUrl: expect.stringMatching(/^https?:/),
      date: expect.any(String),
    });
  });

  it('applies the standard to a country without an entry, and reports it', () => {
    expect(screen(WALLETS.payer, { jurisdiction: 'TV' }).legalInterpretation).toMatchObject({
      jurisdiction: 'TV',
      standard: 'FATF',
      regulator: null,
    });
  });
});

describe('rounded shares', () => {
  it('add up to 100 after any rounding', () => {
    const thirds = roundedShares(
      new Map([
        ['A', 1],
        ['B', 1],
        ['C', 1],
      ]),
    );
    expect(thirds).toEqual({ A: 33.34, B: 33.33, C: 33.33 });
    expect(sum(roundedShares(new Map(Array.from({ length: 7 }, (_, at) => [String(at), at + 0.1]))))).toBe(
      100,
    );
  });

  it('are empty if no value moved', () => {
    expect(roundedShares(new Map([['A', 0]]))).toEqual({});
  });
});
