/** Computes a score from evidence: pure, deterministic, and explained point by point. */

import { twoDecimals } from '../base/figures.ts';
import { type EvidenceClass, isDerived } from '../labels/evidence-class.ts';
import type { Category } from '../labels/taxonomy.ts';
import { type ExposureEvidence, exceeds, isRisky, type RiskEvidence, reaches } from './evidence.ts';
import { ownershipFactor } from './ownership.ts';
import { type RiskLevel, type RiskPolicy, riskLevelOf } from './policy.ts';
import { isGrave, isUnasked, Severities } from './severities.ts';
import {
  apportion,
  byText,
  pointsByGroup,
  sumOf,
  type Trade,
  tradesOf,
  type WeighedExposure,
  wholePoints,
} from './trades.ts';

export interface ScoreFactor {
  readonly factor:
    | 'SANCTIONS_IN_FORCE'
    | 'OWN_LABEL'
    | 'DIRECT_EXPOSURE'
    | 'INDIRECT_EXPOSURE'
    | 'UNSOLICITED_INBOUND'
    /** Points subtracted because only derived labels would make the score CRITICAL. */
    | 'DERIVED_LABELS_CAP';
  readonly category: Category | 'UNKNOWN';
  readonly riskType: 'OWNERSHIP' | 'COUNTERPARTY' | 'INDIRECT' | 'BEHAVIOUR';
  readonly direction: 'in' | 'out' | 'both';
  /**
   * The asset without a price that `percentage` refers to; null for USD. Such a row has only the points that it adds to those of
   * USD.
   */
  readonly asset: string | null;
  /** The weakest class of the evidence: derived if any of it is derived. */
  readonly class: EvidenceClass;
  /** Percentage of the value that moved in the direction; 100 for a factor about the address itself. */
  readonly percentage: number;
  readonly valueUsd: number | null;
  readonly hops: number;
  /**
   * Whole points, negative for a discount. The points of all factors add up to the score before it is capped at 100. Zero only if
   * graver exposures have all the points and the severity is at least HIGH.
   */
  readonly points: number;
  /**
   * The level of the points that the category would bring alone, direct or indirect, beside the neutral value of its direction.
   * Direct dealings with sanctioned parties are at least HIGH. Reasons and flags about the same dealings have this severity too.
   */
  readonly severity: RiskLevel;
  /** For exposures: entities, greatest value first. */
  readonly evidence: readonly string[];
}

export interface RiskScore {
  readonly riskScore: number;
  readonly riskLevel: RiskLevel;
  readonly scoreBreakdown: readonly ScoreFactor[];
  readonly policyVersion: string;
}

/** Maximum number of evidence texts in one factor: enough to follow it up. */
const EVIDENCE_LISTED_MAX = 10;

/** Returns the entities, greatest value first. */
function entitiesOf(items: readonly WeighedExposure[]): string[] {
  const values = new Map<string, number>();
  for (const { evidence, value } of items)
    if (evidence.entity !== null) values.set(evidence.entity, (values.get(evidence.entity) ?? 0) + value);
  return [...values]
    .sort(([a, most], [b, value]) => value - most || byText(a, b))
    .slice(0, EVIDENCE_LISTED_MAX)
    .map(([name]) => name);
}

const CLASSES: readonly EvidenceClass[] = ['inferred', 'structural', 'published', 'list'];

/** Returns percentage, USD, class and entities of some of a direction's value. */
function amountsOf(
  items: readonly WeighedExposure[],
  { whole, asset }: Trade,
): Pick<ScoreFactor, 'asset' | 'class' | 'percentage' | 'valueUsd' | 'evidence'> {
  const value = sumOf(items.map((item) => item.value));
  return {
    asset,
    class: CLASSES.find((one) => items.some((item) => item.evidence.class === one)) ?? 'published',
    percentage: whole > 0 ? twoDecimals(Math.min(100, (100 * value) / whole)) : 0,
    valueUsd: asset === null ? twoDecimals(value) : null,
    evidence: entitiesOf(items),
  };
}

/**
 * Returns the factors of a trade: `total` points, distributed in proportion to the exact points of its groups. Groups of severity
 * HIGH and above are returned even without points.
 */
function factorsOf(
  trade: Trade,
  { exact, total }: { readonly exact: ReadonlyMap<string, number>; readonly total: number },
  severities: Severities,
): ScoreFactor[] {
  const { direction } = trade;
  const handedOut = apportion(exact, total);
  const names = [...new Set(trade.risky.map(({ name }) => name))].sort(byText);
  return names
    .map((name) => [name, handedOut.get(name) ?? 0] as const)
    .filter(([name, points]) => points > 0 || isGrave(severities.ofName(name)))
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
          severity: severities.ofName(name),
          ...amountsOf(items, trade),
        },
      ];
    });
}

