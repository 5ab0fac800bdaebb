/** Proxies of OpenZeppelin as their authors compiled them, deployed on a node of the tests. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AbiCoder, concat, Interface, type InterfaceAbi } from 'ethers';
import { ACCOUNTS, type Anvil } from './anvil.ts';
import { installedPackages } from './installed-packages.ts';

const folder = installedPackages('proxies');
export const hasProxies = folder !== null;

const GAS = 5_000_000;
const coder = AbiCoder.defaultAbiCoder();

type Artifact =
  | 'ERC1967Proxy'
  | 'TransparentUpgradeableProxy'
  | 'ProxyAdmin'
  | 'UpgradeableBeacon'
  | 'BeaconProxy'
  | 'VestingWallet';

interface Compiled {
  readonly abi: Interface;
  readonly bytecode: string;
}

const compiled = new Map<Artifact, Compiled>();

/** Returns a contract of @openzeppelin/contracts. */
export function artifact(name: Artifact): Compiled {
  let known = compiled.get(name);
  if (known === undefined) {
    const path = join(folder ?? '', 'node_modules/@openzeppelin/contracts/build/contracts', `${name}.json`);
    const file = JSON.parse(readFileSync(path, 'utf8')) as { abi: InterfaceAbi; bytecode: string };
    known = { abi: new Interface(file.abi), bytecode: file.bytecode };
    compiled.set(name, known);
  }
  return known;
}

/** Returns the code that creates a contract of OpenZeppelin with these arguments of its constructor. */
export function creationOf(name: Artifact, ...args: readonly unknown[]): string {
  const { abi, bytecode } = artifact(name);
  return concat([bytecode, abi.encodeDeploy([...args])]);
}

export interface ProxyDeployer {
  /** Creates a contract in a block of its own, and returns its address. */
  deploy(data: string, from?: string): Promise<string>;
  /** Calls a function of a contract of OpenZeppelin in a block of its own; throws if it fails. */
  send(to: string, name: Artifact, method: string, args: readonly unknown[], from?: string): Promise<void>;
  /** Returns the address in a slot. */
  stored(address: string, slot: string): Promise<string>;
}

/** Deploys contracts on a node. */
export function proxyDeployer(anvil: Anvil): ProxyDeployer {
  async function mined(hash: string): Promise<string> {
    await anvil.mine();
    const receipt = await anvil.rpc<{ status: string; contractAddress: string }>(
      'eth_getTransactionReceipt',
      hash,
    );
    if (receipt.status !== '0x1') throw new Error(`The transaction ${hash} failed.`);
    return receipt.contractAddress;
  }
  return {
    deploy: async (data, from = ACCOUNTS[0]) => mined(await anvil.send({ from, data, gas: GAS })),
    async send(to, name, method, args, from = ACCOUNTS[0]) {
      const data = artifact(name).abi.encodeFunctionData(method, [...args]);
      await mined(await anvil.send({ from, to, data, gas: GAS }));
    },
    async stored(address, slot) {
      const text = await anvil.rpc<string>('eth_getStorageAt', address, slot, 'latest');
      return coder.decode(['address'], text)[0] as string;
    },
  };
}
