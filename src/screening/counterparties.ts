/** The direct counterparties of an address with their attributions, from the graph and the label snapshot. */

import { isoTime } from '../base/clock.ts';
import type { AssetFacts } from '../chains/assets.ts';
import { nativeUnits } from '../chains/native-units.ts';
import type { ChainId } from '../chains/registry.ts';
import { dayOf, type LaterPart, partSince } from '../graph/edge-days.ts';
import { type EdgeDetail, edgeBetween, type NodeId, type TransferGraph } from '../graph/graph.ts';
import { type EdgeSince, rowReaderOf, type Weighing } from '../graph/kernels/rows.ts';
import type { KernelWorkspace } from '../graph/kernels/workspace.ts';
import { GRAPH_LIMITS } from '../graph/limits.ts';
import type { AddressTotals, Direction, Flow, RecentTransfer, TransferReader } from '../graph/transfers.ts';
import type { RiskPolicy } from '../risk/policy.ts';
import { type ExposureEvidence, isRisky, isUnsolicited } from '../risk/score.ts';
import type { FlaggedTransaction, ScreeningAnswer, TopCounterparty } from './answers.ts';
import {
  type Attribution,
  type Attributions,
  absorbs,
  attributionAt,
  type DerivedReading,
  isBridge,
  type SuspectedOwner,
  UNATTRIBUTED,
} from './attribution.ts';
import { dealingSums, isDustDealing, NO_DEALINGS } from './dust.ts';
import { SCREENING_LIMITS } from './limits.ts';
import { priceOf } from './price-shown.ts';
import { shownAsset, shownNode } from './subject.ts';
import {
  assetsNotFollowed,
  type DirectionBasis,
  directionBasis,
  NOTHING_MOVED,
  type UnpricedAsset,
} from './weighing.ts';

/** A counterparty with its attribution. */
export interface Party {
  readonly node: NodeId;
  readonly direction: Direction;
  readonly attribution: Attribution;
  readonly transfers: number;
  readonly unpricedTransfers: number;
  /** USD of the priced transfers that are evidence; null if none is priced. */
  readonly valueUsd: number | null;
  /** Weight in the basis of the direction: USD by amount, or smallest units of its only asset. */
  readonly value: number;
  readonly firstSeenMs: number;
  readonly lastSeenMs: number;
  /** True if the whole edge is dust. This party may be only a part of the edge. */
  readonly isDust: boolean;
  /** Set if the party is the part of an edge that moved before or since its designation. */
  readonly part: { readonly fromMs: number; readonly isBefore: boolean } | null;
}

/** A whole counterparty, as a list of the greatest shows it. */
type TopParty = Omit<Party, 'isDust' | 'part'> & {
  /** Percentage of all that moved in its direction, 0 to 100. */
  readonly percentage: number;
};

/** Dealings of a labelled counterparty in an asset without a price. */
export interface UnpricedDealing {
  readonly party: Party;
  readonly asset: UnpricedAsset;
  /** Share of all that moved of the asset in the direction, 0 to 1. */
  readonly share: number;
  readonly transfers: number;
}

/** One direction of an address's trade, as far as it is evidence. */
export interface Side {
  readonly direction: Direction;
  readonly flow: Flow;
  /** The measure of values and shares. */
  readonly basis: DirectionBasis;
  /** Counterparties with a label, greatest value first. */
  readonly attributed: readonly Party[];
  /** Direct dealings in assets without a price beside others; empty if the direction is weighed by its only asset. */
  readonly unpriced: readonly UnpricedDealing[];
  /** Designated parties to which uncertain labels attribute counterparties, with more than dust since their designation. */
  readonly suspected: readonly SuspectedOwner[];
  /** The counterparties with the greatest value, at most `screeningListMax`. */
  readonly top: readonly TopParty[];
  /** Number of counterparties that were read. */
  readonly read: number;
  /** Number of all counterparties, according to the graph. */
  readonly counterparties: number;
}

