/** Figures as answers show them: rounded, as percentages, and sums of values of which some are unknown. */

/** Rounds to two decimals. */
export const twoDecimals = (value: number): number => Math.round(value * 100) / 100;

/** Returns `part` as a percentage of `whole`; 0 if the whole is 0. */
export const percent = (part: number, whole: number): number => (whole > 0 ? (100 * part) / whole : 0);

/** Returns the sum of two figures with two decimals; null only if both are null. */
export const addUsd = (a: number | null, b: number | null): number | null =>
  a === null && b === null ? null : twoDecimals((a ?? 0) + (b ?? 0));
