/** POST /kyt: the risk of a transfer, from its parties, their dealings, and the paths between them. */
import { isoTime } from '../base/clock.ts';
import { AssayError } from '../base/errors.ts';
import { findPaths } from '../graph/kernels/path.ts';
import type { KernelWorkspace } from '../graph/kernels/workspace.ts';
import { GRAPH_LIMITS } from '../graph/limits.ts';
import type { Direction } from '../graph/transfers.ts';
import type { ExposureEvidence } from '../risk/evidence.ts';
import { decide, type Flag, type FlagParty, flagsOf, linkScore, WHOLE_TRANSFER } from '../risk/kyt.ts';
import { type RiskPolicy, riskLevelOf } from '../risk/policy.ts';
import type { CoverageEntry, FlowTotal, Reason } from './answers.ts';
import type { Assessment, Assessor } from './assess.ts';
import { summaryOf, UNATTRIBUTED } from './attribution.ts';
import { DIRECTION_CHOICES, DIRECTION_DEFAULT, EXPOSURE_HOPS } from './choices.ts';
import { isDealtSince } from './counterparties.ts';
import type { ScreeningDeps } from './deps.ts';
import { type KytEvidence, kytEvidence } from './evidence.ts';
import { isUnfollowed } from './exposure-join.ts';
import { flowTotal } from './flow-totals.ts';
import type { KytAnswer, KytFlag, KytParty } from './kyt-answers.ts';
import { SCREENING_LIMITS } from './limits.ts';
import { readWord } from './options.ts';
import { isInForce, isSuspectedOwner } from './sanctions-detail.ts';
import { parseSubject } from './subject.ts';

export interface KytRequest {
  readonly chain: string;
  /** The single address. Either this field is given, or both `from` and `to`. */
  readonly address?: string;
  /** The sender of a pair. */
  readonly from?: string;
  /** The receiver of a pair. */
  readonly to?: string;
  /** Direction of the single address: `in`, `out` or `both` (default). */
  readonly direction?: string;
  /** Set by the server for a receipt, never by a client: the result of the task is then `{answer, evidence}`. */
  readonly withEvidence?: true;
}

/** Facts that the server reads before the check. A client never sends them. */
export interface KytFacts {
  /** Names in the request, which has their addresses instead, and these addresses. */
  readonly resolved?: Readonly<Record<string, string>>;
  /** Coverage of the parties' own histories in the store (on-demand.ts). */
  readonly history?: CoverageEntry;
}

export type KytQuery = (request: KytRequest, facts?: KytFacts) => KytAnswer;

/** Like KytQuery, with the evidence of the answer. */
export type AttestedKytQuery = (
  request: KytRequest,
  facts?: KytFacts,
) => { readonly answer: KytAnswer; readonly evidence: KytEvidence };

const BOTH: readonly Direction[] = ['in', 'out'];
const DIRECTIONS: Readonly<Record<'in' | 'out' | 'both', readonly Direction[]>> = {
  in: ['in'],
  out: ['out'],
  both: BOTH,
};

type Parties =
  | { readonly kind: 'single'; readonly address: string }
  | { readonly kind: 'pair'; readonly from: string; readonly to: string };

/**
 * Returns the parties of a request.
 *
 * @throws INVALID_REQUEST if the request names neither one address nor a pair, or a direction for a pair.
 */
function partiesOf({ address, from, to, direction }: KytRequest): Parties {
  const refuse = (field: string, sentence: string): AssayError =>
    new AssayError('INVALID_REQUEST', `${field}: ${sentence}`, { field });
  if (address !== undefined) {
    if (from !== undefined || to !== undefined)
      throw refuse('address', 'give either address, or from and to, not both.');
    return { kind: 'single', address };
  }
  if (from === undefined && to === undefined)
    throw refuse('address', 'is missing; give address, or from and to.');
  if (from === undefined) throw refuse('from', 'is required together with to.');
  if (to === undefined) throw refuse('to', 'is required together with from.');
  if (direction !== undefined)
    throw refuse(
      'direction',
      'belongs to a single address; a pair is checked from `from` to `to`. Leave it out.',
    );
  return { kind: 'pair', from, to };
}

const partyOf = ({ subject, primary, sanctionsCheck }: Assessment): KytParty => ({
  address: subject.shown,
  entity: summaryOf(primary),
  sanctioned: sanctionsCheck.isSanctioned,
});

/** A party as far as its flags, and the score and the decision of a transfer need it. */
export interface JudgedParty
  extends Pick<Assessment, 'sanctionsCheck' | 'primary' | 'evidence' | 'reasons' | 'staleReason'> {
  readonly judged: Pick<Assessment['judged'], 'riskScore'>;
  readonly readings: readonly Pick<Assessment['readings'][number], 'evidence'>[];
}

