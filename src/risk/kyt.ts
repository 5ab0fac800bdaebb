/**
 * KYT (know your transaction): flags from evidence, the score of the link between two parties, and the decision. All of it is
 * pure.
 */
import { twoDecimals } from '../base/figures.ts';
import type { EvidenceClass } from '../labels/evidence-class.ts';
import type { Category, ThreatLevel } from '../labels/taxonomy.ts';
import { type ExposureEvidence, isRisky, type RiskEvidence } from './evidence.ts';
import { labelPoints, labelSeverities, type OwnershipEvidence } from './ownership.ts';
import type { RiskLevel, RiskPolicy } from './policy.ts';
import { exposureSeverities, type RiskScore, type ScoreFactor, score } from './score.ts';
import { graverOf, isGrave } from './severities.ts';

export type Decision = 'BLOCK' | 'REVIEW' | 'ALLOW';
export type FlagParty = 'from' | 'to' | 'address';

export interface FlagEntity {
  readonly name: string;
  readonly category: Category;
  readonly threatLevel: ThreatLevel;
}

export interface Flag {
  readonly code: string;
  readonly severity: RiskLevel;
  readonly party: FlagParty;
  readonly category: Category | 'UNKNOWN';
  readonly riskType: ScoreFactor['riskType'];
  readonly direction: 'in' | 'out' | 'both';
  readonly entity: FlagEntity | null;
  /** Percentage of the value that moved in the direction; 100 for a flag about the party itself. */
  readonly percentage: number;
  readonly valueUsd: number | null;
  readonly hops: number;
  readonly message: string;
}

/**
 * The stem of each category's flag codes: `MIXER_OWNER` if the party is a mixer, `MIXER_EXPOSURE` if it dealt with one. A
 * category without a stem raises no flag.
 */
export const FLAG_STEMS: Readonly<Partial<Record<Category, string>>> = {
  HIGH_RISK_EXCHANGE: 'HIGH_RISK_EXCHANGE',
  ATM: 'ATM',
  GAMBLING: 'GAMBLING',
  MIXER: 'MIXER',
  PRIVACY_PROTOCOL: 'PRIVACY_PROTOCOL',
  DARKNET_MARKET: 'DARKNET_MARKET',
  FRAUD_SHOP: 'FRAUD_SHOP',
  SCAM: 'SCAM',
  PHISHING: 'PHISHING',
  PONZI: 'PONZI',
  STOLEN_FUNDS: 'STOLEN_FUNDS',
  RANSOMWARE: 'RANSOMWARE',
  EXTORTION: 'EXTORTION',
  MALWARE: 'MALWARE',
  TERRORIST_FINANCING: 'TERRORIST_FINANCING',
  CHILD_ABUSE_MATERIAL: 'CHILD_ABUSE_MATERIAL',
  SANCTIONED_ENTITY: 'SANCTIONED',
  SANCTIONED_JURISDICTION: 'SANCTIONED_JURISDICTION',
  SPECIAL_MEASURES: 'SPECIAL_MEASURES',
  ILLICIT_ACTOR: 'ILLICIT_ACTOR',
};

/** Codes that are not made from a stem. */
export const FLAG_CODES = {
  /** A list in force names the party's address. */
  sanctioned: 'SANCTIONED',
  /** The party is thought to share its owner with a listed address. */
  sanctionedCluster: 'SANCTIONED_CLUSTER',
  /** A label attributes the party's address to a designated party, but not with enough confidence to make it sanctioned. */
  suspectedOwner: 'DESIGNATED_OWNER',
  /** A list once named the party's address; the entry is no longer in force. */
  delisted: 'FORMERLY_SANCTIONED',
} as const;

export interface PartyFacts {
  readonly party: FlagParty;
  readonly entity: FlagEntity | null;
  readonly evidence: RiskEvidence;
  /**
   * The same money, followed in another way. An exposure that only this evidence has, or has with a higher severity, raises a
   * flag too.
   */
  readonly otherEvidence?: readonly RiskEvidence[];
  /** List entries that reach the party through its cluster, as text. */
  readonly clusterSanctions?: readonly string[];
  /** Lists that designate the party to which an uncertain label attributes the address. */
  readonly suspectedOwners?: readonly string[];
  /** Lists that once named the party's address, as text. */
  readonly delisted?: readonly string[];
}

const SEVERITIES: readonly RiskLevel[] = ['LOW', 'MEDIUM', 'HIGH', 'CRITICAL'];
const unique = (texts: readonly string[]): string[] => [...new Set(texts)].sort();
const itself = {
  riskType: 'OWNERSHIP',
  direction: 'both',
  percentage: 100,
  valueUsd: null,
  hops: 0,
} as const;

/** Maximum number of names in one message. */
const NAMED_MAX = 5;
const named = (texts: readonly string[]): string => unique(texts).slice(0, NAMED_MAX).join(', ');

