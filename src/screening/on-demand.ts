/**
 * Reads chains while a screening waits: the history of an address that was not ingested, its balances, and the address of a name.
 * All reads share one time budget. If a read fails or is late, the answer lacks that part, and its coverage says so.
 */

import type { Clock } from '../base/clock.ts';
import { isoTime } from '../base/clock.ts';
import { AssayError, messageOf } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import type { Logger } from '../base/log.ts';
import { detectChains } from '../chains/address/parse.ts';
import type { Call, ChainAdapter, HistoryPage } from '../chains/families/port.ts';
import type { PriceSource } from '../chains/prices/price.ts';
import { priced } from '../chains/prices/priced.ts';
import { type ChainId, chainOf } from '../chains/registry.ts';
import type { Transfer } from '../chains/transfer.ts';
import type { UtxoTransaction } from '../chains/utxo-transaction.ts';
import { knownTransfers } from '../graph/utxo/project.ts';
import type { CoverageEntry } from './answers.ts';
import type { BalanceReport, BalanceSource, HeldBalance } from './balances.ts';
import { NOT_READ } from './context.ts';
import type { NameResolver } from './ens-names.ts';
import type { FetchedRecord, FetchedStore } from './fetched-store.ts';
import { parseSubject, type Subject } from './subject.ts';

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

export interface OnDemand extends BalanceSource, NameResolver {
  /**
   * Loads the history of an address (canonical) into the store as far as the budget allows. Returns the coverage: COMPLETE,
   * PARTIAL, or NONE if no source is configured or reachable and nothing was read before. Never rejects.
   */
  historyOf(chain: ChainId, address: string): Promise<CoverageEntry>;
  close(): Promise<void>;
}

/** Balances are reused for this long: two requests about an address in a row read its chains once. */
const BALANCES_KEPT_MS = 15_000;
/** Maximum number of addresses with a subscription at a node. */
const WATCHED_MAX = 1_000;
/** Part of a budget that is reserved for writing the fetched data and for the screening itself. */
const WRITING_MS = 100;

