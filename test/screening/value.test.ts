/** Value without a price, forgeable transfers and dust do not decide a score, and shares are by amount. */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseAddress } from '../../src/chains/address/parse.ts';
import type { Transfer } from '../../src/chains/transfer.ts';
import type { Direction } from '../../src/graph/flow.ts';
import { resolvedInputsReader } from '../../src/graph/ingest/resolved-inputs.ts';
import { readRows } from '../../src/graph/ingest/rows.ts';
import { exposureOf } from '../../src/graph/kernels/exposure.ts';
import { createKernelWorkspace } from '../../src/graph/kernels/workspace.ts';
import { GRAPH_LIMITS } from '../../src/graph/limits.ts';
import { projectTransaction } from '../../src/graph/utxo/project.ts';
import { createAssessor } from '../../src/screening/assess.ts';
import { createKyt, type KytQuery } from '../../src/screening/kyt.ts';
import { createScreening, type ScreeningQuery } from '../../src/screening/screen.ts';
import { describeWithSharedData, sharedData } from '../setup/shared-data.ts';
import { createWorld, sent, WALLETS, type World } from './world.ts';

const account = (number: number): string => `0x${number.toString(16).padStart(40, '0')}`;
const ETHER = 10n ** 18n;
const SPAM = '0x5AAeb6053F3E94C9b9A09f33669435E7Ef1BeAed';
/** USDC and USDT of Ethereum, and the wrapped coin: known tokens. */
const USDC = '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48';
const USDT = '0xdAC17F958D2ee523a2206206994597C13D831ec7';

/** 100 ETH from an exchange, and 1 wei from a sanctioned wallet: no price is known of the day. */
const ONE_WEI_IN = account(0xa1);
/** The same, and 1 wei sent to the sanctioned wallet. */
const ONE_WEI_OUT = account(0xa2);
const MANY_TINY = account(0xa3);
const FORGED = account(0xa4);
const SPAMMED = account(0xa5);
const SEVERAL = account(0xa6);
/** Paid by an address that got its money from a mixer, and 20,000 payments of dust and spam besides. */
const BEHIND_SPAM = account(0xa7);
const ATTACKED = account(0xa8);
/** Paid by an address without a label that 10,001 others paid. */
const BEHIND_HUB = account(0xa9);
const HUB = account(0xaa);
/** Paid an exchange, and less than a dollar each to a mixer and to an address without a label. */
const DUSTY = account(0xab);
/** Paid 10 ETH with a price by a sanctioned wallet, and 1,000 ETH by an exchange: with a price, and without. */
const DILUTED = account(0xac);
const UNDILUTED = account(0xad);
/** Has a price, and is worth no cent. */
const ONE_WEI_PRICED = account(0xae);
const SEVERAL_DUSTS = account(0xaf);
/** Received 1,000 units of a token without a price, and dust of it from a sanctioned wallet. */
const TOKEN_DUST = account(0xb0);
/** Sent a sanctioned wallet dust that adds up to more than dust. */
const MANY_CENTS = account(0xb1);

