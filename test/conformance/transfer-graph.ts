/**
 * The behaviour that every store of a chain's transfers shares, wherever its records are: kernels return the same results over it as over a
 * graph in memory, and answers follow the stored transfers, with hubs, many assets and reverted blocks among them.
 */
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { seededUint32 } from '../../src/base/random.ts';
import { parseAddress } from '../../src/chains/address/parse.ts';
import type { Transfer } from '../../src/chains/transfer.ts';
import { createNeighbourColumns, type TransferGraph } from '../../src/graph/graph.ts';
import { exposureOf } from '../../src/graph/kernels/exposure.ts';
import { findPaths } from '../../src/graph/kernels/path.ts';
import { traverse } from '../../src/graph/kernels/traverse.ts';
import { createKernelWorkspace } from '../../src/graph/kernels/workspace.ts';
import type { TransferStore } from '../../src/graph/store.ts';
import type { TransferReader } from '../../src/graph/transfers.ts';
import { randomGraph } from '../graph/kernels/random-graphs.ts';
import { amountOf, type MemoryEdge, memoryGraph } from '../graph/memory-graph.ts';

/** An empty chain: its store, and a reader of what has been written so far. */
export interface KeptChain {
  readonly store: TransferStore;
  read(): Promise<TransferReader>;
}

export interface KeepingPlace {
  /** Opens a chain with nothing stored. */
  open(): Promise<KeptChain>;
  close(): Promise<void>;
}

const address = (index: number): string => `0x${index.toString(16).padStart(40, '0')}`;
const key = (index: number): Uint8Array => parseAddress('ETH', address(index)).key;
const hash = (index: number): string => `0x${index.toString(16).padStart(64, '0')}`;

const transfer = (fields: Partial<Transfer>): Transfer => ({
  chain: 'ETH',
  txHash: hash(1),
  position: 'value',
  blockNumber: 100,
  timestampMs: 1_700_000_000_000,
  from: address(1),
  to: address(2),
  asset: 'ETH',
  amount: 10n,
  decimals: 18,
  valueUsd: null,
  ...fields,
});

/** Returns transfers that fold into these edges. Each address sends to itself first, so that its id equals its number. */
function transfersOf(edges: readonly MemoryEdge[], nodeCount: number): Transfer[] {
  let index = 0;
  const add = (fields: Partial<Transfer>): Transfer => transfer({ txHash: hash(++index), ...fields });
  const own = Array.from({ length: nodeCount }, (_, at) =>
    add({ from: address(at + 1), to: address(at + 1) }),
  );
  return [
    ...own,
    ...edges.flatMap((edge) => {
      const { from, to, valueUsd = 0, transfers = 1, unpriced = 0, firstSeenMs = 0, lastSeenMs = 0 } = edge;
      const priced = amountOf(edge) - unpriced * 10_000;
      return Array.from({ length: transfers }, (_, at) =>
        add({
          from: address(from),
          to: address(to),
          amount: at < unpriced ? 10_000n : at === unpriced ? BigInt(priced) : 0n,
          valueUsd: at < unpriced ? null : at === unpriced ? valueUsd : 0,
          timestampMs: at === 0 ? firstSeenMs : lastSeenMs,
        }),
      );
    }),
  ];
}

const graphOf = (reader: TransferReader): TransferGraph => {
  const graph = reader.graph('ETH');
  if (graph === null) throw new Error('No transfer is stored.');
  return graph;
};

