/**
 * The wallets of the accounts that were listed last, in memory and in the order of their lists: decoding 10,000 records for each page
 * would take longer than all the rest. A change of a wallet replaces its record alone.
 */
import { LIMITS } from '../base/limits.ts';
import type { MonitoredWallet, WalletFilter, WatchChange } from './records.ts';

export interface WalletLists {
  list(
    accountId: string,
    filter: WalletFilter,
    page: { readonly limit: number; readonly offset: number },
  ): { readonly wallets: readonly MonitoredWallet[]; readonly total: number };
}

export interface WalletListsDeps {
  /** Grows with each change of any wallet. */
  readonly generation: () => number;
  /** What changed behind a generation; null where that is too long ago. */
  readonly changes: (after: number) => readonly WatchChange[] | null;
  /** All wallets of an account by their ids. */
  readonly readAll: (accountId: string) => Iterable<MonitoredWallet>;
  readonly read: (accountId: string, walletId: string) => MonitoredWallet | null;
}

interface Row {
  readonly wallet: MonitoredWallet;
  /** What a search looks through, in lower case. */
  readonly text: string;
}

interface Listed {
  generation: number;
  /** By id. */
  readonly rows: Row[];
}

const rowOf = (wallet: MonitoredWallet): Row => ({
  wallet,
  text: `${wallet.walletAddress}\n${wallet.label ?? ''}`.toLowerCase(),
});

/** Where an id stands, or would stand. */
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

export function createWalletLists(deps: WalletListsDeps): WalletLists {
  /** The account that was asked for last stands last. */
  const accounts = new Map<string, Listed>();
  let held = 0;

  function put(listed: Listed, wallet: MonitoredWallet): void {
    const { rows } = listed;
    const place = placeOf(rows, wallet.id);
    const isKnown = rows[place]?.wallet.id === wallet.id;
    rows.splice(place, isKnown ? 1 : 0, rowOf(wallet));
    if (!isKnown) held++;
  }

  function forget(accountId: string): void {
    held -= accounts.get(accountId)?.rows.length ?? 0;
    accounts.delete(accountId);
  }

  function listed(accountId: string): Listed {
    const generation = deps.generation();
    const known = accounts.get(accountId);
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
    const fresh: Listed = { generation, rows: [...deps.readAll(accountId)].map(rowOf) };
    held += fresh.rows.length;
    accounts.set(accountId, fresh);
    for (const oldest of accounts.keys()) {
      if (held <= LIMITS.listedWalletsHeld || oldest === accountId) break;
      forget(oldest);
    }
    return fresh;
  }

  return {
    list(accountId, { includeDeleted, chain, status, search }, { limit, offset }) {
      const wanted = search?.toLowerCase();
      const wallets: MonitoredWallet[] = [];
      let total = 0;
      for (const { wallet, text } of listed(accountId).rows) {
        if (!includeDeleted && wallet.status === 'DELETED') continue;
        if (chain !== undefined && wallet.chain !== chain) continue;
        if (status !== undefined && wallet.status !== status) continue;
        if (wanted !== undefined && !text.includes(wanted)) continue;
        total++;
        if (total > offset && wallets.length < limit) wallets.push(wallet);
      }
      return { wallets, total };
    },
  };
}
