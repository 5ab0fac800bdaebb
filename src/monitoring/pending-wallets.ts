/**
 * Wallets that are not paid yet. A wallet and its charge are in two stores, so they cannot be one transaction: the wallet is stored
 * here with its charge before it is charged, and becomes a watched wallet afterwards. A process that ends in between leaves a row,
 * which wallet-purchases.ts completes. Until then the wallet is in no list and raises no alert, but its address is taken.
 */
import type { Clock } from '../base/clock.ts';
import type { MonitoredWallet, PendingWallet, WalletCharge } from './records.ts';
import type { PendingWallets } from './store.ts';
import type { MonitoringTables } from './tables.ts';

/** Returns true if both charges are those of one request and its repetition. */
export const isSameRequest = (one: WalletCharge, other: WalletCharge): boolean =>
  one.keep !== null &&
  other.keep !== null &&
  one.keep.slot === other.keep.slot &&
  one.keep.bodyHash === other.keep.bodyHash;

export interface PendingWalletsDeps {
  readonly tables: Pick<MonitoringTables, 'pendingWallets' | 'walletIds' | 'walletCounts' | 'wallets'>;
  readonly clock: Clock;
  readonly newId: () => string;
  /** Runs a write as one durable transaction. */
  readonly commit: <T>(work: () => T) => Promise<T>;
  /** Makes the newest state readable. */
  readonly refresh: () => void;
  /** Throws INVALID_REQUEST if the account cannot add the address. Called inside a transaction. */
  readonly requireFree: (accountId: string, chain: string, address: string, walletsMax: number) => void;
  /** Stores and watches a wallet. Called inside a transaction. */
  readonly watch: (wallet: MonitoredWallet) => void;
}

/** Opens the rows of a store. */
export function openPendingWallets(deps: PendingWalletsDeps): PendingWallets {
  const { tables, clock, newId, commit, refresh, requireFree, watch } = deps;
  const { pendingWallets, walletIds, walletCounts, wallets } = tables;

  const keyOf = ({ wallet }: PendingWallet): [string, string] => [wallet.accountId, wallet.id];

  function rowAt(accountId: string, chain: string, walletAddress: string): PendingWallet | null {
    const id = walletIds.get([accountId, chain, walletAddress]);
    return id === undefined ? null : (pendingWallets.get([accountId, id]) ?? null);
  }

  return {
    prepare(draft, charge, render) {
      const now = clock.now();
      const wallet: MonitoredWallet = {
        ...draft,
        id: newId(),
        status: 'ACTIVE',
        createdAtMs: now,
        updatedAtMs: now,
        deletedAtMs: null,
      };
      return { wallet, charge, data: render(wallet), isAbandoned: false };
    },
    at(accountId, chain, walletAddress) {
      refresh();
      return rowAt(accountId, chain, walletAddress);
    },
    stage: (row, walletsMax) =>
      commit(() => {
        const { accountId, chain, walletAddress, id } = row.wallet;
        const known = rowAt(accountId, chain, walletAddress);
        if (known !== null && !known.isAbandoned && isSameRequest(known.charge, row.charge)) return known;
        requireFree(accountId, chain, walletAddress, walletsMax);
        walletCounts.putSync(accountId, (walletCounts.get(accountId) ?? 0) + 1);
        walletIds.putSync([accountId, chain, walletAddress], id);
        pendingWallets.putSync(keyOf(row), row);
        return row;
      }),
    activate: (row) =>
      commit(() => {
        const stored = pendingWallets.get(keyOf(row));
        if (stored === undefined) return wallets.get(keyOf(row)) ?? null;
        if (stored.isAbandoned) return null;
        pendingWallets.removeSync(keyOf(row));
        watch(stored.wallet);
        return stored.wallet;
      }),
    abandon: (row) =>
      commit(() => {
        const stored = pendingWallets.get(keyOf(row));
        if (stored === undefined) return false;
        if (!stored.isAbandoned) pendingWallets.putSync(keyOf(row), { ...stored, isAbandoned: true });
        return true;
      }),
    remove: (row) =>
      commit(() => {
        const stored = pendingWallets.get(keyOf(row));
        if (stored === undefined || !stored.isAbandoned) return;
        const { accountId, chain, walletAddress } = stored.wallet;
        pendingWallets.removeSync(keyOf(row));
        walletIds.removeSync([accountId, chain, walletAddress]);
        walletCounts.putSync(accountId, Math.max(0, (walletCounts.get(accountId) ?? 0) - 1));
      }),
    list(limit) {
      refresh();
      return [...pendingWallets.getRange({ limit })].map(({ value }) => value);
    },
  };
}
