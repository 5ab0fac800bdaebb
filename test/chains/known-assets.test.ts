import { describe, expect, it } from 'vitest';
import { loadAssetFacts } from '../../src/chains/known-assets.ts';
import { createPriceBook } from '../../src/chains/prices/book.ts';
import { loadPegs } from '../../src/chains/prices/table.ts';

const USDT = '0xdAC17F958D2ee523a2206206994597C13D831ec7';
const WORTHLESS = '0x00000000219ab540356cBB839Cbe05303d7705Fa';
const OCTOBER_2026 = Date.parse('2026-10-15T12:00:00Z');

describe('asset facts', () => {
  const shipped = loadAssetFacts();

  it('cover native coins and pegged tokens, and no other contract', () => {
    expect(shipped.isKnown('ETH', 'ETH')).toBe(true);
    expect(shipped.isKnown('BASE', 'ETH')).toBe(true);
    expect(shipped.isKnown('ETH', USDT)).toBe(true);
    expect(shipped.isKnown('BSC', USDT)).toBe(false);
    expect(shipped.isKnown('ETH', WORTHLESS)).toBe(false);
    // After its peg ends, the token is still known.
    expect(shipped.isKnown('ETH', '0x4Fabb145d64652a948d72533023f6E7A623C7C53')).toBe(true);
  });

  it('state the price source of an asset at a time', () => {
    expect(shipped.priceStatusAt('ETH', 'ETH', Date.parse('2025-12-01T12:00:00Z'))).toBe('EXACT');
    expect(shipped.priceStatusAt('ETH', 'ETH', OCTOBER_2026)).toBe('LAST_KNOWN');
    expect(shipped.priceStatusAt('ETH', USDT, OCTOBER_2026)).toBe('PEG');
    expect(shipped.priceStatusAt('ETH', WORTHLESS, OCTOBER_2026)).toBe('NONE');
    expect(shipped.priceStatusAt('ETH', 'ETH', Date.parse('2014-01-01'))).toBe('NONE');
  });

  it('use the token list and the prices of the installation', () => {
    const facts = loadAssetFacts({
      prices: { book: createPriceBook({ tables: [], pegs: loadPegs() }) },
      tokens: { isKnown: (_, asset) => asset === WORTHLESS, decimalsOf: () => null },
    });
    expect(facts.isKnown('ETH', WORTHLESS)).toBe(true);
    expect(facts.isKnown('ETH', USDT)).toBe(false);
    expect(facts.isKnown('ETH', 'ETH')).toBe(true);
    expect(facts.priceStatusAt('ETH', 'ETH', OCTOBER_2026)).toBe('NONE');
  });
});
