import { afterEach, describe, expect, it } from 'vitest';
import { silentLogger } from '../../src/base/log.ts';
import { createExposureKeeper } from '../../src/exposure/keeper.ts';
import { createOracle } from '../../src/screening/oracle.ts';
import {
  addressOf,
  createExposureWorld,
  type ExposureWorld,
  randomLabels,
  randomTransfers,
} from './world.ts';

const quota = { limit: 1000, remaining: 999, resetAt: '2026-12-01T00:00:00.000Z' };

let world: ExposureWorld | null = null;
afterEach(async () => {
  await world?.close();
  world = null;
});

describe('the keeper of indexes', () => {
  it('builds a missing index, follows new transfers, and builds again when its inputs change', async () => {
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
    await round();
    expect(builds).toBe(1);
    expect(codes(1)).not.toContain('GRAPH_NOT_READ');

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
});