function pricedSeverities(trade: Trade, isService: boolean, policy: RiskPolicy): Severities {
  const severityOf = discountedSeverity(trade, policy);
  return new Severities(trade, isService, policy, (risky) =>
    wholePoints(pointsByGroup({ ...trade, risky }, severityOf, policy)),
  );
}

function pricedFactors(trade: Trade, isService: boolean, policy: RiskPolicy): ScoreFactor[] {
  if (trade.risky.length === 0) return [];
  const exact = pointsByGroup(trade, (item) => item.severity, policy);
  const total = wholePoints(exact);
  const factors = factorsOf(trade, { exact, total }, pricedSeverities(trade, isService, policy));
  const discount = unsolicitedDiscount(trade, total, policy);
  return discount ? [...factors, discount] : factors;
}

const isDiscounted = ({ evidence }: WeighedExposure): boolean => evidence.hops === 1 && isUnasked(evidence);

/**
 * Returns the severity of each item, with the discount for unsolicited money. All direct value counts towards the limit,
 * solicited or not: if only unsolicited value counted, a holder could request some of the money to get the discount for the rest.
 */
function discountedSeverity({ asset, risky }: Trade, policy: RiskPolicy): (item: WeighedExposure) => number {
  const direct = sumOf(risky.filter(({ evidence }) => evidence.hops === 1).map(({ size }) => size));
  const most = asset === null ? policy.unsolicitedTotalMaxUsd : policy.unsolicitedTotalMaxShare;
  if (exceeds(direct, most)) return (item) => item.severity;
  return (item) => item.severity * (isDiscounted(item) ? policy.unsolicitedFactor : 1);
}

/**
 * Returns the discount for unsolicited money: the difference to the points that it brings at `unsolicitedFactor` of its severity.
 * Null if nothing is let off.
 */
function unsolicitedDiscount(trade: Trade, total: number, policy: RiskPolicy): ScoreFactor | null {
  const items = trade.risky.filter(isDiscounted);
  const [first] = items;
  if (!first) return null;
  const points = wholePoints(pointsByGroup(trade, discountedSeverity(trade, policy), policy)) - total;
  if (points >= 0) return null;
  return {
    factor: 'UNSOLICITED_INBOUND',
    category: items.every((item) => item.category === first.category) ? first.category : 'UNKNOWN',
    riskType: 'COUNTERPARTY',
    direction: trade.direction,
    hops: 1,
    points,
    severity: 'LOW',
    ...amountsOf(items, trade),
  };
}

/** The points of an asset without a price, and the exact points of its groups, by which they are distributed. */
interface UnpricedPoints {
  readonly points: number;
  readonly exact: Map<string, number>;
}

/**
 * Returns the points of an asset without a price: by share, with the discount for unsolicited money, up to a limit. The limit is
 * lower if neutral value with a price moved too, but only for value that came without an action of the address: neutral value
 * does not lower the points of value that the address sent, or received and spent.
 */
function unpricedPoints(trade: Trade, isBesidePriced: boolean, policy: RiskPolicy): UnpricedPoints {
  const { unpricedPointsMax, unpricedPointsMaxBesidePriced } = policy;
  const exact = pointsByGroup(trade, discountedSeverity(trade, policy), policy);
  const all = wholePoints(exact);
  if (!isBesidePriced) return { points: Math.min(unpricedPointsMax, all), exact };
  const low = Math.min(unpricedPointsMaxBesidePriced, all);
  const asked = { ...trade, risky: trade.risky.filter(({ evidence }) => !isUnasked(evidence)) };
  const exactAsked = pointsByGroup(asked, (item) => item.severity, policy);
  const points = Math.min(unpricedPointsMax, wholePoints(exactAsked));
  return points > low ? { points, exact: exactAsked } : { points: low, exact };
}

/** Returns true if a direction has enough neutral value with a price for the lower limit of assets without one. */
const isBeside = ({ neutral }: Trade, policy: RiskPolicy): boolean =>
  neutral > 0 && reaches(neutral, policy.unpricedBesideUsd);

const unpricedSeverities = (
  trade: Trade,
  { priced, isService }: { readonly priced: Trade; readonly isService: boolean },
  policy: RiskPolicy,
): Severities =>
  new Severities(
    trade,
    isService,
    policy,
    (risky) => unpricedPoints({ ...trade, risky }, isBeside(priced, policy), policy).points,
  );

/**
 * Returns the factors that assets without a price add to a direction. Each asset is judged alone (`unpricedPoints`). The worst
 * one decides, and only the points that it has above the priced points are added. Neither the number of transfers nor the number
 * of assets adds points.
 */
