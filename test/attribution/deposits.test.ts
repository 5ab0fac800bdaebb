import { afterEach, describe, expect, it } from 'vitest';
import { readAnchors } from '../../src/attribution/deposit/anchors.ts';
import { DepositFollower } from '../../src/attribution/deposit/follow.ts';
import { depositTemplate } from '../../src/attribution/deposit/labels.ts';
import type { AttributionStore, DepositRecord } from '../../src/attribution/store.ts';
import { systemClock } from '../../src/base/clock.ts';
import { parseAddress } from '../../src/chains/address/parse.ts';
import type { Block } from '../../src/chains/block.ts';
import type { Transfer } from '../../src/chains/transfer.ts';
import type { TransferGraph } from '../../src/graph/graph.ts';
import { type PlantedAccount, simulateExchanges } from './simulated-exchange.ts';
import { type AttributionWorld, createAttributionWorld, labelsOfExchanges } from './world.ts';

const open: AttributionWorld[] = [];
afterEach(async () => {
  for (const world of open.splice(0)) await world.close();
});

const USERS = 2_800;

function* flat(blocks: Iterable<readonly Transfer[]>): Generator<Transfer> {
  for (const block of blocks) yield* block;
}

async function simulated(users: number, seed: number) {
  const simulation = simulateExchanges(users, seed);
  const world = await createAttributionWorld(labelsOfExchanges(simulation.exchanges));
  open.push(world);
  return { simulation, world };
}

const graphOf = (world: AttributionWorld): TransferGraph => {
  const graph = world.transfers.graph('ETH');
  if (graph === null) throw new Error('No transfer is stored.');
  return graph;
};

interface Given {
  readonly account: PlantedAccount;
  readonly confidence: number;
  readonly entity: string;
}

/** The labels that the records of a world give to planted accounts, and the addresses that are not planted. */
function labelsIn(world: AttributionWorld, planted: readonly PlantedAccount[]) {
  const state = world.store.depositState();
  const graph = graphOf(world);
  if (state === null) throw new Error('There is no result.');
  const byAddress = new Map(
    planted.map((account) => [parseAddress('ETH', account.address).canonical, account]),
  );
  const given: Given[] = [];
  const strangers: string[] = [];
  for (const [node, record] of world.store.deposits()) {
    const template = depositTemplate('ETH', record, state);
    if (template === null) continue;
    const account = byAddress.get(graph.addressOf(node));
    if (account === undefined) strangers.push(graph.addressOf(node));
    else given.push({ account, confidence: template.confidence, entity: template.entity.id });
  }
  return { given, strangers };
}

const recordsOf = (store: AttributionStore): [number, DepositRecord][] =>
  [...store.deposits()].map(([node, record]) => [node, record]);

const blockOf = (
  transfers: readonly Transfer[],
  height: number,
  parent: string | null,
  fork = '',
): Block => ({
  chain: 'ETH',
  height,
  hash: `0x${height.toString(16).padStart(56, '0')}${fork.padStart(8, '0')}`,
  parentHash: parent,
  timestampMs: transfers[0]?.timestampMs ?? Date.parse('2025-01-01T00:00:00Z'),
  transfers: transfers.map((transfer) => ({ ...transfer, blockNumber: height })),
});

