import { describe, expect, it } from 'vitest';
import { parseAddress } from '../../src/chains/address/parse.ts';
import { loadBridges, parseBridges } from '../../src/chains/bridges.ts';
import type { ChainId } from '../../src/chains/registry.ts';

const contract = {
  chain: 'ETH',
  address: '0x3154Cf16ccdb4C6d922629664174b904d80F2C35',
  role: 'l1 standard bridge',
  sourceUrl: 'https://example.org',
  date: '2026-01-01',
  verified: true,
};
const bridge = {
  id: 'a',
  name: 'A',
  entities: ['a', 'a-bridge'],
  recipient: 'STATED',
  elsewhere: ['Sui'],
  chains: ['ETH', 'BASE', 'SOL'],
  sourceUrl: 'https://example.org',
  date: '2026-01-01',
  verified: true,
  contracts: [contract],
};
const keyOf = (chain: ChainId, address: string) => parseAddress(chain, address).key;

describe('bridges', () => {
  it('give the destinations of a deposit, and whether the depositor has the same address there', () => {
    const bridges = parseBridges({ bridges: [bridge] });
    expect(bridges.of('ETH', keyOf('ETH', contract.address))).toEqual({
      id: 'a',
      name: 'A',
      counterparts: ['BASE', 'SOL'],
      sameAddress: ['BASE'],
      elsewhere: ['Sui'],
      recipient: 'STATED',
      role: 'l1 standard bridge',
      sourceUrl: 'https://example.org',
      date: '2026-01-01',
      verified: true,
    });
  });

  it('recognise a contract on its own chain only', () => {
    const bridges = parseBridges({ bridges: [bridge] });
    expect(bridges.of('BASE', keyOf('BASE', contract.address))).toBeNull();
  });

  it('are found by the entity of a label, on the chains that they join', () => {
    const bridges = parseBridges({ bridges: [bridge] });
    expect(bridges.ofEntity('SOL', 'a-bridge')).toMatchObject({
      counterparts: ['ETH', 'BASE'],
      sameAddress: [],
      role: null,
    });
    expect(bridges.ofEntity('BSC', 'a-bridge')).toBeNull();
    expect(bridges.ofEntity('ETH', 'binance')).toBeNull();
  });

  it.each([
    [{ recipient: 'ANYBODY' }, 'bridges[0].recipient'],
    [{ chains: ['ETH', 'NOPE'] }, 'bridges[0].chains'],
    [{ chains: ['BASE'] }, 'bridges[0].contracts[0].chain'],
    [{ name: '' }, 'bridges[0].name'],
    [{ contracts: [{ ...contract, date: 'today' }] }, 'bridges[0].contracts[0].date'],
    [{ contracts: [{ ...contract, verified: 'yes' }] }, 'bridges[0].contracts[0].verified'],
    [{ contracts: [contract, contract] }, 'bridges[0].contracts[1].address'],
    [{ contracts: [{ ...contract, address: '0x1' }] }, 'address'],
    [{ entities: 'a' }, 'bridges[0].entities'],
  ])('reject %j and name the field', (change, field) => {
    expect(() => parseBridges({ bridges: [{ ...bridge, ...change }] })).toThrow(field);
  });

  it('ship with the major bridges of the supported chains', () => {
    const bridges = loadBridges();
    expect(bridges.contracts).toBeGreaterThan(400);
    const base = bridges.of('ETH', keyOf('ETH', contract.address));
    expect(base).toMatchObject({ id: 'base-bridge', counterparts: ['BASE'], recipient: 'SENDER' });
    const back = bridges.of('BASE', keyOf('BASE', '0x4200000000000000000000000000000000000010'));
    expect(back).toMatchObject({ id: 'base-bridge', counterparts: ['ETH'] });
    // Every rollup of the family has that contract at the same address.
    const optimism = bridges.of('OPTIMISM', keyOf('OPTIMISM', '0x4200000000000000000000000000000000000010'));
    expect(optimism?.id).toBe('optimism-bridge');
    const solana = bridges.of('SOL', keyOf('SOL', 'worm2ZoG2kUd4vFXhvjh93UUH596ayRfgQ2MgjNMTth'));
    expect(solana).toMatchObject({ id: 'wormhole', sameAddress: [] });
    expect(solana?.counterparts).toContain('ETH');
    // Known only by its labels, which `verified` shows.
    expect(bridges.ofEntity('ETH', 'across')).toMatchObject({ id: 'across', verified: false });
  });
});
