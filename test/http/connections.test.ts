/** How many connections a limit of open files allows, and how often refused ones are logged. */
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Logger } from '../../src/base/log.ts';
import { HTTP_LIMITS } from '../../src/http/limits.ts';
import { connectionsMaxOf, RefusalLog } from '../../src/http/server/connections.ts';

it.each([
  [20, 16],
  [400, 144],
  [1_024, 768],
  [65_536, 49_152],
  [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY],
])('with %d open files, %d connections are accepted', (openFiles, connections) => {
  expect(connectionsMaxOf(openFiles)).toBe(connections);
});

describe('refused connections', () => {
  afterEach(() => vi.useRealTimers());

  it('are logged once a minute', () => {
    vi.useFakeTimers();
    const logged: object[] = [];
    const log = { warn: (fields: object) => void logged.push(fields) } as unknown as Logger;
    const refusals = new RefusalLog(log, 7);
    for (let count = 0; count < 3; count++) refusals.note();
    expect(logged).toEqual([{ connectionsMax: 7 }]);
    vi.advanceTimersByTime(HTTP_LIMITS.refusalLogMs);
    refusals.note();
    expect(logged).toHaveLength(2);
  });
});
