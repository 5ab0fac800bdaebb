/** Labels of one address that contradict each other: which of them counts, and why. */
import { threatOrder } from '../labels/categories.ts';
import { isDerived } from '../labels/evidence-class.ts';
import type { Label } from '../labels/label.ts';
import { type DecidedBy, decisionOf } from '../labels/primary.ts';
import { shippedSources } from '../labels/source-table.ts';
import type { ConflictingLabel, LabelConflict } from './answers.ts';
import { SCREENING_LIMITS } from './limits.ts';
import { isDirectHit, isHistory } from './sanctions-detail.ts';

const isHarmful = (label: Label): boolean => threatOrder(label.threatLevel) >= threatOrder('HIGH');

/**
 * Prefix of a tag that means: labels of this category are wrong about this address. Only valid for sources that may correct
 * others.
 */
const CORRECTS = 'corrects:';

const corrects = (label: Label, category: string): boolean =>
  shippedSources().of(label.source)?.corrects === true && label.tags.includes(`${CORRECTS}${category}`);

/**
 * Returns true if a label that comes first means that a later one is not about the holder of the address. An authority that holds
 * seized coins did not commit the crime that they came from, and a correction names the category that other publishers wrongly
 * give.
 */
function settles(first: Label, later: Label): boolean {
  if (isDerived(first.class) || !isHarmful(later)) return false;
  if (later.sanctions.some((entry) => isDirectHit(entry))) return false;
  return first.category === 'SEIZED_FUNDS' || corrects(first, later.category);
}

/**
 * Returns the labels that describe the holder of an address: all except those that an earlier label settles.
 *
 * @param labels Labels in the order of the documented rule (labels/primary.ts).
 */
export function unsettledLabels(labels: readonly Label[]): readonly Label[] {
  if (labels.length < 2) return labels;
  const able: Label[] = [];
  const unsettled = labels.filter((label) => {
    const isSettled = able.some((first) => settles(first, label));
    if (label.category === 'SEIZED_FUNDS' || label.tags.some((tag) => tag.startsWith(CORRECTS)))
      able.push(label);
    return !isSettled;
  });
  return able.length === 0 ? labels : unsettled;
}

type ConflictField = LabelConflict['fields'][number];

/** SAFE and LOW are one step, because neither requires an action. */
const threatStep = (label: Label): number => Math.max(1, threatOrder(label.threatLevel));

/** Returns true if the label names an owner. The entity of a crime label is mostly the name of a case. */
const namesOwner = (label: Label): boolean => label.category !== 'OTHER' && !isHarmful(label);

/** Returns true if two labels name one crime: they have one entity, or one of them is the sanction of its author. */
const isOneCrime = (a: Label, b: Label): boolean =>
  isHarmful(a) &&
  isHarmful(b) &&
  (a.entity.id === b.entity.id || [a, b].some(({ category }) => category === 'SANCTIONED_ENTITY'));

/** Returns the fields in which two labels disagree; empty if the difference is not relevant. */
function disagreement(a: Label, b: Label): ConflictField[] {
  // A label without a specific category only contradicts another threat level.
  const isThreatOther = threatStep(a) !== threatStep(b);
  const isOwnerOther = namesOwner(a) && namesOwner(b) && a.entity.id !== b.entity.id;
  // Two kinds of service that one owner runs are no contradiction.
  const isKindOther =
    a.category !== b.category && !isOneCrime(a, b) && (isHarmful(a) || isHarmful(b) || isOwnerOther);
  if (a.category === 'OTHER' && b.category === 'OTHER' && !isThreatOther) return [];
  return [
    ...(isKindOther ? (['category'] as const) : []),
    ...(isThreatOther ? (['threatLevel'] as const) : []),
    ...(isOwnerOther || (isThreatOther && a.entity.id !== b.entity.id) ? (['entity'] as const) : []),
  ];
}

/** Returns true if a list listed the wallet again for the same party: the label of the former period contradicts nothing. */
const isFormerListing = (first: Label, later: Label): boolean =>
  first.class === 'list' &&
  first.source === later.source &&
  first.entity.id === later.entity.id &&
  later.sanctions.some((entry) => entry.matchType === 'DIRECT' && entry.delistedAt !== null);

const shown = (label: Label): ConflictingLabel => ({
  name: label.entity.name,
  entityId: label.entity.id,
  category: label.category,
  threatLevel: label.threatLevel,
  source: label.source,
  class: label.class,
  confidence: label.confidence,
  date: label.lastSeen ?? label.firstSeen,
  sourceUrl: label.sourceUrl,
});

const REASONS: Readonly<Record<DecidedBy, (first: Label, later: Label) => string>> = {
  SANCTION: () => 'a sanctions list in force names the address',
  CLASS: (first, later) => `evidence of class ${first.class} comes before ${later.class}`,
  CONFIDENCE: (first, later) => `confidence ${first.confidence} is above ${later.confidence}`,
  DATE: (first, later) =>
    `${first.lastSeen ?? first.firstSeen ?? 'no date'} is later than ${later.lastSeen ?? later.firstSeen ?? 'no date'}`,
  RANK: (first, later) => `${first.source} ranks above ${later.source}`,
  CONTENT: () => 'nothing else decides, so the order of the texts does',
};

function conflictOf(first: Label, later: Label, fields: ConflictField[], isSettled: boolean): LabelConflict {
  const decidedBy = decisionOf(shippedSources())(first, later);
  const scored = isSettled
    ? `The ${later.category} label does not score.`
    : isHarmful(later) && !isHarmful(first)
      ? `The ${later.category} label still scores.`
      : '';
  const decided = `${first.category} (${first.entity.name}) of ${first.source} is taken`;
  return {
    fields,
    labels: [shown(first), shown(later)],
    decided: shown(first),
    decidedBy,
    isSettled,
    message:
      `${decided} over ${later.category} (${later.entity.name}) of ${later.source}: ${REASONS[decidedBy](first, later)}. ${scored}`.trim(),
  };
}

/**
 * Returns the contradictions among the labels of an address: each label that disagrees with the first one in category, threat
 * level or owner, with the decision. A label that repeats an earlier one is left out.
 *
 * @param labels Labels in the order of the documented rule.
 * @param asOf ISO date, or null for now: labels that are history at that time are left out.
 * @returns At most `labelConflictsMax`.
 */
export function labelConflicts(labels: readonly Label[], asOf: string | null = null): LabelConflict[] {
  const current = labels.filter((label) => !isHistory(label, asOf));
  const [first, ...others] = current;
  if (first === undefined || others.length === 0) return [];
  const unsettled = new Set(unsettledLabels(current));
  const seen = new Set<string>();
  const conflicts: LabelConflict[] = [];
  for (const later of others) {
    const fields = isFormerListing(first, later) ? [] : disagreement(first, later);
    const view = `${later.source}\n${later.entity.id}\n${later.category}\n${later.threatLevel}`;
    if (fields.length === 0 || seen.has(view)) continue;
    seen.add(view);
    conflicts.push(conflictOf(first, later, fields, !unsettled.has(later)));
    if (conflicts.length >= SCREENING_LIMITS.labelConflictsMax) break;
  }
  return conflicts;
}
