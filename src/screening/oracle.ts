/** GET /oracle/address/{chain}/{address}: safe, warning or danger from the labels alone, in microseconds. */
import { isoTime } from '../base/clock.ts';
import { NOT_LABELLED } from '../labels/index/reader.ts';
import type { Label } from '../labels/label.ts';
import type { RiskPolicy } from '../risk/policy.ts';
import { score } from '../risk/score.ts';
import { copyInto, createHeadWriter, type Found, fieldsJson, fragment, textInto } from './answer-bytes.ts';
import type { OracleAnswer, OracleQuota, Verdict } from './answers.ts';
import { createLabelContext, type LabelContext } from './context.ts';
import type { LabelDeps } from './deps.ts';
import { labelEvidence, labelReasons } from './judge.ts';
import { parseSubject } from './subject.ts';

export type OracleQuery = (chainText: string, addressText: string, quota: OracleQuota) => OracleAnswer;

/** As an AnswerWriter (answer-bytes.ts), with the quota as it stands after the call. */
export type OracleWriter = (
  chainText: string,
  addressText: string,
  quota: OracleQuota,
  out: Buffer,
  offset: number,
) => number;

type Judgement = Pick<OracleAnswer, 'verdict' | 'score' | 'riskLevel' | 'sanctioned' | 'reasons'>;

/** safe below MEDIUM, danger from CRITICAL or a sanction in force; never safe on lists that are missing or too old. */
function verdictOf(points: number, sanctioned: boolean, isStale: boolean, policy: RiskPolicy): Verdict {
  if (sanctioned || points >= policy.levels.CRITICAL) return 'danger';
  return isStale || points >= policy.levels.MEDIUM ? 'warning' : 'safe';
}

function judge(labels: readonly Label[], { staleReason }: LabelContext, policy: RiskPolicy): Judgement {
  const evidence = labelEvidence(labels, policy);
  const { riskScore, riskLevel } = score(evidence, policy);
  const sanctioned = evidence.sanctions.length > 0;
  const reasons = labelReasons(labels, policy);
  return {
    verdict: verdictOf(riskScore, sanctioned, staleReason !== null, policy),
    score: riskScore,
    riskLevel,
    sanctioned,
    reasons: staleReason ? [...reasons, staleReason] : reasons,
  };
}

const restOf = (
  { coverage, reader }: LabelContext,
  assessed: boolean,
  policy: RiskPolicy,
): Pick<OracleAnswer, 'coverage' | 'assessed' | 'dataVersion' | 'policyVersion'> => ({
  coverage,
  assessed,
  dataVersion: reader.meta.dataVersion,
  policyVersion: policy.version,
});

/** Answers with objects. Throws UNKNOWN_CHAIN or INVALID_ADDRESS. */
export function createOracle(deps: LabelDeps): OracleQuery {
  const contextNow = createLabelContext(deps);
  const { policy, clock } = deps;
  return (chainText, addressText, { limit, remaining, resetAt }) => {
    const subject = parseSubject(chainText, addressText);
    const context = contextNow();
    const labels = context.reader.lookup(subject.key, subject.chain);
    return {
      address: subject.shown,
      chain: subject.chain,
      ...judge(labels, context, policy),
      ...restOf(context, labels.length > 0, policy),
      evaluatedAt: isoTime(clock.now()),
      ttlSeconds: policy.oracleTtlSeconds,
      quota: { limit, remaining, resetAt },
    };
  };
}

/** Address-independent parts of a context's answers, rendered. */
interface Rendered {
  readonly context: LabelContext;
  /** All between the head and the time, for an address without a label. */
  readonly unknown: Buffer;
  /** The same for a labelled one, behind its judgement. */
  readonly knownRest: Buffer;
}

/** Answers with bytes: see OracleWriter. */
export function createOracleWriter(deps: LabelDeps): OracleWriter {
  const contextNow = createLabelContext(deps);
  const { policy, clock } = deps;
  const found: Found = { chain: 'ETH', handle: NOT_LABELLED };
  const writeHead = createHeadWriter(found);
  const behindTime = fragment(`","ttlSeconds":${policy.oracleTtlSeconds},"quota":{"limit":`);
  const QUOTA_REMAINING = fragment(',"remaining":');
  const QUOTA_RESET = fragment(',"resetAt":"');
  const END = fragment('"}}');
  let timeMs = Number.NaN;
  let time = fragment('');

  const render = (context: LabelContext): Rendered => {
    const rest = (assessed: boolean): string =>
      `,${fieldsJson(restOf(context, assessed, policy))},"evaluatedAt":"`;
    return {
      context,
      unknown: fragment(fieldsJson(judge([], context, policy)) + rest(false)),
      knownRest: fragment(rest(true)),
    };
  };
  let rendered: Rendered | null = null;

  const writeQuota = ({ limit, remaining, resetAt }: OracleQuota, out: Buffer, offset: number): number => {
    let at = textInto(String(limit), out, offset);
    at = textInto(String(remaining), out, copyInto(QUOTA_REMAINING, out, at));
    at = textInto(resetAt, out, copyInto(QUOTA_RESET, out, at));
    return copyInto(END, out, at);
  };

  return (chainText, addressText, quota, out, offset) => {
    const context = contextNow();
    if (rendered?.context !== context) rendered = render(context);
    const now = clock.now();
    if (now !== timeMs) {
      timeMs = now;
      time = fragment(isoTime(now));
    }
    const { reader } = context;
    let at = writeHead(reader, chainText, addressText, out, offset);
    const labels = found.handle === NOT_LABELLED ? [] : reader.labels(found.handle, found.chain);
    if (labels.length === 0) at = copyInto(rendered.unknown, out, at);
    else {
      at = textInto(fieldsJson(judge(labels, context, policy)), out, at);
      at = copyInto(rendered.knownRest, out, at);
    }
    at = copyInto(behindTime, out, copyInto(time, out, at));
    return writeQuota(quota, out, at);
  };
}
