/** The bounds of an exposure index: kinds of addresses, those that may need notes, and the files that it rests on. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createInputs, factsVersion } from '../../src/exposure/facts.ts';
import { checksumOf } from '../../src/exposure/format.ts';
import { COLUMNS_MAX, HUB, NEUTRAL, PASSES, readKinds, withoutColumns } from '../../src/exposure/kinds.ts';
import { markForgeable, mayHaveNotes, rememberedShapes, SeenShapes } from '../../src/exposure/notes.ts';
import type { TransferGraph } from '../../src/graph/graph.ts';
import { tempFolder } from '../accounts/temp-folder.ts';
import { type MemoryEdge, memoryGraph } from '../graph/memory-graph.ts';

const weighing = { isEvidence: () => true, dustUsd: 0, dustShare: 0 };

describe('the kinds of addresses', () => {
  const graph = memoryGraph([1, 2, 3, 4, 5].map((to) => ({ from: 6, to, valueUsd: 1 })));
  /** The same graph, in which some addresses have too many counterparties to be read. */
  const withHubs = (...hubs: number[]): TransferGraph => ({
    ...graph,
    degree: (node) => (hubs.includes(node) ? 1_000_000 : 1),
  });
  const attributed = (
    column: string | null,
    until: { fromMs: number; before: string | null } | null = null,
  ) => ({
    now: { column, name: String(column) },
    until: until && {
      fromMs: until.fromMs,
      before: until.before === null ? null : { column: until.before, name: until.before },
    },
  });

  it('are numbered by their columns, neutral ones and hubs apart', () => {
    const found: Record<number, ReturnType<typeof attributed>> = {
      1: attributed('A'),
      2: attributed(null),
      3: attributed('B', { fromMs: 5, before: 'A' }),
      4: attributed('A', { fromMs: 6, before: null }),
      5: attributed('B', { fromMs: 7, before: null }),
    };
    const kinds = readKinds({ graph: withHubs(5, 6), weighing, attribution: (node) => found[node] ?? null });
    expect([...kinds.kinds]).toEqual([PASSES, 0, NEUTRAL, 1, 0, 1, HUB]);
    expect(kinds).toMatchObject({ columns: ['A', 'B'], hubs: [6], attributed: 5 });
    expect([...kinds.before]).toEqual([
      [3, { fromMs: 5, kind: 0 }],
      [4, { fromMs: 6, kind: PASSES }],
      [5, { fromMs: 7, kind: HUB }],
    ]);
    const left = withoutColumns(kinds, (column) => column === 'A', { graph: withHubs(1), weighing });
    expect([...(left?.kinds ?? [])]).toEqual([PASSES, HUB, NEUTRAL, 1, PASSES, 1, HUB]);
    expect(left?.before.get(3)).toEqual({ fromMs: 5, kind: PASSES });
    expect(left?.before.get(5)).toEqual({ fromMs: 7, kind: HUB });
    expect(withoutColumns(kinds, () => false, { graph, weighing })).toBeNull();
  });

  it('are so many and no more', () => {
    const many = (nodeCount: number) =>
      readKinds({
        graph: { ...graph, nodeCount },
        weighing,
        attribution: (node) => attributed(String(node)),
      });
    expect(many(COLUMNS_MAX).columns).toHaveLength(COLUMNS_MAX);
    expect(() => many(COLUMNS_MAX + 1)).toThrow('More than 4096 kinds');
  });
});

describe('an address that may need notes', () => {
  const edges: MemoryEdge[] = [
    { from: 1, to: 2, valueUsd: 1 },
    { from: 3, to: 1, valueUsd: 1 },
  ];
  const graph = memoryGraph(edges);
  const notes = (shapes: Record<number, number>, risky: number[] = [], of: TransferGraph = graph) =>
    mayHaveNotes(
      of,
      1,
      (other) => risky.includes(other),
      (node) => shapes[node] ?? node + 10,
    );

  it('has look-alikes among those it dealt with and itself, or dealt with a risky one, or with too many', () => {
    expect([notes({}), notes({ 2: 5, 3: 5 }), notes({ 1: 5, 3: 5 }), notes({ 2: 1, 3: 1 })]).toEqual([
      false,
      true,
      true,
      false,
    ]);
    expect([
      notes({}, [2]),
      notes({}, [3]),
      notes({}, [4]),
      mayHaveNotes(graph, 1, null, (node) => node + 10),
    ]).toEqual([true, true, false, false]);
    const degree = (count: number) => notes({}, [], { ...graph, degree: () => count });
    expect([degree(2_000), degree(2_001)]).toEqual([false, true]);
    const seen = new SeenShapes();
    expect([seen.add(5, 1), seen.add(5, 1), seen.add(5, 2), seen.add(1, 3), seen.add(1, 4)]).toEqual([
      false,
      false,
      true,
      false,
      false,
    ]);
    seen.clear();
    expect(seen.add(5, 2)).toBe(false);
    // Addresses of small numbers agree in their first digits, and differ in their last four.
    const shape = rememberedShapes(graph);
    const first = shape(1);
    expect([shape(2) === first, shape(1) === first]).toEqual([false, true]);
  });

  it('is marked for transfers that anybody can forge, with a risky address', () => {
    const marked = (edge: Partial<MemoryEdge>, isEvidence = true, risky = 1) => {
      const marks = markForgeable(
        memoryGraph([{ from: 1, to: 2, valueUsd: 1, asset: 'T', amount: 1, ...edge }]),
        { isRisky: (node) => node === risky, isEvidence: () => isEvidence },
        () => {},
      );
      return [...(marks ?? [])];
    };
    expect([marked({}), marked({ transfers: 2 }), marked({ amount: 0 }), marked({}, false)]).toEqual([
      [0, 0, 0],
      [0, 0, 1],
      [0, 0, 1],
      [0, 0, 1],
    ]);
    expect([
      marked({ asset: 'ETH', amount: 0, transfers: 2 }, false),
      marked({ amount: 0 }, true, 2),
      marked({ amount: 0 }, true, 3),
    ]).toEqual([
      [0, 0, 0],
      [0, 1, 0],
      [0, 0, 0],
    ]);
    const huge = { ...graph, degree: () => 1_000_000 };
    expect(markForgeable(huge, { isRisky: () => true, isEvidence: () => true }, () => {})).toBeNull();
  });
});

describe('the inputs of an index', () => {
  it('change with an own file of tokens, and are read once', () => {
    const folder = tempFolder();
    const path = join(folder.path, 'tokens.json');
    const without = factsVersion(null);
    expect([factsVersion(path), without.length]).toEqual([without, 16]);
    writeFileSync(path, '[]');
    const own = factsVersion(path);
    expect(own).not.toBe(without);
    const inputs = createInputs({ dataVersion: () => 'd', policyVersion: () => 'p', tokensFile: path });
    expect(inputs('ETH')).toMatchObject({ chain: 'ETH', dataVersion: 'd', policyVersion: 'p', facts: own });
    writeFileSync(path, '[1]');
    expect(inputs('BSC').facts).toBe(own);
    expect(factsVersion(path)).not.toBe(own);
    const bytes = Buffer.alloc(8);
    const sum = checksumOf(new Uint8Array(bytes.buffer, bytes.byteOffset, 8));
    for (let at = 0; at < 8; at++) {
      const changed = new Uint8Array(8);
      changed[at] = 1;
      expect(checksumOf(changed)).not.toBe(sum);
    }
    folder.remove();
  });
});
