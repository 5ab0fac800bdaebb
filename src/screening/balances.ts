/** Balances of an address, read by a live source, and the sections of an answer about them. */
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { ChainId } from '../chains/registry.ts';
import type { CoverageEntry, ScreeningAnswer } from './answers.ts';
import { NOT_READ } from './context.ts';
import { parseSubject, type Subject } from './subject.ts';

/** The balance of the native asset on one chain. */
export interface ChainBalance {
  readonly chain: ChainId;
  /** Native units; null if the chain hides it or no source answered. */
  readonly balance: number | null;
  readonly balanceUsd: number | null;
}

/** Balances of one address, on its own chain and on other chains on which the same address can hold value. */
export interface BalanceReport extends CoverageEntry {
  readonly chains: readonly ChainBalance[];
}

/** Reads balances from live chains. Limits its own duration. */
export interface BalanceSource {
  /** Returns the balances of an address, which must be canonical. Rejects if nothing at all could be read. */
  balancesOf(chain: ChainId, address: string): Promise<BalanceReport>;
}

/**
 * Reads balances before the screening goes to a worker, because other machines answer. If the source fails, the answer has no
 * balances but is still given. The same holds for an invalid address: the screening rejects it with its own error.
 */
export async function balanceFacts(
  request: { readonly chain: string; readonly address: string; readonly asOf?: string },
  source: BalanceSource | null,
  log: Logger,
): Promise<{ readonly balances?: BalanceReport }> {
  // A balance is a current value, so an answer as of an earlier day has none.
  if (source === null || request.asOf !== undefined) return {};
  const subject = subjectOf(request);
  if (subject === null) return {};
  try {
    return { balances: await source.balancesOf(subject.chain, subject.canonical) };
  } catch (error) {
    log.warn({ reason: messageOf(error) }, 'reading balances failed');
    return {};
  }
}

/** Returns the subject of a request; null if its address or chain is not valid, which the screening reports. */
function subjectOf({ chain, address }: { readonly chain: string; readonly address: string }): Subject | null {
  try {
    return parseSubject(chain, address);
  } catch {
    return null;
  }
}

type BalanceSections = Pick<ScreeningAnswer, 'balance' | 'balanceUsd' | 'crossChainBalances'>;

/** Returns the sections about the balances of the address. */
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

/** Returns the coverage of the balances; NOT_READ if none were read. */
export const balanceCoverage = (report: BalanceReport | undefined): CoverageEntry =>
  report === undefined ? NOT_READ : { status: report.status, asOf: report.asOf };
