/**
 * The adapter of BTC, LTC, DOGE, DASH, ZEC, BCH and BSV: nodes over JSON-RPC and REST for blocks, and explorers (Esplora, Blockbook)
 * for histories of addresses, and for blocks if no node is configured. Results are whole transactions with resolved inputs.
 */
import { AssayError } from '../../../base/errors.ts';
import type { ParsedAddress } from '../../address/address.ts';
import { parseAddress } from '../../address/parse.ts';
import { startDeadline } from '../../endpoints/deadline.ts';
import {
  createEndpointPool,
  type EndpointPool,
  type EndpointRequest,
} from '../../endpoints/endpoint-pool.ts';
import type { EndpointSpec } from '../../endpoints/endpoints.ts';
import type { AdapterDeps, AdapterOptions, Call, ChainAdapter, Provenance } from '../port.ts';
import { createFollowing } from '../shared-follow.ts';
import type { AccountSource } from './account-source.ts';
import type { BlockSource } from './block-source.ts';
import { createBlockbook, verifyBlockbook } from './blockbook.ts';
import { createEsplora, verifyEsplora } from './esplora.ts';
import { createNode, verifyNode } from './node.ts';

/** Poll interval of the head. Blocks are minutes apart; an own node is polled often so that new blocks are seen at once. */
const POLL_OWN_MS = 500;
const POLL_PUBLIC_MS = 15_000;

interface Source {
  readonly pool: EndpointPool;
  readonly blocks: BlockSource;
  /** Null for nodes, which have no address index. */
  readonly accounts: AccountSource | null;
}

interface Layout {
  readonly verify: (options: AdapterOptions) => EndpointRequest<void>;
  readonly open: (options: AdapterOptions, pool: EndpointPool, deps: AdapterDeps) => Omit<Source, 'pool'>;
}

const node = (layout: 'json-rpc' | 'rest'): Layout => ({
  verify: ({ chain }) => verifyNode(chain, layout),
  open: ({ chain, quorum }, pool, deps) => ({
    blocks: createNode({ chain, layout, quorum }, pool, deps),
    accounts: null,
  }),
});

const LAYOUTS: Readonly<Record<string, Layout>> = {
  'json-rpc': node('json-rpc'),
  rest: node('rest'),
  esplora: {
    verify: ({ chain }) => verifyEsplora(chain),
    open({ chain }, pool, deps) {
      const esplora = createEsplora(chain, pool, deps);
      return { blocks: esplora, accounts: esplora };
    },
  },
  blockbook: {
    verify: ({ chain }) => verifyBlockbook(chain),
    open({ chain }, pool, deps) {
      const blockbook = createBlockbook(chain, pool, deps);
      return { blocks: blockbook, accounts: blockbook };
    },
  },
};

/** After one of these errors the next layout is asked, just as a pool asks the next endpoint. */
const FAULTS_OF_SOURCES: ReadonlySet<string> = new Set([
  'CHAIN_UNREACHABLE',
  'CHAIN_TIMEOUT',
  'CHAIN_BAD_ANSWER',
  'CHAIN_MISMATCH',
  'CHAIN_REFUSED',
]);

/** Address kinds with a balance and history that the chain itself hides. */
const HIDDEN_KINDS: ReadonlySet<string> = new Set(['sapling', 'sprout', 'unified', 'mweb']);
const HIDDEN: Provenance = {
  source: null,
  height: null,
  completeness: 'OPAQUE',
  note: 'The address is shielded: the chain hides its balance and transactions.',
};

const noSource = (note: string): Provenance => ({ source: null, height: null, completeness: 'NONE', note });

/**
 * See `OpenAdapter`.
 *
 * @throws INVALID_CONFIG for endpoints with layouts that UTXO chains do not have
 */
