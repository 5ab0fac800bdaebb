/**
 * Attribution of graph nodes: the entity behind an address. For kernels that look up thousands of nodes. Labels are read once per
 * address and snapshot, reduced to the fields that tracing, exposure and score need, and cached by node in a table of fixed size.
 */

import type { NeighbourColumns } from '../graph/graph.ts';
import { threatOrder } from '../labels/categories.ts';
import type { EvidenceClass } from '../labels/evidence-class.ts';
import type { Label } from '../labels/label.ts';
import type { Category } from '../labels/taxonomy.ts';
import { confidenceClass, isFirmLabel, isRisky } from '../risk/evidence.ts';
import {
  combinedConfidence,
  DECISIVE_CONFIDENCE,
  isDecisive,
  type OwnershipEvidence,
} from '../risk/ownership.ts';
import { type RiskLevel, type RiskPolicy, riskLevelOf } from '../risk/policy.ts';
import { score } from '../risk/score.ts';
import type { SanctionsList } from '../sources/index.ts';
import type { EntitySummary, ExposureCategory } from './answers.ts';
import { labelEvidence, ownershipEvidence } from './judge.ts';
import { unsettledLabels } from './label-conflicts.ts';
import { isHistory, isSanctionHit, isSuspectedOwner, sanctionsEntries } from './sanctions-detail.ts';

/**
 * The combined meaning of the labels of an address. Addresses with an equal attribution share one object; addresses without a
 * label have `UNATTRIBUTED`.
 */
export interface Attribution {
  /** Category and entity: exposures with equal keys are added up. Empty if unattributed. */
  readonly key: string;
  /** `key` with everything that severity depends on: walks add up only rows that a score treats alike. */
  readonly rowKey: string;
  /** Id of the entity; empty if unattributed. */
  readonly entityId: string;
  /** The entity that the first label names. Its threat level is that of `category` if that is graver. */
  readonly entity: EntitySummary | null;
  /** ISO 3166-1 alpha-2; null if not known. */
  readonly jurisdiction: string | null;
  /** The gravest thing that the address's own score says of it (`gravestLabel`), for dealings with it. */
  readonly category: ExposureCategory;
  /** Confidence that the category is right, 0 to 1. */
  readonly confidence: number;
  /** Evidence class of the label that the category is from. */
  readonly class: EvidenceClass;
  /** Neither derived nor weak (`isFirmLabel`): money ends here in every reading. */
  readonly isFirm: boolean;
  /** A list in force names the address itself, or designates the party to which a label attributes it. */
  readonly sanctioned: boolean;
  /** Serves the public, so money behind it is no longer the same money. Never set by a derived or weak label. */
  readonly isService: boolean;
  /** The category has at least the policy's weight `riskyFrom`, or the address is sanctioned. */
  readonly isRisky: boolean;
  /**
   * Set if the address is sanctioned only through its owner. The attribution applies to value that moved at or after `fromMs`,
   * the start of the day of the designation. Value that moved earlier has the attribution `before`.
   */
  readonly until?: { readonly fromMs: number; readonly before: Attribution | null } | undefined;
  /** Set if a label attributes the address to a designated party, but not with enough confidence to make it sanctioned. */
  readonly suspected?: SuspectedOwner | undefined;
  /** Points for owning the address, 0 to 100. */
  readonly points: number;
  /** Level of the points. */
  readonly riskLevel: RiskLevel;
  /** Set on the attribution that counts for dealings before a designation. */
  readonly designatedLater?: DesignatedLater | undefined;
}

/** A designated party to which an uncertain label attributes an address. */
export interface SuspectedOwner {
  readonly list: SanctionsList;
  /** The list's id of the party. */
  readonly entityId: string;
  readonly entityName: string;
  /** ISO date; null if not known: then dealings of any time count. */
  readonly listedAt: string | null;
  /** Source of the label. */
  readonly source: string;
  /** Confidence of the label, 0 to 1. */
  readonly confidence: number;
}

/** A designation that came after dealings with the party. */
export interface DesignatedLater {
  /** Id of the entity that the label of the designated party names. */
  readonly entityId: string;
  /** Its name, as in the label. */
  readonly entity: string;
  readonly list: SanctionsList;
  readonly entityName: string;
  /** ISO date. */
  readonly listedAt: string;
  readonly source: string;
}

/** Combined confidences are products of floats, which differ in the last digits. */
const CONFIDENCE_SLACK = 1e-9;

