/** The part of a score that follows from the address itself: the points of its own labels and list entries. */
import { EVIDENCE_CLASSES, type EvidenceClass, isDerived } from '../labels/evidence-class.ts';
import type { Category, ThreatLevel } from '../labels/taxonomy.ts';
import { type RiskLevel, type RiskPolicy, riskLevelOf } from './policy.ts';

/** One label of the scored address itself. */
export interface OwnershipEvidence {
  readonly category: Category;
  readonly threatLevel: ThreatLevel;
  /** 0 to 1; at most the confidence that the label's independence group can have. */
  readonly confidence: number;
  readonly class: EvidenceClass;
  /** Labels of one group count as one source: only labels of different groups confirm each other. */
  readonly independenceGroup: string;
  readonly entity: string;
  readonly source: string;
}

/** The own-label part of the score, as one row of the breakdown. */
export interface OwnershipFactor {
  readonly factor: 'SANCTIONS_IN_FORCE' | 'OWN_LABEL';
  readonly category: Category;
  readonly riskType: 'OWNERSHIP';
  readonly direction: 'both';
  readonly percentage: 100;
  readonly asset: null;
  readonly valueUsd: null;
  readonly hops: 0;
  readonly class: EvidenceClass;
  readonly points: number;
  /** The risk level of the points. */
  readonly severity: RiskLevel;
  readonly evidence: readonly string[];
}

/**
 * Combined confidence from which publishers that name a threat of level CRITICAL make the points CRITICAL (decisions, "Class of a
 * label").
 */
export const DECISIVE_CONFIDENCE = 0.8;

/** Maximum number of evidence texts in one factor: enough to follow it up. */
const EVIDENCE_LISTED_MAX = 10;
/** Products of floats differ in the last digits. A comparison with a threshold must not depend on them. */
const FLOAT_SLACK = 1e-9;

const unique = (texts: readonly string[]): string[] => [...new Set(texts)].sort();

/** Returns true if a label can make a verdict CRITICAL: a list or a named publisher says that the threat is CRITICAL. */
export const isDecisive = (label: OwnershipEvidence): boolean =>
  label.threatLevel === 'CRITICAL' && !isDerived(label.class);

/** Returns the whole points that a label brings if it is the only one. */
export function labelPoints(
  label: Pick<OwnershipEvidence, 'category' | 'threatLevel' | 'confidence' | 'class'>,
  policy: RiskPolicy,
): number {
  // A model's word for a harmless kind of address, such as a wallet, is no risk at all.
  if (label.class === 'inferred' && policy.weights[label.category] < policy.riskyFrom) return 0;
  const points = Math.round(policy.weights[label.category] * label.confidence);
  const critical = policy.levels.CRITICAL;
  if (isDerived(label.class)) return Math.min(points, critical - 1);
  const decides = label.threatLevel === 'CRITICAL' && label.confidence >= DECISIVE_CONFIDENCE - FLOAT_SLACK;
  return decides ? Math.max(points, critical) : points;
}

/**
 * Returns the confidence that at least one of several independent publishers is right: the noisy-or over independence groups.
 * Each group counts once, with its best label.
 *
 * @param labels Labels that agree.
 * @returns 0 to 1; 0 for no label.
 */
export function combinedConfidence(
  labels: readonly Pick<OwnershipEvidence, 'confidence' | 'independenceGroup'>[],
): number {
  const best = new Map<string, number>();
  for (const { independenceGroup, confidence } of labels)
    best.set(independenceGroup, Math.max(confidence, best.get(independenceGroup) ?? 0));
  // Sorted, because a product of floats depends on the order.
  const doubts = [...best.values()].sort((a, b) => a - b).map((confidence) => 1 - confidence);
  return 1 - doubts.reduce((product, doubt) => product * doubt, 1);
}

/** The points of publishers that agree on a threat of level CRITICAL, and the labels that they come from. */
interface Agreement {
  readonly points: number;
  readonly labels: readonly OwnershipEvidence[];
}

/**
 * Returns the agreement of the decisive labels; null if there are fewer than two. Each weight counts with the combined confidence
 * of all labels that have at least this weight, so a further publisher, of whatever category, never lowers the points.
 */
