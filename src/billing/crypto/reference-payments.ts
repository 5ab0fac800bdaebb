/**
 * Finds payments on Solana. All invoices are paid to one address, so a payment names the reference key of its invoice (Solana Pay), and the
 * transactions of each key are read. Blocks are not: a block has thousands of transactions, and adapters do not list the keys that they name.
 */
import type { Clock } from '../../base/clock.ts';
import { AssayError, messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import { sleep } from '../../base/retry.ts';
import type { Call, ChainAdapter } from '../../chains/families/port.ts';
import type { Handover } from '../../state/handover.ts';
import type { Fence } from '../../state/live-store.ts';
import type { ChainPaymentsState } from './chain-payments.ts';
import { CRYPTO_LIMITS } from './limits.ts';
import type { PaymentBook } from './payment-book.ts';
import { paymentIdOf, sightingOf } from './sightings.ts';
import type { Watched, WatchTable } from './watch-table.ts';

export interface ReferencePaymentsDeps {
  readonly adapter: ChainAdapter;
  readonly table: WatchTable;
  /** The operator's address, which all invoices are paid to. */
  readonly address: string;
  readonly clock: Clock;
  readonly log: Logger;
}

export class ReferencePayments {
  readonly #book: PaymentBook;
  readonly #deps: ReferencePaymentsDeps;
  readonly #readAtMs = new Map<string, number>();
  #height: number | null = null;
  #lastError: string | null = null;

  constructor(book: PaymentBook, deps: ReferencePaymentsDeps) {
    this.#book = book;
    this.#deps = deps;
  }

  state(): ChainPaymentsState {
    return { chain: this.#deps.adapter.chain, height: this.#height, lastError: this.#lastError };
  }

  /**
   * Looks for payments until `signal` aborts. Never rejects.
   *
   * @param handover - ends it if this node does not reach the chain and another one might; null if there is no other node
   */
  async run(
    signal: AbortSignal,
    _fence: Fence | null = null,
    handover: Handover | null = null,
  ): Promise<void> {
    for (const watched of this.#deps.table.of('SOL')) this.#book.load(watched);
    while (!signal.aborted) {
      try {
        await this.look(signal);
        this.#lastError = null;
        handover?.succeeded();
      } catch (error) {
        if (signal.aborted) return;
        this.#lastError = messageOf(error);
        this.#deps.log.warn({ chain: 'SOL', error: messageOf(error) }, 'following payments interrupted');
        if (error instanceof AssayError && error.code.startsWith('CHAIN_') && handover?.failed()) return;
      }
      await sleep(CRYPTO_LIMITS.referencesPollMs, signal).catch(() => undefined);
    }
  }

  /** Reads the keys that were not read for longest, and confirms what is deep enough. */
  async look(signal: AbortSignal): Promise<void> {
    const { adapter, table, clock } = this.#deps;
    const call = (): Call => ({ signal, budgetMs: CRYPTO_LIMITS.requestBudgetMs });
    const { height } = await adapter.head(call());
    const due = [...table.of('SOL')]
      .toSorted((a, b) => (this.#readAtMs.get(a.target) ?? 0) - (this.#readAtMs.get(b.target) ?? 0))
      .slice(0, CRYPTO_LIMITS.referencesPerLook);
    for (let at = 0; at < due.length; at += CRYPTO_LIMITS.referencesAtOnce)
      await Promise.all(
        due.slice(at, at + CRYPTO_LIMITS.referencesAtOnce).map(async (watched) => {
          await this.#read(watched, call());
          this.#readAtMs.set(watched.target, clock.monotonic());
        }),
      );
    // Only payments that were read after this head may be confirmed by it.
    await this.#book.advance(height);
    this.#height = height;
  }

  async #read(watched: Watched, call: Call): Promise<void> {
    const { adapter, address } = this.#deps;
    const { referenceTransactionsMax: limit } = CRYPTO_LIMITS;
    const transfers = (await adapter.transfersNaming?.(watched.target, limit, call)) ?? [];
    const paid = transfers.filter(({ to, from, amount }) => to === address && from !== to && amount > 0n);
    const ids = new Set(paid.map(paymentIdOf));
    // The hash of a slot is not in the list; a transaction has one slot as long as it exists.
    for (const transfer of paid)
      await this.#book.observe(
        sightingOf(transfer, watched, { height: transfer.blockNumber, hash: `slot ${transfer.blockNumber}` }),
      );
    await this.#book.withdrawMissing(watched.invoiceId, ids);
  }

  isAtRest({ invoiceId }: Watched): boolean {
    return this.#book.isAtRest(invoiceId);
  }

  forget({ invoiceId, target }: Watched): void {
    this.#book.forget(invoiceId);
    this.#readAtMs.delete(target);
  }
}
