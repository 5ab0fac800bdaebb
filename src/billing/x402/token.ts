/**
 * A token with EIP-3009 on a node: the digest that a payer signs, the checks before a transfer, and the traces of one. ethers is loaded at
 * the first use.
 */
import type { Interface } from 'ethers';
import { AssayError } from '../../base/errors.ts';
import { createEndpointPool, type EndpointPool } from '../../chains/endpoints/endpoint-pool.ts';
import { parseEndpoint } from '../../chains/endpoints/endpoints.ts';
import {
  asArray,
  asHexAmount,
  asHexCount,
  asObject,
  asText,
  type Json,
} from '../../chains/endpoints/exact-json.ts';
import { RpcRefusal, rpcRequest } from '../../chains/endpoints/json-rpc.ts';
import type { AdapterDeps } from '../../chains/families/port.ts';
import { type ChainId, chainOf } from '../../chains/registry.ts';
import { X402_LIMITS } from './limits.ts';
import type { Authorization } from './records.ts';

/** Calls a method of a node. Errors are those of the endpoint pool; an error of the node is an RpcRefusal. */
export type Rpc = <T>(method: string, params: Json, read: (result: Json) => T) => Promise<T>;

export interface ChainNode {
  readonly chain: ChainId;
  readonly chainId: number;
  readonly rpc: Rpc;
  close(): Promise<void>;
}

/**
 * Opens the nodes of a chain that the operator has configured.
 *
 * @param texts - value of ASSAY_RPC_<CHAIN>
 * @throws INVALID_CONFIG
 */
export function openChainNode(chain: ChainId, texts: string, deps: AdapterDeps): ChainNode {
  const endpoints = texts
    .split(',')
    .filter((text) => text.trim() !== '')
    .map((text) =>
      parseEndpoint(text, { field: `ASSAY_RPC_${chain}`, defaultLayout: 'json-rpc', own: true }),
    );
  const chainId = Number(chainOf(chain).caip2.split(':')[1]);
  const verify = rpcRequest({
    method: 'eth_chainId',
    params: [],
    read: (result) => {
      const served = asHexCount(result, 'chain id');
      if (served !== chainId)
        throw new AssayError(
          'CHAIN_MISMATCH',
          `ASSAY_RPC_${chain}: serves the chain ${served}, not ${chainId}.`,
        );
    },
  });
  const pool: EndpointPool = createEndpointPool({ chain, endpoints, verify }, deps);
  return {
    ...{ chain, chainId },
    async rpc(method, params, read) {
      const { value } = await pool.ask(
        // Sending a signed transaction twice is harmless, but its second answer is an error.
        { ...rpcRequest({ method, params, read }), repeatable: method !== 'eth_sendRawTransaction' },
        { signal: AbortSignal.timeout(X402_LIMITS.nodeCallMs), budgetMs: X402_LIMITS.nodeCallMs },
      );
      return value;
    },
    close: () => pool.close(),
  };
}

/** Domain of the signatures of a token (EIP-712). */
export interface TokenDomain {
  readonly name: string;
  readonly version: string;
}

const ABI = [
  'function name() view returns (string)',
  'function version() view returns (string)',
  'function DOMAIN_SEPARATOR() view returns (bytes32)',
  'function balanceOf(address) view returns (uint256)',
  'function authorizationState(address authorizer, bytes32 nonce) view returns (bool)',
  'function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, uint8 v, bytes32 r, bytes32 s)',
  'function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, bytes signature)',
  'function isValidSignature(bytes32 hash, bytes signature) view returns (bytes4)',
  'event AuthorizationUsed(address indexed authorizer, bytes32 indexed nonce)',
  'event Transfer(address indexed from, address indexed to, uint256 value)',
];
const BY_PARTS =
  'transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,uint8,bytes32,bytes32)';
const BY_BYTES = 'transferWithAuthorization(address,address,uint256,uint256,uint256,bytes32,bytes)';
const TYPES = {
  TransferWithAuthorization: [
    { name: 'from', type: 'address' },
    { name: 'to', type: 'address' },
    { name: 'value', type: 'uint256' },
    { name: 'validAfter', type: 'uint256' },
    { name: 'validBefore', type: 'uint256' },
    { name: 'nonce', type: 'bytes32' },
  ],
};
/** ERC-1271: what a contract returns for a valid signature. */
const IS_VALID = '0x1626ba7e';
/** ERC-6492: last 32 bytes of a signature of a contract that may not exist yet. */
const COUNTERFACTUAL = '6492'.repeat(16);
/** Digits of a signature of an account: 0x and 65 bytes. */
const ACCOUNT_SIGNATURE_CHARS = 132;

