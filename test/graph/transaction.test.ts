/** The transfers of a transaction by its hash: waiting, stored, stored by an earlier version, reverted, and of UTXO chains. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Block } from '../../src/chains/block.ts';
import type { Transfer } from '../../src/chains/transfer.ts';
import { GRAPH_LIMITS } from '../../src/graph/limits.ts';
import {
  Fingerprinter,
  packTransaction,
  positionMark,
  transactionKey,
} from '../../src/graph/store/fingerprint.ts';
import { type KnownPosition, packPositions, readPositions } from '../../src/graph/store/transactions.ts';
import { openTransferStore, type TransferStore } from '../../src/graph/store.ts';
import { ingestUtxoBlock, revertUtxoBlock } from '../../src/graph/utxo/ingest-utxo.ts';
import { openOutputsStore } from '../../src/graph/utxo/outputs-store.ts';
import { openEnvironment } from '../../src/state/lmdb.ts';

let folder = '';
const open: { close(): Promise<void> }[] = [];
const storeAt = (name: string, fresh = { max: 500_000, step: 4_096 }, readOnly = false): TransferStore => {
  const store = openTransferStore({ path: join(folder, name), readOnly, fresh });
  open.push(store);
  return store;
};
const closeAll = async (): Promise<void> => {
  for (const one of open.splice(0)) await one.close();
};
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'assay-transaction-'));
});
afterEach(async () => {
  await closeAll();
  rmSync(folder, { recursive: true });
});

const address = (index: number): string => `0x${index.toString(16).padStart(40, '0')}`;
const hash = (index: number): string => `0x${index.toString(16).padStart(64, '0')}`;
const paid = (index: number, fields: Partial<Transfer> = {}): Transfer => ({
  chain: 'ETH',
  txHash: hash(index),
  position: 'value',
  blockNumber: index,
  timestampMs: 1_700_000_000_000 + index * 1_000,
  from: address(1),
  to: address(index + 2),
  asset: 'ETH',
  amount: BigInt(index),
  decimals: 18,
  valueUsd: null,
  ...fields,
});
const foundIn = (store: TransferStore, index: number, limit = 10) =>
  store.transaction('ETH', [hash(index)], limit);

describe('a transaction', () => {
  it('is found while it waits in memory, and after it was stored', async () => {
    const waiting = storeAt('waiting');
    const moved = storeAt('moved', { max: 1, step: 1_000 });
    for (const store of [waiting, moved]) {
      await store.ingest(Array.from({ length: 50 }, (_, index) => paid(index + 1)));
      await store.ingest([paid(7, { position: 'log:3' }), paid(7, { position: 'trace:0_1' })]);
      await store.ingest([paid(51, { txHash: 'not of digits' })]);
      expect(store.transaction('ETH', ['not of digits'], 10)).toMatchObject({ total: 1 });
      expect(foundIn(store, 7)).toMatchObject({
        total: 3,
        unread: 0,
        transfers: [
          { txHash: hash(7), position: 'value', amount: 7n, blockNumber: 7 },
          { position: 'log:3' },
          { position: 'trace:0_1' },
        ],
      });
      expect(foundIn(store, 7, 2)).toMatchObject({ total: 3, transfers: [{}, {}] });
      expect(foundIn(store, 99)).toEqual({ transfers: [], total: 0, unread: 0 });
    }
    // Another process reads the newest commit, and a chain without a store has none.
    expect(foundIn(storeAt('waiting', undefined, true), 50)).toMatchObject({ total: 1 });
    expect(storeAt('none', undefined, true).transaction('ETH', [hash(1)], 1)).toMatchObject({ total: 0 });
  });

  it('has the same positions after they were packed', () => {
    const mark = fc.oneof(fc.nat(2 ** 33), fc.integer({ min: 2 ** 47, max: 2 ** 47 + 2 ** 46 - 1 }));
    const position = fc.record({
      mark,
      from: fc.nat(2 ** 31 - 1),
      to: fc.nat(2 ** 31 - 1),
      ordinal: fc.option(fc.nat(2 ** 35)),
    });
    fc.assert(
      fc.property(fc.array(position, { maxLength: 5 }), (positions) => {
        expect(readPositions(packPositions(positions))).toEqual(positions);
      }),
    );
  });

  it('stored by an earlier version is found among the newest transfers, and counts once', async () => {
    await storeAt('old', { max: 1, step: 1_000 }).ingest([
      paid(5),
      paid(5, { position: 'trace:0_1' }),
      paid(6),
    ]);
    await closeAll();
    const root = openEnvironment(join(folder, 'old', 'eth.mdb'), { maxDbs: 16, noSubdir: true });
    const meta = root.openDB<unknown, string>({ name: 'meta', encoding: 'msgpack' });
    const db = root.openDB<Buffer, Uint8Array>({
      name: 'transactions',
      encoding: 'binary',
      keyEncoding: 'binary',
    });
    const places = root.openDB<Buffer, number>({ name: 'places', encoding: 'binary', keyEncoding: 'uint32' });
    root.transactionSync(() => {
      meta.putSync('format', { name: 'assay-transfers', version: 3 });
      for (const key of [...places.getKeys({})]) places.removeSync(key);
      meta.removeSync('places');
      const fingerprinter = new Fingerprinter(meta.get('salt') as Uint8Array);
      // As version 3 wrote them: without numbers, and with one more bit of the hash.
      const position = (text: string, to: number) => {
        const mark = positionMark(text, fingerprinter);
        return { mark: mark < 2 ** 47 ? mark : mark + 2 ** 46, from: 1, to, ordinal: null };
      };
      const put = (index: number, positions: KnownPosition[]): void => {
        db.putSync(transactionKey(packTransaction(hash(index)), fingerprinter), packPositions(positions));
      };
      put(5, [position('value', 2), position('trace:0_1', 2)]);
      put(6, [position('value', 3)]);
    });
    await root.close();
    expect(foundIn(storeAt('old', undefined, true), 5)).toMatchObject({
      total: 2,
      unread: 0,
      transfers: [{}, {}],
    });
    await closeAll();
    const store = storeAt('old', { max: 1, step: 1_000 });
    const again = [paid(5), paid(5, { position: 'trace:0_1' }), paid(5, { position: 'log:9' })];
    expect(await store.ingest(again)).toEqual({ stored: 1, duplicates: 2 });
    expect(foundIn(store, 5)?.transfers.map(({ position }) => position)).toEqual([
      'value',
      'trace:0_1',
      'log:9',
    ]);
    expect(GRAPH_LIMITS.transactionScanMax).toBeGreaterThan(3);
  });

  it('disappears with its block, and returns in another one', async () => {
    const store = storeAt('blocks');
    const block = {
      chain: 'ETH' as const,
      height: 4,
      hash: 'a',
      parentHash: null,
      timestampMs: 1_700_000_000_000,
      transfers: [paid(4), paid(4, { position: 'log:1' })],
    };
    await store.appendBlock(block);
    expect(foundIn(store, 4)).toMatchObject({ total: 2 });
    await store.revertBlock('ETH', 4);
    expect(foundIn(store, 4)).toEqual({ transfers: [], total: 0, unread: 0 });
    await store.appendBlock({ ...block, hash: 'b' });
    expect(foundIn(store, 4)).toMatchObject({ total: 2, transfers: [{ position: 'value' }, {}] });
  });

  it('of a UTXO chain has the transfers into which it was divided', async () => {
    const transfers = storeAt('utxo');
    const outputs = openOutputsStore({ path: join(folder, 'outputs'), readOnly: false });
    open.push(outputs);
    const miner = '1A1zP1eP5QGefi2DMPTfTL5SLmv7DivfNa';
    const payee = '12c6DSiU4Rq3P4ZxziKxzrL5LmMBrzjrJX';
    const [first, second] = ['aa'.repeat(32), 'bb'.repeat(32)] as [string, string];
    const block = (height: number, paidTo: string, spent: string | null): Block => ({
      chain: 'BTC',
      height,
      hash: `h${height}`,
      parentHash: height === 0 ? null : `h${height - 1}`,
      timestampMs: 1_700_000_000_000 + height,
      transfers: [],
      transactions: [
        {
          chain: 'BTC',
          txid: spent === null ? first : second,
          blockNumber: height,
          indexInBlock: 0,
          timestampMs: 1_700_000_000_000 + height,
          isCoinbase: spent === null,
          inputs: spent === null ? [] : [{ txid: spent, vout: 0, address: miner, value: 50n }],
          outputs: [{ n: 0, address: paidTo, value: 49n + (spent === null ? 1n : 0n), script: 'p2pkh' }],
        },
      ],
    });
    await ingestUtxoBlock(block(0, miner, null), { transfers, outputs });
    await ingestUtxoBlock(block(1, payee, first), { transfers, outputs });
    expect(transfers.transaction('BTC', [second], 10)).toMatchObject({
      total: 1,
      transfers: [{ amount: 49n }],
    });
    await revertUtxoBlock('BTC', 1, { transfers, outputs });
    expect(transfers.transaction('BTC', [second], 10)).toMatchObject({ total: 0 });
    expect(transfers.transaction('BTC', [first], 10)).toMatchObject({ total: 1, transfers: [{ from: 0 }] });
  });
});
