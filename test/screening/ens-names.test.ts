import { describe, expect, it } from 'vitest';
import { type NameResolver, resolveNames } from '../../src/screening/ens-names.ts';

const VITALIK = '0xd8da6bf26964af9d7eed9e03e53415d37aa96045';
const lookups: string[] = [];
const resolver: NameResolver = {
  async resolve(name) {
    lookups.push(name);
    return name === 'vitalik.eth' ? VITALIK : null;
  },
};

describe('names in place of addresses', () => {
  it('are resolved once each, and reported as they were written', async () => {
    lookups.length = 0;
    const { request, resolved } = await resolveNames(
      { chain: 'eth', from: 'Vitalik.ETH', to: 'Vitalik.ETH', direction: 'in' },
      resolver,
    );
    expect(request).toEqual({ chain: 'eth', from: VITALIK, to: VITALIK, direction: 'in' });
    expect(resolved).toEqual({ 'Vitalik.ETH': VITALIK });
    expect(lookups).toEqual(['vitalik.eth']);
  });

  it('leave addresses unchanged, without a lookup', async () => {
    const request = { chain: 'BTC', address: '1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa' };
    expect(await resolveNames(request, null)).toEqual({ request, resolved: {} });
  });

  it.each([
    ['nobody could be asked', { chain: 'ETH', address: 'vitalik.eth' }, null, 'address', /no Ethereum node/],
    ['it has no address', { chain: 'ETH', from: 'nobody.eth' }, resolver, 'from', /does not resolve/],
    ['the chain has no such names', { chain: 'BTC', to: 'vitalik.eth' }, resolver, 'to', /not an EVM chain/],
    ['it is no name at all', { chain: 'ETH', to: `${'x'.repeat(300)}.eth` }, resolver, 'to', /253/],
  ])('are rejected if %s', async (_, request, resolving, field, message) => {
    await expect(resolveNames(request, resolving)).rejects.toMatchObject({
      field,
      status: 400,
      message: expect.stringMatching(message),
    });
  });

  it('have up to 253 characters', async () => {
    const longest = `${'x'.repeat(249)}.eth`;
    const resolving: NameResolver = { resolve: async (name) => (name === longest ? VITALIK : null) };
    const { resolved } = await resolveNames({ chain: 'ETH', address: longest }, resolving);
    expect(resolved).toEqual({ [longest]: VITALIK });
    await expect(resolveNames({ chain: 'ETH', address: `x${longest}` }, resolving)).rejects.toThrow(
      /at most 253 characters/,
    );
  });

  it('are rejected on an unknown chain', async () => {
    await expect(resolveNames({ chain: 'NOPE', address: 'vitalik.eth' }, resolver)).rejects.toMatchObject({
      code: 'UNKNOWN_CHAIN',
    });
  });
});
