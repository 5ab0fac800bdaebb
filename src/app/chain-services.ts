/** Creates the services of chains: stores, live readers, and remote graph stores. Each is opened at its first use. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { AssayError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { OpenedOnce } from '../base/opened-once.ts';
import { systemJitter } from '../base/random.ts';
import { type ChainAdapters, createChainAdapters } from '../chains/families/adapters.ts';
import { priced } from '../chains/prices/priced.ts';
import { CHAINS, type ChainId } from '../chains/registry.ts';
import { WatchedAddresses } from '../chains/watched-addresses.ts';
import type { PushRequest } from '../cli/services.ts';
import type { Config } from '../config/config.ts';
import { type ClusterReader, clustersFolderOf, openClusters } from '../graph/cluster/store.ts';
import { createLiveIngest, type LiveIngest } from '../graph/ingest/live.ts';
import type { PushReport } from '../graph/remote/push-session.ts';
import { readGraphStores, withRemoteChains } from '../graph/remote/transfers.ts';
import { openTransferStore, type TransferStore } from '../graph/store.ts';
import type { TransferReader } from '../graph/transfers.ts';
import { type OutputsStore, openOutputsStore } from '../graph/utxo/outputs-store.ts';
import { balanceFacts } from '../screening/balances.ts';
import { openFetchedStore } from '../screening/fetched-store.ts';
import { createOnDemand, historyFacts, type OnDemand } from '../screening/on-demand.ts';
import type { ScreeningFacts, ScreeningRequest } from '../screening/screen.ts';
import { createPriceServices } from './price-services.ts';

const MINUTE_MS = 60_000;

/** Returns the folder of transfers. */
export const transfersFolderOf = (dataDir: string): string => join(dataDir, 'transfers');
const transfersFileOf = (dataDir: string, chain: ChainId): string =>
  join(transfersFolderOf(dataDir), `${chain.toLowerCase()}.mdb`);
/** Returns the folder of outputs. */
export const outputsFolderOf = (dataDir: string): string => join(dataDir, 'outputs');

export interface ChainServicesDeps extends Pick<OpenedOnce, 'once'> {
  readonly clock: Clock;
  readonly log: Logger;
}

export type ChainServices = ReturnType<typeof createChainServices>;

/**
 * Creates the services of chains.
 *
 * @throws UNKNOWN_CHAIN, INVALID_CONFIG if a setting names an unknown chain or an invalid server
 */
