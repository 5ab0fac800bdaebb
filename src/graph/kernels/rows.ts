/** How the edges of an address are weighed: which assets are evidence, what a share is a share of, and which edges are dust. */
import { LIMITS } from '../../base/limits.ts';
import type { Direction } from '../flow.ts';
import type { RowQuery, RowScan, TransferGraph } from '../graph.ts';
import { type AssetSums, createNeighbourColumns, type NeighbourColumns, type NodeId } from '../graph.ts';

/** Which transfers have weight, and which are dust. */
export interface Weighing {
  /** Returns true if transfers of the asset are evidence. Others are ignored: anybody can forge them. */
  readonly isEvidence: (asset: string) => boolean;
  /** Edges below this are dust, if the direction is weighed in USD; 0 keeps all. */
  readonly dustUsd: number;
  /** The same by share of the asset's greater flow (in or out), if the direction is weighed by the amount of one asset. */
  readonly dustShare: number;
}

/**
 * Unit of the weights of a direction: USD if more than dust in it has a price, else the amount of its only asset without one. UNKNOWN:
 * several assets moved and none has a price. NOTHING: no evidence moved.
 */
export type Basis = 'USD' | 'ASSET' | 'UNKNOWN' | 'NOTHING';

export interface RowBasis {
  readonly basis: Basis;
  /** The asset of basis ASSET; null otherwise. */
  readonly asset: string | null;
  /** Weight of the smallest unit, by number of the asset. */
  readonly rates: ReadonlyMap<number, number>;
  /** Weight of all that moved in the direction, also without a counterparty. */
  readonly total: number;
  /** Edges below this weight are dust. */
  readonly dust: number;
}

const NO_COLUMNS = createNeighbourColumns(0);

/** Returns true if the flow has a rate: USD of its priced amount. Amounts without a price then count at the same rate. */
export const isPriced = ({ cents, unpriced, pricedAmount }: AssetSums): boolean =>
  unpriced === 0 || (cents > 0 && pricedAmount > 0);

/** USD of the smallest unit; 0 without a price. */
const usdRate = (flow: AssetSums): number =>
  isPriced(flow) && flow.cents > 0 ? flow.cents / 100 / flow.pricedAmount : 0;

/** USD of flows, at the rate of each. Flows with prices throughout count in cents, so that the sum does not depend on the order of adding. */
function usdOf(flows: readonly AssetSums[]): number {
  let cents = 0;
  let atRate = 0;
  for (const flow of flows) {
    if (flow.unpriced === 0) cents += flow.cents;
    else atRate += usdRate(flow) * flow.amount;
  }
  return cents / 100 + atRate;
}

/** Reads rows of one graph. Made once per call of a kernel: it remembers which assets are evidence. */
export class RowReader {
  readonly #graph: TransferGraph;
  readonly #weighing: Weighing;
  readonly #seenUntilMs: number;
  readonly #known = new Map<number, boolean>();
  #node: NodeId = 0;
  #sums: Readonly<Record<Direction, readonly AssetSums[]>> = { in: [], out: [] };

  constructor(graph: TransferGraph, weighing: Weighing, seenUntilMs = Number.POSITIVE_INFINITY) {
    this.#graph = graph;
    this.#weighing = weighing;
    this.#seenUntilMs = seenUntilMs;
  }

  readonly isEvidence = (asset: number): boolean => {
    const known = this.#known.get(asset);
    if (known !== undefined) return known;
    const found = this.#weighing.isEvidence(this.#graph.assetName(asset));
    this.#known.set(asset, found);
    return found;
  };

  /** The flows of evidence assets in one direction. */
  evidenceSums(node: NodeId, direction: Direction): AssetSums[] {
    if (this.#node !== node) {
      this.#sums = this.#graph.sums(node);
      this.#node = node;
    }
    return this.#sums[direction].filter(({ asset }) => this.isEvidence(asset));
  }

