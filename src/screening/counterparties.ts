/** Whom an address traded with, and who they are: its direct counterparties, from the graph and the label snapshot. */
import { isoTime } from '../base/clock.ts';
import { LIMITS } from '../base/limits.ts';
import type { ChainId } from '../chains/registry.ts';
import type { NodeId, TransferGraph } from '../graph/graph.ts';
import type { KernelWorkspace } from '../graph/kernels/workspace.ts';
import type { AddressTotals, Direction, Flow, TransferReader } from '../graph/transfers.ts';
import type { RiskPolicy } from '../risk/policy.ts';
import { type ExposureEvidence, effectiveUsd, isUnsolicited } from '../risk/score.ts';
import type { FlaggedTransaction, ScreeningAnswer, TopCounterparty } from './answers.ts';
import { type Attribution, type Attributions, UNATTRIBUTED } from './attribution.ts';
import { shownAsset, shownNode } from './subject.ts';

/** A counterparty with what its labels make of it. */
export interface Party {
  readonly node: NodeId;
  readonly direction: Direction;
  readonly attribution: Attribution;
  readonly transfers: number;
  readonly unpricedTransfers: number;
  /** USD of the priced transfers; null where none is priced. */
  readonly valueUsd: number | null;
  /** Effective USD: unpriced transfers count as the policy says. */
  readonly value: number;
  /** Of all value that moved in its direction, 0 to 100. */
  readonly percentage: number;
  readonly firstSeenMs: number;
  readonly lastSeenMs: number;
}

/** One direction of an address's trade. */
export interface Side {
  readonly direction: Direction;
  readonly flow: Flow;
  /** Effective USD of the whole direction. */
  readonly value: number;
  /** Those that labels know, greatest known USD first. */
  readonly attributed: readonly Party[];
  /** The greatest of all by effective value, at most `screeningListMax`. */
  readonly top: readonly Party[];
  /** Counterparties that were read, and those that there are. */
  readonly read: number;
  readonly counterparties: number;
}

export const twoDecimals = (value: number): number => Math.round(value * 100) / 100;
export const percent = (part: number, whole: number): number => (whole > 0 ? (100 * part) / whole : 0);
/** Sum of two figures of which either may be unknown; unknown only where both are. */
export const addUsd = (a: number | null, b: number | null): number | null =>
  a === null && b === null ? null : twoDecimals((a ?? 0) + (b ?? 0));

const NOTHING: Flow = { transfers: 0, unpricedTransfers: 0, valueUsd: null, byAsset: [] };
export const flowIn = (totals: AddressTotals | null, direction: Direction): Flow =>
  totals?.[direction] ?? NOTHING;

const byWeight = (a: Party, b: Party): number =>
  b.value - a.value || b.transfers - a.transfers || a.node - b.node;

/** The greatest `limit` of `values[0, count)`, as positions, greatest first. */
function greatest(values: Float64Array, count: number, limit: number): number[] {
  const order = (a: number, b: number): number => (values[b] as number) - (values[a] as number) || a - b;
  let best: number[] = [];
  let least = Number.NEGATIVE_INFINITY;
  for (let at = 0; at < count; at++) {
    if ((values[at] as number) <= least) continue;
    best.push(at);
    if (best.length < limit * 2) continue;
    best = best.sort(order).slice(0, limit);
    least = values[best[limit - 1] as number] as number;
  }
  return best.sort(order).slice(0, limit);
}

export interface SideOptions {
  readonly graph: TransferGraph;
  readonly node: NodeId;
  readonly direction: Direction;
  readonly flow: Flow;
  readonly attributions: Attributions;
}

