/**
 * Legal duties that follow from an answer, from the statutes of a jurisdiction. A country without a row gets the FATF
 * Recommendations, which do not bind a business by themselves, and the answer says so.
 */
import {
  type Duty,
  type Fact,
  isInForceOn,
  type Jurisdiction,
  type Jurisdictions,
  type Statute,
} from '../risk/jurisdictions.ts';
import type { LegalInterpretation } from './answers.ts';

export interface LegalFacts {
  readonly jurisdiction: string;
  readonly sanctioned: boolean;
  readonly riskLevel: 'LOW' | 'MEDIUM' | 'HIGH' | 'CRITICAL';
  /** True if not all of the five lists are fresh. */
  readonly isStale: boolean;
  readonly assessed: boolean;
  /** ISO date: the law in force on that day applies. */
  readonly day: string;
}

/** Legal findings of an answer. A listing takes precedence over a score, and missing data over a clean answer. */
const FINDINGS = [
  'SANCTIONED',
  'CRITICAL',
  'HIGH',
  'MEDIUM',
  'MISSING_DATA',
  'NOT_ASSESSED',
  'NOTHING_FOUND',
] as const;

type Finding = (typeof FINDINGS)[number];

function findingOf({ sanctioned, riskLevel, isStale, assessed }: LegalFacts): Finding {
  if (sanctioned) return 'SANCTIONED';
  if (riskLevel !== 'LOW') return riskLevel;
  if (isStale) return 'MISSING_DATA';
  return assessed ? 'NOTHING_FOUND' : 'NOT_ASSESSED';
}

/** Demands that the law can make of a business. Each has its own text below. */
type Demand = Exclude<Duty, 'AUTHORISATION'> | 'STOP' | 'REPORT_SUSPICION' | 'SILENCE' | 'TRAVEL_RULE';

interface Reading {
  readonly assessment: string;
  readonly recommendedAction: string;
  readonly demands: readonly Demand[];
}

const READINGS: Readonly<Record<Finding, Reading>> = {
  SANCTIONED: {
    assessment: 'A sanctions list in force names this address.',
    recommendedAction:
      'Do not transact. Escalate to compliance, and find out whether the list binds here and what has to be frozen and reported.',
    demands: ['SANCTIONS', 'REPORTING', 'SILENCE'],
  },
  CRITICAL: {
    assessment: 'The address, or those it dealt with, are tied to crime or sanctions.',
    recommendedAction: 'Stop the transaction, investigate, and report before anything moves.',
    demands: ['STOP', 'ENHANCED_DUE_DILIGENCE', 'REPORTING', 'SILENCE'],
  },
  HIGH: {
    assessment: 'The address, or those it dealt with, are tied to serious risk.',
    recommendedAction: 'Hold the transaction and investigate before going on.',
    demands: ['ENHANCED_DUE_DILIGENCE', 'REPORT_SUSPICION', 'TRAVEL_RULE'],
  },
  MEDIUM: {
    assessment: 'The address shows traits of elevated risk.',
    recommendedAction: 'Review the purpose of the transaction and the origin of the funds.',
    demands: ['DUE_DILIGENCE', 'ENHANCED_DUE_DILIGENCE', 'TRAVEL_RULE'],
  },
  MISSING_DATA: {
    assessment: 'Sanctions lists are missing or too old, so nothing can be called clean.',
    recommendedAction: 'Refresh the lists and screen again before relying on this answer.',
    demands: ['DUE_DILIGENCE', 'SANCTIONS', 'TRAVEL_RULE'],
  },
  NOT_ASSESSED: {
    assessment: 'Nothing is known of this address; that it shows no risk means only that.',
    recommendedAction: 'Ask for the origin of the funds if the amount matters.',
    demands: ['DUE_DILIGENCE', 'TRAVEL_RULE'],
  },
  NOTHING_FOUND: {
    assessment: 'Nothing known of this address calls for more than the usual care.',
    recommendedAction: 'Go on with the usual customer due diligence.',
    demands: ['DUE_DILIGENCE', 'TRAVEL_RULE'],
  },
};

const citation = ({ law, article }: Pick<Statute, 'law' | 'article'>): string =>
  article === null ? law : `${law}, ${article}`;

/** Returns the laws of the first duty that has any, in brackets; empty if no duty has one. */
function cited(jurisdiction: Jurisdiction, ...duties: Duty[]): string {
  for (const duty of duties) {
    const found = jurisdiction.statutes.filter((statute) => statute.duty === duty);
    if (found.length > 0) return ` (${found.map(citation).join('; ')})`;
  }
  return '';
}

