/** The bounds of an exposure index: kinds of addresses, those that may need notes, and the files that it rests on. */
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { silentLogger } from '../../src/base/log.ts';
import { parseAddress } from '../../src/chains/address/parse.ts';
import { createInputs, factsVersion } from '../../src/exposure/facts.ts';
import { checksumOf } from '../../src/exposure/format.ts';
import { COLUMNS_MAX, HUB, NEUTRAL, PASSES, readKinds, withoutColumns } from '../../src/exposure/kinds.ts';
import { markForgeable, mayHaveNotes, rememberedShapes, SeenShapes } from '../../src/exposure/notes.ts';
import { createExposureReader, isSameInputs, isStoredIn, positionIn } from '../../src/exposure/reader.ts';
import { chainsWithTransfers, exposureStatus } from '../../src/exposure/status.ts';
import type { TransferGraph } from '../../src/graph/graph.ts';
import { EXPOSURE } from '../../src/screening/exposure-port.ts';
import { SCREENING_LIMITS } from '../../src/screening/limits.ts';
import { tempFolder } from '../accounts/temp-folder.ts';
import { type MemoryEdge, memoryGraph } from '../graph/memory-graph.ts';
import {
  addressOf,
  createExposureWorld,
  type ExposureWorld,
  randomLabels,
  randomTransfers,
} from './world.ts';

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

  it('are numbered by their columns, with separate numbers for neutral addresses and hubs', () => {
    const found: Record<number, ReturnType<typeof attributed>> = {
      1: attributed('A'),
      2: attributed(null),
      3: attributed('B', { fromMs: 5, before: 'A' }),
      4: attributed('A', { fromMs: 6, before: null }),
      5: attributed('B', { fromMs: 7, before: null }),
    };
    const kinds = readKinds({
      graph: withHubs(5, 6),
      weighing,
      attribution: (node) => found[node] ?? null,
      isSuspected: (node) => node === 2 || node === 6,
    });
    expect([...kinds.suspected]).toEqual([2, 6]);
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

  it('are limited in number', () => {
    const many = (nodeCount: number) =>
      readKinds({
        graph: { ...graph, nodeCount },
        weighing,
        attribution: (node) => attributed(String(node)),
        isSuspected: () => false,
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

  it('resembles a counterparty, or has transfers with a risky one or with too many', () => {
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

  it('is marked for forgeable transfers with a risky address', () => {
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
  it('change with a custom token file, and are read once', () => {
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
    folder.remove();
  });
});

describe('the checksum of an index', () => {
  it('changes with every byte', () => {
    const sum = checksumOf(new Uint8Array(8));
    for (let at = 0; at < 8; at++) {
      const changed = new Uint8Array(8);
      changed[at] = 1;
      expect(checksumOf(changed)).not.toBe(sum);
    }
  });

  it('stays the same from release to release, because an index that was built before is read by it', () => {
    const words = (...values: number[]) => new Uint8Array(Uint32Array.from(values).buffer);
    // FNV-1a over words: each is combined by XOR, and the sum is multiplied by the prime 0x01000193.
    expect(checksumOf(words())).toBe(0x811c9dc5);
    expect(checksumOf(words(0))).toBe(0x050c5d1f);
    expect(checksumOf(words(1, 2))).toBe(0xed74208a);
  });
});

describe('a reader of indexes', () => {
  let built: ExposureWorld;
  beforeAll(async () => {
    built = await createExposureWorld(randomTransfers(3, 10, 20), randomLabels(3, 10, 0.3));
    await built.build();
  });
  afterAll(() => built.close());

  /** A reader of the index, of transfers that may be others, and how often it looked at them. */
  function readerAt(ms: number) {
    const state = {
      ms,
      looks: 0,
      position: built.deps.transfers.logPosition('ETH'),
      inputs: built.inputs,
      isStored: false,
    };
    const reader = createExposureReader(built.indexes, {
      clock: { now: () => state.ms, monotonic: () => 0 },
      log: silentLogger,
      position: () => {
        state.looks++;
        return state.position;
      },
      coverage: () => ({ asOf: null }) as never,
      isStored: () => state.isStored,
      inputs: () => state.inputs,
    });
    const { key } = parseAddress('ETH', addressOf(500));
    const find = () => reader.find('ETH', key, key.length);
    const status = () => {
      find();
      return reader.status();
    };
    return { state, reader, find, status };
  }

  it('checks again after 250 ms, and if the clock moved backwards', () => {
    const { state, status } = readerAt(10_000_000);
    const looksAt = (ms: number): number => {
      state.ms = ms;
      status();
      return state.looks;
    };
    const times = [10_000_000, 10_000_249, 10_000_250, 10_000_001, 10_000_000].map(looksAt);
    expect(times).toEqual([1, 1, 2, 2, 3]);
  });

  it('reports NO_GRAPH without transfers, and NOT_READ for another store', () => {
    const { state, status, find } = readerAt(10_000_000);
    const { position } = state;
    if (position === null) throw new Error('There are transfers.');
    const at = (now: typeof position | null) => {
      state.ms += 1_000;
      state.position = now;
      return [status().state, find()];
    };
    expect(at(null)).toEqual(['NO_GRAPH', EXPOSURE.NO_GRAPH]);
    expect(at({ ...position, transfers: 0 })).toEqual(['NO_GRAPH', EXPOSURE.NO_GRAPH]);
    expect(at(position)).toEqual(['READY', EXPOSURE.UNSEEN]);
    expect(at({ ...position, store: 'another' })).toEqual(['NOT_READ', EXPOSURE.NOT_READ]);
  });

  it('reports NOT_READ for an address of unread transfers, and UNSEEN for others', () => {
    const { state, find } = readerAt(10_000_000);
    expect(find()).toBe(EXPOSURE.UNSEEN);
    state.isStored = true;
    expect(find()).toBe(EXPOSURE.UNSEEN);
    const { position } = state;
    if (position === null) throw new Error('There are transfers.');
    for (const behind of [{ ordinal: position.ordinal + 1 }, { transfers: position.transfers + 1 }]) {
      state.ms += 1_000;
      state.position = { ...position, ...behind };
      expect(find()).toBe(EXPOSURE.NOT_READ);
    }
    state.isStored = false;
    expect(find()).toBe(EXPOSURE.UNSEEN);
  });

  it('is outdated ten minutes after it was last current with transfers, labels and policy', () => {
    const start = 1_800_000_000_500;
    const { state, status } = readerAt(start);
    const second = 1_800_000_000_000;
    expect(status()).toMatchObject({ state: 'READY', asOf: new Date(second).toISOString(), isOld: false });
    state.inputs = { ...state.inputs, policyVersion: 'another' };
    state.ms = start + SCREENING_LIMITS.exposureWaitMsMax;
    const known = status();
    expect(known).toMatchObject({ asOf: new Date(second).toISOString(), isOld: false });
    state.ms += 500;
    const old = status();
    expect(old).toMatchObject({ asOf: new Date(second).toISOString(), isOld: true });
    state.ms += 500;
    // Nothing changed: the same object.
    expect(status()).toBe(old);
    state.inputs = built.inputs;
    state.ms += 500;
    expect(status()).toMatchObject({ isOld: false });
  });

  it('is reported as current, behind, of other inputs, or missing', () => {
    const position = built.deps.transfers.logPosition('ETH');
    if (position === null) throw new Error('There are transfers.');
    const statusAt = (change: Partial<typeof position>, inputs = built.inputs) => {
      const transfers = {
        logPosition: (chain: string) => (chain === 'ETH' ? { ...position, ...change } : null),
      };
      const [status, ...others] = exposureStatus(built.indexes, {
        transfers,
        inputs: () => inputs,
        log: silentLogger,
      });
      expect(others).toEqual([]);
      return status;
    };
    const shown = statusAt({});
    expect(shown).toMatchObject({ chain: 'ETH', state: 'CURRENT', newTransfers: 0, computed: 0, waiting: 0 });
    expect(shown?.addresses).toBe(built.deps.transfers.graph('ETH')?.nodeCount);
    expect(statusAt({ ordinal: position.ordinal + 1 })).toMatchObject({ state: 'BEHIND', newTransfers: 1 });
    const others = { ...built.inputs, facts: 'x' };
    expect(statusAt({ ordinal: position.ordinal + 1 }, others)?.state).toBe('OTHER_INPUTS');
    expect(statusAt({ store: 'another' })).toEqual({
      ...{ chain: 'ETH', state: 'MISSING', asOf: null, addresses: 0, entries: 0 },
      ...{ newTransfers: position.ordinal, computed: 0, waiting: 0 },
    });
    expect(statusAt({ transfers: 0 })).toBeUndefined();
    expect(
      chainsWithTransfers({ logPosition: () => ({ ...position, transfers: 1 }) }).length,
    ).toBeGreaterThan(30);
  });

  it('compares all inputs of an index, and finds no local position of a remote store', () => {
    const { inputs } = built;
    expect(isSameInputs(inputs, { ...inputs })).toBe(true);
    for (const other of [
      { chain: 'BSC' as const },
      { dataVersion: 'x' },
      { policyVersion: 'x' },
      { facts: 'x' },
      { maxHops: inputs.maxHops + 1 },
    ])
      expect(isSameInputs(inputs, { ...inputs, ...other })).toBe(false);
    const position = positionIn({ logPosition: () => null }, { BTC: 'url' });
    expect([position('ETH'), position('BTC')]).toEqual([null, { store: 'remote', ordinal: 0, transfers: 1 }]);
    const isStored = isStoredIn(built.deps.transfers);
    const keyOf = (node: number) => parseAddress('ETH', addressOf(node)).key;
    expect([isStored('ETH', keyOf(1)), isStored('ETH', keyOf(500)), isStored('BSC', keyOf(1))]).toEqual([
      true,
      false,
      false,
    ]);
  });
});
