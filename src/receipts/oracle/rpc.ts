/** The node over which contracts are read and changed. One endpoint, which the operator has named. */
import { createEndpointPool } from '../../chains/endpoints/endpoint-pool.ts';
import { parseEndpoint } from '../../chains/endpoints/endpoints.ts';
import { asHexCount, asText, type Json } from '../../chains/endpoints/exact-json.ts';
import { rpcRequest } from '../../chains/endpoints/json-rpc.ts';
import type { AdapterDeps } from '../../chains/families/port.ts';
import type { ChainId } from '../../chains/registry.ts';
import { ORACLE_LIMITS } from './limits.ts';

export interface ChainRpc {
  /**
   * Calls a method of the node.
   *
   * @throws CHAIN_UNREACHABLE, CHAIN_TIMEOUT, CHAIN_BAD_ANSWER; an error of the node is an RpcRefusal
   */
  request<T>(method: string, params: Json, read: (result: Json) => T): Promise<T>;
  close(): Promise<void>;
}

/**
 * Opens a node.
 *
 * @param url - it may contain credentials, which no error repeats
 * @param chain - for error messages
 * @throws INVALID_CONFIG if the URL is not valid
 */
export function openChainRpc(
  url: string,
  { chain, signal }: { readonly chain: ChainId; readonly signal: AbortSignal },
  deps: AdapterDeps,
): ChainRpc {
  const endpoint = parseEndpoint(url, { field: '--rpc', defaultLayout: 'json-rpc', own: true });
  const pool = createEndpointPool({ chain, endpoints: [endpoint], verify: null }, deps);
  return {
    async request(method, params, read) {
      const { value } = await pool.ask(
        // Sending a signed transaction twice is harmless, but its second answer is an error.
        { ...rpcRequest({ method, params, read }), repeatable: method !== 'eth_sendRawTransaction' },
        { signal, budgetMs: ORACLE_LIMITS.rpcCallMs },
      );
      return value;
    },
    close: () => pool.close(),
  };
}

export const chainIdOf = (rpc: ChainRpc): Promise<number> =>
  rpc.request('eth_chainId', [], (result) => asHexCount(result, 'chain id'));

export const blockNumber = (rpc: ChainRpc): Promise<number> =>
  rpc.request('eth_blockNumber', [], (result) => asHexCount(result, 'block number'));

/** Returns the number of transactions of an account: the nonce of its next one. */
export const nonceOf = (rpc: ChainRpc, account: string, block: 'latest' | 'pending'): Promise<number> =>
  rpc.request('eth_getTransactionCount', [account, block], (result) => asHexCount(result, 'nonce'));

/** Returns what a call of a contract returns, as `0x` and hexadecimal. */
export const callContract = (rpc: ChainRpc, to: string, data: string, block: number): Promise<string> =>
  rpc.request('eth_call', [{ to, data }, `0x${block.toString(16)}`], (result) =>
    asText(result, 'result', ORACLE_LIMITS.callCharsMax),
  );
