/** The monitoring rules: a table of small pure functions from the evidence about a transfer to a finding. */
import type { SanctionsEntry } from '../labels/label.ts';
import type { ExposureCategory } from '../screening/answers.ts';
import type { Attribution } from '../screening/attribution.ts';
import type { SpoofKind } from '../screening/poisoning.ts';
import type { MonitoringPolicy } from './policy.ts';
import { type Alert, RULE_IDS, type RuleId, SEVERITIES, type Severity } from './records.ts';
import type { Unusual } from './velocity.ts';

/** A party that the counterparty itself dealt with, and its share of the counterparty's flow. */
export interface Behind {
  readonly attribution: Attribution;
  /** Share of the value that the counterparty received (if value came in) or sent on (if value went out), 0 to 1. */
  readonly share: number;
}

export interface Evidence {
  readonly direction: 'in' | 'out';
  /** Null if no source could price it. */
  readonly amountUsd: number | null;
  readonly counterparty: Attribution;
  /** Empty if the counterparty itself is attributed, or if it is not in the graph. */
  readonly behind: readonly Behind[];
  /** Another address of the counterparty's cluster is listed: this is known of the cluster, not of the address. */
  readonly clusterSanctioned: boolean;
  /** The designation of a party to which an uncertain label attributes the counterparty; null without such a label. */
  readonly suspectedOwner: SanctionsEntry | null;
  readonly velocity: Unusual | null;
  /** The transfer is dust, and so is all else that moved between the wallet and the counterparty in this direction. */
  readonly isDust: boolean;
  /** Why the transfer proves nothing: anyone can forge it. Null for a transfer that is evidence. */
  readonly spoof: SpoofKind | null;
  /** The counterparty's address and the real counterparty that it imitates; null if it imitates none. */
  readonly imitation: { readonly address: string; readonly imitates: string } | null;
}

export type Finding = Pick<Alert, 'severity' | 'title' | 'message' | 'category' | 'riskType'>;

type Rule = (evidence: Evidence, policy: MonitoringPolicy) => Finding | null;

const step = (severity: Severity, by: number): Severity => {
  const at = Math.min(SEVERITIES.length - 1, Math.max(0, SEVERITIES.indexOf(severity) + by));
  return SEVERITIES[at] as Severity;
};

/** Severity by the kind of the counterparty and the amount. A transfer without a price does not count as small. */
function severityOf(
  attribution: Attribution,
  amountUsd: number | null,
  isIndirect: boolean,
  policy: MonitoringPolicy,
): Severity {
  if (attribution.sanctioned && !isIndirect) return 'CRITICAL';
  const threat = attribution.sanctioned ? 'CRITICAL' : (attribution.entity?.threatLevel ?? 'MEDIUM');
  const base = SEVERITIES.find((severity) => severity === threat) ?? 'LOW';
  const small = amountUsd !== null && amountUsd < policy.smallUsd ? -1 : 0;
  const large = amountUsd !== null && amountUsd >= policy.largeUsd ? 1 : 0;
  return step(base, small + large + (isIndirect ? -1 : 0));
}

const categoryOf = (category: ExposureCategory): Alert['category'] =>
  category === 'UNKNOWN' ? null : category;
const words = (category: ExposureCategory): string => category.toLowerCase().replace(/_/g, ' ');
const verb = { in: 'Received from', out: 'Sent to' } as const;
const percent = (share: number): string => `${Math.round(share * 100)} %`;

/** Returns the rule that an attribution falls under; null if it has no risk. */
export function ruleFor(attribution: Attribution, policy: MonitoringPolicy): RuleId | null {
  if (attribution.sanctioned) return 'SANCTIONS-001';
  if (attribution.category === 'UNKNOWN') return null;
  return policy.ruleOf.get(attribution.category) ?? (attribution.isRisky ? 'HIGHRISK-001' : null);
}

