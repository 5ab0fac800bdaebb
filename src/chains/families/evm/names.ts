/**
 * Resolves ENS names on chain: ethers calls the registry and the resolver (EIP-137, EIP-2544) through the endpoints of the pool. Names
 * with off-chain data (EIP-3668) are followed only if the operator allows it, and only to public https servers.
 */
import {
  EnsPlugin,
  ensNormalize,
  isError,
  JsonRpcApiProvider,
  type JsonRpcPayload,
  type JsonRpcResult,
  Network,
} from 'ethers';
import { AssayError, messageOf } from '../../../base/errors.ts';
import { checkOutboundUrl, createOutboundAgent, PUBLIC_HTTPS } from '../../../base/outbound.ts';
import { undici } from '../../../base/undici.ts';
import { parseAddress } from '../../address/parse.ts';
import type { EndpointPool } from '../../endpoints/endpoint-pool.ts';
import type { Json } from '../../endpoints/exact-json.ts';
import { RpcRefusal, rpcRequest } from '../../endpoints/json-rpc.ts';
import { ENDPOINT_LIMITS } from '../../endpoints/limits.ts';
import { type ChainId, chainOf } from '../../registry.ts';
import type { Call, NameAnswer } from '../port.ts';

/** Gateway responses are proofs of a few kilobytes. */
const GATEWAY_ANSWER_BYTES_MAX = 1024 * 1024;
/** Selector of OffchainLookup(address,string[],bytes,bytes4,bytes), EIP-3668. */
const OFFCHAIN_LOOKUP = '0x556f1830';
/** The longest name in DNS; ENS itself has no limit. */
const NAME_CHARS_MAX = 255;

interface NamesOptions {
  readonly chain: ChainId;
  readonly quorum: number;
  readonly offchainNames: boolean;
}

/** An ethers provider that uses the pool instead of its own connections. It serves one request and carries the call of that request. */
class PooledProvider extends JsonRpcApiProvider {
  readonly #pool: EndpointPool;
  readonly #options: NamesOptions;
  readonly #call: Call;
  /** A fault of the endpoints; kept here because ethers would wrap it. */
  fault: AssayError | null = null;
  source: string | null = null;
  /** Whether a contract redirected the lookup to servers outside the chain. */
  isOffchain = false;

  constructor(network: Network, pool: EndpointPool, options: NamesOptions, call: Call) {
    super(network, { staticNetwork: network, batchMaxCount: 1, batchStallTime: 0, cacheTimeout: -1 });
    this.#pool = pool;
    this.#options = options;
    this.#call = call;
    this.disableCcipRead = !options.offchainNames;
  }

  override async _send(payload: JsonRpcPayload | JsonRpcPayload[]): Promise<JsonRpcResult[]> {
    const [question] = Array.isArray(payload) ? payload : [payload];
    if (question === undefined) return [];
    const { id, method, params } = question;
    const asked = rpcRequest({ method, params: params as Json, read: (result) => result });
    try {
      const { value, endpoint } = await this.#pool.askAgreeing(this.#options.quorum, asked, this.#call);
      this.source = endpoint.source;
      return [{ id, result: value }];
    } catch (error) {
      // A revert of a contract can be part of the ENS protocol.
      if (error instanceof RpcRefusal) {
        if (String(error.data).startsWith(OFFCHAIN_LOOKUP)) this.isOffchain = true;
        const refusal = { id, error: { code: error.rpcCode, message: error.message, data: error.data } };
        return [refusal as unknown as JsonRpcResult];
      }
      this.fault = error instanceof AssayError ? error : null;
      throw error;
    }
  }

