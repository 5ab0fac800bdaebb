/**
 * Relations that hold for the answers about any stored transfers: the shares of what moved of an asset add up to 100 %, an answer as of the
 * present day is that of now, and neither the order of the transfers nor unrelated ones matter.
 */
import { afterAll, describe, expect, it } from 'vitest';
import { seededUint32 } from '../../src/base/random.ts';
import type { Transfer } from '../../src/chains/transfer.ts';
import { createAssessor } from '../../src/screening/assess.ts';
import { createScreening } from '../../src/screening/screen.ts';
import { createWorld, NOW, sent, WALLETS, type World } from './world.ts';

const USDC = '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48';
/** Known tokens without a price. */
const TOKENS = [
  '0x0D8775F648430679A709E98d2b0Cb6250d2887EF',
  '0x6B3595068778DD592e39A122f4f5a5cF09C90fE2',
] as const;
const LABELLED = [WALLETS.exchange, WALLETS.phishing, WALLETS.mixer, WALLETS.sanctioned];
const TODAY = new Date(NOW).toISOString().slice(0, 10);

const addressOf = (world: number, number: number): string =>
  `0x${((world + 1) * 0x1_0000 + number + 1).toString(16).padStart(40, '0')}`;

interface RandomWorld {
  readonly addresses: readonly string[];
  readonly transfers: readonly Transfer[];
}

/** Transfers among a few addresses: cycles, self-transfers, mints, burns, dust, zero amounts, and several assets with and without a price. */
function randomWorld(seed: number): RandomWorld {
  const bits = seededUint32(seed);
  const next = (): number => bits() / 2 ** 32;
  const pick = <One>(from: readonly One[]): One => from[Math.floor(next() * from.length)] as One;
  const own = Array.from({ length: 12 }, (_, number) => addressOf(seed, number));
  const parties = [...own, ...LABELLED];
  const transfers = Array.from({ length: 50 }, (_, number): Transfer => {
    const chance = next();
    const from = chance < 0.06 ? null : pick(parties);
    const to = chance > 0.94 ? null : pick(own);
    const asset = pick(['ETH', USDC, ...TOKENS]);
    const usd = Math.round(100 * 10 ** (7 * next() - 2)) / 100;
    const decimals = asset === USDC ? 6 : 18;
    const isPriced = asset !== TOKENS[0] && asset !== TOKENS[1] && next() > 0.1;
    const units = asset === 'ETH' ? usd / 2_000 : usd;
    const amount = next() < 0.05 ? 0n : BigInt(Math.round(units * 1e6)) * 10n ** BigInt(decimals - 6);
    const position = `log:${number}`;
    const valueUsd = isPriced && amount > 0n ? usd : null;
    return {
      ...sent(1_000 + 100 * seed + Math.floor(number / 2), '', ''),
      ...{ from, to, asset, amount, decimals, position, valueUsd },
      timestampMs: NOW - (60 - number) * 86_400_000,
    };
  });
  return { addresses: own, transfers };
}

const worlds: World[] = [];
afterAll(async () => {
  for (const world of worlds) await world.close();
});

/** Stores transfers, and returns how they are screened. */
async function screenerOf(transfers: readonly Transfer[]) {
  const world = await createWorld(transfers);
  worlds.push(world);
  const screening = createScreening(world.deps, createAssessor(world.deps));
  return (address: string, asOf: string | null = null) => {
    const { screenedAt: _, ...answer } = screening({ chain: 'ETH', address, ...(asOf !== null && { asOf }) });
    return answer;
  };
}

/** Sums of the shares by direction and asset. */
function sharesOf({
  exposures = [],
}: ReturnType<Awaited<ReturnType<typeof screenerOf>>>): Map<string, number> {
  const sums = new Map<string, number>();
  for (const { direction, asset, percentage } of exposures) {
    const key = `${direction} ${asset}`;
    sums.set(key, (sums.get(key) ?? 0) + percentage);
  }
  return sums;
}

const SEEDS = Array.from({ length: 12 }, (_, seed) => seed);

describe('a screening of random transfers', () => {
  it('has shares that add up to 100 % for each direction and asset', async () => {
    const all = SEEDS.map(randomWorld);
    const screen = await screenerOf(all.flatMap(({ transfers }) => transfers));
    for (const address of all.flatMap(({ addresses }) => addresses))
      for (const [key, sum] of sharesOf(screen(address))) {
        // Shares that round to 0 are not listed.
        expect(sum, `${address} ${key}`).toBeLessThan(100.1);
        expect(sum, `${address} ${key}`).toBeGreaterThan(99);
      }
  });

  it('is the same as of the present day', async () => {
    const all = SEEDS.map(randomWorld);
    const screen = await screenerOf(all.flatMap(({ transfers }) => transfers));
    for (const address of all.flatMap(({ addresses }) => addresses)) {
      const now = screen(address);
      const { coverage, clusterAnalysis } = now;
      expect({ ...screen(address, TODAY), asOf: null, coverage, clusterAnalysis }).toEqual(now);
    }
  });

  it('is, as of an earlier day, that of the transfers stored by then', async () => {
    // Without what has no time in the store (no counterparty), and of each pair one transfer of an asset: its USD are not stored by day.
    const pairs = new Set<string>();
    const all = SEEDS.map(randomWorld);
    const transfers = all
      .flatMap((world) => world.transfers)
      .filter(({ from, to, asset }) => {
        const pair = `${from} ${to} ${asset}`;
        if (from === null || to === null || pairs.has(pair)) return false;
        pairs.add(pair);
        return true;
      });
    const whole = await screenerOf(transfers);
    for (const daysAgo of [50, 35, 20]) {
      const untilMs = Date.parse(TODAY) - (daysAgo - 1) * 86_400_000 - 1;
      const day = new Date(untilMs).toISOString().slice(0, 10);
      const then = await screenerOf(transfers.filter(({ timestampMs }) => timestampMs <= untilMs));
      for (const address of all.flatMap(({ addresses }) => addresses)) {
        const { riskScore, scoreBreakdown, exposureReceiving, exposureSending } = then(address, day);
        expect(whole(address, day), `${address} as of ${day}`).toMatchObject({
          ...{ riskScore, scoreBreakdown, exposureReceiving, exposureSending },
        });
      }
    }
  });

  it('depends neither on the order of the transfers nor on unrelated ones', async () => {
    const worldsAlone = SEEDS.slice(0, 4).map(randomWorld);
    const all = SEEDS.map(randomWorld).flatMap(({ transfers }) => transfers);
    const together = await screenerOf([...all].reverse());
    for (const { addresses, transfers } of worldsAlone) {
      const alone = await screenerOf(transfers);
      for (const address of addresses) {
        const { riskScore, scoreBreakdown, exposureReceiving, exposureSending } = alone(address);
        expect(together(address)).toMatchObject({
          ...{ riskScore, scoreBreakdown, exposureReceiving, exposureSending },
        });
      }
    }
  });
});

