/**
 * Reads chains while a screening waits: the history of an address that was not ingested, its balances, and the address of a name.
 * All reads share one time budget. If a read fails or is late, the answer lacks that part, and its coverage says so.
 */

import { isoTime } from '../base/clock.ts';
import { AssayError, clientError, messageOf } from '../base/errors.ts';
import { twoDecimals } from '../base/figures.ts';
import { detectChains } from '../chains/address/parse.ts';
import { type ChainId, chainOf } from '../chains/registry.ts';
import type { CoverageEntry } from './answers.ts';
import type { BalanceReport, BalanceSource, ChainBalance } from './balances.ts';
import { NOT_READ } from './context.ts';
import type { NameResolver } from './ens-names.ts';
import { SCREENING_LIMITS } from './limits.ts';
import {
  HistoryFetcher,
  inTime,
  type OnDemandDeps,
  type OnDemandOptions,
  WRITING_MS,
} from './on-demand-history.ts';
import { parseSubject, type Subject } from './subject.ts';

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

/** Returns the on-demand reader. It shares reads of the same address, and caches balances for a short time. */
export function createOnDemand(options: OnDemandOptions, deps: OnDemandDeps): OnDemand {
  return new OnDemandReader(options, deps);
}

class OnDemandReader implements OnDemand {
  readonly #options: OnDemandOptions;
  readonly #deps: OnDemandDeps;
  readonly #closing = new AbortController();
  readonly #history: HistoryFetcher;
  readonly #balances = new Map<string, { readonly atMs: number; readonly report: Promise<BalanceReport> }>();

  constructor(options: OnDemandOptions, deps: OnDemandDeps) {
    this.#options = options;
    this.#deps = deps;
    this.#history = new HistoryFetcher(options, deps, this.#closing.signal);
  }

  historyOf(chain: ChainId, address: string): Promise<CoverageEntry> {
    return this.#history.historyOf(chain, address);
  }

  async balancesOf(chain: ChainId, address: string): Promise<BalanceReport> {
    const key = `${chain} ${address}`;
    const known = this.#balances.get(key);
    if (known !== undefined && this.#deps.clock.monotonic() - known.atMs < BALANCES_KEPT_MS)
      return known.report;
    const report = this.#readBalances(chain, address);
    this.#balances.delete(key);
    const oldest =
      this.#balances.size >= SCREENING_LIMITS.onDemandBalancesKept
        ? this.#balances.keys().next().value
        : undefined;
    if (oldest !== undefined) this.#balances.delete(oldest);
    this.#balances.set(key, { atMs: this.#deps.clock.monotonic(), report });
    return report;
  }

  /** Reads the balances on the chains on which the address can hold value. Its own chain comes first in the report. */
  async #readBalances(chain: ChainId, address: string): Promise<BalanceReport> {
    const sharing = detectChains(address).filter(
      (other) => other !== chain && this.#deps.chains.isConfigured(other),
    );
    const chains = this.#deps.chains.isConfigured(chain) ? [chain, ...sharing] : sharing;
    const balances = await Promise.all(
      chains.map((one) =>
        inTime(
          this.#readBalance(one, address),
          () => ({ chain: one, balance: null, balanceUsd: null }),
          this.#options.budgetMs,
        ),
      ),
    );
    const answered = balances.filter(({ balance }) => balance !== null).length;
    const isOwnKnown = balances.some((one) => one.chain === chain && one.balance !== null);
    return {
      status: answered === 0 ? 'NONE' : answered === balances.length && isOwnKnown ? 'COMPLETE' : 'PARTIAL',
      asOf: answered === 0 ? null : isoTime(this.#deps.clock.now()),
      chains: balances,
    };
  }

  /** Never rejects: if a chain fails, its balance is null. */
  async #readBalance(chain: ChainId, address: string): Promise<ChainBalance> {
    const { symbol, decimals } = chainOf(chain);
    try {
      const adapter = await this.#deps.chains.of(chain);
      const call = { signal: this.#closing.signal, budgetMs: this.#options.budgetMs - WRITING_MS };
      const { balance: amount } = await adapter.balance(address, call);
      if (amount === null) return { chain, balance: null, balanceUsd: null };
      const price = await this.#deps.prices.usdAt(
        { chain, asset: symbol },
        this.#deps.clock.now(),
        this.#closing.signal,
      );
      const balance = Number(amount) / 10 ** decimals;
      return {
        chain,
        balance,
        balanceUsd: price === null ? null : twoDecimals(balance * price.usd),
      };
    } catch (error) {
      this.#deps.log.debug({ chain, reason: messageOf(error) }, 'reading balance failed');
      return { chain, balance: null, balanceUsd: null };
    }
  }

  async resolve(name: string): Promise<string | null> {
    const refuse = (reason: string, cause?: unknown): AssayError =>
      new AssayError('INVALID_REQUEST', `'${name.slice(0, 80)}' cannot be resolved: ${reason}`, { cause });
    try {
      const { resolveName } = await this.#deps.chains.of('ETH');
      const answer = await resolveName?.(name, {
        signal: this.#closing.signal,
        budgetMs: this.#options.budgetMs,
      });
      if (answer === undefined || answer.note !== null)
        throw refuse(answer?.note ?? 'the configured source does not resolve names.');
      return answer.address;
    } catch (error) {
      // See the decisions: if a name cannot be resolved, the request is at fault, whatever the reason.
      // The messages of the endpoints name servers of the operator.
      if (!(error instanceof AssayError) || clientError(error) !== null) throw error;
      this.#deps.log.warn({ name, reason: error.message }, 'resolving name failed');
      throw refuse('no Ethereum node is reachable at the moment; try again later.', error);
    }
  }

  async close(): Promise<void> {
    this.#closing.abort(new AssayError('CHAIN_UNREACHABLE', 'The program is stopping.'));
    await this.#history.close();
    await this.#deps.fetched.close();
  }
}

/** Worst first: several addresses together have the coverage of the worst one. */
const STATUSES = ['NONE', 'PARTIAL', 'COMPLETE'] as const;

/**
 * Reads the histories of the addresses in a request before it goes to a worker. An invalid address is skipped: the screening
 * rejects it with its own error.
 */
export async function historyFacts(
  request: {
    readonly chain: string;
    readonly address?: string;
    readonly from?: string;
    readonly to?: string;
  },
  source: Pick<OnDemand, 'historyOf'> | null,
): Promise<{ readonly history?: CoverageEntry }> {
  if (source === null) return {};
  const texts = [request.address, request.from, request.to].filter((text) => text !== undefined);
  const read = await Promise.all(
    texts.map((text) => {
      const subject = subjectOrNull(request.chain, text);
      return subject === null ? NOT_READ : source.historyOf(subject.chain, subject.canonical);
    }),
  );
  const [first, ...others] = read;
  if (first === undefined) return {};
  const history = others.reduce(
    (least, one) => (STATUSES.indexOf(one.status) < STATUSES.indexOf(least.status) ? one : least),
    first,
  );
  return { history };
}

function subjectOrNull(chain: string, address: string): Subject | null {
  try {
    return parseSubject(chain, address);
  } catch (error) {
    if (error instanceof AssayError) return null;
    throw error;
  }
}
