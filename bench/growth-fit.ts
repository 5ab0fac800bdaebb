/** How a cost grows with a size. */

export interface GrowthPoint {
  readonly size: number;
  readonly cost: number;
}

/**
 * Returns the exponent of the power law that fits points best, by least squares of their logarithms.
 *
 * @param points sizes and costs above 0
 * @returns the exponent, or null for fewer than two sizes
 *
 * @example
 * growthExponent([{ size: 10, cost: 3 }, { size: 1_000, cost: 300 }]); // 1
 */
export function growthExponent(points: readonly GrowthPoint[]): number | null {
  const logs = points.map(({ size, cost }) => [Math.log(size), Math.log(cost)] as const);
  if (new Set(points.map(({ size }) => size)).size < 2) return null;
  const mean = (of: 0 | 1): number => logs.reduce((sum, one) => sum + one[of], 0) / logs.length;
  const [sizes, costs] = [mean(0), mean(1)];
  let together = 0;
  let spread = 0;
  for (const [size, cost] of logs) {
    together += (size - sizes) * (cost - costs);
    spread += (size - sizes) ** 2;
  }
  return together / spread;
}

/**
 * Returns the size at which a cost reaches a limit, on the line through the two largest sizes: memory and disk have a part that does not grow,
 * which would bend a power law. Infinite if the cost does not grow there, and for fewer than two sizes.
 */
export function sizeAt(points: readonly GrowthPoint[], limit: number): number {
  const [last, before] = points.toSorted((a, b) => b.size - a.size);
  if (last === undefined || before === undefined || last.cost <= before.cost) return Number.POSITIVE_INFINITY;
  const slope = (last.cost - before.cost) / (last.size - before.size);
  return last.size + (limit - last.cost) / slope;
}
