import { afterEach, describe, expect, it } from 'vitest';
import { silentLogger } from '../../src/base/log.ts';
import type { Block } from '../../src/chains/block.ts';
import type { Transfer } from '../../src/chains/transfer.ts';
import { createWalk, ENTRY_HOPS } from '../../src/exposure/evaluate.ts';
import { EXPOSURE_LIMITS } from '../../src/exposure/limits.ts';
import { exposureFolderOf, openCurrent } from '../../src/exposure/reader.ts';
import { createUpdater, type ExposureUpdater, type UpdaterDeps } from '../../src/exposure/update.ts';
import { createNeighbourColumns, type TransferGraph } from '../../src/graph/graph.ts';
import { RowReader } from '../../src/graph/kernels/rows.ts';
import { createAssessor } from '../../src/screening/assess.ts';
import { mayPass } from '../../src/screening/attribution.ts';
import { createOracle } from '../../src/screening/oracle.ts';
import { spoofingOf } from '../../src/screening/spoofable.ts';
import { parseSubject } from '../../src/screening/subject.ts';
import { weighingOf } from '../../src/screening/weighing.ts';
import {
  addressOf,
  createExposureWorld,
  type ExposureWorld,
  MANY_UNPRICED,
  randomLabels,
  randomTransfers,
  TOKEN,
  UNPRICED,
  type WorldLabel,
} from './world.ts';

const quota = { limit: 1000, remaining: 999, resetAt: '2026-12-01T00:00:00.000Z' };
const MINUTE_MS = 60_000;
/** `npm test` takes a part of the random graphs, because each takes seconds. */
const LONG = process.env.ASSAY_TEST_LONG === '1';
/** Transfers between two comparisons of an index with many tokens. */
const STEP = LONG ? 25 : 50;

let world: ExposureWorld | null = null;
afterEach(async () => {
  await world?.close();
  world = null;
});

interface Kept {
  readonly built: ExposureWorld;
  readonly updater: ExposureUpdater;
  /** Entries that were computed by a walk. */
  readonly walked: number[];
}

/** Builds an index of the first transfers, and the updater of the index. */
async function keep(
  transfers: readonly Transfer[],
  labels: readonly WorldLabel[],
  over: Partial<Pick<UpdaterDeps, 'clock'>> & { readonly transfers?: Partial<UpdaterDeps['transfers']> } = {},
): Promise<Kept> {
  const built = await createExposureWorld(transfers, labels);
  world = built;
  await built.build();
  const { deps } = built;
  const opened = openCurrent(exposureFolderOf(built.indexes, 'ETH'), silentLogger, { check: true })?.opened;
  if (opened === undefined) throw new Error('The index was not opened.');
  const assessor = createAssessor(deps);
  const walk = createWalk('ETH', assessor, deps, ENTRY_HOPS);
  const walked: number[] = [];
  const updater = createUpdater('ETH', opened, {
    clock: over.clock ?? deps.clock,
    transfers: { ...deps.transfers, ...over.transfers },
    weighing: weighingOf('ETH', deps),
    evaluate(graph, node, directions) {
      walked.push(node);
      return walk(graph, node, directions);
    },
    passes: (graph, node) => mayPass(assessor.attributions(graph, deps.labels.current, null).of(node)),
  });
  return { built, updater, walked };
}

/** The assessor and the oracle of each world: making them takes as long as an assessment of all its addresses. */
const askedBy = new WeakMap<ExposureWorld, ReturnType<typeof createAsking>>();
const createAsking = ({ deps, exposures }: ExposureWorld) => ({
  assess: createAssessor(deps).assess,
  ask: createOracle({ ...deps, exposures }),
});

