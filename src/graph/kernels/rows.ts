/** Reads the rows of a graph as walks weigh them: which assets are evidence, which total the shares refer to, and which edges are dust. */

import { dayOf, type EdgeDay, partSince, startOfDay } from '../edge-days.ts';
import { type Direction, OPPOSITE } from '../flow.ts';
import {
  type AssetSums,
  createNeighbourColumns,
  edgeBetween,
  type NeighbourColumns,
  NO_ORIGIN,
  type NodeId,
  PASSED_ON,
  type PassedRow,
  type RowQuery,
  type RowScan,
  SUPER_NODE,
  type TransferGraph,
  UNPRICED,
} from '../graph.ts';
import { GRAPH_LIMITS } from '../limits.ts';
import {
  type ApartBasis,
  assetOf,
  flowOf,
  hasMoved,
  isPriced,
  REST_MIN,
  type RowBasis,
  tagOf,
  usdOf,
  usdRate,
  type Weighing,
} from './weighing.ts';

/** The part of an edge that moved on or after a day. */
export interface EdgeSince {
  /** In the unit of the given rates. */
  readonly weight: number;
  readonly transfers: number;
  /** The last earlier day on which something moved, in milliseconds since the epoch. Null if nothing moved earlier or it is not known. */
  readonly lastBeforeMs: number | null;
  /** The first day on which something moved since then, or the time of the first transfer. */
  readonly firstSinceMs: number;
}

/** Edges of a row that may be left out: those to counterparties for which `isWanted` returns false. */
export type EdgeChoice = Pick<RowQuery, 'isWanted' | 'leftOut'>;

const ALL_EDGES: EdgeChoice = {};

/** A row along which value is followed. */
export interface FollowedScan extends RowScan {
  /** Weight of the followed value, including value without a counterparty. The shares refer to it. */
  readonly total: number;
}

/**
 * Dust of a direction is followed if it is more than this part of it. Below that, leaving dust out changes no share by more than a ninth,
 * and spares a walk the thousands of edges that anyone can add at no cost. Above it, the value really came as dust: in many small payments.
 */
export const DUST_FOLLOWED_SHARE = 0.1;

/** The parts of a screening read the row of its address twice. Rows of fewer edges are read again in less time than they are copied in. */
const KEPT_FROM_EDGES = 1_024;

/** A direction of an address with more edges, as `read` gives it: without dust. */
interface KeptRow {
  readonly node: NodeId;
  readonly rates: RowBasis['rates'];
  readonly dust: number;
  readonly limit: number;
  readonly scan: RowScan;
  readonly columns: NeighbourColumns;
}

const isSameRates = (one: RowBasis['rates'], other: RowBasis['rates']): boolean =>
  one.size === other.size && [...one].every(([asset, rate]) => other.get(asset) === rate);

const NO_COLUMNS = createNeighbourColumns(0);
const COLUMN_NAMES = Object.keys(NO_COLUMNS) as (keyof NeighbourColumns)[];
const NO_SUMS = { in: [], out: [] } as const;

/**
 * Returns a reader of rows: the same one for the same weighing of a graph with a memory, because the parts of a screening read the sums of the
 * same address again and again.
 */
export function rowReaderOf(graph: TransferGraph, weighing: Weighing): RowReader {
  const known = graph.memory?.get(weighing);
  if (known instanceof RowReader) return known;
  const reader = new RowReader(graph, weighing);
  graph.memory?.set(weighing, reader);
  return reader;
}

/** Reads rows of one graph. Created once per kernel call, because it caches which assets are evidence. */
export class RowReader {
  readonly #graph: TransferGraph;
  readonly #weighing: Weighing;
  readonly #seenUntilMs: number;
  readonly #known = new Map<number, boolean>();
  /** Those that are known to be evidence. */
  readonly #evidence = new Set<number>();
  readonly #met = new Set<number>();
  readonly #dustAmounts = new Map<number, number>();
  readonly #coins = new Map<number, boolean>();
  /** The contract of the wrapped coin. Null if it is not in the graph. */
  readonly #wrapper: NodeId | null;
  #node: NodeId = 0;
  #sums: Readonly<Record<Direction, readonly AssetSums[]>> = NO_SUMS;
  /** The evidence among the sums, by direction. Null until it is read. */
  #received: readonly AssetSums[] | null = null;
  #sent: readonly AssetSums[] | null = null;
  readonly #kept: Record<Direction, KeptRow | null> = { in: null, out: null };