export const UNATTRIBUTED: Attribution = {
  key: '',
  rowKey: '',
  entityId: '',
  entity: null,
  jurisdiction: null,
  category: 'UNKNOWN',
  confidence: 1,
  class: 'published',
  isFirm: true,
  sanctioned: false,
  suspected: undefined,
  isService: false,
  isRisky: false,
  points: 0,
  riskLevel: 'LOW',
  until: undefined,
  designatedLater: undefined,
};

/**
 * Returns the entity that a label names. An entity that makes its address sanctioned is CRITICAL even if its label is, for
 * example, that of an exchange.
 *
 * @param label the first label of an address, or null
 * @param asOf the day in question, or null for now
 * @returns the entity; null if there is no label
 */
export const summaryOf = (label: Label | null, asOf: string | null = null): EntitySummary | null =>
  label && {
    name: label.entity.name,
    category: label.category,
    threatLevel: label.sanctions.some((entry) => isSanctionHit(entry, asOf)) ? 'CRITICAL' : label.threatLevel,
  };

/**
 * Returns the attribution that applies to a transfer, or to the last transfer of an edge.
 *
 * @param timestampMs milliseconds since the epoch
 */
export const attributionAt = (attribution: Attribution, timestampMs: number): Attribution =>
  attribution.until !== undefined && timestampMs < attribution.until.fromMs
    ? (attribution.until.before ?? UNATTRIBUTED)
    : attribution;

/** The value of an edge, or of its part before or since a designation, with a time that selects the attribution. */
export interface DatedValue {
  readonly value: number;
  /** Milliseconds since the epoch: a time for `attributionAt`. */
  readonly atMs: number;
}

/**
 * Returns the value that an edge moved, in two parts if its counterparty was designated between the first and the last transfer.
 *
 * @param attribution of the counterparty, as it is now
 * @param at index of the edge in the columns
 * @param since returns the value that moved since a time
 */
export function datedValues(
  { until }: Attribution,
  columns: NeighbourColumns,
  at: number,
  since: (fromMs: number) => number,
): readonly DatedValue[] {
  const value = columns.weight[at] as number;
  const firstSeenMs = columns.firstSeenMs[at] as number;
  const lastSeenMs = columns.lastSeenMs[at] as number;
  if (until === undefined || firstSeenMs >= until.fromMs || lastSeenMs < until.fromMs)
    return [{ value, atMs: lastSeenMs }];
  const after = Math.min(value, since(until.fromMs));
  return [
    { value: value - after, atMs: firstSeenMs },
    { value: after, atMs: lastSeenMs },
  ].filter((part) => part.value > 0);
}

/** Returns the label that names the entity: the first that is not history, otherwise the first; null if there are no labels. */
export const primaryOf = (labels: readonly Label[], asOf: string | null = null): Label | null =>
  labels.find((label) => !isHistory(label, asOf)) ?? labels[0] ?? null;

/**
 * How a derived or weak label of a risky category is read. COUNTED: money ends at its address. LEFT_OUT: money passes the
 * address, as if it had no label. The score is the higher of both, so that such a label adds points and hides nothing.
 */
export type DerivedReading = 'COUNTED' | 'LEFT_OUT';

/** Returns true for a bridge that no list in force names, also if a further label makes it a risk. */
export const isBridge = ({ entity, sanctioned }: Attribution): boolean =>
  entity?.category === 'BRIDGE' && !sanctioned;

/**
 * Returns true if money is not followed beyond an address of this attribution. A derived or weak label of a harmless category
 * names the address, but must not hide the addresses behind it.
 */
export const absorbs = (found: Attribution, derived: DerivedReading): boolean =>
  found !== UNATTRIBUTED && (found.isFirm || (found.isRisky && derived === 'COUNTED'));

/**
 * Returns the attribution of an address as a walk of the reading sees it; null if value passes the address. The attribution
 * before a designation ends a walk only if it would do so by itself.
 */
export function absorbing(found: Attribution, derived: DerivedReading): Attribution | null {
  if (!absorbs(found, derived)) return null;
  const { until } = found;
  if (until === undefined || until.before === null || absorbs(until.before, derived)) return found;
  return { ...found, until: { ...until, before: null } };
}

/** Returns true if value passes an address of this attribution in any reading, at any time. */
export function mayPass(found: Attribution): boolean {
  const seen = absorbing(found, 'LEFT_OUT');
  return seen === null || seen.until?.before === null;
}

