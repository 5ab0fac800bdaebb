import { afterEach, describe, expect, it } from 'vitest';
import { ChainFollower, depositLockOf } from '../../src/attribution/follow-chain.ts';
import { AttributionKeeper } from '../../src/attribution/keeper.ts';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import type { Transfer } from '../../src/chains/transfer.ts';
import { withLock } from '../../src/state/writer-lock.ts';
import { simulateExchanges } from './simulated-exchange.ts';
import { type AttributionWorld, createAttributionWorld, labelsOfExchanges } from './world.ts';

const open: AttributionWorld[] = [];
afterEach(async () => {
  for (const world of open.splice(0)) await world.close();
});

function* flat(blocks: Iterable<readonly Transfer[]>): Generator<Transfer> {
  for (const block of blocks) yield* block;
}

/** A chain of which half is stored, and the other half. */
async function halfStored() {
  const simulation = simulateExchanges(200, 5);
  const world = await createAttributionWorld(labelsOfExchanges(simulation.exchanges));
  open.push(world);
  const blocks = [...simulation.blocks()];
  const half = Math.floor(blocks.length / 2);
  await world.transfers.ingest(flat(blocks.slice(0, half)));
  const { transfers, store, folder } = world;
  const follower = new ChainFollower('ETH', {
    ...{ transfers, store, folder, clock: systemClock },
    labels: () => world.labels,
  });
  return { world, follower, folder, rest: blocks.slice(half) };
}

describe('the follower of a chain', () => {
  it('asks for a sweep if there is no result, and then reads what is new once', async () => {
    const { world, follower, rest } = await halfStored();
    expect(await follower.follow()).toEqual({ outcome: 'SWEEP_WANTED', reason: 'no result yet' });
    await world.sweep();
    expect(await follower.follow()).toMatchObject({ outcome: 'FOLLOWED', report: { transfers: 0 } });
    await world.transfers.ingest(flat(rest));
    const followed = await follower.follow();
    expect(followed).toMatchObject({ outcome: 'FOLLOWED', report: { transfers: flatCount(rest) } });
    expect(await follower.follow()).toEqual({ outcome: 'CURRENT' });
    const records = JSON.stringify([...world.store.deposits()]);
    await world.sweep();
    expect(JSON.stringify([...world.store.deposits()])).toBe(records);
  });

  it('waits while another process works on the chain, and reads the same blocks afterwards', async () => {
    const { world, follower, folder, rest } = await halfStored();
    await world.sweep();
    await follower.follow();
    await world.transfers.ingest(flat(rest));
    const busy = await withLock(depositLockOf(folder, 'ETH'), { waitMs: 0 }, () => follower.follow());
    expect(busy).toEqual({ outcome: 'BUSY' });
    expect(await follower.follow()).toMatchObject({
      outcome: 'FOLLOWED',
      report: { transfers: flatCount(rest) },
    });
  });
});

const flatCount = (blocks: readonly (readonly Transfer[])[]): number => [...flat(blocks)].length;

describe('the keeper', () => {
  /** A clock that moves only when it is told to. */
  class SetClock {
    at = 0;
    now = (): number => this.at;
    monotonic = (): number => this.at;
  }

  async function kept(follower: ChainFollower, run: () => Promise<void>, readsLogs = false) {
    const clock = new SetClock();
    const keeper = new AttributionKeeper(
      { intervalMs: 60_000 },
      {
        ...{ clock, log: silentLogger, run, readsLogs: () => readsLogs },
        followerOf: (chain) => (chain === 'ETH' ? follower : null),
      },
    );
    const at = async (ms: number): Promise<void> => {
      clock.at = ms;
      await keeper.tick();
      // The end of a run is noted behind the tick.
      await new Promise((resolve) => setImmediate(resolve));
    };
    return at;
  }

  it('publishes after the start, and later only if evidence changed and the interval is over', async () => {
    const { world, follower, rest } = await halfStored();
    await world.sweep();
    const runs: string[] = [];
    const at = await kept(follower, async () => void runs.push('run'));
    await at(0);
    expect(runs).toEqual([]);
    await at(30_000);
    expect(runs).toEqual(['run']);
    await at(200_000);
    expect(runs).toEqual(['run']);
    await world.transfers.ingest(flat(rest));
    await at(201_000);
    expect(runs).toEqual(['run', 'run']);
    await at(202_000);
    expect(runs.length).toBe(2);
  });

  it('tries a run that failed again, and runs regularly if logs are read', async () => {
    const { world, follower } = await halfStored();
    await world.sweep();
    let runs = 0;
    const at = await kept(
      follower,
      async () => {
        runs++;
        if (runs === 1) throw new Error('the label store is busy');
      },
      true,
    );
    await at(30_000);
    await at(89_000);
    expect(runs).toBe(1);
    await at(91_000);
    expect(runs).toBe(2);
    await at(160_000);
    expect(runs).toBe(3);
  });
});
