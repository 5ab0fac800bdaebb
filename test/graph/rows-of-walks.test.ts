/**
 * Rows that traces and paths read by the assets of their edges give the same answers as rows that are read by the sums of the address: with
 * assets that are no evidence, wrapped coins, and transfers that are not merged yet.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, it } from 'vitest';
import { seededUint32 } from '../../src/base/random.ts';
import { parseAddress } from '../../src/chains/address/parse.ts';
import type { Transfer } from '../../src/chains/transfer.ts';
import type { TransferGraph } from '../../src/graph/graph.ts';
import { findPaths } from '../../src/graph/kernels/path.ts';
import { traverse } from '../../src/graph/kernels/traverse.ts';
import type { Weighing } from '../../src/graph/kernels/weighing.ts';
import { createKernelWorkspace } from '../../src/graph/kernels/workspace.ts';
import { openTransferStore } from '../../src/graph/store.ts';

const folder = mkdtempSync(join(tmpdir(), 'assay-rows-of-walks-'));
afterAll(() => rmSync(folder, { recursive: true }));

const ADDRESSES = 40;
const WRAPPER = 1;
const DIRECTIONS = ['out', 'in', 'both'] as const;
const address = (index: number): string => `0x${index.toString(16).padStart(40, '0')}`;
const TOKENS = [0xa1, 0xa2, 0xa3, 0xa4].map(address);

const next = seededUint32(5);
const pick = (bound: number): number => next() % bound;
let index = 0;

/** A transfer between two of the addresses. Some addresses deal in hardly anything but wrapped coins. */
function transfer(): Transfer {
  const from = 1 + pick(ADDRESSES);
  const to = from % 8 === 0 && pick(6) > 0 ? WRAPPER : 1 + pick(ADDRESSES);
  const asset = pick(2) === 0 ? 'ETH' : TOKENS[pick(TOKENS.length)]!;
  const isTiny = from % 8 === 0 && to !== WRAPPER;
  return {
    ...{ chain: 'ETH', txHash: `0x${(++index).toString(16).padStart(64, '0')}`, position: 'value' },
    ...{ blockNumber: 100 + index, timestampMs: 1_700_000_000_000 + 1_000 * index },
    ...{ from: address(from), to: address(to), asset, decimals: 18 },
    amount: isTiny ? 1n : BigInt(1 + pick(5)) * 10n ** 18n,
    valueUsd: pick(4) === 0 ? null : pick(6),
  };
}

it('are the same with and without the sums of the address', async () => {
  const store = openTransferStore({ path: folder, readOnly: false });
  const workspace = createKernelWorkspace();
  const isEvidence = (asset: string): boolean =>
    asset === 'ETH' || TOKENS.slice(0, 2).includes(asset.toLowerCase());
  const wrapped = { key: parseAddress('ETH', address(WRAPPER)).key, coin: 'ETH' };
  let cut = 0;
  for (const more of [150, 60, 400]) {
    await store.ingest(Array.from({ length: more }, transfer));
    const graph = store.graph('ETH')!;
    const bySums: TransferGraph = { ...graph, reportsOthers: false };
    const inLayers: TransferGraph = { ...bySums, prefetch: () => {} };
    const ids = Array.from({ length: ADDRESSES }, (_, at) =>
      graph.idOf(parseAddress('ETH', address(at + 1)).key),
    ).filter((id) => id !== null);
    for (let round = 0; round < 120; round++) {
      const weighing: Weighing = {
        ...{ isEvidence, dustUsd: 1, dustShare: 0.01 },
        wrapped: round % 4 === 0 ? null : wrapped,
      };
      const direction = DIRECTIONS[round % 3]!;
      const [start, target] = [ids[pick(ids.length)]!, ids[pick(ids.length)]!];
      const degreeMax = round % 5 === 0 ? 8 : 10_000;
      const nodesMax = 2 + pick(ADDRESSES);
      const deps = { workspace, weighing, isService: (node: number) => node % 9 === 0 };
      const path = {
        ...{ start, target, direction, degreeMax, nodesMax, maxDepth: 1 + pick(6), pathsMax: 1 + pick(10) },
        ...{ stepsMax: 10_000, timeRespecting: round % 2 === 0 },
      };
      const [paths, pathsBySums, pathsInLayers] = [graph, bySums, inLayers].map((each) =>
        findPaths(path, { ...deps, graph: each }),
      );
      expect(paths).toEqual(pathsBySums);
      expect(paths).toEqual(pathsInLayers);
      if (paths!.truncated) cut++;
      const trace = { start, direction, hops: 1 + pick(3), degreeMax, nodesMax, edgesMax: 300 };
      const [traced, tracedBySums] = [graph, bySums].map((each) => traverse(trace, { ...deps, graph: each }));
      expect(traced).toEqual(tracedBySums);
    }
  }
  expect(cut).toBeGreaterThan(20);
  await store.close();
});
