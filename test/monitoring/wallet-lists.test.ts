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

  it('end with the page that has the last match, and continue behind a cursor', () => {
    const { lists, put } = world();
    const ids = Array.from({ length: 4 }, (_, n) => String(n).padStart(26, '0'));
    for (const id of ids) put(id, id === ids[1] ? 'PAUSED' : 'ACTIVE');
    const page = (limit: number, offset = 0, cursor?: string) => {
      const place = { limit, offset, ...(cursor === undefined ? {} : { cursor }) };
      const { wallets, total, nextCursor } = lists.list('a', { includeDeleted: false }, place);
      expect(total).toBe(4);
      return [wallets.map(({ id }) => ids.indexOf(id)), nextCursor === null ? null : ids.indexOf(nextCursor)];
    };
    expect(page(4)).toEqual([[0, 1, 2, 3], null]);
    expect(page(3)).toEqual([[0, 1, 2], 2]);
    expect(page(3, 1)).toEqual([[1, 2, 3], null]);
    expect(page(1, 2, ids[0])).toEqual([[3], null]);
    expect(page(1, 1, ids[0])).toEqual([[2], 2]);
    expect(page(2, 0, ids[1])).toEqual([[2, 3], null]);
    expect(page(1, 9)).toEqual([[], null]);
    const active = (cursor: string) =>
      lists.list('a', { includeDeleted: false, status: 'ACTIVE' }, { limit: 2, offset: 0, cursor });
    expect(active(ids[0] as string)).toMatchObject({ total: 3, nextCursor: null });
    expect(() => active('../a')).toThrow('cursor');
  });

  it('include a restored wallet', () => {
    const { put, ids } = world();
    put('a', 'DELETED');
    expect(ids(false)).toEqual([]);
    put('a', 'ACTIVE');
    expect(ids(false)).toEqual(['a']);
  });
});
