/** The oracle's answer as bytes, in microseconds: parts that many answers share are rendered once. */
import { copyInto, fragment, integerInto, jsonTextInto, textInto } from '../base/byte-text.ts';
import { isoTime } from '../base/clock.ts';
import { NOT_LABELLED } from '../labels/index/reader.ts';
import type { Label } from '../labels/label.ts';
import { riskLevelOf } from '../risk/policy.ts';
import { createHeadWriter, fieldsJson, newLookup } from './answer-bytes.ts';
import type { OracleQuota } from './answers.ts';
import { primaryOf, summaryOf } from './attribution.ts';
import { createLabelContext, type LabelContext } from './context.ts';
import type { ExposureView } from './exposure-join.ts';
import { NO_EXPOSURE, PLAIN_EXPOSURE } from './exposure-port.ts';
import { createJudgementHeads, createJudgementWriter, reasonText } from './judgement-bytes.ts';
import { JudgementShapes } from './judgement-shapes.ts';
import { LoneJudgements } from './lone-judgements.ts';
import { createExposureViews, judge, type OracleDeps, restOf, verdictOf } from './oracle.ts';
import { PlainReasons } from './plain-reasons.ts';

/** Maximum number of reasons for missing transfers with cached judgements. */
const JUDGEMENTS_MAX = 100;

/** Like an AnswerWriter (answer-bytes.ts), with the quota after the call. */
export type OracleWriter = (
  chainText: string,
  addressText: string,
  quota: OracleQuota,
  out: Buffer,
  offset: number,
) => number;

/** The rendered end of all answers with plain entries and one view. */
interface PlainRest {
  /** Whether it begins with a reason that data is missing or too old. */
  readonly isMissing: boolean;
  readonly bytes: Buffer;
}

/** Rendered parts that all answers with one view share. */
interface Rendered {
  /** Everything between the head and the time, for an address without a label. */
  readonly unknown: Buffer;
  /** The same for a labelled address, after its judgement. */
  readonly knownRest: Buffer;
  readonly judgements: Judgements;
}

/**
 * Judgements of addresses without exposure, by their labels. They depend on the view only through the reason that transfers are
 * missing.
 */
interface Judgements {
  readonly view: ExposureView;
  /** Number of that reason among the states of `LoneJudgements`. */
  readonly state: number;
  /** Judgements of a lone label without sanctions, which are most labels. */
  readonly shapes: JudgementShapes;
}

const UNLABELLED: readonly Label[] = [];

const NO_ENTITY = fragment(',"entity":null');

/** Returns the entity of a label as JSON behind other fields. */
const entityJson = (label: Label): string => `,"entity":${JSON.stringify(summaryOf(label))}`;

/** Writes the entity of a label behind other fields. */
const entityInto = (label: Label | null, out: Buffer, offset: number): number =>
  label === null ? copyInto(NO_ENTITY, out, offset) : textInto(entityJson(label), out, offset);

