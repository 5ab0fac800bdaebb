/** When a node leaves a lease to others, and when it asks for it again. */
import { beforeEach, expect, it } from 'vitest';
import { Handover } from '../../src/state/handover.ts';

let nowMs = 0;
let isReached = false;
let probes = 0;
let handover: Handover;
const REASON = 'This node does not reach the chain node of ETH.';

beforeEach(() => {
  [nowMs, isReached, probes] = [0, false, 0];
  handover = new Handover(
    {
      needs: 'the chain node of ETH',
      async probe() {
        probes++;
        if (!isReached) throw new Error('refused');
      },
    },
    { monotonic: () => nowMs },
  );
});
/** Fails until the lease is released, and returns how long that took. */
function failing(): number {
  const fromMs = nowMs;
  while (!handover.failed()) nowMs += 1_000;
  return nowMs - fromMs;
}

it('keeps the lease during short failures, and asks for it at once in the beginning', async () => {
  expect(await handover.obstacle()).toBe(null);
  for (let round = 0; round < 5; round++) {
    expect(handover.failed()).toBe(false);
    nowMs += 14_999;
    expect(handover.failed()).toBe(false);
    handover.succeeded();
  }
  expect([await handover.obstacle(), probes]).toEqual([null, 0]);
});

it('releases it after 15 seconds, and asks again when the probe succeeds', async () => {
  expect(failing()).toBe(15_000);
  expect([await handover.obstacle(), probes]).toEqual([REASON, 0]);
  nowMs += 5_000;
  expect([await handover.obstacle(), await handover.obstacle(), probes]).toEqual([REASON, REASON, 1]);
  isReached = true;
  nowMs += 4_999;
  expect(await handover.obstacle()).toBe(REASON);
  nowMs += 1;
  expect([await handover.obstacle(), await handover.obstacle(), probes]).toEqual([null, null, 2]);
});

it('waits for longer each time if the work fails although the probe succeeds, until it makes progress', async () => {
  isReached = true;
  const away = async (): Promise<number> => {
    failing();
    const fromMs = nowMs;
    while ((await handover.obstacle()) !== null) nowMs += 1_000;
    return nowMs - fromMs;
  };
  const times = [];
  for (let round = 0; round < 8; round++) times.push(await away());
  expect(times).toEqual([5_000, 10_000, 20_000, 40_000, 80_000, 160_000, 300_000, 300_000]);
  handover.succeeded();
  expect(await away()).toBe(5_000);
});
