/** Reads SanctionsOracle and SanctionsRoot, and encodes their calls. All reads of one state are of one block. */
import { AssayError } from '../../base/errors.ts';
import { RpcRefusal } from '../../chains/endpoints/json-rpc.ts';
import { ORACLE_LIMITS } from './limits.ts';
import { type ChainRpc, callContract } from './rpc.ts';

const LIST_ABI = [
  'function owner() view returns (address)',
  'function pusher() view returns (address)',
  'function count() view returns (uint256)',
  'function page(uint256 from, uint256 limit) view returns (address[])',
  'function addToSanctionsList(address[] accounts)',
  'function removeFromSanctionsList(address[] accounts)',
];
const ROOT_ABI = [
  'function owner() view returns (address)',
  'function pusher() view returns (address)',
  'function root() view returns (bytes32)',
  'function epoch() view returns (uint64)',
  'function expiresAt() view returns (uint64)',
  'function size() view returns (uint64)',
  'function publish(bytes32 root, uint64 size, uint64 expiresAt, uint64 epoch, bytes32 snapshot)',
];

interface Roles {
  readonly owner: string;
  readonly pusher: string;
}

/** The list of a SanctionsOracle. Addresses are lower case. */
export interface ListState extends Roles {
  readonly block: number;
  readonly addresses: ReadonlySet<string>;
}

/** The root of a SanctionsRoot. */
export interface RootState extends Roles {
  readonly block: number;
  readonly root: string;
  readonly epoch: number;
  /** Seconds since 1970; 0 before the first root. */
  readonly expiresAt: number;
  readonly size: number;
}

export interface RootCall {
  readonly root: string;
  readonly size: number;
  readonly expiresAt: number;
  readonly epoch: number;
  readonly snapshot: string;
}

/** Calls view functions of a contract at a block. */
async function reader(rpc: ChainRpc, address: string, block: number, abi: readonly string[], name: string) {
  const { Interface } = await import('ethers');
  const contract = new Interface([...abi]);
  return async (method: string, args: readonly unknown[] = []): Promise<unknown> => {
    try {
      const result = await callContract(rpc, address, contract.encodeFunctionData(method, args), block);
      return contract.decodeFunctionResult(method, result)[0];
    } catch (error) {
      const isOther = error instanceof RpcRefusal || !(error instanceof AssayError);
      if (!isOther) throw error;
      throw new AssayError(
        'CHAIN_REFUSED',
        `--contract: ${address} has no ${method}() of ${name} at block ${block}. Check the address, the chain, and --root.`,
        { cause: error },
      );
    }
  };
}

/**
 * Reads the whole list of a SanctionsOracle.
 *
 * @throws CHAIN_REFUSED if the contract is another one, or its list is too large
 */
export async function readList(rpc: ChainRpc, contract: string, block: number): Promise<ListState> {
  const read = await reader(rpc, contract, block, LIST_ABI, 'SanctionsOracle');
  const count = Number(await read('count'));
  if (count > ORACLE_LIMITS.listedAddressesMax)
    throw new AssayError(
      'CHAIN_REFUSED',
      `${contract} lists ${count} addresses, and at most ${ORACLE_LIMITS.listedAddressesMax} can be compared. Use --root.`,
    );
  const addresses = new Set<string>();
  for (let from = 0; from < count; from += ORACLE_LIMITS.listPage)
    for (const address of (await read('page', [from, ORACLE_LIMITS.listPage])) as readonly string[])
      addresses.add(address.toLowerCase());
  if (addresses.size !== count)
    throw new AssayError(
      'CHAIN_BAD_ANSWER',
      `${contract}: ${count} addresses were announced (got ${addresses.size}).`,
    );
  return { block, addresses, owner: String(await read('owner')), pusher: String(await read('pusher')) };
}

/**
 * Reads the root of a SanctionsRoot.
 *
 * @throws CHAIN_REFUSED if the contract is another one
 */
export async function readRoot(rpc: ChainRpc, contract: string, block: number): Promise<RootState> {
  const read = await reader(rpc, contract, block, ROOT_ABI, 'SanctionsRoot');
  return {
    block,
    root: String(await read('root')),
    epoch: Number(await read('epoch')),
    expiresAt: Number(await read('expiresAt')),
    size: Number(await read('size')),
    owner: String(await read('owner')),
    pusher: String(await read('pusher')),
  };
}

export type ListChange = 'ADD' | 'REMOVE';

/** Returns the data of a call that changes the list. */
export async function listCall(change: ListChange, addresses: readonly string[]): Promise<string> {
  const { Interface } = await import('ethers');
  const method = change === 'ADD' ? 'addToSanctionsList' : 'removeFromSanctionsList';
  return new Interface(LIST_ABI).encodeFunctionData(method, [addresses]);
}

/** Returns the data of a call that publishes a root. */
export async function rootCall({ root, size, expiresAt, epoch, snapshot }: RootCall): Promise<string> {
  const { Interface } = await import('ethers');
  return new Interface(ROOT_ABI).encodeFunctionData('publish', [root, size, expiresAt, epoch, snapshot]);
}