function travelRuleText({ travelRule }: Jurisdiction): string | null {
  if (travelRule === null) return null;
  const { threshold, currency, note } = travelRule;
  const from =
    threshold === null
      ? 'Whatever the amount, particulars of sender and receiver accompany a transfer'
      : `From ${currency} ${threshold.toLocaleString('en-US')}, particulars of sender and receiver accompany a transfer`;
  return `${from} (${citation(travelRule)}).${note === null ? '' : ` ${note}`}`;
}

/** Texts of each demand under national law; null if no such rule of that law is known. */
const NATIONAL: Readonly<Record<Demand, (jurisdiction: Jurisdiction) => string | null>> = {
  STOP: ({ reportingTo }) =>
    `Carry out nothing that a report to ${reportingTo.name} could still stop, until it has been made.`,
  DUE_DILIGENCE: (jurisdiction) =>
    `Identify the customer and the beneficial owner, and know the purpose of the business${cited(jurisdiction, 'DUE_DILIGENCE')}.`,
  ENHANCED_DUE_DILIGENCE: (jurisdiction) =>
    `Apply enhanced due diligence: clarify background, purpose and origin of the funds, and record it${cited(jurisdiction, 'ENHANCED_DUE_DILIGENCE', 'DUE_DILIGENCE')}.`,
  REPORTING: (jurisdiction) =>
    `Report to ${jurisdiction.reportingTo.name} without delay${cited(jurisdiction, 'REPORTING')}.`,
  REPORT_SUSPICION: (jurisdiction) =>
    `If the suspicion that funds stem from crime is not dispelled, report it to ${jurisdiction.reportingTo.name}${cited(jurisdiction, 'REPORTING')}.`,
  SANCTIONS: (jurisdiction) =>
    `Freeze and make nothing available if the list binds here, and notify ${jurisdiction.sanctionsAuthority.name}${cited(jurisdiction, 'SANCTIONS')}.`,
  SILENCE: () => 'Do not tell the customer or third parties of a report.',
  TRAVEL_RULE: travelRuleText,
};

/** Texts of each demand under the FATF Recommendations alone. */
const FATF: Readonly<Record<Demand, string>> = {
  STOP: 'Carry out nothing before a suspicion has been reported (Recommendation 20).',
  DUE_DILIGENCE: 'Apply customer due diligence (Recommendation 10).',
  ENHANCED_DUE_DILIGENCE:
    'Apply enhanced customer due diligence in proportion to the risk (Recommendation 10).',
  REPORTING: 'Report to the financial intelligence unit (Recommendation 20).',
  REPORT_SUSPICION:
    'Report a suspicion that funds stem from crime to the financial intelligence unit (Recommendation 20).',
  SANCTIONS:
    'Freeze without delay the assets of designated persons, if the law of the jurisdiction so provides, and report it to the competent authority (Recommendations 6 and 7).',
  SILENCE: 'Do not disclose that a report was made (Recommendation 21).',
  TRAVEL_RULE:
    'Send particulars of originator and beneficiary with a transfer, in full from USD or EUR 1,000 (Recommendations 15 and 16).',
};

/** FATF Recommendations ("The FATF Recommendations", 2012, as amended), by number and title. */
const FATF_FRAMEWORK: readonly string[] = [
  'FATF Recommendation 6: Targeted financial sanctions related to terrorism and terrorist financing',
  'FATF Recommendation 7: Targeted financial sanctions related to proliferation',
  'FATF Recommendation 10: Customer due diligence',
  'FATF Recommendation 15: New technologies (virtual assets and their service providers)',
  'FATF Recommendation 20: Reporting of suspicious transactions',
];

const FATF_SOURCE = {
  fact: 'The FATF Recommendations, adopted on 16 February 2012 and amended since',
  sourceUrl: 'https://www.fatf-gafi.org/en/publications/Fatfrecommendations/Fatf-recommendations.html',
  date: '2012-02-16',
  verified: false,
  validFrom: '2012-02-16',
  validUntil: null,
} as const;

const FATF_DISCLAIMER =
  'General information from the FATF standards, not legal advice. The law of the jurisdiction decides and was not consulted: no row of it is known here.';

const nationalDisclaimer = (jurisdiction: Jurisdiction, version: string): string =>
  `General information on the law of ${jurisdiction.name} as written down in version ${version} of the jurisdictions file, not legal advice. Sources with verified false were not compared with the publisher's text.`;

