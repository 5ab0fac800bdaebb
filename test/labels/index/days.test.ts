import { describe, expect, it } from 'vitest';
import { dayFromBytes, dayFromIso, isoFromDay, NO_DAY, writeIsoDay } from '../../../src/labels/index/days.ts';

describe('days', () => {
  it('match the calendar of the language for every day', () => {
    const bytes = new Uint8Array(10);
    for (let day = 1; day <= 0xffff; day++) {
      const iso = new Date(day * 86_400_000).toISOString().slice(0, 10);
      expect(isoFromDay(day)).toBe(iso);
      expect(dayFromIso(iso)).toBe(day);
      writeIsoDay(day, bytes, 0);
      expect(Buffer.from(bytes).toString()).toBe(iso);
      expect(dayFromBytes(bytes, 0)).toBe(day);
    }
  });

  it('reject invalid dates', () => {
    for (const text of [
      '2023-02-29',
      '2023-13-01',
      '2023-00-10',
      '2023-1-010',
      '1969-12-31',
      '2200-01-01',
      'abcd-ef-gh',
    ]) {
      expect(dayFromBytes(Buffer.from(text), 0)).toBe(-1);
    }
    for (const text of [null, '', 'soon', '1969-12-31', '2200-01-01']) expect(dayFromIso(text)).toBe(NO_DAY);
    expect(dayFromIso('2019')).toBe(dayFromIso('2019-01-01'));
    expect(isoFromDay(NO_DAY)).toBeNull();
  });
});
