/** The LMDB databases of monitoring, except those of its indexes, its queue of refreshes, its channels and its outbox. */

import { ID_SHAPE } from '../base/ids.ts';
import type { LiveDatabase, LiveRoot } from '../state/live-store.ts';
import type {
  FollowReport,
  MonitoredTransaction,
  MonitoredWallet,
  PendingWallet,
  WatchChange,
} from './records.ts';
import type {
  ChangeRow,
  CounterpartyPlace,
  OwnRecheckState,
  RecheckState,
  StoredCounterparty,
} from './store.ts';
import type { WalletBaseline } from './velocity.ts';

export type MonitoringTables = ReturnType<typeof openTables>;

/** The reverts of a chain. */
export interface ChainReverts {
  /** Number of all reverts. */
  readonly count: number;
  /**
   * The last ones, oldest first, each with its number and the height above which it reverted. One that is followed by a deeper one is left out,
   * so both fields increase.
   */
  readonly last: readonly { readonly number: number; readonly height: number }[];
}

/** Opens the databases, and creates those that do not exist yet. */
export function openTables(root: LiveRoot) {
  const open = <V, K extends string | readonly (string | number)[]>(
    name: string,
    encoding: 'msgpack' | 'string' | 'json' = 'msgpack',
  ): LiveDatabase<V, K & (string | (string | number)[])> => root.openDB({ name, encoding });
  return {
    wallets: open<MonitoredWallet, [accountId: string, walletId: string]>('wallets'),
    /** Wallets that are not paid yet. */
    pendingWallets: open<PendingWallet, [accountId: string, walletId: string]>('pendingWallets'),
    /** One wallet per account, chain and address, including deleted and pending ones. */
    walletIds: open<string, [accountId: string, chain: string, address: string]>('walletIds', 'string'),
    watched: open<string, [chain: string, address: string, walletId: string]>('watched', 'string'),
    /** Generation → its change. */
    watchChanges: open<WatchChange, [number]>('watchChanges'),
    walletCounts: open<number, string>('walletCounts', 'json'),
    transactions: open<MonitoredTransaction, [walletId: string, number: number]>('transactions'),
    /** (wallet, transaction, position) → number of the transaction in its wallet. */
    transactionNumbers: open<number, [walletId: string, hash: string, position: string]>(
      'transactionNumbers',
      'json',
    ),
    transactionsOfBlock: open<string, [chain: string, height: number, walletId: string, number: number]>(
      'transactionsOfBlock',
      'string',
    ),
    /** Number of the last transaction of each wallet. */
    transactionCounts: open<number, string>('transactionCounts', 'json'),
    /** Number of the last transaction of a wallet that was deleted after its retention. */
    transactionsDeleted: open<number, string>('transactionsDeleted', 'json'),
    blocks: open<string, [chain: string, height: number]>('blocks', 'string'),
    reverts: open<ChainReverts, string>('reverts', 'json'),
    /** Whether a chain is followed, as the node that holds its lease reports it. */
    followReports: open<FollowReport, string>('followReports', 'json'),
    baselines: open<WalletBaseline, string>('pasts'),
    counterparties: open<StoredCounterparty, CounterpartyPlace>('counterparties'),
    rechecks: open<RecheckState, string>('rechecks', 'json'),
    /** Chain → comparison of its wallets with the labels. */
    ownRechecks: open<OwnRecheckState, string>('ownRechecks', 'json'),
    /** (wallet, cause) → sequence number of the alert that it raised. */
    dedupKeys: open<number, [walletId: string, cause: string]>('causes', 'json'),
    /** Alerts that are not final yet, by the height at which they become final. */
    pendingFinality: open<
      string,
      [chain: string, finalAtHeight: number, accountId: string, sequence: number]
    >('unfinal', 'string'),
    /** The current final height of each of them: it changes if the transfer is included in another block. */
    finalAt: open<number, [accountId: string, sequence: number]>('finalAt', 'json'),
    changes: open<ChangeRow, [accountId: string, number: number]>('changes'),
    changeCounts: open<number, string>('changeCounts', 'json'),
  };
}

/** Returns a wallet of an account; null also for an id of another account, or for a text that is not an id. */
export function findWallet(
  { wallets }: Pick<MonitoringTables, 'wallets'>,
  accountId: string,
  walletId: string,
): MonitoredWallet | null {
  return (ID_SHAPE.test(walletId) ? wallets.get([accountId, walletId]) : undefined) ?? null;
}
