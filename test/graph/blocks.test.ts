/** Live blocks: stored once, reverted exactly, final after a while, whatever files are read in between. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parseAddress } from '../../src/chains/address/parse.ts';
import type { Block } from '../../src/chains/block.ts';
import type { Transfer } from '../../src/chains/transfer.ts';
import { GRAPH_LIMITS } from '../../src/graph/limits.ts';
import { openTransferStore, type TransferStore } from '../../src/graph/store.ts';

let folder = '';
let store: TransferStore;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'assay-blocks-'));
  store = openTransferStore({ path: join(folder, 'store'), readOnly: false });
});
afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true });
});

const PARTIES = 5;
const address = (index: number): string => `0x${index.toString(16).padStart(40, '0')}`;
const key = (index: number): Uint8Array => parseAddress('ETH', address(index)).key;
const START_MS = 1_700_000_000_000;

interface Move {
  readonly from: number;
  readonly to: number;
  readonly amount: number;
  readonly cents: number | null;
}

/** Each branch of the chain has transactions of its own; two moves share one. */
const transfersOf = (height: number, branch: string, moves: readonly Move[]): Transfer[] =>
  moves.map(({ from, to, amount, cents }, index) => ({
    chain: 'ETH',
    txHash: `${branch}-${height}-${index >> 1}`,
    position: `log:${index}`,
    blockNumber: height,
    timestampMs: START_MS + height * 12_000,
    from: from === 0 ? null : address(from),
    to: address(to),
    asset: 'ETH',
    amount: BigInt(amount),
    decimals: 18,
    valueUsd: cents === null ? null : cents / 100,
  }));

const blockOf = (height: number, branch: string, moves: readonly Move[], parent = branch): Block => ({
  chain: 'ETH',
  height,
  hash: `${branch}${height}`,
  parentHash: height === 0 ? null : `${parent}${height - 1}`,
  timestampMs: START_MS + height * 12_000,
  transfers: transfersOf(height, branch, moves),
});

const move = (from: number, to: number, amount = 5, cents: number | null = 100): Move => ({
  from,
  to,
  amount,
  cents,
});

/** The transactions that the blocks of these tests may have, as far as they are stored. */
function transactionsOf(of: TransferStore): unknown[] {
  const graph = of.graph('ETH');
  const addressOf = (node: number): string | null => (node === 0 ? null : (graph?.addressOf(node) ?? null));
  return ['a', 'b', 'file', 'old', 'new'].flatMap((branch) =>
    Array.from({ length: 40 }, (_, at) => {
      const found = of.transaction('ETH', [`${branch}-${at >> 1}-${at & 1}`], 10);
      const transfers = (found?.transfers ?? []).map((one) => ({
        ...one,
        from: addressOf(one.from),
        to: addressOf(one.to),
      }));
      return { ...found, transfers: transfers.sort((a, b) => (a.position < b.position ? -1 : 1)) };
    }).filter(({ total }) => total !== 0),
  );
}

function everything(of: TransferStore): unknown {
  return {
    coverage: of.coverage('ETH'),
    transactions: transactionsOf(of),
    parties: Array.from({ length: PARTIES }, (_, index) => {
      const own = key(index + 1);
      return {
        totals: of.totals('ETH', own),
        // Ids of addresses are in the order of their arrival.
        recent: of.recent('ETH', own, 64).map(({ counterparty, ...one }) => [one, counterparty?.address]),
        daily: of.daily('ETH', own, 30),
        sides: (['in', 'out'] as const).map((direction) => [
          // Equal counterparties are in the order of their first transfer, even if its block was reverted since; so sort by address.
          [...of.counterparties('ETH', own, { direction, limit: 100 })].sort((a, b) =>
            a.address < b.address ? -1 : 1,
          ),
          of.counterpartyCount('ETH', own, direction),
        ]),
        newest: Array.from({ length: PARTIES }, (__, other) => of.newest('ETH', own, key(other + 1), 9)),
      };
    }),
  };
}

