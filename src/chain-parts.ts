/**
 * The chains of this program, put together: their stores, who reads them live, prices, and where graphs stand in servers elsewhere.
 * What app.ts takes as one part; each of its own is opened when first asked for.
 */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from './base/clock.ts';
import { AssayError } from './base/errors.ts';
import type { Logger } from './base/log.ts';
import type { OpenedOnce } from './base/opened-once.ts';
import { systemJitter } from './base/random.ts';
import { type ChainAdapters, createChainAdapters } from './chains/adapters/registry.ts';
import { type HttpPrices, openHttpPrices } from './chains/prices/http.ts';
import { firstPriceOf, type PriceSource } from './chains/prices/price.ts';
import { priced } from './chains/prices/priced.ts';
import {
  loadCoinGeckoNames,
  loadOwnPrices,
  loadShippedPrices,
  pricesFolderOf,
} from './chains/prices/table.ts';
import { CHAINS, type ChainId } from './chains/registry.ts';
import type { PushRequest } from './cli/parts.ts';
import type { Config } from './config.ts';
import { type ClusterReader, clustersFolderOf, openClusters } from './graph/cluster/store.ts';
import { createLiveIngest, type LiveIngest } from './graph/ingest/live.ts';
import type { PushReport } from './graph/remote/push-session.ts';
import { readGraphStores, withRemoteChains } from './graph/remote/transfers.ts';
import { openTransferStore, type TransferStore } from './graph/store.ts';
import type { TransferReader } from './graph/transfers.ts';
import { type OutputsStore, openOutputsStore } from './graph/utxo/outputs-store.ts';
import { withBalances } from './screening/balances.ts';
import { openFetchedStore } from './screening/fetched-store.ts';
import { createOnDemand, type OnDemand, withHistory } from './screening/on-demand.ts';

const MINUTE_MS = 60_000;

export const transfersFolderOf = (dataDir: string): string => join(dataDir, 'transfers');
const transfersFileOf = (dataDir: string, chain: ChainId): string =>
  join(transfersFolderOf(dataDir), `${chain.toLowerCase()}.mdb`);
export const outputsFolderOf = (dataDir: string): string => join(dataDir, 'outputs');

export interface ChainPartsDeps extends Pick<OpenedOnce, 'once'> {
  readonly clock: Clock;
  readonly log: Logger;
}

/** Throws UNKNOWN_CHAIN, INVALID_CONFIG for a setting that names a chain or a server wrongly. */
export function openChainParts(config: Config, { once, clock, log }: ChainPartsDeps) {
  const { dataDir } = config;
  // Checked at the start, so that a misspelt chain is seen; connects nowhere.
  const graphStores = readGraphStores(config.chains.graphStores);
  // Checked at the start, so that a misspelt chain is seen; opens and imports nothing.
  const chainAdapters = createChainAdapters(config.chains, { clock, log, jitter: systemJitter });
  const transferStores: Readonly<Record<'read' | 'write', () => TransferStore>> = {
    // One process opens an environment in one way: where chains are read live, whoever reads shares the writer's.
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
  const httpPrices =
    priceServer === null
      ? null
      : once<HttpPrices>(
          () =>
            openHttpPrices(
              {
                baseUrl: priceServer.url,
                apiKey: priceServer.key,
                ...(priceServer.url.includes('//pro-api.') ? { keyHeader: 'x-cg-pro-api-key' } : {}),
                names: loadCoinGeckoNames(),
                // Whoever runs the program named it: it may stand on a private address.
                policy: { trustedHosts: new Set([new URL(priceServer.url).hostname]) },
              },
              { clock, log },
            ),
          (part) => part.close(),
        );
  const prices = once<PriceSource>(
    () =>
      firstPriceOf([
        loadOwnPrices({ folder: pricesFolderOf(dataDir) }),
        ...(httpPrices === null ? [] : [httpPrices()]),
        loadShippedPrices(),
      ]),
    () => {},
  );
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
  /** For whom alerts wait: whole blocks are priced by the tables at hand, and no server is asked for a thousand tokens. */
  const watchedIngest = once<LiveIngest>(
    () => {
      const tables = firstPriceOf([loadOwnPrices({ folder: pricesFolderOf(dataDir) }), loadShippedPrices()]);
      return createLiveIngest({
        transfers: transferStores.write(),
        outputs: () => outputsStores.write(),
        price: (transfers) => priced(transfers, tables),
      });
    },
    () => {},
  );
  /** Who reads chains live; null where no endpoint of any chain is named. */
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
  /** Names are of Ethereum's contracts. */
  const names = (): OnDemand | null => (chainAdapters.isConfigured('ETH', 'rpc') ? onDemand() : null);
  /** What answers are made of. Monitoring reads the store alone: it writes what it reads, and must not wait for servers. */
  const transfersRead = once<TransferReader>(
    () =>
      withRemoteChains(
        { stores: graphStores, logLevel: config.logLevel },
        { local: transferStores.read(), clock, log },
      ),
    // Alone, the store has its own closer.
    (part) => (part === transferStores.read() ? undefined : part.close()),
  );

  /**
   * Makes the stores that may be written, before any thread opens them for reading: see `transferStores`.
   */
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
      import('./graph/remote/push.ts'),
      import('./base/redis.ts'),
    ]);
    const server = openRedis(parseRedisUrl(url), { log });
    try {
      return await pushChain({ ...request, path }, { redis: server, clock });
    } finally {
      await server.close();
    }
  }

  /** What chains say of the address, read within the budget: balances and history side by side. */
  async function readLive<Request extends { readonly chain: string; readonly address: string }>(
    request: Request,
  ): Promise<Request> {
    const [held, past] = await Promise.all([
      withBalances(request, onDemand(), log),
      withHistory(request, onDemand()),
    ]);
    return { ...held, ...past };
  }

  return {
    graphStores,
    chainAdapters,
    adapters,
    transferStores,
    outputsStores,
    prices,
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