/** Rounds to two decimals. */
export const twoDecimals = (value: number): number => Math.round(value * 100) / 100;
/** Returns `part` as a percentage of `whole`; 0 if the whole is 0. */
export const percent = (part: number, whole: number): number => (whole > 0 ? (100 * part) / whole : 0);
/** Returns the sum of two figures; null only if both are null. */
export const addUsd = (a: number | null, b: number | null): number | null =>
  a === null && b === null ? null : twoDecimals((a ?? 0) + (b ?? 0));

/** A share below this is a rounding error of sums. */
const REST_MIN = 1e-9;

const NOTHING: Flow = { transfers: 0, unpricedTransfers: 0, valueUsd: null, byAsset: [] };
/** Returns the flow of one direction; an empty flow if the address has no transfers. */
export const flowIn = (totals: AddressTotals | null, direction: Direction): Flow =>
  totals?.[direction] ?? NOTHING;

type Weighed = Pick<Party, 'value' | 'transfers' | 'node'>;
const byWeight = (a: Weighed, b: Weighed): number =>
  b.value - a.value || b.transfers - a.transfers || a.node - b.node;

export interface SideOptions {
  readonly graph: TransferGraph;
  readonly node: NodeId;
  readonly direction: Direction;
  readonly flow: Flow;
  readonly attributions: Attributions;
  readonly weighing: Weighing;
}

/**
 * Returns the assets with direct dealings that are judged one by one: those without a price, unless the whole direction is
 * weighed by its only asset.
 */
export const assetsApart = ({ basis, unpriced }: DirectionBasis): readonly UnpricedAsset[] =>
  basis === 'ASSET' ? [] : unpriced;

/** Returns the part of an asset's sums that belongs to a party. */
function partOf(edge: EdgeDetail, { part }: Party): LaterPart {
  if (part === null) return edge;
  const since = partSince(edge, dayOf(part.fromMs));
  if (!part.isBefore) return since;
  return { amount: edge.amount - since.amount, transfers: edge.transfers - since.transfers };
}

/** Returns the dealings of labelled parties in assets without a price. */
function unpricedDealings(
  { graph, node, direction }: SideOptions,
  assets: readonly UnpricedAsset[],
  parties: readonly Party[],
): UnpricedDealing[] {
  if (assets.length === 0) return [];
  const byName = new Map(assets.map((asset) => [asset.asset, asset]));
  return parties.flatMap((party) => {
    return edgeBetween(graph, node, direction, party.node).flatMap((edge): UnpricedDealing[] => {
      const asset = byName.get(edge.asset);
      if (asset === undefined) return [];
      const { amount, transfers } = partOf(edge, party);
      return amount === 0n ? [] : [{ party, asset, share: Number(amount) / asset.amount, transfers }];
    });
  });
}

/** Returns true if more than dust moved over any of the edges since a time, in milliseconds since the epoch. */
export function isDealtSince(
  edges: readonly EdgeDetail[],
  fromMs: number,
  { isEvidence, dustUsd, dustShare, dustAmount }: Weighing,
): boolean {
  return edges.some((edge) => {
    const { amount } = partSince(edge, dayOf(fromMs));
    if (amount === 0n || !isEvidence(edge.asset)) return false;
    const part = Number(amount) / Number(edge.amount);
    if (edge.valueUsd !== null) return edge.valueUsd * part >= dustUsd;
    return part >= dustShare && Number(amount) >= (dustAmount?.(edge.asset) ?? 0);
  });
}