/** Returns what is said of a watched wallet that is listed or labelled itself. */
export function ownFinding(attribution: Attribution, policy: MonitoringPolicy): Finding {
  const what = words(attribution.category);
  const name = attribution.entity?.name;
  const how = !attribution.sanctioned
    ? `is now labelled ${what}${name === undefined ? '' : ` (${name})`}`
    : attribution.until === undefined
      ? `is now on a sanctions list in force${name === undefined ? '' : `, as ${name}`}`
      : `is now attributed to a party that a sanctions list in force designates${name === undefined ? '' : `: ${name}`}`;
  return {
    severity: severityOf(attribution, null, false, policy),
    title: `A list changed: the wallet itself, ${name ?? what}`,
    message: `A list or a label has changed: the watched wallet itself ${how}. No transfer raised this alert.`,
    category: categoryOf(attribution.category),
    riskType: 'LIST_CHANGE',
  };
}

const counterpartyRule =
  (id: RuleId): Rule =>
  (evidence, policy) => {
    const { counterparty, direction, amountUsd } = evidence;
    const name = counterparty.entity?.name;
    if (ruleFor(counterparty, policy) === id) {
      const what = words(counterparty.category);
      const how = !counterparty.sanctioned
        ? `It is labelled ${what}.`
        : counterparty.until === undefined
          ? 'It is on a sanctions list in force.'
          : 'It is attributed to a party that a sanctions list in force designates.';
      return {
        severity: severityOf(counterparty, amountUsd, false, policy),
        title: `${verb[direction]} ${name ?? what}`,
        message: `${verb[direction]} ${name ?? 'an address'}. ${how}`,
        category: categoryOf(counterparty.category),
        riskType: 'COUNTERPARTY',
      };
    }
    if (id === 'SANCTIONS-001' && evidence.clusterSanctioned) {
      return {
        severity: 'HIGH',
        title: `${verb[direction]} the cluster of a sanctioned address`,
        message:
          'Another address that appears to belong to the same owner is on a sanctions list in force. The address itself is not listed.',
        category: 'SANCTIONED_ENTITY',
        riskType: 'INDIRECT',
      };
    }
    if (id === 'SANCTIONS-001' && evidence.suspectedOwner !== null) {
      const { list, entityName, attribution } = evidence.suspectedOwner;
      const by =
        attribution === undefined ? '' : ` by ${attribution.source}, confidence ${attribution.confidence}`;
      return {
        severity: 'HIGH',
        title: `${verb[direction]} an address that may belong to ${entityName}`,
        message: `The address is attributed${by} to ${entityName}, which ${list} designates. The attribution is too uncertain for the address to count as sanctioned.`,
        category: 'SANCTIONED_ENTITY',
        riskType: 'COUNTERPARTY',
      };
    }
    const nearest = evidence.behind
      .filter(
        ({ attribution, share }) => share >= policy.indirectShareMin && ruleFor(attribution, policy) === id,
      )
      .sort((a, b) => b.share - a.share)[0];
    if (nearest === undefined) return null;
    const { attribution, share } = nearest;
    const who = attribution.entity?.name ?? words(attribution.category);
    const side = direction === 'in' ? 'received' : 'sent on';
    const other = direction === 'in' ? 'from' : 'to';
    return {
      severity: severityOf(attribution, amountUsd, true, policy),
      title: `Two hops ${other} ${who}`,
      message: `The counterparty ${evidence.counterparty.entity === null ? 'is not labelled' : 'has only a derived label'}, but ${percent(share)} of what it ${side} was ${other} ${who} (${words(attribution.category)}).`,
      category: categoryOf(attribution.category),
      riskType: 'INDIRECT',
    };
  };

const velocityRule: Rule = ({ velocity }) => {
  if (velocity === null) return null;
  const { measure, value, usual, zScore } = velocity;
  const shown = (number: number): string =>
    measure === 'count' ? `${Math.round(number * 10) / 10} transfers` : `USD ${number.toFixed(2)}`;
  return {
    severity: zScore !== null && zScore >= 10 ? 'HIGH' : 'MEDIUM',
    title: measure === 'count' ? 'Unusually many transfers' : 'Unusually high value',
    message:
      usual === null || zScore === null
        ? `${shown(value)} today. The wallet has not been watched for long enough to know what is usual.`
        : `${shown(value)} today; ${shown(usual)} a day is usual (z-score ${zScore.toFixed(1)}).`,
    category: null,
    riskType: 'BEHAVIOUR',
  };
};

