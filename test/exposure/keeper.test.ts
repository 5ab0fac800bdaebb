import { rmSync } from 'node:fs';
import { afterEach, describe, expect, it } from 'vitest';
import { type Logger, silentLogger } from '../../src/base/log.ts';
import type { ChainId } from '../../src/chains/registry.ts';
import type { Transfer } from '../../src/chains/transfer.ts';
import type { ChangesState } from '../../src/exposure/changes.ts';
import { createExposureKeeper, type ExposureKeeper, type KeeperDeps } from '../../src/exposure/keeper.ts';
import { exposureFolderOf, openCurrent } from '../../src/exposure/reader.ts';
import type { TransferStore } from '../../src/graph/store.ts';
import { createOracle } from '../../src/screening/oracle.ts';
import {
  addressOf,
  createExposureWorld,
  type ExposureWorld,
  paymentOf,
  randomLabels,
  randomTransfers,
} from './world.ts';

const quota = { limit: 1000, remaining: 999, resetAt: '2026-12-01T00:00:00.000Z' };

let world: ExposureWorld | null = null;
afterEach(async () => {
  await world?.close();
  world = null;
});

describe('the index keeper', () => {
  it('builds a missing index, follows new transfers, and rebuilds when its inputs change', async () => {
    const built = await createExposureWorld(randomTransfers(3, 20, 60), randomLabels(3, 20, 0.3));
    world = built;
    const { deps, clock, exposures } = built;
    const times = { at: 0 };
    let inputs = built.inputs;
    let builds = 0;
    let building: Promise<void> = Promise.resolve();
    const keeper = createExposureKeeper(
      { folder: built.indexes, transfersFolder: `${built.folder}/transfers` },
      {
        ...deps,
        clock: { now: () => clock.at, monotonic: () => times.at++ },
        log: silentLogger,
        inputs: () => inputs,
        build() {
          builds++;
          building = built.build().then(() => {});
          return building;
        },
      },
    );
    const round = async (): Promise<void> => {
      keeper.tick();
      await building;
      // The callback of a build runs after it.
      await new Promise((resolve) => setImmediate(resolve));
    };
    const ask = createOracle({ ...deps, exposures });
    const codes = (node: number): readonly string[] => {
      clock.at += 1_000;
      return ask('ETH', addressOf(node), quota).reasons.map(({ code }) => code);
    };
    expect(codes(1)).toContain('GRAPH_NOT_READ');
    expect(keeper.kept()).toEqual([]);
    keeper.tick();
    expect(keeper.kept()).toEqual([
      { chain: 'ETH', state: 'BUILDING', reason: 'no index yet', waiting: null },
    ]);
    await round();
    await round();
    expect(builds).toBe(1);
    expect(codes(1)).not.toContain('GRAPH_NOT_READ');
    expect(keeper.kept()).toEqual([{ chain: 'ETH', state: 'CURRENT', reason: null, waiting: 0 }]);

    await deps.transfers.ingest(randomTransfers(4, 25, 30, 1_000));
    await round();
    await round();
    expect(builds).toBe(1);
    clock.at += 60 * 60_000;
    expect(codes(1)).not.toContain('GRAPH_NOT_READ');

    inputs = { ...inputs, policyVersion: 'another' };
    await round();
    // Not at once: builds are spread out. New transfers are read meanwhile.
    expect(builds).toBe(1);
    await deps.transfers.ingest(randomTransfers(5, 40, 60, 2_000));
    expect(codes(30)).toContain('GRAPH_NOT_READ');
    await round();
    expect(builds).toBe(1);
    expect(codes(30)).not.toContain('GRAPH_NOT_READ');
    times.at += 60_000;
    await round();
    expect(builds).toBe(2);
  });

  const DAY_MS = 86_400_000;
  /** Four addresses. */
  const few = [paymentOf(1, 2), paymentOf(3, 4)];
  const label = {
    node: 1,
    category: 'MIXER',
    confidence: 0.9,
    source: 'graphsense',
    entity: 'mixer',
  } as const;

  /** A keeper whose monotonic clock is at `time.ms` and advances by `time.step` with each reading, and its build reasons, errors and ends of builds. */
  async function keepWith(transfers: readonly Transfer[], over: Partial<KeeperDeps> = {}) {
    const built = await createExposureWorld(transfers, [label]);
    world = built;
    const time = { ms: 0, step: 0 };
    const began: string[] = [];
    const ended: string[] = [];
    const errors: string[] = [];
    const ends: { done(): void; fail(error: Error): void }[] = [];
    const log: Logger = {
      ...silentLogger,
      info: (fields: { chain: string; reason: string; seconds: number }, text: string) =>
        text === 'exposure index build started'
          ? began.push(`${fields.chain}: ${fields.reason}`)
          : ended.push(`${fields.chain}: ${text} after ${fields.seconds} s`),
      error: ({ chain, reason }: { chain: string; reason: string }, text: string) =>
        errors.push(`${chain}: ${text}: ${reason}`),
    } as unknown as Logger;
    const keeper = createExposureKeeper(
      { folder: built.indexes, transfersFolder: `${built.folder}/transfers` },
      {
        ...built.deps,
        clock: {
          now: () => built.clock.at,
          monotonic: () => {
            time.ms += time.step;
            return time.ms;
          },
        },
        log,
        inputs: () => built.inputs,
        build: () => new Promise((done, fail) => ends.push({ done, fail })),
        ...over,
      },
    );
    return { built, time, began, ended, errors, ends, keeper };
  }

  const nextTurn = () => new Promise((resolve) => setImmediate(resolve));

  /** Another state of the changes over the index in force. It is seen from the next turn on. */
  async function setState(
    built: ExposureWorld,
    state: Partial<ChangesState>,
    waiting: readonly number[] = [],
  ): Promise<void> {
    const opened = openCurrent(exposureFolderOf(built.indexes, 'ETH'), silentLogger, {
      check: false,
    })?.opened;
    if (opened === undefined) throw new Error('There is no index.');
    const { changes, index } = opened;
    changes.write(() => {
      for (const node of waiting) changes.wait(node, 1);
      changes.setState({
        position: index.meta.position,
        processedAtMs: 1,
        allWaitSinceMs: null,
        computed: 0,
        added: 0,
        waiting: waiting.length,
        ...state,
      });
    });
    await nextTurn();
  }

  /** Ticks twice, a day apart, so that no gap between two builds holds a build up. */
  function tickLater(keeper: ExposureKeeper, time: { ms: number }): void {
    keeper.tick();
    time.ms += DAY_MS;
    keeper.tick();
  }

  it('runs one build at a time, and the next after 30 s or twice the last duration', async () => {
    const { time, began, ended, errors, ends, keeper } = await keepWith([...few, paymentOf(1, 2, 'BSC')]);
    keeper.tick();
    keeper.tick();
    expect(began).toEqual(['ETH: no index yet']);
    time.ms = 40_000;
    ends[0]?.fail(new Error('no room'));
    await nextTurn();
    expect(errors).toEqual(['ETH: exposure index build failed: no room']);
    keeper.tick();
    // The other chain has no gap to keep.
    expect(began).toEqual(['ETH: no index yet', 'BSC: no index yet']);
    time.ms = 41_000;
    ends[1]?.done();
    await nextTurn();
    expect(ended).toEqual(['BSC: exposure index build finished after 1 s']);
    time.ms = 70_999;
    keeper.tick();
    expect(began).toHaveLength(2);
    time.ms = 71_000;
    keeper.tick();
    expect(began.slice(2)).toEqual(['BSC: no index yet']);
    ends[2]?.done();
    await nextTurn();
    // 30 s of the second chain begin again; the first one waits twice its 40 s.
    time.ms = 100_999;
    keeper.tick();
    expect(began).toHaveLength(3);
    time.ms = 119_999;
    keeper.tick();
    ends[3]?.done();
    await nextTurn();
    keeper.tick();
    expect(began.slice(3)).toEqual(['BSC: no index yet']);
    time.ms = 120_000;
    keeper.tick();
    // After a failed build, the next failures are not logged until one succeeds.
    expect([ends.length, began.slice(4)]).toEqual([5, []]);
  });

  it('rebuilds a removed index, and the index of a replaced store', async () => {
    const { built, time, began, ends, keeper } = await keepWith(few);
    await built.build();
    const { transfers } = built.deps;
    const graph = transfers.graph.bind(transfers);
    let reads = 0;
    transfers.graph = (chain) => {
      reads++;
      return graph(chain);
    };
    keeper.tick();
    const first = reads;
    tickLater(keeper, time);
    // It is opened, and its addresses are looked up, once.
    expect([began, reads < 3 * first]).toEqual([[], true]);
    rmSync(built.indexes, { recursive: true });
    tickLater(keeper, time);
    expect(began).toEqual(['ETH: no index yet']);
    await built.build();
    ends[0]?.done();
    await nextTurn();
    tickLater(keeper, time);
    expect(began).toHaveLength(1);
  });

  it('rebuilds if a change affects too many addresses, too much is new, or too much changed since the build', async () => {
    const replaced = { is: false };
    const { built, time, began, ends, keeper } = await keepWith(few);
    const { transfers } = built.deps;
    const logPosition = transfers.logPosition.bind(transfers);
    transfers.logPosition = (chain) => {
      const position = logPosition(chain);
      return position && replaced.is ? { ...position, store: 'another' } : position;
    };
    const round = async (reason: string): Promise<void> => {
      tickLater(keeper, time);
      expect(began.splice(0)).toEqual([`ETH: ${reason}`]);
      await built.build();
      ends.shift()?.done();
      await nextTurn();
      tickLater(keeper, time);
      expect(began).toEqual([]);
    };
    await round('no index yet');
    await setState(built, { allWaitSinceMs: 1 });
    await round('a change affects too many addresses');
    // A quarter of the four addresses, and 10,000.
    await setState(built, { computed: 10_001 });
    tickLater(keeper, time);
    expect(began).toEqual([]);
    await setState(built, { computed: 10_002 });
    await round('many entries changed since the build');
    replaced.is = true;
    tickLater(keeper, time);
    expect(began).toEqual(['ETH: too many new transfers']);
  });

  it('rebuilds if pending entries would take five minutes, once 50 entries are measured', async () => {
    const pairs = Array.from({ length: 40 }, (_, at) => paymentOf(2 * at + 1, 2 * at + 2));
    const { built, time, began, keeper } = await keepWith(pairs);
    await built.build();
    keeper.tick();
    const some = Array.from({ length: 49 }, (_, at) => at + 1);
    // As many as a fifth of a core computes in half an hour, at a millisecond each.
    await setState(built, { waiting: 360_000 }, some);
    time.step = 1;
    for (let ticks = 0; ticks < 3; ticks++) keeper.tick();
    expect(began).toEqual([]);
    await setState(built, { waiting: 360_000 }, [50]);
    keeper.tick();
    expect(began).toEqual(['ETH: too many pending entries']);
  });

  it('skips chains without transfers, and logs which chain fails', async () => {
    const requested: ChainId[] = [];
    const { built, began, errors, keeper } = await keepWith([
      ...few,
      paymentOf(1, 2, 'BSC'),
      paymentOf(1, 2, 'POLYGON'),
    ]);
    const { transfers } = built.deps as { transfers: TransferStore };
    const logPosition = transfers.logPosition.bind(transfers);
    transfers.logPosition = (chain) => {
      requested.push(chain);
      if (chain === 'ETH') throw new Error('torn');
      const position = logPosition(chain);
      return position && chain === 'BSC' ? { ...position, transfers: 0 } : position;
    };
    keeper.tick();
    expect(requested.sort()).toEqual(['BSC', 'ETH', 'POLYGON']);
    expect(errors).toEqual(['ETH: exposure index update failed: torn']);
    expect(began).toEqual(['POLYGON: no index yet']);
  });
});
