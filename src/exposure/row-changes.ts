/**
 * Decides whether new transfers change the row of an address: the shares by which it passes value on. Dust does not change it unless
 * the row follows dust, so dust cannot keep entries pending without a reason.
 */
import { type Direction, OPPOSITE } from '../graph/flow.ts';
import {
  createNeighbourColumns,
  NOBODY,
  type NodeId,
  type RowScan,
  type TransferGraph,
} from '../graph/graph.ts';
import type { RowReader } from '../graph/kernels/rows.ts';
import { isPriced, type RowBasis, type Weighing } from '../graph/kernels/weighing.ts';

/** Sums that moved between two addresses in one round, by asset number. */
export interface Moved {
  readonly from: NodeId;
  readonly to: NodeId;
  readonly amounts: Map<number, number>;
}

/** Amounts that moved at one address in one round. */
export interface MovedAt {
  readonly edges: Readonly<Record<Direction, Moved[]>>;
  readonly amounts: Readonly<Record<Direction, Map<number, number>>>;
}

const NO_COLUMNS = createNeighbourColumns(0);

/**
 * The rate of an asset also weighs its transfers without a price. If the priced transfers are worth at least this many times the dust
 * limit, dust changes the rate by at most one percent.
 */
const RATE_DUSTS = 100;

/** Groups the amounts that moved in a round by address. */
export function byAddress(edges: Iterable<Moved>): Map<NodeId, MovedAt> {
  const found = new Map<NodeId, MovedAt>();
  const note = (node: NodeId, direction: Direction, moved: Moved): void => {
    if (node === NOBODY) return;
    const known = found.get(node) ?? {
      edges: { in: [], out: [] },
      amounts: { in: new Map<number, number>(), out: new Map<number, number>() },
    };
    found.set(node, known);
    known.edges[direction].push(moved);
    const sums = known.amounts[direction];
    for (const [asset, amount] of moved.amounts) sums.set(asset, (sums.get(asset) ?? 0) + amount);
  };
  for (const moved of edges) {
    note(moved.from, 'out', moved);
    note(moved.to, 'in', moved);
  }
  return found;
}

/** Compares the rows of one graph with those before a round. */
export class RowChanges {
  readonly #graph: TransferGraph;
  readonly #rows: RowReader;
  readonly #weighing: Pick<Weighing, 'dustUsd' | 'dustShare'>;

  constructor(graph: TransferGraph, rows: RowReader, weighing: Pick<Weighing, 'dustUsd' | 'dustShare'>) {
    this.#graph = graph;
    this.#rows = rows;
    this.#weighing = weighing;
  }

  /** Returns true if an asset without a price moved: its dust limit depends on the opposite direction. */
  hasUnpriced(node: NodeId, { amounts }: MovedAt): boolean {
    return (['in', 'out'] as const).some((direction) =>
      this.#rows
        .evidenceSums(node, direction)
        .some((flow) => !isPriced(flow) && (amounts.in.has(flow.asset) || amounts.out.has(flow.asset))),
    );
  }

  /** Returns true if the transfers change the shares by which the address passes value on, in USD or of any asset. */
  changes(node: NodeId, direction: Direction, at: MovedAt): boolean {
    const basis = this.#rows.basisOf(node, direction);
    return (
      this.#changesRate(node, direction, at) ||
      this.#changesRow(node, direction, basis, at) ||
      this.#rows.apartOf(node, direction).some((apart) => this.#changesRow(node, direction, apart, at)) ||
      this.#losesAsset(node, direction, at)
    );
  }

