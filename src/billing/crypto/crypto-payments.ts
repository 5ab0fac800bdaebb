/** Payments in cryptocurrency: connects the method, the watcher, their store and the comparison with the chains. */
import type { Clock } from '../../base/clock.ts';
import { AssayError } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import type { Random } from '../../base/random.ts';
import { parseAddress } from '../../chains/address/parse.ts';
import type { ChainAdapter } from '../../chains/families/port.ts';
import type { PriceSource } from '../../chains/prices/price.ts';
import type { ChainId } from '../../chains/registry.ts';
import type { WatchedAddresses } from '../../chains/watched-addresses.ts';
import type { Leases } from '../../state/leases.ts';
import type { OpenStore } from '../../state/live-store.ts';
import type { Settlement } from '../settlement.ts';
import type { InvoiceStore } from '../store.ts';
import { type ChainReport, compareWithChains } from './chain-report.ts';
import { type CryptoKeys, CryptoMethod, KEY_NAMES, type KeyName, type KeyUse, keyUses } from './method.ts';
import type { ScreenPayers } from './payer.ts';
import { decimalText, type UsdRate } from './quote.ts';
import { SteadyClock } from './steady-clock.ts';
import { type PaymentTerms, readTerms } from './terms.ts';
import { readWatchOnlyKey } from './watch-only-key.ts';
import { WatchStore } from './watch-store.ts';
import { PaymentWatcher } from './watcher.ts';

/** Settings of the operator, as text; null: not configured. */
export type KeySettings = Readonly<Record<KeyName | 'SOL', string | null>>;

/** Names of the settings, for errors. */
export const keyVariable = (name: KeyName | 'SOL'): string =>
  name === 'SOL' ? 'ASSAY_PAYMENT_ADDRESS_SOL' : `ASSAY_PAYMENT_KEY_${name}`;

/**
 * Reads the keys of the operator.
 *
 * @returns null if none is configured: nothing is sold for cryptocurrency
 * @throws INVALID_CONFIG naming the setting; the message never repeats its text
 */
export function readCryptoKeys(settings: KeySettings): CryptoKeys | null {
  const keys: CryptoKeys['keys'] = Object.fromEntries(
    KEY_NAMES.flatMap((name) => {
      const text = settings[name];
      if (text === null) return [];
      return [[name, readWatchOnlyKey(name === 'EVM' ? 'ETH' : name, text, keyVariable(name))]];
    }),
  );
  const field = keyVariable('SOL');
  const solanaAddress = settings.SOL === null ? null : parseAddress('SOL', settings.SOL, field).canonical;
  return Object.keys(keys).length === 0 && solanaAddress === null ? null : { keys, solanaAddress };
}

export interface CryptoPaymentsDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly invoices: () => InvoiceStore;
  readonly settlement: () => Settlement;
  readonly prices: () => PriceSource;
  readonly screen: ScreenPayers;
  readonly isKnownAsset: (chain: ChainId, asset: string) => boolean;
  readonly adapter: (chain: ChainId) => Promise<ChainAdapter | null>;
  readonly isConfigured: (chain: ChainId) => boolean;
  readonly isOwn: (chain: ChainId) => boolean;
  readonly leases?: Leases;
  /** The addresses that all parts of the program watch. Default: only those of invoices. */
  readonly addresses?: WatchedAddresses;
  /** How long a chain may be unreachable before its lease is released. Default: that of `Handover`. */
  readonly patienceMs?: number;
  /** Default: on this machine. */
  readonly openStore?: OpenStore;
  /** Default: data/payments.json. */
  readonly terms?: PaymentTerms;
}

export class CryptoPayments {
  readonly method: CryptoMethod;
  readonly terms: PaymentTerms;
  readonly #path: string;
  readonly #keys: CryptoKeys;
  readonly #deps: CryptoPaymentsDeps;
  readonly #clock: SteadyClock;
  #isStopped = false;
  #store: WatchStore | null = null;
  #watcher: PaymentWatcher | null = null;

  constructor(
    { path, keys }: { readonly path: string; readonly keys: CryptoKeys },
    deps: CryptoPaymentsDeps,
  ) {
    this.#path = path;
    this.#keys = keys;
    this.#deps = deps;
    this.terms = deps.terms ?? readTerms();
    this.#clock = new SteadyClock(deps.clock, this.terms.lockMs);
    this.method = new CryptoMethod({
      ...deps,
      ...{ keys, terms: this.terms, clock: this.#clock },
      watcher: () => this.watcher(),
      rateOf: (chain, asset) => this.rateOf(chain, asset),
    });
  }

  /** Opens the store at its first use. */
  store(): WatchStore {
    this.#store ??= new WatchStore(this.#path, this.#deps.openStore);
    return this.#store;
  }

  watcher(): PaymentWatcher {
    this.#watcher ??= new PaymentWatcher({
      ...this.#deps,
      ...{ clock: this.#clock, solanaAddress: this.#keys.solanaAddress },
      store: () => this.store(),
      rateOf: (chain, asset) => this.rateOf(chain, asset),
      depthOf: (chain, usdCents) => this.terms.depthOf(chain, usdCents),
    });
    return this.#watcher;
  }

  /** Returns the current rate of a coin or token; null if none is recent enough. A price of last week is no rate. */
  async rateOf(chain: ChainId, asset: string): Promise<UsdRate | null> {
    const nowMs = this.#deps.clock.now();
    const price = await this.#deps.prices().usdAt({ chain, asset }, nowMs);
    if (price === null || price.status === 'LAST_KNOWN' || price.usd <= 0) return null;
    if (nowMs - price.atMs > this.terms.rateAgeMaxMs) return null;
    return { usd: decimalText(price.usd), source: price.source, atMs: price.atMs };
  }

  /** Returns the use of each key: the next index, and the range of addresses that a wallet must import. */
  keyUses(): readonly KeyUse[] {
    return keyUses(this.#keys, this.#deps.invoices());
  }

  /** Compares the recorded payments with their chains. Reads one block for each block with a payment. */
  compareWithChains(): Promise<ChainReport> {
    return compareWithChains(this.#deps.invoices().all(), this.#deps.adapter);
  }

  /** Follows the chains of open invoices, as soon as both stores have the data of the other nodes. */
  async start(): Promise<void> {
    await Promise.all([this.store().ready(), this.#deps.invoices().ready()]);
    if (!this.#isStopped) this.watcher().start();
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    await this.#watcher?.stop();
  }

  async close(): Promise<void> {
    await this.stop();
    await this.#store?.close();
  }
}

/** Returns the error for an installation without keys. */
export const notConfigured = (): AssayError =>
  new AssayError(
    'INVALID_REQUEST',
    `Nothing is sold for cryptocurrency: set ${[...KEY_NAMES, 'SOL' as const].map(keyVariable).join(', ')}.`,
  );
