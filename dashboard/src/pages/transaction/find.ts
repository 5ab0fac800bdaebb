/** The search of a transaction, and what its transfers say of both sides. */
import { queryOptions } from '@tanstack/react-query';
import { call, type DataOf } from '../../api/client.ts';
import { ApiError } from '../../api/errors.ts';

export type Found = DataOf<'/transactions/{hash}', 'get'>;
export type Transaction = Found['transactions'][number];
export type Party = Transaction['parties'][number];
export type Transfer = Transaction['transfers'][number];

/** The query of the page. It costs nothing, so another visit asks again. */
export const transactionQuery = (hash: string) =>
  queryOptions({
    queryKey: ['transaction', hash],
    queryFn: ({ signal }): Promise<Found> => call('get', '/transactions/{hash}', { path: { hash }, signal }),
    retry: (failures, error) => failures < 2 && !(error instanceof ApiError && error.status < 500),
  });

export type Side = 'from' | 'to';

const LEVELS: readonly string[] = ['LOW', 'MEDIUM', 'HIGH', 'CRITICAL'];

/** Returns the level that a page shows for a party: without a label nothing is known of it, which is not a low risk. */
export const levelOf = ({ label, riskLevel }: Party): string => (label === null ? 'UNKNOWN' : riskLevel);

/** Returns the parties of one side, the greatest risk first. */
export function partiesOf({ transfers, parties }: Transaction, side: Side): readonly Party[] {
  const addresses = new Set(transfers.map((transfer) => transfer[side]));
  const rank = (party: Party): number => LEVELS.indexOf(levelOf(party));
  return parties.filter(({ address }) => addresses.has(address)).sort((a, b) => rank(b) - rank(a));
}

export interface Pair {
  readonly from: string;
  readonly to: string;
}

/** Pairs offered for a check; people check one or two. */
const PAIRS_MAX = 50;

/** Returns the pairs of sender and receiver that can be checked, each once: transfers that anyone can forge last. */
export function pairsOf({ transfers }: Transaction): readonly Pair[] {
  const pairs = new Map<string, Pair>();
  for (const { from, to } of [...transfers].sort((a, b) => Number(b.evidence) - Number(a.evidence)))
    if (from !== null && to !== null && from !== to) pairs.set(`${from} ${to}`, { from, to });
  return [...pairs.values()].slice(0, PAIRS_MAX);
}
