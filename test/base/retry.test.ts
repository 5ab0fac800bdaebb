/** Waiting between attempts. */
import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { backOffMs, sleep } from '../../src/base/retry.ts';

/** Number of timers that keep this process running. */
const timers = (): number => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;

describe('sleep', () => {
  it('ends without an error if the signal is aborted, before or during the wait', async () => {
    await sleep(60_000, AbortSignal.abort());
    const stop = new AbortController();
    const waiting = sleep(60_000, stop.signal);
    stop.abort();
    await waiting;
  });

  it('leaves no listener on the signal', async () => {
    const { signal } = new AbortController();
    await sleep(1, signal);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('keeps the process running, unless `unref` is set', async () => {
    const before = timers();
    const waits = [sleep(5, undefined, { unref: true })];
    expect(timers()).toBe(before);
    waits.push(sleep(5));
    expect(timers()).toBe(before + 1);
    await Promise.all(waits);
  });
});

describe('backOffMs', () => {
  it('doubles with each failure, up to the maximum', () => {
    const limits = { firstMs: 100, maxMs: 1_000 };
    expect([0, 1, 2, 3, 4, 5_000].map((failures) => backOffMs(failures, limits))).toEqual([
      100, 200, 400, 800, 1_000, 1_000,
    ]);
  });
});