/** Returns the writer that answers with bytes: see OracleWriter. */
export function createOracleWriter(deps: OracleDeps): OracleWriter {
  const contextNow = createLabelContext(deps);
  const { policy, clock } = deps;
  const viewOf = createExposureViews(deps.exposures, clock);
  const lookup = newLookup();
  const writeHead = createHeadWriter(lookup);
  const writeEnd = createEndWriter(policy.oracleTtlSeconds);
  const headOf = createJudgementHeads();
  const writeFields = createJudgementWriter(headOf);
  const plain = deps.exposures === undefined ? null : new PlainReasons(deps.exposures);
  let context: LabelContext | null = null;
  /** Rendered parts by view: a few views for each chain, replaced when the state of its index changes. */
  let rendered = new WeakMap<ExposureView, Rendered>();
  /** Judgements by the reason that transfers are missing. */
  let judgements = new Map<string, Judgements>();
  const loneJudgements = new LoneJudgements(JUDGEMENTS_MAX);
  /** The last rendered rest of an answer with an entry: first for addresses without a label, then for labelled ones. */
  let entryRests: (Pick<ExposureView, 'status' | 'asOf' | 'isSeen'> & { readonly bytes: Buffer })[] = [];

  /** The rendered rest of an answer with a plain entry, by view. */
  let plainRests = new WeakMap<ExposureView, PlainRest>();

  /** Drops all rendered parts that contain a judgement. */
  const dropJudgements = (): void => {
    rendered = new WeakMap();
    plainRests = new WeakMap();
    judgements = new Map();
    loneJudgements.clear();
  };

  const judgementsOf = (now: LabelContext, view: ExposureView): Judgements => {
    const name = view.notRead?.message ?? '';
    const known = judgements.get(name);
    if (known !== undefined) return known;
    // Such a reason contains a time, so old judgements are dropped.
    if (judgements.size === JUDGEMENTS_MAX) dropJudgements();
    const shapes = new JudgementShapes(
      (label) => fieldsJson(judge([label], now, view, policy)) + entityJson(label),
    );
    const made = { view, state: judgements.size, shapes };
    judgements.set(name, made);
    return made;
  };

  const restText = (now: LabelContext, isLabelled: boolean, view: ExposureView): string =>
    `,${fieldsJson(restOf(now, isLabelled, view, policy))},"evaluatedAt":"`;

  /** Returns the rest of an answer with an entry: the same for all entries that do not wait. */
  const restOfEntry = (now: LabelContext, isLabelled: boolean, view: ExposureView): Buffer => {
    const { status, asOf, isSeen } = view;
    const place = isLabelled ? 1 : 0;
    const known = entryRests[place];
    if (known !== undefined && known.status === status && known.asOf === asOf && known.isSeen === isSeen)
      return known.bytes;
    const bytes = fragment(restText(now, isLabelled, view));
    entryRests[place] = { status, asOf, isSeen, bytes };
    return bytes;
  };

  const renderPlainRest = (now: LabelContext, view: ExposureView): PlainRest => {
    const reasons = [view.notRead, now.staleReason].filter((reason) => reason !== null);
    const text = `${reasons.map(reasonText).join()}],"entity":null${restText(now, false, view)}`;
    const made = { isMissing: reasons.length > 0, bytes: fragment(text) };
    plainRests.set(view, made);
    return made;
  };

  /** Writes everything between the head and the time, for an address without a label that has a plain entry: the same as `judge`. */
  const writePlain = (
    reasons: PlainReasons,
    now: LabelContext,
    view: ExposureView,
    out: Buffer,
    offset: number,
  ): number => {
    const rest = plainRests.get(view) ?? renderPlainRest(now, view);
    reasons.open();
    const score = Math.min(100, reasons.points);
    const isUncertain = rest.isMissing || reasons.isUnclean;
    const verdict = verdictOf(score, false, isUncertain, policy);
    const riskLevel = riskLevelOf(score, policy);
    const from = copyInto(headOf({ verdict, score, riskLevel, sanctioned: false }), out, offset);
    const end = reasons.write(out, from);
    // Each reason ends with a comma, because another one nearly always follows.
    return copyInto(rest.bytes, out, end > from && !rest.isMissing ? end - 1 : end);
  };

  const render = (now: LabelContext, view: ExposureView): Rendered => {
    const unlabelled = fieldsJson(judge(UNLABELLED, now, view, policy));
    const made = {
      unknown: fragment(`${unlabelled},"entity":null${restText(now, false, view)}`),
      knownRest: fragment(restText(now, true, view)),
      judgements: judgementsOf(now, view),
    };
    rendered.set(view, made);
    return made;
  };

  /** Writes the judgement of labels, and the entity of the primary one. */
  const writeJudgement = (
    labels: readonly Label[],
    now: LabelContext,
    view: ExposureView,
    out: Buffer,
    offset: number,
  ): number => {
    const at = writeFields(judge(labels, now, view, policy), out, offset);
    return entityInto(primaryOf(labels), out, at);
  };

  /** Writes the judgement of an address with labels and without exposure, and the entity of the primary label. */
  const writeLabelled = (
    labels: readonly Label[],
    now: LabelContext,
    judgements: Judgements,
    out: Buffer,
    offset: number,
  ): number => {
    const [label] = labels;
    return label === undefined || labels.length > 1 || label.sanctions.length > 0
      ? writeJudgement(labels, now, judgements.view, out, offset)
      : judgements.shapes.write(label, out, offset);
  };

  /** Writes everything between the head and the time, for an address without exposure. */
  const writeUnexposed = (now: LabelContext, view: ExposureView, out: Buffer, offset: number): number => {
    const { reader } = now;
    const { handle, chain } = lookup;
    const parts = rendered.get(view) ?? render(now, view);
    if (handle === NOT_LABELLED) return copyInto(parts.unknown, out, offset);
    const { state } = parts.judgements;
    const template = reader.loneTemplate(handle, chain);
    const known = template < 0 ? undefined : loneJudgements.find(template, state);
    if (known !== undefined) return copyInto(parts.knownRest, out, copyInto(known, out, offset));
    const labels = reader.labels(handle, chain);
    if (labels.length === 0) return copyInto(parts.unknown, out, offset);
    const end = writeLabelled(labels, now, parts.judgements, out, offset);
    if (template >= 0 && end >= 0) loneJudgements.offer(template, state, out, offset, end);
    return copyInto(parts.knownRest, out, end);
  };

  return (chainText, addressText, quota, out, offset) => {
    const nowMs = clock.now();
    const now = contextNow(nowMs);
    if (context !== now) {
      context = now;
      dropJudgements();
      entryRests = [];
    }
    const { reader } = now;
    let at = writeHead(reader, chainText, addressText, out, offset);
    const takesPlain = lookup.handle === NOT_LABELLED;
    const view = viewOf(lookup.chain, lookup.key, lookup.keyLength, nowMs, takesPlain);
    if (view.verdict === NO_EXPOSURE) at = writeUnexposed(now, view, out, at);
    else if (plain !== null && view.verdict === PLAIN_EXPOSURE) at = writePlain(plain, now, view, out, at);
    else {
      const labels = reader.labels(lookup.handle, lookup.chain);
      at = writeJudgement(labels, now, view, out, at);
      at = copyInto(restOfEntry(now, labels.length > 0, view), out, at);
    }
    return writeEnd(nowMs, quota, out, at);
  };
}

