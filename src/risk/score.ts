/** Computes a score from evidence: pure, deterministic, and explained point by point. */
import { twoDecimals } from '../base/figures.ts';
import { type EvidenceClass, isDerived } from '../labels/evidence-class.ts';
import type { Category } from '../labels/taxonomy.ts';
import { type OwnershipEvidence, ownershipFactor } from './ownership.ts';
import { type RiskLevel, type RiskPolicy, riskLevelOf } from './policy.ts';

export type { RiskLevel } from './policy.ts';

/**
 * Value that moved between the scored address and others, risky or not. Shares are measured against the neutral part. `UNKNOWN`
 * is value without a known other side. Items do not overlap: no value is in two of them.
 */
export interface ExposureEvidence {
  readonly category: Category | 'UNKNOWN';
  readonly direction: 'in' | 'out';
  /** 1 for a direct counterparty. */
  readonly hops: number;
  /** Null if the value is in USD; otherwise the asset without a price that `share` refers to. */
  readonly asset: string | null;
  /** USD; for further hops, the part that reached the address. Null if `asset` is set. */
  readonly valueUsd: number | null;
  /** Share of all that moved of `asset` in the direction, 0 to 1. Not used for USD. */
  readonly share: number;
  /**
   * The flow of `asset` in the direction as a part of its greater flow (in or out), 0 to 1: dust is measured against the greater
   * flow. Default: 1.
   */
  readonly flowPart?: number | undefined;
  /** Confidence that the category is right, 0 to 1. */
  readonly confidence: number;
  /** Evidence class of the label of the other side. */
  readonly class: EvidenceClass;
  readonly entity: string | null;
  /**
   * Received without an action of the address (`isUnsolicited`). Counts for direct inbound value, and for all inbound value of an
   * asset without a price, which then has the lower limit of points.
   */
  readonly unsolicited?: boolean;
  /** Dealings within the entity that owns the address: neutral, because the address's own label says the same. */
  readonly isOwn?: boolean;
}

export interface RiskEvidence {
  /** Direct sanctions in force, as text (`OFAC_SDN: LAZARUS GROUP`). */
  readonly sanctions: readonly string[];
  readonly labels: readonly OwnershipEvidence[];
  readonly exposures: readonly ExposureEvidence[];
  /** The address belongs to a service that is not risky itself (exchange, bridge, pool) and trades with everybody. */
  readonly isService: boolean;
}

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
/** Sums of floats in another order differ in the last digits. Points must not depend on them. */
const FLOAT_SLACK = 1e-9;

/**
 * Returns a confidence as it enters severity: to the nearest tenth, so that sums over many addresses need few columns.
 *
 * @param confidence - 0 to 1
 */
export const confidenceClass = (confidence: number): number => Math.round(confidence * 10) / 10;

/** Returns true if a label is sure enough to end walks: it is of class list or published, and not weak. */
export const isFirmLabel = (
  { class: evidenceClass, confidence }: Pick<ExposureEvidence, 'class' | 'confidence'>,
  { absorbConfidenceMin }: Pick<RiskPolicy, 'absorbConfidenceMin'>,
): boolean => !isDerived(evidenceClass) && confidenceClass(confidence) >= absorbConfidenceMin;

/** Returns the factor on a weight `hops` away: `directDecay` at the first hop, times `hopDecay` at each further one. */
export const decayAt = (hops: number, policy: RiskPolicy): number =>
  policy.directDecay * policy.hopDecay ** (Math.max(1, hops) - 1);

/** Returns true if a counterparty of the category is a risk; all others are neutral volume. */
export const isRisky = (category: Category | 'UNKNOWN', policy: RiskPolicy): category is Category =>
  category !== 'UNKNOWN' && policy.weights[category] >= policy.riskyFrom;

/**
 * Returns true for money that came without an action of the address: directly, in a small amount, from a party to which it never
 * sent anything. Anyone can send to any address ("dusting"; the US Treasury says so of Tornado Cash in its FAQ 1078 of
 * 2022-09-13). Small is measured in USD. For an asset without a price, no amount is known to be small: it is unsolicited until
 * some of it was spent (`isSpent`).
 */
export function isUnsolicited(
  dealings: Pick<ExposureEvidence, 'direction' | 'hops' | 'asset' | 'valueUsd'> & {
    /** The address has sent more than dust to the same party or entity. */
    readonly sentBack: boolean;
    /** For an asset without a price: the address spent more of it than it has from parties without risk. */
    readonly isSpent: boolean;
  },
  policy: RiskPolicy,
): boolean {
  const { direction, hops, asset, valueUsd, sentBack, isSpent } = dealings;
  if (direction !== 'in' || sentBack) return false;
  if (asset !== null) return !isSpent;
  return hops === 1 && (valueUsd ?? 0) <= policy.unsolicitedMaxUsd;
}