/** Splits the dealings with a party that was designated between the first and the last of them. */
function splitParty(party: Party, since: EdgeSince): readonly Party[] {
  const { attribution, value, valueUsd, transfers, unpricedTransfers } = party;
  const fromMs = attribution.until?.fromMs as number;
  const sharedOut = (part: number, count: number, isBefore: boolean): Party => ({
    ...party,
    attribution: isBefore ? (attribution.until?.before ?? UNATTRIBUTED) : attribution,
    value: part,
    valueUsd: valueUsd === null ? null : twoDecimals(value > 0 ? (valueUsd * part) / value : 0),
    transfers: count,
    unpricedTransfers: Math.round((unpricedTransfers * count) / transfers),
    firstSeenMs: isBefore ? party.firstSeenMs : since.firstSinceMs,
    lastSeenMs: isBefore ? (since.lastBeforeMs ?? party.firstSeenMs) : party.lastSeenMs,
    part: { fromMs, isBefore },
  });
  const after = Math.min(value, since.weight);
  if (since.transfers >= transfers) return [party];
  return [
    sharedOut(value - after, transfers - since.transfers, true),
    sharedOut(after, since.transfers, false),
  ];
}

/** Returns a function that reads one direction: at most `counterpartiesMax` parties, greatest value first. */
export function createSideReader(workspace: KernelWorkspace): (options: SideOptions) => Side {
  return (options) => {
    const { graph, node, direction, flow, attributions, weighing } = options;
    const columns = workspace.neighbours(direction, GRAPH_LIMITS.counterpartiesMax);
    const basis = directionBasis(graph, node, direction, weighing);
    const rows = rowReaderOf(graph, weighing);
    const all = { ...basis, dust: 0 };
    const { count: read } = rows.read(node, direction, all, GRAPH_LIMITS.counterpartiesMax, columns);
    const { ids, weight, valueUsd, transfers, unpriced, firstSeenMs, lastSeenMs } = columns;
    graph.prefetch?.({ nodes: ids.subarray(0, read) });
    const usdAt = (at: number): number | null =>
      valueUsd[at] === 0 && (unpriced[at] as number) > 0 ? null : twoDecimals(valueUsd[at] as number);
    const attributionOfRow = (at: number): Attribution =>
      attributionAt(attributions.of(ids[at] as number), lastSeenMs[at] as number);
    const partyAt = (at: number): Party => {
      const value = weight[at] as number;
      return {
        node: ids[at] as number,
        direction,
        attribution: attributionOfRow(at),
        transfers: transfers[at] as number,
        unpricedTransfers: unpriced[at] as number,
        valueUsd: usdAt(at),
        value,
        firstSeenMs: firstSeenMs[at] as number,
        lastSeenMs: lastSeenMs[at] as number,
        isDust: value < basis.dust,
        part: null,
      };
    };
    /** Returns the parts of an edge before and since a designation; the whole edge if there is only one part. */
    const partsAt = (at: number): readonly Party[] => {
      const party = partyAt(at);
      const until = party.attribution.until;
      if (until === undefined || party.firstSeenMs >= until.fromMs) return [party];
      return splitParty(party, rows.since(node, party.node, direction, basis, until.fromMs));
    };
    const attributed: Party[] = [];
    const suspected: SuspectedOwner[] = [];
    for (let at = 0; at < read; at++) {
      const found = attributions.of(ids[at] as number);
      if (found === UNATTRIBUTED) continue;
      if (found.suspected !== undefined) {
        const fromMs = Date.parse(found.suspected.listedAt ?? '1970-01-01');
        const edges = edgeBetween(graph, node, direction, ids[at] as number);
        if (isDealtSince(edges, fromMs, weighing)) suspected.push(found.suspected);
      }
      for (const party of partsAt(at)) if (party.attribution !== UNATTRIBUTED) attributed.push(party);
    }
    // In the order of the row, which is by value.
    const top: TopParty[] = [];
    for (let at = 0; at < Math.min(read, SCREENING_LIMITS.screeningListMax); at++)
      top.push({
        node: ids[at] as number,
        direction,
        attribution: attributionOfRow(at),
        transfers: transfers[at] as number,
        unpricedTransfers: unpriced[at] as number,
        valueUsd: usdAt(at),
        value: weight[at] as number,
        firstSeenMs: firstSeenMs[at] as number,
        lastSeenMs: lastSeenMs[at] as number,
        percentage: percent(weight[at] as number, basis.total),
      });
    return {
      direction,
      flow,
      basis,
      attributed,
      unpriced: unpricedDealings(options, assetsApart(basis), attributed),
      suspected,
      top,
      read,
      counterparties: graph.degree(node, direction),
    };
  };
}

