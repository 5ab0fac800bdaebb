/** The contracts of wrapped native coins come from the built-in pegs. */
import { describe, expect, it } from 'vitest';
import { formatAddressKey } from '../../src/chains/address/parse.ts';
import { wrappedCoinOf } from '../../src/chains/prices/wrapped.ts';
import { CHAINS, type ChainId, isEvm } from '../../src/chains/registry.ts';

const contractOf = (chain: ChainId): string | null => {
  const found = wrappedCoinOf(chain);
  return found && formatAddressKey(found.key, chain);
};

describe('the contract of a wrapped coin', () => {
  it('belongs to the native coin of the chain, not to another coin there', () => {
    expect(contractOf('ETH')).toBe('0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2');
    expect(contractOf('BSC')).toBe('0xbb4CdB9CBd36B01bD1cBaEBF2De08d9173bc095c');
    expect(contractOf('POLYGON')).toBe('0x0d500B1d8E8eF31E21C99d1Db9A6444d3ADf1270');
    expect(contractOf('MANTLE')).toBe('0x78c1b0C915c4FAA5FffA6CAbf0219DA63d7f4cb8');
    expect(contractOf('GNOSIS')).toBe('0xe91D153E0b41518A2Ce8Dd3D7944Fa863463a97d');
  });

  it('exists on every EVM chain but two, and on no other: no ETC contract is in the pegs, and CELO itself is a token', () => {
    const without = CHAINS.filter(({ id }) => isEvm(id) && wrappedCoinOf(id) === null).map(({ id }) => id);
    expect(without).toEqual(['ETC', 'CELO']);
    expect(CHAINS.filter(({ id }) => !isEvm(id) && wrappedCoinOf(id) !== null)).toEqual([]);
  });
});
