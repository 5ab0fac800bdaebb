/**
 * Exposure: the owners an address received value from, or sent value to. Value-weighted (haircut) shares are followed through unattributed
 * addresses to attributed ones.
 */
import type { Direction } from '../flow.ts';
import {
  type NeighbourColumns,
  NO_ORIGIN,
  type NodeId,
  PASSED_ON,
  type RowState,
  SUPER_NODE,
  UNPRICED,
} from '../graph.ts';
import { GRAPH_LIMITS } from '../limits.ts';
import type { NodeColumns } from './node-columns.ts';
import { UNSEEN } from './node-index.ts';
import type { ReachedNodes } from './reached-nodes.ts';
import { RowReader, rowReaderOf } from './rows.ts';
import type { StopReason } from './stops.ts';
import { assetOf, type Basis, flowOf, type RowBasis, tagOf, type Weighing } from './weighing.ts';
import type { KernelDeps } from './workspace.ts';

/** The owner of an address. Addresses with equal `rowKey` form one row. */
export interface Attribution {
  readonly key: string;
  /**
   * Identifies the row. If a property such as the confidence differs among addresses of one `key`, `rowKey` separates them into rows with
   * one value each. Default: `key`.
   */
  readonly rowKey?: string;
  /**
   * The attribution applies to transfers at `fromMs` (the start of a day) or later. To earlier ones `before` applies (null: none, and the
   * walk continues). An example is a party that was designated later.
   */
  readonly until?: { readonly fromMs: number; readonly before: Attribution | null } | undefined;
}

export interface ExposureOptions {
  readonly start: NodeId;
  /** `in`: the sources of the value; `out`: its destinations. */
  readonly direction: Direction;
  /** Number of the asset to follow, by its amounts. Default: the direction as `RowReader.basisOf` weighs it. */
  readonly asset?: number;
  /** 1 or more. */
  readonly maxHops: number;
  /** The walk does not pass addresses with more counterparties than this in either direction. From the start it reads this many. */
  readonly degreeMax: number;
  /** The most addresses considered beyond the direct counterparties, which are all considered. */
  readonly nodesMax: number;
  /**
   * The most edges kept beyond those of the start: a bound for graphs in which all addresses trade with all. Default: `exposureEdgesMax`.
   */
  readonly edgesMax?: number;
  /** Which assets are evidence, and what is dust. Dust edges are left out, unless they are a considerable part of the flow. */
  readonly weighing: Weighing;
  /** Edges that were first seen later are hidden. Default: none. */
  readonly seenUntilMs?: number;
}

export interface ExposureDeps<A extends Attribution> extends KernelDeps {
  /** Returns null if no label names the node. Called for each node considered, the start included, once for each asset that came to it. */
  readonly attribution: (node: NodeId) => A | null;
}

export interface ExposureRow<A extends Attribution> {
  readonly attribution: A;
  /** DIRECT: the counterparties themselves. INDIRECT: through other addresses. */
  readonly type: 'DIRECT' | 'INDIRECT';
  /** The fewest hops at which a share was found: 1 for DIRECT. */
  readonly hops: number;
  /** Of all value of the direction, 0 to 1. */
  readonly share: number;
  /** The part of `share` found at each hop: index 0 is hop 1. */
  readonly shareByHop: readonly number[];
  /** The part of the start's priced USD. Null if none of it is priced. */
  readonly valueUsd: number | null;
  /** Transfers between the attributed addresses and the addresses next to them on the path, each counted once. */
  readonly transfers: number;
  readonly unpricedTransfers: number;
  /** The address with the greatest part of the share. */
  readonly largestNode: NodeId;
}

/**
 * Why a part is UNKNOWN. ORIGIN: no counterparty is known (mined, minted, or the first or last known holder). UNPRICED: several assets
 * moved at the address and none has a price, so it is unknown which part went where.
 */
export type UnknownReason = Exclude<StopReason, 'SERVICE'> | 'ORIGIN' | 'UNPRICED';

export interface UnknownExposure {
  /** 0 to 1. */
  readonly share: number;
  /** The same by reason. The parts add up to `share`. */
  readonly byReason: Readonly<Record<UnknownReason, number>>;
  /** The part of the start's priced USD. Null if none of it is priced. */
  readonly valueUsd: number | null;
}

