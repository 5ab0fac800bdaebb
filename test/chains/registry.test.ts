/** The registry against the list of chains in the specification. */
import { describe, expect, it } from 'vitest';
import { CHAINS, isEvm, parseChainId } from '../../src/chains/registry.ts';

const SPECIFIED =
  'ETH BSC POLYGON ARBITRUM OPTIMISM BASE AVALANCHE LINEA GNOSIS FANTOM CRONOS ETC MANTLE SCROLL ZKSYNC CELO MOONBEAM ETHERLINK BTC LTC DOGE DASH ZEC BCH BSV SOL TRON XRP XLM ADA DOT TON XMR ATOM ALGO XTZ'.split(
    ' ',
  );

describe('the registry of chains', () => {
  it('contains the 36 chains of the specification', () => {
    expect(CHAINS.map((chain) => chain.id).toSorted()).toEqual(SPECIFIED.toSorted());
  });

  it('has a valid and unique CAIP-2 id for every chain', () => {
    for (const chain of CHAINS) expect(chain.caip2).toMatch(/^[-a-z0-9]{3,8}:[-_a-zA-Z0-9]{1,32}$/);
    expect(new Set(CHAINS.map((chain) => chain.caip2)).size).toBe(CHAINS.length);
  });

  it('assigns one key byte to all EVM chains and one to each other chain', () => {
    const evm = CHAINS.filter((chain) => isEvm(chain.id));
    expect(new Set(evm.map((chain) => chain.keyByte)).size).toBe(1);
    expect(new Set(CHAINS.map((chain) => chain.keyByte)).size).toBe(CHAINS.length - evm.length + 1);
  });

  it('lists explorers by https, without a trailing slash', () => {
    for (const chain of CHAINS) expect(chain.explorerUrl).toMatch(/^https:\/\/.*[^/]$/);
  });

  it('parses chain ids in any letter case and rejects unknown ones by name', () => {
    expect(parseChainId('zkSync')).toBe('ZKSYNC');
    expect(() => parseChainId('NEAR')).toThrow(/^chain: must be one of ETH, .*\(got "NEAR"\)/);
  });
});