  /**
   * How a direction of a node is weighed. Transfers of a priced asset have the average rate of those with a price, also those without:
   * within one asset shares are by amount, and no transfer without a price changes what another is worth. Without any price, the only
   * asset that moved is weighed by its amount.
   */
  basisOf(node: NodeId, direction: Direction): RowBasis {
    const { dustUsd, dustShare } = this.#weighing;
    const moved = this.evidenceSums(node, direction).filter(({ amount }) => amount > 0);
    const usd = usdOf(moved);
    const unpriced = moved.filter((flow) => !isPriced(flow));
    // Beside assets without a price, priced dust decides nothing: else anybody could end a walk for a cent.
    if (usd > 0 && (unpriced.length === 0 || usd >= dustUsd)) {
      const rates = new Map(moved.map((flow) => [flow.asset, usdRate(flow)]));
      return { basis: 'USD', asset: null, rates, total: usd, dust: dustUsd };
    }
    const weighed = unpriced.length > 0 ? unpriced : moved;
    const [only] = weighed;
    if (only === undefined) return { basis: 'NOTHING', asset: null, rates: new Map(), total: 0, dust: 0 };
    const rates = new Map(moved.map((flow) => [flow.asset, 0]));
    if (weighed.length > 1) return { basis: 'UNKNOWN', asset: null, rates, total: 0, dust: 0 };
    rates.set(only.asset, 1);
    const other = this.evidenceSums(node, direction === 'in' ? 'out' : 'in').find(
      ({ asset }) => asset === only.asset,
    );
    const dust = dustShare * Math.max(only.amount, other?.amount ?? 0);
    return { basis: 'ASSET', asset: this.#graph.assetName(only.asset), rates, total: only.amount, dust };
  }

  /** Reads the edges of a direction that are at or above dust, greatest first. */
  read(
    node: NodeId,
    direction: Direction,
    { rates, dust }: RowBasis,
    limit: number,
    into: NeighbourColumns,
  ): RowScan {
    return this.#graph.row(node, direction, this.#query(rates, rates, dust, limit), into);
  }

  /** Reads all edges of evidence, also of dust: by USD, those without a price behind, by amount. */
  readAll(node: NodeId, direction: Direction, limit: number, into: NeighbourColumns): number {
    const evidence = new Set(this.evidenceSums(node, direction).map(({ asset }) => asset));
    const query = this.#query(evidence, null, Number.NEGATIVE_INFINITY, limit);
    return this.#graph.row(node, direction, query, into).count;
  }

  /** True for an address that no walk passes, whichever way it goes: so many counterparties are those of a service that no label names. */
  isHub(node: NodeId, degreeMax: number): boolean {
    return this.isHubIn(node, 'out', degreeMax) || this.isHubIn(node, 'in', degreeMax);
  }

  /**
   * True if more than `degreeMax` counterparties of the direction are at or above dust, or if there are so many that dust makes up
   * more than half of what moved: then it is no attack, but small customers. Edges of dust, of unknown tokens or without value
   * therefore cut no walk.
   */
  isHubIn(node: NodeId, direction: Direction, degreeMax: number): boolean {
    const degree = this.#graph.degree(node, direction);
    if (degree <= degreeMax) return false;
    if (degree > LIMITS.rowScanMax) return true;
    const { rates, total, dust } = this.basisOf(node, direction);
    // Weights of several assets without a price are all 0: nothing passes such an address anyway.
    if (total === 0) return false;
    const query = { ...this.#query(rates, rates, dust, 0), enough: degreeMax };
    const { heavy, light } = this.#graph.row(node, direction, query, NO_COLUMNS);
    return heavy > degreeMax || light.weight > total / 2;
  }

  #query(evidence: RowQuery['evidence'], rates: RowQuery['rates'], least: number, limit: number): RowQuery {
    return { evidence, rates, least, limit, seenUntilMs: this.#seenUntilMs };
  }
}
