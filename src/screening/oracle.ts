/** GET /oracle/address/{chain}/{address}: safe, warning or danger from labels and the exposure index, in microseconds. */
import { copyInto, fragment, integerInto, jsonTextInto, textInto } from '../base/byte-text.ts';
import { type Clock, isoTime } from '../base/clock.ts';
import type { ChainId } from '../chains/registry.ts';
import { NOT_LABELLED } from '../labels/index/reader.ts';
import type { Entity, Label } from '../labels/label.ts';
import { type RiskPolicy, riskLevelOf } from '../risk/policy.ts';
import { isGrave, type RiskEvidence } from '../risk/score.ts';
import { createHeadWriter, fieldsJson, newLookup } from './answer-bytes.ts';
import type { OracleAnswer, OracleQuota, Reason, Verdict } from './answers.ts';
import { primaryOf, summaryOf } from './attribution.ts';
import { createLabelContext, type LabelContext, NOT_READ } from './context.ts';
import type { LabelDeps } from './deps.ts';
import type { OracleEvidence } from './evidence.ts';
import {
  type ExposureView,
  entryReasons,
  graphNotRead,
  hasGraveExposure,
  isUnfollowed,
  joinScore,
  NOT_ASSESSED,
  noteReasons,
} from './exposure-join.ts';
import {
  EXPOSURE,
  type ExposureReader,
  type ExposureStatus,
  NO_EXPOSURE,
  PLAIN_EXPOSURE,
} from './exposure-port.ts';
import { labelEvidence, labelReasons } from './judge.ts';
import {
  createJudgementHeads,
  createJudgementWriter,
  type Judgement,
  reasonText,
} from './judgement-bytes.ts';
import { JudgementShapes } from './judgement-shapes.ts';
import { SCREENING_LIMITS } from './limits.ts';
import { LoneJudgements } from './lone-judgements.ts';
import { PlainReasons } from './plain-reasons.ts';
import { parseSubject } from './subject.ts';

/** Maximum number of reasons for missing transfers with cached judgements. */
const JUDGEMENTS_MAX = 100;

export type OracleQuery = (chainText: string, addressText: string, quota: OracleQuota) => OracleAnswer;

/** Like an AnswerWriter (answer-bytes.ts), with the quota after the call. */
export type OracleWriter = (
  chainText: string,
  addressText: string,
  quota: OracleQuota,
  out: Buffer,
  offset: number,
) => number;

/** Labels, and the exposure indexes. Without `exposures`, no transfer of any chain is stored. */
export interface OracleDeps extends LabelDeps {
  readonly exposures?: ExposureReader;
}

/** The view of an address on a chain without stored transfers: only its labels count. */
const NO_GRAPH: ExposureView = {
  status: { state: 'NO_GRAPH', asOf: null, graphAsOf: null, isOld: false },
  verdict: NO_EXPOSURE,
  isSeen: false,
  notRead: null,
  asOf: null,
};

/**
 * Looks an address up by its key and returns the view for its answer; the same object for the same state if the address is clean.
 *
 * @param takesPlain - if true, the view of an address with a plain entry is also the same object, with the verdict PLAIN_EXPOSURE;
 *   the entry is then in `ExposureReader.plain`
 */
type ExposureViews = (
  chain: ChainId,
  key: Uint8Array,
  length: number,
  nowMs?: number,
  takesPlain?: boolean,
) => ExposureView;