function transfers(): Transfer[] {
  const made: Transfer[] = [];
  const add = (from: string, to: string, fields: Partial<Transfer>): void => {
    made.push(
      sent(2_000, from, to, {
        txHash: `0x${(made.length + 5_000).toString(16).padStart(64, '0')}`,
        ...fields,
      }),
    );
  };
  const unpriced = (amount: bigint) => ({ amount, valueUsd: null });
  for (const wallet of [ONE_WEI_IN, ONE_WEI_OUT]) {
    add(WALLETS.exchange, wallet, unpriced(100n * ETHER));
    add(WALLETS.sanctioned, wallet, unpriced(1n));
  }
  add(ONE_WEI_OUT, WALLETS.unknown, unpriced(40n * ETHER));
  add(ONE_WEI_OUT, WALLETS.sanctioned, unpriced(1n));
  add(WALLETS.exchange, MANY_TINY, unpriced(100n * ETHER));
  for (let at = 0; at < 10_000; at++) add(WALLETS.sanctioned, MANY_TINY, unpriced(10n ** 9n));
  add(WALLETS.exchange, FORGED, { valueUsd: 2_000 });
  add(FORGED, WALLETS.sanctioned, { asset: SPAM, ...unpriced(10n ** 30n) });
  add(WALLETS.sanctioned, FORGED, { asset: SPAM, amount: 10n ** 30n, valueUsd: 1_000_000 });
  add(WALLETS.exchange, SPAMMED, { valueUsd: 2_000 });
  for (let at = 1; at <= 3; at++)
    add(WALLETS.phishing, SPAMMED, { asset: `${SPAM.slice(0, -1)}${at}`.toLowerCase(), ...unpriced(ETHER) });
  add(WALLETS.mixer, SEVERAL, { asset: USDC, ...unpriced(3_000_000n), decimals: 6 });
  add(WALLETS.unknown, SEVERAL, { asset: USDC, ...unpriced(1_000_000n), decimals: 6 });
  add(WALLETS.exchange, SEVERAL, { asset: USDT, ...unpriced(5_000_000n), decimals: 6 });
  add(ATTACKED, BEHIND_SPAM, { valueUsd: 5_000 });
  add(WALLETS.mixer, ATTACKED, { valueUsd: 5_000 });
  for (let at = 0; at < 10_000; at++) {
    add(account(0x100_0000 + at), ATTACKED, { valueUsd: 0.01 });
    add(account(0x200_0000 + at), ATTACKED, { asset: SPAM, ...unpriced(ETHER) });
  }
  add(DUSTY, WALLETS.exchange, { valueUsd: 10 });
  add(DUSTY, WALLETS.mixer, { valueUsd: 0.45 });
  add(DUSTY, WALLETS.unknown, { valueUsd: 0.44 });
  // The newest close that ships is of 1 January 2026.
  const timestampMs = Date.parse('2026-10-01T00:00:00Z');
  for (const wallet of [DILUTED, UNDILUTED]) {
    add(WALLETS.sanctioned, wallet, { amount: 10n * ETHER, valueUsd: 29_716.4, timestampMs });
    const valueUsd = wallet === DILUTED ? null : 2_971_640;
    add(WALLETS.exchange, wallet, { amount: 1_000n * ETHER, valueUsd, timestampMs });
  }
  const wei = { amount: 1n, valueUsd: 2e-15, timestampMs };
  const cents = { asset: USDT, amount: 1_000n, decimals: 6, valueUsd: 0.001, timestampMs };
  add(WALLETS.sanctioned, ONE_WEI_PRICED, wei);
  add(WALLETS.exchange, SEVERAL_DUSTS, wei);
  add(WALLETS.sanctioned, SEVERAL_DUSTS, cents);
  const link = { asset: parseAddress('ETH', '0x514910771af9ca656af840dff83e8264ecf986ca').canonical };
  add(WALLETS.exchange, TOKEN_DUST, { ...link, ...unpriced(1_000n * ETHER) });
  add(WALLETS.sanctioned, TOKEN_DUST, { ...link, ...unpriced(2n * 10n ** 12n) });
  add(TOKEN_DUST, WALLETS.sanctioned, { ...link, ...unpriced(2n * 10n ** 12n) });
  for (let at = 0; at < 3; at++)
    add(MANY_CENTS, WALLETS.sanctioned, { amount: 2n * 10n ** 14n, valueUsd: 0.6 });
  add(HUB, BEHIND_HUB, { valueUsd: 5_000 });
  for (let at = 0; at <= GRAPH_LIMITS.counterpartiesMax; at++)
    add(account(0x300_0000 + at), HUB, { valueUsd: 20 });
  return made;
}

