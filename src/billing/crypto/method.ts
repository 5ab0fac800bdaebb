/** Cryptocurrency as a method of payment: a quote at a locked rate, and an address that no other invoice has or will have. */
import { sha256 } from '@noble/hashes/sha2.js';
import { base58 } from '@scure/base';
import type { Clock } from '../../base/clock.ts';
import { AssayError } from '../../base/errors.ts';
import type { Random } from '../../base/random.ts';
import type { ChainAdapter } from '../../chains/families/port.ts';
import { type ChainId, chainOf, isEvm } from '../../chains/registry.ts';
import type { InvoiceDraft, InvoiceMethod, OpenedInvoice } from '../methods.ts';
import { CURRENCY } from '../records.ts';
import type { InvoiceStore } from '../store.ts';
import type { CryptoDetails } from './details.ts';
import { CRYPTO_LIMITS } from './limits.ts';
import { paymentUri } from './payment-uri.ts';
import { amountAt, coinsOf, type UsdRate } from './quote.ts';
import type { PaymentAsset, PaymentTerms } from './terms.ts';
import { deriveAddress, descriptorOf, pathOf, type WatchOnlyKey } from './watch-only-key.ts';
import type { PaymentWatcher } from './watcher.ts';

/** Keys from which addresses are derived. EVM chains share one. */
export type KeyName = 'BTC' | 'LTC' | 'DOGE' | 'BCH' | 'EVM' | 'TRON';
export const KEY_NAMES: readonly KeyName[] = ['BTC', 'LTC', 'DOGE', 'BCH', 'EVM', 'TRON'];

export interface CryptoKeys {
  readonly keys: Partial<Record<KeyName, WatchOnlyKey>>;
  readonly solanaAddress: string | null;
}

export interface CryptoMethodDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly terms: PaymentTerms;
  readonly keys: CryptoKeys;
  readonly invoices: () => Pick<InvoiceStore, 'nextNumber' | 'lastNumber'>;
  readonly watcher: () => Pick<PaymentWatcher, 'watch'>;
  readonly rateOf: (chain: ChainId, asset: string) => Promise<UsdRate | null>;
  /** Returns the adapter of a chain; null if no node is configured. */
  readonly adapter: (chain: ChainId) => Promise<ChainAdapter | null>;
  readonly isConfigured: (chain: ChainId) => boolean;
}

const REFERENCE_BYTES = 32;

export const keyNameOf = (chain: ChainId): KeyName => (isEvm(chain) ? 'EVM' : (chain as KeyName));

/** Name of the counter of a key. It is that of the key itself: another key begins at its own first address. */
export const counterOf = ({ branch }: WatchOnlyKey): string =>
  `crypto ${Buffer.from(sha256(Buffer.from(branch.publicExtendedKey)))
    .toString('hex')
    .slice(0, 32)}`;

/** The addresses of a key that were given to customers, for `assay billing keys`. */
export interface KeyUse {
  readonly key: KeyName;
  readonly form: string;
  /** Index of the next address. */
  readonly next: number;
  /** For wallets: with its checksum; null for accounts, which have none. */
  readonly descriptor: string | null;
  /** The range to import, so that the wallet sees every address; null before the first. */
  readonly range: readonly [number, number] | null;
  readonly firstPath: string;
}

/** Returns the use of each configured key. */
export const keyUses = (
  { keys }: CryptoKeys,
  invoices: Pick<InvoiceStore, 'lastNumber'>,
): readonly KeyUse[] =>
  KEY_NAMES.flatMap((name) => {
    const key = keys[name];
    if (key === undefined) return [];
    const next = invoices.lastNumber(counterOf(key));
    return {
      ...{ key: name, form: key.form, next, descriptor: descriptorOf(key), firstPath: pathOf(key, 0) },
      range: next === 0 ? null : ([0, next - 1] as const),
    };
  });

interface Target {
  readonly target: string;
  readonly address: string;
  readonly index: number | null;
  readonly path: string | null;
  readonly reference: string | null;
}

export class CryptoMethod implements InvoiceMethod {
  readonly method = 'CRYPTO';
  readonly #deps: CryptoMethodDeps;

