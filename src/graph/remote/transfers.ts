/** The reader's port for chains of which some are stored remotely. Callers see no difference. */
import type { Clock } from '../../base/clock.ts';
import { AssayError } from '../../base/errors.ts';
import type { Logger, LogLevel } from '../../base/log.ts';
import { CHAINS, type ChainId } from '../../chains/registry.ts';
import { readRedisUrl } from '../../state/redis-url.ts';
import { type ChainReader, createChainReader } from '../store/reader.ts';
import type { TransferReader } from '../transfers.ts';
import { createFetcher, type Fetcher } from './fetch.ts';
import { RemoteRecords } from './records.ts';

/** The Redis URL of each chain that is stored remotely. */
export type GraphStores = Readonly<Partial<Record<ChainId, string>>>;

const VARIABLE_PREFIX = 'ASSAY_GRAPH_STORE_';

/**
 * Validates the values of ASSAY_GRAPH_STORE_<CHAIN>, by chain.
 *
 * @throws INVALID_CONFIG with the name of the variable, and without its password
 */
export function readGraphStores(texts: Readonly<Record<string, string>>): GraphStores {
  const stores: Partial<Record<ChainId, string>> = {};
  for (const [id, text] of Object.entries(texts)) {
    const field = `${VARIABLE_PREFIX}${id}`;
    const chain = CHAINS.find((row) => row.id === id);
    if (chain === undefined)
      throw new AssayError(
        'INVALID_CONFIG',
        `${field}: '${id.slice(0, 32)}' is not a chain. Chains: ${CHAINS.map((row) => row.id).join(', ')}.`,
        { field },
      );
    // As in other settings, an empty value means none.
    if (text === '') continue;
    readRedisUrl(text, field);
    stores[chain.id] = text;
  }
  return stores;
}

export interface RemoteTransfersOptions {
  readonly stores: GraphStores;
  readonly logLevel: LogLevel;
}

export interface RemoteTransfersDeps {
  /** Serves all other chains. The caller closes it. */
  readonly local: TransferReader;
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly log: Pick<Logger, 'error'>;
}

export interface RemoteTransferReader extends TransferReader {
  /** Number of questions sent to servers, for callers that count round trips. */
  readonly roundTrips: number;
}

/**
 * Combines chains that are stored remotely with the others. It connects when one of them is first read. Reads throw NOT_READY if no server
 * answers in time, or if nothing was pushed yet. They block the thread while they wait.
 */
export function openRemoteTransfers(
  { stores, logLevel }: RemoteTransfersOptions,
  { local, clock, log }: RemoteTransfersDeps,
): RemoteTransferReader {
  const fetchers = new Map<string, Fetcher>();
  const readers = new Map<ChainId, ChainReader>();

  const fetcherOf = (url: string): Fetcher => {
    const known = fetchers.get(url);
    if (known) return known;
    const made = createFetcher({ url, logLevel }, { clock, log });
    fetchers.set(url, made);
    return made;
  };

  const remote = (chain: ChainId): ChainReader | null => {
    const known = readers.get(chain);
    if (known) return known;
    const url = stores[chain];
    if (url === undefined) return null;
    const reader = createChainReader(new RemoteRecords(chain, { fetch: fetcherOf(url).fetch, clock }));
    readers.set(chain, reader);
    return reader;
  };

  return {
    counterparties: (chain, key, which) =>
      remote(chain)?.counterparties(key, which) ?? local.counterparties(chain, key, which),
    counterpartyCount: (chain, key, direction) =>
      remote(chain)?.counterpartyCount(key, direction) ?? local.counterpartyCount(chain, key, direction),
    totals(chain, key) {
      const reader = remote(chain);
      return reader === null ? local.totals(chain, key) : reader.totals(key);
    },
    newest: (chain, from, to, limit) =>
      remote(chain)?.newest(from, to, limit) ?? local.newest(chain, from, to, limit),
    recent: (chain, key, limit, isWanted) =>
      remote(chain)?.recent(key, limit, isWanted) ?? local.recent(chain, key, limit, isWanted),
    // Servers have no transactions by their hash: nothing else reads them, and they would be a tenth of the data.
    transaction: (chain, txHashes, limit) =>
      remote(chain) === null ? local.transaction(chain, txHashes, limit) : null,
    daily: (chain, key, limitDays) =>
      remote(chain)?.daily(key, limitDays) ?? local.daily(chain, key, limitDays),
    graph(chain) {
      const reader = remote(chain);
      return reader === null ? local.graph(chain) : reader.graph();
    },
    blocks: (chain) => remote(chain)?.blocks() ?? local.blocks(chain),
    coverage: (chain) => remote(chain)?.coverage() ?? local.coverage(chain),
    get roundTrips() {
      return [...fetchers.values()].reduce((sum, { roundTrips }) => sum + roundTrips, 0);
    },
    async close() {
      await Promise.all([...fetchers.values()].map((fetcher) => fetcher.close()));
    },
  };
}

/** Returns only the local reader if no chain is stored remotely. */
export const withRemoteChains = (
  options: RemoteTransfersOptions,
  deps: RemoteTransfersDeps,
): TransferReader =>
  Object.keys(options.stores).length === 0 ? deps.local : openRemoteTransfers(options, deps);
