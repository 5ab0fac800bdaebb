/** Computes entries from the results of sweeps: the evidence of an address's direct counterparties and of the shares beyond them. */
import type { Direction } from '../graph/flow.ts';
import type { NodeId, TransferGraph } from '../graph/graph.ts';
import type { Weighing } from '../graph/kernels/weighing.ts';
import { createKernelWorkspace } from '../graph/kernels/workspace.ts';
import { type ExposureEvidence, isFirmLabel, isRisky } from '../risk/evidence.ts';
import { greaterUnfollowed, relevantParts, type Unfollowed } from '../risk/reasons.ts';
import type { DerivedReading } from '../screening/attribution.ts';
import type { Attributions } from '../screening/attributions.ts';
import { earlierDealings } from '../screening/before-designation.ts';
import { createSideReader, emptySide, type Side } from '../screening/counterparties.ts';
import type { ScreeningDeps } from '../screening/deps.ts';
import {
  createSentTo,
  directEvidence,
  type Measure,
  measureOf,
  withSpent,
} from '../screening/direct-evidence.ts';
import { ALL_FOLLOWED, unfollowedOf } from '../screening/exposures.ts';
import { labelEvidence } from '../screening/judge.ts';
import { basisApart, type DirectionBasis, directionBasis, weighingOf } from '../screening/weighing.ts';
import { type RiskColumn, recordOf } from './evaluate.ts';
import { NEUTRAL, type NodeKinds } from './kinds.ts';
import { mayHaveNotes, readNotes, rememberedShapes, SeenShapes, suspectedNotes } from './notes.ts';
import { type ExposureRecord, isEmptyRecord } from './record.ts';
import { type DirectionRows, IS_BEFORE, nodeAt, ROW } from './rows.ts';
import type { SweptShares } from './sweep.ts';

type PerDirection<T> = Readonly<Record<Direction, T>>;

/** The flows of all addresses, followed with derived labels counted or left out (`DerivedReading`). */
export interface SweptReading {
  readonly derived: DerivedReading;
  readonly kinds: NodeKinds<RiskColumn>;
  readonly shares: PerDirection<SweptShares>;
}

/** Inputs for the entries of one graph. */
export interface Swept {
  readonly graph: TransferGraph;
  readonly attributions: Attributions;
  readonly rows: PerDirection<DirectionRows>;
  readonly counted: SweptReading;
  /** Null if no derived or weak label marks a risk. */
  readonly leftOut: SweptReading | null;
  /** By node: 1 if it may have a forged transfer with a risky address (`markForgeable`); null if unknown for all nodes. */
  readonly forgeable: Uint8Array | null;
  readonly maxHops: number;
}

export type EntryDeps = Pick<ScreeningDeps, 'labels' | 'transfers' | 'assets' | 'policy'>;

const DIRECTIONS: readonly Direction[] = ['in', 'out'];
/** Sides are read only for their counterparties. */
const NO_FLOW = { transfers: 0, unpricedTransfers: 0, valueUsd: null, byAsset: [] };
/** Value without a risk. */
const UNKNOWN = { category: 'UNKNOWN', hops: 1, confidence: 1, class: 'published', entity: null } as const;

/** Like `DirectionRows.attributed`, for labels other than those with which the rows were read. */
function attributedShare(rows: DirectionRows, { kinds, before }: NodeKinds<RiskColumn>, row: number): number {
  const { start, other, share } = rows;
  let sum = 0;
  for (let at = start[row] as number; at < (start[row + 1] as number); at++) {
    const to = other[at] as number;
    const isBefore = to >= IS_BEFORE;
    const id = nodeAt(rows, to);
    const kind = isBefore ? (before.get(id)?.kind ?? NEUTRAL) : (kinds[id] as number);
    if (kind >= 0 || kind === NEUTRAL) sum += share[at] as number;
  }
  return sum;
}

const hasShares = ({ start }: SweptShares, from: number, to: number): boolean => start[from] !== start[to];

const NOTHING_APART = { unfollowed: [], isFlowUnseen: false };

/** A row to convert to evidence. */
interface ReadRow {
  readonly reading: SweptReading;
  readonly direction: Direction;
  /** Whether direct evidence is also read. */
  readonly isDirect: boolean;
  /** Row number. */
  readonly row: number;
  readonly basis: DirectionBasis | null;
}