  constructor(deps: CryptoMethodDeps) {
    this.#deps = deps;
  }

  #offered(): readonly PaymentAsset[] {
    const { terms, keys, isConfigured } = this.#deps;
    return terms.assets.filter(({ chain }) => {
      const hasTarget =
        chain === 'SOL' ? keys.solanaAddress !== null : keys.keys[keyNameOf(chain)] !== undefined;
      return hasTarget && isConfigured(chain);
    });
  }

  currencies(): readonly string[] {
    return this.#offered().map(({ currency }) => currency);
  }

  #assetOf(currency: string | null): PaymentAsset {
    const offered = this.#offered();
    const asset = currency === null ? offered[0] : offered.find((one) => one.currency === currency);
    if (asset !== undefined) return asset;
    throw new AssayError(
      'INVALID_REQUEST',
      `currency: must be one of ${offered.map((one) => one.currency).join(', ')} (got "${currency ?? ''}").`,
      { field: 'currency' },
    );
  }

  async open(draft: InvoiceDraft): Promise<OpenedInvoice> {
    const { clock, terms, rateOf, adapter: adapterOf, watcher } = this.#deps;
    const { order, accountId, id } = draft;
    const asset = this.#assetOf(draft.currency);
    const { chain, symbol, decimals, currency } = asset;
    if (order.currency !== CURRENCY)
      throw new AssayError('INVALID_REQUEST', `currency: the price must be in ${CURRENCY}.`, {
        field: 'currency',
      });
    const rate = await rateOf(chain, asset.asset);
    if (rate === null)
      throw new AssayError(
        'INVALID_REQUEST',
        `currency: there is no current rate of ${currency}. Choose another one, or try again later.`,
        { field: 'currency' },
      );
    const adapter = await adapterOf(chain);
    if (adapter === null) throw new AssayError('CHAIN_UNREACHABLE', `No node of ${chain} is configured.`);
    // An invoice on a chain that cannot be read would not see its payment.
    const head = await adapter.head({
      signal: AbortSignal.timeout(CRYPTO_LIMITS.openBudgetMs),
      budgetMs: CRYPTO_LIMITS.openBudgetMs,
    });
    const amount = amountAt(order.amount, asset, rate);
    const { target, ...place } = await this.#takeTarget(chain);
    const expiresAtMs = clock.now() + terms.lockMs;
    const monitorUntilMs = expiresAtMs + terms.monitorMs;
    const watched = { chain, accountId, invoiceId: id, target, untilMs: monitorUntilMs };
    await watcher().watch(watched, { height: head.height, hash: head.hash });
    const crypto: CryptoDetails = {
      ...{ chain, asset: asset.asset, symbol, amount: coinsOf(amount, decimals), ...place },
      uri: paymentUri(asset, place.address, amount, place.reference),
      depth: terms.depthOf(chain, order.amount),
    };
    return {
      order,
      terms: {
        ...{ method: 'CRYPTO', expiresAtMs, monitorUntilMs, details: { crypto } },
        rate: { from: symbol, to: CURRENCY, value: rate.usd, source: rate.source, atMs: rate.atMs },
        due: { asset: currency, amount: String(amount), decimals },
        toleranceBasisPoints: terms.toleranceBasisPoints,
        references: [`${chain} ${target}`],
      },
    };
  }

  /** Takes the next address of a key, or a new reference key. An address that is taken is never given again. */
  async #takeTarget(chain: ChainId): Promise<Target> {
    const { keys, invoices, random } = this.#deps;
    if (chain === 'SOL') {
      const reference = base58.encode(random.bytes(REFERENCE_BYTES));
      return { target: reference, address: keys.solanaAddress ?? '', index: null, path: null, reference };
    }
    const key = keys.keys[keyNameOf(chain)];
    if (key === undefined) throw new AssayError('INTERNAL', `${chainOf(chain).name} has no key.`);
    const index = (await invoices().nextNumber(counterOf(key))) - 1;
    const address = deriveAddress(chain, key, index);
    return { target: address, address, index, path: pathOf(key, index), reference: null };
  }
}
