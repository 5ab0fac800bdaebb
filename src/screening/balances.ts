/** What an address holds, asked of whoever reads chains live, and how an answer tells it. */
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { ChainId } from '../chains/registry.ts';
import type { CoverageEntry, ScreeningAnswer } from './answers.ts';
import { NOT_READ } from './context.ts';
import { parseSubject } from './subject.ts';

/** What is held on one chain of its native asset. */
export interface HeldBalance {
  readonly chain: ChainId;
  /** Native units; null where the chain hides it or nobody answered. */
  readonly balance: number | null;
  readonly balanceUsd: number | null;
}

/** Balances of one address, on its own chain and on others where the same address can hold something. */
export interface BalanceReport extends CoverageEntry {
  readonly chains: readonly HeldBalance[];
}

/** Reads chains live. Bounds its own time. */
export interface BalanceSource {
  /** `address` is canonical. Rejects where nothing at all could be read. */
  balancesOf(chain: ChainId, address: string): Promise<BalanceReport>;
}

/**
 * Asks for balances before the screening goes to a worker: it is other machines that answer. A source that fails costs the answer
 * its balances, never itself; so does an address that is none, which the screening will refuse in its own words.
 */
export async function withBalances<
  Request extends { readonly chain: string; readonly address: string; readonly asOf?: string },
>(
  request: Request,
  source: BalanceSource | null,
  log: Logger,
): Promise<Request & { readonly balances?: BalanceReport }> {
  // A balance is what the chain says now: an answer as of an earlier day has none.
  if (source === null || request.asOf !== undefined) return request;
  try {
    const { chain, canonical } = parseSubject(request.chain, request.address);
    return { ...request, balances: await source.balancesOf(chain, canonical) };
  } catch (error) {
    log.warn({ reason: messageOf(error) }, 'a screening went without balances');
    return request;
  }
}

type BalanceSections = Pick<ScreeningAnswer, 'balance' | 'balanceUsd' | 'crossChainBalances'>;

/** The sections on what the address holds. */
export function balanceSections(chain: ChainId, report: BalanceReport | undefined): BalanceSections {
  const own = report?.chains.find((held) => held.chain === chain);
  return {
    balance: own?.balance ?? null,
    balanceUsd: own?.balanceUsd ?? null,
    crossChainBalances: Object.fromEntries(
      (report?.chains ?? []).map((held) => [
        held.chain,
        { balance: held.balance, balanceUsd: held.balanceUsd },
      ]),
    ),
  };
}

export const balanceCoverage = (report: BalanceReport | undefined): CoverageEntry =>
  report === undefined ? NOT_READ : { status: report.status, asOf: report.asOf };
