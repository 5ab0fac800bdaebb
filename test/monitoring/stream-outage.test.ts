/** Streams while it cannot be determined whether they may be read, because the node has lost its Redis. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { AssayError } from '../../src/base/errors.ts';
import { MONITORING_LIMITS } from '../../src/monitoring/limits.ts';
import { createStreamHub, type StreamEvent } from '../../src/monitoring/stream.ts';

describe('a stream whose key cannot be verified at the moment', () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  it('stays open without an event, and is sent what it missed afterwards', () => {
    let last = 0;
    let answer: boolean | null = true;
    let change: (of: { accountId: string }) => void = () => {};
    const sent: StreamEvent[] = [];
    const mayRead = (): boolean => {
      if (answer === null) throw new AssayError('NOT_READY', 'This node has not heard from Redis.');
      return answer;
    };
    const hub = createStreamHub<{ readonly number: number }>({
      render: ({ number }) => ({ id: String(number), event: 'alert', data: '{}' }),
      store: {
        onChange: (listener) => {
          change = listener;
        },
        changes: (_, after) => ({
          first: 1,
          last,
          changes: Array.from({ length: Math.max(0, last - after) }, (__, at) => ({
            number: after + 1 + at,
          })),
        }),
      },
    });
    const add = (): void => {
      last++;
      change({ accountId: 'a' });
    };
    hub.subscribe('a', null, {
      mayRead,
      send: (event) => mayRead() && sent.push(event) > 0,
      waitingBytes: 0,
      close: () => {},
    });
    add();
    answer = null;
    // The check of a timer: an error would end the process.
    vi.advanceTimersByTime(MONITORING_LIMITS.streamCheckMs * 2);
    add();
    add();
    expect([hub.size, sent.map(({ id }) => id)]).toEqual([1, ['1']]);
    hub.requireRoom('a');
    answer = true;
    vi.advanceTimersByTime(MONITORING_LIMITS.streamCheckMs);
    expect(sent.map(({ id }) => id)).toEqual(['1', '2', '3']);
    answer = false;
    vi.advanceTimersByTime(MONITORING_LIMITS.streamCheckMs);
    expect(hub.size).toBe(0);
  });
});