/** Returns the function that looks addresses up. */
export function createExposureViews(exposures: ExposureReader | undefined, clock: Clock): ExposureViews {
  if (exposures === undefined) return () => NO_GRAPH;
  interface Shared {
    readonly status: ExposureStatus;
    readonly views: readonly ExposureView[];
  }
  const shared = new Map<ChainId, Shared>();

  /** Returns the views of a chain's index that contain no entry, by number of the state. */
  function sharedOf(chain: ChainId, status: ExposureStatus): Shared {
    const known = shared.get(chain);
    if (known?.status === status) return known;
    const old = status.isOld ? graphNotRead(status.asOf) : null;
    const view = (fields: Partial<ExposureView>): ExposureView => ({
      ...{ status, verdict: NO_EXPOSURE, isSeen: false, notRead: old, asOf: status.asOf },
      ...fields,
    });
    const views: ExposureView[] = [];
    views[EXPOSURE.NO_GRAPH] = NO_GRAPH;
    views[EXPOSURE.NOT_READ] = view({ notRead: graphNotRead(null), asOf: null });
    views[EXPOSURE.UNSEEN] = view({});
    views[EXPOSURE.CLEAN] = view({ isSeen: true });
    views[EXPOSURE.EXPOSED] = view({ isSeen: true, verdict: PLAIN_EXPOSURE });
    const made = { status, views };
    shared.set(chain, made);
    return made;
  }

  return (chain, key, length, nowMs, takesPlain = false) => {
    const found = exposures.find(chain, key, length, nowMs);
    const { status, views } = sharedOf(chain, exposures.status());
    const waitsSinceMs = exposures.waitsSinceMs();
    if (waitsSinceMs === 0 && (found !== EXPOSURE.EXPOSED || (takesPlain && exposures.readPlain())))
      return views[found] as ExposureView;
    // Compares the absolute difference: if the clock was set back, an entry that waits since a time in the future has waited for
    // an unknown time.
    const isOld =
      waitsSinceMs > 0 && Math.abs(clock.now() - waitsSinceMs) > SCREENING_LIMITS.exposureWaitMsMax;
    const waitedFrom = waitsSinceMs > 0 ? isoTime(waitsSinceMs) : null;
    const asOf =
      waitedFrom !== null && (status.asOf === null || waitedFrom < status.asOf) ? waitedFrom : status.asOf;
    const base = views[found === EXPOSURE.EXPOSED ? EXPOSURE.CLEAN : found] as ExposureView;
    return {
      status: base.status,
      verdict: exposures.verdict(),
      isSeen: base.isSeen,
      notRead: isOld ? graphNotRead(asOf) : base.notRead,
      asOf,
    };
  };
}

/**
 * Returns `safe` below MEDIUM, and `danger` from CRITICAL or with a sanction in force. Never `safe` beside a grave reason, or if
 * data that a clean answer needs is missing or too old (`isUncertain`).
 */
export function verdictOf(
  points: number,
  sanctioned: boolean,
  isUncertain: boolean,
  policy: RiskPolicy,
): Verdict {
  if (sanctioned || points >= policy.levels.CRITICAL) return 'danger';
  return isUncertain || points >= policy.levels.MEDIUM ? 'warning' : 'safe';
}

/** The evidence of an address without labels. */
const NO_EVIDENCE: RiskEvidence = { sanctions: [], labels: [], exposures: [], isService: false };

/** Returns the judgement of an address, from its labels and from its exposure entry. Pure: the same facts give the same judgement. */
export function judge(
  labels: readonly Label[],
  { staleReason }: Pick<LabelContext, 'staleReason'>,
  { verdict: entry, isSeen, notRead }: Pick<ExposureView, 'verdict' | 'isSeen' | 'notRead'>,
  policy: RiskPolicy,
): Judgement {
  const evidence = labels.length === 0 ? NO_EVIDENCE : labelEvidence(labels, policy);
  const joined = joinScore(evidence, entry, policy);
  const points = joined.score;
  const sanctioned = evidence.sanctions.length > 0;
  const reasons = labelReasons(labels, policy);
  const isGraveHere = hasGraveExposure(joined) || reasons.some(({ severity }) => isGrave(severity));
  const exposed = entryReasons(joined, entry);
  const isMissing = notRead !== null || staleReason !== null || exposed.some(isUnfollowed);
  const verdict = verdictOf(points, sanctioned, isGraveHere || isMissing, policy);
  reasons.push(...exposed);
  if (notRead !== null) reasons.push(notRead);
  if (staleReason !== null) reasons.push(staleReason);
  if (labels.length === 0 && !isSeen && verdict === 'safe') reasons.push(NOT_ASSESSED);
  if (entry.notes.length > 0) reasons.push(...noteReasons(entry));
  return {
    verdict,
    score: points,
    riskLevel: riskLevelOf(points, policy),
    sanctioned,
    reasons,
  };
}

