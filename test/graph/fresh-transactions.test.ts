/**
 * Transactions that wait in memory stay right, whatever is written, reverted, refused, reopened or written by another process in between.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { seededUint32 } from '../../src/base/random.ts';
import { parseAddress } from '../../src/chains/address/parse.ts';
import type { Transfer } from '../../src/chains/transfer.ts';
import { openTransferStore, type TransferStore } from '../../src/graph/store.ts';
import { sleep } from '../support/wait.ts';

let folder = '';
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'assay-fresh-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

const PARTIES = 9;
const party = (index: number): string => `0x${(index + 1).toString(16).padStart(40, '0')}`;

const transferOf = (transaction: number, position: number, blockNumber = 1): Transfer => ({
  chain: 'ETH',
  txHash: `0x${transaction.toString(16).padStart(64, '0')}`,
  position: position % 3 === 0 ? `log:${position}` : `trace:0_${position}`,
  blockNumber,
  timestampMs: 1_700_000_000_000 + blockNumber * 12_000,
  from: party((transaction + position) % PARTIES),
  to: party((transaction * 5 + position * 7 + 1) % PARTIES),
  asset: 'ETH',
  amount: BigInt(transaction * 100 + position),
  decimals: 18,
  valueUsd: position,
});

const totalsOf = (store: TransferStore) =>
  Array.from({ length: PARTIES }, (_, index) => store.totals('ETH', parseAddress('ETH', party(index)).key));

describe('fresh transactions', () => {
  it.each([1, 2, 3, 4])(
    'count every position once, with moves to the store at any time, seed %i',
    async (seed) => {
      const next = seededUint32(seed);
      const below = (end: number): number => next() % end;
      const path = join(folder, 'store');
      const open = (): TransferStore =>
        openTransferStore({ path, readOnly: false, fresh: { max: 30, step: 1 + below(12) }, recentMax: 60 });
      const stores = [open()];
      /** The transfers that the store must hold, and the names that each block brought. */
      const known = new Map<string, Transfer>();
      const blocks: { height: number; names: string[] }[] = [];
      const nameOf = ({ txHash, position }: Transfer): string => `${txHash} ${position}`;
      const expectCounts = async (rows: Transfer[], write: () => Promise<unknown>): Promise<string[]> => {
        const names = [...new Set(rows.map(nameOf))].filter((name) => !known.has(name));
        expect(await write()).toEqual({ stored: names.length, duplicates: rows.length - names.length });
        for (const row of rows) if (names.includes(nameOf(row))) known.set(nameOf(row), row);
        return names;
      };
      let height = 0;
      for (let turn = 0; turn < 150; turn++) {
        // Two writers take turns, as a server and an ingest from the command line do.
        const store = stores[below(stores.length)]!;
        const drawn = (blockNumber: number): Transfer[] =>
          Array.from({ length: below(14) }, () => transferOf(below(120), below(6), blockNumber));
        const choice = below(10);
        if (choice < 4) {
          const rows = drawn(1);
          await expectCounts(rows, () => store.ingest(rows));
        } else if (choice < 7) {
          const transfers = drawn(++height);
          const block = {
            chain: 'ETH',
            height,
            hash: `${turn}`,
            parentHash: null,
            timestampMs: 1,
            transfers,
          } as const;
          const names = await expectCounts(transfers, () => store.appendBlock(block));
          blocks.push({ height, names });
        } else if (choice === 7 && blocks.length > 0) {
          const { height: last, names } = blocks.pop()!;
          expect(await store.revertBlock('ETH', last)).toBe(names.length);
          for (const name of names) known.delete(name);
          height = last - 1;
        } else if (choice === 8) {
          const refused = [...drawn(1), { ...transferOf(500, 0), to: 'nowhere' }];
          await expect(store.ingest(refused)).rejects.toMatchObject({ code: 'INVALID_ADDRESS' });
        } else if (stores.length < 2) stores.push(open());
        else await stores.pop()!.close();
        // A store sees the writes of another one when its timers have run.
        await sleep(5);
        expect(stores[0]!.coverage('ETH').transfers).toBe(known.size);
      }
      const all = [...known.values()];
      expect(await stores[0]!.ingest(all)).toEqual({ stored: 0, duplicates: all.length });
      const plain = openTransferStore({ path: join(folder, 'plain'), readOnly: false });
      await plain.ingest(all);
      const found = totalsOf(stores[0]!);
      for (const [index, expected] of totalsOf(plain).entries()) {
        // Two blocks may share a transaction, of which one is reverted: whether it is new to an address is not computed again, so skip that
        // count.
        expect({ ...found[index], transactions: 0 }).toEqual({ ...expected, transactions: 0 });
      }
      for (const store of [...stores, plain]) await store.close();
    },
  );

  it('are read from the log again after a restart, and are cleared by a bulk load', async () => {
    const path = join(folder, 'store');
    const rows = Array.from({ length: 40 }, (_, index) => transferOf(index, index % 4));
    const first = openTransferStore({ path, readOnly: false });
    await first.ingest(rows);
    await first.close();
    const second = openTransferStore({ path, readOnly: false });
    expect(await second.ingest(rows)).toEqual({ stored: 0, duplicates: 40 });
    second.bulkLoad('ETH', { path: 'none', bytes: 0, modifiedMs: 0, format: 'ndjson' });
    expect(await second.ingest(rows)).toEqual({ stored: 0, duplicates: 40 });
    await second.close();
  });
});