/** Returns a side without known counterparties. */
export const emptySide = (direction: Direction, flow: Flow): Side => ({
  direction,
  flow,
  basis: NOTHING_MOVED,
  attributed: [],
  unpriced: [],
  suspected: [],
  top: [],
  read: 0,
  counterparties: 0,
});

/**
 * Returns the factor that makes values of sides comparable. USD is comparable only with USD, and amounts only within one asset.
 * If neither applies, all sides have equal weight.
 */
export function scaleOf(bases: readonly DirectionBasis[]): (basis: DirectionBasis) => number {
  const moved = bases.filter(({ total }) => total > 0);
  if (moved.some(({ basis }) => basis === 'USD')) return ({ basis }) => (basis === 'USD' ? 1 : 0);
  if (new Set(moved.map(({ asset }) => asset)).size <= 1) return () => 1;
  return ({ total }) => (total > 0 ? 1 / total : 0);
}

/**
 * Returns true for dealings within the entity that owns the address. They are neutral, because the address's own label says the
 * same. Derived and weak labels do not count as own, and a less certain own label does not hide a more certain one.
 */
export const isOwnDealing = (attribution: Attribution, own: Attribution): boolean =>
  own !== UNATTRIBUTED &&
  attribution.key === own.key &&
  own.isFirm &&
  own.confidence >= attribution.confidence;

export interface EvidenceContext {
  readonly policy: RiskPolicy;
  /** Attribution of the address itself. */
  readonly own: Attribution;
  /** Returns true if the address has sent more than dust to a node. */
  readonly sentTo: (node: NodeId) => boolean;
  readonly derived: DerivedReading;
}

/** How a direct dealing is measured: in USD, or by share of an asset without a price. */
export type Measure = Pick<ExposureEvidence, 'asset' | 'valueUsd' | 'share' | 'flowPart'>;

/** Returns the measure of a share of a direction. Priced value that rounds to nothing counts as 0 USD. */
export function measureOf({ basis, total, unpriced }: DirectionBasis, share: number): Measure {
  const [asset] = unpriced;
  if (basis === 'ASSET' && asset !== undefined)
    return { asset: asset.asset, valueUsd: null, share, flowPart: asset.flowPart };
  return { asset: null, valueUsd: basis === 'USD' ? total * share : 0, share };
}

/** Returns the keys of the labelled parties to which the address sent more than dust. */
function paidParties(sides: readonly Side[], { dustShare }: RiskPolicy): Set<string> {
  const paid = new Set<string>();
  for (const { direction, basis, attributed, unpriced } of sides) {
    if (direction !== 'out') continue;
    const sums = new Map<string, number>();
    for (const { attribution, value } of attributed)
      sums.set(attribution.key, (sums.get(attribution.key) ?? 0) + value);
    for (const [key, value] of sums) if (value > 0 && value >= basis.dust) paid.add(key);
    for (const { party, asset, share } of unpriced)
      if (share * asset.flowPart >= dustShare) paid.add(party.attribution.key);
  }
  return paid;
}