let world: World;
let screening: ScreeningQuery;
let kyt: KytQuery;
beforeAll(async () => {
  world = await createWorld(transfers());
  const assessor = createAssessor(world.deps);
  screening = createScreening(world.deps, assessor);
  kyt = createKyt(world.deps, assessor);
}, 120_000);
afterAll(() => world.close());

const screen = (address: string) => screening({ chain: 'ETH', address });
const check = (address: string) => kyt({ chain: 'ETH', address });

describe('value without a price', () => {
  it('finds 1 wei from a sanctioned wallet beside 100 ETH from an exchange to be nothing', () => {
    const answer = screen(ONE_WEI_IN);
    expect(answer.exposureReceiving).toEqual({ EXCHANGE: 100 });
    expect(answer).toMatchObject({ riskScore: 0, riskLevel: 'LOW', scoreBreakdown: [] });
    expect(answer.exposures).toMatchObject([
      { category: 'EXCHANGE', asset: 'ETH', priceStatus: 'NONE', class: 'published', valueUsd: null },
    ]);
  });

  it('finds 1 wei sent to a sanctioned wallet to be nothing', () => {
    expect(screen(ONE_WEI_OUT)).toMatchObject({ riskScore: 0, riskLevel: 'LOW' });
    expect(check(ONE_WEI_OUT)).toMatchObject({ decision: 'ALLOW', flags: [] });
  });

  it('does not dilute value with a price of the same asset', () => {
    const [diluted, priced] = [screen(DILUTED), screen(UNDILUTED)];
    expect(diluted.exposures.map(({ entity, valueUsd }) => [entity?.category, valueUsd])).toEqual([
      ['EXCHANGE', 2_971_640],
      ['SANCTIONED_ENTITY', 29_716.4],
    ]);
    expect(priced.riskScore).toBeGreaterThan(25);
    expect(diluted).toMatchObject({
      riskScore: priced.riskScore,
      exposureReceiving: priced.exposureReceiving,
    });
    expect([DILUTED, UNDILUTED].map((address) => check(address).decision)).toEqual(['REVIEW', 'REVIEW']);
  });

  it('says of dust with a price how it is priced, and 0.00', () => {
    const answer = screen(ONE_WEI_PRICED);
    expect(answer.exposures).toMatchObject([
      {
        category: 'SANCTIONED_ENTITY',
        asset: null,
        priceStatus: 'LAST_KNOWN',
        valueUsd: 0,
        unpricedTxCount: 0,
      },
    ]);
    expect(answer.riskScore).toBe(0);
    expect(screen(SEVERAL_DUSTS).exposures).toMatchObject([
      { category: 'UNKNOWN', asset: null, priceStatus: 'LAST_KNOWN', valueUsd: 0 },
    ]);
  });

  it('says of which day an earlier price is', () => {
    const answer = screen(UNDILUTED);
    const price = { priceStatus: 'LAST_KNOWN', priceDate: '2026-01-01' };
    expect(answer.exposures).toMatchObject([price, price]);
    expect(answer.flaggedTransactions).toMatchObject([price]);
    expect(answer.transactionFlow.inflow.byAsset).toMatchObject([price]);
    expect(screen(ONE_WEI_IN).exposures).toMatchObject([{ priceStatus: 'NONE', priceDate: null }]);
  });

  it('is not driven by the number of transfers', () => {
    expect(screen(MANY_TINY)).toMatchObject({ riskScore: 0, exposureReceiving: { EXCHANGE: 100 } });
  });

  it('flags dust as LOW in both directions, and dust that adds up as CRITICAL', () => {
    const severities = (address: string) =>
      screen(address).flaggedTransactions.map(({ direction, severity }) => `${direction} ${severity}`);
    expect(severities(ONE_WEI_OUT).sort()).toEqual(['in LOW', 'out LOW']);
    expect(severities(TOKEN_DUST).sort()).toEqual(['in LOW', 'out LOW']);
    expect(severities(DUSTY)).toEqual(['out LOW']);
    expect(severities(MANY_CENTS)).toEqual(['out CRITICAL', 'out CRITICAL', 'out CRITICAL']);
  });

  it('shows dust at its exact share, and gives it no points', () => {
    const answer = screen(DUSTY);
    expect(answer.exposureSending).toEqual({ EXCHANGE: 91.83, MIXER: 4.13, UNKNOWN: 4.04 });
    expect(
      answer.exposures.map(({ category, percentage, valueUsd }) => [category, percentage, valueUsd]),
    ).toEqual([
      ['EXCHANGE', 91.83, 10],
      ['MIXER', 4.13, 0.45],
      ['UNKNOWN', 4.04, 0.44],
    ]);
    expect(answer.riskScore).toBe(0);
  });

  it('names the assets without a price in the coverage, and no unknown token', () => {
    const assetsOf = (address: string): readonly string[] | undefined =>
      screen(address).coverage.graph.unpricedAssets;
    expect(assetsOf(ONE_WEI_IN)).toEqual(['ETH']);
    expect([...(assetsOf(SEVERAL) ?? [])].sort()).toEqual([USDC.toLowerCase(), USDT.toLowerCase()].sort());
    expect(assetsOf(FORGED)).toEqual([]);
    expect(check(ONE_WEI_IN).coverage.graph.unpricedAssets).toEqual(['ETH']);
  });

  it('gives several assets without a price rows of their own, and bounds their points', () => {
    const answer = screen(SEVERAL);
    expect(answer.exposureReceiving).toEqual({ UNKNOWN: 100 });
    const rows = answer.exposures.map(({ asset, category, percentage, priceStatus }) => [
      asset,
      category,
      percentage,
      priceStatus,
    ]);
    expect(rows).toEqual([
      [null, 'UNKNOWN', 100, 'NONE'],
      [USDC.toLowerCase(), 'MIXER', 75, 'NONE'],
      // The rest came from an address that had it from others.
      [USDC.toLowerCase(), 'EXCHANGE', 23.26, 'NONE'],
      [USDC.toLowerCase(), 'MIXER', 1.74, 'NONE'],
      [USDT.toLowerCase(), 'EXCHANGE', 100, 'NONE'],
    ]);
    expect(answer.riskScore).toBeGreaterThan(0);
    expect(answer.riskScore).toBeLessThanOrEqual(world.deps.policy.unpricedPointsMax);
    expect(answer.scoreBreakdown).toMatchObject([{ category: 'MIXER', asset: USDC, percentage: 75 }]);
  });
});

