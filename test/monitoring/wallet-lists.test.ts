import { describe, expect, it } from 'vitest';
import type { MonitoredWallet, WatchChange } from '../../src/monitoring/records.ts';
import { createWalletLists } from '../../src/monitoring/wallet-lists.ts';

/** The store behind the lists, with the fields that lists read. */
function world() {
  const wallets = new Map<string, MonitoredWallet>();
  const changes: WatchChange[] = [];
  const lists = createWalletLists({
    generation: () => changes.length,
    changes: (after) => changes.slice(after),
    readAll: () => [...wallets.values()].sort((a, b) => (a.id < b.id ? -1 : 1)),
    read: (_, walletId) => wallets.get(walletId) ?? null,
  });
  return {
    lists,
    put(id: string, status: MonitoredWallet['status']) {
      wallets.set(id, { id, status, walletAddress: `0x${id}`, label: null, chain: 'ETH' } as MonitoredWallet);
      changes.push({ accountId: 'a', walletId: id } as WatchChange);
    },
    ids: (includeDeleted: boolean) =>
      lists.list('a', { includeDeleted }, { limit: 100, offset: 0 }).wallets.map(({ id }) => id),
  };
}

describe('lists of wallets in memory', () => {
  it('contain no deleted wallet', () => {
    const { lists, put, ids } = world();
    put('kept', 'ACTIVE');
    for (let round = 0; round < 50; round++) {
      put(`w${round}`, 'ACTIVE');
      expect(ids(false)).toEqual(['kept', `w${round}`]);
      put(`w${round}`, 'DELETED');
      expect(ids(false)).toEqual(['kept']);
    }
    expect(lists.held).toBe(1);
  });

  it('list deleted wallets on request, repeatedly', () => {
    const { lists, put, ids } = world();
    put('b', 'ACTIVE');
    put('c', 'DELETED');
    expect(ids(false)).toEqual(['b']);
    expect(ids(true)).toEqual(['b', 'c']);
    put('a', 'DELETED');
    put('b', 'PAUSED');
    expect(ids(true)).toEqual(['a', 'b', 'c']);
    expect(ids(false)).toEqual(['b']);
    expect(lists.held).toBe(3);
  });

  it('include a restored wallet', () => {
    const { put, ids } = world();
    put('a', 'DELETED');
    expect(ids(false)).toEqual([]);
    put('a', 'ACTIVE');
    expect(ids(false)).toEqual(['a']);
  });
});