  constructor(graph: TransferGraph, weighing: Weighing, seenUntilMs = Number.POSITIVE_INFINITY) {
    this.#graph = graph;
    this.#weighing = weighing;
    this.#seenUntilMs = seenUntilMs;
    this.#wrapper = weighing.wrapped ? graph.idOf(weighing.wrapped.key) : null;
  }

  readonly isEvidence = (asset: number): boolean => {
    const known = this.#known.get(asset);
    if (known !== undefined) return known;
    const found = this.#weighing.isEvidence(this.#graph.assetName(asset));
    this.#known.set(asset, found);
    if (found) this.#evidence.add(asset);
    return found;
  };

  /** Notes an asset of a row of which it is not known yet whether it is evidence. */
  readonly #meet = (asset: number): void => {
    if (!this.#known.has(asset)) this.#met.add(asset);
  };

  /** The flows of evidence assets in one direction, without coins that were wrapped or unwrapped. */
  evidenceSums(node: NodeId, direction: Direction): readonly AssetSums[] {
    if (this.#node !== node) {
      this.#sums = this.#graph.sums(node);
      this.#received = null;
      this.#sent = null;
      this.#node = node;
    }
    if (direction === 'in') {
      this.#received ??= this.#evidenceIn(node, 'in');
      return this.#received;
    }
    this.#sent ??= this.#evidenceIn(node, 'out');
    return this.#sent;
  }