/**
 * Returns the confidence with which a label counts. Independent publishers that agree on a threat of level CRITICAL increase it.
 */
function confidenceIn(label: Label, evidence: readonly OwnershipEvidence[]): number {
  const own = ownershipEvidence(label);
  if (!isDecisive(own)) return own.confidence;
  return Math.max(own.confidence, combinedConfidence(evidence.filter(isDecisive)));
}

/** A label, and the category and confidence with which it counts. */
interface CountedLabel {
  readonly label: Label;
  readonly category: Category;
  readonly confidence: number;
}

/**
 * Returns the category with which a label counts. A label of a category without harm that names a threat of level CRITICAL, and is
 * believed, scores as CRITICAL by its threat: the category has no weight that says so, thus it counts as ILLICIT_ACTOR.
 *
 * @param confidence - with which the label counts
 */
function countedCategory(label: Label, confidence: number, policy: RiskPolicy): Category {
  const isHarmless = threatOrder(policy.threats[label.category]) < threatOrder('HIGH');
  const decides =
    isDecisive(ownershipEvidence(label)) && confidence >= DECISIVE_CONFIDENCE - CONFIDENCE_SLACK;
  return isHarmless && decides ? 'ILLICIT_ACTOR' : label.category;
}

/** Returns a label's class for comparison. A listing that does not sanction the address is no better than a published label. */
const comparedClass = ({ class: evidenceClass }: Label): EvidenceClass =>
  evidenceClass === 'list' ? 'published' : evidenceClass;

/**
 * Returns the label as which an address without a sanction in force counts for its counterparties: the gravest of those that its own score is
 * made of (`unsettledLabels`), if it is graver than the first one. Labels of a lower class than the first, and weak labels beside one that is
 * not, are out-decided by it: they score at the address itself, but must not end walks there.
 */
function gravestLabel(first: Label, current: readonly Label[], policy: RiskPolicy): CountedLabel {
  const unsettled = unsettledLabels(current);
  const evidence = unsettled.map(ownershipEvidence);
  const countedAs = (label: Label): CountedLabel => {
    const confidence = confidenceIn(label, evidence);
    return { label, category: countedCategory(label, confidence, policy), confidence };
  };
  const isFirm = ({ label, confidence }: CountedLabel): boolean =>
    isFirmLabel({ class: label.class, confidence }, policy);
  const severityOf = ({ category, confidence }: CountedLabel): number =>
    isRisky(category, policy) ? policy.weights[category] * confidenceClass(confidence) : 0;
  const primary = countedAs(first);
  let gravest = primary;
  for (const label of unsettled) {
    if (comparedClass(label) !== comparedClass(first)) continue;
    const rival = countedAs(label);
    if (isFirm(primary) && !isFirm(rival)) continue;
    if (severityOf(rival) > severityOf(gravest)) gravest = rival;
  }
  return gravest;
}

/** Combines labels into one attribution: a sanction in force decides, otherwise the first label that is not history. */
export function attribute(labels: readonly Label[], policy: RiskPolicy, asOf: string | null): Attribution {
  const now = attributeNow(labels, policy, asOf);
  if (!now.sanctioned) return now;
  const later = laterDesignation(labels, asOf, now);
  if (later === null) return now;
  return {
    ...now,
    until: {
      fromMs: Date.parse(later.listedAt),
      before: { ...attributeNow(withoutOwners(labels), policy, asOf), designatedLater: later },
    },
  };
}

/**
 * Returns the earliest designation of the owner, if only that makes the address sanctioned.
 *
 * @param now - the attribution of the sanctioned address
 * @returns null if a list names the address itself, or if the date of a designation is not known: then dealings of any time count
 */
function laterDesignation(
  labels: readonly Label[],
  asOf: string | null,
  { entityId, entity }: Attribution,
): DesignatedLater | null {
  let earliest: DesignatedLater | null = null;
  for (const entry of sanctionsEntries(labels, asOf).filter((one) => isSanctionHit(one, asOf))) {
    const { matchType, list, entityName, authority: source } = entry;
    const listedAt = entry.listedAt?.slice(0, 10) ?? null;
    if (matchType !== 'OWNER' || listedAt === null) return null;
    if (earliest !== null && earliest.listedAt <= listedAt) continue;
    earliest = { entityId, entity: entity?.name ?? entityName, list, entityName, listedAt, source };
  }
  return earliest;
}