/** Ends a text with one full stop: many names of parties already end with one (`S.A.`). */
const sentence = (text: string): string => (text.endsWith('.') ? text : `${text}.`);

function listFlags({
  party,
  entity,
  evidence,
  clusterSanctions,
  suspectedOwners,
  delisted,
}: PartyFacts): Flag[] {
  const about = { party, category: 'SANCTIONED_ENTITY', entity, ...itself } as const;
  const rows = [
    [FLAG_CODES.sanctioned, 'CRITICAL', evidence.sanctions, 'Listed in force by'],
    [FLAG_CODES.sanctionedCluster, 'HIGH', clusterSanctions ?? [], 'Thought to share its owner with'],
    [FLAG_CODES.suspectedOwner, 'HIGH', suspectedOwners ?? [], 'Attributed with low confidence to'],
    [FLAG_CODES.delisted, 'LOW', delisted ?? [], 'Was listed, no longer in force, by'],
  ] as const;
  return rows.flatMap(([code, severity, texts, words]) =>
    texts.length === 0 ? [] : [{ code, severity, ...about, message: sentence(`${words} ${named(texts)}`) }],
  );
}

/** Returns one flag for each category, about its strongest label. A listing in force has its own flag. */
function labelFlags({ party, evidence }: PartyFacts, policy: RiskPolicy): Flag[] {
  const severities = labelSeverities(evidence.labels, policy);
  const strongest = new Map<Category, { readonly label: OwnershipEvidence; readonly severity: RiskLevel }>();
  for (const [at, label] of evidence.labels.entries()) {
    const severity = severities[at] ?? 'LOW';
    const known = strongest.get(label.category);
    if (!known || labelPoints(label, policy) > labelPoints(known.label, policy))
      strongest.set(label.category, { label, severity: graverOf(severity, known?.severity ?? 'LOW') });
    else strongest.set(label.category, { ...known, severity: graverOf(severity, known.severity) });
  }
  return [...strongest.values()].flatMap(({ label, severity }): Flag[] => {
    const { category } = label;
    const stem = FLAG_STEMS[category];
    const isTold = category === 'SANCTIONED_ENTITY' && evidence.sanctions.length > 0;
    if (stem === undefined || isTold || !isRisky(category, policy)) return [];
    return [
      {
        code: `${stem}_OWNER`,
        severity,
        party,
        category,
        entity: { name: label.entity, category, threatLevel: policy.threats[category] },
        ...itself,
        message: `Labelled ${category} (${label.entity}) by ${label.source}.`,
      },
    ];
  });
}

const amountIn = ({ asset, valueUsd, share }: ExposureEvidence): number =>
  asset === null ? (valueUsd ?? 0) : share;

/** Returns the entity with the greatest value; null if none is named. */
function greatestEntity(exposures: readonly ExposureEvidence[]): string | null {
  const values = new Map<string, number>();
  for (const exposure of exposures) {
    if (exposure.entity !== null)
      values.set(exposure.entity, (values.get(exposure.entity) ?? 0) + amountIn(exposure));
  }
  const [first] = [...values].sort(([a, most], [b, value]) => value - most || (a < b ? -1 : 1));
  return first?.[0] ?? null;
}

/**
 * Returns one flag for each category, direction, asset without a price, and distance (direct or indirect). An exposure without
 * points (dust, no value) raises none.
 */
function exposureFlags(party: FlagParty, evidence: RiskEvidence, policy: RiskPolicy): Flag[] {
  const groups = new Map<string, ExposureEvidence[]>();
  for (const exposure of evidence.exposures) {
    const { category, direction, hops, asset, isOwn } = exposure;
    if (!isRisky(category, policy) || FLAG_STEMS[category] === undefined || isOwn === true) continue;
    const name = `${category} ${direction} ${hops === 1 ? 'COUNTERPARTY' : 'INDIRECT'} ${asset ?? ''}`;
    groups.set(name, [...(groups.get(name) ?? []), exposure]);
  }
  const wholeOf = (direction: 'in' | 'out', asset: string | null): number =>
    evidence.exposures
      .filter((exposure) => exposure.direction === direction && exposure.asset === asset)
      .reduce((sum, exposure) => sum + amountIn(exposure), 0);
  const severityOf = exposureSeverities(evidence, policy);
  return [...groups.values()].flatMap((exposures): Flag[] => {
    const [first] = exposures;
    if (!first || first.category === 'UNKNOWN') return [];
    const { category, direction, asset } = first;
    const severity = severityOf({ direction, asset, category, isDirect: first.hops === 1 });
    if (severity === null) return [];
    const value = exposures.reduce((sum, exposure) => sum + amountIn(exposure), 0);
    const percentage = twoDecimals(Math.min(100, (100 * value) / wholeOf(direction, asset)));
    const hops = Math.min(...exposures.map((exposure) => exposure.hops));
    const name = greatestEntity(exposures);
    const unsolicited = exposures.every((exposure) => exposure.unsolicited === true) ? ', unsolicited' : '';
    const way = direction === 'in' ? 'Received from' : 'Sent to';
    const far = hops === 1 ? 'directly' : `over ${hops} hops`;
    return [
      {
        code: `${FLAG_STEMS[category]}_EXPOSURE`,
        severity,
        party,
        category,
        riskType: hops === 1 ? 'COUNTERPARTY' : 'INDIRECT',
        direction,
        entity: name === null ? null : { name, category, threatLevel: policy.threats[category] },
        percentage,
        valueUsd: asset === null ? twoDecimals(value) : null,
        hops,
        message: `${way} ${category}${name === null ? '' : ` (${name})`} ${far}${unsolicited}: ${percentage} % of ${asset === null ? 'the value' : `its ${asset} (no price)`}.`,
      },
    ];
  });
}