/**
 * Returns a function that writes the end of an answer: the time, how long the answer is valid, and the quota. The time changes a
 * thousand times a second, the limit with the account and the reset with the month: each is rendered only when it changes.
 */
function createEndWriter(
  ttlSeconds: number,
): (nowMs: number, quota: OracleQuota, out: Buffer, offset: number) => number {
  let timeMs = Number.NaN;
  let timeLength = 0;
  let limit: number | null = Number.NaN;
  let beforeRemaining = fragment('');
  let resetAt = '';
  let behindRemaining = fragment('');
  return (nowMs, quota, out, offset) => {
    if (nowMs !== timeMs || quota.limit !== limit) {
      const time = isoTime(nowMs);
      timeMs = nowMs;
      // Written into the bytes of the time before: memory for each would cost more than the text.
      if (quota.limit === limit && time.length === timeLength) jsonTextInto(time, beforeRemaining, 0);
      else {
        timeLength = time.length;
        limit = quota.limit;
        beforeRemaining = fragment(
          `${time}","ttlSeconds":${ttlSeconds},"quota":{"limit":${limit},"remaining":`,
        );
      }
    }
    if (quota.resetAt !== resetAt) {
      resetAt = quota.resetAt;
      behindRemaining = fragment(`,"resetAt":${JSON.stringify(resetAt)}}}`);
    }
    const at = integerInto(quota.remaining, out, copyInto(beforeRemaining, out, offset));
    return copyInto(behindRemaining, out, at);
  };
}
