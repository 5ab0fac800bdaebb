import { describe, expect, it } from 'vitest';
import { isoTime } from '../../src/base/clock.ts';
import { seededUint32 } from '../../src/base/random.ts';

const DAY_MS = 24 * 3_600_000;

describe('isoTime', () => {
  it('is the text of Date, for times of the same day and of others', () => {
    const next = seededUint32(8);
    const random = (below: number): number => Math.floor((next() / 2 ** 32) * below);
    for (let day = 0; day < 400; day++) {
      const start = (random(400_000) - 200_000) * DAY_MS;
      const times = [
        0,
        DAY_MS - 1,
        999,
        59_999,
        3_599_999,
        -1,
        DAY_MS,
        ...[1, 2, 3].map(() => random(DAY_MS)),
      ];
      for (const time of times) expect(isoTime(start + time)).toBe(new Date(start + time).toISOString());
    }
  });

  it('leaves parts of a millisecond out, writes years of six digits, and rejects what is no time', () => {
    for (const time of [0.9, -0.9, 1_764_200_000_000.5, 8.64e15 - 1, -8.64e15, 253_402_300_800_000])
      for (const again of [time, time]) expect(isoTime(again)).toBe(new Date(again).toISOString());
    for (const time of [Number.NaN, Number.POSITIVE_INFINITY, 8.64e15 + DAY_MS])
      expect(() => isoTime(time)).toThrow(RangeError);
  });
});