const SPOOF_WORDS: Readonly<Record<SpoofKind, string>> = {
  UNKNOWN_TOKEN:
    'The token is on no curated list: anybody can forge its transfers, so this one proves nothing.',
  ZERO_VALUE_TOKEN:
    'No amount moved: anybody can make such a transfer in the name of others, so it proves nothing.',
};

/** Limits a finding about a forgeable transfer to LOW; it is still shown. */
const asSpoofed = (finding: Finding, kind: SpoofKind): Finding => ({
  ...finding,
  severity: 'LOW',
  title: `Not evidence: ${finding.title}`,
  message: `${finding.message} ${SPOOF_WORDS[kind]}`,
});

const DUST_WORDS = {
  in: 'anybody can send so little to anybody, so it says nothing about the wallet.',
  out: 'all that the wallet sent there is less than the dust limit.',
} as const;

/** Limits a finding about dust to LOW, as in the score and in `flaggedTransactions`. */
const asDust = (finding: Finding, direction: Evidence['direction']): Finding => ({
  ...finding,
  severity: 'LOW',
  title: `Dust: ${finding.title}`,
  message: `${finding.message} The transfer is dust: ${DUST_WORDS[direction]}`,
});

/** Finding: a look-alike address was planted in the wallet's history. */
function poisoning({ address, imitates }: NonNullable<Evidence['imitation']>): Finding {
  return {
    severity: 'LOW',
    title: 'Address poisoning',
    message:
      `${address} looks like ${imitates}, which the wallet dealt with: the first and last characters agree, the address is ` +
      'another. Compare whole addresses before paying.',
    category: 'PHISHING',
    riskType: 'COUNTERPARTY',
  };
}

/** Every rule by its id. */
export const RULES: Readonly<Record<RuleId, Rule>> = {
  'SANCTIONS-001': counterpartyRule('SANCTIONS-001'),
  'MIXING-001': counterpartyRule('MIXING-001'),
  'SCAM-001': counterpartyRule('SCAM-001'),
  'HIGHRISK-001': counterpartyRule('HIGHRISK-001'),
  'DARKWEB-001': counterpartyRule('DARKWEB-001'),
  'VELOCITY-001': velocityRule,
};

/** The basis of a finding decides how often its cause raises an alert: once per transfer, or once per day. */
export type Basis = 'TRANSFER' | 'SPOOFED' | 'DUST' | 'POISONING' | 'BEHAVIOUR';

export interface RuleFinding {
  readonly ruleId: RuleId;
  readonly finding: Finding;
  readonly basis: Basis;
}

/** Returns the findings of the enabled rules, in the order of the table. */
export function evaluate(
  evidence: Evidence,
  enabled: readonly RuleId[],
  policy: MonitoringPolicy,
): RuleFinding[] {
  return RULE_IDS.filter((id) => enabled.includes(id)).flatMap((ruleId): RuleFinding[] => {
    const found = RULES[ruleId](evidence, policy);
    const { spoof, isDust, direction, imitation } = evidence;
    if (found !== null && found.riskType === 'BEHAVIOUR')
      return [{ ruleId, finding: found, basis: 'BEHAVIOUR' }];
    if (found !== null && spoof !== null)
      return [{ ruleId, finding: asSpoofed(found, spoof), basis: 'SPOOFED' }];
    if (found !== null && isDust) return [{ ruleId, finding: asDust(found, direction), basis: 'DUST' }];
    if (found !== null) return [{ ruleId, finding: found, basis: 'TRANSFER' }];
    if (ruleId !== 'SCAM-001' || imitation === null) return [];
    return [{ ruleId, finding: poisoning(imitation), basis: 'POISONING' }];
  });
}
