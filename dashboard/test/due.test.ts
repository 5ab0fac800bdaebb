import { expect, it } from 'vitest';
import { createFormats } from '../src/i18n/formats.ts';
import { dueText, isOverdue } from '../src/pages/cases/due.ts';

const isAt = (now: string, dueAt: string | null, status = 'OPEN'): boolean =>
  isOverdue({ dueAt, status }, Date.parse(now));

it('a case that is due on a day is overdue when the day is over, not while it lasts', () => {
  const day = '2026-12-01T00:00:00.000Z';
  expect(isAt('2026-12-01T00:00:01Z', day)).toBe(false);
  expect(isAt('2026-12-01T23:59:59Z', day)).toBe(false);
  expect(isAt('2026-12-02T00:00:00Z', day)).toBe(true);
  expect(isAt('2026-12-02T00:00:00Z', day, 'CLOSED')).toBe(false);
  expect(isAt('2026-12-02T00:00:00Z', null)).toBe(false);
  const time = '2026-12-01T15:30:00.000Z';
  expect([isAt('2026-12-01T15:29:59Z', time), isAt('2026-12-01T15:30:00Z', time)]).toEqual([false, true]);
  expect([dueText(day), dueText(time)]).toEqual(['2026-12-01', time]);
});

it('a day is the same day in every time zone', () => {
  const { time, localTime } = createFormats('en');
  expect([time('2026-12-01'), localTime('2026-12-01')]).toEqual(['2026-12-01', '2026-12-01']);
});