function unpricedFactors(
  assets: readonly Trade[],
  beside: { readonly priced: Trade; readonly pricedPoints: number; readonly isService: boolean },
  policy: RiskPolicy,
): ScoreFactor[] {
  const judged = assets.map((trade) => ({
    trade,
    ...unpricedPoints(trade, isBeside(beside.priced, policy), policy),
  }));
  let worst: (typeof judged)[number] | null = null;
  for (const one of judged) if (one.points > (worst?.points ?? beside.pricedPoints)) worst = one;
  return judged.flatMap((one) => {
    const severities = unpricedSeverities(one.trade, beside, policy);
    if (one !== worst) return factorsOf(one.trade, { exact: new Map(), total: 0 }, severities);
    const total = one.points - beside.pricedPoints;
    const factor = total / sumOf([...one.exact.values()]);
    const exact = new Map([...one.exact].map(([name, points]) => [name, points * factor]));
    return factorsOf(one.trade, { exact, total }, severities);
  });
}

const pointsIn = (factors: readonly ScoreFactor[]): number => sumOf(factors.map(({ points }) => points));

function exposureFactors(evidence: RiskEvidence, policy: RiskPolicy): ScoreFactor[] {
  return (['in', 'out'] as const).flatMap((direction) => {
    const [priced, ...assets] = tradesOf(direction, evidence, policy) as [Trade, ...Trade[]];
    const { isService } = evidence;
    const factors = pricedFactors(priced, isService, policy);
    const pricedPoints = pointsIn(factors);
    return [...factors, ...unpricedFactors(assets, { priced, pricedPoints, isService }, policy)];
  });
}

/**
 * Returns a function that gives the severity of exposures of one kind, the same as in the factors of the score.
 *
 * @returns A function. It returns null for dust, and for exposures that round to no point.
 */
export function exposureSeverities(
  evidence: RiskEvidence,
  policy: RiskPolicy,
): (
  kind: Pick<ExposureEvidence, 'direction' | 'asset'> & {
    readonly category: Category;
    readonly isDirect: boolean;
  },
) => RiskLevel | null {
  const { isService } = evidence;
  const found = new Map<string, Severities>();
  for (const direction of ['in', 'out'] as const) {
    const [priced, ...assets] = tradesOf(direction, evidence, policy) as [Trade, ...Trade[]];
    found.set(`${direction} `, pricedSeverities(priced, isService, policy));
    for (const trade of assets)
      found.set(`${direction} ${trade.asset}`, unpricedSeverities(trade, { priced, isService }, policy));
  }
  return ({ direction, asset, category, isDirect }) =>
    found.get(`${direction} ${asset ?? ''}`)?.of(category, isDirect) ?? null;
}

/** Returns all factors, before the caps. */
function allFactors(evidence: RiskEvidence, policy: RiskPolicy): ScoreFactor[] {
  const own = ownershipFactor(evidence, policy);
  const factors = own ? [own] : [];
  // Without exposures, the label factors are enough: this path takes microseconds.
  return evidence.exposures.length === 0 ? factors : [...factors, ...exposureFactors(evidence, policy)];
}

/**
 * Returns the factor that keeps a score below CRITICAL if only derived labels would make it CRITICAL; null if it is not needed.
 */
function derivedCap(points: number, evidence: RiskEvidence, policy: RiskPolicy): ScoreFactor | null {
  if (points <= policy.derivedScoreMax) return null;
  const isKept = (one: { readonly class?: EvidenceClass }): boolean => !isDerived(one.class ?? 'published');
  const exposures = evidence.exposures.filter(
    (item) => isKept(item) || !isRisky(item.category, policy) || item.isOwn === true,
  );
  const labels = evidence.labels.filter(isKept);
  if (exposures.length === evidence.exposures.length && labels.length === evidence.labels.length) return null;
  const withoutDerived = pointsIn(allFactors({ ...evidence, exposures, labels }, policy));
  if (withoutDerived > policy.derivedScoreMax) return null;
  return {
    factor: 'DERIVED_LABELS_CAP',
    category: 'UNKNOWN',
    riskType: 'COUNTERPARTY',
    direction: 'both',
    asset: null,
    class: 'structural',
    percentage: 0,
    valueUsd: null,
    hops: 0,
    points: policy.derivedScoreMax - points,
    severity: 'LOW',
    evidence: [],
  };
}

/**
 * Scores evidence: what the address is, plus what it received, plus what it sent. More risky value, or value that is nearer,
 * surer or of a graver category, never lowers the score. A direct sanction in force makes it 100. Derived labels alone never make
 * it CRITICAL.
 */
export function score(evidence: RiskEvidence, policy: RiskPolicy): RiskScore {
  const factors = allFactors(evidence, policy);
  const cap = derivedCap(pointsIn(factors), evidence, policy);
  const scoreBreakdown = cap === null ? factors : [...factors, cap];
  const riskScore = Math.min(100, pointsIn(scoreBreakdown));
  return {
    riskScore,
    riskLevel: riskLevelOf(riskScore, policy),
    scoreBreakdown,
    policyVersion: policy.version,
  };
}
