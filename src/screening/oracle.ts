/** GET /oracle/address/{chain}/{address}: safe, warning or danger from the labels alone, in microseconds. */
import { isoTime } from '../base/clock.ts';
import { NOT_LABELLED } from '../labels/index/reader.ts';
import type { Entity, Label } from '../labels/label.ts';
import { type RiskPolicy, riskLevelOf } from '../risk/policy.ts';
import { score } from '../risk/score.ts';
import {
  copyInto,
  createHeadWriter,
  type Found,
  fieldsJson,
  fragment,
  integerInto,
  textInto,
} from './answer-bytes.ts';
import type { OracleAnswer, OracleQuota, Verdict } from './answers.ts';
import { primaryOf, summaryOf } from './attribution.ts';
import { createLabelContext, type LabelContext } from './context.ts';
import type { LabelDeps } from './deps.ts';
import { isWorthReason, labelEvidence, labelReason, labelReasons, loneLabelPoints } from './judge.ts';
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

/** The most common case apart, which spares it the making of evidence: one label, and no list has ever named the address. */
function judgeLone(label: Label, { staleReason }: LabelContext, policy: RiskPolicy): Judgement {
  const points = loneLabelPoints(label, policy);
  const reasons = isWorthReason(label, policy) ? [labelReason(label)] : [];
  return {
    verdict: verdictOf(points, false, staleReason !== null, policy),
    score: points,
    riskLevel: riskLevelOf(points, policy),
    sanctioned: false,
    reasons: staleReason ? [...reasons, staleReason] : reasons,
  };
}

function judge(labels: readonly Label[], context: LabelContext, policy: RiskPolicy): Judgement {
  const lone = labels.length === 1 ? labels[0] : undefined;
  if (lone?.sanctions.length === 0) return judgeLone(lone, context, policy);
  const { staleReason } = context;
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
      entity: summaryOf(primaryOf(labels)),
      ...restOf(context, labels.length > 0, policy),
      evaluatedAt: isoTime(clock.now()),
      ttlSeconds: policy.oracleTtlSeconds,
      quota: { limit, remaining, resetAt },
    };
  };
}

/** Entities remembered as asked for once: a few thousand make up most questions, and collisions only cost a rendering. */
const MISSED_SLOTS = 1024;

interface RenderedEntity extends Pick<Label, 'category' | 'threatLevel'> {
  readonly bytes: Buffer;
}

/** Parts of a context's answers that do not depend on the address, rendered. */
interface Rendered {
  readonly context: LabelContext;
  /** All between the head and the time, for an address without a label. */
  readonly unknown: Buffer;
  /** The same for a labelled one, behind its judgement. */
  readonly knownRest: Buffer;
  /** The judgement of a lone label that gives no reason, by its points, without the entity: exchanges and the like, most of all labels. */
  readonly quiet: Map<number, Buffer>;
  /**
   * The judgement of any other lone label, entity included, by the object of its entity: a snapshot hands the same one out with every label of a template,
   * and millions of addresses share a template. Gone with the snapshot's own memory of the entity.
   */
  readonly ofTemplate: WeakMap<Entity, { readonly label: Label; readonly judgement: Buffer }>;
  /** The entities of quiet labels that were asked for twice, rendered, and those that were asked for once, by a hash of the id. */
  readonly ofEntity: WeakMap<Entity, RenderedEntity>;
  readonly missed: (Entity | undefined)[];
}

/** Whether two labels of one entity differ in nothing that is judged. */
const isJudgedAlike = (a: Label, b: Label): boolean =>
  a.category === b.category &&
  a.threatLevel === b.threatLevel &&
  a.confidence === b.confidence &&
  a.source === b.source &&
  a.class === b.class &&
  a.sourceUrl === b.sourceUrl &&
  a.verified === b.verified &&
  a.sanctions === b.sanctions;

const UNLABELLED: readonly Label[] = [];