/** Compares the entry of every address with a walk of the current graph. Returns the number of addresses with transfers with a party before its designation. */
function expectCurrent(built: ExposureWorld, nodes: number): number {
  let earlier = 0;
  const { deps, clock } = built;
  clock.at += 1_000;
  const { assess, ask } = askedBy.get(built) ?? createAsking(built);
  askedBy.set(built, { assess, ask });
  const graph = deps.transfers.graph('ETH') as TransferGraph;
  const rows = new RowReader(graph, weighingOf('ETH', deps));
  /** An address without anything but dust follows the dust of others too, for which nothing waits. */
  const isDustAlone = (key: Uint8Array): boolean => {
    const id = graph.idOf(key);
    if (id === null) return false;
    return (['in', 'out'] as const).some((direction) => {
      const basis = rows.basisOf(id, direction);
      return basis.total > 0 && rows.read(id, direction, basis, 0, createNeighbourColumns(0)).heavy === 0;
    });
  };
  for (let node = 0; node < nodes; node++) {
    const address = addressOf(node);
    if (isDustAlone(parseSubject('ETH', address).key)) continue;
    const subject = parseSubject('ETH', address);
    const walked = assess({ subject, asOf: null, maxHops: 3, directions: ['in', 'out'] });
    const read = ask('ETH', address, quota);
    const reasons = read.reasons.filter(({ code }) => code !== 'NOT_ASSESSED');
    expect({ score: read.score, assessed: read.assessed, reasons }, `address ${node}`).toEqual({
      score: walked.judged.riskScore,
      assessed: walked.assessed,
      reasons: [...walked.reasons, ...spoofingOf(walked, deps).reasons],
    });
    if (reasons.some(({ code }) => code === 'BEFORE_DESIGNATION')) earlier++;
  }
  return earlier;
}

/**
 * The same with prices for all transfers of an asset or for none, and without mints of dust: dust that has no edge of its own moves the shares
 * of others by as little as it is worth, and nothing waits for that.
 */
function withPrices(transfers: readonly Transfer[]): Transfer[] {
  const priced = new Set(transfers.filter(({ valueUsd }) => valueUsd !== null).map(({ asset }) => asset));
  return transfers.map((transfer) =>
    priced.has(transfer.asset)
      ? {
          ...transfer,
          from: transfer.amount < 10n ** 15n ? (transfer.from ?? addressOf(0)) : transfer.from,
          valueUsd: Number(transfer.amount) / 5e14,
        }
      : transfer,
  );
}

function settle(updater: ExposureUpdater): void {
  for (let round = 0; round < 100 && updater.follow() !== 'CURRENT'; round++);
  while (updater.waiting > 0) updater.recompute(1_000);
}

