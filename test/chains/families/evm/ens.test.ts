/** Names, resolved by the contracts as the authors of ENS compiled them. */
import { id, namehash } from 'ethers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { openAdapter } from '../../../../src/chains/families/evm/adapter.ts';
import type { ChainAdapter } from '../../../../src/chains/families/port.ts';
import { openFor, within } from '../../../conformance/adapter.ts';
import { ACCOUNTS, type Anvil, hasAnvil, startAnvil } from '../../../setup/anvil.ts';
import { deployRealEns, type Ens, hasEns } from '../../../setup/ens.ts';

const family = { openAdapter, layouts: { rpc: 'json-rpc', history: 'blockscout' } };
const [OWNER, ALICE, BOB] = ACCOUNTS;

describe.skipIf(!hasAnvil || !hasEns)('names by the real ENS contracts', () => {
  let anvil: Anvil;
  let ens: Ens;
  let adapter: ChainAdapter;
  beforeAll(async () => {
    anvil = await startAnvil();
    ens = await deployRealEns(anvil);
    adapter = openFor(family, 'ETH', { rpc: [anvil.url] });
  });
  afterAll(async () => {
    await adapter?.close();
    await anvil?.stop();
  });

  const resolved = async (name: string): Promise<string | null> => {
    const { address, completeness, note } = await adapter.resolveName!(name, within(10_000));
    expect({ completeness, note }).toEqual({ completeness: 'COMPLETE', note: null });
    return address;
  };
  /** Registers a name below `eth` for an account and sets its resolver. */
  async function register(label: string, owner: string): Promise<string> {
    const node = namehash(`${label}.eth`);
    await ens.registrar.send('register', [id(label), owner], owner);
    await ens.registry.send('setResolver', [node, ens.resolver.address], owner);
    return node;
  }

  it('resolve to the address that the owner sets, and follow its changes', async () => {
    expect(await resolved('alice.eth')).toBeNull();
    const node = await register('alice', ALICE);
    expect(await resolved('alice.eth')).toBeNull();
    await ens.resolver.send('setAddr(bytes32,address)', [node, ALICE], ALICE);
    expect(await resolved('ALICE.eth')).toBe(ALICE);
    await ens.resolver.send('setAddr(bytes32,address)', [node, BOB], ALICE);
    expect(await resolved('alice.eth')).toBe(BOB);
    // Only the owner may set the address.
    await expect(ens.resolver.send('setAddr(bytes32,address)', [node, OWNER], OWNER)).rejects.toThrow();
    await ens.registry.send('setResolver', [node, `0x${'0'.repeat(40)}`], ALICE);
    expect(await resolved('alice.eth')).toBeNull();
  });

  it('of subdomains are independent, and resolve to nothing without a resolver', async () => {
    const node = await register('bob', BOB);
    await ens.resolver.send('setAddr(bytes32,address)', [node, BOB], BOB);
    expect(await resolved('pay.bob.eth')).toBeNull();
    const below = namehash('pay.bob.eth');
    await ens.registry.send('setSubnodeRecord', [node, id('pay'), BOB, ens.resolver.address, 0], BOB);
    await ens.resolver.send('setAddr(bytes32,address)', [below, ALICE], BOB);
    expect(await resolved('pay.bob.eth')).toBe(ALICE);
    expect(await resolved('bob.eth')).toBe(BOB);
  });

  it('of the old registry resolve through the new one', async () => {
    const node = namehash('elder.eth');
    await ens.oldRegistry.send('setSubnodeOwner', [namehash('eth'), id('elder'), ALICE]);
    // The resolver asks the new registry whether the sender is authorized; the new registry asks the old one for the owner.
    await ens.oldRegistry.send('setResolver', [node, ens.resolver.address], ALICE);
    await ens.resolver.send('setAddr(bytes32,address)', [node, ALICE], ALICE);
    expect(await resolved('elder.eth')).toBe(ALICE);
  });

  it('with an address of another coin have none on Ethereum, and a reverse record is not an address', async () => {
    const node = await register('coins', BOB);
    const script = '0x76a91462e907b15cbf27d5425399ebf6f0fb50ebb88f1888ac';
    await ens.resolver.send('setAddr(bytes32,uint256,bytes)', [node, 0, script], BOB);
    expect(await resolved('coins.eth')).toBeNull();
    await ens.reverse.send('claimWithResolver', [BOB, ens.resolver.address], BOB);
    const reverse = `${BOB.slice(2).toLowerCase()}.addr.reverse`;
    await ens.resolver.send('setName', [namehash(reverse), 'coins.eth'], BOB);
    expect(await resolved(reverse)).toBeNull();
  });

  it('resolve to nothing if the resolver is another contract', async () => {
    const node = await register('odd', ALICE);
    for (const other of [ens.registrar.address, ens.registry.address, ALICE]) {
      await ens.registry.send('setResolver', [node, other], ALICE);
      expect(await resolved('odd.eth')).toBeNull();
    }
  });
});