export interface ExposureStop {
  readonly node: NodeId;
  readonly reason: 'MAX_DEGREE' | 'BUDGET' | 'UNPRICED';
  /** The share of the flow that could not be followed there, 0 to 1. */
  readonly share: number;
}

export interface ExposureResult<A extends Attribution> {
  /** Greatest share first, then by key, DIRECT before INDIRECT. With `unknown` the shares add up to 1, or to 0 if no value moved. */
  readonly rows: readonly ExposureRow<A>[];
  readonly unknown: UnknownExposure;
  /** Basis of the weights of the start's own flow. Each further address has its own. */
  readonly basis: Basis;
  /** The asset of basis ASSET. Null for any other basis. */
  readonly asset: string | null;
  /**
   * The total that the shares refer to: the weight of the direction without the excluded dust, in USD or in smallest units of the asset.
   */
  readonly total: number;
  /** The start's own edges that are left out as dust. */
  readonly dust: { readonly counterparties: number; readonly transfers: number; readonly valueUsd: number };
  /** Greatest share first. */
  readonly stops: readonly ExposureStop[];
  /** False if a budget, the time limit or an address with too many counterparties ended the flow. */
  readonly isComplete: boolean;
  /** An address counts once for each asset that came to it. */
  readonly nodesSeen: number;
}

/** A share below this is not followed further: the rounding of the sums is about as great. */
const SHARE_MIN = 1e-13;

/** The number of hops among which the budget is divided. If more may follow, the nearest get the most. */
const SHARING_HOPS = 4;

/** Number of the start. */
const START = 0;

/** State of a node whose row was not read yet. Afterwards it is that of the row. */
const UNREAD = 0;

const LOSS_BY_STATE: Readonly<Record<number, UnknownReason>> = {
  [NO_ORIGIN]: 'ORIGIN',
  [SUPER_NODE]: 'MAX_DEGREE',
  [UNPRICED]: 'UNPRICED',
};

type RowType = ExposureRow<Attribution>['type'];

/** One row of the result while it is being summed. */
class Tally<A> {
  readonly attribution: A;
  readonly type: RowType;
  readonly shareByHop: number[] = [];
  share = 0;
  knownUsd = 0;
  transfers = 0;
  unpriced = 0;
  largestNode: NodeId = 0;
  #largestShare = -1;

  constructor(attribution: A, type: RowType) {
    this.attribution = attribution;
    this.type = type;
  }