/** Returns the earliest designation of a party to which an uncertain label attributes the address. */
function suspectedOwnerOf(labels: readonly Label[], asOf: string | null): SuspectedOwner | undefined {
  if (!labels.some(({ sanctions }) => sanctions.length > 0)) return undefined;
  let earliest: SuspectedOwner | undefined;
  for (const entry of sanctionsEntries(labels, asOf)) {
    if (!isSuspectedOwner(entry, asOf) || entry.attribution === undefined) continue;
    const listedAt = entry.listedAt?.slice(0, 10) ?? null;
    if (earliest !== undefined && (earliest.listedAt ?? '') <= (listedAt ?? '')) continue;
    const { list, entityId, entityName, attribution } = entry;
    const { source, confidence } = attribution;
    earliest = { list, entityId, entityName, listedAt, source, confidence };
  }
  return earliest;
}

/** Returns the entity that the first label names, with the threat level of the label as which the address counts if that is graver. */
function namedEntity(first: Label, counted: Label, asOf: string | null): EntitySummary | null {
  const named = summaryOf(first, asOf);
  if (named === null || threatOrder(named.threatLevel) >= threatOrder(counted.threatLevel)) return named;
  return { ...named, threatLevel: counted.threatLevel };
}

/** The labels on which an attribution rests. */
interface Basis {
  /** A sanction in force names or owns the address. */
  readonly isListed: boolean;
  /** The label that names the entity. */
  readonly first: Label;
  readonly counted: CountedLabel;
}

function basisOf(labels: readonly Label[], policy: RiskPolicy, asOf: string | null): Basis | null {
  const listed = labels.find((label) => label.sanctions.some((entry) => isSanctionHit(entry, asOf)));
  if (listed !== undefined) {
    const counted = { label: listed, category: 'SANCTIONED_ENTITY', confidence: 1 } as const;
    return { isListed: true, first: listed, counted };
  }
  const current = labels.filter((label) => !isHistory(label, asOf));
  const [first] = current;
  return first === undefined
    ? null
    : { isListed: false, first, counted: gravestLabel(first, current, policy) };
}

const withoutOwners = (labels: readonly Label[]): readonly Label[] =>
  labels.map((label) => ({
    ...label,
    sanctions: label.sanctions.filter(({ matchType }) => matchType !== 'OWNER'),
  }));

/**
 * Returns the label from which an attribution has its category.
 *
 * @param labels - of an address
 * @param designatedLater - of its attribution, or of the one that applies before a designation
 * @returns null if the address has no label that counts, as a contract of a known bridge
 */
export function countedLabelOf(
  labels: readonly Label[],
  { designatedLater }: Pick<Attribution, 'designatedLater'>,
  { policy, asOf }: { readonly policy: RiskPolicy; readonly asOf: string | null },
): Label | null {
  const read = designatedLater === undefined ? labels : withoutOwners(labels);
  return basisOf(read, policy, asOf)?.counted.label ?? null;
}

function attributeNow(labels: readonly Label[], policy: RiskPolicy, asOf: string | null): Attribution {
  const basis = basisOf(labels, policy, asOf);
  if (basis === null) return UNATTRIBUTED;
  const { first, isListed } = basis;
  const { label, category, confidence } = basis.counted;
  const points = score(labelEvidence(labels, policy, asOf), policy).riskScore;
  const isFirm = isFirmLabel({ class: label.class, confidence }, policy);
  const key = `${category} ${first.entity.id}`;
  return {
    key,
    rowKey: `${key} ${confidenceClass(confidence)} ${label.class}`,
    entityId: first.entity.id,
    entity: namedEntity(first, label, asOf),
    jurisdiction: first.entity.jurisdiction,
    category,
    confidence,
    class: label.class,
    isFirm,
    sanctioned: isListed,
    suspected: isListed ? undefined : suspectedOwnerOf(labels, asOf),
    // A derived or weak label may be wrong about one of many addresses, so it never makes the address a service that ends walks.
    isService:
      policy.services.has(first.category) &&
      (label === first ? isFirm : isFirmLabel(ownershipEvidence(first), policy)),
    isRisky: isListed || isRisky(category, policy),
    points,
    riskLevel: riskLevelOf(points, policy),
    // Walks read attributions for every edge: all have the same fields, so that the engine reads them fast.
    until: undefined,
    designatedLater: undefined,
  };
}
