import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { parseAddress } from '../../src/chains/address/parse.ts';
import type { Block } from '../../src/chains/block.ts';
import type { Transfer } from '../../src/chains/transfer.ts';
import { unpricedFlows } from '../../src/graph/asset-uses.ts';
import { openTransferStore, type TransferStore } from '../../src/graph/store.ts';

const ALICE = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266';
const BOB = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
const TOKEN = '0x00000000219ab540356cBB839Cbe05303d7705Fa';
const TIME = Date.parse('2026-10-15T12:00:00Z');

describe('the uses of assets', () => {
  let folder = '';
  let store: TransferStore;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'assay-uses-'));
    store = openTransferStore({ path: folder, readOnly: false });
  });
  afterEach(async () => {
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  });

  let count = 0;
  const transfer = (more: Partial<Transfer>): Transfer => ({
    ...{ chain: 'ETH', txHash: `0x${String(++count).padStart(64, '0')}`, position: 'value' },
    ...{ blockNumber: 1, timestampMs: TIME, from: ALICE, to: BOB, asset: 'ETH' },
    ...{ amount: 5n, decimals: 18, valueUsd: null },
    ...more,
  });

  it('count transfers without a price, but not those that moved nothing', async () => {
    await store.ingest([
      transfer({ valueUsd: 10 }),
      transfer({ valueUsd: 0 }),
      transfer({ asset: TOKEN, decimals: null }),
      transfer({ asset: TOKEN, decimals: null, timestampMs: TIME + 1_000 }),
      transfer({ asset: TOKEN, decimals: null, amount: 0n }),
    ]);
    expect(store.assetUses('ETH')).toEqual([
      { asset: TOKEN, decimals: null, transfers: 3, unpricedTransfers: 2, newestMs: TIME + 1_000 },
      { asset: 'ETH', decimals: 18, transfers: 2, unpricedTransfers: 0, newestMs: TIME },
    ]);
    expect(store.assetUses('BTC')).toEqual([]);
  });

  it('exclude a reverted block', async () => {
    const block: Block = {
      chain: 'ETH',
      ...{ height: 7, hash: 'h7', parentHash: null, timestampMs: TIME },
      transfers: [transfer({ blockNumber: 7 }), transfer({ blockNumber: 7, asset: TOKEN })],
    };
    await store.appendBlock(block);
    expect(store.assetUses('ETH')).toHaveLength(2);
    await store.revertBlock('ETH', 7);
    expect(store.assetUses('ETH')).toEqual([]);
  });

  it('end with a signal', async () => {
    await store.ingest([transfer({})]);
    expect(() => store.assetUses('ETH', AbortSignal.abort())).toThrow();
  });

  it('of one address are listed by direction', async () => {
    await store.ingest([
      transfer({ valueUsd: 10 }),
      transfer({ asset: TOKEN, amount: 7n }),
      transfer({ from: BOB, to: ALICE, amount: 3n }),
    ]);
    const { key } = parseAddress('ETH', ALICE);
    expect(unpricedFlows(store.totals('ETH', key))).toEqual([
      { direction: 'in', asset: 'ETH', decimals: 18, amount: 3n, unpricedTransfers: 1 },
      { direction: 'out', asset: TOKEN, decimals: 18, amount: 7n, unpricedTransfers: 1 },
    ]);
    expect(unpricedFlows(null)).toEqual([]);
  });
});