function flagsOfParty(party: FlagParty, assessment: JudgedParty, policy: RiskPolicy): Flag[] {
  const { lists } = assessment.sanctionsCheck;
  const words = (entries: typeof lists): string[] => entries.map((one) => `${one.list}: ${one.entityName}`);
  return flagsOf(
    {
      party,
      entity: summaryOf(assessment.primary),
      evidence: assessment.evidence,
      otherEvidence: assessment.readings
        .map(({ evidence }) => evidence)
        .filter((evidence) => evidence !== assessment.evidence),
      clusterSanctions: words(lists.filter((one) => isInForce(one) && one.matchType === 'CLUSTER')),
      suspectedOwners: words(lists.filter((one) => isSuspectedOwner(one))),
      delisted: words(lists.filter((one) => !isInForce(one))),
    },
    policy,
  );
}

/** The parties of a transfer: one address, or a sender and a receiver. */
export type JudgedParties<Party extends JudgedParty = JudgedParty> =
  | readonly [address: Party]
  | readonly [from: Party, to: Party];

/** The judgement of a transfer. */
export interface TransferJudgement {
  readonly points: number;
  /** Of a pair: the score of the link alone. */
  readonly linkPoints: number | null;
  readonly flags: readonly KytFlag[];
  readonly sanctioned: boolean;
  readonly decision: KytAnswer['decision'];
  readonly reasons: readonly Reason[];
}

/**
 * Judges a transfer. Pure: the same facts give the same judgement years later.
 *
 * @param between - risky parties on paths from the sender to the receiver; empty for a single address
 */
export function judgeTransfer(
  parties: JudgedParties,
  between: readonly ExposureEvidence[],
  policy: RiskPolicy,
): TransferJudgement {
  const [first, second] = parties;
  const link =
    second === undefined ? null : linkScore({ from: first.evidence, to: second.evidence, between }, policy);
  const points = Math.max(
    first.judged.riskScore,
    second?.judged.riskScore ?? 0,
    link === null ? 0 : link.riskScore,
  );
  const flags =
    second === undefined
      ? flagsOfParty('address', first, policy)
      : [...flagsOfParty('from', first, policy), ...flagsOfParty('to', second, policy)];
  const sanctioned = parties.some((one) => one.sanctionsCheck.isSanctioned);
  const isMissingData =
    first.staleReason !== null || parties.some(({ reasons }) => reasons.some(isUnfollowed));
  return {
    points,
    linkPoints: link === null ? null : link.riskScore,
    flags: flags.slice(0, SCREENING_LIMITS.screeningListMax),
    sanctioned,
    decision: decide({ sanctioned, score: points, flags, isMissingData }, policy),
    reasons: reasonsOf(parties),
  };
}

/** Returns the known flow from one party to the other; null if no transfer is known. */
function flowBetween(from: Assessment, to: Assessment, { assets }: ScreeningDeps): FlowTotal | null {
  if (from.place === null || to.place === null) return null;
  const edges = from.place.graph.edge(from.place.node, to.place.node);
  if (edges.length === 0) return null;
  const sum = (of: (edge: (typeof edges)[number]) => number): number =>
    edges.reduce((total, edge) => total + of(edge), 0);
  const priced = edges.filter((edge) => edge.valueUsd !== null);
  return flowTotal(
    {
      transfers: sum((edge) => edge.transfers),
      unpricedTransfers: sum((edge) => edge.unpricedTransfers),
      valueUsd: priced.length === 0 ? null : Math.round(100 * sum((edge) => edge.valueUsd ?? 0)) / 100,
      byAsset: edges.slice(0, GRAPH_LIMITS.assetsListedMax),
    },
    { chain: from.subject.chain, assets, atMs: Math.max(...edges.map((edge) => edge.lastSeenMs)) },
  );
}

/** Returns risky parties on the shortest known paths from the sender to the receiver, as exposures of the receiver. */
function riskyBetween(from: Assessment, to: Assessment, workspace: KernelWorkspace): ExposureEvidence[] {
  if (from.place === null || to.place === null || from.place.node === to.place.node) return [];
  const { graph, node, attributions, weighing } = from.place;
  const { paths } = findPaths(
    {
      start: node,
      target: to.place.node,
      direction: 'out',
      maxDepth: EXPOSURE_HOPS.standard,
      pathsMax: SCREENING_LIMITS.kytPathsMax,
      degreeMax: GRAPH_LIMITS.counterpartiesMax,
      nodesMax: SCREENING_LIMITS.traceNodesMax,
      stepsMax: SCREENING_LIMITS.pathStepsMax,
      timeRespecting: true,
    },
    // The search looks for risky services between the two, so no service ends it.
    { graph, workspace, weighing, isService: () => false },
  );
  const found = new Map<number, ExposureEvidence>();
  for (const { nodes } of paths) {
    for (const [at, between] of nodes.slice(1, -1).entries()) {
      const [before, after] = [nodes[at] as number, nodes[at + 2] as number];
      const now = attributions.of(between);
      const edges = [...graph.edge(before, between), ...graph.edge(between, after)];
      const isSince = now.until === undefined || isDealtSince(edges, now.until.fromMs, weighing);
      const attribution = isSince ? now : (now.until?.before ?? UNATTRIBUTED);
      const { isRisky, category, confidence, entity, class: evidenceClass } = attribution;
      if (!isRisky || found.has(between)) continue;
      found.set(between, {
        category,
        direction: 'in',
        hops: nodes.length - 2 - at,
        ...WHOLE_TRANSFER,
        confidence,
        class: evidenceClass,
        entity: entity?.name ?? null,
      });
    }
  }
  return [...found.values()];
}

