/** The adapter of the EVM chains: nodes over JSON-RPC (HTTP and WebSocket), and explorers for the histories of addresses. */
import { parseAddress } from '../../address/parse.ts';
import { createEndpointPool } from '../../endpoints/endpoint-pool.ts';
import type { Json } from '../../endpoints/exact-json.ts';
import type { AdapterDeps, AdapterOptions, Call, ChainAdapter, Provenance } from '../port.ts';
import { createFollowing } from '../shared-follow.ts';
import { createAccountApi, type TracedBlock } from './account-api.ts';
import { createNames } from './names.ts';
import { createEvmNode, verifyChainId } from './node.ts';

/** Poll interval of the head without a WebSocket: requests to an own node are free, but a public one limits their number. */
const POLL_OWN_MS = 250;
const POLL_PUBLIC_MS = 4_000;
/** If a WebSocket announces new blocks, polling is only the fallback for a silent socket. */
const POLL_BESIDE_SOCKET_MS = 5_000;

const NEW_HEADS = { subscribe: 'eth_subscribe', unsubscribe: 'eth_unsubscribe', params: ['newHeads'] };

const noSource = (note: string): Provenance => ({ source: null, height: null, completeness: 'NONE', note });

/** Returns the block height in a `newHeads` notification; undefined if it has none, because a notification is only a hint. */
function announcedHeight(params: Json): number | undefined {
  const header = (params as { readonly result?: { readonly number?: Json } | null } | null)?.result;
  const text = header?.number;
  return typeof text === 'string' && /^0x[0-9a-f]{1,12}$/i.test(text) ? Number(text) : undefined;
}

/**
 * See `OpenAdapter`.
 *
 * @throws INVALID_CONFIG for endpoints with layouts that EVM chains do not have
 */
export function openAdapter(options: AdapterOptions, deps: AdapterDeps): ChainAdapter {
  const { chain, quorum } = options;
  const { clock, log, jitter } = deps;
  const rpc = createEndpointPool({ chain, endpoints: options.rpc, verify: verifyChainId(chain) }, deps);
  const explorers = createEndpointPool({ chain, endpoints: options.history, verify: null }, deps);
  const node = createEvmNode(chain, rpc, { clock, log });
  /** Traces are expensive, so only the operator's own node is asked for them. */
  const traced: TracedBlock = async (height, call) => {
    const { block, completeness } = await node.block(height, call);
    return completeness === 'COMPLETE' ? (block?.transfers ?? null) : null;
  };
  const hasOwnNode = options.rpc.length > 0 && options.rpc.every(({ own }) => own);
  const accounts = createAccountApi(chain, explorers, hasOwnNode ? traced : null);
  const names = createNames({ chain, quorum, offchainNames: options.offchainNames }, rpc);
  const closing = new AbortController();
  const hasSocket = options.rpc.some(({ url }) => url.startsWith('ws'));
  const isOwn = options.rpc.every(({ own }) => own);

  /** Reads a quantity at the head, with a quorum of nodes. */
  async function quantity(
    method: 'eth_getBalance' | 'eth_getTransactionCount',
    address: string,
    call: Call,
  ): Promise<{ readonly value: bigint } & Provenance> {
    const until = clock.monotonic() + call.budgetMs;
    const { height } = await node.head(call);
    const { value, endpoint } = await node.quantityAt(method, address, height, quorum, {
      ...call,
      budgetMs: until - clock.monotonic(),
    });
    return { value, source: endpoint.source, height, completeness: 'COMPLETE', note: null };
  }

  const noNode = `No node of ${chain} is configured.`;

  return {
    chain,
    async balance(text, call) {
      const address = parseAddress(chain, text).canonical;
      if (options.rpc.length === 0) return { ...noSource(noNode), balance: null };
      const { value: balance, ...provenance } = await quantity('eth_getBalance', address, call);
      return { ...provenance, balance };
    },
    async transactionCount(text, call) {
      const address = parseAddress(chain, text).canonical;
      if (options.rpc.length === 0) return { ...noSource(noNode), count: null };
      const { value, ...provenance } = await quantity('eth_getTransactionCount', address, call);
      return { ...provenance, count: Number(value) };
    },
    async history(text, query, call) {
      const address = parseAddress(chain, text).canonical;
      if (options.history.length === 0)
        return {
          ...noSource(`No explorer of ${chain} is configured, and nodes do not have histories of addresses.`),
          transfers: [],
          nextCursor: null,
        };
      return accounts.page(address, query, call);
    },
    head: (call) => node.head(call),
    block: (height, call) => node.block(height, call),
    subscribe: createFollowing(
      node,
      {
        chain,
        pollMs: hasSocket ? POLL_BESIDE_SOCKET_MS : isOwn ? POLL_OWN_MS : POLL_PUBLIC_MS,
        onNudge: (nudge) =>
          rpc.listen(NEW_HEADS, {
            onStart: () => nudge(),
            onNotification: (params) => nudge(announcedHeight(params)),
          }),
        closed: closing.signal,
      },
      { clock, log, jitter },
    ),
    // ENS is on Ethereum; its names resolve to addresses that are valid on every EVM chain.
    resolveName: chain === 'ETH' ? names : null,
    header: (height, call) => node.header(height, call),
    taggedBlock: (tag, call) => node.taggedBlock(tag, call),
    callContract: (request, call) => node.callContract(request, call),
    logs: (query, call) => node.logs(query, call),
    code: (text, call, blockHash) => node.code(parseAddress(chain, text).canonical, call, blockHash),
    storage: (text, slot, blockHash, call) =>
      node.storage(parseAddress(chain, text).canonical, slot, blockHash, call),
    creations: (height, call) => node.creations(height, call),
    health() {
      const endpoints = [...rpc.health(), ...explorers.health()];
      return { chain, reachable: rpc.reachable() || explorers.reachable(), endpoints };
    },
    async close() {
      closing.abort();
      await Promise.all([rpc.close(), explorers.close()]);
    },
  };
}
