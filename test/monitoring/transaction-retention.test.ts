import { expect, it } from 'vitest';
import { MONITORING_LIMITS } from '../../src/monitoring/limits.ts';
import { openTables } from '../../src/monitoring/tables.ts';
import { TransactionRetention } from '../../src/monitoring/transaction-retention.ts';
import { memoryFolder } from '../accounts/temp-folder.ts';
import { countedStore } from '../support/counted-store.ts';

it('reads one transaction of each wallet, some wallets in a step, however many transactions there are', async () => {
  const folder = memoryFolder();
  const counts = countedStore();
  const { root } = counts.openStore(`${folder.path}/monitoring.lmdb`, 1, { name: 'monitoring', maxDbs: 48 });
  const tables = openTables(root);
  const wallets = MONITORING_LIMITS.retentionWalletsLook * 2 + 1;
  const idOf = (wallet: number): string => wallet.toString().padStart(28, '0');
  const fill = (each: number) =>
    root.transaction(() => {
      for (let wallet = 0; wallet < wallets; wallet++) {
        tables.transactionCounts.putSync(idOf(wallet), each);
        tables.wallets.putSync(['a', idOf(wallet)], { chain: 'ETH' } as never);
        for (let number = 1; number <= each; number++) {
          tables.transactions.putSync([idOf(wallet), number], {
            ...{ accountId: 'a', walletId: idOf(wallet), hash: `0x${number}`, position: '' },
            ...{ blockNumber: number, timestampMs: 1_000 + number },
          } as never);
          tables.transactionNumbers.putSync([idOf(wallet), `0x${number}`, ''], number);
          tables.transactionsOfBlock.putSync(['ETH', number, idOf(wallet), number], 'a');
        }
      }
    });
  const retention = new TransactionRetention(tables, root);
  const readsOf = async (): Promise<number> => {
    counts.reads();
    expect(await retention.deleteBefore(1_000, 10)).toEqual([]);
    return counts.reads();
  };
  await fill(1);
  const few = await readsOf();
  await fill(5);
  expect(await readsOf()).toBe(few);
  let turns = 0;
  let isDone = false;
  void (async () => {
    for (; !isDone; turns++) await new Promise(setImmediate);
  })();
  await readsOf();
  isDone = true;
  expect(turns).toBeGreaterThanOrEqual(2);
  // All but the last one of each wallet.
  let deleted = 0;
  for (let count = 100; count === 100; deleted += count) {
    count = (await retention.deleteBefore(1_005, 100)).length;
    expect(count).toBeLessThanOrEqual(100);
  }
  expect(deleted).toBe(wallets * 4);
  expect(await retention.deleteBefore(1_005, 100)).toEqual([]);
  for (const table of [tables.transactions, tables.transactionNumbers, tables.transactionsOfBlock])
    expect([...table.getKeys({})]).toHaveLength(wallets);
  await root.close();
  folder.remove();
});
