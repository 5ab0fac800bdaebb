/** Derives reasons, and the evidence for the score, from the labels of an address. */
import type { Label, OwnerAttribution, SanctionsEntry } from '../labels/label.ts';
import { countsAsSanction, OWNER_CONFIDENCE_MIN } from '../labels/sanction-hit.ts';
import { shippedSources } from '../labels/source-table.ts';
import { isFirmLabel, type RiskEvidence } from '../risk/evidence.ts';
import { labelSeverities, type OwnershipEvidence } from '../risk/ownership.ts';
import type { RiskLevel, RiskPolicy } from '../risk/policy.ts';
import type { Reason } from './answers.ts';
import { unsettledLabels } from './label-conflicts.ts';
import { SCREENING_LIMITS } from './limits.ts';
import {
  entryIdentity,
  isHistory,
  isInForce,
  isSanctionHit,
  isSuspectedOwner,
  sanctionsEntries,
} from './sanctions-detail.ts';

/** Returns one label as evidence about the address itself. Its confidence is at most that of its independence group. */
export function ownershipEvidence(label: Label): OwnershipEvidence {
  const { category, threatLevel, source } = label;
  const sources = shippedSources();
  const independenceGroup = sources.groupOf(source, label.sourceUrl);
  return {
    category,
    threatLevel,
    confidence: Math.min(label.confidence, sources.groupConfidenceMax(independenceGroup)),
    class: label.class,
    independenceGroup,
    entity: label.entity.name,
    source,
  };
}

/**
 * Returns the text of a listing that makes an address sanctioned, with a note if the list names its owner and not the address.
 */
const listingText = ({ list, entityName, matchType }: SanctionsEntry): string =>
  `${list}: ${entityName}${matchType === 'OWNER' ? ' (as owner)' : ''}`;

/** Returns the evidence from the labels alone. */
export function labelEvidence(
  labels: readonly Label[],
  policy: RiskPolicy,
  asOf: string | null = null,
): RiskEvidence {
  const current = labels.filter((label) => !isHistory(label, asOf));
  const hits = sanctionsEntries(labels, asOf).filter((entry) => isSanctionHit(entry, asOf));
  const primary = current[0];
  return {
    sanctions: hits.map(listingText),
    labels: unsettledLabels(current).map(ownershipEvidence),
    exposures: [],
    isService:
      primary !== undefined &&
      // A derived or weak label names an address, but never makes it a service, which would lower the points of its dealings.
      isFirmLabel(primary, policy) &&
      policy.services.has(primary.category) &&
      policy.weights[primary.category] < policy.riskyFrom,
  };
}

const when = (date: string | null, word: string): string =>
  date === null ? '' : ` ${word} ${date.slice(0, 10)}`;

function sanctionReason(entry: SanctionsEntry, verified: boolean, asOf: string | null): Reason {
  const program = entry.program === null ? '' : ` under ${entry.program}`;
  const named = `${entry.list} as ${entry.entityName}${program}`;
  if (!isInForce(entry, asOf)) {
    return {
      code: 'DELISTED',
      severity: 'LOW',
      category: 'SANCTIONED_ENTITY',
      message: `Was listed by ${named}${when(entry.delistedAt, 'until')}; not in force.`,
      source: entry.authority,
      verified,
    };
  }
  if (entry.attribution !== undefined && entry.matchType === 'OWNER')
    return ownerReason(entry, entry.attribution, named, verified);
  const isDirect = entry.matchType === 'DIRECT';
  return {
    code: 'SANCTIONED',
    severity: isDirect ? 'CRITICAL' : 'HIGH',
    category: 'SANCTIONED_ENTITY',
    message: isDirect
      ? `Listed by ${named}${when(entry.listedAt, 'since')}.`
      : entry.attribution === undefined
        ? `Thought to share its owner with an address listed by ${named}.`
        : `Thought to belong to a party listed by ${named}.`,
    source: entry.authority,
    verified,
  };
}

