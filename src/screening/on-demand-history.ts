/**
 * Reads the history of an address that was not ingested into the transfer store, as far as a time budget allows. Reads of the same
 * address are shared.
 */
import { type Clock, isoTime } from '../base/clock.ts';
import { AssayError, messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { Call, ChainAdapter, HistoryPage } from '../chains/families/port.ts';
import type { PriceSource } from '../chains/prices/price.ts';
import { priced } from '../chains/prices/priced.ts';
import type { ChainId } from '../chains/registry.ts';
import type { Transfer } from '../chains/transfer.ts';
import type { UtxoTransaction } from '../chains/utxo-transaction.ts';
import { knownTransfers } from '../graph/utxo/project.ts';
import type { CoverageEntry } from './answers.ts';
import { NOT_READ } from './context.ts';
import type { FetchedRecord, FetchedStore } from './fetched-store.ts';
import { SCREENING_LIMITS } from './limits.ts';

export interface OnDemandOptions {
  /** Maximum time in milliseconds that a screening waits, for all of its addresses and chains together. */
  readonly budgetMs: number;
  /** Age after which a history is read again. */
  readonly maxAgeMs: number;
}

export interface OnDemandDeps {
  readonly chains: {
    of(chain: ChainId): Promise<ChainAdapter>;
    isConfigured(chain: ChainId, role?: 'rpc' | 'history'): boolean;
  };
  /** Writes to the transfer store. Transfers that are already stored change nothing. */
  readonly ingest: (transfers: readonly Transfer[]) => Promise<unknown>;
  readonly fetched: FetchedStore;
  readonly prices: PriceSource;
  readonly clock: Clock;
  readonly log: Logger;
}

/** Maximum number of addresses with a subscription at a node. */
const WATCHED_MAX = 1_000;
/** Part of a budget that is reserved for writing the fetched data and for the screening itself. */
export const WRITING_MS = 100;

/**
 * Returns the result of `work`, or that of `late` if the work takes longer than `budgetMs`. The work then ends by the budgets
 * of its own calls.
 */
export async function inTime<T>(work: Promise<T>, late: () => T, budgetMs: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const end = new Promise<T>((resolve) => {
    timer = setTimeout(() => resolve(late()), budgetMs);
  });
  try {
    return await Promise.race([work, end]);
  } finally {
    clearTimeout(timer);
  }
}

/** Returns true if an address may be a party of a transaction, as far as its inputs are known. */
const mayName = ({ inputs, outputs }: UtxoTransaction, address: string): boolean =>
  outputs.some((output) => output.address === address) ||
  inputs.some((input) => input.address === address || input.value === null);

/** Progress of one read of a history. */
class HistoryReading {
  readonly chain: ChainId;
  readonly address: string;
  /** Monotonic time at which the read must end; null before the first call, so that loading a library is not counted twice. */
  endsAtMs: number | null = null;
  transfers = 0;
  newest: number | null = null;
  lowest: number | null = null;
  wasRead = false;
  isEnded = false;
  lacksKinds = false;

  constructor(chain: ChainId, address: string) {
    this.chain = chain;
    this.address = address;
  }

  /**
   * True if the read reached the end or a height down to which everything is now known. Pages without a transfer that stopped
   * before the end give no height: if they were recorded, they would look like a complete history without transfers.
   */
  get hasProgress(): boolean {
    return this.wasRead && (this.isEnded || this.lowest !== null);
  }

  note(page: HistoryPage, heights: readonly number[]): void {
    this.wasRead = true;
    this.transfers += heights.length;
    if (page.completeness === 'PARTIAL') this.lacksKinds = true;
    for (const height of heights) {
      this.newest = Math.max(this.newest ?? 0, height);
      this.lowest = Math.min(this.lowest ?? height, height);
    }
  }
}

/** Loads histories into the transfer store, and subscribes to the activity of the addresses that were read. */
export class HistoryFetcher {
  readonly #options: OnDemandOptions;
  readonly #deps: OnDemandDeps;
  /** Aborted when the program stops. */
  readonly #signal: AbortSignal;
  readonly #fetching = new Map<string, Promise<FetchedRecord | null>>();
  /**
   * Addresses with a subscription at a node, the last screened one at the end. `hasNews` is true if a node reported activity
   * since the last read.
   */
  readonly #watched = new Map<string, { hasNews: boolean; readonly end: () => void }>();

  constructor(options: OnDemandOptions, deps: OnDemandDeps, signal: AbortSignal) {
    this.#options = options;
    this.#deps = deps;
    this.#signal = signal;
  }

  /** Ends the subscriptions and waits for the reads in progress, which `signal` aborts. */
  async close(): Promise<void> {
    for (const { end } of this.#watched.values()) end();
    this.#watched.clear();
    await Promise.allSettled([...this.#fetching.values()]);
  }

  /**
   * Returns the coverage that a record gives.
   *
   * @param outdatedAtMs - time of the read that is known to be outdated; null if no read is outdated
   */
  #coverageOf(record: FetchedRecord | null, outdatedAtMs: number | null = null): CoverageEntry {
    if (record === null) return NOT_READ;
    const { resumeBelow, lacksKinds, fetchedAtMs } = record;
    const isAll =
      resumeBelow === null && !lacksKinds && this.#isFresh(record) && fetchedAtMs !== outdatedAtMs;
    return { status: isAll ? 'COMPLETE' : 'PARTIAL', asOf: isoTime(fetchedAtMs) };
  }
  /** Compares the absolute difference: if the clock was set back, a read in the future is of unknown age. */
  #isFresh(record: FetchedRecord): boolean {
    return Math.abs(this.#deps.clock.now() - record.fetchedAtMs) < this.#options.maxAgeMs;
  }

  /** Loads the history of an address and returns its coverage: see OnDemand. Never rejects. */
  async historyOf(chain: ChainId, address: string): Promise<CoverageEntry> {
    const record = this.#deps.fetched.get(chain, address);
    const key = `${chain} ${address}`;
    const watch = this.#watched.get(key);
    if (watch !== undefined) {
      this.#watched.delete(key);
      this.#watched.set(key, watch);
    }
    const hasNews = watch?.hasNews ?? false;
    let fetch = this.#fetching.get(key);
    const isKnownWell = record !== null && this.#isFresh(record) && !hasNews && fetch === undefined;
    if (isKnownWell || !this.#hasSource(chain)) return this.#coverageOf(record);
    if (fetch === undefined) {
      fetch = this.#fetchHistory(chain, address, record).finally(() => this.#fetching.delete(key));
      this.#fetching.set(key, fetch);
    }
    const outdatedAtMs = hasNews && record !== null ? record.fetchedAtMs : null;
    return this.#coverageOf(
      await inTime(fetch, () => this.#deps.fetched.get(chain, address), this.#options.budgetMs),
      outdatedAtMs,
    );
  }

  /**
   * Subscribes to the activity of an address at a node, if a node offers that. Reported activity makes the history be read again,
   * however recent the last read is. The start of the subscription counts as activity once, because a transfer may have arrived
   * between the read and the start.
   */
  #watchFor(adapter: ChainAdapter, address: string, key: string): void {
    const { onActivity } = adapter;
    if (onActivity === null || onActivity === undefined || this.#watched.has(key)) return;
    const [oldest] = this.#watched.keys();
    if (this.#watched.size >= WATCHED_MAX && oldest !== undefined) {
      this.#watched.get(oldest)?.end();
      this.#watched.delete(oldest);
    }
    const end = onActivity(address, () => {
      const watch = this.#watched.get(key);
      if (watch !== undefined) watch.hasNews = true;
    });
    this.#watched.set(key, { hasNews: false, end });
  }

  /** The nodes of some chains also serve histories. If a node does not, its adapter returns NONE. */
  #hasSource(chain: ChainId): boolean {
    return this.#deps.chains.isConfigured(chain);
  }

  /** Reads from the newest transfer down to the known ones, then continues where an earlier read stopped. Never rejects. */
  async #fetchHistory(
    chain: ChainId,
    address: string,
    before: FetchedRecord | null,
  ): Promise<FetchedRecord | null> {
    const reading = new HistoryReading(chain, address);
    const key = `${chain} ${address}`;
    try {
      const adapter = await this.#deps.chains.of(chain);
      this.#watchFor(adapter, address, key);
      const watch = this.#watched.get(key);
      if (watch !== undefined) watch.hasNews = false;
      const { newestHeight = null, resumeBelow = null } = before ?? {};
      const isNew = await this.#read(adapter, reading, { from: newestHeight, to: null });
      if (isNew === 'NO_SOURCE') return before;
      if (isNew === 'END' && resumeBelow !== null) {
        reading.lowest = resumeBelow;
        reading.isEnded = (await this.#read(adapter, reading, { from: null, to: resumeBelow })) === 'END';
      } else if (isNew === 'END') reading.isEnded = true;
    } catch (error) {
      if (!this.#signal.aborted)
        this.#deps.log.warn({ chain, reason: messageOf(error) }, 'reading address history failed');
    }
    const unread = reading.hasProgress ? undefined : this.#watched.get(key);
    if (unread !== undefined && before !== null) unread.hasNews = true;
    try {
      return await this.#remember(reading, before);
    } catch (error) {
      this.#deps.log.error({ chain, reason: messageOf(error) }, 'storing address history record failed');
      return before;
    }
  }

  /** Reads pages of a range until the range ends, or the budget or the limit is reached. */
  async #read(
    adapter: ChainAdapter,
    reading: HistoryReading,
    range: { readonly from: number | null; readonly to: number | null },
  ): Promise<'END' | 'STOPPED' | 'NO_SOURCE'> {
    const cursors = new Set<string>();
    for (let cursor: string | null = null; ; ) {
      const call = this.#callOf(reading);
      if (call.budgetMs <= 0 || reading.transfers >= SCREENING_LIMITS.onDemandTransfersMax) return 'STOPPED';
      const query = { cursor, limit: SCREENING_LIMITS.onDemandPageTransfers, ...range };
      const page: HistoryPage = await adapter.history(reading.address, query, call);
      if (page.completeness === 'NONE' || page.completeness === 'OPAQUE') return 'NO_SOURCE';
      await this.#store(reading, page, call);
      if (page.nextCursor === null) return 'END';
      if (cursors.has(page.nextCursor) || cursors.size >= SCREENING_LIMITS.historyPagesMax)
        throw new AssayError(
          'CHAIN_BAD_ANSWER',
          `${page.source} does not end the pages of the history of ${reading.address}.`,
        );
      cursors.add(page.nextCursor);
      cursor = page.nextCursor;
    }
  }

  async #store(reading: HistoryReading, page: HistoryPage, call: Call): Promise<void> {
    const transactions = page.transactions ?? [];
    const transfers = [...page.transfers, ...knownTransfers(transactions)];
    const isOwn = page.transfers.every(({ from, to }) => from === reading.address || to === reading.address);
    if (!isOwn || !transactions.every((transaction) => mayName(transaction, reading.address)))
      throw new AssayError('CHAIN_BAD_ANSWER', `${page.source} returned transfers of another address.`);
    const worth: Transfer[] = [];
    for await (const transfer of priced(transfers, this.#deps.prices, call.signal)) worth.push(transfer);
    if (worth.length > 0) await this.#deps.ingest(worth);
    reading.note(
      page,
      [...page.transfers, ...transactions].map(({ blockNumber }) => blockNumber),
    );
  }

  #callOf(reading: HistoryReading): Call {
    reading.endsAtMs ??= this.#deps.clock.monotonic() + this.#options.budgetMs - WRITING_MS;
    return { signal: this.#signal, budgetMs: reading.endsAtMs - this.#deps.clock.monotonic() };
  }

  /** Records which part is now in the store. If nothing was read, the previous record stays with its age. */
  async #remember(reading: HistoryReading, before: FetchedRecord | null): Promise<FetchedRecord | null> {
    if (!reading.hasProgress) return before;
    const record: FetchedRecord = {
      fetchedAtMs: this.#deps.clock.now(),
      newestHeight: reading.newest ?? before?.newestHeight ?? null,
      resumeBelow: reading.isEnded ? null : (reading.lowest ?? before?.resumeBelow ?? null),
      lacksKinds: reading.lacksKinds || (before?.lacksKinds ?? false),
    };
    await this.#deps.fetched.put(reading.chain, reading.address, record);
    return record;
  }
}