/** Returns what reads one direction: at most `counterpartiesMax` parties, greatest known USD first. */
export function createSideReader(
  policy: RiskPolicy,
  workspace: KernelWorkspace,
): (options: SideOptions) => Side {
  const values = new Float64Array(LIMITS.counterpartiesMax);
  return ({ graph, node, direction, flow, attributions }) => {
    const columns = workspace.neighbours(direction, LIMITS.counterpartiesMax);
    const read = graph.neighbours(node, direction, LIMITS.counterpartiesMax, columns);
    const { ids, valueUsd, transfers, unpriced, firstSeenMs, lastSeenMs } = columns;
    graph.prefetch?.({ nodes: ids.subarray(0, read) });
    const whole = effectiveUsd(flow, policy);
    const partyAt = (at: number, attribution: Attribution): Party => {
      const usd = valueUsd[at] as number;
      const unpricedTransfers = unpriced[at] as number;
      const value = values[at] as number;
      return {
        node: ids[at] as number,
        direction,
        attribution,
        transfers: transfers[at] as number,
        unpricedTransfers,
        valueUsd: usd === 0 && unpricedTransfers > 0 ? null : twoDecimals(usd),
        value,
        percentage: percent(value, whole),
        firstSeenMs: firstSeenMs[at] as number,
        lastSeenMs: lastSeenMs[at] as number,
      };
    };
    const attributed: Party[] = [];
    for (let at = 0; at < read; at++) {
      values[at] = (valueUsd[at] as number) + (unpriced[at] as number) * policy.unpricedTransferUsd;
      const attribution = attributions.of(ids[at] as number);
      if (attribution !== UNATTRIBUTED) attributed.push(partyAt(at, attribution));
    }
    const top = greatest(values, read, LIMITS.screeningListMax);
    return {
      direction,
      flow,
      value: whole,
      attributed,
      top: top.map((at) => partyAt(at, attributions.of(ids[at] as number))),
      read,
      counterparties: graph.degree(node, direction),
    };
  };
}

/** A side of which nothing is known. */
export const emptySide = (direction: Direction, flow: Flow): Side => ({
  direction,
  flow,
  value: 0,
  attributed: [],
  top: [],
  read: 0,
  counterparties: 0,
});

/**
 * The labelled counterparties as evidence, those of one attribution together; unsolicited money apart. `sentTo` says whether the
 * address has sent anything to a node.
 */
export function directEvidence(
  sides: readonly Side[],
  policy: RiskPolicy,
  sentTo: (node: NodeId) => boolean,
): ExposureEvidence[] {
  const paid = new Set(
    sides.flatMap((side) =>
      side.direction === 'out' ? side.attributed.map((party) => party.attribution.key) : [],
    ),
  );
  const groups = new Map<string, ExposureEvidence>();
  for (const party of sides.flatMap((side) => side.attributed)) {
    const { attribution, direction, valueUsd, unpricedTransfers, transfers, node } = party;
    const { key, category, confidence, entity, isRisky } = attribution;
    const dealings = { direction, hops: 1, valueUsd, unpricedTransfers, transfers };
    const unsolicited =
      isRisky && isUnsolicited({ ...dealings, sentBack: false }, policy) && !paid.has(key) && !sentTo(node);
    const name = `${direction} ${unsolicited} ${confidence} ${key}`;
    const known = groups.get(name);
    groups.set(name, {
      category,
      direction,
      hops: 1,
      valueUsd: addUsd(known?.valueUsd ?? null, valueUsd),
      unpricedTransfers: (known?.unpricedTransfers ?? 0) + unpricedTransfers,
      confidence,
      entity: entity?.name ?? null,
      unsolicited,
    });
  }
  return [...groups.values()];
}

export const attributedOf = (sides: readonly Side[]): readonly Party[] =>
  sides.flatMap((side) => side.attributed);

export function topCounterparties(sides: readonly Side[], graph: TransferGraph): TopCounterparty[] {
  return sides
    .flatMap((side) => side.top)
    .sort(byWeight)
    .slice(0, LIMITS.screeningListMax)
    .map((party) => ({
      address: shownNode(graph, party.node),
      entity: party.attribution.entity,
      category: party.attribution.category,
      threatLevel: party.attribution.entity?.threatLevel ?? null,
      sanctioned: party.attribution.sanctioned,
      direction: party.direction,
      txCount: party.transfers,
      valueUsd: party.valueUsd,
      percentage: twoDecimals(party.percentage),
      firstSeen: isoTime(party.firstSeenMs),
      lastSeen: isoTime(party.lastSeenMs),
    }));
}

interface FlaggedSubject {
  readonly chain: ChainId;
  readonly key: Uint8Array;
  readonly graph: TransferGraph;
}