/**
 * Returns the reason for a label of a designated party. It contains no date of the label, so that addresses that differ only in
 * the date share the reason.
 */
function ownerReason(
  entry: SanctionsEntry,
  { source, confidence }: OwnerAttribution,
  named: string,
  verified: boolean,
): Reason {
  const counts = countsAsSanction(entry);
  const listed = `listed by ${named}${when(entry.listedAt, 'since')}`;
  return {
    code: 'SANCTIONED_OWNER',
    severity: counts ? 'CRITICAL' : 'HIGH',
    category: 'SANCTIONED_ENTITY',
    message: counts
      ? `Attributed by ${source} (confidence ${confidence}) to a party ${listed}.`
      : `Attributed by ${source} to a party ${listed}, with confidence ${confidence}: below ${OWNER_CONFIDENCE_MIN}, so the address does not count as sanctioned.`,
    source,
    verified,
  };
}

/**
 * Returns the HIGH reasons for labels that attribute the address to a designated party, but not with enough confidence to make it
 * sanctioned.
 */
export function suspectedOwnerReasons(labels: readonly Label[], asOf: string | null = null): Reason[] {
  return sanctionsEntries(labels, asOf)
    .filter((entry) => isSuspectedOwner(entry, asOf))
    .map((entry) => sanctionReason(entry, isVerified(entry, labels), asOf));
}

/** Returns true if a label that has the entry was checked against a publisher's file. */
function isVerified(entry: SanctionsEntry, labels: readonly Label[]): boolean {
  const identity = entryIdentity(entry);
  return labels.some(
    (label) => label.verified && label.sanctions.some((other) => entryIdentity(other) === identity),
  );
}

/** Returns true if the points or the threat level of a label are high enough for a reason. */
export function isWorthReason(label: Label, policy: RiskPolicy): boolean {
  if (label.threatLevel === 'MEDIUM' || label.threatLevel === 'HIGH' || label.threatLevel === 'CRITICAL')
    return true;
  return policy.weights[label.category] * label.confidence >= 1;
}

/**
 * Returns the reason for a label.
 *
 * @param severity - of the label among all labels of the address (`labelSeverities`)
 */
export function labelReason(label: Label, severity: RiskLevel): Reason {
  return {
    code: 'LABEL',
    severity,
    category: label.category,
    message: `Labelled ${label.category} (${label.entity.name}) by ${label.source} (${label.class}), confidence ${label.confidence}.`,
    source: label.source,
    verified: label.verified,
  };
}

/** Returns the reasons from labels: lists in force, then labels in their order, then history. At most `oracleReasonsMax`. */
export function labelReasons(
  labels: readonly Label[],
  policy: RiskPolicy,
  asOf: string | null = null,
): Reason[] {
  if (labels.length === 0) return [];
  const listed: Reason[] = [];
  const history: Reason[] = [];
  const hasEntries = labels.some((label) => label.sanctions.length > 0);
  for (const entry of hasEntries ? sanctionsEntries(labels, asOf) : []) {
    const reason = sanctionReason(entry, isVerified(entry, labels), asOf);
    (isInForce(entry, asOf) ? listed : history).push(reason);
  }
  // A listing already has a reason in the list's own words; its label would only repeat it.
  const isListing = (label: Label): boolean =>
    label.category === 'SANCTIONED_ENTITY' && label.sanctions.length > 0;
  const current = unsettledLabels(labels.filter((label) => !isHistory(label, asOf)));
  const severities = labelSeverities(current.map(ownershipEvidence), policy);
  const labelled = current.flatMap((label, at) =>
    isListing(label) || !isWorthReason(label, policy) ? [] : [labelReason(label, severities[at] ?? 'LOW')],
  );
  return [...listed, ...labelled, ...history].slice(0, SCREENING_LIMITS.oracleReasonsMax);
}
