/** A thousand charged calls of the Python client over a network that fails: each is charged once. */
import { expect, it } from 'vitest';
import { openWorld } from '../http/world.ts';
import { faultyScreenings } from '../sdk/faulty-screenings.ts';
import { findPython, type Python } from '../setup/python.ts';

const python = findPython();

it.skipIf(python === null)('charges once over 1,000 calls that fail on the way', async () => {
  const world = await openWorld({ backend: 'uws' });
  try {
    const outcome = await faultyScreenings(python as Python, world, 1_000);
    expect(outcome.balanceBefore - outcome.balanceAfter).toBe(1_000);
    expect(outcome.replayed).toBeGreaterThan(50);
  } finally {
    await world.close();
  }
});