  #evidenceIn(node: NodeId, direction: Direction): readonly AssetSums[] {
    const sums = this.#withoutWrapping(node, direction, this.#sums[direction]);
    return sums.filter(({ asset }) => this.isEvidence(asset));
  }

  #isCoin(asset: number): boolean {
    let found = this.#coins.get(asset);
    if (found === undefined) {
      found = this.#graph.assetName(asset) === this.#weighing.wrapped?.coin;
      this.#coins.set(asset, found);
    }
    return found;
  }

  /** Leaves the coins that moved between a node and the contract of the wrapped coin out of its sums. Rates stay the same. */
  #withoutWrapping(node: NodeId, direction: Direction, sums: readonly AssetSums[]): readonly AssetSums[] {
    const wrapper = this.#wrapper;
    const flow =
      wrapper === null || node === wrapper ? undefined : sums.find(({ asset }) => this.#isCoin(asset));
    if (wrapper === null || flow === undefined || flow.amount === 0) return sums;
    const [from, to] = direction === 'in' ? [wrapper, node] : [node, wrapper];
    const coin = this.#graph.assetName(flow.asset);
    const moved = this.#graph.edge(from, to, direction).find(({ asset }) => asset === coin);
    if (moved === undefined) return sums;
    const amount = flowOf(flow.amount, Number(moved.amount));
    if (amount === 0) return sums.filter((one) => one !== flow);
    const part = amount / flow.amount;
    const left: AssetSums = {
      ...flow,
      amount,
      transfers: flow.transfers - moved.transfers,
      cents: flow.cents * part,
      pricedAmount: flow.pricedAmount * part,
    };
    return sums.map((one) => (one === flow ? left : one));
  }

  /**
   * Determines how a direction of a node is weighed. All transfers of a priced asset get the average rate of its priced transfers. So
   * within one asset shares are by amount, and an unpriced transfer does not change the value of another. If nothing is priced, the only
   * asset that moved is weighed by its amount.
   */
  basisOf(node: NodeId, direction: Direction): RowBasis {
    const { dustUsd } = this.#weighing;
    const sums = this.evidenceSums(node, direction);
    const moved = sums.every(hasMoved) ? sums : sums.filter(hasMoved);
    const usd = usdOf(moved);
    // Beside unpriced assets, priced dust does not decide: otherwise anyone could end a walk for a cent.
    if (usd > 0 && (usd >= dustUsd || moved.every(isPriced))) {
      const rates = new Map<number, number>();
      for (const flow of moved) rates.set(flow.asset, usdRate(flow));
      return { basis: 'USD', asset: null, assetId: null, rates, total: usd, dust: dustUsd };
    }
    const unpriced = moved.filter((flow) => !isPriced(flow));
    const weighed = unpriced.length > 0 ? unpriced : moved;
    const [only] = weighed;
    if (only === undefined)
      return { basis: 'NOTHING', asset: null, assetId: null, rates: new Map(), total: 0, dust: 0 };
    const rates = new Map(moved.map((flow) => [flow.asset, 0]));
    if (weighed.length > 1) return { basis: 'UNKNOWN', asset: null, assetId: null, rates, total: 0, dust: 0 };
    rates.set(only.asset, 1);
    return this.#byAmount(only, this.#amountOf(node, OPPOSITE[direction], only.asset), rates);
  }

  /**
   * Returns the unpriced assets that moved in a direction which is weighed by something else, each weighed by its amount. An asset with
   * hardly any flow in this direction compared with the other is left out. Assets that are dust by their amount come last. Of the others,
   * those that moved in the other direction too (by more than dust) come first: only the address itself can send in its name. The
   * rest is in the order in which the graph met the assets. The number of transfers and the amount do not count, because both are cheap.
   */
  apartOf(node: NodeId, direction: Direction): ApartBasis[] {
    const unpriced = this.evidenceSums(node, direction).filter((flow) => !isPriced(flow) && flow.amount > 0);
    if (unpriced.length === 0) return [];
    const { assetId } = this.basisOf(node, direction);
    return unpriced
      .map((flow) => {
        const other = this.#amountOf(node, OPPOSITE[direction], flow.asset);
        const dust = this.#dustAmountOf(flow.asset);
        return { flow, other, isDust: flow.amount < dust, isTraded: other > 0 && other >= dust };
      })
      .filter(({ flow, other }) => flow.asset !== assetId && this.#isHeld(flow, other))
      .sort(
        (a, b) =>
          Number(a.isDust) - Number(b.isDust) ||
          Number(b.isTraded) - Number(a.isTraded) ||
          a.flow.asset - b.flow.asset,
      )
      .map(({ flow, other, isDust }) => ({
        ...this.#byAmount(flow, other, new Map([[flow.asset, 1]])),
        isDust,
      }));
  }

  /** Smallest units of an unpriced asset below which its whole flow is dust. */
  #dustAmountOf(asset: number): number {
    let amount = this.#dustAmounts.get(asset);
    if (amount === undefined) {
      amount = this.#weighing.dustAmount?.(this.#graph.assetName(asset)) ?? 0;
      this.#dustAmounts.set(asset, amount);
    }
    return amount;
  }

  /**
   * Determines how a node passes on value that came to it as an asset: by the amounts of that asset. It passes on its value as `basisOf`
   * weighs it instead if the asset has a price there, or if the node obtained it in another way (swapped or minted: hardly any of what it
   * passed on came in).
   *
   * @param asset number of the asset; null for no particular one
   */
  passingOf(node: NodeId, direction: Direction, asset: number | null): RowBasis {
    const flow =
      asset === null
        ? undefined
        : this.evidenceSums(node, direction).find((one) => one.asset === asset && !isPriced(one));
    if (flow === undefined || flow.amount === 0) return this.basisOf(node, direction);
    const other = this.#amountOf(node, OPPOSITE[direction], flow.asset);
    if (!this.#isHeld(flow, other)) return this.basisOf(node, direction);
    return this.#byAmount(flow, other, new Map([[flow.asset, 1]]));
  }

  /** Returns false if so little of the asset moved, compared with the other direction, that it is dust. */
  #isHeld({ amount }: AssetSums, other: number): boolean {
    return amount >= this.#weighing.dustShare * other;
  }

  #amountOf(node: NodeId, direction: Direction, asset: number): number {
    return this.evidenceSums(node, direction).find((flow) => flow.asset === asset)?.amount ?? 0;
  }

  #byAmount(flow: AssetSums, other: number, rates: RowBasis['rates']): RowBasis {
    const { asset, amount } = flow;
    const { dustUsd, dustShare } = this.#weighing;
    // A priced flow that rounds to no cent is dust as a whole: otherwise 1 wei would explain everything the address paid.
    const isWorthless = isPriced(flow) && dustUsd > 0;
    const dust = isWorthless ? Number.POSITIVE_INFINITY : dustShare * Math.max(amount, other);
    return {
      basis: 'ASSET',
      asset: this.#graph.assetName(asset),
      assetId: asset,
      rates,
      total: amount,
      dust,
    };
  }

  /** Reads the edges of a direction that are at or above dust, greatest first. */
  read(node: NodeId, direction: Direction, basis: RowBasis, limit: number, into: NeighbourColumns): RowScan {
    const kept = this.#keptRow(node, direction, basis, limit);
    if (kept !== null) {
      copyColumns(kept.columns, into, kept.scan.count);
      return kept.scan;
    }
    const { rates, dust } = basis;
    return this.#graph.row(node, direction, this.#query(rates, rates, dust, limit), into);
  }

  /** Reads all edges of a direction, dust too, greatest first. A large row is kept, so that `read` does not read it again. */
  readWithDust(
    node: NodeId,
    direction: Direction,
    { rates, dust }: RowBasis,
    limit: number,
    into: NeighbourColumns,
  ): RowScan {
    const query = this.#query(rates, rates, 0, limit, { lightBelow: dust });
    const scan = this.#graph.row(node, direction, query, into);
    const { heavy, light, isPartial } = scan;
    if (heavy + light.edges >= KEPT_FROM_EDGES && !isPartial) {
      // In the order of the row, dust comes last.
      const count = Math.min(limit, heavy);
      const columns = createNeighbourColumns(count);
      copyColumns(into, columns, count);
      this.#kept[direction] = { node, rates, dust, limit, scan: { ...scan, count }, columns };
    }
    return scan;
  }

  #keptRow(node: NodeId, direction: Direction, { rates, dust }: RowBasis, limit: number): KeptRow | null {
    const kept = this.#kept[direction];
    if (kept === null || kept.node !== node || kept.dust !== dust || kept.limit !== limit) return null;
    return isSameRates(kept.rates, rates) ? kept : null;
  }

  /**
   * Reads the edges along which value is followed, greatest first: those at or above dust. If dust is a considerable part of the direction,
   * dust is read too. It comes last, so that it takes neither place nor budget from greater edges.
   */
  readFollowed(
    node: NodeId,
    direction: Direction,
    basis: RowBasis,
    limit: number,
    into: NeighbourColumns,
  ): FollowedScan {
    const scan = this.read(node, direction, basis, limit, into);
    const { count, heavy, light, hiddenWeight, isPartial } = scan;
    // Not spread: walks read hundreds of rows.
    if (!this.followsDust(node, direction, basis, light.weight))
      return {
        count,
        heavy,
        light,
        hiddenWeight,
        isPartial,
        total: flowOf(basis.total, light.weight + hiddenWeight),
      };
    const all = this.read(node, direction, { ...basis, dust: 0 }, limit, into);
    return { ...all, total: flowOf(basis.total, all.hiddenWeight) };
  }

  /**
   * Returns true if the dust of a direction is followed: it is a considerable part of what moved, and together it is not dust. If all that
   * moved is worth less than the dust limit, it counts if it is considerable compared with the other direction: a small sum that was passed
   * on. A cent that a stranger sent to an address does not explain the thousands that the address paid.
   *
   * @param light weight of all edges that are dust
   */
  followsDust(node: NodeId, direction: Direction, { basis, total, dust }: RowBasis, light: number): boolean {
    if (!(light > DUST_FOLLOWED_SHARE * total * (1 + REST_MIN))) return false;
    if (light >= dust * (1 - REST_MIN)) return true;
    if (basis !== 'USD' || total >= dust) return false;
    const other = this.basisOf(node, OPPOSITE[direction]);
    if (other.basis !== 'USD' && other.basis !== 'NOTHING') return false;
    return total >= DUST_FOLLOWED_SHARE * other.total;
  }

  /**
   * Reads the row along which an address passes on what came to it. It does not depend on the walk, so it is cached.
   *
   * @param tag number of the asset that came, plus 1; 0 for no particular one
   */
  passed(
    node: NodeId,
    direction: Direction,
    tag: number,
    degreeMax: number,
    into: NeighbourColumns,
  ): PassedRow {
    const { passed } = this.#graph;
    if (passed === undefined || this.#seenUntilMs !== Number.POSITIVE_INFINITY)
      return this.#readPassed(node, direction, tag, degreeMax, into);
    const { dustUsd, dustShare } = this.#weighing;
    const limits = { degreeMax, dustUsd, dustShare };
    const known = passed.get(node, direction, tag, limits, into);
    if (known !== undefined) return known;
    const row = this.#readPassed(node, direction, tag, degreeMax, into);
    passed.set(node, direction, tag, limits, row, into);
    return row;
  }

  #readPassed(
    node: NodeId,
    direction: Direction,
    came: number,
    degreeMax: number,
    into: NeighbourColumns,
  ): PassedRow {
    const nothing = { tag: 0, dust: 0, total: 0, count: 0 };
    if (this.isHub(node, degreeMax)) return { ...nothing, state: SUPER_NODE };
    const basis = this.passingOf(node, direction, assetOf(came));
    const tag = tagOf(basis);
    if (tag !== 0 && this.isHubIn(node, direction, degreeMax, basis))
      return { ...nothing, state: SUPER_NODE };
    if (basis.basis === 'UNKNOWN') return { ...nothing, state: UNPRICED };
    if (basis.total === 0) return { ...nothing, state: NO_ORIGIN };
    const { count, total } = this.readFollowed(node, direction, basis, degreeMax, into);
    if (total === 0) return { ...nothing, state: NO_ORIGIN };
    return { state: PASSED_ON, tag, dust: basis.dust, total, count };
  }

  /**
   * Reads all edges of evidence, including dust: by USD, then the unpriced ones by amount.
   *
   * @param choice edges that may be left out, unless the row has more than `limit`; default: none
   * @returns how many were written
   */
  readAll(
    node: NodeId,
    direction: Direction,
    limit: number,
    into: NeighbourColumns,
    choice: EdgeChoice = ALL_EDGES,
  ): number {
    return (
      this.#readBeforeSums(node, direction, limit, into, choice) ??
      this.#readBySums(node, direction, limit, into, choice)
    );
  }

  /**
   * Reads the edges by the assets that they have, without the sums of the node. Returns null if that does not give the same edges: the row may
   * be longer than `limit`, or the node has wrapped coins, which may leave the coin without a flow.
   */
  #readBeforeSums(
    node: NodeId,
    direction: Direction,
    limit: number,
    into: NeighbourColumns,
    { isWanted, leftOut }: EdgeChoice,
  ): number | null {
    const wrapper = this.#wrapper;
    if (this.#graph.reportsOthers !== true || this.#node === node) return null;
    if (this.#seenUntilMs !== Number.POSITIVE_INFINITY) return null;
    if (this.#graph.degree(node, direction) > Math.min(limit, GRAPH_LIMITS.rowScanMax)) return null;
    const query: RowQuery = {
      evidence: this.#evidence,
      rates: null,
      least: Number.NEGATIVE_INFINITY,
      lightBelow: undefined,
      limit,
      seenUntilMs: this.#seenUntilMs,
      without: null,
      isWhole: false,
      enough: undefined,
      isWanted: isWanted && wrapper !== null ? (id) => id === wrapper || isWanted(id) : isWanted,
      leftOut,
      onOther: this.#meet,
    };
    for (;;) {
      this.#met.clear();
      if (leftOut) leftOut.length = 0;
      const { count } = this.#graph.row(node, direction, query, into);
      let isComplete = true;
      for (const asset of this.#met) if (this.isEvidence(asset)) isComplete = false;
      if (!isComplete) continue;
      for (let at = 0; at < count; at++) if (into.ids[at] === wrapper) return null;
      return count;
    }
  }

  #readBySums(
    node: NodeId,
    direction: Direction,
    limit: number,
    into: NeighbourColumns,
    { isWanted, leftOut }: EdgeChoice,
  ): number {
    if (leftOut) leftOut.length = 0;
    const sums = this.evidenceSums(node, direction);
    const evidence = new Set(sums.map(({ asset }) => asset));
    const isWhole = sums.length === this.#sums[direction].length;
    const query = this.#query(evidence, null, Number.NEGATIVE_INFINITY, limit, {
      isWhole,
      isWanted,
      leftOut,
    });
    return this.#graph.row(node, direction, query, into).count;
  }

  /**
   * Returns the part of an edge that moved since a time, for an edge that was used before and after it.
   *
   * @param sinceMs start of a day, milliseconds since the epoch
   */
  since(
    node: NodeId,
    other: NodeId,
    direction: Direction,
    { rates }: Pick<RowBasis, 'rates'>,
    sinceMs: number,
  ): EdgeSince {
    const rateOf = new Map([...rates].map(([asset, rate]) => [this.#graph.assetName(asset), rate]));
    const day = dayOf(sinceMs);
    let weight = 0;
    let transfers = 0;
    let lastBeforeMs: number | null = null;
    let firstSinceMs = Number.POSITIVE_INFINITY;
    for (const sum of edgeBetween(this.#graph, node, direction, other)) {
      const rate = rateOf.get(sum.asset);
      if (rate === undefined || sum.amount === 0n || sum.firstSeenMs > this.#seenUntilMs) continue;
      if (other === this.#wrapper && sum.asset === this.#weighing.wrapped?.coin) continue;
      const since = partSince(sum, day);
      weight += rate * Number(since.amount);
      transfers += since.transfers;
      const before = sum.lastSeenMs < sinceMs ? sum.lastSeenMs : lastDayBefore(sum.days, day);
      if (before !== null && before > (lastBeforeMs ?? 0)) lastBeforeMs = before;
      if (since.transfers === 0) continue;
      const first = sum.days.findLast((one) => one.day >= day);
      const firstMs = first === undefined ? sum.firstSeenMs : startOfDay(first.day);
      firstSinceMs = Math.min(firstSinceMs, Math.max(sum.firstSeenMs, firstMs));
    }
    return { weight, transfers, lastBeforeMs, firstSinceMs };
  }

  /** Returns true for an address that no walk passes, in either direction: so many counterparties indicate a service without a label. */
  isHub(node: NodeId, degreeMax: number): boolean {
    const received = this.#graph.degree(node, 'in');
    const sent = this.#graph.degree(node, 'out');
    if (received <= degreeMax && sent <= degreeMax) return false;
    // An address with a direction too large to scan is a hub without reading the row of the other direction.
    if (Math.max(received, sent) > Math.max(degreeMax, GRAPH_LIMITS.rowScanMax)) return true;
    return this.isHubIn(node, 'out', degreeMax) || this.isHubIn(node, 'in', degreeMax);
  }

  /**
   * Returns true if more than `degreeMax` counterparties of the direction are at or above dust, or if there are so many that dust makes up
   * more than half of what moved: then they are small customers, and not an attack. Edges of dust, of unknown tokens or without value
   * therefore do not end a walk.
   *
   * @param by how the direction is weighed; default: as `basisOf` weighs it
   */
  isHubIn(node: NodeId, direction: Direction, degreeMax: number, by?: RowBasis): boolean {
    const degree = this.#graph.degree(node, direction);
    if (degree <= degreeMax) return false;
    if (degree > GRAPH_LIMITS.rowScanMax) return true;
    const { hubs } = this.#graph;
    if (hubs === undefined || by !== undefined || this.#seenUntilMs !== Number.POSITIVE_INFINITY)
      return this.#hasManyCounterparties(node, direction, degreeMax, by ?? this.basisOf(node, direction));
    const { dustUsd, dustShare } = this.#weighing;
    const limits = { degreeMax, dustUsd, dustShare };
    const known = hubs.get(node, direction, limits);
    if (known !== undefined) return known;
    const isHub = this.#hasManyCounterparties(node, direction, degreeMax, this.basisOf(node, direction));
    hubs.set(node, direction, limits, isHub);
    return isHub;
  }

  #hasManyCounterparties(
    node: NodeId,
    direction: Direction,
    degreeMax: number,
    { rates, total, dust }: RowBasis,
  ): boolean {
    // Weights of several unpriced assets are all 0: nothing passes such an address anyway.
    if (total === 0) return false;
    const query = this.#query(rates, rates, dust, 0, { enough: degreeMax });
    const { heavy, light } = this.#graph.row(node, direction, query, NO_COLUMNS);
    return heavy > degreeMax || light.weight > total / 2;
  }

  #query(
    evidence: RowQuery['evidence'],
    rates: RowQuery['rates'],
    least: number,
    limit: number,
    {
      isWhole = false,
      enough,
      isWanted,
      leftOut,
      lightBelow,
    }: Pick<RowQuery, 'isWhole' | 'enough' | 'isWanted' | 'leftOut' | 'lightBelow'> = {},
  ): RowQuery {
    const counterparty = this.#wrapper;
    const coin =
      counterparty === null ? undefined : [...evidence.keys()].find((asset) => this.#isCoin(asset));
    const without = counterparty === null || coin === undefined ? null : { counterparty, asset: coin };
    // Always the same properties: the store reads them for every row.
    const seenUntilMs = this.#seenUntilMs;
    const onOther = undefined;
    return {
      evidence,
      rates,
      least,
      lightBelow,
      limit,
      seenUntilMs,
      without,
      isWhole,
      enough,
      isWanted,
      leftOut,
      onOther,
    };
  }
}

/** Copies the first edges. */
function copyColumns(from: NeighbourColumns, to: NeighbourColumns, count: number): void {
  for (const name of COLUMN_NAMES) to[name].set(from[name].subarray(0, count));
}

/** Start of the last day before a day, or null. */
function lastDayBefore(days: readonly EdgeDay[], day: number): number | null {
  const found = days.find((one) => one.day < day);
  return found === undefined ? null : startOfDay(found.day);
}