describe('an index that is kept up to date', () => {
  let earlier = 0;
  for (let seed = 1; seed <= (LONG ? 4 : 1); seed++)
    it(`matches walks after more transfers of many tokens without a price (${seed})`, async () => {
      const nodes = 12;
      const transfers = withPrices(randomTransfers(seed, nodes, 1_600, 0, MANY_UNPRICED)).map(
        (transfer, at) =>
          // Some tokens of an address are dust by their amount, and some no longer are after more transfers.
          MANY_UNPRICED.includes(transfer.asset) && at % 2 > 0
            ? { ...transfer, amount: at % 4 === 1 ? 1n : 10n ** 12n / 2n }
            : transfer,
      );
      const { built, updater } = await keep(transfers.slice(0, 1_500), randomLabels(seed, nodes, 0.2));
      for (let from = 1_500; from < 1_600; from += STEP) {
        await built.deps.transfers.ingest(transfers.slice(from, from + STEP));
        settle(updater);
        expectCurrent(built, nodes);
      }
    });
  for (let seed = 1; seed <= (LONG ? 16 : 3); seed++)
    it(`matches walks after more transfers (${seed})`, async () => {
      const nodes = 40;
      const transfers = withPrices(randomTransfers(seed, nodes, 160));
      const { built, updater } = await keep(transfers.slice(0, 80), randomLabels(seed, nodes, 0.2));
      for (let from = 80; from < 160; from += 20) {
        await built.deps.transfers.ingest(transfers.slice(from, from + 20));
        settle(updater);
        earlier += expectCurrent(built, nodes);
      }
    });

  for (let seed = 21; seed <= (LONG ? 26 : 21); seed++)
    it(`matches walks if some transfers of an asset have no price (${seed})`, async () => {
      const nodes = 40;
      const drawn = randomTransfers(seed, nodes, 160);
      // The unpriced ones of the draw lose their price again, and those of the first half of every third address.
      const transfers = withPrices(drawn).map((transfer, at) => {
        const isUnpriced =
          drawn[at]?.valueUsd === null ||
          (at < 80 && Number.parseInt(transfer.to?.slice(-2) ?? '', 16) % 3 === 0);
        return isUnpriced ? { ...transfer, valueUsd: null } : transfer;
      });
      const { built, updater } = await keep(transfers.slice(0, 80), randomLabels(seed, nodes, 0.2));
      for (let from = 80; from < 160; from += 20) {
        await built.deps.transfers.ingest(transfers.slice(from, from + 20));
        settle(updater);
        expectCurrent(built, nodes);
      }
    });

  for (let seed = 31; seed <= (LONG ? 34 : 31); seed++)
    it(`matches walks if coins are wrapped and unwrapped (${seed})`, async () => {
      const nodes = 40;
      const weth = '0xC02aaA39b223FE8D0A0e5C4F27eAD9083C756Cc2';
      const transfers = withPrices(randomTransfers(seed, nodes, 160)).map((transfer, at) => {
        const placed = transfer.to === addressOf(1) ? { ...transfer, to: weth } : transfer;
        if (at % 4 !== 0 || placed.to === weth) return placed;
        const coins = { ...placed, asset: 'ETH', valueUsd: Number(placed.amount) / 5e14 };
        return at % 8 === 0
          ? { ...coins, from: weth }
          : { ...coins, to: weth, from: coins.from ?? addressOf(0) };
      });
      const { built, updater } = await keep(transfers.slice(0, 80), randomLabels(seed, nodes, 0.2));
      for (let from = 80; from < 160; from += 20) {
        await built.deps.transfers.ingest(transfers.slice(from, from + 20));
        settle(updater);
        expectCurrent(built, nodes);
      }
    });

  it('contains transfers before a designation in entries computed since its build', () => {
    expect(earlier).toBeGreaterThan(12);
  });

  it('follows a block and its reorganisation', async () => {
    const nodes = 30;
    const transfers = withPrices(randomTransfers(5, nodes, 100));
    const { built, updater } = await keep(transfers.slice(0, 80), randomLabels(5, nodes, 0.3));
    const block: Block = {
      chain: 'ETH',
      height: 5_000,
      hash: '0xblock',
      parentHash: null,
      timestampMs: Date.parse('2026-02-01T00:00:00Z'),
      transfers: transfers.slice(80).map((transfer) => ({ ...transfer, blockNumber: 5_000 })),
    };
    await built.deps.transfers.appendBlock(block);
    settle(updater);
    expectCurrent(built, nodes);
    await built.deps.transfers.revertBlock('ETH', 5_000);
    settle(updater);
    expectCurrent(built, nodes);
  });

  const risky = {
    node: 1,
    category: 'MIXER',
    confidence: 0.9,
    source: 'graphsense',
    entity: 'mixer',
  } as const;
  const pay = (index: number, from: number, to: number, usd: number): Transfer => ({
    chain: 'ETH',
    txHash: `0x${index.toString(16).padStart(64, '0')}`,
    position: 'value',
    blockNumber: 100 + index,
    timestampMs: Date.parse('2026-01-01T00:00:00Z') + index * MINUTE_MS,
    from: addressOf(from),
    to: addressOf(to),
    asset: 'ETH',
    amount: BigInt(Math.round(usd * 100)) * 5_000_000_000_000n,
    decimals: 18,
    valueUsd: usd,
  });
  // The mixer pays 2, which pays 3, which pays 4.
  const chain = [pay(1, 1, 2, 10_000), pay(2, 2, 3, 9_000), pay(3, 3, 4, 8_000), pay(4, 5, 6, 100)];

  it('re-evaluates received tokens without a price when they are spent', async () => {
    const scam = { ...risky, node: 8, category: 'SCAM', entity: 'scam' } as const;
    const token = { asset: TOKEN, amount: 1_000_000_000n, decimals: 6, valueUsd: null };
    // Points of the mixer behind hide the token until it is spent.
    const before = [
      pay(1, 1, 2, 10_000),
      pay(2, 2, 3, 9_000),
      pay(3, 5, 3, 200),
      { ...pay(4, 8, 3, 1), ...token },
    ];
    const { built, updater } = await keep(before, [risky, scam]);
    const scoreNow = (): number =>
      createOracle({ ...built.deps, exposures: built.exposures })('ETH', addressOf(3), quota).score;
    const score = scoreNow();
    await built.deps.transfers.ingest([{ ...pay(10, 3, 9, 1), ...token }]);
    settle(updater);
    expectCurrent(built, 10);
    expect(scoreNow()).toBeGreaterThan(score);
  });

  it('makes affected addresses pending for a change, and not for dust', async () => {
    const { built, updater, walked } = await keep(chain, [risky]);
    const { transfers } = built.deps;
    await transfers.ingest([pay(10, 7, 2, 0.5)]);
    expect(updater.follow()).toBe('UPDATED');
    expect(updater.waiting).toBe(0);
    await transfers.ingest([pay(11, 7, 2, 5_000)]);
    walked.length = 0;
    expect(updater.follow()).toBe('UPDATED');
    // Addresses 3 and 4 hold money that came through 2.
    expect(updater.waiting).toBe(2);
    expect(new Set(walked).size).toBe(2);
    updater.recompute(1_000);
    expect(updater.waiting).toBe(0);
    expectCurrent(built, 8);
  });

  const send = (index: number, from: number, to: number, amount: bigint): Transfer => ({
    ...pay(index, from, to, 1),
    position: 'log:1',
    asset: UNPRICED[0] as string,
    amount,
    valueUsd: null,
  });
  // Each address holds money for gas besides.
  const gas = [2, 3, 4].map((node) => pay(10 + node, 6, node, 5));
  const tokens = [send(1, 1, 2, 1_000_000n), send(2, 2, 3, 900_000n), send(3, 3, 4, 800_000n)];

  it('makes addresses pending for a change of an asset without a price next to priced value', async () => {
    const { built, updater } = await keep([...gas, ...tokens], [risky]);
    const { deps, exposures } = built;
    const scoreOf = (node: number): number =>
      createOracle({ ...deps, exposures })('ETH', addressOf(node), quota).score;
    const before = scoreOf(4);
    expect(before).toBeGreaterThan(0);
    // Less than dust of the asset.
    await deps.transfers.ingest([send(30, 7, 2, 50n)]);
    expect(updater.follow()).toBe('UPDATED');
    expect(updater.waiting).toBe(0);
    expectCurrent(built, 8);
    await deps.transfers.ingest([send(31, 7, 2, 50_000_000n)]);
    expect(updater.follow()).toBe('UPDATED');
    expect(updater.waiting).toBe(2);
    settle(updater);
    expectCurrent(built, 8);
    expect(scoreOf(4)).toBeLessThan(before);
  });

  it('makes addresses pending if an asset has another origin', async () => {
    const { built, updater } = await keep([...gas, ...tokens], [risky]);
    // More is sent than was received of the asset, so that the money from 6 explains it.
    await built.deps.transfers.ingest([send(30, 2, 8, 1_000_000n * 100_000n)]);
    expect(updater.follow()).toBe('UPDATED');
    expect(updater.waiting).toBe(2);
    settle(updater);
    expectCurrent(built, 10);
  });

  it('makes addresses pending if dust becomes a considerable part, and for more of it', async () => {
    const mids = Array.from({ length: 6 }, (_, at) => [
      pay(40 + at, 1, 20 + at, 0.9),
      pay(60 + at, 20 + at, 2, 0.9),
    ]).flat();
    const whole = [...mids.slice(0, 6), pay(1, 5, 2, 20), pay(2, 2, 3, 10), pay(3, 3, 4, 10)];
    const { built, updater } = await keep(whole, [risky]);
    await built.deps.transfers.ingest(mids.slice(6));
    expect(updater.follow()).toBe('UPDATED');
    // Address 2 too: the money that comes through the addresses before it is new.
    expect(updater.waiting).toBe(3);
    settle(updater);
    expectCurrent(built, 30);
    await built.deps.transfers.ingest([pay(90, 7, 2, 0.4)]);
    updater.follow();
    expect(updater.waiting).toBe(2);
    settle(updater);
    expectCurrent(built, 30);
  });

  it('makes addresses pending if dust gives an asset its first price', async () => {
    const { built, updater } = await keep(
      [
        pay(1, 1, 2, 10_000),
        { ...pay(2, 5, 2, 30_000), asset: TOKEN, valueUsd: null },
        { ...pay(3, 1, 2, 90_000), asset: TOKEN, valueUsd: null },
        pay(4, 2, 3, 9_000),
      ],
      [risky],
    );
    expectCurrent(built, 8);
    await built.deps.transfers.ingest([{ ...pay(10, 7, 2, 0.5), asset: TOKEN }]);
    expect(updater.follow()).toBe('UPDATED');
    // Address 3 holds money that came through 2. A quarter of it is now known to be from another address.
    expect(updater.waiting).toBe(1);
    updater.recompute(1_000);
    expectCurrent(built, 8);
  });

  it('returns a pending entry with its last verdict and time, and warns after ten minutes', async () => {
    const { built, updater } = await keep(chain, [risky]);
    const { deps, exposures, clock } = built;
    const ask = createOracle({ ...deps, exposures });
    const before = ask('ETH', addressOf(3), quota);
    expect(before.reasons.map(({ code }) => code)).toEqual(['EXPOSURE']);
    await deps.transfers.ingest([pay(11, 7, 2, 5_000_000)]);
    updater.follow();
    const waitedFrom = clock.at;
    clock.at += 9 * MINUTE_MS;
    const waiting = ask('ETH', addressOf(3), quota);
    expect(waiting).toMatchObject({ score: before.score, reasons: before.reasons });
    expect(waiting.exposureAsOf).toBe(new Date(waitedFrom).toISOString());
    clock.at += 2 * MINUTE_MS;
    const late = ask('ETH', addressOf(3), quota);
    expect(late.score).toBe(before.score);
    expect(late.reasons.map(({ code }) => code)).toEqual(['EXPOSURE', 'GRAPH_NOT_READ']);
    expect(late.verdict).toBe('warning');
    updater.recompute(1_000);
    clock.at += 1_000;
    expect(ask('ETH', addressOf(3), quota).score).toBeLessThan(before.score);
  });

  it('makes nothing pending for an unlisted token', async () => {
    const { built, updater } = await keep(chain, [risky]);
    const spam = {
      ...pay(20, 1, 2, 1),
      asset: '0x00000000000000000000000000000000DeaDBeef',
      position: 'log:1',
    };
    await built.deps.transfers.ingest([{ ...spam, valueUsd: null }]);
    updater.follow();
    expect(updater.waiting).toBe(0);
    expectCurrent(built, 8);
  });

  it('counts computed, new and pending addresses once each', async () => {
    const { built, updater } = await keep(chain, [risky]);
    const { transfers } = built.deps;
    const counts = () => {
      const { computed, added, waiting } = updater.state();
      return { computed, added, waiting };
    };
    await transfers.ingest([pay(11, 7, 2, 5_000)]);
    updater.follow();
    expect(counts()).toEqual({ computed: 2, added: 1, waiting: 2 });
    // 3 waited, and is computed at once. 2, behind 7, waits instead.
    await transfers.ingest([pay(12, 3, 7, 1)]);
    updater.follow();
    expect(counts()).toEqual({ computed: 3, added: 1, waiting: 2 });
    expect(updater.recompute(1_000)).toBe(2);
    expect(counts()).toEqual({ computed: 4, added: 1, waiting: 0 });
    expect(updater.recompute(1_000)).toBe(0);
    await transfers.ingest([pay(13, 7, 2, 6_000)]);
    updater.follow();
    updater.recompute(1_000);
    expect(counts()).toEqual({ computed: 4, added: 1, waiting: 0 });
    expect(updater.follow()).toBe('CURRENT');
  });

  it('recomputes pending entries within its budget, and continues after the last one', async () => {
    const time = { ms: 0 };
    const clock = { now: () => 1, monotonic: () => time.ms++ };
    const { built, updater, walked } = await keep(chain, [risky], { clock });
    const { transfers } = built.deps;
    const nodes = (count: number): number[] => {
      walked.length = 0;
      updater.recompute(count);
      return [...walked];
    };
    await transfers.ingest([pay(11, 7, 2, 5_000)]);
    updater.follow();
    expect(nodes(0)).toEqual([]);
    // The clock is read before the round and after each entry.
    const [first] = nodes(2);
    expect(updater.waiting).toBe(1);
    await transfers.ingest([pay(12, 7, 2, 5_000)]);
    updater.follow();
    expect(updater.waiting).toBe(2);
    const [second] = nodes(2);
    expect(second).toBeGreaterThan(first as number);
    expect(nodes(2)).toEqual([first]);
    expect(updater.waiting).toBe(0);
  });

  it('reads a bounded number of new transfers per round, and is BEHIND if more than 20,000 are new', async () => {
    const isNew = { count: 0, store: '' };
    const read: [number, number][] = [];
    const at = { store: '', ordinal: 0, transfers: 0 };
    const { updater } = await keep(chain, [risky], {
      transfers: {
        logPosition: () => ({
          store: isNew.store || at.store,
          ordinal: at.ordinal + isNew.count,
          transfers: at.transfers + isNew.count,
        }),
        loggedParties(_chain, first, end) {
          read.push([first - at.ordinal, end - at.ordinal]);
          return [];
        },
        pendingBlocks: () => [],
      },
    });
    Object.assign(at, updater.state().position);
    expect(updater.follow()).toBe('CURRENT');
    isNew.count = EXPOSURE_LIMITS.exposureLogBehindMax + 1;
    expect(updater.follow()).toBe('BEHIND');
    isNew.count--;
    expect(updater.follow()).toBe('UPDATED');
    const { exposureLogARound: round } = EXPOSURE_LIMITS;
    // Transfers after the round are counted when they are read.
    expect(updater.state().position).toEqual({ ...at, ordinal: at.ordinal + round });
    isNew.count = round + 1;
    expect(updater.follow()).toBe('UPDATED');
    expect(updater.state().position).toEqual({
      store: at.store,
      ordinal: at.ordinal + round + 1,
      transfers: at.transfers + round + 1,
    });
    expect(read).toEqual([
      [0, round],
      [round, round + 1],
    ]);
    isNew.store = 'another';
    expect(updater.follow()).toBe('BEHIND');
  });

  it('recomputes the addresses of a reverted block, and not of a final one', async () => {
    const block = { height: 5_000, hash: '0xblock', firstOrdinal: 0, count: 1 };
    const pending = { blocks: [] as (typeof block)[], finalHeight: 4_999 };
    const { built, updater, walked } = await keep(chain, [risky], {
      transfers: { pendingBlocks: () => pending.blocks, finalHeight: () => pending.finalHeight },
    });
    const { transfers } = built.deps;
    const graph = transfers.graph('ETH') as TransferGraph;
    const idOf = (node: number) => graph.idOf(parseSubject('ETH', addressOf(node)).key) as number;
    let next = 30;
    const walkedOf = async (): Promise<number[]> => {
      walked.length = 0;
      await transfers.ingest([pay(next, 5, 6, 1)]);
      next++;
      updater.follow();
      return [2, 3].filter((node) => walked.includes(idOf(node)));
    };
    const note = async (): Promise<void> => {
      const ordinal = updater.state().position.ordinal;
      await transfers.ingest([pay(next, 2, 3, 1)]);
      next++;
      pending.blocks = [{ ...block, firstOrdinal: ordinal }];
      updater.follow();
    };
    await note();
    expect(await walkedOf()).toEqual([]);
    pending.blocks = [];
    expect(await walkedOf()).toEqual([2, 3]);
    expect(await walkedOf()).toEqual([]);
    await note();
    // Of another hash: another block took its place.
    pending.blocks = [{ ...block, hash: '0xother' }];
    expect(await walkedOf()).toEqual([2, 3]);
    await note();
    pending.blocks = [];
    pending.finalHeight = 5_000;
    expect(await walkedOf()).toEqual([]);
    pending.finalHeight = 4_999;
    expect(await walkedOf()).toEqual([]);
  });
});
