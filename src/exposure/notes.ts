/**
 * The notes of entries: reasons that come from single transfers (forged ones, look-alike addresses) and add no points. Reading them costs
 * as much as a small walk, so that they are read only of addresses that can have any.
 */
import { lookAlikeKey } from '../chains/look-alike.ts';
import { chainOf } from '../chains/registry.ts';
import type { Direction } from '../graph/flow.ts';
import { createNeighbourColumns, type NodeId, type TransferGraph } from '../graph/graph.ts';
import type { Weighing } from '../graph/kernels/rows.ts';
import type { TransferReader } from '../graph/transfers.ts';
import type { Attributions } from '../screening/attribution.ts';
import type { SpoofingDeps } from '../screening/spoofable.ts';
import { notesOf } from './evaluate.ts';
import type { NodeKinds } from './kinds.ts';
import type { ExposureRecord } from './record.ts';
import { type DirectionRows, ROW } from './rows.ts';

/** Counterparties of each direction that are looked through before notes are read at once: beyond them, looking costs more than reading. */
const LOOKED_THROUGH_MAX = 2_000;

const DIRECTIONS: readonly Direction[] = ['in', 'out'];
const NO_NOTES: ExposureRecord['notes'] = [];

export interface NotesInput {
  readonly graph: TransferGraph;
  readonly attributions: Attributions;
  readonly kinds: NodeKinds<unknown>;
  readonly rows: Readonly<Record<Direction, DirectionRows>>;
  readonly weighing: Weighing;
}

export interface NotesDeps extends SpoofingDeps {
  readonly transfers: SpoofingDeps['transfers'] & Pick<TransferReader, 'totals'>;
}

/**
 * Returns what reads the notes of one address after another.
 *
 * A forged transfer needs a token, and is noted if its counterparty is a risk. A look-alike address needs a transfer that is worth nothing (a token, or
 * dust), and a counterparty that it looks like.
 */
export function createNotesReader(
  { graph, attributions, kinds, rows, weighing }: NotesInput,
  deps: NotesDeps,
): (node: NodeId) => ExposureRecord['notes'] {
  const { chain } = graph;
  const native = chainOf(chain).symbol;
  const isToken = new Map<number, boolean>();
  const shapes = new Map<NodeId, string | null>();
  const columns = createNeighbourColumns(LOOKED_THROUGH_MAX);

  function isTokenNumber(asset: number): boolean {
    let found = isToken.get(asset);
    if (found === undefined) {
      found = graph.assetName(asset) !== native;
      isToken.set(asset, found);
    }
    return found;
  }

  function shapeOf(node: NodeId): string | null {
    let shape = shapes.get(node);
    if (shape === undefined) {
      shape = lookAlikeKey(chain, graph.addressOf(node));
      if (shapes.size >= SHAPES_KEPT) shapes.clear();
      shapes.set(node, shape);
    }
    return shape;
  }

  /** True if two counterparties look alike, or one is a risk and tokens moved; also if there are too many to look through. */
  function mayHaveNotes(node: NodeId, hasTokens: boolean): boolean {
    const seen = new Map<string, NodeId>();
    for (const direction of DIRECTIONS) {
      if (graph.degree(node, direction) > LOOKED_THROUGH_MAX) return true;
      const count = graph.neighbours(node, direction, LOOKED_THROUGH_MAX, columns);
      for (let at = 0; at < count; at++) {
        const other = columns.ids[at] as NodeId;
        if (hasTokens && (kinds.kinds[other] as number) >= 0) return true;
        const shape = shapeOf(other);
        if (shape === null) continue;
        const known = seen.get(shape);
        if (known !== undefined && known !== other) return true;
        seen.set(shape, other);
      }
    }
    return false;
  }

  return (node) => {
    const isSmall = (((rows.in.flags[node] as number) | (rows.out.flags[node] as number)) & ROW.SMALL) !== 0;
    const sums = graph.sums(node);
    const hasTokens = DIRECTIONS.some((direction) =>
      sums[direction].some(({ asset }) => isTokenNumber(asset)),
    );
    if ((!isSmall && !hasTokens) || !mayHaveNotes(node, hasTokens)) return NO_NOTES;
    const key = graph.keyOf(node);
    return notesOf(
      {
        subject: { chain, key },
        place: { graph, node, attributions, weighing },
        totals: deps.transfers.totals(chain, key),
      },
      deps,
    );
  };
}

/** Shapes of addresses that are remembered: about 100 MB. */
const SHAPES_KEPT = 1_000_000;
