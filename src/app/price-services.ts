/** Creates the services of prices: tables, a price server, and contracts read through the operator's nodes. */
import type { Clock } from '../base/clock.ts';
import type { Logger } from '../base/log.ts';
import type { OpenedOnce } from '../base/opened-once.ts';
import type { AssetFacts } from '../chains/assets.ts';
import type { ChainAdapters } from '../chains/families/adapters.ts';
import { loadAssetFacts } from '../chains/known-assets.ts';
import type { PriceBook } from '../chains/prices/book.ts';
import { type ContractCalls, createContractCalls } from '../chains/prices/contract-calls.ts';
import { type PriceSyncReport, syncPrices } from '../chains/prices/daily.ts';
import { type ChainlinkPrices, createChainlinkPrices, loadFeedsFile } from '../chains/prices/feeds.ts';
import { type HttpPrices, openHttpPrices } from '../chains/prices/http.ts';
import { createUniswapPrices } from '../chains/prices/pools.ts';
import { openPriceServer } from '../chains/prices/price-server.ts';
import { dailyFolderOf, loadCoinGeckoNames, pricesFolderOf } from '../chains/prices/table.ts';
import { type InstalledPrices, openInstalledPrices } from '../chains/prices/tables.ts';
import { CHAINS, isEvm } from '../chains/registry.ts';
import { loadTokenList } from '../chains/tokens.ts';
import type { Config } from '../config/config.ts';

const MINUTE_MS = 60_000;
/** Longer than the whole first sync waits for its rate limit. */
const PRICE_SYNC_WAIT_MS = 5 * MINUTE_MS;

export interface PriceServicesDeps extends Pick<OpenedOnce, 'once'> {
  readonly clock: Clock;
  readonly log: Logger;
  /** Adapters of chains, with which contracts are read. */
  readonly adapters: () => ChainAdapters;
}

/** Creates the services of prices. */
export function createPriceServices(config: Config, { once, clock, log, adapters }: PriceServicesDeps) {
  const { dataDir } = config;
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

  return { prices, installedPrices, assetFacts, canSyncPrices, syncDailyPrices };
}