describe('appending blocks', () => {
  it('stores a block once, by its hash', async () => {
    const block = blockOf(7, 'a', [move(1, 2), move(2, 3)]);
    expect(await store.appendBlock(block)).toEqual({ stored: 2, duplicates: 0 });
    const before = everything(store);
    expect(await store.appendBlock(block)).toEqual({ stored: 0, duplicates: 2 });
    expect(everything(store)).toEqual(before);
    expect(store.blocks('ETH')).toEqual([
      { height: 7, hash: 'a7', parentHash: 'a6', timestampMs: START_MS + 84_000 },
    ]);
  });

  it('rejects another block of the same height, and one with another parent', async () => {
    await store.appendBlock(blockOf(7, 'a', []));
    await expect(store.appendBlock(blockOf(7, 'b', []))).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
      field: 'hash',
    });
    await expect(store.appendBlock(blockOf(8, 'b', []))).rejects.toMatchObject({ field: 'parentHash' });
    await store.appendBlock(blockOf(8, 'b', [], 'a'));
    expect(store.blocks('ETH').map((block) => block.hash)).toEqual(['b8', 'a7']);
  });

  it.each([
    ['height', { height: -1 }],
    ['hash', { hash: '' }],
    ['timestampMs', { timestampMs: 0.5 }],
    ['transfers', { transfers: transfersOf(6, 'a', [move(1, 2)]) }],
  ])('rejects a block with an invalid %s', async (field, change) => {
    const block = { ...blockOf(7, 'a', []), ...change };
    await expect(store.appendBlock(block)).rejects.toMatchObject({ code: 'INVALID_REQUEST', field });
  });

  it('leaves nothing of a block that cannot be read completely', async () => {
    const block = blockOf(7, 'a', [move(1, 2), move(2, 3)]);
    const [first, second] = block.transfers as [Transfer, Transfer];
    const broken = { ...block, transfers: [first, { ...second, to: '0x12' }] };
    await expect(store.appendBlock(broken)).rejects.toMatchObject({ code: 'INVALID_ADDRESS' });
    expect(store.coverage('ETH').transfers).toBe(0);
    expect(store.blocks('ETH')).toEqual([]);
    expect(await store.appendBlock(block)).toEqual({ stored: 2, duplicates: 0 });
    expect(store.totals('ETH', key(2))).toMatchObject({ in: { transfers: 1 }, out: { transfers: 1 } });
  });

  it('stores blocks in one transaction like one by one', async () => {
    const single = openTransferStore({ path: join(folder, 'single'), readOnly: false });
    const count = GRAPH_LIMITS.reorgBlocksKept + 8;
    const blocks = Array.from({ length: count }, (_, height) =>
      blockOf(height, 'a', [move(1 + (height % 3), 2), move(2, 4, height), move(4, 1)]),
    );
    // The last ones make earlier ones final.
    const first = blocks.slice(0, -20);
    for (const of of [store, single]) await of.appendBlocks(first);
    for (const block of blocks.slice(-20)) await single.appendBlock(block);
    expect(await store.appendBlocks(blocks.slice(-20))).toEqual({ stored: 60, duplicates: 0 });
    expect(await store.appendBlocks(blocks.slice(-2))).toEqual({ stored: 0, duplicates: 6 });
    for (const of of [store, single]) await of.revertBlock('ETH', count - 1);
    expect(everything(store)).toEqual(everything(single));
    expect(store.pendingBlocks('ETH')).toEqual(single.pendingBlocks('ETH'));
    expect(store.finalHeight('ETH')).toBe(single.finalHeight('ETH'));
    await single.close();
  });

  it('stores the blocks before one that is refused', async () => {
    const blocks = [blockOf(1, 'a', [move(1, 2)]), blockOf(2, 'a', []), blockOf(3, 'b', [move(1, 3)])];
    await expect(store.appendBlocks(blocks)).rejects.toMatchObject({ field: 'parentHash' });
    expect(store.blocks('ETH').map(({ hash }) => hash)).toEqual(['a2', 'a1']);
    expect(store.coverage('ETH').transfers).toBe(1);
    expect(await store.appendBlocks([])).toEqual({ stored: 0, duplicates: 0 });
  });

  it('finalizes blocks behind the confirmation depth, and merges their transfers', async () => {
    const last = GRAPH_LIMITS.reorgBlocksKept + 3;
    for (let height = 0; height <= last; height++)
      await store.appendBlock(blockOf(height, 'a', [move(1, 2)]));
    expect(store.blocks('ETH').length).toBe(GRAPH_LIMITS.reorgBlocksKept);
    await expect(store.revertBlock('ETH', 3)).rejects.toMatchObject({ code: 'NOT_FOUND' });
    expect(await store.revertBlock('ETH', 4)).toBe(1);
    expect(store.coverage('ETH')).toMatchObject({ transfers: last, firstBlock: 0, lastBlock: last });
    expect(await store.appendBlock(blockOf(2, 'c', [move(1, 3)]))).toEqual({ stored: 1, duplicates: 0 });
    expect(store.totals('ETH', key(1))).toMatchObject({ out: { transfers: last + 1 } });
  });
});

