/** From evidence to a score: pure, deterministic, and explained point by point. */
import type { Category } from '../labels/taxonomy.ts';
import { type RiskLevel, type RiskPolicy, riskLevelOf } from './policy.ts';

export type { RiskLevel } from './policy.ts';

/** One label of the scored address itself. */
export interface OwnershipEvidence {
  readonly category: Category;
  /** 0 to 1. */
  readonly confidence: number;
  readonly entity: string;
  readonly source: string;
}

/**
 * Value that moved between the scored address and others, risky or not: the neutral part is what shares are measured
 * against. `UNKNOWN` is value whose other side nobody knows. Items are parts: no value stands in two of them.
 */
export interface ExposureEvidence {
  readonly category: Category | 'UNKNOWN';
  readonly direction: 'in' | 'out';
  /** 1: traded with directly. */
  readonly hops: number;
  /** USD of the priced transfers, of further hops the share that reached here; null where none is priced. */
  readonly valueUsd: number | null;
  /** Transfers of an amount that nobody could price; of further hops a share of them, which may be a fraction. */
  readonly unpricedTransfers: number;
  /** That the category is right, 0 to 1. */
  readonly confidence: number;
  readonly entity: string | null;
  /** Received from a party the address has no hand in (`isUnsolicited`). Counts only directly and where `direction` is in. */
  readonly unsolicited?: boolean;
}

export interface RiskEvidence {
  /** Direct sanctions in force, in words (`OFAC_SDN: LAZARUS GROUP`). */
  readonly sanctions: readonly string[];
  readonly labels: readonly OwnershipEvidence[];
  readonly exposures: readonly ExposureEvidence[];
  /** The address belongs to a service that is not risky itself (exchange, bridge, pool), and trades with everybody. */
  readonly isService: boolean;
}

export interface ScoreFactor {
  readonly factor:
    | 'SANCTIONS_IN_FORCE'
    | 'OWN_LABEL'
    | 'DIRECT_EXPOSURE'
    | 'INDIRECT_EXPOSURE'
    | 'UNSOLICITED_INBOUND';
  readonly category: Category | 'UNKNOWN';
  readonly riskType: 'OWNERSHIP' | 'COUNTERPARTY' | 'INDIRECT' | 'BEHAVIOUR';
  readonly direction: 'in' | 'out' | 'both';
  /** Of the value that moved in the direction; 100 for what the address itself is. */
  readonly percentage: number;
  readonly valueUsd: number | null;
  readonly hops: number;
  /** Whole points, negative for a discount. The points of all factors add up to the score before its cap at 100. */
  readonly points: number;
  readonly evidence: readonly string[];
}

export interface RiskScore {
  readonly riskScore: number;
  readonly riskLevel: RiskLevel;
  readonly scoreBreakdown: readonly ScoreFactor[];
  readonly policyVersion: string;
}

/** Evidence named of one factor: enough to follow it up. */
const EVIDENCE_LISTED_MAX = 10;
/** Sums of floats in another order differ in the last digits; points must not. */
const FLOAT_SLACK = 1e-9;

const twoDecimals = (value: number): number => Math.round(value * 100) / 100;
const unique = (texts: readonly string[]): string[] => [...new Set(texts)].sort();

/** USD that a flow counts as: what is priced, and the policy's figure for each transfer that is not. */
export const effectiveUsd = (
  flow: { readonly valueUsd: number | null; readonly unpricedTransfers: number },
  policy: RiskPolicy,
): number => (flow.valueUsd ?? 0) + flow.unpricedTransfers * policy.unpricedTransferUsd;

/** Whole points of one label: the weight of its category times its confidence. */
export const labelPoints = (
  { category, confidence }: Pick<OwnershipEvidence, 'category' | 'confidence'>,
  policy: RiskPolicy,
): number => Math.round(policy.weights[category] * confidence);

