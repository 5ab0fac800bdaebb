/**
 * Cache of the wallets of the accounts that were listed last, in the order of their lists: decoding 10,000 records for each page
 * would take longer than everything else. A change of a wallet replaces only its record.
 */

import { ID_SHAPE } from '../base/ids.ts';
import { invalidCursor, type PageEnd, type PageRequest } from '../base/paging.ts';
import { MONITORING_LIMITS } from './limits.ts';
import type { MonitoredWallet, WalletFilter, WatchChange } from './records.ts';

export interface WalletLists {
  /** Number of cached wallets. */
  readonly held: number;
  list(
    accountId: string,
    filter: WalletFilter,
    page: PageRequest,
  ): { readonly wallets: readonly MonitoredWallet[]; readonly total: number } & PageEnd;
}

export interface WalletListsDeps {
  /** Increases with each change of any wallet. */
  readonly generation: () => number;
  /** Returns the changes after a generation; null if it is too old. */
  readonly changes: (after: number) => readonly WatchChange[] | null;
  /** Returns all wallets of an account in the order of their ids. */
  readonly readAll: (accountId: string) => Iterable<MonitoredWallet>;
  readonly read: (accountId: string, walletId: string) => MonitoredWallet | null;
}

interface Row {
  readonly wallet: MonitoredWallet;
  /** Searched text, in lower case. */
  readonly text: string;
}

interface Listed {
  generation: number;
  /**
   * Whether the rows include deleted wallets, which is the case after a request for them. Deleted wallets stay in the store
   * forever, so an account that adds and deletes wallets would otherwise fill the memory.
   */
  readonly hasDeleted: boolean;
  /** Sorted by id. */
  readonly rows: Row[];
}

const rowOf = (wallet: MonitoredWallet): Row => ({
  wallet,
  text: `${wallet.walletAddress}\n${wallet.label ?? ''}`.toLowerCase(),
});

/** Position of an id, or the position at which it would be inserted. */
function placeOf(rows: readonly Row[], walletId: string): number {
  let low = 0;
  let high = rows.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((rows[middle] as Row).wallet.id < walletId) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Creates the cache. */
export function createWalletLists(deps: WalletListsDeps): WalletLists {
  /** In the order of the last use, most recent last. */
  const accounts = new Map<string, Listed>();
  let held = 0;

  function put({ rows, hasDeleted }: Listed, wallet: MonitoredWallet): void {
    const place = placeOf(rows, wallet.id);
    const before = rows[place]?.wallet.id === wallet.id ? 1 : 0;
    const after = hasDeleted || wallet.status !== 'DELETED' ? [rowOf(wallet)] : [];
    rows.splice(place, before, ...after);
    held += after.length - before;
  }

  function forget(accountId: string): void {
    held -= accounts.get(accountId)?.rows.length ?? 0;
    accounts.delete(accountId);
  }

  function listed(accountId: string, withDeleted: boolean): Listed {
    const generation = deps.generation();
    const before = accounts.get(accountId);
    const hasDeleted = withDeleted || before?.hasDeleted === true;
    const known = before?.hasDeleted === hasDeleted ? before : undefined;
    const changes = known === undefined ? null : deps.changes(known.generation);
    if (known !== undefined && changes !== null) {
      for (const walletId of new Set(
        changes.filter((change) => change.accountId === accountId).map((change) => change.walletId),
      )) {
        const wallet = deps.read(accountId, walletId);
        if (wallet !== null) put(known, wallet);
      }
      known.generation += changes.length;
      accounts.delete(accountId);
      accounts.set(accountId, known);
      return known;
    }
    forget(accountId);
    const rows: Row[] = [];
    for (const wallet of deps.readAll(accountId))
      if (hasDeleted || wallet.status !== 'DELETED') rows.push(rowOf(wallet));
    const fresh: Listed = { generation, hasDeleted, rows };
    held += fresh.rows.length;
    accounts.set(accountId, fresh);
    for (const oldest of accounts.keys()) {
      if (held <= MONITORING_LIMITS.listedWalletsHeld || oldest === accountId) break;
      forget(oldest);
    }
    return fresh;
  }

  return {
    get held() {
      return held;
    },
    list(accountId, { includeDeleted, chain, status, search }, { limit, offset, cursor = '' }) {
      if (cursor !== '' && !ID_SHAPE.test(cursor)) throw invalidCursor();
      const wanted = search?.toLowerCase();
      const wallets: MonitoredWallet[] = [];
      let total = 0;
      /** Matches after the cursor. */
      let following = 0;
      for (const { wallet, text } of listed(accountId, includeDeleted).rows) {
        if (!includeDeleted && wallet.status === 'DELETED') continue;
        if (chain !== undefined && wallet.chain !== chain) continue;
        if (status !== undefined && wallet.status !== status) continue;
        if (wanted !== undefined && !text.includes(wanted)) continue;
        total++;
        if (wallet.id <= cursor) continue;
        following++;
        if (following > offset && wallets.length < limit) wallets.push(wallet);
      }
      const hasMore = following > offset + wallets.length;
      return { wallets, total, nextCursor: hasMore ? (wallets.at(-1)?.id ?? null) : null };
    },
  };
}