/** Returns the flags of one party, highest severity first. */
export function flagsOf(facts: PartyFacts, policy: RiskPolicy): Flag[] {
  const rank = (flag: Flag): string =>
    `${9 - SEVERITIES.indexOf(flag.severity)} ${String(flag.hops).padStart(3, '0')} ${flag.code} ${flag.direction}`;
  const { party, evidence, otherEvidence = [] } = facts;
  const exposures = exposureFlags(party, evidence, policy);
  const others = otherEvidence
    .flatMap((each) => exposureFlags(party, each, policy))
    .filter((flag) => !exposures.some((known) => isCoveredBy(flag, known)));
  return [...listFlags(facts), ...labelFlags(facts, policy), ...exposures, ...others].sort((a, b) =>
    rank(a) < rank(b) ? -1 : 1,
  );
}

const isCoveredBy = (flag: Flag, known: Flag): boolean =>
  flag.code === known.code &&
  flag.direction === known.direction &&
  flag.riskType === known.riskType &&
  SEVERITIES.indexOf(flag.severity) <= SEVERITIES.indexOf(known.severity);

/** The evidence about one party of a pair: its sanctions and its labels. */
type PartyEvidence = Pick<RiskEvidence, 'sanctions' | 'labels'>;

/** The evidence about a sender, a receiver and the paths between them. */
export interface LinkEvidence {
  readonly from: PartyEvidence;
  readonly to: PartyEvidence;
  /** Risky parties on known paths between the two, as exposures of the receiver (`in`). */
  readonly between: readonly ExposureEvidence[];
}

/**
 * The size of the transfer between two parties. Nothing else counts beside it, so its share is 1. A share of 1 brings the full
 * severity whatever the amount: any value above dust gives the same points.
 */
export const WHOLE_TRANSFER = { asset: null, valueUsd: Number.MAX_SAFE_INTEGER, share: 1 } as const;

function counterpart(party: PartyEvidence, direction: 'in' | 'out'): ExposureEvidence[] {
  const exposure = (
    category: Category,
    confidence: number,
    evidenceClass: EvidenceClass,
    entity: string,
  ): ExposureEvidence => ({
    category,
    direction,
    hops: 1,
    ...WHOLE_TRANSFER,
    confidence,
    class: evidenceClass,
    entity,
  });
  const [listing] = party.sanctions;
  if (listing !== undefined) return [exposure('SANCTIONED_ENTITY', 1, 'list', listing)];
  return party.labels.map(({ category, confidence, class: evidenceClass = 'published', entity }) =>
    exposure(category, confidence, evidenceClass, entity),
  );
}

/**
 * Scores the transfer between two parties as if neither had made any other: the receiver is exposed to the evidence about the
 * sender, and the sender to the evidence about the receiver. No amount is needed, because the share is 1 for any amount.
 */
export function linkScore({ from, to, between }: LinkEvidence, policy: RiskPolicy): RiskScore {
  const risky = [...counterpart(from, 'in'), ...counterpart(to, 'out'), ...between].filter((exposure) =>
    isRisky(exposure.category, policy),
  );
  return score({ sanctions: [], labels: [], exposures: risky, isService: false }, policy);
}

export interface DecisionFacts {
  /** A party is listed directly and in force. */
  readonly sanctioned: boolean;
  readonly score: number;
  readonly flags: readonly Pick<Flag, 'severity'>[];
  /** A list is missing or older than its maximum age, or a relevant part of the value was not followed. */
  readonly isMissingData: boolean;
}

/** Returns the strictest decision that applies: BLOCK, then REVIEW, then ALLOW. Missing data is never ALLOW. */
export function decide(facts: DecisionFacts, policy: RiskPolicy): Decision {
  if (facts.sanctioned || facts.score >= policy.kytBlockFrom) return 'BLOCK';
  const isFlagged = facts.flags.some(({ severity }) => isGrave(severity));
  return facts.isMissingData || isFlagged || facts.score >= policy.kytReviewFrom ? 'REVIEW' : 'ALLOW';
}
