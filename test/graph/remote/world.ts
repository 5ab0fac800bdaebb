/** A chain with hubs, unpriced and self-transfers, mints and many assets, as a store; and the comparison of two readers of it. */
import { expect } from 'vitest';
import { systemClock } from '../../../src/base/clock.ts';
import { createLogger } from '../../../src/base/log.ts';
import { seededUint32 } from '../../../src/base/random.ts';
import { parseAddress } from '../../../src/chains/address/parse.ts';
import type { Block } from '../../../src/chains/block.ts';
import type { Transfer } from '../../../src/chains/transfer.ts';
import { createNeighbourColumns, type TransferGraph } from '../../../src/graph/graph.ts';
import { pushChain } from '../../../src/graph/remote/push.ts';
import type { PushOptions, PushReport } from '../../../src/graph/remote/push-session.ts';
import { openRemoteTransfers, type RemoteTransferReader } from '../../../src/graph/remote/transfers.ts';
import { openTransferStore } from '../../../src/graph/store.ts';
import type { TransferReader } from '../../../src/graph/transfers.ts';
import { openRedis, parseRedisUrl } from '../../../src/state/redis.ts';
import { expectEqual } from '../../support/equal.ts';

export const log = createLogger({ level: 'silent' });
export const addressAt = (index: number): string => `0x${index.toString(16).padStart(40, '0')}`;
export const keyAt = (index: number): Uint8Array => parseAddress('ETH', addressAt(index)).key;
export const hashAt = (index: number): string => `0x${index.toString(16).padStart(64, '0')}`;

/** Draws transfers: a tenth of them with one of four hubs, the rest mostly among neighbours. */
export function transferSource(seed: number, addresses: number): (count: number) => Transfer[] {
  const next = seededUint32(seed);
  let index = 0;
  const party = (): number => 10 + (next() % addresses);
  return (count) =>
    Array.from({ length: count }, (): Transfer => {
      index++;
      const from = party();
      const hub = 1 + (next() % 4);
      const to = next() % 10 === 0 ? hub : 10 + ((from + (next() % 40)) % addresses);
      const isReversed = to < 10 && next() % 2 === 0;
      const kind = next() % 50;
      return {
        chain: 'ETH',
        txHash: hashAt(1_000 * seed + (index >> 1)),
        position: `log:${index}`,
        blockNumber: 100 + (index >> 4),
        timestampMs: 1_700_000_000_000 + index * 1_000,
        from: kind === 0 ? null : addressAt(isReversed ? to : from),
        to: kind === 1 ? addressAt(from) : addressAt(isReversed ? from : to),
        asset: next() % 3 === 0 ? addressAt(0xa000 + (next() % 90)) : 'ETH',
        amount: BigInt(next()) ** (next() % 20 === 0 ? 4n : 1n),
        decimals: next() % 5 === 0 ? null : 18,
        valueUsd: next() % 3 === 0 ? null : (next() % 1_000_000) / 100,
      };
    });
}

export const blockOf = (height: number, transfers: readonly Transfer[], fork = 0): Block => ({
  chain: 'ETH',
  height,
  hash: hashAt(0xb10c0000 + height * 16 + fork),
  parentHash: null,
  timestampMs: 1_800_000_000_000 + height * 12_000,
  transfers: transfers.map((transfer) => ({ ...transfer, blockNumber: height })),
  transactions: [],
});

/** Opens a reader of ETH from a server, without any local store. */
export const openRemote = (url: string, emptyFolder: string): RemoteTransferReader =>
  openRemoteTransfers(
    { stores: { ETH: url }, logLevel: 'silent' },
    { local: openTransferStore({ path: emptyFolder, readOnly: true }), clock: systemClock, log },
  );

/** Pushes ETH with a connection of its own. */
export async function push(
  url: string,
  path: string,
  options: Partial<PushOptions> = {},
): Promise<PushReport> {
  const redis = openRedis(parseRedisUrl(url), { log });
  try {
    return await pushChain({ chain: 'ETH', path, graceMs: 0, ...options }, { redis, clock: systemClock });
  } finally {
    await redis.close();
  }
}

const graphOf = (reader: TransferReader): TransferGraph => {
  const graph = reader.graph('ETH');
  if (graph === null) throw new Error('There is no graph.');
  return graph;
};

/** Reads all that a graph has about an address, and about its edges to a few others. */
function nodeAnswers(graph: TransferGraph, node: number, columns: ReturnType<typeof createNeighbourColumns>) {
  return (['in', 'out'] as const).map((direction) => {
    const degree = graph.degree(node, direction);
    const lists = [1, 7, 10_000].map((limit) => {
      const count = graph.neighbours(node, direction, limit, columns);
      return Object.values(columns).map((column: Uint32Array | Float64Array) => [
        ...column.subarray(0, count),
      ]);
    });
    const edges = [...(lists[1]?.[0] ?? [])].map((other) =>
      direction === 'out' ? graph.edge(node, other) : graph.edge(other, node),
    );
    return { degree, lists, edges };
  });
}

/** Compares both readers on everything about the addresses. */
export function expectSame(remote: TransferReader, local: TransferReader, indexes: readonly number[]): void {
  expect(remote.coverage('ETH')).toEqual(local.coverage('ETH'));
  expect(remote.blocks('ETH')).toEqual(local.blocks('ETH'));
  const here = graphOf(local);
  const there = graphOf(remote);
  expect(there.nodeCount).toBe(here.nodeCount);
  const columns = createNeighbourColumns(10_000);
  for (const index of indexes) {
    const key = keyAt(index);
    const node = here.idOf(key);
    expect(there.idOf(key)).toBe(node);
    expect(remote.totals('ETH', key)).toEqual(local.totals('ETH', key));
    expectEqual(remote.recent('ETH', key, 100), local.recent('ETH', key, 100));
    expectEqual(remote.daily('ETH', key, 30), local.daily('ETH', key, 30));
    for (const direction of ['in', 'out'] as const) {
      expect(remote.counterpartyCount('ETH', key, direction)).toBe(
        local.counterpartyCount('ETH', key, direction),
      );
      const found = local.counterparties('ETH', key, { direction, limit: 10_000 });
      expectEqual(remote.counterparties('ETH', key, { direction, limit: 10_000 }), found);
      for (const { key: other } of found.slice(0, 3))
        expect(remote.newest('ETH', key, other, 9)).toEqual(local.newest('ETH', key, other, 9));
    }
    if (node === null) continue;
    expect(there.addressOf(node)).toBe(here.addressOf(node));
    expect(there.sums(node)).toEqual(here.sums(node));
    expectEqual(nodeAnswers(there, node, columns), nodeAnswers(here, node, columns));
  }
}
