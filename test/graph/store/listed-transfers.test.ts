/** The newest transfers of addresses and edges, while addresses grow beyond the list of their newest transfers. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { seededUint32 } from '../../../src/base/random.ts';
import { parseAddress } from '../../../src/chains/address/parse.ts';
import type { Transfer } from '../../../src/chains/transfer.ts';
import { GRAPH_LIMITS } from '../../../src/graph/limits.ts';
import { openChainStore } from '../../../src/graph/store/chain-store.ts';
import { openTransferStore, type TransferStore } from '../../../src/graph/store.ts';

let folder = '';
let store: TransferStore;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'assay-listed-'));
  store = openTransferStore({ path: folder, readOnly: false });
});
afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true });
});

const ADDRESSES = 6;
const address = (index: number): string => `0x${index.toString(16).padStart(40, '0')}`;
const key = (index: number): Uint8Array => parseAddress('ETH', address(index)).key;

/** Transfers in no order of time, with amounts so long that deltas are merged after a few dozen. */
function someTransfers(seed: number, count: number): Transfer[] {
  const next = seededUint32(seed);
  return Array.from({ length: count }, (_, index) => ({
    chain: 'ETH' as const,
    txHash: `0x${(seed * 100_000 + index).toString(16).padStart(64, '0')}`,
    position: 'value',
    blockNumber: 100,
    timestampMs: 1_700_000_000_000 + (next() % 500) * 1000,
    from: next() % 9 === 0 ? null : address(1 + (next() % ADDRESSES)),
    to: address(1 + (next() % ADDRESSES)),
    asset: next() % 3 === 0 ? address(0xfeed) : 'ETH',
    amount: 2n ** 230n + BigInt(index),
    decimals: 18,
    valueUsd: null,
  }));
}

/** The newest of transfers that are in the order of their arrival. */
const newestOf = (transfers: readonly Transfer[], limit: number): Transfer[] =>
  [...transfers.entries()]
    .sort(([a, one], [b, other]) => other.timestampMs - one.timestampMs || b - a)
    .slice(0, limit)
    .map(([, transfer]) => transfer);
const shown = (transfers: readonly { readonly txHash: string; readonly timestampMs: number }[]): string[] =>
  [...transfers]
    .sort((a, b) => b.timestampMs - a.timestampMs || (a.txHash < b.txHash ? -1 : 1))
    .map(({ txHash }) => txHash);

function checkAll(all: readonly Transfer[]): void {
  for (let one = 1; one <= ADDRESSES; one++) {
    const own = all.filter(({ from, to }) => from === address(one) || to === address(one));
    const recent = store.recent('ETH', key(one), GRAPH_LIMITS.recentTransfersPerAddress);
    expect(recent.map(({ txHash }) => txHash)).toEqual(
      shown(newestOf(own, GRAPH_LIMITS.recentTransfersPerAddress)),
    );
    for (let other = 1; other <= ADDRESSES; other++) {
      const paid =
        other === one ? [] : own.filter(({ from, to }) => from === address(one) && to === address(other));
      const kept = ['ETH', address(0xfeed)].flatMap((asset) =>
        newestOf(
          paid.filter((transfer) => transfer.asset === asset),
          GRAPH_LIMITS.recentTransfersPerEdge,
        ),
      );
      expect(store.newest('ETH', key(one), key(other), 99).map(({ txHash }) => txHash)).toEqual(shown(kept));
    }
  }
}

describe('the newest transfers of addresses and edges', () => {
  it.each([1, 2, 3])('are exact while addresses grow (%i)', async (seed) => {
    const all = someTransfers(seed, 500);
    const next = seededUint32(seed + 10);
    for (let at = 0; at < all.length; ) {
      const end = at + 1 + (next() % 30);
      await store.ingest(all.slice(at, end));
      at = end;
      checkAll(all.slice(0, at));
    }
  });

  it('are refused if the log has lost one of them', async () => {
    const all = someTransfers(4, 100);
    await store.ingest(all.slice(0, 90));
    await store.ingest(all.slice(90));
    await store.close();
    const damaged = openChainStore(join(folder, 'eth.mdb'), 'ETH', false);
    damaged?.root.transactionSync(() => {
      for (const chunk of [...damaged.log.getKeys()]) damaged.log.removeSync(chunk);
    });
    await damaged?.root.close();
    store = openTransferStore({ path: folder, readOnly: false });
    expect(() => store.newest('ETH', key(1), key(2), 9)).toThrow('is damaged');
  });
});