function agreement(labels: readonly OwnershipEvidence[], policy: RiskPolicy): Agreement | null {
  const decisive = labels.filter(isDecisive);
  if (decisive.length < 2) return null;
  const weights = new Set(decisive.map(({ category }) => policy.weights[category]));
  const points = [...weights].map((weight) => {
    const agreeing = decisive.filter(({ category }) => policy.weights[category] >= weight);
    return Math.round(weight * combinedConfidence(agreeing) + FLOAT_SLACK);
  });
  const isDecided = combinedConfidence(decisive) >= DECISIVE_CONFIDENCE - FLOAT_SLACK;
  return { points: Math.max(...points, isDecided ? policy.levels.CRITICAL : 0), labels: decisive };
}

/**
 * Returns true if a label comes before another one with the same points: by category, then by class. The input order does not
 * matter.
 */
const comesBefore = (label: OwnershipEvidence, other: OwnershipEvidence): boolean =>
  label.category === other.category
    ? EVIDENCE_CLASSES.indexOf(label.class) < EVIDENCE_CLASSES.indexOf(other.class)
    : label.category < other.category;

/** Returns the label with the most points; null if there is no label. */
function strongestOf(labels: readonly OwnershipEvidence[], policy: RiskPolicy): OwnershipEvidence | null {
  let strongest: OwnershipEvidence | null = null;
  for (const label of labels) {
    if (strongest === null) {
      strongest = label;
      continue;
    }
    const better = labelPoints(label, policy) - labelPoints(strongest, policy);
    if (better > 0 || (better === 0 && comesBefore(label, strongest))) strongest = label;
  }
  return strongest;
}

/**
 * Returns the severity of each label, in the order of the labels: the level of its own points, or of the points that it has
 * together with the publishers that it agrees with, if those are more. Reasons and flags about a label have the same severity.
 */
export function labelSeverities(labels: readonly OwnershipEvidence[], policy: RiskPolicy): RiskLevel[] {
  const agreed = agreement(labels, policy);
  return labels.map((label) => {
    const shared = agreed !== null && isDecisive(label) ? agreed.points : 0;
    return riskLevelOf(Math.max(labelPoints(label, policy), shared), policy);
  });
}

const named = (labels: readonly OwnershipEvidence[]): readonly string[] =>
  unique(labels.map((label) => `${label.source}: ${label.entity}`)).slice(0, EVIDENCE_LISTED_MAX);

/**
 * Returns the points for what the address itself is: those of a sanction in force; otherwise those of its strongest label, or of
 * the publishers that agree, whichever is more.
 *
 * @returns Null if nothing brings a point. Labels of structural and inferred class alone stay below CRITICAL.
 */
export function ownershipFactor(
  {
    sanctions,
    labels,
  }: { readonly sanctions: readonly string[]; readonly labels: readonly OwnershipEvidence[] },
  policy: RiskPolicy,
): OwnershipFactor | null {
  const own = {
    riskType: 'OWNERSHIP',
    direction: 'both',
    asset: null,
    percentage: 100,
    valueUsd: null,
    hops: 0,
  } as const;
  if (sanctions.length > 0) {
    return {
      factor: 'SANCTIONS_IN_FORCE',
      category: 'SANCTIONED_ENTITY',
      ...own,
      class: 'list',
      points: policy.sanctionedPoints,
      severity: 'CRITICAL',
      evidence: unique(sanctions).slice(0, EVIDENCE_LISTED_MAX),
    };
  }
  const strongest = strongestOf(labels, policy);
  if (strongest === null) return null;
  const alone = labelPoints(strongest, policy);
  const agreed = agreement(labels, policy);
  const isAgreed = agreed !== null && agreed.points > alone;
  const points = Math.min(100, isAgreed ? agreed.points : alone);
  if (points === 0) return null;
  const first = isAgreed ? (strongestOf(agreed.labels, policy) ?? strongest) : strongest;
  return {
    factor: 'OWN_LABEL',
    category: first.category,
    ...own,
    class: first.class,
    points,
    severity: riskLevelOf(points, policy),
    evidence: named(isAgreed ? agreed.labels : labels.filter(({ category }) => category === first.category)),
  };
}
