/** Quotes and URIs: exact integers at a locked rate, and the forms of BIP-21, EIP-681 and Solana Pay. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { paymentUri } from '../../../src/billing/crypto/payment-uri.ts';
import {
  amountAt,
  atLockedRate,
  coinsOf,
  decimalText,
  type UsdRate,
} from '../../../src/billing/crypto/quote.ts';
import { SteadyClock } from '../../../src/billing/crypto/steady-clock.ts';
import { PAYMENT_CHAINS, readTerms } from '../../../src/billing/crypto/terms.ts';
import { WatchTable } from '../../../src/billing/crypto/watch-table.ts';
import { parseAddress } from '../../../src/chains/address/parse.ts';

const rate = (usd: string): UsdRate => ({ usd, source: 'own', atMs: 0 });
const terms = readTerms();
const asset = (currency: string) => terms.assets.find((one) => one.currency === currency)!;

describe('amounts', () => {
  it('rounds up to the smallest unit, and to eight digits for coins with more', () => {
    expect(amountAt(19_900, { decimals: 8 }, rate('60000'))).toBe(331_667n);
    expect(amountAt(19_900, { decimals: 18 }, rate('3000'))).toBe(66_333_340_000_000_000n);
    expect(amountAt(19_900, { decimals: 6 }, rate('1'))).toBe(199_000_000n);
  });

  it('never asks for less than the price, and for less than one unit more', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 99_999_999 }),
        fc.integer({ min: 0, max: 8 }),
        fc.double({ min: 1e-9, max: 1e6, noNaN: true }),
        (cents, decimals, usd) => {
          const text = decimalText(usd);
          const amount = amountAt(cents, { decimals }, rate(text));
          const [whole = '', fraction = ''] = text.split('.');
          const digits = BigInt(whole + fraction);
          const value = (units: bigint): bigint => units * digits * 100n;
          const price = BigInt(cents) * 10n ** BigInt(decimals + fraction.length);
          expect(value(amount)).toBeGreaterThanOrEqual(price);
          expect(value(amount - 1n)).toBeLessThan(price);
        },
      ),
    );
  });

  it('writes numbers without an exponent, and refuses what is no price', () => {
    expect(decimalText(1e-7)).toBe('0.0000001');
    expect(decimalText(1.25e-9)).toBe('0.00000000125');
    expect(decimalText(2.5e21)).toBe('2500000000000000000000');
    for (const value of [0, -1, Number.NaN, Number.POSITIVE_INFINITY])
      expect(() => decimalText(value)).toThrow(RangeError);
  });

  it('converts a late payment to units of the quote, rounded down', () => {
    expect(atLockedRate(1_000n, rate('50'), rate('100'))).toBe(500n);
    expect(atLockedRate(1_001n, rate('50.5'), rate('100'))).toBe(505n);
    expect(atLockedRate(7n, rate('1.5'), rate('1.5'))).toBe(7n);
  });

  it('writes whole coins', () => {
    expect(coinsOf(331_667n, 8)).toBe('0.00331667');
    expect(coinsOf(100_000_000n, 8)).toBe('1');
    expect(coinsOf(0n, 8)).toBe('0');
  });
});

describe('URIs', () => {
  it.each([
    ['BTC', 'bc1qx', null, 'bitcoin:bc1qx?amount=0.00331667'],
    ['LTC', 'ltc1qx', null, 'litecoin:ltc1qx?amount=0.00331667'],
    ['DOGE', 'Dx', null, 'dogecoin:Dx?amount=0.00331667'],
    ['BCH', 'bitcoincash:qx', null, 'bitcoincash:qx?amount=0.00331667'],
    ['ETH', '0xa', null, 'ethereum:0xa@1?value=331667'],
    ['ARBITRUM:ETH', '0xa', null, 'ethereum:0xa@42161?value=331667'],
    [
      'BASE:USDC',
      '0xa',
      null,
      'ethereum:0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913@8453/transfer?address=0xa&uint256=331667',
    ],
    ['SOL', 'So', 'Ref', 'solana:So?amount=0.000331667&reference=Ref'],
    [
      'SOL:USDC',
      'So',
      'Ref',
      'solana:So?amount=0.331667&spl-token=EPjFWdd5AufqSSqeM2qN1xzybapC8G4wEGGkZwyTDt1v&reference=Ref',
    ],
    ['TRON:USDT', 'Tx', null, 'Tx'],
  ])('of %s', (currency, address, reference, uri) => {
    expect(paymentUri(asset(currency), address, 331_667n, reference)).toBe(uri);
  });
});

describe('terms', () => {
  it('needs more confirmations for more money', () => {
    expect(terms.depthOf('BTC', 99_999)).toEqual({ blocks: 1, belowUsd: 1000 });
    expect(terms.depthOf('BTC', 100_000)).toMatchObject({ blocks: 2 });
    expect(terms.depthOf('BTC', 1_000_000)).toEqual({ blocks: 6 });
    expect(terms.depthOf('ETH', 99_999)).toMatchObject({ blocks: 12 });
    expect(terms.depthOf('ETH', 100_000)).toEqual({ tag: 'finalized' });
    expect(terms.depthOf('BASE', 99_999)).toMatchObject({ tag: 'safe' });
    expect(terms.depthOf('BASE', 100_000)).toEqual({ tag: 'finalized' });
    for (const chain of PAYMENT_CHAINS) expect(terms.depthOf(chain, 1)).toBeDefined();
  });

  it('lists tokens in their canonical form, each currency once', () => {
    expect(new Set(terms.assets.map(({ currency }) => currency)).size).toBe(terms.assets.length);
    for (const { chain, asset: contract, symbol } of terms.assets)
      if (symbol.startsWith('USD')) expect(parseAddress(chain, contract).canonical).toBe(contract);
    expect(asset('TRON:USDC')).toBeUndefined();
    expect(asset('POLYGON:USDC').asset).not.toBe('0x2791Bca1f2de4661ED88A30C99A7a9449Aa84174');
  });
});

describe('a steady clock', () => {
  const LOCK_MS = 15 * 60_000;
  it('keeps its time through jumps in both directions, and follows drift', () => {
    let wall = 1_000_000_000_000;
    let monotonic = 5;
    const steady = new SteadyClock({ now: () => wall, monotonic: () => monotonic }, LOCK_MS);
    const pass = (ms: number): void => {
      wall += ms;
      monotonic += ms;
    };
    pass(60_000);
    expect(steady.now()).toBe(1_000_000_060_000);
    wall += 3_600_000;
    expect(steady.now()).toBe(1_000_000_060_000);
    pass(60_000);
    expect(steady.now()).toBe(1_000_000_120_000);
    wall -= 2 * 3_600_000;
    expect(steady.now()).toBe(1_000_000_120_000);
    wall += 3_600_000 + 500;
    expect(steady.now()).toBe(1_000_000_120_500);
  });

  it('takes a corrected time after one lock', () => {
    let wall = 1_000_000_000_000;
    let monotonic = 0;
    const steady = new SteadyClock({ now: () => wall, monotonic: () => monotonic }, LOCK_MS);
    wall += 3_600_000;
    expect(steady.now()).toBe(1_000_000_000_000);
    wall += LOCK_MS;
    monotonic += LOCK_MS;
    expect(steady.now()).toBe(wall);
  });

  it('waits for one lock from the last jump on, and follows half a second at once', () => {
    let wall = 1_000_000_000_000;
    let monotonic = 0;
    const steady = new SteadyClock({ now: () => wall, monotonic: () => monotonic }, LOCK_MS);
    const pass = (ms: number): void => {
      wall += ms;
      monotonic += ms;
    };
    wall += 500;
    expect(steady.now()).toBe(wall);
    wall -= 500;
    expect(steady.now()).toBe(wall);
    const right = wall;
    wall += 501;
    expect(steady.now()).toBe(right);
    pass(LOCK_MS / 2);
    expect(steady.now()).toBe(right + LOCK_MS / 2);
    // The clock jumps on: what it showed in between counts no more.
    wall += 3_600_000;
    expect(steady.now()).toBe(right + LOCK_MS / 2);
    pass(LOCK_MS - 1);
    expect(steady.now()).toBe(right + LOCK_MS / 2 + LOCK_MS - 1);
    pass(1);
    expect(steady.now()).toBe(wall);
  });
});

describe('the table of addresses', () => {
  it('finds each address and no other, before and after removals', () => {
    fc.assert(
      fc.property(fc.uniqueArray(fc.stringMatching(/^[0-9a-f]{5,12}$/), { minLength: 2 }), (names) => {
        const table = new WatchTable();
        const inside = names.slice(0, names.length >> 1);
        for (const target of inside)
          table.add({ chain: 'ETH', accountId: 'a', invoiceId: target, target, untilMs: 1 });
        for (const target of names)
          expect(table.find(target)?.invoiceId ?? null).toBe(inside.includes(target) ? target : null);
        for (const target of inside.slice(1)) table.remove(target);
        expect(table.count('ETH')).toBe(1);
        expect([...table.of('ETH')].map(({ target }) => target)).toEqual(inside.slice(0, 1));
        expect(table.find(inside[1] ?? '')).toBeNull();
      }),
    );
    expect(new WatchTable().find(null)).toBeNull();
  });
});