describe('a share of an asset without a price', () => {
  const HOLDER = addressOf(90, 1);
  const GIVER = addressOf(90, 2);
  const [token] = TOKENS;
  const units = (amount: bigint) => ({ asset: token, amount: amount * 10n ** 18n, valueUsd: null });
  const rowsIn = async (transfers: readonly Transfer[]) => {
    const screen = await screenerOf(transfers);
    return (screen(HOLDER).exposures ?? [])
      .filter(({ direction, asset }) => direction === 'in' && asset?.toLowerCase() === token.toLowerCase())
      .map(({ category, hops, percentage }) => [category, hops, percentage]);
  };

  it('counts a party once that paid the asset and no USD, if others paid dust of the asset', async () => {
    const rows = await rowsIn([
      sent(60, addressOf(90, 3), HOLDER, { valueUsd: 500 }),
      sent(61, WALLETS.exchange, HOLDER, units(100_000n)),
      sent(62, GIVER, HOLDER, units(1n)),
    ]);
    expect(rows).toEqual([
      ['EXCHANGE', 1, 100],
      ['UNKNOWN', 1, 0],
    ]);
  });

  it('is of that asset, if only dust of it and a few cents came in', async () => {
    /** Has no decimals: the amount of dust is not greater than the cents. */
    const whole = { asset: '0x08d32b0da63e2C3bcF8019c9c5d849d7a9d791e6', decimals: 0, valueUsd: null };
    const screen = await screenerOf([
      sent(70, WALLETS.mixer, GIVER, { valueUsd: 1_000 }),
      sent(71, GIVER, HOLDER, { valueUsd: 0.9 }),
      sent(72, WALLETS.exchange, HOLDER, { ...whole, amount: 1n }),
      sent(73, HOLDER, addressOf(90, 4), { ...whole, amount: 20_000n }),
    ]);
    expect(screen(HOLDER).exposureReceiving).toEqual({ EXCHANGE: 100 });
  });
});

describe('a screening as of a day', () => {
  it('counts mints of an address that has no later transfer', async () => {
    const minted = addressOf(91, 1);
    const screen = await screenerOf([
      { ...sent(80, '', minted, { valueUsd: 9_900 }), from: null },
      sent(81, WALLETS.mixer, minted, { asset: USDC, decimals: 6, amount: 100_000_000n, valueUsd: 100 }),
    ]);
    expect(screen(minted).exposureReceiving).toEqual({ MIXER: 1, UNKNOWN: 99 });
    expect(screen(minted, TODAY).exposureReceiving).toEqual({ MIXER: 1, UNKNOWN: 99 });
  });
});

describe('value at a limit of the policy', () => {
  it('counts the same whatever else the address moved', async () => {
    const rests = Array.from({ length: 40 }, (_, number) => 17 + (73 * number) / 100);
    const holder = (group: number, at: number): string => addressOf(91 + group, at);
    const other = addressOf(95, 1);
    let index = 100;
    const usdc = (from: string, to: string, valueUsd: number): Transfer =>
      sent(index++, from, to, {
        ...{ asset: USDC, decimals: 6, amount: BigInt(Math.round(valueUsd * 1e6)), valueUsd },
        timestampMs: NOW - 86_400_000,
      });
    const screen = await screenerOf(
      rests.flatMap((rest, at) => [
        // As much as unsolicited money may be.
        ...[usdc(WALLETS.mixer, holder(0, at), 500), usdc(other, holder(0, at), rest)],
        // Asked for: the mixer got as much as is no dust.
        ...[usdc(WALLETS.mixer, holder(1, at), 400), usdc(holder(1, at), WALLETS.mixer, 1)],
        usdc(holder(1, at), other, rest),
      ]),
    );
    const isDiscounted = (address: string): boolean | undefined =>
      screen(address).scoreBreakdown?.some(({ factor }) => factor === 'UNSOLICITED_INBOUND');
    expect(rests.map((_, at) => isDiscounted(holder(0, at)))).toEqual(rests.map(() => true));
    expect(rests.map((_, at) => isDiscounted(holder(1, at)))).toEqual(rests.map(() => false));
  });
});
