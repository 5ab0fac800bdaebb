/** GET /oracle/address/{chain}/{address}: safe, warning or danger from labels and the exposure index. `oracle-writer.ts` writes it as bytes. */
import { type Clock, isoTime } from '../base/clock.ts';
import type { ChainId } from '../chains/registry.ts';
import type { Entity, Label } from '../labels/label.ts';
import type { RiskEvidence } from '../risk/evidence.ts';
import { type RiskPolicy, riskLevelOf } from '../risk/policy.ts';
import { isGrave } from '../risk/severities.ts';
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
import type { Judgement } from './judgement-bytes.ts';
import { SCREENING_LIMITS } from './limits.ts';
import { parseSubject } from './subject.ts';

export type OracleQuery = (chainText: string, addressText: string, quota: OracleQuota) => OracleAnswer;

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

/** Returns the fields behind the judgement: what was read for it, and with which data. */
export const restOf = (
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
