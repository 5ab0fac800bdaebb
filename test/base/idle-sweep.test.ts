import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { sweepHourly } from '../../src/base/idle-sweep.ts';
import { LIMITS } from '../../src/base/limits.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

it('sweeps a minute after the start and then every hour, also after a failure, until it is stopped', async () => {
  let sweeps = 0;
  const errors: unknown[] = [];
  const stop = sweepHourly(
    async () => {
      sweeps++;
      if (sweeps === 1) throw new Error('full');
    },
    (error) => errors.push(error),
  );
  await vi.advanceTimersByTimeAsync(59_999);
  expect(sweeps).toBe(0);
  await vi.advanceTimersByTimeAsync(1);
  expect([sweeps, errors.length]).toEqual([1, 1]);
  await vi.advanceTimersByTimeAsync(2 * LIMITS.retentionLookMs);
  expect([sweeps, errors.length]).toEqual([3, 1]);
  await stop();
  await vi.advanceTimersByTimeAsync(2 * LIMITS.retentionLookMs);
  expect(sweeps).toBe(3);
});

it('waits at its end for a sweep that runs', async () => {
  let end = (): void => {};
  const stop = sweepHourly(
    () =>
      new Promise<void>((resolve) => {
        end = resolve;
      }),
    () => {},
  );
  await vi.advanceTimersByTimeAsync(60_000);
  let isStopped = false;
  const stopping = stop().then(() => {
    isStopped = true;
  });
  await vi.advanceTimersByTimeAsync(0);
  expect(isStopped).toBe(false);
  end();
  await stopping;
});
