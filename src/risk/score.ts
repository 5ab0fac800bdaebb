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
 * against. `UNKNOWN` is value whose other side nobody knows.
 */
export interface ExposureEvidence {
  readonly category: Category | 'UNKNOWN';
  readonly direction: 'in' | 'out';
  /** 1: traded with directly. */
  readonly hops: number;
  /** USD of the priced transfers; null where none is priced. */
  readonly valueUsd: number | null;
  /** Transfers of an amount that nobody could price. */
  readonly unpricedTransfers: number;
  /** That the category is right, 0 to 1. */
  readonly confidence: number;
  readonly entity: string | null;
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
  readonly factor: 'SANCTIONS_IN_FORCE' | 'OWN_LABEL' | 'DIRECT_EXPOSURE' | 'INDIRECT_EXPOSURE';
  readonly category: Category | 'UNKNOWN';
  readonly riskType: 'OWNERSHIP' | 'COUNTERPARTY' | 'INDIRECT' | 'BEHAVIOUR';
  readonly direction: 'in' | 'out' | 'both';
  /** Of the value that moved in the direction; 100 for what the address itself is. */
  readonly percentage: number;
  readonly valueUsd: number | null;
  readonly hops: number;
  /** Whole points. The points of all factors add up to the score before its cap at 100. */
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

interface ExposureGroup {
  readonly category: Category | 'UNKNOWN';
  readonly direction: 'in' | 'out';
  readonly hops: number;
  valueUsd: number | null;
  /** Effective USD. */
  value: number;
  /** Effective USD times confidence. */
  certain: number;
  readonly entities: string[];
}

function groupExposures(exposures: readonly ExposureEvidence[], policy: RiskPolicy): ExposureGroup[] {
  const groups = new Map<string, ExposureGroup>();
  for (const exposure of exposures) {
    const { category, direction, hops } = exposure;
    const name = `${direction} ${String(hops).padStart(3, '0')} ${category}`;
    let group = groups.get(name);
    if (!group) {
      group = { category, direction, hops, valueUsd: null, value: 0, certain: 0, entities: [] };
      groups.set(name, group);
    }
    const value = effectiveUsd(exposure, policy);
    group.value += value;
    group.certain += value * exposure.confidence;
    if (exposure.valueUsd !== null) group.valueUsd = (group.valueUsd ?? 0) + exposure.valueUsd;
    if (exposure.entity !== null) group.entities.push(exposure.entity);
  }
  return [...groups].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, group]) => group);
}

/**
 * How much of a category's weight an exposure brings, 0 to 1: share and absolute value as two independent reasons,
 * 1 − (1 − share part)(1 − value part). The share is measured against neutral value alone: measured against all value,
 * one risk would dilute another, and more of it could lower a score.
 */
function magnitude(group: ExposureGroup, neutral: number, policy: RiskPolicy): number {
  if (group.certain <= 0) return 0;
  const share = (group.certain / (group.certain + neutral)) ** policy.shareExponent;
  const scale = Math.log10(1 + policy.valueFullUsd / policy.valueUnitUsd);
  const value =
    policy.valueCeiling * Math.min(1, Math.log10(1 + group.certain / policy.valueUnitUsd) / scale);
  return 1 - (1 - share) * (1 - value);
}

function exposureFactors(evidence: RiskEvidence, policy: RiskPolicy): ScoreFactor[] {
  const groups = groupExposures(evidence.exposures, policy);
  const weightOf = (group: ExposureGroup): number =>
    group.category === 'UNKNOWN' ? 0 : policy.weights[group.category];
  const isRisky = (group: ExposureGroup): boolean => weightOf(group) >= policy.riskyFrom;
  const sum = (direction: 'in' | 'out', risky: boolean): number =>
    groups
      .filter((group) => group.direction === direction && isRisky(group) === risky)
      .reduce((total, group) => total + group.value, 0);
  const neutral = { in: sum('in', false), out: sum('out', false) };
  const all = { in: neutral.in + sum('in', true), out: neutral.out + sum('out', true) };
  return groups.filter(isRisky).flatMap((group): ScoreFactor[] => {
    const decay = policy.directDecay * policy.hopDecay ** (group.hops - 1);
    const service = evidence.isService ? policy.serviceExposureFactor : 1;
    const strength = magnitude(group, neutral[group.direction], policy);
    const points = Math.ceil(weightOf(group) * decay * service * strength - FLOAT_SLACK);
    if (points <= 0) return [];
    return [
      {
        factor: group.hops === 1 ? 'DIRECT_EXPOSURE' : 'INDIRECT_EXPOSURE',
        category: group.category,
        riskType: group.hops === 1 ? 'COUNTERPARTY' : 'INDIRECT',
        direction: group.direction,
        percentage: twoDecimals((100 * group.value) / all[group.direction]),
        valueUsd: group.valueUsd === null ? null : twoDecimals(group.valueUsd),
        hops: group.hops,
        points,
        evidence: unique(group.entities).slice(0, EVIDENCE_LISTED_MAX),
      },
    ];
  });
}

/**
 * Scores evidence: what the address is, plus what it traded with. More of anything risky never lowers the score; a direct
 * sanction in force makes it 100.
 */
export function score(evidence: RiskEvidence, policy: RiskPolicy): RiskScore {
  const own = ownershipFactor(evidence, policy);
  const scoreBreakdown = [...(own ? [own] : []), ...exposureFactors(evidence, policy)];
  const total = scoreBreakdown.reduce((sum, factor) => sum + factor.points, 0);
  const riskScore = Math.min(100, total);
  return {
    riskScore,
    riskLevel: riskLevelOf(riskScore, policy),
    scoreBreakdown,
    policyVersion: policy.version,
  };
}
