/**
 * Whose money an address holds or whom it pays: value-weighted (haircut) shares through unattributed addresses until an
 * attributed one.
 */
import { LIMITS } from '../../base/limits.ts';
import type { Direction } from '../flow.ts';
import type { NeighbourColumns, NodeId } from '../graph.ts';
import { UNSEEN } from './node-index.ts';
import { isSuperNode, type StopReason } from './stops.ts';
import type { KernelDeps } from './workspace.ts';

/** Whom an address belongs to. Addresses of equal `key` make one row. */
export interface Attribution {
  readonly key: string;
}

export interface ExposureOptions {
  readonly start: NodeId;
  /** `in`: where value came from; `out`: where it went. */
  readonly direction: Direction;
  /** 1 and more. */
  readonly maxHops: number;
  /** Addresses of more counterparties in either direction are not passed; of the start so many are read. */
  readonly degreeMax: number;
  /** Addresses looked at beyond the direct counterparties, which are all looked at. */
  readonly nodesMax: number;
  /** Edges kept beyond those of the start: a bound for graphs in which all trade with all. Left out: `exposureEdgesMax`. */
  readonly edgesMax?: number;
  /** What an unpriced transfer counts as, USD. */
  readonly unpricedUsd: number;
  /** Edges without unpriced transfers below this leave the flow; 0 keeps all. */
  readonly dustUsd: number;
  /**
   * All that moved at the start in this direction, also without a counterparty (coinbase, mint) and beyond `degreeMax`. What
   * it has more than the counterparties read is UNKNOWN. Left out: the counterparties are all.
   */
  readonly startTotal?: { readonly valueUsd: number; readonly transfers: number; readonly unpriced: number };
}

export interface ExposureDeps<A extends Attribution> extends KernelDeps {
  /** Null where nobody knows. Asked once of each node looked at; never of the start. */
  readonly attribution: (node: NodeId) => A | null;
}

export interface ExposureRow<A extends Attribution> {
  readonly attribution: A;
  /** DIRECT: the counterparties themselves; INDIRECT: through others. */
  readonly type: 'DIRECT' | 'INDIRECT';
  /** The fewest hops at which a share was found: 1 for DIRECT. */
  readonly hops: number;
  /** Of all value of the direction, 0 to 1. */
  readonly share: number;
  /** The part of `share` found at each hop: index 0 is hop 1. */
  readonly shareByHop: readonly number[];
  /** The part of the start's priced USD; null where nothing of it is priced. */
  readonly valueUsd: number | null;
  /** Transfers between the attributed addresses and those next to them on the way, each counted once. */
  readonly transfers: number;
  readonly unpricedTransfers: number;
  /** The address that the greatest part of the share came from or went to. */
  readonly largestNode: NodeId;
}

/** Why a part is UNKNOWN: ORIGIN is where no counterparty is known of: mined, minted, or the first or last known holder. */
export type UnknownReason = Exclude<StopReason, 'SERVICE'> | 'ORIGIN';

export interface UnknownExposure {
  /** 0 to 1. */
  readonly share: number;
  /** The same by reason; adds up to `share`. */
  readonly byReason: Readonly<Record<UnknownReason, number>>;
  /** The part of the start's priced USD; null where nothing of it is priced. */
  readonly valueUsd: number | null;
}

export interface ExposureStop {
  readonly node: NodeId;
  readonly reason: 'MAX_DEGREE' | 'BUDGET';
  /** What of the flow could not be followed there, 0 to 1. */
  readonly share: number;
}

export interface ExposureResult<A extends Attribution> {
  /** Greatest share first, then by key, DIRECT before INDIRECT. With `unknown` the shares add up to 1, or to 0 where no value moved. */
  readonly rows: readonly ExposureRow<A>[];
  readonly unknown: UnknownExposure;
  /** Effective USD of the direction without dust: what the shares are of. */
  readonly totalUsd: number;
  /** The start's own edges that are dust. */
  readonly dust: { readonly counterparties: number; readonly transfers: number; readonly valueUsd: number };
  /** Greatest share first. */
  readonly stops: readonly ExposureStop[];
  /** False where a budget, the time or an address of too many counterparties ended the flow. */
  readonly isComplete: boolean;
  readonly nodesSeen: number;
}

/** In flight below this, a share is done with: rounding of the sums is about as great. */
const SHARE_MIN = 1e-13;

/** What the start's total has more than its counterparties by less than this part is rounding of cents. */
const REST_MIN = 1e-9;

/** Hops that the budget is shared out to at once; where more may follow, those nearest have the most. */
const SHARING_HOPS = 4;

/** Number of the start. */
const START = 0;