describe('tokens that no list knows', () => {
  it('bring no points, whatever an event says, and block nothing', () => {
    const answer = screen(FORGED);
    expect(answer).toMatchObject({ riskScore: 0, exposureSending: {}, exposureReceiving: { EXCHANGE: 100 } });
    expect(answer.flaggedTransactions).toEqual([]);
    expect(check(FORGED)).toMatchObject({ decision: 'ALLOW', riskScore: 0, flags: [] });
    const pair = kyt({ chain: 'ETH', from: FORGED, to: WALLETS.exchange });
    expect(pair).toMatchObject({ decision: 'ALLOW', link: { riskScore: 0 } });
    const [ether, spam] = ['ETH', SPAM.toLowerCase()].map((asset) =>
      answer.transactionFlow.inflow.byAsset.find((flow) => flow.asset === asset),
    );
    expect(ether).toMatchObject({ isEvidence: true });
    expect(spam).toMatchObject({ isEvidence: false });
  });

  it('bring no points in any number', () => {
    expect(screen(SPAMMED).riskScore).toBe(0);
  });

  it('do not cut a walk together with dust, in any number', () => {
    const answer = screen(BEHIND_SPAM);
    expect(answer.exposureReceiving.MIXER).toBe(100);
    expect(answer.stoppedAt).toEqual([]);
  });
});