/** Computes the entries of addresses, one after another. */
export class Entries {
  readonly #swept: Swept;
  readonly #deps: EntryDeps;
  readonly #weighing: Weighing;
  readonly #readSide = createSideReader(createKernelWorkspace());
  readonly #shapeOf: (node: NodeId) => number;
  readonly #seen = new SeenShapes();

  constructor(swept: Swept, deps: EntryDeps) {
    const { graph } = swept;
    this.#swept = swept;
    this.#deps = deps;
    this.#weighing = weighingOf(graph.chain, deps);
    this.#shapeOf = rememberedShapes(graph);
  }

  /**
   * Returns true for addresses for which a walk gives another result: hubs, addresses with very many counterparties, and addresses with
   * a risky label of their own.
   */
  needsWalk(node: NodeId): boolean {
    if (this.#has(node, ROW.ALONE)) return true;
    const { kinds, columns } = this.#swept.counted.kinds;
    const kind = kinds[node] as number;
    // Dealings within the address's own entity are neutral, and columns do not contain the entity.
    return kind >= 0 && (columns[kind] as RiskColumn).isFirm;
  }

  /** Returns the entry of an address that needs no walk; null if it has none. */
  entryOf(node: NodeId): ExposureRecord | null {
    const { counted, leftOut } = this.#swept;
    const { policy } = this.#deps;
    const isDirect = this.#has(node, ROW.RISKY);
    const isEarlier = this.#has(node, ROW.EARLIER);
    const isFound = DIRECTIONS.some((direction) => {
      const [from, to] = this.#apartOf(node, direction);
      const { shares } = counted;
      return hasShares(shares[direction], node, node + 1) || hasShares(shares[direction], from, to);
    });
    const isSuspected = this.#has(node, ROW.SUSPECTED);
    const sides = isDirect || isEarlier || isSuspected ? this.#sidesOf(node) : [];
    const notes = [...suspectedNotes(sides), ...(this.#mayHaveNotes(node) ? this.#notesAt(node) : [])];
    const isAssetLeft = DIRECTIONS.some((direction) => this.#isAssetLeft(node, direction));
    if (!isDirect && !isEarlier && !isFound && !isAssetLeft && notes.length === 0) return null;
    const first = this.#read(node, isDirect ? sides : null, counted);
    const isPassable = (item: ExposureEvidence): boolean =>
      isRisky(item.category, policy) && !isFirmLabel(item, policy);
    const second =
      leftOut !== null && first.exposures.some(isPassable)
        ? this.#read(node, isDirect ? sides : null, leftOut)
        : null;
    const record = recordOf(
      {
        exposures: first.exposures,
        exposuresLeftOut: second?.exposures ?? null,
        isService: this.#isService(node),
        unfollowed: DIRECTIONS.flatMap((direction) =>
          relevantParts(
            direction,
            greaterUnfollowed(first.unfollowed[direction], second?.unfollowed[direction] ?? []),
            this.#isAssetLeft(node, direction),
            policy,
          ),
        ),
        earlier: isEarlier ? earlierDealings(sides) : [],
        notes,
        flowsUnseen: {
          in: first.isFlowUnseen.in || second?.isFlowUnseen.in === true,
          out: first.isFlowUnseen.out || second?.isFlowUnseen.out === true,
        },
      },
      policy,
    );
    return isEmptyRecord(record) ? null : record;
  }

  /** Returns true if more assets without a price moved than a walk follows. A service trades with everybody: it needs no reason. */
  #isAssetLeft(node: NodeId, direction: Direction): boolean {
    const { rows, attributions } = this.#swept;
    const flags = rows[direction].flags[node] as number;
    return (flags & ROW.ASSET_LEFT) !== 0 && !attributions.of(node).isService;
  }

  /** Returns the range of row numbers of a node's separate assets. */
  #apartOf(node: NodeId, direction: Direction): readonly [from: number, to: number] {
    const { apart, flags } = this.#swept.rows[direction];
    return [flags.length + (apart.start[node] as number), flags.length + (apart.start[node + 1] as number)];
  }

  #has(node: NodeId, flag: number): boolean {
    const { rows } = this.#swept;
    return (((rows.in.flags[node] as number) | (rows.out.flags[node] as number)) & flag) !== 0;
  }

  /** Returns true if a forged transfer with a risky counterparty is possible, or if two counterparties look alike. */
  #mayHaveNotes(node: NodeId): boolean {
    const { graph, rows, counted, forgeable } = this.#swept;
    if (forgeable?.[node] === 1) return true;
    const { kinds } = counted.kinds;
    const isRisk = forgeable === null ? (other: NodeId): boolean => (kinds[other] as number) >= 0 : null;
    if (isRisk !== null || this.#has(node, ROW.OTHERS))
      return mayHaveNotes(graph, node, isRisk, this.#shapeOf);
    const isLight = DIRECTIONS.some(
      (direction) => rows[direction].lightStart[node] !== rows[direction].lightStart[node + 1],
    );
    if (!isLight) return false;
    this.#seen.clear();
    let isAlike = false;
    const add = (other: NodeId): void => {
      if (this.#seen.add(this.#shapeOf(other), other)) isAlike = true;
    };
    add(node);
    for (const direction of DIRECTIONS) {
      const { start, other, lightStart, light } = rows[direction];
      for (let at = start[node] as number; at < (start[node + 1] as number); at++)
        add(nodeAt(rows[direction], other[at] as number));
      for (let at = lightStart[node] as number; at < (lightStart[node + 1] as number); at++)
        add(light[at] as number);
    }
    return isAlike;
  }

  #notesAt(node: NodeId): ExposureRecord['notes'] {
    const { graph, attributions } = this.#swept;
    const key = graph.keyOf(node);
    return readNotes(
      {
        subject: { chain: graph.chain, key },
        place: { graph, node, attributions, weighing: this.#weighing },
        totals: this.#deps.transfers.totals(graph.chain, key),
      },
      this.#deps,
    );
  }

  #isService(node: NodeId): boolean {
    const { graph, counted } = this.#swept;
    const kind = counted.kinds.kinds[node] as number;
    if (kind < 0 && kind !== NEUTRAL) return false;
    const { labels, policy } = this.#deps;
    return labelEvidence(labels.current.lookup(graph.keyOf(node), graph.chain), policy).isService;
  }

  #sidesOf(node: NodeId): Side[] {
    const { graph, attributions } = this.#swept;
    return DIRECTIONS.map((direction) => {
      if (graph.degree(node, direction) === 0) return emptySide(direction, NO_FLOW);
      const weighing = this.#weighing;
      return this.#readSide({ graph, node, direction, flow: NO_FLOW, attributions, weighing });
    });
  }

  /** Returns the evidence of one reading, and the value that was not followed. `sides` is null if no direct counterparty is a risk. */
  #read(node: NodeId, sides: readonly Side[] | null, reading: SweptReading) {
    const { graph, attributions } = this.#swept;
    const exposures: ExposureEvidence[] =
      sides === null
        ? []
        : directEvidence(sides, {
            policy: this.#deps.policy,
            own: attributions.of(node),
            sentTo: createSentTo(graph, node, this.#weighing),
            derived: reading.derived,
          });
    const isDirect = sides !== null;
    const unfollowed: Record<Direction, readonly Unfollowed[]> = { in: [], out: [] };
    const isFlowUnseen = { in: false, out: false };
    for (const direction of DIRECTIONS) {
      const main = this.#readDirection(reading, node, direction, isDirect, exposures);
      const apart = this.#readApart(reading, node, direction, isDirect, exposures);
      isFlowUnseen[direction] = apart.isFlowUnseen || main.hub > 0;
      unfollowed[direction] = [main, ...apart.unfollowed];
    }
    const hasUnpriced = exposures.some(({ direction, asset }) => direction === 'in' && asset !== null);
    if (!hasUnpriced) return { exposures, unfollowed, isFlowUnseen };
    const received = directionBasis(graph, node, 'in', this.#weighing);
    return { exposures: withSpent(exposures, received, this.#deps.policy), unfollowed, isFlowUnseen };
  }

  /** Adds the evidence of assets without a price that are followed separately. Returns the value that was not followed. */
  #readApart(
    reading: SweptReading,
    node: NodeId,
    direction: Direction,
    isDirect: boolean,
    into: ExposureEvidence[],
  ): { readonly unfollowed: readonly Unfollowed[]; readonly isFlowUnseen: boolean } {
    const [from, to] = this.#apartOf(node, direction);
    const shares = reading.shares[direction];
    if (!isDirect && !hasShares(shares, from, to)) return NOTHING_APART;
    const { graph } = this.#swept;
    const whole = directionBasis(graph, node, direction, this.#weighing);
    const unfollowed: Unfollowed[] = [];
    for (const [at, followed] of whole.followedApart.entries()) {
      const basis = basisApart(followed, whole);
      unfollowed.push(this.#readRow({ reading, direction, isDirect, row: from + at, basis }, into));
    }
    const isUnseen = hasShares(shares, from + whole.followedApart.length, to);
    return { unfollowed, isFlowUnseen: isUnseen || unfollowed.some(({ hub }) => hub > 0) };
  }

  /**
   * Adds the indirect evidence of one direction, and neutral value if direct evidence is not read.
   *
   * @returns the value that was not followed
   */
  #readDirection(
    reading: SweptReading,
    node: NodeId,
    direction: Direction,
    isDirect: boolean,
    into: ExposureEvidence[],
  ): Unfollowed {
    const { graph, rows } = this.#swept;
    const { total, flags } = rows[direction];
    if (total[node] === 0) return ALL_FOLLOWED;
    const isAsset = ((flags[node] as number) & ROW.IS_ASSET) !== 0;
    // Only an asset without a price needs its name and its share of the larger flow.
    const basis = isAsset ? directionBasis(graph, node, direction, this.#weighing) : null;
    return this.#readRow({ reading, direction, isDirect, row: node, basis }, into);
  }

  /** Like `#readDirection`, for one row. Its basis is null if it is weighed in USD. */
  #readRow({ reading, direction, isDirect, row: at, basis }: ReadRow, into: ExposureEvidence[]): Unfollowed {
    const { rows, maxHops } = this.#swept;
    const { kinds, shares } = reading;
    const hubColumn = kinds.columns.length;
    const { start, item, share } = shares[direction];
    const row = rows[direction];
    const value = row.total[at] as number;
    if (value === 0) return { ...ALL_FOLLOWED, asset: basis?.asset ?? null };
    const ofAsset = basis === null ? null : { ...basis, total: value };
    const measured = (part: number): Measure =>
      ofAsset === null ? { asset: null, valueUsd: value * part, share: part } : measureOf(ofAsset, part);
    let hubs = 0;
    let risks = 0;
    for (let found = start[at] as number; found < (start[at + 1] as number); found++) {
      const column = Math.floor((item[found] as number) / maxHops);
      const hops = ((item[found] as number) % maxHops) + 1;
      const part = share[found] as number;
      if (column === hubColumn) {
        hubs += part;
        continue;
      }
      if (hops === 1) continue;
      risks += part;
      const { category, confidence, class: evidenceClass } = kinds.columns[column] as RiskColumn;
      // Set field by field: a build creates forty million of them, and a spread takes most of a second per million.
      const measure = measured(part);
      into.push({
        category,
        direction,
        hops,
        asset: measure.asset,
        valueUsd: measure.valueUsd,
        share: measure.share,
        flowPart: measure.flowPart ?? 1,
        confidence,
        class: evidenceClass,
        entity: null,
      });
    }
    const neutral = { ...UNKNOWN, direction };
    const dust = row.neutralDust[at] as number;
    if (isDirect || basis !== null) {
      const isCounted = reading === this.#swept.counted;
      const known = isCounted ? (row.attributed[at] as number) : attributedShare(row, kinds, at);
      into.push({ ...neutral, ...measured(Math.max(0, 1 - known - risks)) });
      if (!isDirect && basis !== null)
        into.push({ ...neutral, ...measured((value * known + dust) / basis.total) });
    } else {
      const valueUsd = value * Math.max(0, 1 - risks) + dust;
      into.push({ ...neutral, asset: null, valueUsd, share: 1 - risks });
    }
    if (basis !== null) return unfollowedOf(basis, value, { hub: hubs, cut: 0 });
    // As in `unfollowedOf`: a total that is dust gives no reason.
    return value < this.#weighing.dustUsd
      ? ALL_FOLLOWED
      : { asset: null, hub: hubs, cut: 0, valueUsd: value };
  }
}