/** What a node passes on: nothing of it read yet, its row among the flows, or nothing for good. */
const UNREAD = 0;
const READ = 1;
const NO_ORIGIN = 2;
const SUPER_NODE = 3;

type RowType = ExposureRow<Attribution>['type'];

/** One row while it grows. */
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

  count(neighbours: NeighbourColumns, at: number): void {
    this.transfers += neighbours.transfers[at] as number;
    this.unpriced += neighbours.unpriced[at] as number;
  }
}

/** Greatest share first, then by key, DIRECT before INDIRECT. */
function compareTallies<A extends Attribution>(a: Tally<A>, b: Tally<A>): number {
  if (a.share !== b.share) return b.share - a.share;
  if (a.attribution.key !== b.attribution.key) return a.attribution.key < b.attribution.key ? -1 : 1;
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
 * Follows value hop by hop as an absorbing Markov chain: an unattributed address passes on what it has in proportion of the value of
 * its edges, an attributed one keeps it, and the start passes on again what comes back to it. What is still on its way after
 * `maxHops` is UNKNOWN. With `maxHops` without bound that is the chain's absorption probabilities, B = (I - Q)^-1 R of Kemeny and
 * Snell, Finite Markov Chains (1960), theorem 3.3.7, summed as a power series. "Haircut" is that of Möser, Böhme and Breuker,
 * Towards Risk Scoring of Bitcoin Transactions (2014).
 *
 * Where the budget does not reach, the greatest shares are followed first. The order of equal neighbours changes nothing but last
 * digits. What an address on the way mined or minted beside what it received has no edge, and is not seen there.
 */
export const exposureOf = <A extends Attribution>(
  options: ExposureOptions,
  deps: ExposureDeps<A>,
): ExposureResult<A> => new ExposureWalk(options, deps).run();

/** One call: columns by number of node, and what has been found. */
class ExposureWalk<A extends Attribution> {
  readonly #options: ExposureOptions;
  readonly #deps: ExposureDeps<A>;
  readonly #neighbours: NeighbourColumns;
  readonly #attributions: (A | null)[] = [null];
  readonly #tallies: Readonly<Record<RowType, Map<string, Tally<A>>>> = {
    DIRECT: new Map(),
    INDIRECT: new Map(),
  };
  readonly #unknown: Record<UnknownReason, number> = { ORIGIN: 0, DEPTH: 0, MAX_DEGREE: 0, BUDGET: 0 };
  readonly #stops = new Map<NodeId, ExposureStop>();
  readonly #dust = { counterparties: 0, transfers: 0, valueUsd: 0 };
  readonly #state: Uint8Array;
  /** A node's row among the flows, and the share of its value that is not in it. */
  readonly #begin: Uint32Array;
  readonly #end: Uint32Array;
  readonly #leftOut: Float64Array;
  /** On its way at a node: the share, and the part of the start's priced USD that travels with it. */
  #share: Float64Array;
  #known: Float64Array;
  #nextShare: Float64Array;
  #nextKnown: Float64Array;
  /** Numbers of the nodes that value has come to. */
  #next: number[] = [];
  #nodesLeft: number;
  /** Of these, what may be spent at this hop. */
  #nodesOfHop = 0;
  #edgesLeft: number;
  #unknownKnownUsd = 0;
  #totalUsd = 0;

  constructor(options: ExposureOptions, deps: ExposureDeps<A>) {
    const { start, direction, degreeMax, nodesMax } = options;
    this.#options = options;
    this.#deps = deps;
    this.#neighbours = deps.workspace.neighbours(direction, degreeMax);
    this.#nodesLeft = nodesMax;
    this.#edgesLeft = options.edgesMax ?? LIMITS.exposureEdgesMax;
    const capacity = 1 + Math.min(deps.graph.degree(start, direction), degreeMax) + nodesMax;
    this.#state = new Uint8Array(capacity);
    this.#begin = new Uint32Array(capacity);
    this.#end = new Uint32Array(capacity);
    this.#leftOut = new Float64Array(capacity);
    this.#share = new Float64Array(capacity);
    this.#known = new Float64Array(capacity);
    this.#nextShare = new Float64Array(capacity);
    this.#nextKnown = new Float64Array(capacity);
  }

  run(): ExposureResult<A> {
    const { start, maxHops } = this.#options;
    const { seen, flows } = this.#deps.workspace;
    seen.clear();
    flows.clear();
    seen.add(start);
    this.#leave();
    for (let hop = 2; hop <= maxHops && this.#next.length > 0; hop++) this.#follow(hop);
    for (const number of this.#next)
      this.#lose('DEPTH', number, this.#nextShare[number] as number, this.#nextKnown[number] as number);
    return this.#result();
  }

  /** Effective USD of the neighbour at `at`; 0 where it is no part of the flow. */
  #weight(at: number): number {
    const { unpricedUsd, dustUsd } = this.#options;
    const { valueUsd, unpriced } = this.#neighbours;
    const known = valueUsd[at] as number;
    const blind = unpriced[at] as number;
    return blind === 0 && known < dustUsd ? 0 : known + blind * unpricedUsd;
  }

  /** The first hop, of which the USD are known edge by edge, and the start's row for what comes back to it. */
  #leave(): void {
    const { start, direction, degreeMax, unpricedUsd, startTotal } = this.#options;
    const { graph, workspace } = this.#deps;
    const neighbours = this.#neighbours;
    const count = graph.neighbours(start, direction, degreeMax, neighbours);
    graph.prefetch?.({ nodes: neighbours.ids.subarray(0, count) });
    let read = 0;
    let flow = 0;
    let knownUsd = 0;
    for (let at = 0; at < count; at++) {
      const known = neighbours.valueUsd[at] as number;
      const weight = this.#weight(at);
      read += known + (neighbours.unpriced[at] as number) * unpricedUsd;
      knownUsd += known;
      flow += weight;
      if (weight === 0 && this.#options.dustUsd > 0) {
        this.#dust.counterparties++;
        this.#dust.transfers += neighbours.transfers[at] as number;
        this.#dust.valueUsd += known;
      }
    }
    const all = startTotal ? startTotal.valueUsd + startTotal.unpriced * unpricedUsd : read;
    const rest = all - read > all * REST_MIN ? all - read : 0;
    const total = flow + rest;
    this.#totalUsd = total;
    const isPartial = graph.degree(start, direction) > degreeMax;
    if (isPartial) this.#stops.set(start, { node: start, reason: 'MAX_DEGREE', share: 0 });
    if (total === 0) return;

    this.#begin[START] = workspace.flows.count;
    for (let at = 0; at < count; at++) {
      const weight = this.#weight(at);
      if (weight === 0) continue;
      const number = this.#meet(neighbours.ids[at] as NodeId);
      const attribution = this.#attributions[number];
      if (attribution) this.#tally(attribution, 'DIRECT').count(neighbours, at);
      workspace.flows.push(number, weight / total);
      this.#deliver(number, weight / total, neighbours.valueUsd[at] as number, 1);
    }
    this.#end[START] = workspace.flows.count;
    this.#leftOut[START] = rest / total;
    this.#state[START] = READ;
    const restKnown = Math.max(0, (startTotal?.valueUsd ?? 0) - knownUsd);
    if (rest > 0) this.#lose(this.#restReason(), START, rest / total, restKnown);
  }

  #restReason(): 'MAX_DEGREE' | 'ORIGIN' {
    return this.#stops.has(this.#options.start) ? 'MAX_DEGREE' : 'ORIGIN';
  }

  /** Numbers a node and asks whose it is. */
  #meet(node: NodeId): number {
    const number = this.#deps.workspace.seen.add(node);
    this.#attributions.push(this.#deps.attribution(node));
    return number;
  }

  #tally(attribution: A, type: RowType): Tally<A> {
    const tallies = this.#tallies[type];
    let tally = tallies.get(attribution.key);
    if (!tally) {
      tally = new Tally(attribution, type);
      tallies.set(attribution.key, tally);
    }
    return tally;
  }

  #deliver(number: number, share: number, knownUsd: number, hop: number): void {
    const attribution = this.#attributions[number];
    if (attribution) {
      const node = this.#deps.workspace.seen.nodeAt(number);
      this.#tally(attribution, hop === 1 ? 'DIRECT' : 'INDIRECT').add(hop, share, knownUsd, node);
      return;
    }
    if (this.#nextShare[number] === 0) this.#next.push(number);
    this.#nextShare[number] = (this.#nextShare[number] as number) + share;
    this.#nextKnown[number] = (this.#nextKnown[number] as number) + knownUsd;
  }

  /** What came to a node goes no further. */
  #lose(reason: UnknownReason, number: number, share: number, knownUsd: number): void {
    this.#unknown[reason] += share;
    this.#unknownKnownUsd += knownUsd;
    if (reason !== 'MAX_DEGREE' && reason !== 'BUDGET') return;
    const node = this.#deps.workspace.seen.nodeAt(number);
    const before = this.#stops.get(node)?.share ?? 0;
    this.#stops.set(node, { node, reason, share: before + share });
  }

  /** One hop further, greatest share first. */
  #follow(hop: number): void {
    const { maxHops } = this.#options;
    const { seen } = this.#deps.workspace;
    const shares = this.#nextShare;
    const knowns = this.#nextKnown;
    const numbers = this.#next.sort(
      (a, b) => (shares[b] as number) - (shares[a] as number) || seen.nodeAt(a) - seen.nodeAt(b),
    );
    this.#nextShare = this.#share;
    this.#nextKnown = this.#known;
    this.#share = shares;
    this.#known = knowns;
    this.#next = [];
    this.#nodesOfHop = Math.ceil(this.#nodesLeft / Math.min(maxHops - hop + 1, SHARING_HOPS));
    this.#announce(numbers);
    for (const number of numbers) {
      this.#pass(number, shares[number] as number, knowns[number] as number, hop);
      shares[number] = 0;
      knowns[number] = 0;
    }
  }

  /** Says what this hop will read. */
  #announce(numbers: readonly number[]): void {
    const { graph, workspace } = this.#deps;
    if (!graph.prefetch) return;
    const { direction, degreeMax } = this.#options;
    const unread = numbers.filter((number) => this.#state[number] === UNREAD);
    const nodes = unread.map((number) => workspace.seen.nodeAt(number));
    graph.prefetch({ nodes, neighbours: { directions: [direction], degreeMax, met: this.#nodesOfHop } });
  }

  /** Hands on what came to one node. */
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
    const { to, share: part } = this.#deps.workspace.flows;
    const end = this.#end[number] as number;
    for (let at = this.#begin[number] as number; at < end; at++)
      this.#deliver(to[at] as number, share * (part[at] as number), knownUsd * (part[at] as number), hop);
    const left = this.#leftOut[number] as number;
    if (left > 0)
      this.#lose(number === START ? this.#restReason() : 'BUDGET', number, share * left, knownUsd * left);
  }

  /** Makes sure that a node's row is among the flows; otherwise says why it passes nothing on. */
  #read(number: number): UnknownReason | null {
    if (this.#state[number] === UNREAD) {
      const { isOver } = this.#deps;
      if (this.#nodesOfHop === 0 || this.#edgesLeft === 0 || isOver?.()) return 'BUDGET';
      this.#state[number] = this.#readRow(number);
    }
    if (this.#state[number] === READ) return null;
    return this.#state[number] === SUPER_NODE ? 'MAX_DEGREE' : 'ORIGIN';
  }

  #readRow(number: number): typeof READ | typeof SUPER_NODE | typeof NO_ORIGIN {
    const { direction, degreeMax } = this.#options;
    const { graph, workspace } = this.#deps;
    const { seen, flows } = workspace;
    const neighbours = this.#neighbours;
    const node = seen.nodeAt(number);
    if (isSuperNode(graph, node, degreeMax)) return SUPER_NODE;
    const count = graph.neighbours(node, direction, degreeMax, neighbours);
    let total = 0;
    for (let at = 0; at < count; at++) total += this.#weight(at);
    if (total === 0) return NO_ORIGIN;

    this.#begin[number] = flows.count;
    let left = 0;
    for (let at = 0; at < count; at++) {
      const weight = this.#weight(at);
      if (weight === 0) continue;
      let other = seen.find(neighbours.ids[at] as NodeId);
      if (this.#edgesLeft === 0 || (other === UNSEEN && this.#nodesOfHop === 0)) {
        left += weight;
        continue;
      }
      if (other === UNSEEN) {
        other = this.#meet(neighbours.ids[at] as NodeId);
        this.#nodesOfHop--;
        this.#nodesLeft--;
      }
      this.#edgesLeft--;
      flows.push(other, weight / total);
      const attribution = this.#attributions[other];
      if (attribution) this.#tally(attribution, 'INDIRECT').count(neighbours, at);
    }
    this.#end[number] = flows.count;
    this.#leftOut[number] = left / total;
    return READ;
  }

  #result(): ExposureResult<A> {
    const { DIRECT, INDIRECT } = this.#tallies;
    const share = Object.values(this.#unknown).reduce((sum, part) => sum + part, 0);
    const isKnown = this.#unknownKnownUsd > 0 || share === 0;
    return {
      rows: [...DIRECT.values(), ...INDIRECT.values()].sort(compareTallies).map(rowOf),
      unknown: {
        share,
        byReason: this.#unknown,
        valueUsd: isKnown ? this.#unknownKnownUsd : null,
      },
      totalUsd: this.#totalUsd,
      dust: this.#dust,
      stops: [...this.#stops.values()].sort((a, b) => b.share - a.share || a.node - b.node),
      isComplete: this.#stops.size === 0,
      nodesSeen: this.#deps.workspace.seen.size,
    };
  }
}