  /** EIP-3668: returns the response of the first working gateway; connects only to public hosts and follows no redirects. */
  override async ccipReadFetch(
    transaction: { readonly to?: unknown },
    calldata: string,
    urls: string[],
  ): Promise<string | null> {
    const agent = createOutboundAgent({
      policy: PUBLIC_HTTPS,
      timeouts: {
        connectMs: ENDPOINT_LIMITS.endpointConnectMs,
        headersMs: ENDPOINT_LIMITS.endpointAttemptMs,
        stallMs: ENDPOINT_LIMITS.endpointAttemptMs,
      },
    });
    const sender = String(transaction.to).toLowerCase();
    try {
      for (const template of urls.slice(0, 4)) {
        const answer = await askGateway(template, sender, calldata, agent, this.#call).catch(() => null);
        this.#call.signal.throwIfAborted();
        if (answer !== null) return answer;
      }
      return null;
    } finally {
      await agent.destroy();
    }
  }
}

async function askGateway(
  template: string,
  sender: string,
  calldata: string,
  agent: ReturnType<typeof createOutboundAgent>,
  call: Call,
): Promise<string | null> {
  const inPath = template.includes('{data}');
  const url = new URL(template.replaceAll('{sender}', sender).replaceAll('{data}', calldata));
  checkOutboundUrl(url, PUBLIC_HTTPS);
  const { statusCode, body } = await undici().request(url, {
    dispatcher: agent,
    method: inPath ? 'GET' : 'POST',
    headers: { 'content-type': 'application/json' },
    body: inPath ? null : JSON.stringify({ data: calldata, sender }),
    signal: AbortSignal.any([call.signal, AbortSignal.timeout(call.budgetMs)]),
  });
  if (statusCode !== 200) {
    await body.dump();
    return null;
  }
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of body as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > GATEWAY_ANSWER_BYTES_MAX)
      throw new AssayError('CHAIN_BAD_ANSWER', 'The response of a CCIP-Read gateway is too large.');
    chunks.push(chunk);
  }
  const { data } = JSON.parse(Buffer.concat(chunks).toString('utf8')) as { data?: unknown };
  return typeof data === 'string' && /^0x(?:[0-9a-fA-F]{2})*$/.test(data) ? data : null;
}

/**
 * Normalizes a name.
 *
 * @throws INVALID_REQUEST if ENSIP-15 does not allow the name
 */
function checkName(name: string): string {
  if (name.length <= NAME_CHARS_MAX && name.includes('.')) {
    try {
      return ensNormalize(name);
    } catch (cause) {
      throw new AssayError(
        'INVALID_REQUEST',
        `'${name.slice(0, 60)}' is not a valid name: it has a character or a part that ENSIP-15 does not allow.`,
        { cause },
      );
    }
  }
  throw new AssayError(
    'INVALID_REQUEST',
    `a name must have at most ${NAME_CHARS_MAX} characters with a dot, such as name.eth.`,
  );
}

const KEPT_OUTSIDE =
  'The name is kept outside the chain: asking the servers that its owner names is switched off, or failed.';
const ANSWERED_WRONGLY = ['CALL_EXCEPTION', 'BAD_DATA', 'UNSUPPORTED_OPERATION'] as const;

/** Resolves ENS names; the ENS contracts are on Ethereum. See `ChainAdapter.resolveName`. */
export function createNames(options: NamesOptions, pool: EndpointPool) {
  const { chain } = options;
  const chainId = Number(chainOf(chain).caip2.split(':')[1]);

  return async (text: string, call: Call): Promise<NameAnswer> => {
    const name = checkName(text);
    const network = new Network(chainOf(chain).name, chainId);
    network.attachPlugin(new EnsPlugin(null, chainId));
    const provider = new PooledProvider(network, pool, options, call);
    const answer = (address: string | null, note: string | null = null): NameAnswer => ({
      address,
      source: provider.source,
      height: null,
      completeness: note === null ? 'COMPLETE' : 'PARTIAL',
      note,
    });
    try {
      const found = await provider.resolveName(name);
      if (found !== null) return answer(parseAddress(chain, found).canonical);
      return answer(null, provider.isOffchain ? KEPT_OUTSIDE : null);
    } catch (error) {
      call.signal.throwIfAborted();
      if (provider.fault !== null) throw provider.fault;
      if (error instanceof AssayError) throw error;
      if (provider.isOffchain) return answer(null, KEPT_OUTSIDE);
      // Anyone can deploy a resolver: if its response is invalid, the name resolves to nothing.
      if (ANSWERED_WRONGLY.some((code) => isError(error, code))) return answer(null);
      throw new AssayError('CHAIN_BAD_ANSWER', `The name could not be resolved: ${messageOf(error)}.`, {
        cause: error,
      });
    } finally {
      provider.destroy();
    }
  };
}