  add(hop: number, share: number, knownUsd: number, node: NodeId): void {
    while (this.shareByHop.length < hop) this.shareByHop.push(0);
    this.shareByHop[hop - 1] = (this.shareByHop[hop - 1] as number) + share;
    this.share += share;
    this.knownUsd += knownUsd;
    if (share < this.#largestShare || (share === this.#largestShare && node > this.largestNode)) return;
    this.#largestShare = share;
    this.largestNode = node;
  }

  count(transfers: number, unpriced: number): void {
    this.transfers += transfers;
    this.unpriced += unpriced;
  }
}

/** Greatest share first, then by key, DIRECT before INDIRECT. */
function compareTallies<A extends Attribution>(a: Tally<A>, b: Tally<A>): number {
  if (a.share !== b.share) return b.share - a.share;
  const first = a.attribution.rowKey ?? a.attribution.key;
  const second = b.attribution.rowKey ?? b.attribution.key;
  if (first !== second) return first < second ? -1 : 1;
  return a.type < b.type ? -1 : 1;
}

const rowOf = <A extends Attribution>(tally: Tally<A>): ExposureRow<A> => ({
  attribution: tally.attribution,
  type: tally.type,
  hops: 1 + tally.shareByHop.findIndex((share) => share > 0),
  share: tally.share,
  shareByHop: tally.shareByHop,
  valueUsd: tally.knownUsd > 0 ? tally.knownUsd : null,
  transfers: tally.transfers,
  unpricedTransfers: tally.unpriced,
  largestNode: tally.largestNode,
});

/**
 * Follows value hop by hop as an absorbing Markov chain. An unattributed address passes on what it has in proportion to the weights of its
 * edges (rows.ts), and an attributed one keeps it. Value that comes back to the start is passed on again, unless the start is attributed.
 * Value that is still moving after `maxHops` is UNKNOWN. With unbounded `maxHops` the shares are the chain's absorption probabilities, B =
 * (I - Q)^-1 R of Kemeny and Snell, Finite Markov Chains (1960), theorem 3.3.7, summed as a power series. "Haircut" is that of Möser, Böhme
 * and Breuker, Towards Risk Scoring of Bitcoin Transactions (2014).
 *
 * Shares refer to all that moved at an address in the direction, except dust. Value that it mined or minted has no edge, and is UNKNOWN by
 * ORIGIN. If the budget is too small, the greatest shares are followed first. The order of equal neighbours changes only the last digits.
 */
export const exposureOf = <A extends Attribution>(
  options: ExposureOptions,
  deps: ExposureDeps<A>,
): ExposureResult<A> => new ExposureWalk(options, deps).run();

/** One call, with the results so far. */
class ExposureWalk<A extends Attribution> {
  readonly #options: ExposureOptions;
  readonly #deps: ExposureDeps<A>;
  readonly #neighbours: NeighbourColumns;
  readonly #attributions: (A | null)[];
  readonly #rows: RowReader;
  readonly #direct = new Map<string, Tally<A>>();
  readonly #indirect = new Map<string, Tally<A>>();
  readonly #unknown: Record<UnknownReason, number> = {
    ORIGIN: 0,
    DEPTH: 0,
    MAX_DEGREE: 0,
    BUDGET: 0,
    UNPRICED: 0,
  };
  readonly #stops = new Map<NodeId, ExposureStop>();
  #dust: ExposureResult<A>['dust'] = { counterparties: 0, transfers: 0, valueUsd: 0 };
  readonly #columns: NodeColumns;
  /** The nodes that value has reached in this hop. */
  readonly #next: ReachedNodes;
  #nodesLeft: number;
  /** The part of `#nodesLeft` that this hop may spend. */
  #nodesOfHop = 0;
  /**
   * Of the budget of a hop, the half that only edges at or above dust may spend, so that dust does not use up the budget of greater value.
   */
  #nodesNotForDust = 0;
  #edgesLeft: number;
  #unknownKnownUsd = 0;
  #basis: Basis = 'NOTHING';
  #asset: string | null = null;
  #total = 0;

  constructor(options: ExposureOptions, deps: ExposureDeps<A>) {
    const { start, direction, degreeMax, nodesMax } = options;
    this.#options = options;
    this.#deps = deps;
    this.#neighbours = deps.workspace.neighbours(direction, degreeMax);
    const { weighing, seenUntilMs } = options;
    this.#rows =
      seenUntilMs === undefined
        ? rowReaderOf(deps.graph, weighing)
        : new RowReader(deps.graph, weighing, seenUntilMs);
    this.#nodesLeft = nodesMax;
    this.#edgesLeft = options.edgesMax ?? GRAPH_LIMITS.exposureEdgesMax;
    this.#columns = deps.workspace.columns;
    this.#next = deps.workspace.reached;
    this.#attributions = this.#columns.attributions as (A | null)[];
    this.#columns.reserve(1 + Math.min(deps.graph.degree(start, direction), degreeMax) + nodesMax);
  }