/** A transfer that the chain has made. */
export interface FoundTransfer {
  readonly transaction: string;
  readonly height: number;
  readonly blockHash: string;
}

export interface TransactionReceipt extends FoundTransfer {
  readonly isSuccess: boolean;
  readonly hasTransfer: boolean;
}

/** A log of the token. */
interface TokenLog extends FoundTransfer {
  /** Place among all logs of its block. */
  readonly index: number;
  readonly data: string;
}

/** Whether the data of a log are an amount. */
const isAmount = (data: string, amount: bigint): boolean =>
  /^0x[0-9a-f]+$/.test(data) && BigInt(data) === amount;

const ethers = () => import('ethers');

export class Eip3009Token {
  readonly node: ChainNode;
  /** Contract, lower case. */
  readonly asset: string;
  #domain: TokenDomain | null = null;
  #abi: Interface | null = null;

  constructor(node: ChainNode, asset: string) {
    this.node = node;
    this.asset = asset;
  }

  async #interface(): Promise<Interface> {
    if (this.#abi === null) {
      const { Interface: Abi } = await ethers();
      this.#abi = new Abi(ABI);
    }
    return this.#abi;
  }

  /** Calls the contract at an address. */
  async #call(to: string, name: string, args: readonly unknown[], from?: string): Promise<string> {
    const abi = await this.#interface();
    const data = abi.encodeFunctionData(name, args);
    return this.node.rpc(
      'eth_call',
      [{ ...(from === undefined ? {} : { from }), to, data }, 'latest'],
      (result) => asText(result, 'result', X402_LIMITS.resultCharsMax),
    );
  }

  async #read(name: string, args: readonly unknown[] = []): Promise<unknown> {
    const abi = await this.#interface();
    return abi.decodeFunctionResult(name, await this.#call(this.asset, name, args))[0];
  }

  /**
   * Reads the domain of the token's signatures, and checks it against the contract's own hash.
   *
   * @throws CHAIN_REFUSED if the contract has none, or another one
   */
  async domain(): Promise<TokenDomain> {
    if (this.#domain !== null) return this.#domain;
    const { TypedDataEncoder } = await ethers();
    const domain = { name: String(await this.#read('name')), version: String(await this.#read('version')) };
    const hash = TypedDataEncoder.hashDomain({ ...domain, ...this.#place() });
    if (String(await this.#read('DOMAIN_SEPARATOR')) !== hash)
      throw new AssayError(
        'CHAIN_REFUSED',
        `The contract ${this.asset} on ${this.node.chain} does not sign by its name, version, chain and address: it is not a token with EIP-3009 as USDC is.`,
      );
    this.#domain = domain;
    return domain;
  }

  #place() {
    return { chainId: this.node.chainId, verifyingContract: this.asset };
  }

  /** Returns the hash that the payer signs. */
  async digest({ signature: _, ...message }: Authorization): Promise<string> {
    const { TypedDataEncoder } = await ethers();
    return TypedDataEncoder.hash({ ...(await this.domain()), ...this.#place() }, TYPES, message);
  }

  /** Returns the typed data of an authorization for a wallet (eth_signTypedData_v4). */
  async typedData(message: Omit<Authorization, 'signature'>) {
    return {
      types: {
        EIP712Domain: [
          { name: 'name', type: 'string' },
          { name: 'version', type: 'string' },
          { name: 'chainId', type: 'uint256' },
          { name: 'verifyingContract', type: 'address' },
        ],
        ...TYPES,
      },
      primaryType: 'TransferWithAuthorization' as const,
      domain: { ...(await this.domain()), ...this.#place() },
      message,
    };
  }

  /**
   * Checks a signature as the contract does: an account by its key, a contract by ERC-1271.
   *
   * @returns the signature as the contract takes it, or the reason why it is refused
   */
  async checkSignature(
    authorization: Authorization,
  ): Promise<{ readonly signature: string } | { readonly reason: string }> {
    const { from } = authorization;
    const refused = { reason: 'invalid_exact_evm_signature' } as const;
    const { recoverAddress, AbiCoder } = await ethers();
    const digest = await this.digest(authorization);
    const code = await this.node.rpc('eth_getCode', [from, 'latest'], (result) =>
      asText(result, 'code', X402_LIMITS.resultCharsMax),
    );
    const hasCode = code !== '0x';
    let { signature } = authorization;
    if (signature.endsWith(COUNTERFACTUAL)) {
      // Deploying it would run code that the payer chose, paid by the operator.
      if (!hasCode) return { reason: 'invalid_exact_evm_payload_undeployed_smart_wallet' };
      try {
        const body = `0x${signature.slice(2, -COUNTERFACTUAL.length)}`;
        signature = String(AbiCoder.defaultAbiCoder().decode(['address', 'bytes', 'bytes'], body)[2]);
      } catch {
        return refused;
      }
    }
    if (!hasCode) {
      if (signature.length !== ACCOUNT_SIGNATURE_CHARS) return refused;
      try {
        return recoverAddress(digest, signature).toLowerCase() === from ? { signature } : refused;
      } catch {
        return refused;
      }
    }
    try {
      const result = await this.#call(from, 'isValidSignature', [digest, signature]);
      return result.slice(0, IS_VALID.length) === IS_VALID && result.length >= 66 ? { signature } : refused;
    } catch (error) {
      if (error instanceof RpcRefusal) return refused;
      throw error;
    }
  }

  /** Returns the call that moves the tokens. */
  async transferData(authorization: Authorization): Promise<string> {
    const abi = await this.#interface();
    const { from, to, value, validAfter, validBefore, nonce, signature } = authorization;
    const args = [from, to, value, validAfter, validBefore, nonce];
    if (signature.length !== ACCOUNT_SIGNATURE_CHARS)
      return abi.encodeFunctionData(BY_BYTES, [...args, signature]);
    const r = signature.slice(0, 66);
    const s = `0x${signature.slice(66, 130)}`;
    const last = Number.parseInt(signature.slice(130), 16);
    // Some wallets write the parity; the contract takes 27 or 28.
    return abi.encodeFunctionData(BY_PARTS, [...args, last < 27 ? last + 27 : last, r, s]);
  }

  /**
   * Runs the transfer without making it.
   *
   * @returns null if it would succeed, else the reason
   */
  async simulate(authorization: Authorization, relay: string): Promise<string | null> {
    const data = await this.transferData(authorization);
    try {
      await this.node.rpc('eth_call', [{ from: relay, to: this.asset, data }, 'latest'], () => null);
      return null;
    } catch (error) {
      if (!(error instanceof RpcRefusal)) throw error;
    }
    return this.failureOf(authorization);
  }

  /** Returns why a transfer fails now. */
  async failureOf({ from, nonce, value }: Authorization): Promise<string> {
    if (await this.isUsed(from, nonce)) return 'invalid_exact_evm_nonce_already_used';
    const balance = (await this.#read('balanceOf', [from])) as bigint;
    return balance < BigInt(value)
      ? 'invalid_exact_evm_insufficient_balance'
      : 'invalid_exact_evm_transaction_simulation_failed';
  }

  /** Whether an authorization was used or cancelled. */
  async isUsed(from: string, nonce: string): Promise<boolean> {
    return (await this.#read('authorizationState', [from, nonce])) === true;
  }

  height(): Promise<number> {
    return this.node.rpc('eth_blockNumber', [], (result) => asHexCount(result, 'block number'));
  }

  /** Time of the newest block, in seconds: it is the one that the contract compares. */
  timestamp(): Promise<number> {
    return this.node.rpc('eth_getBlockByNumber', ['latest', false], (result) =>
      asHexCount(asObject(result, 'block').timestamp, 'timestamp'),
    );
  }

  /** Reads what a transaction did; null if it is in no block. */
  async receipt(hash: string, authorization: Authorization): Promise<TransactionReceipt | null> {
    const abi = await this.#interface();
    const { zeroPadValue } = await ethers();
    const { from, to, value, nonce } = authorization;
    const topicOf = (name: string) => abi.getEvent(name)?.topicHash ?? '';
    const [used, moved] = [topicOf('AuthorizationUsed'), topicOf('Transfer')];
    const [payer, receiver] = [zeroPadValue(from, 32), zeroPadValue(to, 32)];
    return this.node.rpc('eth_getTransactionReceipt', [hash], (result) => {
      if (result === null) return null;
      const receipt = asObject(result, 'receipt');
      const own = asArray(receipt.logs, 'receipt.logs', X402_LIMITS.logsMax)
        .map((log) => asObject(log, 'log'))
        .filter((log) => asText(log.address, 'log.address').toLowerCase() === this.asset)
        .map((log) => ({ topics: asArray(log.topics, 'log.topics', 4).map(String), data: String(log.data) }));
      const isMove = (log: (typeof own)[number] | undefined): boolean =>
        log !== undefined &&
        log.topics[0] === moved &&
        log.topics[1] === payer &&
        log.topics[2] === receiver &&
        isAmount(log.data, BigInt(value));
      // USDC logs the transfer directly after the use. Elsewhere in the transaction it is another payment: a payer can use several nonces for
      // transfers to itself, and one transfer to the receiver would count for each of them.
      const hasTransfer = own.some(
        ({ topics: t }, at) => t[0] === used && t[1] === payer && t[2] === nonce && isMove(own[at + 1]),
      );
      return {
        transaction: asText(receipt.transactionHash, 'receipt.transactionHash'),
        height: asHexCount(receipt.blockNumber, 'receipt.blockNumber'),
        blockHash: asText(receipt.blockHash, 'receipt.blockHash'),
        isSuccess: asHexCount(receipt.status, 'receipt.status') === 1,
        hasTransfer,
      };
    });
  }

  /** Yields the uses of an authorization, of any sender: reverted ones leave no trace, so there is one at most, except in a reorg. */
  async *#uses(
    { from, nonce }: Pick<Authorization, 'from' | 'nonce'>,
    sinceHeight: number,
    head: number,
  ): AsyncGenerator<TokenLog> {
    const abi = await this.#interface();
    const { zeroPadValue } = await ethers();
    const topics = [abi.getEvent('AuthorizationUsed')?.topicHash ?? '', zeroPadValue(from, 32), nonce];
    for (let start = sinceHeight; start <= head; start += X402_LIMITS.useBlocksMax) {
      const end = Math.min(head, start + X402_LIMITS.useBlocksMax - 1);
      const [use] = await this.#logs(topics, start, end);
      if (use !== undefined) yield use;
    }
  }

  /** Reads the first logs of the token with these topics. */
  #logs(topics: readonly string[], fromHeight: number, toHeight: number): Promise<readonly TokenLog[]> {
    const hex = (height: number): string => `0x${height.toString(16)}`;
    const filter = { address: this.asset, topics, fromBlock: hex(fromHeight), toBlock: hex(toHeight) };
    return this.node.rpc('eth_getLogs', [filter], (result) =>
      asArray(result, 'logs', Number.POSITIVE_INFINITY)
        .slice(0, X402_LIMITS.logsMax)
        .map((one) => {
          const log = asObject(one, 'log');
          return {
            transaction: asText(log.transactionHash, 'log.transactionHash'),
            height: asHexCount(log.blockNumber, 'log.blockNumber'),
            blockHash: asText(log.blockHash, 'log.blockHash'),
            index: asHexCount(log.logIndex, 'log.logIndex'),
            data: asText(log.data, 'log.data'),
          };
        }),
    );
  }

  /**
   * Finds the transfer of any sender that used an authorization; null if it was cancelled, or is not found. It reads only logs of the payer: the
   * receipt of a transaction that the payer chose can be as large as a block.
   */
  async findUse(
    authorization: Authorization,
    sinceHeight: number,
    head: number,
  ): Promise<FoundTransfer | null> {
    const { from, to, value } = authorization;
    const abi = await this.#interface();
    const { zeroPadValue } = await ethers();
    const topics = [abi.getEvent('Transfer')?.topicHash ?? '', zeroPadValue(from, 32), zeroPadValue(to, 32)];
    for await (const use of this.#uses(authorization, sinceHeight, head)) {
      const { transaction, height, blockHash } = use;
      // As in `receipt`: the log directly after the use.
      const isFound = (await this.#logs(topics, height, height)).some(
        (log) =>
          log.blockHash === blockHash && log.index === use.index + 1 && isAmount(log.data, BigInt(value)),
      );
      if (isFound) return { transaction, height, blockHash };
    }
    return null;
  }

  /** Returns the hash of the transaction of the last blocks that used a nonce of a payer; null if there is none. */
  async recentUse(authorization: Pick<Authorization, 'from' | 'nonce'>): Promise<string | null> {
    const head = await this.height();
    const since = Math.max(0, head - X402_LIMITS.useBlocksMax + 1);
    for await (const { transaction } of this.#uses(authorization, since, head)) return transaction;
    return null;
  }

  /** Hash of the block at a height; null if the chain is shorter. */
  blockHash(height: number): Promise<string | null> {
    return this.node.rpc('eth_getBlockByNumber', [`0x${height.toString(16)}`, false], (result) =>
      result === null ? null : asText(asObject(result, 'block').hash, 'block.hash'),
    );
  }

  balanceOfCoin(address: string): Promise<bigint> {
    return this.node.rpc('eth_getBalance', [address, 'latest'], (result) => asHexAmount(result, 'balance'));
  }
}
