/** Factories of contracts as their authors compiled them, deployed on a node of the tests. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { AbiCoder, concat, Interface, type InterfaceAbi, SigningKey } from 'ethers';
import { ACCOUNTS, type Anvil } from './anvil.ts';
import { installedPackages } from './installed-packages.ts';

const folder = installedPackages('factories');
export const hasFactories = folder !== null;

/** The key of the first account of anvil's published mnemonic: test data. */
const OWNER_KEY = '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80';
const GAS = 15_000_000;

interface Artifact {
  readonly abi: InterfaceAbi;
  readonly bytecode: string;
}

const ARTIFACTS = {
  v2Factory: '@uniswap/v2-core/build/UniswapV2Factory.json',
  v3Factory: '@uniswap/v3-core/artifacts/contracts/UniswapV3Factory.sol/UniswapV3Factory.json',
  safe: '@safe-global/safe-contracts/build/artifacts/contracts/Safe.sol/Safe.json',
  safeFactory:
    '@safe-global/safe-contracts/build/artifacts/contracts/proxies/SafeProxyFactory.sol/SafeProxyFactory.json',
  entryPoint: '@account-abstraction/contracts/artifacts/EntryPoint.json',
  accountFactory: '@account-abstraction/contracts/artifacts/SimpleAccountFactory.json',
} as const;

function artifact(name: keyof typeof ARTIFACTS): { readonly abi: Interface; readonly bytecode: string } {
  const path = join(folder ?? '', 'node_modules', ARTIFACTS[name]);
  const { abi, bytecode } = JSON.parse(readFileSync(path, 'utf8')) as Artifact;
  return { abi: new Interface(abi), bytecode: bytecode.startsWith('0x') ? bytecode : `0x${bytecode}` };
}

export interface Deployed {
  readonly address: string;
  /** Sends a call in a block of its own; throws if it fails. */
  send(name: string, args: readonly unknown[], value?: bigint): Promise<void>;
  /** Calls without a transaction, and returns the first value. */
  call(name: string, args: readonly unknown[]): Promise<unknown>;
}

export interface Factories {
  readonly v2: Deployed;
  readonly v3: Deployed;
  readonly safe: Deployed;
  readonly safeFactory: Deployed;
  readonly entryPoint: Deployed;
  readonly accountFactory: Deployed;
  /** Creates an account of the first owner through the entry point, and returns its address. */
  createAccount(salt: number): Promise<string>;
}

export async function deployFactories(anvil: Anvil): Promise<Factories> {
  async function mined(hash: string): Promise<string> {
    await anvil.mine();
    const receipt = await anvil.rpc<{ status: string; contractAddress: string }>(
      'eth_getTransactionReceipt',
      hash,
    );
    if (receipt.status !== '0x1') throw new Error(`The transaction ${hash} failed.`);
    return receipt.contractAddress;
  }
  async function deploy(
    name: keyof typeof ARTIFACTS,
    types: readonly string[] = [],
    args: readonly unknown[] = [],
  ): Promise<Deployed> {
    const { abi, bytecode } = artifact(name);
    const data = concat([bytecode, AbiCoder.defaultAbiCoder().encode([...types], [...args])]);
    const address = await mined(await anvil.send({ data, gas: GAS }));
    return {
      address,
      async send(method, values, value = 0n) {
        await mined(
          await anvil.send({
            to: address,
            data: abi.encodeFunctionData(method, [...values]),
            gas: GAS,
            value,
          }),
        );
      },
      async call(method, values) {
        const result = await anvil.rpc<string>(
          'eth_call',
          { to: address, data: abi.encodeFunctionData(method, [...values]) },
          'latest',
        );
        return abi.decodeFunctionResult(method, result)[0];
      },
    };
  }
  const v2 = await deploy('v2Factory', ['address'], [ACCOUNTS[0]]);
  const v3 = await deploy('v3Factory');
  const safe = await deploy('safe');
  const safeFactory = await deploy('safeFactory');
  const entryPoint = await deploy('entryPoint');
  const accountFactory = await deploy('accountFactory', ['address'], [entryPoint.address]);
  return {
    ...{ v2, v3, safe, safeFactory, entryPoint, accountFactory },
    async createAccount(salt) {
      const sender = (await accountFactory.call('getAddress', [ACCOUNTS[0], salt])) as string;
      await entryPoint.send('depositTo', [sender], 10n ** 18n);
      const create = artifact('accountFactory').abi.encodeFunctionData('createAccount', [ACCOUNTS[0], salt]);
      const limits = `0x${(2_000_000).toString(16).padStart(32, '0')}${(100_000).toString(16).padStart(32, '0')}`;
      const fees = `0x${(1_000_000_000).toString(16).padStart(32, '0')}${(10_000_000_000).toString(16).padStart(32, '0')}`;
      const operation = {
        sender,
        nonce: 0n,
        initCode: concat([accountFactory.address, create]),
        callData: '0x',
        accountGasLimits: limits,
        preVerificationGas: 100_000n,
        gasFees: fees,
        paymasterAndData: '0x',
        signature: '0x',
      };
      const hash = (await entryPoint.call('getUserOpHash', [operation])) as string;
      const signature = new SigningKey(OWNER_KEY).sign(hash).serialized;
      await entryPoint.send('handleOps', [[{ ...operation, signature }], ACCOUNTS[1]]);
      return sender;
    },
  };
}