  run(): ExposureResult<A> {
    const { maxHops } = this.#options;
    const { met, flows } = this.#deps.workspace;
    met.clear();
    flows.clear();
    this.#columns.clear();
    this.#next.clear();
    this.#leave();
    for (let hop = 2; hop <= maxHops && this.#next.count > 0; hop++) this.#follow(hop);
    this.#loseRest();
    this.#columns.finish();
    return this.#result();
  }

  /** Reads the first hop, and the start's row for value that comes back to it. */
  #leave(): void {
    const { start, direction, degreeMax, asset = null } = this.#options;
    const { graph, workspace } = this.#deps;
    const neighbours = this.#neighbours;
    const basis = this.#rows.passingOf(start, direction, asset);
    const tag = tagOf(basis);
    this.#meet(start, tag);
    this.#basis = basis.basis;
    this.#asset = basis.asset;
    if (basis.basis === 'UNKNOWN') this.#lose('UNPRICED', START, 1, 0);
    if (basis.total === 0) return;
    const scan = this.#rows.readFollowed(start, direction, basis, degreeMax, neighbours);
    const { light, count, total } = scan;
    graph.prefetch?.({ nodes: neighbours.ids.subarray(0, count) });
    this.#dust = { counterparties: light.edges, transfers: light.transfers, valueUsd: light.valueUsd };
    const isPartial = scan.isPartial || scan.heavy > degreeMax;
    if (isPartial) this.#stops.set(start, { node: start, reason: 'MAX_DEGREE', share: 0 });
    this.#total = total;
    if (total === 0) return;

    const isUsd = basis.basis === 'USD';
    let read = 0;
    this.#columns.begin[START] = workspace.flows.count;
    for (let at = 0; at < count; at++) {
      const weight = neighbours.weight[at] as number;
      if (weight === 0) continue;
      read += weight;
      const number = this.#meet(neighbours.ids[at] as NodeId, tag);
      const { flows } = workspace;
      const first = flows.count;
      this.#push(START, number, at, total, 'DIRECT');
      for (let part = first; part < flows.count; part++) {
        const share = flows.share[part] as number;
        this.#deliver(number, share, isUsd ? share * total : 0, 1, flows.isBefore[part] === 1);
      }
    }
    this.#columns.end[START] = workspace.flows.count;
    const rest = flowOf(total, read);
    this.#columns.restShare[START] = rest / total;
    this.#columns.leftOut[START] = 0;
    this.#columns.state[START] = PASSED_ON;
    if (rest > 0) this.#lose(this.#restReason(START), START, rest / total, isUsd ? rest : 0);
  }