/**
 * Points of the strongest thing the address itself is: a sanction in force, else the label of the greatest weight times
 * confidence. Labels are not added up: three publishers of one fact are one fact.
 */
function ownershipFactor(evidence: RiskEvidence, policy: RiskPolicy): ScoreFactor | null {
  const own = { riskType: 'OWNERSHIP', direction: 'both', percentage: 100, valueUsd: null, hops: 0 } as const;
  if (evidence.sanctions.length > 0) {
    return {
      factor: 'SANCTIONS_IN_FORCE',
      category: 'SANCTIONED_ENTITY',
      ...own,
      points: policy.sanctionedPoints,
      evidence: unique(evidence.sanctions).slice(0, EVIDENCE_LISTED_MAX),
    };
  }
  const pointsOf = (label: OwnershipEvidence): number => labelPoints(label, policy);
  let strongest: OwnershipEvidence | null = null;
  for (const label of evidence.labels) {
    const better = strongest === null ? 1 : pointsOf(label) - pointsOf(strongest);
    if (better > 0 || (better === 0 && strongest !== null && label.category < strongest.category))
      strongest = label;
  }
  if (strongest === null || pointsOf(strongest) === 0) return null;
  const { category } = strongest;
  return {
    factor: 'OWN_LABEL',
    category,
    ...own,
    points: pointsOf(strongest),
    evidence: unique(
      evidence.labels
        .filter((label) => label.category === category)
        .map((label) => `${label.source}: ${label.entity}`),
    ).slice(0, EVIDENCE_LISTED_MAX),
  };
}

/** What is left of a weight `hops` away: `directDecay` at the first, times `hopDecay` at each further one. */
export const decayAt = (hops: number, policy: RiskPolicy): number =>
  policy.directDecay * policy.hopDecay ** (Math.max(1, hops) - 1);

/** Whether a counterparty of the category is a risk; all others are neutral volume. */
export const isRisky = (category: Category | 'UNKNOWN', policy: RiskPolicy): category is Category =>
  category !== 'UNKNOWN' && policy.weights[category] >= policy.riskyFrom;

/**
 * Whether money came without the address's doing: directly, small in sum and number, from a party it never sent anything to.
 * Anybody can send to anybody ("dusting"; the US Treasury says so of Tornado Cash in its FAQ 1078 of 2022-09-13). What
 * nobody could price counts as the policy's figure, and is therefore not small.
 */
export function isUnsolicited(
  dealings: {
    readonly direction: 'in' | 'out';
    readonly hops: number;
    readonly valueUsd: number | null;
    readonly unpricedTransfers: number;
    readonly transfers: number;
    /** The address has sent value to the same party or entity. */
    readonly sentBack: boolean;
  },
  policy: RiskPolicy,
): boolean {
  if (dealings.direction !== 'in' || dealings.hops !== 1 || dealings.sentBack) return false;
  return (
    dealings.transfers <= policy.unsolicitedMaxTransfers &&
    effectiveUsd(dealings, policy) <= policy.unsolicitedMaxUsd
  );
}

/** One risky exposure, weighed. */
interface WeighedExposure {
  readonly evidence: ExposureEvidence;
  readonly category: Category;
  readonly value: number;
  /** Points it would bring if it were all that moved, 0 to 100. */
  readonly severity: number;
  readonly name: string;
}

/** What one direction of the trade is made of. */
interface Trade {
  readonly direction: 'in' | 'out';
  /** Effective USD of all that is not risky, and of everything. */
  readonly neutral: number;
  readonly whole: number;
  readonly risky: readonly WeighedExposure[];
}

const byText = (a: string, b: string): number => (a === b ? 0 : a < b ? -1 : 1);
const sumOf = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