/** One risky exposure with its severity. */
interface WeighedExposure {
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
interface Trade {
  readonly direction: 'in' | 'out';
  /** Null for USD. */
  readonly asset: string | null;
  /** Value of everything that is not risky. */
  readonly neutral: number;
  /** Value of everything. */
  readonly whole: number;
  readonly risky: readonly WeighedExposure[];
}

const byText = (a: string, b: string): number => (a === b ? 0 : a < b ? -1 : 1);
const sumOf = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

/** Returns the trades of one direction: USD first, then the assets by name. */
function tradesOf(direction: 'in' | 'out', evidence: RiskEvidence, policy: RiskPolicy): Trade[] {
  const assets = new Set<string | null>([null]);
  for (const item of evidence.exposures) if (item.direction === direction) assets.add(item.asset);
  return [...assets]
    .sort((a, b) => byText(a ?? '', b ?? ''))
    .map((asset) => tradeOf(direction, asset, evidence, policy));
}

function tradeOf(
  direction: 'in' | 'out',
  asset: string | null,
  evidence: RiskEvidence,
  policy: RiskPolicy,
): Trade {
  const risky: WeighedExposure[] = [];
  const neutral: number[] = [];
  for (const item of evidence.exposures) {
    if (item.direction !== direction || item.asset !== asset) continue;
    const value = asset === null ? (item.valueUsd ?? 0) : item.share;
    const { category, hops } = item;
    if (!isRisky(category, policy) || item.isOwn === true) {
      neutral.push(value);
      continue;
    }
    const service = evidence.isService ? policy.serviceExposureFactor : 1;
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
  if (value <= 0 || size < (asset === null ? policy.dustUsd : policy.dustShare)) return 0;
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
function pointsByGroup(
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
const wholePoints = (points: ReadonlyMap<string, number>): number =>
  Math.ceil(sumOf([...points.values()]) - FLOAT_SLACK);

/**
 * Distributes `total` whole points in proportion to exact ones, by largest remainder; equal remainders are served in the order of
 * names.
 */
function apportion(points: ReadonlyMap<string, number>, total: number): Map<string, number> {
  const rows = [...points].map(([name, exact]) => ({ name, whole: Math.floor(exact), rest: exact % 1 }));
  let left = total - sumOf(rows.map((row) => row.whole));
  rows.sort((a, b) => b.rest - a.rest || byText(a.name, b.name));
  return new Map(rows.map(({ name, whole, rest }) => [name, whole + (rest > 0 && left-- > 0 ? 1 : 0)]));
}

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

const LEVELS: readonly RiskLevel[] = ['LOW', 'MEDIUM', 'HIGH', 'CRITICAL'];

/** Returns true for a severity that excludes the verdict `safe` and the KYT decision ALLOW. */
export const isGrave = (severity: RiskLevel): boolean => severity === 'HIGH' || severity === 'CRITICAL';

/** Returns the graver of two severities. */
export const graverOf = (a: RiskLevel, b: RiskLevel): RiskLevel =>
  LEVELS.indexOf(b) > LEVELS.indexOf(a) ? b : a;

const isDirectSanctioned = ({ category, evidence }: WeighedExposure): boolean =>
  category === 'SANCTIONED_ENTITY' && evidence.hops === 1 && !isUnasked(evidence);

/** Severities of the exposures of one trade: for each category, one of its direct and one of its indirect dealings. */
class Severities {
  readonly #trade: Trade;
  readonly #pointsOf: (items: readonly WeighedExposure[]) => number;
  readonly #policy: RiskPolicy;
  readonly #isService: boolean;
  readonly #found = new Map<string, RiskLevel | null>();

  /** @param pointsOf - whole points that a subset of the exposures would bring alone, beside the neutral value */
  constructor(
    trade: Trade,
    isService: boolean,
    policy: RiskPolicy,
    pointsOf: (items: readonly WeighedExposure[]) => number,
  ) {
    this.#trade = trade;
    this.#isService = isService;
    this.#policy = policy;
    this.#pointsOf = pointsOf;
  }

  /** Returns the severity of the group of hops and category that has this name. */
  ofName(name: string): RiskLevel {
    const first = this.#trade.risky.find((item) => item.name === name);
    return first === undefined ? 'LOW' : (this.of(first.category, first.evidence.hops === 1) ?? 'LOW');
  }

  /** Returns null for dust, and for exposures that round to no point. */
  of(category: Category, isDirect: boolean): RiskLevel | null {
    const key = `${category} ${isDirect}`;
    const known = this.#found.get(key);
    if (known !== undefined) return known;
    const items = this.#trade.risky.filter(
      (item) => item.category === category && (item.evidence.hops === 1) === isDirect,
    );
    const severity = this.#severityOf(items);
    this.#found.set(key, severity);
    return severity;
  }

  #severityOf(items: readonly WeighedExposure[]): RiskLevel | null {
    const { derivedScoreMax } = this.#policy;
    let points = this.#pointsOf(items);
    if (points === 0) return null;
    if (points > derivedScoreMax) {
      const kept = items.filter(({ evidence }) => !isDerived(evidence.class));
      if (kept.length < items.length) points = Math.max(derivedScoreMax, this.#pointsOf(kept));
    }
    const level = riskLevelOf(points, this.#policy);
    // The duty not to deal with sanctioned parties does not depend on a share. A service cannot refuse what is sent to it.
    const isStrict = !this.#isService && items.some(isDirectSanctioned);
    return isStrict ? graverOf(level, 'HIGH') : level;
  }
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

/** Returns true for value that came without an action of the address. */
const isUnasked = ({ direction, unsolicited }: ExposureEvidence): boolean =>
  direction === 'in' && unsolicited === true;

const isDiscounted = ({ evidence }: WeighedExposure): boolean => evidence.hops === 1 && isUnasked(evidence);

/**
 * Returns the severity of each item, with the discount for unsolicited money. All direct value counts towards the limit,
 * solicited or not: if only unsolicited value counted, a holder could request some of the money to get the discount for the rest.
 */
function discountedSeverity({ asset, risky }: Trade, policy: RiskPolicy): (item: WeighedExposure) => number {
  const direct = sumOf(risky.filter(({ evidence }) => evidence.hops === 1).map(({ size }) => size));
  const most = asset === null ? policy.unsolicitedTotalMaxUsd : policy.unsolicitedTotalMaxShare;
  if (direct > most) return (item) => item.severity;
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
  neutral > 0 && neutral >= policy.unpricedBesideUsd;

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
