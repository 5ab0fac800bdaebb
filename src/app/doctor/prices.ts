/** Checks how old the newest prices of the coins are whose chains an installation reads or has transfers of. */
import { type Clock, isoTime } from '../../base/clock.ts';
import { silentLogger } from '../../base/log.ts';
import { LAST_KNOWN_NATIVE_MS, type UsdPrice } from '../../chains/prices/price.ts';
import { pricesFolderOf } from '../../chains/prices/table.ts';
import { openInstalledPrices } from '../../chains/prices/tables.ts';
import { CHAINS } from '../../chains/registry.ts';
import type { Finding } from '../../cli/doctor.ts';
import type { Config } from '../../config/config.ts';
import { readInstallation } from '../../state/installation-record.ts';

/** A price that is older says little about the value of a transfer of today. */
const AGE_MS_WANTED = 31 * 86_400_000;
const ADVICE =
  'Set ASSAY_PRICE_URL or an own EVM node, and run `assay sync prices`; without a network, import prices (docs/prices-csv.md).';

interface CoinPrice {
  readonly symbol: string;
  readonly price: UsdPrice | null;
}

const dayOf = (ms: number): string => isoTime(ms).slice(0, 10);

/**
 * Judges the newest prices of coins.
 *
 * @param nowMs - milliseconds since the epoch
 */
export function priceFindings(coins: readonly CoinPrice[], nowMs: number): readonly Finding[] {
  const check = 'prices';
  const unknown = coins.flatMap(({ symbol, price }) => (price === null ? [symbol] : []));
  const old = coins.flatMap(({ symbol, price }) =>
    price !== null && nowMs - price.atMs > AGE_MS_WANTED ? [{ symbol, atMs: price.atMs }] : [],
  );
  const findings: Finding[] = [];
  if (unknown.length > 0)
    findings.push({
      check,
      state: 'problem',
      text: `No price of ${unknown.join(', ')} is known: new transfers of ${unknown.length === 1 ? 'it' : 'them'} have no value.`,
      advice: ADVICE,
    });
  if (old.length > 0) {
    const oldest = Math.min(...old.map(({ atMs }) => atMs));
    const named = old.map(({ symbol, atMs }) => `${symbol} (${dayOf(atMs)})`).join(', ');
    findings.push({
      check,
      state: 'warning',
      text: `The newest prices are old: ${named}. New transfers have no value from ${dayOf(oldest + LAST_KNOWN_NATIVE_MS)} on.`,
      advice: ADVICE,
    });
  }
  if (findings.length > 0 || coins.length === 0) return findings;
  return [{ check, state: 'ok', text: `The prices of all ${coins.length} coins are recent.`, advice: null }];
}

/** Returns the newest price in the tables of each coin whose chain has a node, an explorer or stored transfers. */
export function pricesOfCoins(
  { dataDir, chains }: Config,
  { now }: Pick<Clock, 'now'>,
): readonly CoinPrice[] {
  const stored = new Set(readInstallation(dataDir)?.stores.map(({ path }) => path));
  const { endpoints, graphStores } = chains;
  const configured = [endpoints.rpc, endpoints.history, graphStores].flatMap((of) =>
    Object.entries(of).flatMap(([chain, text]) => (text === '' ? [] : [chain.toUpperCase()])),
  );
  const used = CHAINS.filter(
    ({ id }) =>
      configured.includes(id) ||
      stored.has(`transfers/${id.toLowerCase()}.mdb`) ||
      stored.has(`transfers/${id.toLowerCase()}-outputs.mdb`),
  );
  if (used.length === 0) return [];
  const clock = { now, monotonic: () => 0 };
  const { book } = openInstalledPrices({ folder: pricesFolderOf(dataDir) }, { clock, log: silentLogger });
  const coins = new Map(
    used.map(({ id, symbol }) => [symbol, book.known({ chain: id, asset: symbol }, now())] as const),
  );
  return [...coins].map(([symbol, price]) => ({ symbol, price }));
}
