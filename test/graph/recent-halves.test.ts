/** Transfers that wait in `recent` are in every answer, whatever is written, moved, reverted or refused in between. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { seededUint32 } from '../../src/base/random.ts';
import { endReading } from '../../src/base/reading.ts';
import { parseAddress } from '../../src/chains/address/parse.ts';
import type { Block } from '../../src/chains/block.ts';
import type { Transfer } from '../../src/chains/transfer.ts';
import { openChainStore } from '../../src/graph/store/chain-store.ts';
import { openTransferStore, type TransferStore } from '../../src/graph/store.ts';
import { type Database, openEnvironment, type RootDatabase } from '../../src/state/lmdb.ts';

let folder = '';
const open: TransferStore[] = [];
const storeAt = (name: string, recentMax?: number, readOnly = false): TransferStore => {
  const path = join(folder, name);
  const store = openTransferStore({ path, readOnly, ...(recentMax !== undefined && { recentMax }) });
  open.push(store);
  return store;
};
const closeAll = async (): Promise<void> => {
  for (const one of open.splice(0)) await one.close();
};
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'assay-recent-'));
});
afterEach(async () => {
  await closeAll();
  rmSync(folder, { recursive: true });
});

const PARTIES = 40;
const party = (index: number): string => `0x${(index + 1).toString(16).padStart(40, '0')}`;

/** Draws transfers of a block. Nearly half of all sides are one address. */
function someTransfers(next: () => number, count: number, blockNumber: number): Transfer[] {
  const side = (): string | null => {
    const drawn = next() % 80;
    return drawn === 79 ? null : party(drawn < PARTIES ? drawn : 0);
  };
  return Array.from({ length: count }, (_, index) => ({
    chain: 'ETH',
    txHash: `0x${(next() % 3 === 0 ? next() % 50 : next()).toString(16).padStart(64, '0')}`,
    position: `log:${index}`,
    blockNumber,
    timestampMs: 1_700_000_000_000 + blockNumber * 12_000,
    from: side(),
    to: side(),
    asset: next() % 4 === 0 ? 'USDT' : 'ETH',
    amount: BigInt(next()) * 1_000_000_000n,
    decimals: 18,
    valueUsd: next() % 3 === 0 ? null : (next() % 10_000) / 100,
  }));
}

const blockOf = (next: () => number, height: number, count: number): Block => ({
  chain: 'ETH',
  height,
  hash: `${height} ${next()}`,
  parentHash: null,
  timestampMs: 1_700_000_000_000 + height * 12_000,
  transfers: someTransfers(next, count, height),
});

/** All answers about the addresses, as text. */
function answers(store: TransferStore): string[] {
  // The store sees the writes of another one.
  endReading();
  const graph = store.graph('ETH');
  return Array.from({ length: PARTIES }, (_, index) => {
    const { key } = parseAddress('ETH', party(index));
    const node = graph?.idOf(key) ?? 0;
    return {
      totals: store.totals('ETH', key),
      recent: store.recent('ETH', key, 64),
      sides: (['in', 'out'] as const).map((direction) => ({
        count: store.counterpartyCount('ETH', key, direction),
        degree: node === 0 ? 0 : graph?.degree(node, direction),
        best: store.counterparties('ETH', key, { direction, limit: 100 }),
      })),
    };
  }).map((value) =>
    JSON.stringify(value, (_, part: unknown) => (typeof part === 'bigint' ? `${part}n` : part)),
  );
}

/** Changes a closed store. */
async function change(name: string, work: (root: RootDatabase) => void): Promise<void> {
  const root = openEnvironment(join(folder, name, 'eth.mdb'), { maxDbs: 16, noSubdir: true });
  work(root);
  await root.close();
}

const META = { name: 'meta', encoding: 'msgpack', keyEncoding: 'ordered-binary' } as const;
const RECENT = { name: 'recent', encoding: 'binary', keyEncoding: 'uint32' } as const;