  /**
   * Returns true if the transfers change the rate of an asset that also moved without a price, because little or none of it had a price
   * before.
   */
  #changesRate(node: NodeId, direction: Direction, { amounts }: MovedAt): boolean {
    return this.#rows.evidenceSums(node, direction).some((flow) => {
      const amount = amounts[direction].get(flow.asset);
      if (amount === undefined || flow.unpriced === 0 || !isPriced(flow)) return false;
      const usd = flow.cents / 100;
      const usdBefore = usd - (usd * amount) / flow.pricedAmount;
      return usdBefore <= Math.max(RATE_DUSTS * this.#weighing.dustUsd, usd * 1e-9);
    });
  }

  #changesRow(node: NodeId, direction: Direction, basis: RowBasis, at: MovedAt): boolean {
    // A row of nothing, or of value below one cent, is empty and was empty before.
    if (basis.basis === 'NOTHING' || basis.dust === Number.POSITIVE_INFINITY) return false;
    if (basis.basis === 'UNKNOWN') return this.#wasWeighed(node, direction, at);
    const { rates, total, assetId } = basis;
    const weigh = (amounts: ReadonlyMap<number, number>): number =>
      [...amounts].reduce((sum, [asset, amount]) => sum + (rates.get(asset) ?? 0) * amount, 0);
    const weighed = weigh(at.amounts[direction]);
    const back = assetId === null ? 0 : (at.amounts[OPPOSITE[direction]].get(assetId) ?? 0);
    if (weighed === 0 && back === 0) {
      // If the sum is below the limit, the value that moved in the opposite direction decides whether it is followed.
      return basis.basis === 'USD' && total < basis.dust && at.edges[OPPOSITE[direction]].length > 0;
    }
    const before = { ...basis, total: total - weighed, dust: this.#dustBefore(node, direction, basis, at) };
    if (before.total < before.dust || before.total <= 0) return true;
    let lightAdded = 0;
    for (const { from, to, amounts } of at.edges[direction]) {
      const added = weigh(amounts);
      if (added === 0) continue;
      const isEdge = from !== NOBODY && to !== NOBODY;
      if ((isEdge ? this.#weightOf(from, to, rates) : added) >= basis.dust) return true;
      if (isEdge) lightAdded += added;
    }
    const now = this.#scan(node, direction, basis);
    if (before.dust !== basis.dust && this.#scan(node, direction, before).heavy !== now.heavy) return true;
    if (this.#rows.followsDust(node, direction, basis, now.light.weight)) return true;
    return this.#rows.followsDust(node, direction, before, now.light.weight - lightAdded);
  }

  /** Returns true if a direction that cannot be weighed now had only one asset before. */
  #wasWeighed(node: NodeId, direction: Direction, { amounts }: MovedAt): boolean {
    const unpricedBefore = this.#rows
      .evidenceSums(node, direction)
      .filter((flow) => !isPriced(flow) && flow.amount > (amounts[direction].get(flow.asset) ?? 0));
    return unpricedBefore.length < 2;
  }

  /** Returns true if the whole of an asset is dust now, compared with the opposite direction, and was not before. */
  #losesAsset(node: NodeId, direction: Direction, { amounts }: MovedAt): boolean {
    const back = this.#rows.evidenceSums(node, OPPOSITE[direction]);
    return this.#rows.evidenceSums(node, direction).some(({ asset, cents, amount }) => {
      if (cents > 0 || amount === 0) return false;
      const other = back.find((flow) => flow.asset === asset)?.amount ?? 0;
      const otherBefore = other - (amounts[OPPOSITE[direction]].get(asset) ?? 0);
      if (otherBefore === other) return false;
      const before = amount - (amounts[direction].get(asset) ?? 0);
      return amount < this.#weighing.dustShare * other && before >= this.#weighing.dustShare * otherBefore;
    });
  }

  /** Returns the dust limit before the round: that of an asset depends on its larger flow. */
  #dustBefore(node: NodeId, direction: Direction, { assetId, total, dust }: RowBasis, at: MovedAt): number {
    if (assetId === null) return dust;
    const back = this.#rows.evidenceSums(node, OPPOSITE[direction]).find(({ asset }) => asset === assetId);
    const here = total - (at.amounts[direction].get(assetId) ?? 0);
    const there = (back?.amount ?? 0) - (at.amounts[OPPOSITE[direction]].get(assetId) ?? 0);
    return this.#weighing.dustShare * Math.max(here, there);
  }

  #scan(node: NodeId, direction: Direction, basis: RowBasis): RowScan {
    return this.#rows.read(node, direction, basis, 0, NO_COLUMNS);
  }

  #weightOf(from: NodeId, to: NodeId, rates: RowBasis['rates']): number {
    const byName = new Map([...rates].map(([asset, rate]) => [this.#graph.assetName(asset), rate]));
    return this.#graph
      .edge(from, to)
      .reduce((sum, { asset, amount }) => sum + (byName.get(asset) ?? 0) * Number(amount), 0);
  }
}
