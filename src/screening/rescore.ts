/** Scores stored evidence again, with the functions that scored it first. It reads neither labels nor transfers of this installation. */
import type { Label } from '../labels/label.ts';
import { type RiskLevel, type RiskPolicy, riskLevelOf } from '../risk/policy.ts';
import { score as scoreOf } from '../risk/score.ts';
import { isGrave } from '../risk/severities.ts';
import type { Verdict } from './answers.ts';
import { assessmentReasons, decisiveOf } from './assess.ts';
import { primaryOf } from './attribution.ts';
import type {
  Evidence,
  KytEvidence,
  OracleEvidence,
  PartyEvidence,
  SanctionsEvidence,
  ScreeningEvidence,
} from './evidence.ts';
import { labelEvidence } from './judge.ts';
import { type JudgedParties, type JudgedParty, judgeTransfer } from './kyt.ts';
import { judge, verdictOf } from './oracle.ts';
import { sanctionsReasons } from './sanctions-check.ts';
import { sanctionsDetail } from './sanctions-detail.ts';

/** The facts of an answer that follow from its evidence and its policy. */
export interface Judgement {
  readonly verdict: string | null;
  readonly score: number | null;
  readonly riskLevel: RiskLevel | null;
  readonly sanctioned: boolean;
  /** Codes of the reasons, then of the flags, each once. */
  readonly reasonCodes: readonly string[];
}

/** Returns the codes of reasons and flags, each once. */
export function codesOf(...lists: readonly (readonly { readonly code: string }[])[]): readonly string[] {
  const codes: string[] = [];
  for (const list of lists) for (const { code } of list) if (!codes.includes(code)) codes.push(code);
  return codes;
}

/** Scores an address again. */
function partyAgain(
  labels: readonly Label[],
  { readings, unfollowed, earlier, suspected }: PartyEvidence,
  { staleReason, asOf }: Pick<ScreeningEvidence, 'staleReason' | 'asOf'>,
  policy: RiskPolicy,
) {
  const ofLabels = labelEvidence(labels, policy, asOf);
  const scored = readings.map((exposures) => {
    const evidence = { ...ofLabels, exposures };
    return { evidence, judged: scoreOf(evidence, policy) };
  });
  const decisive = decisiveOf(scored);
  const facts = { labels, asOf, readings: scored, decisive, unfollowed, earlier, suspected, staleReason };
  return {
    ...decisive,
    readings: scored,
    primary: primaryOf(labels, asOf),
    sanctionsCheck: sanctionsDetail(labels, null, asOf),
    staleReason,
    reasons: assessmentReasons(facts, policy),
  } satisfies JudgedParty;
}

function screeningAgain(evidence: ScreeningEvidence, policy: RiskPolicy): Judgement {
  const [party] = evidence.parties;
  const { judged, sanctionsCheck, reasons } = partyAgain(evidence.labels[0] ?? [], party, evidence, policy);
  return {
    verdict: null,
    score: judged.riskScore,
    riskLevel: judged.riskLevel,
    sanctioned: sanctionsCheck.isSanctioned,
    reasonCodes: codesOf(reasons, evidence.spoofing),
  };
}

function kytAgain(evidence: KytEvidence, policy: RiskPolicy): Judgement {
  const { parties, labels, between, staleReason } = evidence;
  const again = (party: PartyEvidence, at: number): JudgedParty =>
    partyAgain(labels[at] ?? [], party, { staleReason, asOf: null }, policy);
  const [first, second] = parties;
  const judged: JudgedParties =
    second === undefined ? [again(first, 0)] : [again(first, 0), again(second, 1)];
  const { points, decision, sanctioned, reasons, flags } = judgeTransfer(judged, between, policy);
  return {
    verdict: decision,
    score: points,
    riskLevel: riskLevelOf(points, policy),
    sanctioned,
    reasonCodes: codesOf(reasons, flags),
  };
}

function oracleAgain(evidence: OracleEvidence, policy: RiskPolicy): Judgement {
  const { labels, entry, isSeen, notRead } = evidence;
  const view = { verdict: entry, isSeen, notRead };
  const { verdict, score, riskLevel, sanctioned, reasons } = judge(labels[0] ?? [], evidence, view, policy);
  return { verdict, score, riskLevel, sanctioned, reasonCodes: codesOf(reasons) };
}

function sanctionsAgain({ labels: [labels = []], staleReason }: SanctionsEvidence): Judgement {
  return {
    verdict: null,
    score: null,
    riskLevel: null,
    sanctioned: sanctionsDetail(labels, null).isSanctioned,
    reasonCodes: codesOf(sanctionsReasons(labels, staleReason)),
  };
}

/** Returns the judgement that evidence gives under a policy. */
export function rescore(evidence: Evidence, policy: RiskPolicy): Judgement {
  switch (evidence.kind) {
    case 'SCREENING':
      return screeningAgain(evidence, policy);
    case 'KYT':
      return kytAgain(evidence, policy);
    case 'ORACLE':
      return oracleAgain(evidence, policy);
    case 'SANCTIONS':
      return sanctionsAgain(evidence);
  }
}

/** Reasons which say that data for a clean verdict is missing or too old. */
const UNCERTAIN: ReadonlySet<string> = new Set([
  'STALE_OR_MISSING_DATA',
  'GRAPH_NOT_READ',
  'HUB_NOT_FOLLOWED',
  'WALK_CUT',
]);

const OF_DECISIONS: Readonly<Record<string, Verdict>> = { ALLOW: 'safe', REVIEW: 'warning', BLOCK: 'danger' };

/**
 * Returns the verdict of an answer in the words of the oracle: that of a screening by the rules of the oracle, that of KYT from its decision.
 *
 * @returns null for a check of sanctions, which rates no risk
 */
export function verdictOfEvidence(evidence: Evidence, policy: RiskPolicy): Verdict | null {
  switch (evidence.kind) {
    case 'ORACLE':
      return oracleAgain(evidence, policy).verdict as Verdict;
    case 'KYT':
      return OF_DECISIONS[kytAgain(evidence, policy).verdict ?? ''] ?? 'danger';
    case 'SCREENING': {
      const [party] = evidence.parties;
      const { judged, sanctionsCheck, reasons } = partyAgain(
        evidence.labels[0] ?? [],
        party,
        evidence,
        policy,
      );
      const isUncertain = reasons.some(({ code, severity }) => UNCERTAIN.has(code) || isGrave(severity));
      return verdictOf(judged.riskScore, sanctionsCheck.isSanctioned, isUncertain, policy);
    }
    case 'SANCTIONS':
      return null;
  }
}