function tradeOf(direction: 'in' | 'out', evidence: RiskEvidence, policy: RiskPolicy): Trade {
  const risky: WeighedExposure[] = [];
  const neutral: number[] = [];
  for (const item of evidence.exposures) {
    if (item.direction !== direction) continue;
    const value = effectiveUsd(item, policy);
    const { category, hops } = item;
    if (!isRisky(category, policy)) {
      neutral.push(value);
      continue;
    }
    const service = evidence.isService ? policy.serviceExposureFactor : 1;
    const severity = policy.weights[category] * item.confidence * decayAt(hops, policy) * service;
    const name = `${String(hops).padStart(3, '0')} ${category}`;
    risky.push({ evidence: item, category, value, severity, name });
  }
  // One order whatever order the evidence came in: sums of floats depend on it.
  neutral.sort((a, b) => a - b);
  risky.sort((a, b) => byText(a.name, b.name) || a.value - b.value || a.severity - b.severity);
  const neutralValue = sumOf(neutral);
  return {
    direction,
    neutral: neutralValue,
    whole: neutralValue + sumOf(risky.map((item) => item.value)),
    risky,
  };
}

/**
 * How much of a severity a sum of risky value brings, 0 to 1: share and absolute value as two independent reasons,
 * 1 − (1 − share part)(1 − value part). The share is measured against neutral value alone: measured against all value,
 * one risk would dilute another, and more of it could lower a score. Dust brings nothing.
 */
function magnitude(value: number, neutral: number, policy: RiskPolicy): number {
  if (value <= 0 || value < policy.dustUsd) return 0;
  const share = (value / (value + neutral)) ** policy.shareExponent;
  const scale = Math.log10(1 + policy.valueFullUsd / policy.valueUnitUsd);
  const sum = policy.valueCeiling * Math.min(1, Math.log10(1 + value / policy.valueUnitUsd) / scale);
  return 1 - (1 - share) * (1 - sum);
}

/**
 * Points of one direction, by group of hops and category: the discrete Choquet integral of severity over the magnitude of
 * value (G. Choquet, "Theory of capacities", 1954). From the most severe exposure down, each brings its severity times
 * what its value adds to the magnitude of all that is at least as severe. So the sum never exceeds the greatest severity,
 * one risk is not counted twice under two names, and it can only rise when value or severity rises.
 */
function pointsByGroup(
  { risky, neutral }: Trade,
  severityOf: (item: WeighedExposure) => number,
  policy: RiskPolicy,
): Map<string, number> {
  const points = new Map<string, number>();
  let value = 0;
  let reached = 0;
  for (const item of [...risky].sort((a, b) => severityOf(b) - severityOf(a))) {
    value += item.value;
    const next = Math.max(reached, magnitude(value, neutral, policy));
    points.set(item.name, (points.get(item.name) ?? 0) + severityOf(item) * (next - reached));
    reached = next;
  }
  return points;
}

/** The next whole number: what is there at all is worth a point. */
const wholePoints = (points: ReadonlyMap<string, number>): number =>
  Math.ceil(sumOf([...points.values()]) - FLOAT_SLACK);

/** Hands out `total` whole points in proportion to exact ones, by largest remainder; equal remainders in the order of names. */
function apportion(points: ReadonlyMap<string, number>, total: number): Map<string, number> {
  const rows = [...points].map(([name, exact]) => ({ name, whole: Math.floor(exact), rest: exact % 1 }));
  let left = total - sumOf(rows.map((row) => row.whole));
  rows.sort((a, b) => b.rest - a.rest || byText(a.name, b.name));
  return new Map(rows.map(({ name, whole, rest }) => [name, whole + (rest > 0 && left-- > 0 ? 1 : 0)]));
}

