/** Creates the chain services for app.ts: stores, live readers, prices, and remote graph stores. Each is opened at its first use. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { AssayError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { OpenedOnce } from '../base/opened-once.ts';
import { systemJitter } from '../base/random.ts';
import type { AssetFacts } from '../chains/assets.ts';
import { type ChainAdapters, createChainAdapters } from '../chains/families/registry.ts';
import { loadAssetFacts } from '../chains/known-assets.ts';
import type { PriceBook } from '../chains/prices/book.ts';
import { type ContractCalls, createContractCalls } from '../chains/prices/contract-calls.ts';
import { type PriceSyncReport, syncPrices } from '../chains/prices/daily.ts';
import { type ChainlinkPrices, createChainlinkPrices, loadFeedsFile } from '../chains/prices/feeds.ts';
import { type HttpPrices, openHttpPrices } from '../chains/prices/http.ts';
import { createUniswapPrices } from '../chains/prices/pools.ts';
import { openPriceServer } from '../chains/prices/price-server.ts';
import { priced } from '../chains/prices/priced.ts';
import { dailyFolderOf, loadCoinGeckoNames, pricesFolderOf } from '../chains/prices/table.ts';
import { type InstalledPrices, openInstalledPrices } from '../chains/prices/tables.ts';
import { CHAINS, type ChainId, isEvm } from '../chains/registry.ts';
import { loadTokenList } from '../chains/tokens.ts';
import type { PushRequest } from '../cli/parts.ts';
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

const MINUTE_MS = 60_000;
/** Longer than the whole first sync waits for its rate limit. */
const PRICE_SYNC_WAIT_MS = 5 * MINUTE_MS;

/** Returns the folder of transfers. */
export const transfersFolderOf = (dataDir: string): string => join(dataDir, 'transfers');
const transfersFileOf = (dataDir: string, chain: ChainId): string =>
  join(transfersFolderOf(dataDir), `${chain.toLowerCase()}.mdb`);
/** Returns the folder of outputs. */
export const outputsFolderOf = (dataDir: string): string => join(dataDir, 'outputs');

export interface ChainPartsDeps extends Pick<OpenedOnce, 'once'> {
  readonly clock: Clock;
  readonly log: Logger;
}

/**
 * Creates the chain services.
 *
 * @throws UNKNOWN_CHAIN, INVALID_CONFIG if a setting names an unknown chain or an invalid server
 */
export function openChainParts(config: Config, { once, clock, log }: ChainPartsDeps) {
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
  const { priceServer } = config;
  const serverOptions =
    priceServer === null
      ? null
      : {
          baseUrl: priceServer.url,
          apiKey: priceServer.key,
          perMinute: priceServer.perMinute,
          ...(priceServer.url.includes('//pro-api.') ? { keyHeader: 'x-cg-pro-api-key' } : {}),
          names: loadCoinGeckoNames(),
          // The operator configured the server, so it may have a private address.
          policy: { trustedHosts: new Set([new URL(priceServer.url).hostname]) },
        };
  const httpPrices =
    serverOptions === null
      ? null
      : once<HttpPrices>(
          () => openHttpPrices(serverOptions, { clock, log }),
          (part) => part.close(),
        );
  const installedPrices = once<InstalledPrices>(
    () => openInstalledPrices({ folder: pricesFolderOf(dataDir) }, { clock, log }),
    () => {},
  );
  const assetFacts = once<AssetFacts>(
    () =>
      loadAssetFacts({
        prices: installedPrices(),
        tokens: loadTokenList({ ownFile: config.tokensFile }),
      }),
    () => {},
  );
  /** Chains on which contracts may be read for prices: those with a node of the operator, not those with public nodes only. */
  const ownNodes = new Set(
    CHAINS.map(({ id }) => id).filter((id) => isEvm(id) && config.chains.endpoints.rpc[id]?.trim()),
  );
  const contractCalls = once<ContractCalls>(
    () =>
      createContractCalls({
        adapter: (chain) => adapters().of(chain),
        chains: ownNodes,
        clock,
        log,
      }),
    () => {},
  );
  const chainlink = once<ChainlinkPrices>(
    () => createChainlinkPrices(loadFeedsFile(), { calls: contractCalls(), clock }),
    () => {},
  );
  const prices = once<PriceBook>(
    () => {
      const { withLive, pegs } = installedPrices();
      const quotes = withLive(ownNodes.size === 0 ? [] : [chainlink()]);
      return withLive([
        ...(ownNodes.size === 0 ? [] : [chainlink()]),
        ...(httpPrices === null ? [] : [httpPrices()]),
        ...(ownNodes.size === 0
          ? []
          : [
              createUniswapPrices(
                {
                  file: loadFeedsFile(),
                  pegs,
                  isListed: assetFacts().isKnown,
                },
                { calls: contractCalls(), quotes: quotes.usdAt, clock, log },
              ),
            ]),
      ]);
    },
    () => {},
  );

  /** True if there is any source for `assay sync prices`. */
  const canSyncPrices = serverOptions !== null || ownNodes.size > 0;

  async function syncDailyPrices(
    signal: AbortSignal,
    onProgress: (done: number, total: number) => void,
  ): Promise<PriceSyncReport> {
    // A sync waits under the rate limit: 29 coins take about a minute.
    const server =
      serverOptions === null
        ? null
        : openPriceServer({ ...serverOptions, waitMs: PRICE_SYNC_WAIT_MS }, { clock, log });
    try {
      return await syncPrices(
        {
          folder: dailyFolderOf(pricesFolderOf(dataDir)),
          coins: loadCoinGeckoNames().coins,
          signal,
          onProgress,
        },
        { clock, server, feeds: ownNodes.size === 0 ? null : (stop) => chainlink().newest(stop) },
      );
    } finally {
      await server?.close();
    }
  }
  const clusters = once<ClusterReader>(
    () => openClusters({ folder: clustersFolderOf(dataDir) }),
    (part) => part.close(),
  );
  const adapters = once<ChainAdapters>(
    () => chainAdapters,
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

  async function pushGraph(request: PushRequest): Promise<PushReport> {
    const { chain, to } = request;
    const url = to ?? graphStores[chain];
    if (url === undefined)
      throw new AssayError(
        'INVALID_REQUEST',
        `--to: names no server, and ASSAY_GRAPH_STORE_${chain} is not set.`,
        {
          field: 'to',
        },
      );
    const path = transfersFileOf(dataDir, chain);
    if (!existsSync(path))
      throw new AssayError(
        'NOT_READY',
        `No transfer of ${chain} is stored. Read some with \`assay ingest\` first.`,
      );
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
    prices,
    installedPrices,
    assetFacts,
    canSyncPrices,
    syncDailyPrices,
    clusters,
    liveIngest,
    watchedIngest,
    onDemand,
    names,
    transfersRead,
    makeStores,
    pushGraph,
    readLive,
  };
}
