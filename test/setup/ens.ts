/** ENS as its authors compiled it: registry, registrars and resolver, deployed on a node of the tests at their addresses on Ethereum. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AbiCoder, concat, Interface, id, keccak256, namehash, zeroPadValue } from 'ethers';
import { ACCOUNTS, type Anvil } from './anvil.ts';
import { installedPackages } from './installed-packages.ts';

const folder = installedPackages('ens');
export const hasEns = folder !== null;

/** Reads the code that creates a contract. The interfaces in these packages are partly garbled, so `methods` declares them. */
function bytecode(name: 'ens' | 'resolver', contract: string): string {
  const path = join('node_modules', '@ensdomains', name, 'build', 'contracts', `${contract}.json`);
  const artifact = JSON.parse(readFileSync(join(folder ?? '', path), 'utf8')) as {
    readonly bytecode: string;
  };
  return artifact.bytecode;
}

/** The methods that the tests call on any of the contracts. */
const methods = new Interface([
  'function setSubnodeOwner(bytes32 node, bytes32 label, address owner)',
  'function setSubnodeRecord(bytes32 node, bytes32 label, address owner, address resolver, uint64 ttl)',
  'function setResolver(bytes32 node, address resolver)',
  'function register(bytes32 label, address owner)',
  'function claimWithResolver(address owner, address resolver)',
  'function setAddr(bytes32 node, address to)',
  'function setAddr(bytes32 node, uint256 coinType, bytes to)',
  'function setName(bytes32 node, string name)',
]);

/** The address of the registry on Ethereum since 2020. */
const REGISTRY = '0x00000000000C2E074eC69A0dFb2997BA6C7d2e1e';
const ZERO = `0x${'0'.repeat(64)}`;
const GAS = 6_000_000;

export interface Contract {
  readonly address: string;
  /** Sends a call in a block of its own; throws if it fails. */
  send(name: string, args: readonly unknown[], from?: string): Promise<void>;
}

export interface Ens {
  /** The current registry, which asks the old one for names that it does not have. */
  readonly registry: Contract;
  readonly oldRegistry: Contract;
  readonly resolver: Contract;
  /** First come, first served, for names directly below `eth`. */
  readonly registrar: Contract;
  readonly reverse: Contract;
}

export async function deployRealEns(anvil: Anvil): Promise<Ens> {
  async function mined(hash: string): Promise<string> {
    await anvil.mine();
    const receipt = await anvil.rpc<{ status: string; contractAddress: string }>(
      'eth_getTransactionReceipt',
      hash,
    );
    if (receipt.status !== '0x1') throw new Error(`The transaction ${hash} failed.`);
    return receipt.contractAddress;
  }
  const contract = (address: string): Contract => ({
    address,
    async send(name, args, from = ACCOUNTS[0]) {
      const data = methods.encodeFunctionData(name, [...args]);
      await mined(await anvil.send({ from, to: address, data, gas: GAS }));
    },
  });
  async function deploy(
    code: string,
    ...args: readonly (readonly [type: string, value: string])[]
  ): Promise<Contract> {
    const encoded = AbiCoder.defaultAbiCoder().encode(
      args.map(([type]) => type),
      args.map(([, value]) => value),
    );
    return contract(await mined(await anvil.send({ data: concat([code, encoded]), gas: GAS })));
  }

  const oldRegistry = await deploy(bytecode('ens', 'ENSRegistry'));
  const made = await deploy(bytecode('ens', 'ENSRegistryWithFallback'), ['address', oldRegistry.address]);
  // As on Ethereum: code and the storage that its constructor wrote, at its own address.
  await anvil.rpc('anvil_setCode', REGISTRY, await anvil.rpc('eth_getCode', made.address, 'latest'));
  const rootOwner = keccak256(`0x${'0'.repeat(128)}`);
  for (const slot of [rootOwner, zeroPadValue('0x02', 32)])
    await anvil.rpc(
      'anvil_setStorageAt',
      REGISTRY,
      slot,
      await anvil.rpc('eth_getStorageAt', made.address, slot, 'latest'),
    );
  const registry = contract(REGISTRY);
  const ensArgument = ['address', REGISTRY] as const;
  const resolver = await deploy(bytecode('resolver', 'PublicResolver'), ensArgument);
  const registrar = await deploy(bytecode('ens', 'FIFSRegistrar'), ensArgument, ['bytes32', namehash('eth')]);
  const reverse = await deploy(bytecode('ens', 'ReverseRegistrar'), ensArgument, [
    'address',
    resolver.address,
  ]);
  await registry.send('setSubnodeOwner', [ZERO, id('eth'), registrar.address]);
  await registry.send('setSubnodeOwner', [ZERO, id('reverse'), ACCOUNTS[0]]);
  await registry.send('setSubnodeOwner', [namehash('reverse'), id('addr'), reverse.address]);
  await oldRegistry.send('setSubnodeOwner', [ZERO, id('eth'), ACCOUNTS[0]]);
  return { registry, oldRegistry, resolver, registrar, reverse };
}