describe('the rule of exchange deposit addresses', () => {
  it('finds deposit addresses of a simulated exchange, and labels no look-alike', async () => {
    const { simulation, world } = await simulated(USERS, 5);
    await world.transfers.ingest(flat(simulation.blocks()));
    await world.sweep();
    const { planted } = simulation;
    const { given, strangers } = labelsIn(world, planted);
    expect(strangers).toEqual([]);
    expect(
      given.filter(({ account }) => account.kind !== 'deposit').map(({ account }) => account.kind),
    ).toEqual([]);
    expect(given.every(({ account, entity }) => entity === `exchange-${account.exchange}`)).toBe(true);
    const sure = given.filter(({ confidence }) => confidence >= 0.8);
    const right = sure.filter(({ account }) => account.kind === 'deposit');
    const wanted = planted.filter(({ kind, forwardings }) => kind === 'deposit' && forwardings >= 3);
    expect(wanted.length).toBeGreaterThan(USERS / 4);
    expect(right.length / sure.length).toBeGreaterThanOrEqual(0.98);
    expect(right.length / wanted.length).toBeGreaterThanOrEqual(0.9);
    // Every kind of look-alike was there.
    expect(new Set(planted.map(({ kind }) => kind)).size).toBe(11);
  }, 120_000);

  it('labels few forwardings with less confidence than many', async () => {
    const { simulation, world } = await simulated(1_000, 6);
    await world.transfers.ingest(flat(simulation.blocks()));
    await world.sweep();
    const { given } = labelsIn(world, simulation.planted);
    const seen = new Set(given.map(({ confidence }) => confidence));
    expect([...seen].sort()).toEqual([0.6, 0.8, 0.9]);
    for (const { account, confidence } of given) {
      if (confidence === 0.9) expect(account.forwardings).toBeGreaterThanOrEqual(10);
      if (account.forwardings < 3) expect(confidence).toBe(0.6);
    }
  }, 60_000);

  it('gives the same result block by block as over the whole log', async () => {
    const { simulation, world } = await simulated(150, 7);
    const blocks = [...simulation.blocks()];
    const half = Math.floor(blocks.length / 2);
    await world.transfers.ingest(flat(blocks.slice(0, half)));
    await world.sweep();
    const anchors = readAnchors('ETH', graphOf(world), world.labels);
    const follower = new DepositFollower('ETH', anchors, {
      transfers: world.transfers,
      store: world.store,
      clock: systemClock,
    });
    for (const [at, transfers] of blocks.slice(half).entries()) {
      const height = 30_000_000 + at;
      await world.transfers.appendBlock(blockOf(transfers, height, null));
      follower.follow();
    }
    const followed = recordsOf(world.store);
    expect(follower.follow()).toEqual({ transfers: 0, judged: 0, reverted: 0, changed: 0 });
    await world.sweep();
    expect(followed).toEqual(recordsOf(world.store));
    expect(followed.length).toBeGreaterThan(70);
  }, 120_000);

  it('reverts what a reorg reverts', async () => {
    const { simulation, world } = await simulated(300, 8);
    const blocks = [...simulation.blocks()];
    const kept = blocks.length - 120;
    await world.transfers.ingest(flat(blocks.slice(0, kept)));
    await world.sweep();
    const anchors = readAnchors('ETH', graphOf(world), world.labels);
    const deps = { transfers: world.transfers, store: world.store, clock: systemClock };
    const follower = new DepositFollower('ETH', anchors, deps);
    const before = recordsOf(world.store);
    let changed = 0;
    for (const [at, transfers] of blocks.slice(kept).entries()) {
      await world.transfers.appendBlock(blockOf(transfers, 30_000_000 + at, null));
      changed += follower.follow().changed;
    }
    expect(changed).toBeGreaterThan(20);
    expect(recordsOf(world.store)).not.toEqual(before);
    for (let at = 119; at >= 0; at--) await world.transfers.revertBlock('ETH', 30_000_000 + at);
    expect(follower.follow().reverted).toBe(120);
    expect(recordsOf(world.store)).toEqual(before);
    // The same transfers in other blocks give the same result as at first.
    for (const [at, transfers] of blocks.slice(kept).entries())
      await world.transfers.appendBlock(blockOf(transfers, 30_000_000 + at, null, 'f'));
    follower.follow();
    const again = recordsOf(world.store).map(([node, { forwardings }]) => [node, forwardings.length]);
    await world.sweep();
    expect(again).toEqual(
      recordsOf(world.store).map(([node, { forwardings }]) => [node, forwardings.length]),
    );
  }, 120_000);

  it('judges accounts of a block again that was reverted while the log was swept', async () => {
    const { simulation, world } = await simulated(200, 9);
    const blocks = [...simulation.blocks()];
    const last = blocks.length - 40;
    await world.transfers.ingest(flat(blocks.slice(0, last)));
    await world.sweep();
    const before = recordsOf(world.store);
    for (const [at, transfers] of blocks.slice(last).entries())
      await world.transfers.appendBlock(blockOf(transfers, 30_000_000 + at, null));
    world.store.clearDeposits();
    await world.sweep();
    expect(recordsOf(world.store)).not.toEqual(before);
    for (let at = 39; at >= 0; at--) await world.transfers.revertBlock('ETH', 30_000_000 + at);
    const anchors = readAnchors('ETH', graphOf(world), world.labels);
    new DepositFollower('ETH', anchors, {
      transfers: world.transfers,
      store: world.store,
      clock: systemClock,
    }).follow();
    expect(recordsOf(world.store)).toEqual(before);
  }, 60_000);

  it('resumes a sweep that was interrupted at any step', async () => {
    const { simulation, world } = await simulated(400, 10);
    await world.transfers.ingest(flat(simulation.blocks()));
    await world.sweep();
    const whole = recordsOf(world.store);
    world.store.clearDeposits();
    let interruptions = 0;
    for (let isDone = false; !isDone; ) {
      const controller = new AbortController();
      try {
        // The first three runs end in the first pass, in the second pass, and before the first part is judged.
        await world.sweep({
          signal: controller.signal,
          onProgress: () => {
            if (interruptions < 3) controller.abort(new Error('interrupted'));
          },
        });
        isDone = true;
      } catch (error) {
        expect((error as Error).message).toBe('interrupted');
        interruptions++;
      }
    }
    expect(interruptions).toBe(3);
    expect(recordsOf(world.store)).toEqual(whole);
  }, 60_000);
});
