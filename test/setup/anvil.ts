/** A real EVM node: anvil, which the test starts on a free port. It makes blocks only on request. */
import { type ChildProcess, spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { getCreateAddress, Interface } from 'ethers';
import { projectRoot } from '../../src/base/paths.ts';
import { sleep } from '../support/wait.ts';
import { freePort } from './free-port.ts';

const PLATFORM = `${process.platform}-${process.arch === 'x64' ? 'amd64' : process.arch}`;
const binary = join(
  projectRoot,
  'node_modules',
  '@foundry-rs',
  `anvil-${PLATFORM}`,
  'bin',
  process.platform === 'win32' ? 'anvil.exe' : 'anvil',
);

/** Whether this machine has the binary. If not, tests of real nodes are skipped. */
export const hasAnvil = existsSync(binary);

/** The first accounts of anvil's default mnemonic, unlocked, with 10,000 coins each. */
export const ACCOUNTS = [
  '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
  '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
  '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC',
  '0x90F79bf6EB2c4f870365E785982E1f101E93b906',
] as const;

export const contracts = JSON.parse(
  readFileSync(join(projectRoot, 'test', 'chains', 'families', 'evm', 'contracts', 'contracts.json'), 'utf8'),
) as Readonly<Record<string, { readonly bytecode: string; readonly runtime: string }>>;

export const contractsInterface = new Interface([
  'function transfer(address to, uint256 value)',
  'function spray(uint160 from, uint256 count)',
  'function give(address to, uint256 id)',
  'function giveSome(address to, uint256 id, uint256 value)',
  'function giveMany(address to, uint256[] ids, uint256[] values)',
  'function lie()',
  'function run(address to) payable',
  'function fail() payable',
  'function setResolver(bytes32 node, address to)',
  'function setAddr(bytes32 node, address to)',
  'function setGateway(bytes32 node, string url)',
]);

/** Encodes the call of a function of the tests' contracts. */
export const callData = (name: string, ...args: readonly unknown[]): string =>
  contractsInterface.encodeFunctionData(name, args);

export interface Anvil {
  readonly url: string;
  readonly socketUrl: string;
  rpc<T = unknown>(method: string, ...params: readonly unknown[]): Promise<T>;
  /** Puts a transaction of an unlocked account into the pool and returns its hash. */
  send(transaction: {
    readonly from?: string;
    readonly to?: string;
    readonly value?: bigint;
    readonly data?: string;
    readonly gas?: number;
  }): Promise<string>;
  /** Makes blocks of the transactions in the pool. */
  mine(blocks?: number): Promise<void>;
  /** Deploys a contract of contracts.json in a block of its own and returns its address. */
  deploy(name: string): Promise<string>;
  /** Replaces the newest blocks with empty ones. */
  reorg(depth: number): Promise<void>;
  /** Ends the process and starts another on the same port with the state of the old one. */
  restart(pauseMs?: number): Promise<void>;
  stop(): Promise<void>;
}

const hex = (value: bigint | number): string => `0x${value.toString(16)}`;
export async function startAnvil(
  options: { readonly chainId?: number; readonly args?: readonly string[] } = {},
): Promise<Anvil> {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const args = [
    '--port',
    String(port),
    '--chain-id',
    String(options.chainId ?? 1),
    '--no-mining',
    '--silent',
  ];
  let child: ChildProcess;

  async function rpc<T>(method: string, ...params: readonly unknown[]): Promise<T> {
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
    });
    const { result, error } = (await response.json()) as { result: T; error?: { message: string } };
    if (error) throw new Error(`${method}: ${error.message}`);
    return result;
  }

  async function start(): Promise<void> {
    child = spawn(binary, [...args, ...(options.args ?? [])], { stdio: 'ignore' });
    for (let tries = 0; tries < 2_000; tries++) {
      await sleep(50);
      try {
        await rpc('eth_chainId');
        return;
      } catch {
        if (child.exitCode !== null) throw new Error(`anvil ended with ${child.exitCode}`);
      }
    }
    throw new Error('anvil did not start');
  }

  const stop = (): Promise<void> =>
    new Promise((resolve) => {
      if (child.exitCode !== null || child.signalCode !== null) return resolve();
      child.once('exit', () => resolve());
      child.kill('SIGKILL');
    });

  const send: Anvil['send'] = ({ from = ACCOUNTS[0], to, value = 0n, data, gas }) =>
    rpc('eth_sendTransaction', {
      from,
      ...(to === undefined ? {} : { to }),
      value: hex(value),
      ...(data === undefined ? {} : { data }),
      ...(gas === undefined ? {} : { gas: hex(gas) }),
    });

  await start();
  return {
    url,
    socketUrl: url.replace('http', 'ws'),
    rpc,
    send,
    mine: (blocks = 1) => rpc('anvil_mine', hex(blocks)),
    async deploy(name) {
      const nonce = Number(await rpc<string>('eth_getTransactionCount', ACCOUNTS[0], 'pending'));
      await send({ data: contracts[name]!.bytecode, gas: 5_000_000 });
      await rpc('anvil_mine', '0x1');
      return getCreateAddress({ from: ACCOUNTS[0], nonce });
    },
    reorg: (depth) => rpc('anvil_reorg', depth, []),
    async restart(pauseMs = 0) {
      const state = await rpc<string>('anvil_dumpState', true);
      await stop();
      await sleep(pauseMs);
      await start();
      await rpc('anvil_loadState', state);
    },
    stop,
  };
}

/** Deploys ENS at its address on Ethereum, with names and their addresses, and a resolver that also answers for the names below. */
export async function deployEns(
  anvil: Anvil,
  names: Readonly<Record<string, string>>,
  nodeOf: (name: string) => string,
): Promise<{ registry: string; resolver: string }> {
  const registry = '0x00000000000C2E074eC69A0dFb2997BA6C7d2e1e';
  await anvil.rpc('anvil_setCode', registry, contracts.Registry!.runtime);
  const resolver = await anvil.deploy('Resolver');
  for (const [name, address] of Object.entries(names)) {
    await anvil.send({ to: registry, data: callData('setResolver', nodeOf(name), resolver) });
    await anvil.send({ to: resolver, data: callData('setAddr', nodeOf(name), address) });
  }
  await anvil.mine();
  return { registry, resolver };
}