const restOf = (
  { coverage, reader }: LabelContext,
  isLabelled: boolean,
  { status, isSeen, asOf }: ExposureView,
  policy: RiskPolicy,
): Pick<OracleAnswer, 'coverage' | 'assessed' | 'exposureAsOf' | 'dataVersion' | 'policyVersion'> => ({
  coverage: {
    ...coverage,
    // As in a screening: files contain only parts of a chain's history.
    graph: asOf === null ? NOT_READ : { status: 'PARTIAL', asOf: status.graphAsOf },
  },
  assessed: isLabelled || isSeen,
  exposureAsOf: asOf,
  dataVersion: reader.meta.dataVersion,
  policyVersion: policy.version,
});

/** Returns the query that answers with objects. It throws UNKNOWN_CHAIN or INVALID_ADDRESS. */
export function createOracle(deps: OracleDeps): OracleQuery {
  const attested = createAttestedOracle(deps);
  return (chainText, addressText, quota) => {
    const { shared, own } = attested(chainText, addressText, quota);
    const { chain, ttlSeconds, ...facts } = shared.answer;
    const { address, evaluatedAt } = own;
    return { address, chain, ...facts, evaluatedAt, ttlSeconds, quota: own.quota };
  };
}

type OwnMember = 'address' | 'evaluatedAt' | 'quota';

/** What all answers with the same facts have in common, and the evidence of these facts. */
export interface SharedOracleAnswer {
  readonly answer: Omit<OracleAnswer, OwnMember>;
  readonly evidence: OracleEvidence;
}

/** An answer in two parts, with its evidence. */
export interface AttestedOracleAnswer {
  /** For most addresses the same object as for others with equal facts, so that what follows from it need not be computed again. */
  readonly shared: SharedOracleAnswer;
  readonly own: Pick<OracleAnswer, OwnMember>;
  /** The canonical address. */
  readonly canonical: string;
}

/** Like OracleQuery, with the evidence of the answer. */
export type AttestedOracleQuery = (...request: Parameters<OracleQuery>) => AttestedOracleAnswer;

/** Answers of a chain with one view, at one height. */
interface SharedAnswers {
  readonly height: number | null;
  unlabelled: SharedOracleAnswer | null;
  /** The last answer about a lone label of entities that were requested twice. */
  readonly ofEntity: Map<Entity, { readonly label: Label; readonly shared: SharedOracleAnswer }>;
}

/** Kept answers about entities, of all chains and views: some 10 MB with the texts that receipts keep of each. */
const SHARED_ANSWERS_MAX = 2_048;

/** Whether two labels are equal in every field that evidence has. Lists are compared as objects: labels of a template share them. */
const isSameLabel = (a: Label, b: Label): boolean =>
  isJudgedAlike(a, b) &&
  a.entity === b.entity &&
  a.scope === b.scope &&
  a.tags === b.tags &&
  a.synthetic === b.synthetic &&
  a.firstSeen === b.firstSeen &&
  a.lastSeen === b.lastSeen;

