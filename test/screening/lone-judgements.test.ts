import { expect, it } from 'vitest';
import { LoneJudgements } from '../../src/screening/lone-judgements.ts';

const out = Buffer.from('..first.second');
const FIRST = [out, 2, 7] as const;
const SECOND = [out, 8, 14] as const;
/** Templates this far apart have the same place. */
const PLACES = 1 << 15;

it('keeps a judgement that is requested twice, apart for each state', () => {
  const kept = new LoneJudgements(10);
  kept.offer(7, 3, ...FIRST);
  expect(kept.find(7, 3)).toBeUndefined();
  kept.offer(7, 3, ...FIRST);
  expect(kept.find(7, 3)?.toString()).toBe('first');
  for (const [template, state] of [
    [7, 4],
    [8, 3],
    [7 + PLACES, 3],
  ] as const)
    expect(kept.find(template, state)).toBeUndefined();
  out.fill('x');
  expect(kept.find(7, 3)?.toString()).toBe('first');
  kept.clear();
  expect(kept.find(7, 3)).toBeUndefined();
  out.write('..first.second');
});

it('is not displaced by judgements that are requested once', () => {
  const kept = new LoneJudgements(10);
  for (let time = 0; time < 2; time++) kept.offer(7, 3, ...FIRST);
  kept.offer(7 + PLACES, 3, ...SECOND);
  kept.offer(7 + 2 * PLACES, 3, ...SECOND);
  expect(kept.find(7, 3)?.toString()).toBe('first');
  kept.offer(7 + 2 * PLACES, 3, ...SECOND);
  expect(kept.find(7, 3)).toBeUndefined();
  expect(kept.find(7 + 2 * PLACES, 3)?.toString()).toBe('second');
});
