/**
 * Monero over the JSON-RPC of a node (docs.getmonero.org, monerod): head and blocks. The chain itself hides senders, receivers and
 * amounts, so balances and histories are OPAQUE, never zero.
 */
import { AssayError } from '../../../base/errors.ts';
import { parseAddress } from '../../address/parse.ts';
import type { Block } from '../../block.ts';
import type { EndpointPool } from '../../endpoints/endpoint-pool.ts';
import { endpointUrl } from '../../endpoints/endpoints.ts';
import { asCount, asObject, asSecondsMs, badAnswer, type Json } from '../../endpoints/exact-json.ts';
import { RpcRefusal, rpcRequest } from '../../endpoints/json-rpc.ts';
import { asPattern, openAccountChain, type Sourced } from '../account-chain.ts';
import type { Call, ChainAdapter, OpenAdapter } from '../port.ts';

const LAYOUTS = ['monerod'] as const;
/** Genesis block of mainnet (and of private chains in monerod's regtest mode, which use the same block). */
const GENESIS = '418015bb9ae982a1975da7d79277c2705727a56894ba0fb246adaabb1f4632e3';
/** "Requested block height greater than current top block height." */
const TOO_HIGH = -2;
/** "Core is busy": the node has not synced yet. */
const BUSY = -9;

const OPAQUE = {
  source: null,
  height: null,
  completeness: 'OPAQUE',
  note: 'Monero hides senders, receivers and amounts: only the owner of an address can see them.',
} as const;

interface Header {
  readonly height: number;
  readonly hash: string;
  readonly parentHash: string;
  readonly timestampMs: number;
}

function readHeader(result: Json): Header {
  const header = asObject(asObject(result, 'result').block_header, 'block_header');
  const hash = (name: string): string => asPattern(header[name], /^[0-9a-f]{64}$/, name);
  return {
    height: asCount(header.height, 'height'),
    hash: hash('hash'),
    parentHash: hash('prev_hash'),
    timestampMs: asSecondsMs(header.timestamp, 'timestamp'),
  };
}

const request = <T>(method: string, params: Json, read: (result: Json) => T) => ({
  ...rpcRequest({ method, params, layouts: LAYOUTS, unavailableCodes: [BUSY], read }),
  url: (spec: Parameters<typeof endpointUrl>[0]) => endpointUrl(spec, 'json_rpc'),
});

const verify = request('get_block_header_by_height', { height: 0 }, (result) => {
  const { hash } = readHeader(result);
  if (hash !== GENESIS)
    throw new AssayError('CHAIN_MISMATCH', `An endpoint of XMR serves a chain that begins with ${hash}.`);
});

function createReader(pool: EndpointPool) {
  async function headerAt(height: number, call: Call): Promise<Sourced<Header | null>> {
    const read = (result: Json): Header => {
      const header = readHeader(result);
      if (header.height !== height) throw badAnswer('height', `the requested ${height}`);
      return header;
    };
    try {
      const headerRequest = request('get_block_header_by_height', { height }, read);
      const { value, endpoint } = await pool.ask(headerRequest, call);
      return { value, source: endpoint.source, height };
    } catch (error) {
      if (!(error instanceof RpcRefusal) || error.rpcCode !== TOO_HIGH) throw error;
      return { value: null, source: error.message.split(' refused ')[0] ?? '', height: null };
    }
  }
  const hidden = (): Promise<never> =>
    Promise.reject(new Error('Hidden by the chain: answered without a question.'));
  return {
    balance: hidden,
    transactionCount: null,
    rows: hidden,
    async head(call: Call) {
      const { value, endpoint } = await pool.ask(request('get_last_block_header', {}, readHeader), call);
      const { height, hash, timestampMs } = value;
      return { value: { height, hash, timestampMs }, source: endpoint.source, height };
    },
    async block(height: number, call: Call): Promise<Sourced<Block | null>> {
      const sourced = await headerAt(height, call);
      const { value } = sourced;
      if (value === null) return { ...sourced, value: null };
      const { hash, parentHash, timestampMs } = value;
      return {
        ...sourced,
        value: {
          chain: 'XMR',
          height,
          hash,
          parentHash: height === 0 ? null : parentHash,
          timestampMs,
          transfers: [],
        },
      };
    },
    hashAt: async (height: number, call: Call) => (await headerAt(height, call)).value?.hash ?? null,
  };
}

/** Opens the adapter of Monero, which returns OPAQUE for everything that the chain hides. See `OpenAdapter`. */
export const openAdapter: OpenAdapter = (options, deps) => {
  const inner = openAccountChain(
    {
      layouts: { balance: [], count: [], history: [], block: LAYOUTS },
      verify,
      pollPublicMs: 20_000,
      reader: createReader,
    },
    options,
    deps,
  );
  const valid = (text: string): string => parseAddress('XMR', text).canonical;
  const adapter: ChainAdapter = {
    chain: inner.chain,
    resolveName: null,
    head: (call) => inner.head(call),
    subscribe: (from, call) => inner.subscribe(from, call),
    health: () => inner.health(),
    close: () => inner.close(),
    async balance(text) {
      valid(text);
      return { ...OPAQUE, balance: null };
    },
    async transactionCount(text) {
      valid(text);
      return { ...OPAQUE, count: null };
    },
    async history(text) {
      valid(text);
      return { ...OPAQUE, transfers: [], nextCursor: null };
    },
    async block(height, call) {
      const answer = await inner.block(height, call);
      if (answer.block === null) return answer;
      return { ...answer, completeness: 'OPAQUE', note: OPAQUE.note };
    },
  };
  return adapter;
};