/** The newest transfers of value with risky parties, newest first. */
export function flaggedTransactions(
  sides: readonly Side[],
  { chain, key, graph }: FlaggedSubject,
  transfers: Pick<TransferReader, 'newest'>,
): FlaggedTransaction[] {
  const risky = attributedOf(sides)
    .filter((party) => party.attribution.isRisky)
    .sort(byWeight)
    .slice(0, LIMITS.screeningListMax);
  const flagged = risky.flatMap((party): FlaggedTransaction[] => {
    const { direction, node, attribution } = party;
    const { entity, category, sanctioned } = attribution;
    const other = graph.keyOf(node);
    const [from, to] = direction === 'in' ? [other, key] : [key, other];
    const threat = entity?.threatLevel ?? 'LOW';
    const who = entity === null ? '' : ` (${entity.name})`;
    const counterparty = shownNode(graph, node);
    return transfers
      .newest(chain, from, to, LIMITS.screeningListMax)
      .filter((transfer) => transfer.amount > 0n)
      .map((transfer) => ({
        hash: transfer.txHash,
        timestamp: isoTime(transfer.timestampMs),
        direction,
        counterparty,
        entity,
        category,
        severity: sanctioned ? 'CRITICAL' : threat === 'SAFE' ? 'LOW' : threat,
        asset: shownAsset(chain, transfer.asset),
        amount: transfer.amount.toString(),
        valueUsd: transfer.valueUsd,
        reason: `${direction === 'in' ? 'Received from' : 'Sent to'} ${category}${who}.`,
      }));
  });
  return flagged
    .sort((a, b) =>
      a.timestamp === b.timestamp ? (a.hash < b.hash ? -1 : 1) : a.timestamp < b.timestamp ? 1 : -1,
    )
    .slice(0, LIMITS.screeningListMax);
}

/** Labelled parties grouped by a text; those without one are left out. */
function groupParties(
  parties: readonly Party[],
  nameOf: (party: Party) => string | null,
): Map<string, Party[]> {
  const groups = new Map<string, Party[]>();
  for (const party of parties) {
    const name = nameOf(party);
    if (name === null) continue;
    const group = groups.get(name);
    if (group) group.push(party);
    else groups.set(name, [party]);
  }
  return groups;
}

export const usdOf = (parties: readonly Party[], direction?: Direction): number | null =>
  parties
    .filter((party) => direction === undefined || party.direction === direction)
    .reduce<number | null>((sum, { valueUsd }) => addUsd(sum, valueUsd), null);

const valueSum = (parties: readonly { readonly value: number }[]): number =>
  parties.reduce((sum, { value }) => sum + value, 0);

const countOf = (parties: readonly Party[]): number =>
  parties.reduce((sum, { transfers }) => sum + transfers, 0);

/** Countries of the labelled counterparties, greatest value first; percentages are of all value that moved. */
export function fundFlowJurisdictions(sides: readonly Side[]): ScreeningAnswer['fundFlowJurisdictions'] {
  const total = valueSum(sides);
  const nameOf = ({ attribution }: Party): string | null => attribution.jurisdiction;
  return [...groupParties(attributedOf(sides), nameOf)]
    .sort(([nameA, a], [nameB, b]) => valueSum(b) - valueSum(a) || (nameA < nameB ? -1 : 1))
    .map(([jurisdiction, parties]) => ({
      jurisdiction,
      inUsd: usdOf(parties, 'in'),
      outUsd: usdOf(parties, 'out'),
      percentage: twoDecimals(percent(valueSum(parties), total)),
    }));
}

/** Services among the direct counterparties, most recent first. */
export function historicalServices(sides: readonly Side[]): ScreeningAnswer['historicalServices'] {
  const serviceOf = ({ attribution }: Party): string | null =>
    attribution.isService ? attribution.key : null;
  return [...groupParties(attributedOf(sides), serviceOf).values()]
    .flatMap((parties) => {
      const entity = parties[0]?.attribution.entity;
      if (!entity) return [];
      const firstSeenMs = Math.min(...parties.map((party) => party.firstSeenMs));
      const lastSeenMs = Math.max(...parties.map((party) => party.lastSeenMs));
      return [
        {
          name: entity.name,
          category: entity.category,
          firstSeen: isoTime(firstSeenMs),
          lastSeen: isoTime(lastSeenMs),
          txCount: countOf(parties),
          valueUsd: usdOf(parties),
        },
      ];
    })
    .sort((a, b) =>
      a.lastSeen === b.lastSeen ? (a.name < b.name ? -1 : 1) : a.lastSeen < b.lastSeen ? 1 : -1,
    )
    .slice(0, LIMITS.screeningListMax);
}

export function bridgeActivity(sides: readonly Side[]): ScreeningAnswer['bridgeActivity'] {
  const bridges = attributedOf(sides).filter(({ attribution }) => attribution.category === 'BRIDGE');
  return {
    bridges: [...new Set(bridges.flatMap(({ attribution }) => attribution.entity?.name ?? []))].sort(),
    inUsd: usdOf(bridges, 'in'),
    outUsd: usdOf(bridges, 'out'),
    txCount: countOf(bridges),
  };
}