  #restReason(number: number): 'MAX_DEGREE' | 'ORIGIN' {
    return number === START && this.#stops.has(this.#options.start) ? 'MAX_DEGREE' : 'ORIGIN';
  }

  /**
   * Adds the edge at `at` to the row of the node that is being read, and counts its transfers. If the edge was used before and after an
   * attribution began to apply, it is split into two parts.
   */
  #push(from: number, number: number, at: number, total: number, type: RowType): void {
    const { weight, transfers, unpriced, firstSeenMs, lastSeenMs } = this.#neighbours;
    const whole = weight[at] as number;
    const count = transfers[at] as number;
    const countUnpriced = unpriced[at] as number;
    const fromMs = this.#attributions[number]?.until?.fromMs ?? Number.NEGATIVE_INFINITY;
    if ((firstSeenMs[at] as number) >= fromMs || (lastSeenMs[at] as number) < fromMs) {
      this.#pushPart(number, whole / total, count, countUnpriced, (lastSeenMs[at] as number) < fromMs, type);
      return;
    }
    const { met } = this.#deps.workspace;
    const since = this.#rows.since(
      met.nodeAt(from),
      met.nodeAt(number),
      this.#options.direction,
      this.#basisOf(from),
      fromMs,
    );
    const after = Math.min(whole, since.weight);
    const unpricedAfter = Math.round((countUnpriced * since.transfers) / count);
    if (after < whole) {
      const [earlier, earlierUnpriced] = [count - since.transfers, countUnpriced - unpricedAfter];
      this.#pushPart(number, (whole - after) / total, earlier, earlierUnpriced, true, type);
    }
    if (after > 0) this.#pushPart(number, after / total, since.transfers, unpricedAfter, false, type);
  }

  /** How a row was weighed. Few walks split an edge, so it is not part of cached rows. */
  #basisOf(number: number): RowBasis {
    const { start, direction, asset = null } = this.#options;
    if (number === START) return this.#rows.passingOf(start, direction, asset);
    const { met } = this.#deps.workspace;
    return this.#rows.passingOf(met.nodeAt(number), direction, assetOf(met.tagAt(number)));
  }

  #pushPart(
    number: number,
    share: number,
    transfers: number,
    unpriced: number,
    isBefore: boolean,
    type: RowType,
  ): void {
    this.#deps.workspace.flows.push(number, share, isBefore);
    const attribution = this.#attributionOf(number, isBefore);
    if (attribution) this.#tally(attribution, type).count(transfers, unpriced);
  }

  #attributionOf(number: number, isBefore: boolean): A | null {
    const attribution = this.#attributions[number] as A | null;
    return isBefore ? ((attribution?.until?.before ?? null) as A | null) : attribution;
  }

  /** Numbers a node, for the asset that came to it, and looks up its attribution. */
  #meet(node: NodeId, tag: number): number {
    const number = this.#deps.workspace.met.add(node, tag);
    this.#columns.open(number);
    this.#attributions[number] = this.#deps.attribution(node);
    return number;
  }

  #tally(attribution: A, type: RowType): Tally<A> {
    const tallies = type === 'DIRECT' ? this.#direct : this.#indirect;
    const key = attribution.rowKey ?? attribution.key;
    let tally = tallies.get(key);
    if (!tally) {
      tally = new Tally(attribution, type);
      tallies.set(key, tally);
    }
    return tally;
  }

  #deliver(number: number, share: number, knownUsd: number, hop: number, isBefore: boolean): void {
    const attribution = this.#attributionOf(number, isBefore);
    if (attribution) {
      const node = this.#deps.workspace.met.nodeAt(number);
      this.#tally(attribution, hop === 1 ? 'DIRECT' : 'INDIRECT').add(hop, share, knownUsd, node);
      return;
    }
    const { nextShare, nextKnown } = this.#columns;
    if (nextShare[number] === 0) this.#next.add(number);
    nextShare[number] = (nextShare[number] as number) + share;
    nextKnown[number] = (nextKnown[number] as number) + knownUsd;
  }

  /** Counts value at a node as UNKNOWN: it is not followed further. */
  #lose(reason: UnknownReason, number: number, share: number, knownUsd: number): void {
    this.#unknown[reason] += share;
    this.#unknownKnownUsd += knownUsd;
    if (reason === 'DEPTH' || reason === 'ORIGIN') return;
    const node = this.#deps.workspace.met.nodeAt(number);
    const before = this.#stops.get(node)?.share ?? 0;
    this.#stops.set(node, { node, reason, share: before + share });
  }

  /** Counts the value that is still in transit as UNKNOWN. */
  #loseRest(): void {
    const { nextShare, nextKnown } = this.#columns;
    let share = this.#unknown.DEPTH;
    let knownUsd = this.#unknownKnownUsd;
    for (const number of this.#next.numbers()) {
      share += nextShare[number] as number;
      knownUsd += nextKnown[number] as number;
      nextShare[number] = 0;
      nextKnown[number] = 0;
    }
    this.#unknown.DEPTH = share;
    this.#unknownKnownUsd = knownUsd;
  }

  /** Follows one more hop, greatest share first. */
  #follow(hop: number): void {
    const { maxHops } = this.#options;
    const shares = this.#columns.nextShare;
    const knowns = this.#columns.nextKnown;
    const numbers = this.#next.takeOrdered(shares, this.#deps.workspace.met);
    this.#columns.advance();
    this.#nodesOfHop = Math.ceil(this.#nodesLeft / Math.min(maxHops - hop + 1, SHARING_HOPS));
    this.#nodesNotForDust = Math.floor(this.#nodesOfHop / 2);
    this.#announce(numbers);
    for (const number of numbers) {
      this.#pass(number, shares[number] as number, knowns[number] as number, hop);
      shares[number] = 0;
      knowns[number] = 0;
    }
  }

  /** Announces the reads of this hop. */
  #announce(numbers: Uint32Array): void {
    const { graph, workspace } = this.#deps;
    if (!graph.prefetch) return;
    const { direction, degreeMax } = this.#options;
    const unread = numbers.filter((number) => this.#columns.state[number] === UNREAD);
    const nodes = unread.map((number) => workspace.met.nodeAt(number));
    graph.prefetch({ nodes, neighbours: { directions: [direction], degreeMax, met: this.#nodesOfHop } });
  }

  /** Passes on the value that came to one node. */
  #pass(number: number, share: number, knownUsd: number, hop: number): void {
    if (share < SHARE_MIN) {
      this.#lose('DEPTH', number, share, knownUsd);
      return;
    }
    const reason = this.#read(number);
    if (reason !== null) {
      this.#lose(reason, number, share, knownUsd);
      return;
    }
    const { to, share: part, isBefore } = this.#deps.workspace.flows;
    const { nextShare, nextKnown } = this.#columns;
    const end = this.#columns.end[number] as number;
    // `#deliver` for each edge; the calls would cost as much as the additions.
    for (let at = this.#columns.begin[number] as number; at < end; at++) {
      const other = to[at] as number;
      const each = part[at] as number;
      if (this.#attributionOf(other, isBefore[at] === 1) !== null) {
        this.#deliver(other, share * each, knownUsd * each, hop, isBefore[at] === 1);
        continue;
      }
      if (nextShare[other] === 0) this.#next.add(other);
      nextShare[other] = (nextShare[other] as number) + share * each;
      nextKnown[other] = (nextKnown[other] as number) + knownUsd * each;
    }
    const rest = this.#columns.restShare[number] as number;
    if (rest > 0) this.#lose(this.#restReason(number), number, share * rest, knownUsd * rest);
    const left = this.#columns.leftOut[number] as number;
    if (left > 0) this.#lose('BUDGET', number, share * left, knownUsd * left);
  }

  /** Ensures that a node's row is among the flows. Otherwise returns why it passes nothing on. */
  #read(number: number): UnknownReason | null {
    if (this.#columns.state[number] === UNREAD) {
      const { isOver } = this.#deps;
      if (this.#nodesOfHop === 0 || this.#edgesLeft === 0 || isOver?.()) return 'BUDGET';
      this.#columns.state[number] = this.#readRow(number);
    }
    return LOSS_BY_STATE[this.#columns.state[number] as number] ?? null;
  }

  #readRow(number: number): RowState {
    const { direction, degreeMax } = this.#options;
    const { met, flows } = this.#deps.workspace;
    const neighbours = this.#neighbours;
    const { state, tag, dust, total, count } = this.#rows.passed(
      met.nodeAt(number),
      direction,
      met.tagAt(number),
      degreeMax,
      neighbours,
    );
    if (state !== PASSED_ON) return state;

    this.#columns.begin[number] = flows.count;
    let left = 0;
    let read = 0;
    for (let at = 0; at < count; at++) {
      const weight = neighbours.weight[at] as number;
      if (weight === 0) continue;
      read += weight;
      let other = met.find(neighbours.ids[at] as NodeId, tag);
      const nodesKept = weight < dust ? this.#nodesNotForDust : 0;
      if (this.#edgesLeft === 0 || (other === UNSEEN && this.#nodesOfHop <= nodesKept)) {
        left += weight;
        continue;
      }
      if (other === UNSEEN) {
        other = this.#meet(neighbours.ids[at] as NodeId, tag);
        this.#nodesOfHop--;
        this.#nodesLeft--;
      }
      this.#edgesLeft--;
      this.#push(number, other, at, total, 'INDIRECT');
    }
    this.#columns.end[number] = flows.count;
    this.#columns.restShare[number] = flowOf(total, read) / total;
    this.#columns.leftOut[number] = left / total;
    return PASSED_ON;
  }

  #result(): ExposureResult<A> {
    const share = Object.values(this.#unknown).reduce((sum, part) => sum + part, 0);
    const isKnown = this.#unknownKnownUsd > 0 || share === 0;
    return {
      rows: [...this.#direct.values(), ...this.#indirect.values()].sort(compareTallies).map(rowOf),
      unknown: {
        share,
        byReason: this.#unknown,
        valueUsd: isKnown ? this.#unknownKnownUsd : null,
      },
      basis: this.#basis,
      asset: this.#asset,
      total: this.#total,
      dust: this.#dust,
      stops: [...this.#stops.values()].sort((a, b) => b.share - a.share || a.node - b.node),
      isComplete: this.#stops.size === 0,
      nodesSeen: this.#deps.workspace.met.size,
    };
  }
}
