/** A value that a file gives is believed unless it contradicts the price of our own tables. */
import { describe, expect, it } from 'vitest';
import { isPlausibleValue } from '../../src/chains/prices/given-value.ts';

const DAY = 86_400_000;
const AT = Date.parse('2025-06-20T00:00:00Z');
const isPlausible = (given: number, own: number, days: number, price: object = {}): boolean =>
  isPlausibleValue(
    given,
    own,
    { atMs: AT - days * DAY, status: days <= 1 ? 'EXACT' : 'LAST_KNOWN', ...price },
    AT,
  );

describe('the value given by a source', () => {
  it.each([
    ['a price of the day', 0.5, 10],
    ['a price of the month', 20, 30],
    ['an older price', 300, 1000],
  ])('may differ from %s by its factor, in both directions', (_, days, factor) => {
    expect(isPlausible(100 * factor, 100, days)).toBe(true);
    expect(isPlausible(101 * factor, 100, days)).toBe(false);
    expect(isPlausible(100, 100 * factor, days)).toBe(true);
    expect(isPlausible(100, 101 * factor, days)).toBe(false);
  });

  it('may differ from a peg to the dollar by a factor of 2', () => {
    const peg = { status: 'PEG', atMs: AT };
    expect(isPlausible(51, 100, 0, peg)).toBe(true);
    expect(isPlausible(49, 100, 0, peg)).toBe(false);
    expect(isPlausible(0.0001, 1e6, 0, peg)).toBe(false);
  });

  it('may differ from the coin of a wrapped token like from the coin itself', () => {
    const coin = { status: 'PEG', coin: { symbol: 'ETH', status: 'LAST_KNOWN', source: 'shipped' } };
    expect(isPlausible(100, 2_900, 20, coin)).toBe(true);
    expect(isPlausible(100, 3_100, 20, coin)).toBe(false);
  });

  it('may differ by a cent of rounding', () => {
    expect(isPlausible(0.01, 0.00001, 0.5)).toBe(true);
    expect(isPlausible(0, 0.009, 0.5)).toBe(true);
    expect(isPlausible(5, 0, 0.5)).toBe(false);
  });
});
