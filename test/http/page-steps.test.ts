import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { pageInSteps } from '../../src/http/operations/support/paging.ts';

/** Steps through the numbers below `cursor`, ten at a time, of which every fifth is shown. */
const step = ({ limit, cursor = '101' }: { limit: number; cursor?: string }) => {
  const rows: number[] = [];
  let at = Number(cursor) - 1;
  for (let read = 0; at > 0 && read < 10 && rows.length < limit; at--, read++)
    if (at % 5 === 0) rows.push(at);
  return { rows, nextCursor: at === 0 ? null : String(at + 1) };
};

it('fills a page in steps, and other work runs between them', async () => {
  let turns = 0;
  let isDone = false;
  const other = async (): Promise<void> => {
    for (; !isDone; turns++) await setImmediate();
  };
  const running = other();
  const page = await pageInSteps({ limit: 7 }, 10, step);
  isDone = true;
  await running;
  expect(page).toEqual({ rows: [100, 95, 90, 85, 80, 75, 70], nextCursor: '70' });
  expect(turns).toBeGreaterThanOrEqual(3);
});

it('ends a page after the most steps, and at the end of the list', async () => {
  expect(await pageInSteps({ limit: 50 }, 3, step)).toEqual({
    rows: [100, 95, 90, 85, 80, 75],
    nextCursor: '71',
  });
  expect(await pageInSteps({ limit: 50, cursor: '12' }, 3, step)).toEqual({
    rows: [10, 5],
    nextCursor: null,
  });
});