/** Answers with bytes: see OracleWriter. */
export function createOracleWriter(deps: LabelDeps): OracleWriter {
  const contextNow = createLabelContext(deps);
  const { policy, clock } = deps;
  const found: Found = { chain: 'ETH', handle: NOT_LABELLED };
  const writeHead = createHeadWriter(found);
  const writeEnd = createEndWriter(policy.oracleTtlSeconds);
  let rendered: Rendered | null = null;

  const render = (context: LabelContext): Rendered => {
    const rest = (assessed: boolean): string =>
      `,${fieldsJson(restOf(context, assessed, policy))},"evaluatedAt":"`;
    return {
      context,
      unknown: fragment(`${fieldsJson(judge(UNLABELLED, context, policy))},"entity":null${rest(false)}`),
      knownRest: fragment(rest(true)),
      quiet: new Map(),
      ofTemplate: new WeakMap(),
      ofEntity: new WeakMap(),
      missed: new Array<Entity | undefined>(MISSED_SLOTS),
    };
  };

  const quietJudgement = (label: Label, { context, quiet }: Rendered): Buffer => {
    const points = loneLabelPoints(label, policy);
    const known = quiet.get(points);
    if (known) return known;
    const judgement = fragment(fieldsJson(judge([label], context, policy)));
    quiet.set(points, judgement);
    return judgement;
  };

  const judgementOf = (labels: readonly Label[], { context, ofTemplate }: Rendered): Buffer => {
    const entity = summaryOf(primaryOf(labels));
    const render = (): Buffer => fragment(fieldsJson({ ...judge(labels, context, policy), entity }));
    const label = labels.length === 1 ? labels[0] : undefined;
    if (!label) return render();
    const known = ofTemplate.get(label.entity);
    if (known && isJudgedAlike(known.label, label)) return known.judgement;
    const judgement = render();
    ofTemplate.set(label.entity, { label, judgement });
    return judgement;
  };

  /** Writes the entity of a lone label. What is asked for twice is kept: most answers are about few entities. */
  const writeEntity = (label: Label, { ofEntity, missed }: Rendered, out: Buffer, offset: number): number => {
    const { entity, category, threatLevel } = label;
    const known = ofEntity.get(entity);
    if (known?.category === category && known.threatLevel === threatLevel)
      return copyInto(known.bytes, out, offset);
    const text = `,"entity":${JSON.stringify(summaryOf(label))}`;
    const { id } = entity;
    const slot = (id.length * 31 + id.charCodeAt(0) * 7 + id.charCodeAt(id.length - 1)) & (MISSED_SLOTS - 1);
    if (missed[slot] === entity) ofEntity.set(entity, { category, threatLevel, bytes: fragment(text) });
    else missed[slot] = entity;
    return textInto(text, out, offset);
  };

  /** Writes judgement and entity. */
  const writeJudgement = (
    labels: readonly Label[],
    rendered: Rendered,
    out: Buffer,
    offset: number,
  ): number => {
    const [label] = labels;
    if (
      label === undefined ||
      labels.length > 1 ||
      label.sanctions.length > 0 ||
      isWorthReason(label, policy)
    )
      return copyInto(judgementOf(labels, rendered), out, offset);
    const at = copyInto(quietJudgement(label, rendered), out, offset);
    return writeEntity(label, rendered, out, at);
  };

  return (chainText, addressText, quota, out, offset) => {
    const context = contextNow();
    if (rendered?.context !== context) rendered = render(context);
    const { reader } = context;
    let at = writeHead(reader, chainText, addressText, out, offset);
    const labels = found.handle === NOT_LABELLED ? UNLABELLED : reader.labels(found.handle, found.chain);
    if (labels.length === 0) at = copyInto(rendered.unknown, out, at);
    else at = copyInto(rendered.knownRest, out, writeJudgement(labels, rendered, out, at));
    return writeEnd(clock.now(), quota, out, at);
  };
}

/**
 * Writes the end of an answer: time, how long it holds, quota. The time changes a thousand times a second, the limit with the
 * account and the reset with the month: each is rendered when it changes.
 */
function createEndWriter(
  ttlSeconds: number,
): (nowMs: number, quota: OracleQuota, out: Buffer, offset: number) => number {
  let timeMs = Number.NaN;
  let limit: number | null = Number.NaN;
  let beforeRemaining = fragment('');
  let resetAt = '';
  let behindRemaining = fragment('');
  return (nowMs, quota, out, offset) => {
    if (nowMs !== timeMs || quota.limit !== limit) {
      timeMs = nowMs;
      limit = quota.limit;
      beforeRemaining = fragment(
        `${isoTime(nowMs)}","ttlSeconds":${ttlSeconds},"quota":{"limit":${limit},"remaining":`,
      );
    }
    if (quota.resetAt !== resetAt) {
      resetAt = quota.resetAt;
      behindRemaining = fragment(`,"resetAt":${JSON.stringify(resetAt)}}}`);
    }
    const at = integerInto(quota.remaining, out, copyInto(beforeRemaining, out, offset));
    return copyInto(behindRemaining, out, at);
  };
}
