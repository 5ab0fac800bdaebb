/** Follows every chain that has invoices, on the node that holds its lease, and stops when none of them can change any more. */
import type { Clock } from '../../base/clock.ts';
import { messageOf } from '../../base/errors.ts';
import type { BlockRef, ChainAdapter } from '../../chains/families/port.ts';
import type { ChainId } from '../../chains/registry.ts';
import type { WatchedAddresses } from '../../chains/watched-addresses.ts';
import { Handover } from '../../state/handover.ts';
import { createEmbeddedLeases, type Leases, underLease } from '../../state/leases.ts';
import { ChainPayments, type ChainPaymentsState, payersInBlock } from './chain-payments.ts';
import { CRYPTO_LIMITS } from './limits.ts';
import { PaymentBook, type PaymentBookDeps } from './payment-book.ts';
import { ReferencePayments } from './reference-payments.ts';
import { PAYMENT_CHAINS } from './terms.ts';
import type { WatchStore } from './watch-store.ts';
import { type Watched, WatchTable } from './watch-table.ts';

export interface PaymentWatcherDeps extends Omit<PaymentBookDeps, 'payersOf'> {
  readonly store: () => WatchStore;
  /** Returns the adapter of a chain; null if no node is configured. */
  readonly adapter: (chain: ChainId) => Promise<ChainAdapter | null>;
  readonly isOwn: (chain: ChainId) => boolean;
  /** The address on Solana that invoices are paid to; null if it is not configured. */
  readonly solanaAddress: string | null;
  readonly clock: Clock;
  /** Decides which node follows a chain. Default: this one. */
  readonly leases?: Leases;
  /** The addresses that all parts of the program watch. Default: only those of invoices. */
  readonly addresses?: WatchedAddresses;
  /** How long a chain may be unreachable before its lease is released. Default: that of `Handover`. */
  readonly patienceMs?: number;
}

type Runner = ChainPayments | ReferencePayments;

interface Following {
  readonly stop: AbortController;
  ended: Promise<void>;
  runner: Runner | null;
}

export class PaymentWatcher {
  readonly #deps: PaymentWatcherDeps;
  readonly #leases: Leases;
  readonly #table: WatchTable;
  readonly #following = new Map<ChainId, Following>();
  #isLoaded = false;
  #timer: NodeJS.Timeout | null = null;
  #pruning: Promise<void> = Promise.resolve();

  constructor(deps: PaymentWatcherDeps) {
    this.#deps = deps;
    this.#leases = deps.leases ?? createEmbeddedLeases();
    this.#table = new WatchTable(deps.addresses);
  }

  /** Number of watched addresses. */
  get watched(): number {
    return this.#table.size;
  }

  states(): readonly ChainPaymentsState[] {
    return [...this.#following.values()].flatMap(({ runner }) => (runner === null ? [] : [runner.state()]));
  }

  /** Watches an address. It is durable when it resolves. */
  async watch(watched: Watched, head: BlockRef): Promise<void> {
    await this.#deps.store().add(watched, head);
    if (!this.#isLoaded) return;
    this.#table.add(watched);
    this.#check();
  }

  /** Starts to follow. Loads all watched addresses. */
  start(): void {
    const store = this.#deps.store();
    store.onChange((targets) => {
      for (const target of targets) {
        const watched = store.get(target);
        if (watched === null) this.#table.remove(target);
        else this.#table.add(watched);
      }
    });
    for (const watched of store.all()) this.#table.add(watched);
    this.#isLoaded = true;
    this.#check();
    this.#timer = setInterval(() => {
      this.#check();
      this.#pruning = this.#pruning
        .then(() => this.#prune())
        .catch((error: unknown) => {
          this.#deps.log.error({ error: messageOf(error) }, 'removing watched addresses failed');
        });
    }, CRYPTO_LIMITS.checkMs);
    this.#timer.unref();
  }

  #check(): void {
    if (this.#timer === null && this.#following.size > 0) return;
    for (const chain of PAYMENT_CHAINS)
      if (this.#table.count(chain) > 0 && !this.#following.has(chain)) this.#begin(chain);
  }

  #begin(chain: ChainId): void {
    const stop = new AbortController();
    const following: Following = { stop, ended: Promise.resolve(), runner: null };
    this.#following.set(chain, following);
    const { clock, patienceMs } = this.#deps;
    const call = { signal: stop.signal, budgetMs: CRYPTO_LIMITS.requestBudgetMs };
    const handover = new Handover(
      {
        needs: `the chain node of ${chain}`,
        probe: async () => (await this.#deps.adapter(chain))?.head(call),
        ...(patienceMs === undefined ? {} : { patienceMs }),
      },
      clock,
    );
    following.ended = underLease(
      {
        store: 'payment-watch',
        name: `payments:${chain}`,
        obstacle: async () =>
          (await this.#deps.adapter(chain)) === null
            ? `No node of ${chain} is configured.`
            : handover.obstacle(),
        work: async (lease, signal) => {
          const runner = await this.#runnerOf(chain);
          if (runner === null) return;
          following.runner = runner;
          // Without a fence there is no other node.
          await runner.run(signal, lease.fence, lease.fence === null ? null : handover);
          following.runner = null;
        },
      },
      stop.signal,
      { leases: this.#leases, log: this.#deps.log },
    );
  }

  async #runnerOf(chain: ChainId): Promise<Runner | null> {
    const adapter = await this.#deps.adapter(chain);
    if (adapter === null) return null;
    const { clock, log, solanaAddress, store, isOwn } = this.#deps;
    const table = this.#table;
    const book = new PaymentBook(chain, {
      ...this.#deps,
      payersOf: (txHash, position, block) => payersInBlock(adapter, txHash, position, block),
    });
    if (chain !== 'SOL')
      return new ChainPayments(book, { adapter, table, clock, log, store: store(), isOwn: isOwn(chain) });
    return solanaAddress === null
      ? null
      : new ReferencePayments(book, { adapter, table, clock, log, address: solanaAddress });
  }

  /** Removes addresses after their time, if their payments can no longer change. */
  async #prune(): Promise<void> {
    const { clock, store } = this.#deps;
    const nowMs = clock.now();
    for (const [chain, following] of this.#following) {
      const { runner } = following;
      if (runner === null) continue;
      const done = [...this.#table.of(chain)].filter(
        (watched) => watched.untilMs <= nowMs && runner.isAtRest(watched),
      );
      if (done.length === 0) continue;
      await store().remove(done.map(({ target }) => target));
      for (const watched of done) {
        this.#table.remove(watched.target);
        runner.forget(watched);
      }
      if (this.#table.count(chain) > 0) continue;
      following.stop.abort();
      await following.ended;
      this.#following.delete(chain);
      await store().forget(chain, null);
    }
  }

  async stop(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#isLoaded = false;
    await this.#pruning;
    for (const { stop } of this.#following.values()) stop.abort();
    await Promise.all([...this.#following.values()].map(({ ended }) => ended));
    this.#following.clear();
    this.#table.release();
  }
}