/** Returns the on-demand reader. It shares reads of the same address, and caches balances for a short time. */
export function createOnDemand(options: OnDemandOptions, deps: OnDemandDeps): OnDemand {
  const { budgetMs, maxAgeMs } = options;
  const { chains, ingest, fetched, prices, clock, log } = deps;
  const closing = new AbortController();
  const fetching = new Map<string, Promise<FetchedRecord | null>>();
  /**
   * Addresses with a subscription at a node, the last screened one at the end. `hasNews` is true if a node reported activity
   * since the last read.
   */
  const watched = new Map<string, { hasNews: boolean; readonly end: () => void }>();
  const balances = new Map<string, { readonly atMs: number; readonly report: Promise<BalanceReport> }>();

  /**
   * Returns the result of `work`, or that of `late` if the work takes longer than the budget. The work then ends by the budgets
   * of its own calls.
   */
  async function inTime<T>(work: Promise<T>, late: () => T): Promise<T> {
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

  // --- history ----------------------------------------------------------------------------------------------------------

  /**
   * Returns the coverage that a record gives.
   *
   * @param outdatedAtMs - time of the read that is known to be outdated; null if no read is outdated
   */
  function coverageOf(record: FetchedRecord | null, outdatedAtMs: number | null = null): CoverageEntry {
    if (record === null) return NOT_READ;
    const { resumeBelow, lacksKinds, fetchedAtMs } = record;
    const isAll = resumeBelow === null && !lacksKinds && isFresh(record) && fetchedAtMs !== outdatedAtMs;
    return { status: isAll ? 'COMPLETE' : 'PARTIAL', asOf: isoTime(fetchedAtMs) };
  }
  /** Compares the absolute difference: if the clock was set back, a read in the future is of unknown age. */
  const isFresh = (record: FetchedRecord): boolean => Math.abs(clock.now() - record.fetchedAtMs) < maxAgeMs;

  async function historyOf(chain: ChainId, address: string): Promise<CoverageEntry> {
    const record = fetched.get(chain, address);
    const key = `${chain} ${address}`;
    const watch = watched.get(key);
    if (watch !== undefined) {
      watched.delete(key);
      watched.set(key, watch);
    }
    const hasNews = watch?.hasNews ?? false;
    let fetch = fetching.get(key);
    const isKnownWell = record !== null && isFresh(record) && !hasNews && fetch === undefined;
    if (isKnownWell || !hasSource(chain)) return coverageOf(record);
    if (fetch === undefined) {
      fetch = fetchHistory(chain, address, record).finally(() => fetching.delete(key));
      fetching.set(key, fetch);
    }
    const outdatedAtMs = hasNews && record !== null ? record.fetchedAtMs : null;
    return coverageOf(await inTime(fetch, () => fetched.get(chain, address)), outdatedAtMs);
  }

  /**
   * Subscribes to the activity of an address at a node, if a node offers that. Reported activity makes the history be read again,
   * however recent the last read is. The start of the subscription counts as activity once, because a transfer may have arrived
   * between the read and the start.
   */
  function watchFor(adapter: ChainAdapter, address: string, key: string): void {
    const { onActivity } = adapter;
    if (onActivity === null || onActivity === undefined || watched.has(key)) return;
    const [oldest] = watched.keys();
    if (watched.size >= WATCHED_MAX && oldest !== undefined) {
      watched.get(oldest)?.end();
      watched.delete(oldest);
    }
    const end = onActivity(address, () => {
      const watch = watched.get(key);
      if (watch !== undefined) watch.hasNews = true;
    });
    watched.set(key, { hasNews: false, end });
  }

  /** The nodes of some chains also serve histories. If a node does not, its adapter returns NONE. */
  const hasSource = (chain: ChainId): boolean => chains.isConfigured(chain);

  /** Reads from the newest transfer down to the known ones, then continues where an earlier read stopped. Never rejects. */
  async function fetchHistory(
    chain: ChainId,
    address: string,
    before: FetchedRecord | null,
  ): Promise<FetchedRecord | null> {
    const reading = new HistoryReading(chain, address);
    const key = `${chain} ${address}`;
    try {
      const adapter = await chains.of(chain);
      watchFor(adapter, address, key);
      const watch = watched.get(key);
      if (watch !== undefined) watch.hasNews = false;
      const { newestHeight = null, resumeBelow = null } = before ?? {};
      const isNew = await read(adapter, reading, { from: newestHeight, to: null });
      if (isNew === 'NO_SOURCE') return before;
      if (isNew === 'END' && resumeBelow !== null) {
        reading.lowest = resumeBelow;
        reading.isEnded = (await read(adapter, reading, { from: null, to: resumeBelow })) === 'END';
      } else if (isNew === 'END') reading.isEnded = true;
    } catch (error) {
      if (!closing.signal.aborted)
        log.warn({ chain, reason: messageOf(error) }, 'reading address history failed');
    }
    const unread = reading.hasProgress ? undefined : watched.get(key);
    if (unread !== undefined && before !== null) unread.hasNews = true;
    try {
      return await remember(reading, before);
    } catch (error) {
      log.error({ chain, reason: messageOf(error) }, 'storing address history record failed');
      return before;
    }
  }

  /** Reads pages of a range until the range ends, or the budget or the limit is reached. */
  async function read(
    adapter: ChainAdapter,
    reading: HistoryReading,
    range: { readonly from: number | null; readonly to: number | null },
  ): Promise<'END' | 'STOPPED' | 'NO_SOURCE'> {
    const cursors = new Set<string>();
    for (let cursor: string | null = null; ; ) {
      const call = restOf(reading);
      if (call.budgetMs <= 0 || reading.transfers >= LIMITS.onDemandTransfersMax) return 'STOPPED';
      const query = { cursor, limit: LIMITS.onDemandPageTransfers, ...range };
      const page: HistoryPage = await adapter.history(reading.address, query, call);
      if (page.completeness === 'NONE' || page.completeness === 'OPAQUE') return 'NO_SOURCE';
      await store(reading, page, call);
      if (page.nextCursor === null) return 'END';
      if (cursors.has(page.nextCursor) || cursors.size >= LIMITS.historyPagesMax)
        throw new AssayError(
          'CHAIN_BAD_ANSWER',
          `${page.source} does not end the pages of the history of ${reading.address}.`,
        );
      cursors.add(page.nextCursor);
      cursor = page.nextCursor;
    }
  }

  async function store(reading: HistoryReading, page: HistoryPage, call: Call): Promise<void> {
    const transactions = page.transactions ?? [];
    const transfers = [...page.transfers, ...knownTransfers(transactions)];
    const isOwn = page.transfers.every(({ from, to }) => from === reading.address || to === reading.address);
    if (!isOwn || !transactions.every((transaction) => mayName(transaction, reading.address)))
      throw new AssayError('CHAIN_BAD_ANSWER', `${page.source} returned transfers of another address.`);
    const worth: Transfer[] = [];
    for await (const transfer of priced(transfers, prices, call.signal)) worth.push(transfer);
    if (worth.length > 0) await ingest(worth);
    reading.note(
      page,
      [...page.transfers, ...transactions].map(({ blockNumber }) => blockNumber),
    );
  }

  const restOf = (reading: HistoryReading): Call => {
    reading.endsAtMs ??= clock.monotonic() + budgetMs - WRITING_MS;
    return { signal: closing.signal, budgetMs: reading.endsAtMs - clock.monotonic() };
  };

  /** Records which part is now in the store. If nothing was read, the previous record stays with its age. */
  async function remember(
    reading: HistoryReading,
    before: FetchedRecord | null,
  ): Promise<FetchedRecord | null> {
    if (!reading.hasProgress) return before;
    const record: FetchedRecord = {
      fetchedAtMs: clock.now(),
      newestHeight: reading.newest ?? before?.newestHeight ?? null,
      resumeBelow: reading.isEnded ? null : (reading.lowest ?? before?.resumeBelow ?? null),
      lacksKinds: reading.lacksKinds || (before?.lacksKinds ?? false),
    };
    await fetched.put(reading.chain, reading.address, record);
    return record;
  }

  // --- balances ---------------------------------------------------------------------------------------------------------

  async function balancesOf(chain: ChainId, address: string): Promise<BalanceReport> {
    const key = `${chain} ${address}`;
    const known = balances.get(key);
    if (known !== undefined && clock.monotonic() - known.atMs < BALANCES_KEPT_MS) return known.report;
    const report = readBalances(chain, address);
    balances.delete(key);
    const oldest = balances.size >= LIMITS.onDemandBalancesKept ? balances.keys().next().value : undefined;
    if (oldest !== undefined) balances.delete(oldest);
    balances.set(key, { atMs: clock.monotonic(), report });
    return report;
  }

  /** Reads the balances on the chains on which the address can hold value. Its own chain comes first in the report. */
  async function readBalances(chain: ChainId, address: string): Promise<BalanceReport> {
    const sharing = detectChains(address).filter((other) => other !== chain && chains.isConfigured(other));
    const asked = chains.isConfigured(chain) ? [chain, ...sharing] : sharing;
    const held = await Promise.all(
      asked.map((one) =>
        inTime(readBalance(one, address), () => ({ chain: one, balance: null, balanceUsd: null })),
      ),
    );
    const answered = held.filter(({ balance }) => balance !== null).length;
    const isOwnKnown = held.some((one) => one.chain === chain && one.balance !== null);
    return {
      status: answered === 0 ? 'NONE' : answered === held.length && isOwnKnown ? 'COMPLETE' : 'PARTIAL',
      asOf: answered === 0 ? null : isoTime(clock.now()),
      chains: held,
    };
  }

  /** Never rejects: if a chain fails, its balance is null. */
  async function readBalance(chain: ChainId, address: string): Promise<HeldBalance> {
    const { symbol, decimals } = chainOf(chain);
    try {
      const adapter = await chains.of(chain);
      const call = { signal: closing.signal, budgetMs: budgetMs - WRITING_MS };
      const { balance: amount } = await adapter.balance(address, call);
      if (amount === null) return { chain, balance: null, balanceUsd: null };
      const price = await prices.usdAt({ chain, asset: symbol }, clock.now(), closing.signal);
      const balance = Number(amount) / 10 ** decimals;
      return {
        chain,
        balance,
        balanceUsd: price === null ? null : Math.round(balance * price.usd * 100) / 100,
      };
    } catch (error) {
      log.debug({ chain, reason: messageOf(error) }, 'reading balance failed');
      return { chain, balance: null, balanceUsd: null };
    }
  }

  return {
    historyOf,
    balancesOf,
    async resolve(name) {
      const refuse = (reason: string, cause?: unknown): AssayError =>
        new AssayError('INVALID_REQUEST', `'${name.slice(0, 80)}' cannot be resolved: ${reason}`, { cause });
      try {
        const { resolveName } = await chains.of('ETH');
        const answer = await resolveName?.(name, { signal: closing.signal, budgetMs });
        if (answer === undefined || answer.note !== null)
          throw refuse(answer?.note ?? 'the configured source does not resolve names.');
        return answer.address;
      } catch (error) {
        // See the decisions: if a name cannot be resolved, the request is at fault, whatever the reason.
        if (error instanceof AssayError && error.code !== 'INVALID_REQUEST')
          throw refuse(error.message, error);
        throw error;
      }
    },
    async close() {
      closing.abort(new AssayError('CHAIN_UNREACHABLE', 'The program is stopping.'));
      for (const { end } of watched.values()) end();
      watched.clear();
      await Promise.allSettled([...fetching.values()]);
      await fetched.close();
    },
  };
}

/** Worst first: several addresses together have the coverage of the worst one. */
const STATUSES = ['NONE', 'PARTIAL', 'COMPLETE'] as const;

/**
 * Reads the histories of the addresses in a request before it goes to a worker. An invalid address is skipped: the screening
 * rejects it with its own error.
 */
export async function withHistory<
  Request extends {
    readonly chain: string;
    readonly address?: string;
    readonly from?: string;
    readonly to?: string;
  },
>(
  request: Request,
  source: Pick<OnDemand, 'historyOf'> | null,
): Promise<Request & { readonly history?: CoverageEntry }> {
  if (source === null) return request;
  const texts = [request.address, request.from, request.to].filter((text) => text !== undefined);
  const read = await Promise.all(
    texts.map((text) => {
      const subject = subjectOrNull(request.chain, text);
      return subject === null ? NOT_READ : source.historyOf(subject.chain, subject.canonical);
    }),
  );
  const [first, ...others] = read;
  if (first === undefined) return request;
  const history = others.reduce(
    (least, one) => (STATUSES.indexOf(one.status) < STATUSES.indexOf(least.status) ? one : least),
    first,
  );
  return { ...request, history };
}

function subjectOrNull(chain: string, address: string): Subject | null {
  try {
    return parseSubject(chain, address);
  } catch (error) {
    if (error instanceof AssayError) return null;
    throw error;
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
