/**
 * The legal interpretation as far as it is the same everywhere: the FATF Recommendations, which bind no business by themselves.
 * No country's own rules are known here, and the answer says so.
 */
import type { LegalInterpretation } from './answers.ts';

/** FATF Recommendations ("The FATF Recommendations", 2012, as amended), by number and title. */
const FRAMEWORK: readonly string[] = [
  'FATF Recommendation 6: Targeted financial sanctions related to terrorism and terrorist financing',
  'FATF Recommendation 7: Targeted financial sanctions related to proliferation',
  'FATF Recommendation 10: Customer due diligence',
  'FATF Recommendation 15: New technologies (virtual assets and their service providers)',
  'FATF Recommendation 20: Reporting of suspicious transactions',
];

const DISCLAIMER =
  'General information from the FATF standards, not legal advice. The law of the jurisdiction decides and was not consulted.';

interface Assessment {
  readonly assessment: string;
  readonly recommendedAction: string;
  readonly obligations: readonly string[];
}

const SANCTIONED: Assessment = {
  assessment: 'A sanctions list in force names this address.',
  recommendedAction:
    'Do not transact. Escalate to compliance, and find out whether assets have to be frozen and reported.',
  obligations: [
    'Freeze without delay the assets of designated persons, where the law of the jurisdiction so provides (Recommendations 6 and 7).',
    'Report to the competent authority what was frozen or refused.',
  ],
};

const CRITICAL_OR_HIGH: Assessment = {
  assessment: 'The address, or its direct counterparties, are tied to serious risk.',
  recommendedAction: 'Hold the transaction and investigate before going on.',
  obligations: [
    'Apply enhanced customer due diligence (Recommendation 10).',
    'Report a suspicion that funds stem from crime to the financial intelligence unit (Recommendation 20).',
  ],
};

const MEDIUM: Assessment = {
  assessment: 'The address shows traits of elevated risk.',
  recommendedAction: 'Review the purpose of the transaction and the origin of the funds.',
  obligations: ['Apply customer due diligence in proportion to the risk (Recommendation 10).'],
};

const NOTHING_FOUND: Assessment = {
  assessment: 'Nothing known of this address calls for more than the usual care.',
  recommendedAction: 'Go on with the usual customer due diligence.',
  obligations: ['Apply customer due diligence (Recommendation 10).'],
};

const MISSING_DATA: Assessment = {
  assessment: 'Sanctions lists are missing or too old, so nothing can be called clean.',
  recommendedAction: 'Refresh the lists and screen again before relying on this answer.',
  obligations: ['Apply customer due diligence (Recommendation 10).'],
};

const NOT_ASSESSED: Assessment = {
  assessment: 'Nothing is known of this address; that it shows no risk means only that.',
  recommendedAction: 'Ask for the origin of the funds where the amount matters.',
  obligations: ['Apply customer due diligence (Recommendation 10).'],
};

export interface LegalFacts {
  readonly jurisdiction: string;
  readonly sanctioned: boolean;
  readonly riskLevel: 'LOW' | 'MEDIUM' | 'HIGH' | 'CRITICAL';
  /** The five lists are not all fresh. */
  readonly isStale: boolean;
  readonly assessed: boolean;
}

function assess({ sanctioned, riskLevel, isStale, assessed }: LegalFacts): Assessment {
  if (sanctioned) return SANCTIONED;
  if (riskLevel === 'CRITICAL' || riskLevel === 'HIGH') return CRITICAL_OR_HIGH;
  if (riskLevel === 'MEDIUM') return MEDIUM;
  if (isStale) return MISSING_DATA;
  return assessed ? NOTHING_FOUND : NOT_ASSESSED;
}

/** Pure. Regulator and reporting office are null: they are the jurisdiction's own, and no such data is loaded. */
export function interpretLaw(facts: LegalFacts): LegalInterpretation {
  return {
    jurisdiction: facts.jurisdiction,
    regulator: null,
    framework: FRAMEWORK,
    ...assess(facts),
    reportingTo: null,
    disclaimer: DISCLAIMER,
  };
}