/** Returns a function that returns true if an address sent more than dust to another. */
export function createSentTo(
  graph: TransferGraph,
  node: NodeId,
  weighing: Weighing,
): (other: NodeId) => boolean {
  let basis: DirectionBasis | null = null;
  let rates: ReadonlyMap<string, number> = new Map();
  return (other) => {
    if (basis === null) {
      basis = directionBasis(graph, node, 'out', weighing);
      rates = new Map([...basis.rates].map(([asset, rate]) => [graph.assetName(asset), rate]));
    }
    let weight = 0;
    const apart = new Map(assetsApart(basis).map((asset) => [asset.asset, asset]));
    for (const { asset, amount } of graph.edge(node, other)) {
      const moved = Number(amount);
      weight += (rates.get(asset) ?? 0) * moved;
      const unpriced = apart.get(asset);
      if (unpriced !== undefined && (moved / unpriced.amount) * unpriced.flowPart >= weighing.dustShare)
        return true;
    }
    return weight > 0 && weight >= basis.dust;
  };
}

/**
 * Decides, from all evidence of an address, if assets without a price that it received are unsolicited (`isUnsolicited`). They
 * are, until the address has spent more of them than it has from parties without risk. No one else can spend in its name.
 *
 * @param exposures - all evidence of the address
 * @param basis - measure of the received value
 */
export function withSpent(
  exposures: readonly ExposureEvidence[],
  { unpriced }: Pick<DirectionBasis, 'unpriced'>,
  policy: RiskPolicy,
): ExposureEvidence[] {
  const isAtRisk = (item: ExposureEvidence): boolean =>
    item.direction === 'in' && item.asset !== null && item.isOwn !== true && isRisky(item.category, policy);
  const risks = new Map<string | null, number>();
  for (const item of exposures)
    if (isAtRisk(item)) risks.set(item.asset, (risks.get(item.asset) ?? 0) + item.share);
  if (risks.size === 0) return [...exposures];
  const spent = new Set<string | null>();
  for (const { asset, flowPart, spentPart } of unpriced)
    if (spentPart > 1 - (risks.get(asset) ?? 0) + policy.dustShare / flowPart) spent.add(asset);
  return exposures.map((item) => {
    if (!isAtRisk(item)) return item;
    const sentBack = item.hops === 1 && item.unsolicited !== true;
    return {
      ...item,
      unsolicited: isUnsolicited({ ...item, sentBack, isSpent: spent.has(item.asset) }, policy),
    };
  });
}

/** Returns the labelled counterparties as evidence, one item for each attribution; unsolicited money is a separate item. */
export function directEvidence(
  sides: readonly Side[],
  { policy, own, sentTo, derived }: EvidenceContext,
): ExposureEvidence[] {
  const paid = paidParties(sides, policy);
  const groups = new Map<string, ExposureEvidence>();
  const add = ({ attribution, direction, node }: Party, measure: Measure): void => {
    const { key, category, confidence, entity, isRisky } = attribution;
    const { asset } = measure;
    const sentBack = paid.has(key) || (isRisky && sentTo(node));
    const isOwn = isOwnDealing(attribution, own);
    // `withSpent` decides later, from all evidence together, if an asset without a price was spent.
    const unsolicited =
      isRisky && isUnsolicited({ direction, hops: 1, ...measure, sentBack, isSpent: false }, policy);
    const name = `${direction} ${unsolicited} ${confidence} ${attribution.class} ${asset} ${key}`;
    const known = groups.get(name);
    groups.set(name, {
      category,
      direction,
      hops: 1,
      asset,
      valueUsd: measure.valueUsd === null ? null : (known?.valueUsd ?? 0) + measure.valueUsd,
      share: (known?.share ?? 0) + measure.share,
      flowPart: measure.flowPart,
      confidence,
      class: attribution.class,
      entity: entity?.name ?? null,
      unsolicited,
      isOwn,
    });
  };
  const rests: ExposureEvidence[] = [];
  for (const side of sides) {
    const { basis, attributed } = side;
    for (const party of attributed) {
      // Money of the other parties is followed further (exposures.ts), so that no value is part of two items.
      if (party.value > 0 && absorbs(party.attribution, derived))
        add(party, measureOf(basis, party.value / basis.total));
    }
    const unpriced = side.unpriced.filter(({ party }) => absorbs(party.attribution, derived));
    for (const { party, asset, share } of unpriced)
      add(party, { asset: asset.asset, valueUsd: null, share, flowPart: asset.flowPart });
    rests.push(...unlabelledRest(side, unpriced));
  }
  return [...groups.values(), ...rests];
}