/** Returns the query of `createOracle` that also returns the evidence. */
export function createAttestedOracle(
  deps: OracleDeps & {
    /** Returns the last stored block of a chain; null if none is known. */
    readonly heightOf?: (chain: ChainId) => number | null;
  },
): AttestedOracleQuery {
  const contextNow = createLabelContext(deps);
  const { policy, clock, heightOf } = deps;
  const viewOf = createExposureViews(deps.exposures, clock);
  let context: LabelContext | null = null;
  /** A view without an entry is the same object for all addresses of a chain in one state. */
  let ofViews = new WeakMap<ExposureView, Map<ChainId, SharedAnswers>>();
  /** Answers about entities in `ofViews`. */
  let kept = 0;
  /** Entities that were requested once, by `slotOf`. */
  const missed = new Array<Entity | undefined>(MISSED_SLOTS);

  const forget = (): void => {
    ofViews = new WeakMap();
    kept = 0;
  };

  function answersOf(view: ExposureView, chain: ChainId, height: number | null): SharedAnswers {
    let ofChains = ofViews.get(view);
    if (ofChains === undefined) {
      ofChains = new Map();
      ofViews.set(view, ofChains);
    }
    const known = ofChains.get(chain);
    if (known?.height === height) return known;
    const made = { height, unlabelled: null, ofEntity: new Map() };
    ofChains.set(chain, made);
    return made;
  }

  const answerTo = (
    labels: readonly Label[],
    chain: ChainId,
    now: LabelContext,
    view: ExposureView,
    height: number | null,
  ): SharedOracleAnswer => ({
    answer: {
      chain,
      ...judge(labels, now, view, policy),
      entity: summaryOf(primaryOf(labels)),
      ...restOf(now, labels.length > 0, view, policy),
      ttlSeconds: policy.oracleTtlSeconds,
    },
    evidence: {
      kind: 'ORACLE',
      labels: [labels],
      entry: view.verdict,
      isSeen: view.isSeen,
      notRead: view.notRead,
      staleReason: now.staleReason,
      graph: { height, asOf: view.status.graphAsOf },
    },
  });

  function sharedAnswer(
    labels: readonly Label[],
    chain: ChainId,
    now: LabelContext,
    view: ExposureView,
  ): SharedOracleAnswer {
    const height = heightOf?.(chain) ?? null;
    const [label] = labels;
    // A view with an entry, and several labels, are of one address.
    if (labels.length > 1 || view.verdict !== NO_EXPOSURE) return answerTo(labels, chain, now, view, height);
    const answers = answersOf(view, chain, height);
    if (label === undefined) {
      answers.unlabelled ??= answerTo(labels, chain, now, view, height);
      return answers.unlabelled;
    }
    const { entity } = label;
    const known = answers.ofEntity.get(entity);
    if (known !== undefined && isSameLabel(known.label, label)) return known.shared;
    const shared = answerTo(labels, chain, now, view, height);
    const slot = slotOf(entity);
    if (known === undefined && missed[slot] !== entity) missed[slot] = entity;
    else {
      if (kept >= SHARED_ANSWERS_MAX) forget();
      kept++;
      answersOf(view, chain, height).ofEntity.set(entity, { label, shared });
    }
    return shared;
  }

  return (chainText, addressText, { limit, remaining, resetAt }) => {
    const { chain, key, shown, canonical } = parseSubject(chainText, addressText);
    const now = contextNow();
    if (context !== now) {
      context = now;
      forget();
    }
    const view = viewOf(chain, key, key.length);
    return {
      shared: sharedAnswer(now.reader.lookup(key, chain), chain, now, view),
      own: {
        address: shown,
        evaluatedAt: isoTime(clock.now()),
        quota: { limit, remaining, resetAt },
      },
      canonical,
    };
  };
}

/**
 * Slots for entities that were requested once. A few thousand entities make up most requests, and a collision only costs one
 * rendering.
 */
const MISSED_SLOTS = 1024;

/** Returns the slot of an entity, by a hash of its id. */
const slotOf = ({ id }: Entity): number =>
  (id.length * 31 + id.charCodeAt(0) * 7 + id.charCodeAt(id.length - 1)) & (MISSED_SLOTS - 1);

/**
 * The fields that a bulk request adds to the labels of an address: the oracle's answer, with the codes of its reasons instead of
 * their texts.
 */
export interface ItemVerdict
  extends Pick<OracleAnswer, 'verdict' | 'score' | 'riskLevel' | 'assessed' | 'exposureAsOf'> {
  /** Each code once, in the order of the oracle's reasons. */
  readonly reasonCodes: readonly Reason['code'][];
}

/** Returns a function that judges addresses as the oracle does. */
export function createItemVerdicts(
  deps: OracleDeps,
): (context: LabelContext, chain: ChainId, addressText: string) => ItemVerdict {
  const { policy } = deps;
  const viewOf = createExposureViews(deps.exposures, deps.clock);
  return (context, chain, addressText) => {
    const { key } = parseSubject(chain, addressText);
    const labels = context.reader.lookup(key, chain);
    const view = viewOf(chain, key, key.length);
    const { verdict, score, riskLevel, reasons } = judge(labels, context, view, policy);
    const { assessed, exposureAsOf } = restOf(context, labels.length > 0, view, policy);
    const reasonCodes = [...new Set(reasons.map(({ code }) => code))];
    return { verdict, score, riskLevel, reasonCodes, assessed, exposureAsOf };
  };
}

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

/** Returns true if two labels of one entity have equal values in every field that is judged. */
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