const anyMove = fc.record({
  from: fc.nat(PARTIES),
  to: fc.integer({ min: 1, max: PARTIES }),
  amount: fc.nat(3),
  cents: fc.option(fc.nat(500), { nil: null }),
});
const anyMoves = fc.array(anyMove, { maxLength: 60 });

describe('reverting blocks', () => {
  it('leaves the state as if they had never been stored, with any files read in between', async () => {
    let run = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ moves: anyMoves, file: anyMoves, isKept: fc.boolean() }), {
          minLength: 1,
          maxLength: 6,
        }),
        async (steps) => {
          run++;
          const first = openTransferStore({ path: join(folder, `with-${run}`), readOnly: false });
          const second = openTransferStore({ path: join(folder, `without-${run}`), readOnly: false });
          const files = (height: number, moves: readonly Move[]): Transfer[] =>
            transfersOf(height + 100 * (height % 2), `file${height}`, moves);
          for (const [height, { moves, file }] of steps.entries()) {
            await first.appendBlock(blockOf(height, 'a', moves));
            await first.ingest(files(height, file));
          }
          for (const [height, { isKept }] of [...steps.entries()].reverse())
            if (!isKept) await first.revertBlock('ETH', height);
          for (const [height, { moves, file, isKept }] of steps.entries()) {
            if (isKept) await second.appendBlock({ ...blockOf(height, 'a', moves), parentHash: null });
            await second.ingest(files(height, file));
          }
          expect(everything(first)).toEqual(everything(second));
          await first.close();
          await second.close();
        },
      ),
      { numRuns: 15 },
    );
  });

  it('allows the other branch', async () => {
    await store.appendBlock(blockOf(0, 'a', [move(1, 2)]));
    const before = everything(store);
    await store.appendBlock(blockOf(1, 'a', [move(1, 2), move(2, 3)]));
    await store.appendBlock(blockOf(2, 'a', [move(3, 4)]));
    await store.revertBlock('ETH', 2);
    await store.revertBlock('ETH', 1);
    expect(everything(store)).toEqual(before);
    await store.appendBlock(blockOf(1, 'b', [move(4, 5, 9, null)], 'a'));
    expect(store.totals('ETH', key(3))).toBeNull();
    expect(store.totals('ETH', key(5))).toMatchObject({ in: { transfers: 1, valueUsd: null } });
    expect(store.newest('ETH', key(4), key(5), 1)).toMatchObject([{ txHash: 'b-1-0' }]);
  });

  it('allows the same transaction in another block', async () => {
    const block = blockOf(1, 'a', [move(1, 2)]);
    await store.appendBlock(block);
    await store.revertBlock('ETH', 1);
    expect(await store.appendBlock({ ...block, hash: 'other' })).toEqual({ stored: 1, duplicates: 0 });
    expect(store.totals('ETH', key(1))).toMatchObject({ transactions: 1 });
  });
});
