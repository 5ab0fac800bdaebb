import { expect, it } from 'vitest';
import { ApiError } from '../src/api/errors.ts';
import { pageWaits, patiently } from '../src/api/patience.ts';

/** A request that is limited once, for a moment. */
function limitedOnce(): () => Promise<string> {
  let isFirst = true;
  return async () => {
    if (!isFirst) return 'answer';
    isFirst = false;
    throw await ApiError.of(Response.json({}, { status: 429, headers: { 'retry-after': '0.02' } }));
  };
}

it('reports a wait for the rate limit to the page, unless the caller shows it', async () => {
  const seen: (number | null)[] = [];
  const stop = pageWaits.subscribe(() => seen.push(pageWaits.until()));
  const before = Date.now();
  expect(await patiently(limitedOnce())).toBe('answer');
  expect(seen).toEqual([expect.any(Number), null]);
  expect(seen[0]).toBeGreaterThanOrEqual(before);
  const own: (number | null)[] = [];
  await patiently(limitedOnce(), { onWait: (seconds) => own.push(seconds) });
  expect([own, seen.length]).toEqual([[0.02, null], 2]);
  stop();
});
