/** The value that moved in one direction, in USD or in one asset: what of it is risky, and how many points that brings. */

import type { Category } from '../labels/taxonomy.ts';
import {
  confidenceClass,
  decayAt,
  type ExposureEvidence,
  isRisky,
  type RiskEvidence,
  reaches,
} from './evidence.ts';
import type { RiskPolicy } from './policy.ts';

/** Sums of floats in another order differ in the last digits. Points must not depend on them. */
const FLOAT_SLACK = 1e-9;

/** One risky exposure with its severity. */
export interface WeighedExposure {
  readonly evidence: ExposureEvidence;
  readonly category: Category;
  /** USD, or share of the asset. */
  readonly value: number;
  /** The value as dust is measured: USD, or share of the greater flow of the asset. */
  readonly size: number;
  /** Points that it would bring if nothing else had moved, 0 to 100. */
  readonly severity: number;
  readonly name: string;
}

/** The exposures of one direction, in USD or in one asset without a price. */
export interface Trade {
  readonly direction: 'in' | 'out';
  /** Null for USD. */
  readonly asset: string | null;
  /** Value of everything that is not risky. */
  readonly neutral: number;
  /** Value of everything. */
  readonly whole: number;
  readonly risky: readonly WeighedExposure[];
}

/** Orders texts by their code units, on every machine alike. */
export const byText = (a: string, b: string): number => (a === b ? 0 : a < b ? -1 : 1);

/** Returns the sum of values. */
export const sumOf = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** Returns the trades of one direction: USD first, then the assets by name. */
export function tradesOf(direction: 'in' | 'out', evidence: RiskEvidence, policy: RiskPolicy): Trade[] {
  // Grouped once: a pass over all evidence for each asset would cost more than the points.
  const byAsset = new Map<string | null, ExposureEvidence[]>([[null, []]]);
  for (const item of evidence.exposures) {
    if (item.direction !== direction) continue;
    const known = byAsset.get(item.asset);
    if (known === undefined) byAsset.set(item.asset, [item]);
    else known.push(item);
  }
  return [...byAsset]
    .sort(([a], [b]) => byText(a ?? '', b ?? ''))
    .map(([asset, items]) => tradeOf({ direction, asset, items, isService: evidence.isService }, policy));
}

/** The exposures of one direction and asset, before they are weighed. */
interface Moved extends Pick<Trade, 'direction' | 'asset'> {
  readonly items: readonly ExposureEvidence[];
  readonly isService: boolean;
}

function tradeOf({ direction, asset, items, isService }: Moved, policy: RiskPolicy): Trade {
  const risky: WeighedExposure[] = [];
  const neutral: number[] = [];
  const service = isService ? policy.serviceExposureFactor : 1;
  for (const item of items) {
    const value = asset === null ? (item.valueUsd ?? 0) : item.share;
    const { category, hops } = item;
    if (!isRisky(category, policy) || item.isOwn === true) {
      neutral.push(value);
      continue;
    }
    const confidence = confidenceClass(item.confidence);
    const severity = policy.weights[category] * confidence * decayAt(hops, policy) * service;
    const name = `${String(hops).padStart(3, '0')} ${category}`;
    const size = asset === null ? value : value * (item.flowPart ?? 1);
    risky.push({ evidence: item, category, value, size, severity, name });
  }
  // Sorted, because sums of floats depend on the order of the evidence.
  neutral.sort((a, b) => a - b);
  risky.sort(
    (a, b) => byText(a.name, b.name) || a.value - b.value || a.size - b.size || a.severity - b.severity,
  );
  const neutralValue = sumOf(neutral);
  return {
    direction,
    asset,
    neutral: neutralValue,
    whole: neutralValue + sumOf(risky.map((item) => item.value)),
    risky,
  };
}

/**
 * Returns how much of a severity a sum of risky value brings, 0 to 1: share and absolute value as two independent reasons, 1 − (1
 * − share part)(1 − value part). The share is measured against neutral value alone: if it were measured against all value, one
 * risk would dilute another, and more of it could lower a score. Dust brings nothing. An asset without a price has no absolute
 * value: only its share counts.
 */
function magnitude(value: number, size: number, { asset, neutral }: Trade, policy: RiskPolicy): number {
  if (value <= 0 || !reaches(size, asset === null ? policy.dustUsd : policy.dustShare)) return 0;
  const share = (value / (value + neutral)) ** policy.shareExponent;
  if (asset !== null) return share;
  const scale = Math.log10(1 + policy.valueFullUsd / policy.valueUnitUsd);
  const sum = policy.valueCeiling * Math.min(1, Math.log10(1 + value / policy.valueUnitUsd) / scale);
  return 1 - (1 - share) * (1 - sum);
}

/**
 * Returns the points of one direction, by group of hops and category: the discrete Choquet integral of severity over the
 * magnitude of value (G. Choquet, "Theory of capacities", 1954). Exposures are taken from the most severe down. Each brings its
 * severity times the part that its value adds to the magnitude of all exposures that are at least as severe. So the sum never
 * exceeds the greatest severity, one risk is not counted twice under two names, and the sum can only rise when value or severity
 * rises.
 */
export function pointsByGroup(
  trade: Trade,
  severityOf: (item: WeighedExposure) => number,
  policy: RiskPolicy,
): Map<string, number> {
  const points = new Map<string, number>();
  let value = 0;
  let size = 0;
  let reached = 0;
  for (const item of [...trade.risky].sort((a, b) => severityOf(b) - severityOf(a))) {
    value += item.value;
    size += item.size;
    const next = Math.max(reached, magnitude(value, size, trade, policy));
    points.set(item.name, (points.get(item.name) ?? 0) + severityOf(item) * (next - reached));
    reached = next;
  }
  return points;
}

/** Rounds up: any risk above zero is worth a point. */
export const wholePoints = (points: ReadonlyMap<string, number>): number =>
  Math.ceil(sumOf([...points.values()]) - FLOAT_SLACK);

/**
 * Distributes `total` whole points in proportion to exact ones, by largest remainder; equal remainders are served in the order of
 * names.
 */
export function apportion(points: ReadonlyMap<string, number>, total: number): Map<string, number> {
  const rows = [...points].map(([name, exact]) => ({ name, whole: Math.floor(exact), rest: exact % 1 }));
  let left = total - sumOf(rows.map((row) => row.whole));
  rows.sort((a, b) => b.rest - a.rest || byText(a.name, b.name));
  return new Map(rows.map(({ name, whole, rest }) => [name, whole + (rest > 0 && left-- > 0 ? 1 : 0)]));
}