/** Priced USD and percentage of some of a direction's value. */
function amountsOf(
  items: readonly WeighedExposure[],
  { whole }: Trade,
): Pick<ScoreFactor, 'percentage' | 'valueUsd' | 'evidence'> {
  const priced = items.flatMap(({ evidence }) => (evidence.valueUsd === null ? [] : [evidence.valueUsd]));
  const value = sumOf(items.map((item) => item.value));
  return {
    percentage: whole > 0 ? twoDecimals(Math.min(100, (100 * value) / whole)) : 0,
    valueUsd: priced.length === 0 ? null : twoDecimals(sumOf(priced)),
    evidence: unique(
      items.flatMap(({ evidence }) => (evidence.entity === null ? [] : [evidence.entity])),
    ).slice(0, EVIDENCE_LISTED_MAX),
  };
}

function exposureFactors(trade: Trade, policy: RiskPolicy): ScoreFactor[] {
  if (trade.risky.length === 0) return [];
  const gross = pointsByGroup(trade, (item) => item.severity, policy);
  const total = wholePoints(gross);
  const handed = apportion(gross, total);
  const { direction } = trade;
  const factors = [...handed]
    .filter(([, points]) => points > 0)
    .sort(([a], [b]) => byText(a, b))
    .flatMap(([name, points]): ScoreFactor[] => {
      const items = trade.risky.filter((item) => item.name === name);
      const first = items[0];
      if (!first) return [];
      const { hops } = first.evidence;
      return [
        {
          factor: hops === 1 ? 'DIRECT_EXPOSURE' : 'INDIRECT_EXPOSURE',
          category: first.category,
          riskType: hops === 1 ? 'COUNTERPARTY' : 'INDIRECT',
          direction,
          hops,
          points,
          ...amountsOf(items, trade),
        },
      ];
    });
  const discount = unsolicitedDiscount(trade, total, policy);
  return discount ? [...factors, discount] : factors;
}

/** What unsolicited money is let off: the difference to the points it brings at `unsolicitedFactor` of its severity. */
function unsolicitedDiscount(trade: Trade, total: number, policy: RiskPolicy): ScoreFactor | null {
  const isDiscounted = ({ evidence }: WeighedExposure): boolean =>
    evidence.direction === 'in' && evidence.hops === 1 && evidence.unsolicited === true;
  const items = trade.risky.filter(isDiscounted);
  const [first] = items;
  if (!first) return null;
  // What came in a thousand small parts is not small. All that came directly counts, asked for or not: were it the unsolicited
  // alone, asking for some of it would let off the rest.
  const direct = trade.risky.filter(({ evidence }) => evidence.hops === 1);
  if (sumOf(direct.map((item) => item.value)) > policy.unsolicitedTotalMaxUsd) return null;
  const severityOf = (item: WeighedExposure): number =>
    item.severity * (isDiscounted(item) ? policy.unsolicitedFactor : 1);
  const points = wholePoints(pointsByGroup(trade, severityOf, policy)) - total;
  if (points >= 0) return null;
  return {
    factor: 'UNSOLICITED_INBOUND',
    category: items.every((item) => item.category === first.category) ? first.category : 'UNKNOWN',
    riskType: 'COUNTERPARTY',
    direction: trade.direction,
    hops: 1,
    points,
    ...amountsOf(items, trade),
  };
}

/**
 * Scores evidence: what the address is, plus what it received, plus what it sent. More of anything risky, nearer, surer or
 * of a graver category never lowers the score; a direct sanction in force makes it 100.
 */
export function score(evidence: RiskEvidence, policy: RiskPolicy): RiskScore {
  const own = ownershipFactor(evidence, policy);
  const scoreBreakdown = own ? [own] : [];
  // The oracle asks by labels alone, in microseconds.
  if (evidence.exposures.length > 0) {
    for (const direction of ['in', 'out'] as const)
      scoreBreakdown.push(...exposureFactors(tradeOf(direction, evidence, policy), policy));
  }
  const riskScore = Math.min(100, sumOf(scoreBreakdown.map((factor) => factor.points)));
  return {
    riskScore,
    riskLevel: riskLevelOf(riskScore, policy),
    scoreBreakdown,
    policyVersion: policy.version,
  };
}
