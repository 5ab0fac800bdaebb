import { expect, it } from 'vitest';
import type { EndedAttempt } from '../../src/monitoring/delivery/outbox-lmdb.ts';
import { Settlements } from '../../src/monitoring/delivery/settlements.ts';
import type { Fence } from '../../src/state/live-store.ts';

const ended = (id: string): EndedAttempt => ({
  waiting: { queue: 'q', id, accountId: 'a', walletId: null, dueMs: 0, isFirst: true },
  attempt: { atMs: 1, durationMs: 1 },
  outcome: { kind: 'DELIVERED', responseStatus: 200 },
});

/** An outbox that records its transactions, with a result for each id. */
function recorded(resultOf: (id: string) => unknown) {
  const transactions: { readonly ids: readonly string[]; readonly fence: Fence | null | undefined }[] = [];
  const settlements = new Settlements({
    settle: async (all, fence) => {
      const ids = all.map(({ waiting }) => waiting.id);
      transactions.push({ ids, fence });
      const results = ids.map(resultOf);
      if (results.includes('full')) throw new Error('The disk is full.');
      return results;
    },
  });
  return { transactions, settlements };
}

it('stores the outcomes of one turn in one transaction, and those of the next in another', async () => {
  const { transactions, settlements } = recorded(() => null);
  await Promise.all(['1', '2', '3'].map((id) => settlements.add(ended(id), null)));
  await settlements.add(ended('4'), null);
  expect(transactions).toEqual([
    { ids: ['1', '2', '3'], fence: null },
    { ids: ['4'], fence: null },
  ]);
});

it('stores outcomes of different leases in different transactions', async () => {
  const { transactions, settlements } = recorded(() => null);
  const [first, second] = [1, 2].map((token) => ({ name: 'delivery', token }));
  await Promise.all([
    settlements.add(ended('1'), first as Fence),
    settlements.add(ended('2'), first as Fence),
    settlements.add(ended('3'), second as Fence),
    settlements.add(ended('4'), first as Fence),
  ]);
  expect(transactions.map(({ ids, fence }) => [ids, fence?.token])).toEqual([
    [['1', '2'], 1],
    [['3'], 2],
    [['4'], 1],
  ]);
});

it('rejects only the attempt whose delivery cannot be read', async () => {
  const { settlements } = recorded((id) => (id === '2' ? new Error('damaged') : null));
  const results = await Promise.allSettled(['1', '2', '3'].map((id) => settlements.add(ended(id), null)));
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
});

it('rejects all attempts of a transaction that failed', async () => {
  const { settlements } = recorded((id) => (id === '2' ? 'full' : null));
  const results = await Promise.allSettled(['1', '2'].map((id) => settlements.add(ended(id), null)));
  expect(results.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  await expect(settlements.add(ended('3'), null)).resolves.toBeUndefined();
});
