import { describe, expect, it } from 'vitest';
import type { EdgeDetail, TransferGraph } from '../../src/graph/graph.ts';
import { GRAPH_LIMITS } from '../../src/graph/limits.ts';
import type { Attributions } from '../../src/screening/attributions.ts';
import { SCREENING_LIMITS } from '../../src/screening/limits.ts';
import { GraphAnswer } from '../../src/screening/trace-graph.ts';

/** One asset more than an answer lists of a pair. */
const ASSETS = Array.from({ length: GRAPH_LIMITS.assetsListedMax + 1 }, (_, at) => ({
  asset: `0x${at.toString(16).padStart(40, '0')}`,
  decimals: 0,
  amount: 1n,
  valueUsd: null,
  transfers: 1,
  firstSeenMs: 0,
  lastSeenMs: 0,
})) as unknown as EdgeDetail[];

const graph = {
  chain: 'TRON',
  addressOf: (node: number) => `T${node}`,
  edge: () => ASSETS,
} as unknown as TransferGraph;
const attributions = { of: () => ({ entity: null }) } as unknown as Attributions;

describe('the edges of an answer', () => {
  it('end at their maximum, of which a pair that is shown already takes nothing', () => {
    const answer = new GraphAnswer(graph, attributions);
    const pairs = SCREENING_LIMITS.traceAssetEdgesMax / GRAPH_LIMITS.assetsListedMax;
    answer.addNode(0, 0);
    for (let at = 1; at < pairs; at++) answer.addPair(0, at);
    expect(answer.addPair(0, 1)).toHaveLength(GRAPH_LIMITS.assetsListedMax);
    // Room for one more pair is still left.
    expect(answer.addPair(1, 2)).toHaveLength(GRAPH_LIMITS.assetsListedMax);
    expect(answer.render().stoppedAt).toEqual([]);
    expect(answer.addPair(2, 3)).toEqual([]);
    expect(answer.addPair(0, 1)).toHaveLength(GRAPH_LIMITS.assetsListedMax);
    const { stoppedAt, stats } = answer.render();
    expect(stoppedAt).toEqual([{ address: 'T2', reason: 'BUDGET' }]);
    expect(stats.totalEdges).toBe(SCREENING_LIMITS.traceAssetEdgesMax);
  });
});
