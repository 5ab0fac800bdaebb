/** Sources of data about addresses of a UTXO chain: balances, counts and whole transactions, newest first. */
import type { ParsedAddress } from '../../address/address.ts';
import type { Answered } from '../../endpoints/endpoint-pool.ts';
import type { UtxoTransaction } from '../../utxo-transaction.ts';
import type { BalanceAnswer, Call, HistoryPage, HistoryQuery, TransactionCountAnswer } from '../port.ts';
import { checkSums, missingInputsNote } from './block-source.ts';

export interface AccountSource {
  balance(address: ParsedAddress, call: Call): Promise<BalanceAnswer>;
  transactionCount(address: ParsedAddress, call: Call): Promise<TransactionCountAnswer>;
  history(address: ParsedAddress, query: HistoryQuery, call: Call): Promise<HistoryPage>;
}

export const HEIGHT_MAX = 2_147_483_647;

/**
 * Returns the tip height that was requested in parallel, if it is from `source`; null if it is from another endpoint or the request
 * failed.
 */
export const heightOf = (tip: Promise<Answered<number>>, source: string): Promise<number | null> =>
  tip.then(
    (sourced) => (sourced.endpoint.source === source ? sourced.value : null),
    () => null,
  );

/**
 * Creates a page of whole transactions; it is PARTIAL if spent outputs are unknown.
 *
 * @throws CHAIN_BAD_ANSWER if a transaction pays more than it takes
 */
export function historyPage(
  source: string | null,
  transactions: readonly UtxoTransaction[],
  nextCursor: string | null,
): HistoryPage {
  for (const transaction of transactions) checkSums(transaction);
  const note = missingInputsNote(transactions);
  return {
    source,
    height: null,
    completeness: note === null ? 'COMPLETE' : 'PARTIAL',
    note,
    transfers: [],
    transactions,
    nextCursor,
  };
}
