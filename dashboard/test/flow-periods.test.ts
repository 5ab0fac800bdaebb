/** The periods of the chart of received and sent amounts. */
import { describe, expect, it } from 'vitest';
import { type Day, greatest, periodsOf } from '../src/pages/screening/flow-periods.ts';

const day = (date: string, fields: Partial<Day> = {}): Day =>
  ({ date, inUsd: 10, outUsd: null, inTxCount: 1, outTxCount: 0, ...fields }) as Day;

describe('the periods of a chart', () => {
  it('are days, oldest first, with those without a transfer', () => {
    const periods = periodsOf([day('2026-10-04'), day('2026-10-02', { outUsd: 3, outTxCount: 2 })]);
    expect(
      periods.map(({ name, in: received, out }) => [name, received.usd, out.usd, out.transfers]),
    ).toEqual([
      ['2026-10-02', 10, 3, 2],
      ['2026-10-03', null, null, 0],
      ['2026-10-04', 10, null, 0],
    ]);
  });

  it('are months and years if there would be too many', () => {
    const months = periodsOf([day('2026-06-30'), day('2026-03-01'), day('2026-03-31')]);
    expect(months.map(({ name, in: received }) => [name, received.usd, received.transfers])).toEqual([
      ['2026-03', 20, 2],
      ['2026-04', null, 0],
      ['2026-05', null, 0],
      ['2026-06', 10, 1],
    ]);
    expect(periodsOf([day('2016-01-01'), day('2026-01-01')])).toHaveLength(11);
  });

  it('keep unknown amounts apart from zero', () => {
    const [known, unknown] = periodsOf([day('2026-10-01', { inUsd: 0 }), day('2026-10-02', { inUsd: null })]);
    expect([known?.in.usd, unknown?.in.usd, unknown?.in.transfers]).toEqual([0, null, 1]);
    expect(greatest([], 'usd')).toBe(0);
  });

  it('ignore what is not a date', () => {
    expect(periodsOf([day('<b>never</b>')])).toEqual([]);
  });
});