export function transferGraphConforms(name: string, place: () => Promise<KeepingPlace>): void {
  describe(name, () => {
    let keeping: KeepingPlace;
    beforeAll(async () => {
      keeping = await place();
    });
    afterAll(() => keeping.close());
    const workspace = createKernelWorkspace();

    it('gives kernels the same results as a graph in memory', async () => {
      for (let seed = 1; seed <= 4; seed++) {
        const { edges, nodeCount, attributed, pick } = randomGraph(seed, 40);
        const { store, read } = await keeping.open();
        await store.ingest(transfersOf(edges, nodeCount));
        const kept = graphOf(await read());
        const known = memoryGraph(edges);
        for (let round = 0; round < 6; round++) {
          const direction = (['in', 'out', 'both'] as const)[round % 3]!;
          const start = 1 + pick(nodeCount);
          const degreeMax = round === 5 ? 5 : 10_000;
          const weighing = { isEvidence: () => true, dustUsd: 1, dustShare: 0.01 };
          const isService = (node: number): boolean => attributed.has(node);
          const hops = 1 + pick(3);
          const [there, here] = [kept, known].map((graph) =>
            traverse(
              { start, direction, hops, degreeMax, nodesMax: round < 4 ? 5_000 : 9, edgesMax: 200 },
              { graph, workspace, weighing, isService },
            ),
          );
          expect(there).toEqual(here);
          const target = 1 + (start % nodeCount);
          const [pathsThere, pathsHere] = [kept, known].map((graph) =>
            findPaths(
              {
                ...{ start, target, direction, maxDepth: 4, pathsMax: 10, degreeMax, nodesMax: 5_000 },
                ...{ stepsMax: 20_000, timeRespecting: round % 2 === 0 },
              },
              { graph, workspace, weighing, isService },
            ),
          );
          expect(pathsThere).toEqual(pathsHere);
          if (direction === 'both') continue;
          const [shareThere, shareHere] = [kept, known].map((graph) =>
            exposureOf(
              { start, direction, maxHops: 4, degreeMax, nodesMax: 12, weighing },
              {
                graph,
                workspace,
                attribution: (node) => (attributed.has(node) ? { key: `${node % 3}` } : null),
              },
            ),
          );
          expect(shareThere).toEqual(shareHere);
        }
      }
    });

    it('answers for a hub from many chunks, merged or not, like plain sums', async () => {
      const { store, read } = await keeping.open();
      const next = seededUint32(11);
      const sums = new Map<number, { cents: number; unpriced: number; transfers: number }>();
      let index = 0;
      const toHub = (): Transfer => {
        const from = 10 + (next() % 1_500);
        const valueUsd = next() % 4 === 0 ? null : (next() % 200) / 100;
        const sum = sums.get(from) ?? { cents: 0, unpriced: 0, transfers: 0 };
        sum.cents += Math.round((valueUsd ?? 0) * 100);
        if (valueUsd === null) sum.unpriced++;
        sum.transfers++;
        sums.set(from, sum);
        return transfer({ txHash: hash(++index), from: address(from), to: address(1), valueUsd });
      };
      const columns = createNeighbourColumns(5_000);
      for (const more of [3_000, 60, 500]) {
        await store.ingest(Array.from({ length: more }, toHub));
        const reader = await read();
        const graph = graphOf(reader);
        const hub = graph.idOf(key(1))!;
        // Looked up once: a sort compares each of them many times.
        const ids = new Map([...sums.keys()].map((party) => [party, graph.idOf(key(party))!]));
        const idOf = (party: number): number => ids.get(party)!;
        const expected = [...sums].sort(
          ([a, left], [b, right]) =>
            right.cents - left.cents || right.unpriced - left.unpriced || idOf(a) - idOf(b),
        );
        expect(graph.degree(hub, 'in')).toBe(sums.size);
        expect(reader.counterpartyCount('ETH', key(1), 'in')).toBe(sums.size);
        for (const limit of [1, 300, 5_000]) {
          const count = graph.neighbours(hub, 'in', limit, columns);
          expect([...columns.ids.subarray(0, count)]).toEqual(
            expected.slice(0, limit).map(([party]) => idOf(party)),
          );
        }
        for (const [party, sum] of expected.slice(0, 20))
          expect(graph.edge(idOf(party), hub)).toMatchObject([{ transfers: sum.transfers }]);
        expect(graph.edge(hub, idOf(10))).toEqual([]);
        expect(reader.recent('ETH', key(1), 100).length).toBe(64);
      }
    });

    it('keeps a thousand assets of one edge', async () => {
      const { store, read } = await keeping.open();
      const assets = Array.from({ length: 1_000 }, (_, at) => address(0xa000 + at));
      await store.ingest(
        assets.map((asset, at) => transfer({ position: `log:${at}`, asset, decimals: at % 30 })),
      );
      const reader = await read();
      const [found] = reader.counterparties('ETH', key(1), { direction: 'out', limit: 1 });
      expect(found?.assets.map(({ asset }) => asset.toLowerCase()).sort()).toEqual([...assets].sort());
      expect(reader.totals('ETH', key(2))?.in.transfers).toBe(1_000);
    });

    it('removes reverted blocks, and contains their replacements', async () => {
      const { store, read } = await keeping.open();
      const block = (height: number, fork: number, parties: readonly number[]) => ({
        chain: 'ETH' as const,
        height,
        hash: hash(0xb000 + 16 * height + fork),
        parentHash: null,
        timestampMs: 1_700_000_000_000 + height,
        transactions: [],
        transfers: parties.map((party, at) =>
          transfer({
            txHash: hash(0x1000 * height + 16 * fork + at),
            to: address(party),
            blockNumber: height,
          }),
        ),
      });
      const partiesOf = (reader: TransferReader): string[] =>
        reader
          .counterparties('ETH', key(1), { direction: 'out', limit: 100 })
          .map((party) => party.address.toLowerCase())
          .sort();
      await store.ingest([transfer({ to: address(50), blockNumber: 1 })]);
      await store.appendBlock(block(200, 0, [60, 61]));
      await store.appendBlock(block(201, 0, [60, 62]));
      let reader = await read();
      expect(partiesOf(reader)).toEqual([50, 60, 61, 62].map(address));
      expect(reader.blocks('ETH').map(({ height }) => height)).toEqual([201, 200]);
      await store.revertBlock('ETH', 201);
      reader = await read();
      expect(partiesOf(reader)).toEqual([50, 60, 61].map(address));
      expect(reader.totals('ETH', key(62))).toBeNull();
      expect(reader.coverage('ETH')).toMatchObject({ transfers: 3, lastBlock: 200 });
      await store.appendBlock(block(201, 1, [63]));
      reader = await read();
      expect(partiesOf(reader)).toEqual([50, 60, 61, 63].map(address));
      expect(reader.recent('ETH', key(63), 5)).toMatchObject([{ blockNumber: 201, direction: 'in' }]);
      expect(reader.blocks('ETH').map((each) => each.hash)).toEqual(
        [201, 200].map((h) => hash(0xb000 + 16 * h + (h - 200))),
      );
    });

    it('does not find an address without stored data', async () => {
      const { store, read } = await keeping.open();
      await store.ingest([transfer({})]);
      const reader = await read();
      expect(graphOf(reader).idOf(key(9))).toBeNull();
      expect(reader.totals('ETH', key(9))).toBeNull();
      expect(reader.recent('ETH', key(9), 5)).toEqual([]);
      expect(reader.newest('ETH', key(1), key(9), 5)).toEqual([]);
      expect(reader.counterparties('ETH', key(9), { direction: 'in', limit: 5 })).toEqual([]);
      expect(reader.daily('ETH', key(9), 5)).toEqual({ days: [], isComplete: true });
    });
  });
}
