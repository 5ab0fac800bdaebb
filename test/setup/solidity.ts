/** Compiles the contracts of examples/solidity with solc, as their README says, and calls them on a real node. */
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { getCreateAddress, Interface, type InterfaceAbi, type Result } from 'ethers';
import { projectRoot } from '../../src/base/paths.ts';
import { ACCOUNTS, type Anvil } from './anvil.ts';

const FOLDER = join(projectRoot, 'examples', 'solidity');
/** Outputs of the compiler by the hash of their input: a first compilation takes 4 s of processor time, and ten files compile the same. */
const CACHE = join(projectRoot, 'node_modules', '.cache', 'solidity');

export interface Compiled {
  readonly abi: Interface;
  readonly bytecode: string;
}

interface SolcOutput {
  readonly errors?: readonly { readonly severity: string; readonly formattedMessage: string }[];
  readonly contracts: Readonly<
    Record<
      string,
      Record<
        string,
        { readonly abi: InterfaceAbi; readonly evm: { readonly bytecode: { readonly object: string } } }
      >
    >
  >;
}

/** Returns the output of the compiler for its standard JSON input. Throws its errors and warnings. */
function compiledOutput(input: string): SolcOutput {
  const require = createRequire(import.meta.url);
  const { version } = require('solc/package.json') as { version: string };
  const kept = join(CACHE, `${createHash('sha256').update(`${version} ${input}`).digest('hex')}.json`);
  if (existsSync(kept)) return JSON.parse(readFileSync(kept, 'utf8')) as SolcOutput;
  // Loaded here, because it is 9 MB of WebAssembly.
  const text = (require('solc') as { compile(input: string): string }).compile(input);
  const output = JSON.parse(text) as SolcOutput;
  if (output.errors !== undefined && output.errors.length > 0)
    throw new Error(output.errors.map((error) => error.formattedMessage).join('\n'));
  mkdirSync(CACHE, { recursive: true });
  // Other workers may do the same.
  writeFileSync(`${kept}.${process.pid}`, text);
  renameSync(`${kept}.${process.pid}`, kept);
  return output;
}

/**
 * Compiles all contracts of the example, and further sources of a test. A warning is an error.
 *
 * @param more - texts by file name; they import the others by `./Name.sol`
 */
export function compile(more: Readonly<Record<string, string>> = {}): Readonly<Record<string, Compiled>> {
  const sources: Record<string, { content: string }> = {};
  for (const name of readdirSync(FOLDER)
    .filter((each) => each.endsWith('.sol'))
    .sort())
    sources[name] = { content: readFileSync(join(FOLDER, name), 'utf8') };
  for (const [name, content] of Object.entries(more)) sources[name] = { content };
  const output = compiledOutput(
    JSON.stringify({
      language: 'Solidity',
      sources,
      settings: {
        optimizer: { enabled: true, runs: 200 },
        outputSelection: { '*': { '*': ['abi', 'evm.bytecode.object'] } },
      },
    }),
  );
  const compiled: Record<string, Compiled> = {};
  for (const contracts of Object.values(output.contracts))
    for (const [name, { abi, evm }] of Object.entries(contracts))
      compiled[name] = { abi: new Interface(abi), bytecode: `0x${evm.bytecode.object}` };
  return compiled;
}

export interface Mined {
  readonly gasUsed: number;
  readonly isSuccess: boolean;
  readonly hash: string;
}

export interface Deployed {
  readonly address: string;
  /** Calls a function without a transaction. Throws the name of the contract's error if it reverts. */
  call(name: string, args?: readonly unknown[], from?: string): Promise<Result>;
  /** Sends a transaction and mines it. Throws as `call` if it would revert. */
  send(
    name: string,
    args?: readonly unknown[],
    options?: { readonly from?: string; readonly value?: bigint },
  ): Promise<Mined>;
}

interface RpcError {
  readonly message: string;
  readonly data?: string;
}

/** Deploys a contract of the first account of the node. */
export async function deploy(
  anvil: Anvil,
  { abi, bytecode }: Compiled,
  args: readonly unknown[] = [],
  /** Further interfaces whose errors the contract may pass on. */
  errorsOf: readonly Interface[] = [],
): Promise<Deployed> {
  const nonce = Number(await anvil.rpc<string>('eth_getTransactionCount', ACCOUNTS[0], 'pending'));
  const hash = await anvil.send({ data: bytecode + abi.encodeDeploy(args).slice(2), gas: 6_000_000 });
  await anvil.mine();
  const receipt = await anvil.rpc<{ status: string } | null>('eth_getTransactionReceipt', hash);
  if (receipt?.status !== '0x1') throw new Error('deployment failed');
  const address = getCreateAddress({ from: ACCOUNTS[0], nonce });

  /** The node's error is lost in `Anvil.rpc`, so this asks it directly. */
  async function ethCall(name: string, data: string, from: string, value: bigint): Promise<string> {
    const response = await fetch(anvil.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({
        jsonrpc: '2.0',
        id: 1,
        method: 'eth_call',
        params: [{ from, to: address, data, value: `0x${value.toString(16)}` }, 'latest'],
      }),
    });
    const { result, error } = (await response.json()) as { result: string; error?: RpcError };
    if (error === undefined) return result;
    const parsed = [abi, ...errorsOf]
      .map((each) => (error.data ? each.parseError(error.data) : null))
      .find((each) => each !== null);
    throw new Error(`${name}: ${parsed?.name ?? error.message}`);
  }

  return {
    address,
    async call(name, callArgs = [], from = ACCOUNTS[0]) {
      const data = abi.encodeFunctionData(name, callArgs);
      return abi.decodeFunctionResult(name, await ethCall(name, data, from, 0n));
    },
    async send(name, callArgs = [], { from = ACCOUNTS[0], value = 0n } = {}) {
      const data = abi.encodeFunctionData(name, callArgs);
      await ethCall(name, data, from, value);
      const sent = await anvil.send({ from, to: address, data, value, gas: 16_000_000 });
      await anvil.mine();
      const mined = await anvil.rpc<{ gasUsed: string; status: string }>('eth_getTransactionReceipt', sent);
      return { gasUsed: Number(mined.gasUsed), isSuccess: mined.status === '0x1', hash: sent };
    },
  };
}