export function createChainServices(config: Config, { once, clock, log }: ChainServicesDeps) {
  const { dataDir } = config;
  // Validated at startup, so that a misspelt chain is reported; opens no connection.
  const graphStores = readGraphStores(config.chains.graphStores);
  // Validated at startup, so that a misspelt chain is reported; opens and imports nothing.
  const chainAdapters = createChainAdapters(config.chains, { clock, log, jitter: systemJitter });
  const transferStores: Readonly<Record<'read' | 'write', () => TransferStore>> = {
    // A process can open an environment in one mode only: if chains are read live, readers share the writer's environment.
    read: once<TransferStore>(
      () =>
        chainAdapters.configured.length > 0
          ? transferStores.write()
          : openTransferStore({ path: transfersFolderOf(dataDir), readOnly: true }),
      (part) => (chainAdapters.configured.length > 0 ? undefined : part.close()),
    ),
    write: once<TransferStore>(
      () => openTransferStore({ path: transfersFolderOf(dataDir), readOnly: false }),
      (part) => part.close(),
    ),
  };
  const outputsStores = {
    read: once<OutputsStore>(
      () => openOutputsStore({ path: outputsFolderOf(dataDir), readOnly: true }),
      (part) => part.close(),
    ),
    write: once<OutputsStore>(
      () => openOutputsStore({ path: outputsFolderOf(dataDir), readOnly: false }),
      (part) => part.close(),
    ),
  };
  const adapters = once<ChainAdapters>(
    () => chainAdapters,
    (part) => part.close(),
  );
  const priceServices = createPriceServices(config, { once, clock, log, adapters });
  const { prices, installedPrices } = priceServices;
  const clusters = once<ClusterReader>(
    () =>
      openClusters(
        { folder: clustersFolderOf(dataDir) },
        {
          addresses: outputsStores.read(),
          onOtherFormat: (chain, error) =>
            log.warn({ chain, reason: error.message }, 'clusters are not used'),
        },
      ),
    (part) => part.close(),
  );
  const liveIngest = once<LiveIngest>(
    () =>
      createLiveIngest({
        transfers: transferStores.write(),
        outputs: () => outputsStores.write(),
        price: (transfers) => priced(transfers, prices()),
      }),
    () => {},
  );
  /**
   * For watched chains. Their alerts must not wait: prices of whole blocks come from the local tables, because a server would have to be
   * asked for a thousand tokens.
   */
  const watchedIngest = once<LiveIngest>(
    () => {
      const { book } = installedPrices();
      return createLiveIngest({
        transfers: transferStores.write(),
        outputs: () => outputsStores.write(),
        price: (transfers) => priced(transfers, book),
      });
    },
    () => {},
  );
  /** Reads chains live; null if no chain has an endpoint. */
  const onDemand = once<OnDemand | null>(
    () =>
      chainAdapters.configured.length === 0
        ? null
        : createOnDemand(
            { budgetMs: config.chains.budgetMs, maxAgeMs: config.chains.maxAgeMinutes * MINUTE_MS },
            {
              chains: adapters(),
              ingest: (transfers) => transferStores.write().ingest(transfers),
              fetched: openFetchedStore({ path: join(dataDir, 'fetched.lmdb') }),
              prices: prices(),
              clock,
              log,
            },
          ),
    (part) => part?.close(),
  );
  /** Names are resolved by contracts on Ethereum. */
  const names = (): OnDemand | null => (chainAdapters.isConfigured('ETH', 'rpc') ? onDemand() : null);
  /** The transfers behind responses. Monitoring reads only the local store: it writes what it reads, and must not wait for servers. */
  const transfersRead = once<TransferReader>(
    () =>
      withRemoteChains(
        { stores: graphStores, logLevel: config.logLevel },
        { local: transferStores.read(), clock, log },
      ),
    // Without remote chains this is the local store, which has its own closer.
    (part) => (part === transferStores.read() ? undefined : part.close()),
  );

  /** Creates the writable stores before any thread opens them for reading: see `transferStores`. */
  function makeStores(): void {
    if (chainAdapters.configured.length === 0) return;
    for (const { id } of CHAINS)
      if (chainAdapters.isConfigured(id) || existsSync(transfersFileOf(dataDir, id)))
        transferStores.write().coverage(id);
  }

  /** Adds the balances and the history of the address, which are read from the chain concurrently and within the budget. */
  async function readLive(request: ScreeningRequest): Promise<ScreeningFacts> {
    const [balances, history] = await Promise.all([
      balanceFacts(request, onDemand(), log),
      historyFacts(request, onDemand()),
    ]);
    return { ...balances, ...history };
  }

  return {
    graphStores,
    chainAdapters,
    adapters,
    transferStores,
    outputsStores,
    ...priceServices,
    clusters,
    /** The addresses that the followers of chains in this process look for. */
    watchedAddresses: new WatchedAddresses(),
    liveIngest,
    watchedIngest,
    onDemand,
    names,
    transfersRead,
    makeStores,
    pushGraph: (request: PushRequest) => pushGraph(config, request, { graphStores, clock, log }),
    readLive,
  };
}

/** Fills the server from which a chain's transfers are read. */
async function pushGraph(
  { dataDir }: Config,
  request: PushRequest,
  {
    graphStores,
    clock,
    log,
  }: Pick<ChainServicesDeps, 'clock' | 'log'> & {
    readonly graphStores: ReturnType<typeof readGraphStores>;
  },
): Promise<PushReport> {
  const { chain, to } = request;
  const url = to ?? graphStores[chain];
  if (url === undefined)
    throw new AssayError(
      'INVALID_REQUEST',
      `--to: no server given, and ASSAY_GRAPH_STORE_${chain} is not set.`,
      {
        field: 'to',
      },
    );
  const path = transfersFileOf(dataDir, chain);
  if (!existsSync(path))
    throw new AssayError('NOT_READY', `No transfer of ${chain} is stored. Run \`assay ingest\` first.`);
  const [{ pushChain }, { openRedis, parseRedisUrl }] = await Promise.all([
    import('../graph/remote/push.ts'),
    import('../state/redis.ts'),
  ]);
  const server = openRedis(parseRedisUrl(url), { log });
  try {
    return await pushChain({ ...request, path }, { redis: server, clock });
  } finally {
    await server.close();
  }
}