describe('hubs without a label', () => {
  it('end a walk, and are named as a reason that needs a review', () => {
    const answer = screen(BEHIND_HUB);
    expect(answer.stoppedAt).toMatchObject([{ address: HUB, reason: 'MAX_DEGREE', percentage: 100 }]);
    expect(answer.reasons).toMatchObject([
      {
        code: 'HUB_NOT_FOLLOWED',
        severity: 'MEDIUM',
        message:
          '100 % of the value received could not be followed: it passed addresses without a label that have more than 10000 counterparties.',
      },
    ]);
    expect(check(BEHIND_HUB)).toMatchObject({ decision: 'REVIEW', flags: [] });
  });
});

describeWithSharedData('Bitcoin block 300025', () => {
  interface Sum {
    whole: bigint;
    readonly parties: Map<string, bigint>;
  }
  const sums = { in: new Map<string, Sum>(), out: new Map<string, Sum>() };
  const add = (direction: Direction, own: string, other: string | null, sats: bigint): void => {
    const sum = sums[direction].get(own) ?? { whole: 0n, parties: new Map<string, bigint>() };
    sum.whole += sats;
    if (other !== null) sum.parties.set(other, (sum.parties.get(other) ?? 0n) + sats);
    sums[direction].set(own, sum);
  };

  beforeAll(async () => {
    const made: Transfer[] = [];
    const reader = resolvedInputsReader('BTC');
    const take = ({ transaction }: { transaction: Parameters<typeof projectTransaction>[0] }): void => {
      const { transfers: projected } = projectTransaction(transaction);
      made.push(...projected);
      for (const { from, to, amount } of projected) {
        if (from === to) continue;
        if (to !== null) add('in', to, from, amount);
        if (from !== null) add('out', from, to, amount);
      }
    };
    const block = sharedData('transactions', 'bitcoin', 'block300025_inputs_outputs.csv');
    for await (const row of readRows(block)) if (row.ok) reader.read(row.fields, take);
    reader.end(take);
    await world.transfers.ingest(made.map((transfer) => ({ ...transfer, valueUsd: null })));
  });

  /** Direct shares of one address, with every address its own owner unless `ownerOf` joins some. */
  function sharesOf(address: string, direction: Direction, ownerOf = (text: string): string => text) {
    const graph = world.deps.transfers.graph('BTC');
    const start = graph?.idOf(parseAddress('BTC', address).key) ?? null;
    if (graph === null || start === null) throw new Error(`${address} is not stored.`);
    const { rows } = exposureOf(
      {
        ...{ start, direction, maxHops: 1, degreeMax: 10_000, nodesMax: 10 },
        weighing: { isEvidence: (asset) => asset === 'BTC', dustUsd: 0, dustShare: 0 },
      },
      {
        graph,
        workspace: createKernelWorkspace(),
        attribution: (other) => (other === start ? null : { key: ownerOf(graph.addressOf(other)) }),
      },
    );
    return new Map(rows.map(({ attribution, share }) => [attribution.key, share]));
  }

  it('gives every direct share by its satoshi', () => {
    let compared = 0;
    for (const direction of ['in', 'out'] as const)
      for (const [address, { whole, parties }] of sums[direction]) {
        if (whole === 0n || parties.size === 0) continue;
        const shares = sharesOf(address, direction);
        for (const [other, sats] of parties) {
          if (sats === 0n) continue;
          expect(shares.get(other)).toBeCloseTo(Number(sats) / Number(whole), 12);
          compared++;
        }
      }
    expect(compared).toBeGreaterThan(2_000);
  });

  it('gives a gambler the share of a house by what was paid, not by the number of payments', () => {
    // LuckyB.it, as WalletExplorer names it, paid more than half of what the gambler received in two payments.
    const shares = sharesOf('18bW2s7nDP2VBper8WaJ25KdQXepZgF4df', 'in');
    expect(shares.get('1NxaBCFQwejSZbQfWcYNwgqML5wWoE3rK4')).toBeCloseTo(0.5556, 4);
  });
});