/** Returns the row with only the rules that are in force on a day. */
const inForceOn = (jurisdiction: Jurisdiction, day: string): Jurisdiction => ({
  ...jurisdiction,
  travelRule:
    jurisdiction.travelRule !== null && isInForceOn(jurisdiction.travelRule, day)
      ? jurisdiction.travelRule
      : null,
  statutes: jurisdiction.statutes.filter((statute) => isInForceOn(statute, day)),
});

/** Returns the sources of all facts of the row. A fact that is not in force on the day is marked as such. */
function sourcesOf(jurisdiction: Jurisdiction, day: string): LegalInterpretation['sources'] {
  const source = (fact: string, { sourceUrl, date, verified, validFrom, validUntil }: Fact) => ({
    fact: isInForceOn({ validFrom, validUntil }, day) ? fact : `Not in force on ${day}: ${fact}`,
    sourceUrl,
    date,
    verified,
    validFrom,
    validUntil,
  });
  const { regulator, reportingTo, sanctionsAuthority, travelRule, statutes } = jurisdiction;
  return [
    source(`Regulator: ${regulator.name}`, regulator),
    source(`Reports go to: ${reportingTo.name}`, reportingTo),
    source(`Sanctions: ${sanctionsAuthority.name}`, sanctionsAuthority),
    ...(travelRule ? [source(`Travel rule: ${citation(travelRule)}`, travelRule)] : []),
    ...statutes.map((statute) => source(citation(statute), statute)),
  ];
}

function byStandard(reading: Reading, code: string): LegalInterpretation {
  return {
    jurisdiction: code,
    standard: 'FATF',
    regulator: null,
    framework: FATF_FRAMEWORK,
    assessment: reading.assessment,
    recommendedAction: reading.recommendedAction,
    obligations: reading.demands.map((demand) => FATF[demand]),
    reportingTo: null,
    sanctionsAuthority: null,
    travelRule: null,
    sources: [FATF_SOURCE],
    version: null,
    disclaimer: FATF_DISCLAIMER,
  };
}

/** Interpretations that a thread keeps: seven findings in each of 70 countries, about 8 KB each, 4 MB. */
const KEPT_MAX = 500;

/**
 * Returns a function like `interpretLaw` that keeps its results. An interpretation depends only on the jurisdiction, the finding and the day,
 * and most screenings of a thread have the same of each.
 *
 * @returns the same object for the same facts, which must not be changed
 */
export function createLegalReading(jurisdictions: Jurisdictions): (facts: LegalFacts) => LegalInterpretation {
  const kept = new Map<string, LegalInterpretation>();
  return (facts) => {
    const name = `${facts.jurisdiction} ${findingOf(facts)} ${facts.day}`;
    const known = kept.get(name);
    if (known !== undefined) return known;
    const found = interpretLaw(facts, jurisdictions);
    if (kept.size >= KEPT_MAX) kept.clear();
    kept.set(name, found);
    return found;
  };
}

/**
 * Returns the legal interpretation under the law of the jurisdiction, or under the FATF Recommendations if it has no row. Pure.
 */
export function interpretLaw(facts: LegalFacts, jurisdictions: Jurisdictions): LegalInterpretation {
  const reading = READINGS[findingOf(facts)];
  const known = jurisdictions.of(facts.jurisdiction);
  if (known === null) return byStandard(reading, facts.jurisdiction);
  const jurisdiction = inForceOn(known, facts.day);
  const { travelRule, statutes } = jurisdiction;
  return {
    jurisdiction: jurisdiction.code,
    standard: 'NATIONAL',
    regulator: jurisdiction.regulator.name,
    framework: [...new Set([...statutes, ...(travelRule ? [travelRule] : [])].map(citation))],
    assessment: reading.assessment,
    recommendedAction: reading.recommendedAction,
    obligations: reading.demands.flatMap((demand) => NATIONAL[demand](jurisdiction) ?? []),
    reportingTo: jurisdiction.reportingTo.name,
    sanctionsAuthority: jurisdiction.sanctionsAuthority.name,
    travelRule: travelRule && {
      threshold: travelRule.threshold,
      currency: travelRule.currency,
      law: citation(travelRule),
      note: travelRule.note,
    },
    sources: sourcesOf(known, facts.day),
    version: jurisdictions.version,
    disclaimer: nationalDisclaimer(jurisdiction, jurisdictions.version),
  };
}