/** Returns the part of each asset without a price that is not followed and moved without a labelled counterparty. */
function unlabelledRest(
  { direction, basis }: Side,
  unpriced: readonly UnpricedDealing[],
): ExposureEvidence[] {
  return assetsNotFollowed(basis).flatMap(({ asset, flowPart }): ExposureEvidence[] => {
    const labelled = unpriced.filter((dealing) => dealing.asset.asset === asset);
    const share = 1 - labelled.reduce((sum, dealing) => sum + dealing.share, 0);
    if (share <= REST_MIN) return [];
    const unknown = { category: 'UNKNOWN', confidence: 1, class: 'published', entity: null } as const;
    return [{ ...unknown, direction, hops: 1, asset, valueUsd: null, share, flowPart }];
  });
}

/** Returns the labelled counterparties of all sides. */
export const attributedOf = (sides: readonly Side[]): readonly Party[] =>
  sides.flatMap((side) => side.attributed);

/** Returns the parties of all sides, with comparable values. */
function comparable<P extends Pick<Party, 'value'>>(
  sides: readonly Side[],
  partiesOf: (side: Side) => readonly P[],
): P[] {
  const scale = scaleOf(sides.map(({ basis }) => basis));
  const lists = sides.map((side) => {
    const factor = scale(side.basis);
    const parties = partiesOf(side);
    return factor === 1 ? parties : parties.map((party) => ({ ...party, value: party.value * factor }));
  });
  // Not `flatMap`, which adds item by item.
  return ([] as P[]).concat(...lists);
}

/** Returns the counterparties with the greatest value of all sides, at most `screeningListMax`. */
export function topCounterparties(sides: readonly Side[], graph: TransferGraph): TopCounterparty[] {
  return comparable(sides, (side) => side.top)
    .sort(byWeight)
    .slice(0, SCREENING_LIMITS.screeningListMax)
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
  readonly assets: AssetFacts;
  readonly graph: TransferGraph;
  readonly weighing: Weighing;
}

/** Returns true if the party was risky at the time of a transfer. Before its designation it may not have been. */
const isRiskyAt = (attribution: Attribution, timestampMs: number): boolean =>
  attributionAt(attribution, timestampMs).isRisky;

/**
 * Returns the newest transfers of value with risky parties, newest first. Transfers of unknown tokens are no evidence: see
 * spoofable.ts.
 */