describe('recent transfers', () => {
  it.each([1, 2, 3])('give the same answers as transfers that do not wait, seed %i', async (seed) => {
    const next = seededUint32(seed);
    // The first moves every batch at once, the second now and then, and the third never.
    const writers = [storeAt('0', 0), storeAt('1', 400), storeAt('2')];
    const readers = writers.map((_, index) => () => storeAt(`${index}`, undefined, true));
    const kept: TransferStore[] = [];
    let height = 0;
    for (let turn = 0; turn < 60; turn++) {
      const choice = next() % 10;
      if (choice < 6) {
        const block = blockOf(next, ++height, next() % 60);
        for (const store of writers) await store.appendBlock(block);
      } else if (choice < 7 && height > 0) {
        for (const store of writers) await store.revertBlock('ETH', height);
        height--;
      } else if (choice < 8) {
        const rows = someTransfers(next, next() % 300, 1);
        for (const store of writers) await store.ingest(rows);
      } else if (choice < 9) {
        const refused = { ...someTransfers(next, 1, 1)[0]!, txHash: `0x${'e'.repeat(64)}`, to: 'nowhere' };
        const rows = [...someTransfers(next, 20, 1), refused];
        for (const store of writers)
          await expect(store.ingest(rows)).rejects.toMatchObject({ code: 'INVALID_ADDRESS' });
      } else {
        const blocks = Array.from({ length: 3 }, (_, at) => blockOf(next, height + 1 + at, 20));
        height += 3;
        for (const store of writers) await store.appendBlocks(blocks);
      }
      if (turn === 5) kept.push(...readers.map((openReader) => openReader()));
      if (turn % 5 !== 0) continue;
      const expected = answers(writers[0]!);
      for (const store of [...writers, ...kept]) expect(answers(store)).toEqual(expected);
    }
    const expected = answers(writers[0]!);
    await closeAll();
    for (const openReader of readers) expect(answers(openReader())).toEqual(expected);
  });

  it('are moved when one address has as many as the delta of a hub holds', async () => {
    const store = storeAt('0');
    const next = seededUint32(9);
    const waiting: number[] = [];
    for (let height = 1; height <= 60; height++) {
      await store.appendBlock(blockOf(next, height, 40));
      endReading();
      const chain = openChainStore(join(folder, '0', 'eth.mdb'), 'ETH', true)!;
      waiting.push((chain.meta.get('recent') as { halves: number }).halves);
      await chain.root.close();
    }
    expect(waiting.filter((halves) => halves === 0).length).toBeGreaterThan(0);
    expect(Math.max(...waiting)).toBeGreaterThan(500);
    expect(Math.max(...waiting)).toBeLessThan(3_000);
  });

  it.each([
    ['is lost', (recent: Database<Buffer, number>) => recent.removeSync(1)],
    ['is cut', (recent: Database<Buffer, number>) => recent.putSync(1, Buffer.from([9, 40, 1]))],
  ])('are rejected as damaged if a batch %s', async (_, damage) => {
    const store = storeAt('0');
    const next = seededUint32(4);
    for (let height = 1; height <= 3; height++) await store.appendBlock(blockOf(next, height, 10));
    await closeAll();
    await change('0', (root) => {
      damage(root.openDB<Buffer, number>(RECENT));
    });
    const damaged = storeAt('0');
    const { key } = parseAddress('ETH', party(0));
    expect(() => damaged.totals('ETH', key)).toThrow(expect.objectContaining({ code: 'STORE_CORRUPT' }));
    await expect(damaged.appendBlock(blockOf(next, 4, 10))).rejects.toMatchObject({ code: 'STORE_CORRUPT' });
  });

  it('are written to a store of format 5, which is readable before that', async () => {
    const first = blockOf(seededUint32(5), 1, 30);
    const second = blockOf(seededUint32(6), 2, 30);
    const plain = storeAt('plain');
    await plain.appendBlock(first);
    const before = answers(plain);
    await plain.appendBlock(second);
    const after = answers(plain);
    await storeAt('0', 0).appendBlock(first);
    await closeAll();
    await change('0', (root) => {
      root.openDB(RECENT).dropSync();
      const meta = root.openDB(META);
      meta.removeSync('recent');
      meta.putSync('format', { name: 'assay-transfers', version: 5, chain: 'ETH' });
    });
    expect(answers(storeAt('0', undefined, true))).toEqual(before);
    await closeAll();
    await storeAt('0').appendBlock(second);
    await closeAll();
    expect(answers(storeAt('0', undefined, true))).toEqual(after);
  });
});
