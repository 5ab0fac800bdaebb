import { describe, expect, it } from 'vitest';
import { growthExponent, sizeAt } from '../../bench/growth-fit.ts';

describe('the exponent of a growth', () => {
  it('is that of the power law that points were made with', () => {
    const points = [1e4, 1e5, 1e6, 1e7].map((size) => ({ size, cost: 0.02 * size ** 0.75 }));
    expect(growthExponent(points)).toBeCloseTo(0.75, 10);
  });

  it('is in the middle of points that scatter', () => {
    const points = [
      { size: 10, cost: 20 },
      { size: 100, cost: 50 },
      { size: 1_000, cost: 2_000 },
    ];
    expect(growthExponent(points)).toBeCloseTo(1, 10);
  });

  it('is not known from one size', () => {
    expect(growthExponent([])).toBeNull();
    expect(
      growthExponent([
        { size: 10, cost: 5 },
        { size: 10, cost: 6 },
      ]),
    ).toBeNull();
  });
});

describe('the size at which a resource ends', () => {
  it('leaves out what does not grow, whatever the order of the points', () => {
    const points = [1e3, 1e6, 1e5].map((size) => ({ size, cost: 100 + size / 1e4 }));
    expect(sizeAt(points, 1_100)).toBeCloseTo(1e7, 3);
  });

  it('is never reached by a cost that does not grow', () => {
    expect(
      sizeAt(
        [
          { size: 10, cost: 5 },
          { size: 1_000, cost: 5 },
        ],
        100,
      ),
    ).toBe(Number.POSITIVE_INFINITY);
    expect(sizeAt([{ size: 10, cost: 5 }], 100)).toBe(Number.POSITIVE_INFINITY);
  });
});
