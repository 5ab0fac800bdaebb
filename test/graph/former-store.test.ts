/** Stores of former formats, as their last programs wrote them: read as they are, and written on, they give what a new store does. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { projectRoot } from '../../src/base/paths.ts';
import { parseAddress } from '../../src/chains/address/parse.ts';
import { openTransferStore, type TransferStore } from '../../src/graph/store.ts';
import {
  FORMER_BLOCKS,
  FORMER_FRESH,
  formerAddress,
  formerBlock,
  formerHash,
  formerTransfers,
} from './former-transfers.ts';

const FORMATS = [4, 5];

let folder = '';
const open: TransferStore[] = [];
const storeAt = (name: string, readOnly = false): TransferStore => {
  const store = openTransferStore({ path: join(folder, name), readOnly, fresh: FORMER_FRESH });
  open.push(store);
  return store;
};
const closeAll = async (): Promise<void> => {
  for (const one of open.splice(0)) await one.close();
};
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'assay-former-'));
});
afterEach(async () => {
  await closeAll();
  rmSync(folder, { recursive: true });
});

function placeFormer(format: number): void {
  const packed = readFileSync(join(projectRoot, `test/graph/format-${format}.mdb.gz`));
  mkdirSync(join(folder, 'former'));
  writeFileSync(join(folder, 'former', 'eth.mdb'), gunzipSync(packed));
}

/** The store that the current program writes from the same transfers. */
async function currentStore(): Promise<TransferStore> {
  const store = storeAt('current');
  const all = formerTransfers();
  await store.ingest(all.slice(0, 1000));
  await store.ingest(all.slice(1000));
  for (let block = 0; block < FORMER_BLOCKS; block++) await store.appendBlock(formerBlock(block));
  return store;
}

/** All answers about the first addresses and transactions, as text. */
function answers(store: TransferStore): string[] {
  const keys = Array.from({ length: 60 }, (_, index) => parseAddress('ETH', formerAddress(index)).key);
  const hashes = Array.from({ length: 150 }, (_, index) => formerHash(40_000 + index * 5));
  const blocks = Array.from({ length: 30 }, (_, index) => formerHash(50_000 + index));
  const graph = store.graph('ETH');
  const columns = [...store.logColumns('ETH', 0, 10_000)].map(({ count, ...arrays }) =>
    Object.entries(arrays).map(([name, column]) => [name, [...column.subarray(0, count)]]),
  );
  const shown = (value: unknown): string =>
    JSON.stringify(value, (_, part: unknown) => (typeof part === 'bigint' ? `${part}n` : part));
  return [
    store.coverage('ETH'),
    columns,
    store.assetUses('ETH'),
    ...keys.map((key) => ({
      totals: store.totals('ETH', key),
      recent: store.recent('ETH', key, 64).map(({ counterparty, ...one }) => [one, counterparty?.address]),
      sides: (['in', 'out'] as const).map((direction) => ({
        count: store.counterpartyCount('ETH', key, direction),
        best: store
          .counterparties('ETH', key, { direction, limit: 1000 })
          .map(({ address, ...one }) => [address, one, store.newest('ETH', key, one.key, 4)]),
        edges: store
          .counterparties('ETH', key, { direction, limit: 5 })
          .map((one) => graph?.edge(graph.idOf(key) ?? 0, graph.idOf(one.key) ?? 0)),
      })),
    })),
    ...[...hashes, ...blocks].map((hash) => store.transaction('ETH', [hash], 10)),
  ].map(shown);
}

describe.each(FORMATS)('a store of format %i', (format) => {
  it('is read as it is, and keeps its transfers when it is written on', async () => {
    placeFormer(format);
    const current = await currentStore();
    const expected = answers(current);
    expect(answers(storeAt('former', true))).toEqual(expected);
    await closeAll();

    const store = storeAt('former');
    const all = formerTransfers();
    expect(await store.ingest(all)).toEqual({ stored: 0, duplicates: all.length });
    expect(answers(store)).toEqual(expected);

    const again = storeAt('current');
    const more = formerTransfers(900, 9);
    for (const one of [store, again]) {
      expect(await one.revertBlock('ETH', formerBlock(1).height)).toBe(60);
      await one.ingest(more);
      // Moves what waits.
      await one.ingest(formerTransfers(900, 10));
      expect(await one.ingest([...more, ...all])).toEqual({
        stored: 0,
        duplicates: more.length + all.length,
      });
    }
    expect(answers(store)).toEqual(answers(again));
  });
});
