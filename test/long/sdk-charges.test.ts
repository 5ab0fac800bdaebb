/** Charged calls of the TypeScript client over a bad network, in a number that finds what is rare. */
import { afterAll, beforeAll, expect, it } from 'vitest';
import { chargesOfFaultyRuns } from '../sdk/faulty-runs.ts';
import { openSdkWorld, type SdkWorld } from '../sdk/world.ts';

let world: SdkWorld;
beforeAll(async () => {
  world = await openSdkWorld();
});
afterAll(() => world.close());

it('charges 1,000 calls once each, whatever happens to their requests', async () => {
  expect(await chargesOfFaultyRuns(world, 1_000)).toEqual({ charged: 1_000, failed: 0 });
});