/** Returns the assets without a price of all parties, each once. */
const unpricedAssetsOf = (assessments: readonly Assessment[]): string[] => [
  ...new Set(assessments.flatMap(({ coverage }) => coverage.graph.unpricedAssets ?? [])),
];

/** Returns the reasons of all parties, each once. */
function reasonsOf(assessments: readonly Pick<Assessment, 'reasons'>[]): Reason[] {
  const seen = new Map<string, Reason>();
  for (const reason of assessments.flatMap((one) => one.reasons)) seen.set(JSON.stringify(reason), reason);
  // The reason that qualifies the whole answer comes last.
  const stale = [...seen.values()].filter(({ code }) => code === 'STALE_OR_MISSING_DATA');
  return [...[...seen.values()].filter(({ code }) => code !== 'STALE_OR_MISSING_DATA'), ...stale];
}

/**
 * Returns the query that checks one address or a pair. Synchronous, with the same bounds as a screening. The query throws
 * UNKNOWN_CHAIN, INVALID_ADDRESS, or INVALID_REQUEST naming the field.
 */
export function createKyt(deps: ScreeningDeps, assessor: Assessor): KytQuery {
  const attested = createAttestedKyt(deps, assessor);
  return (request, facts) => attested(request, facts).answer;
}

/** Returns the query of `createKyt` that also returns the evidence. */
export function createAttestedKyt(deps: ScreeningDeps, { assess, workspace }: Assessor): AttestedKytQuery {
  const { policy, clock } = deps;

  const assessed = (chain: string, address: string, field: FlagParty, directions: readonly Direction[]) =>
    assess({
      subject: parseSubject(chain, address, field),
      asOf: null,
      maxHops: EXPOSURE_HOPS.standard,
      directions,
    });

  type Rest = Pick<KytAnswer, 'from' | 'to' | 'link' | 'address' | 'direction'>;

  function answer(
    assessments: JudgedParties<Assessment>,
    { points, flags, decision, reasons }: TransferJudgement,
    facts: KytFacts,
    rest: Rest,
  ): KytAnswer {
    const [first] = assessments;
    return {
      chain: first.subject.chain,
      riskScore: points,
      riskLevel: riskLevelOf(points, policy),
      decision,
      ...rest,
      flags,
      reasons,
      resolved: facts.resolved ?? {},
      assessed: assessments.some((one) => one.assessed),
      coverage: {
        ...first.coverage,
        graph: { ...first.coverage.graph, unpricedAssets: unpricedAssetsOf(assessments) },
        history: facts.history ?? first.coverage.history,
      },
      dataVersion: first.reader.meta.dataVersion,
      policyVersion: policy.version,
      checkedAt: isoTime(clock.now()),
    };
  }

  return (request, facts = {}) => {
    const parties = partiesOf(request);
    const direction = readWord('direction', request.direction, DIRECTION_CHOICES, DIRECTION_DEFAULT);
    if (parties.kind === 'single') {
      const one = assessed(request.chain, parties.address, 'address', DIRECTIONS[direction]);
      const judgement = judgeTransfer([one], [], policy);
      return {
        answer: answer([one], judgement, facts, { address: partyOf(one), direction }),
        evidence: kytEvidence([one], [], deps.transfers),
      };
    }
    const [sender, receiver] = [
      parseSubject(request.chain, parties.from, 'from'),
      parseSubject(request.chain, parties.to, 'to'),
    ];
    if (sender.canonical === receiver.canonical)
      throw new AssayError(
        'INVALID_REQUEST',
        'to: must not be the same address as from; give address to check a single one.',
        { field: 'to' },
      );
    const from = assessed(request.chain, parties.from, 'from', BOTH);
    const to = assessed(request.chain, parties.to, 'to', BOTH);
    const between = riskyBetween(from, to, workspace);
    const judgement = judgeTransfer([from, to], between, policy);
    const rest = {
      from: partyOf(from),
      to: partyOf(to),
      link: {
        riskScore: judgement.linkPoints ?? 0,
        sent: flowBetween(from, to, deps),
        returned: flowBetween(to, from, deps),
      },
    };
    return {
      answer: answer([from, to], judgement, facts, rest),
      evidence: kytEvidence([from, to], between, deps.transfers),
    };
  };
}