export function openAdapter(options: AdapterOptions, deps: AdapterDeps): ChainAdapter {
  const { chain } = options;
  const { clock, log, jitter } = deps;
  const closing = new AbortController();

  /** Creates one source per layout, in the order of first occurrence. */
  function sourcesOf(specs: readonly EndpointSpec[]): Source[] {
    const names = [...new Set(specs.map(({ layout }) => layout))];
    return names.map((name) => {
      const layout = LAYOUTS[name];
      if (layout === undefined)
        throw new AssayError(
          'INVALID_CONFIG',
          `${chain}: layout must be one of ${Object.keys(LAYOUTS).join(', ')} (got "${name}").`,
        );
      const endpoints = specs.filter((spec) => spec.layout === name);
      if (endpoints.some(({ url }) => url.startsWith('ws')))
        throw new AssayError(
          'INVALID_CONFIG',
          `${chain}: endpoints of this chain must use http or https, not WebSocket.`,
        );
      const pool = createEndpointPool({ chain, endpoints, verify: layout.verify(options) }, deps);
      return { pool, ...layout.open(options, pool, deps) };
    });
  }

  const nodes = sourcesOf(options.rpc);
  const explorers = sourcesOf(options.history);
  const all = [...nodes, ...explorers];
  const accounts = [...explorers, ...nodes].filter((source) => source.accounts !== null);

  /** Returns the result of the first source that succeeds; each source but the last may use half of the time left. */
  async function firstOf<T>(
    sources: readonly Source[],
    call: Call,
    ask: (source: Source, call: Call) => Promise<T>,
  ): Promise<T> {
    const deadline = startDeadline(call, clock);
    const up = sources.filter(({ pool }) => pool.reachable());
    const candidates = up.length > 0 ? up : sources;
    let last: AssayError | null = null;
    for (const [place, source] of candidates.entries()) {
      const left = deadline.rest();
      const budgetMs = place < candidates.length - 1 ? left.budgetMs / 2 : left.budgetMs;
      try {
        return await ask(source, { ...left, budgetMs });
      } catch (error) {
        call.signal.throwIfAborted();
        if (!(error instanceof AssayError) || !FAULTS_OF_SOURCES.has(error.code)) throw error;
        last = error;
      }
    }
    throw last ?? new AssayError('CHAIN_UNREACHABLE', `No endpoint of ${chain} is configured for this.`);
  }

  const blocks: BlockSource = {
    head: (call) => firstOf(all, call, (source, rest) => source.blocks.head(rest)),
    hashAt: (height, call) => firstOf(all, call, (source, rest) => source.blocks.hashAt(height, rest)),
    block: (height, call) => firstOf(all, call, (source, rest) => source.blocks.block(height, rest)),
  };

  /** Asks a source about an address. Returns `instead` without a request if the chain hides the address or no source is configured. */
  async function ofAccount<T>(
    text: string,
    call: Call,
    instead: (why: Provenance) => T,
    ask: (source: AccountSource, address: ParsedAddress, call: Call) => Promise<T>,
  ): Promise<T> {
    const address = parseAddress(chain, text);
    if (HIDDEN_KINDS.has(address.kind)) return instead(HIDDEN);
    if (accounts.length === 0)
      return instead(
        noSource(`No explorer of ${chain} is configured, and nodes do not have histories of addresses.`),
      );
    return firstOf(accounts, call, (source, rest) => ask(source.accounts as AccountSource, address, rest));
  }

  return {
    chain,
    balance: (text, call) =>
      ofAccount(
        text,
        call,
        (why) => ({ ...why, balance: null }),
        (source, address, rest) => source.balance(address, rest),
      ),
    transactionCount: (text, call) =>
      ofAccount(
        text,
        call,
        (why) => ({ ...why, count: null }),
        (source, address, rest) => source.transactionCount(address, rest),
      ),
    history: (text, query, call) =>
      ofAccount(
        text,
        call,
        (why) => ({ ...why, transfers: [], transactions: [], nextCursor: null }),
        (source, address, rest) => source.history(address, query, rest),
      ),
    head: (call) => blocks.head(call),
    block: (height, call) => blocks.block(height, call),
    subscribe: createFollowing(
      blocks,
      {
        chain,
        pollMs: [...options.rpc, ...options.history].every(({ own }) => own) ? POLL_OWN_MS : POLL_PUBLIC_MS,
        closed: closing.signal,
      },
      { clock, log, jitter },
    ),
    resolveName: null,
    unconfirmed:
      nodes.find(({ blocks: { unconfirmed } }) => unconfirmed !== undefined)?.blocks.unconfirmed ?? null,
    health() {
      return {
        chain,
        reachable: all.some(({ pool }) => pool.reachable()),
        endpoints: all.flatMap(({ pool }) => pool.health()),
      };
    },
    async close() {
      closing.abort();
      await Promise.all(all.map(({ pool }) => pool.close()));
    },
  };
}