export function flaggedTransactions(
  sides: readonly Side[],
  { chain, key, assets, graph, weighing }: FlaggedSubject,
  transfers: Pick<TransferReader, 'newest'>,
): FlaggedTransaction[] {
  const risky = comparable(sides, (side) => side.attributed)
    .filter((party) => party.attribution.isRisky)
    .sort(byWeight)
    .slice(0, SCREENING_LIMITS.screeningListMax);
  const flagged = risky.flatMap((party): FlaggedTransaction[] => {
    const { direction, node, attribution } = party;
    const { entity, category, sanctioned } = attribution;
    const other = graph.keyOf(node);
    const [from, to] = direction === 'in' ? [other, key] : [key, other];
    const threat = entity?.threatLevel ?? 'LOW';
    const who = entity === null ? '' : ` (${entity.name})`;
    const counterparty = shownNode(graph, node);
    const newest = transfers
      .newest(chain, from, to, SCREENING_LIMITS.screeningListMax)
      .filter(
        (transfer) =>
          transfer.amount > 0n &&
          weighing.isEvidence(transfer.asset) &&
          isRiskyAt(attribution, transfer.timestampMs),
      );
    const subject = graph.idOf(key);
    const sinceMs = attribution.until?.fromMs ?? 0;
    const sums =
      subject === null
        ? NO_DEALINGS
        : dealingSums(graph, { node: subject, other: node, direction, sinceMs }, weighing);
    const isDust = (transfer: RecentTransfer): boolean => isDustDealing(weighing, transfer, sums);
    const dustText = direction === 'in' ? ': dust, which anybody can send to anybody' : ': dust';
    return newest.map((transfer) => ({
      hash: transfer.txHash,
      timestamp: isoTime(transfer.timestampMs),
      direction,
      counterparty,
      entity,
      category,
      severity: isDust(transfer) || threat === 'SAFE' ? 'LOW' : sanctioned ? 'CRITICAL' : threat,
      asset: shownAsset(chain, transfer.asset),
      amount: nativeUnits(transfer.amount, transfer.decimals),
      decimals: transfer.decimals,
      valueUsd: transfer.valueUsd === null ? null : twoDecimals(transfer.valueUsd),
      ...priceOf(
        { ...transfer, unpricedTransfers: transfer.valueUsd === null ? 1 : 0 },
        { chain, assets, atMs: transfer.timestampMs },
      ),
      reason: `${direction === 'in' ? 'Received from' : 'Sent to'} ${category}${who}${isDust(transfer) ? dustText : ''}.`,
    }));
  });
  return flagged
    .sort((a, b) =>
      a.timestamp === b.timestamp ? (a.hash < b.hash ? -1 : 1) : a.timestamp < b.timestamp ? 1 : -1,
    )
    .slice(0, SCREENING_LIMITS.screeningListMax);
}

/** Groups labelled parties by a text. Parties without one are left out. */
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

/** Returns the USD sum of parties, in one direction or in both; null if none has a USD value. */
export const usdOf = (parties: readonly Party[], direction?: Direction): number | null =>
  parties
    .filter((party) => direction === undefined || party.direction === direction)
    .reduce<number | null>((sum, { valueUsd }) => addUsd(sum, valueUsd), null);

const valueSum = (parties: readonly { readonly value: number }[]): number =>
  parties.reduce((sum, { value }) => sum + value, 0);

const countOf = (parties: readonly Party[]): number =>
  parties.reduce((sum, { transfers }) => sum + transfers, 0);

/** Returns the countries of the labelled counterparties, greatest value first. Percentages are of all value that moved. */
export function fundFlowJurisdictions(sides: readonly Side[]): ScreeningAnswer['fundFlowJurisdictions'] {
  const scale = scaleOf(sides.map(({ basis }) => basis));
  const total = sides.reduce((sum, { basis }) => sum + basis.total * scale(basis), 0);
  const nameOf = ({ attribution }: Party): string | null => attribution.jurisdiction;
  return [
    ...groupParties(
      comparable(sides, (side) => side.attributed),
      nameOf,
    ),
  ]
    .sort(([nameA, a], [nameB, b]) => valueSum(b) - valueSum(a) || (nameA < nameB ? -1 : 1))
    .map(([jurisdiction, parties]) => ({
      jurisdiction,
      inUsd: usdOf(parties, 'in'),
      outUsd: usdOf(parties, 'out'),
      percentage: twoDecimals(percent(valueSum(parties), total)),
    }));
}

/** Returns the services among the direct counterparties, most recent first. */
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
    .slice(0, SCREENING_LIMITS.screeningListMax);
}

/** Returns the direct dealings with bridges. */
export function bridgeActivity(sides: readonly Side[]): ScreeningAnswer['bridgeActivity'] {
  const bridges = attributedOf(sides).filter(({ attribution }) => isBridge(attribution));
  return {
    bridges: [...new Set(bridges.flatMap(({ attribution }) => attribution.entity?.name ?? []))].sort(),
    inUsd: usdOf(bridges, 'in'),
    outUsd: usdOf(bridges, 'out'),
    txCount: countOf(bridges),
  };
}
