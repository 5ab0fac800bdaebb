/** The repetition of a task: after events, one run at a time, until the stop. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { type Logger, silentLogger } from '../../src/base/log.ts';
import { BILLING_LIMITS } from '../../src/billing/limits.ts';
import { type Sweeping, startSweeping } from '../../src/billing/sweeping.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

interface Run {
  readonly promise: Promise<void>;
  readonly resolve: () => void;
  readonly reject: (reason: Error) => void;
}

function newRun(): Run {
  let [resolve, reject]: [Run['resolve'], Run['reject']] = [() => {}, () => {}];
  const promise = new Promise<void>((whenDone, whenFailed) => {
    [resolve, reject] = [whenDone, whenFailed];
  });
  return { promise, resolve, reject };
}

/** Starts a task whose runs end, or fail, when the test says so. */
function started() {
  const runs: Run[] = [];
  const errors: unknown[] = [];
  let wake = (): void => {};
  const sweep = (): Promise<void> => {
    const run = newRun();
    runs.push(run);
    return run.promise;
  };
  const error = (fields: { readonly error: string }): void => void errors.push(fields.error);
  const log = { ...silentLogger, error } as unknown as Logger;
  const onEvent = (given: () => void): void => {
    wake = given;
  };
  const sweeping: Sweeping = startSweeping(sweep, { log, onEvent });
  const end = async (index: number, reason?: Error): Promise<void> => {
    if (reason === undefined) runs[index]?.resolve();
    else runs[index]?.reject(reason);
    await vi.advanceTimersByTimeAsync(0);
  };
  return { runs, errors, sweeping, end, wake: () => wake() };
}

it('runs at the start, at intervals, and once more after events during a run', async () => {
  const { runs, end, wake, sweeping } = started();
  expect(runs).toHaveLength(1);
  wake();
  wake();
  expect(runs).toHaveLength(1);
  await end(0);
  expect(runs).toHaveLength(2);
  await end(1);
  expect(runs).toHaveLength(2);
  await vi.advanceTimersByTimeAsync(BILLING_LIMITS.sweepMs - 1);
  expect(runs).toHaveLength(2);
  await vi.advanceTimersByTimeAsync(1);
  expect(runs).toHaveLength(3);
  await end(2);
  await sweeping.stop();
});

it('ends when the running task has ended, and begins no other', async () => {
  const { runs, end, wake, sweeping } = started();
  let hasStopped = false;
  const stopping = sweeping.stop().then(() => {
    hasStopped = true;
  });
  wake();
  await vi.advanceTimersByTimeAsync(2 * BILLING_LIMITS.sweepMs);
  expect(hasStopped).toBe(false);
  await end(0);
  await stopping;
  wake();
  await vi.advanceTimersByTimeAsync(2 * BILLING_LIMITS.sweepMs);
  expect(runs).toHaveLength(1);
});

it('logs a reason once until a run succeeds, and tries again', async () => {
  const { runs, errors, end, wake, sweeping } = started();
  const fail = async (reason: string): Promise<void> => {
    await end(runs.length - 1, new Error(reason));
    wake();
  };
  await fail('the ledger is away');
  await fail('the ledger is away');
  expect(errors).toEqual(['the ledger is away']);
  await fail('the disk is full');
  expect(errors).toEqual(['the ledger is away', 'the disk is full']);
  wake();
  await end(runs.length - 1);
  expect(runs).toHaveLength(5);
  await fail('the disk is full');
  expect(errors).toHaveLength(3);
  await end(runs.length - 1);
  await sweeping.stop();
});
