/**
 * Keeps an index up to date with the log of its chain, whichever process writes the log. The addresses of new transfers are recomputed
 * at once; addresses that pass value on through them within reach become pending and are recomputed in the background. A change that
 * cannot reach others (dust, an unknown token, an address without any risk around it) makes none pending.
 */
import type { Clock } from '../base/clock.ts';
import type { ChainId } from '../chains/registry.ts';
import { type Direction, OPPOSITE } from '../graph/flow.ts';
import { createNeighbourColumns, NOBODY, type NodeId, type TransferGraph } from '../graph/graph.ts';
import { RowReader } from '../graph/kernels/rows.ts';
import { isPriced, type Weighing } from '../graph/kernels/weighing.ts';
import { GRAPH_LIMITS } from '../graph/limits.ts';
import type { TransferStore } from '../graph/store.ts';
import { NO_EXPOSURE } from '../screening/exposure-port.ts';
import type { Changes, ChangesState, NotedBlock } from './changes.ts';
import { joinDirections } from './evaluate.ts';
import type { GraphPosition } from './format.ts';
import { EXPOSURE_LIMITS } from './limits.ts';
import type { MappedIndex } from './mapped-index.ts';
import type { ExposureRecord } from './record.ts';
import { byAddress, type Moved, RowChanges } from './row-changes.ts';

export interface UpdaterDeps {
  readonly clock: Clock;
  readonly transfers: Pick<
    TransferStore,
    'graph' | 'logPosition' | 'loggedParties' | 'pendingBlocks' | 'finalHeight'
  >;
  readonly weighing: Weighing;
  /** Computes an entry by a walk over the current graph; for both directions by default. */
  readonly evaluate: (
    graph: TransferGraph,
    node: NodeId,
    directions?: readonly Direction[],
  ) => ExposureRecord;
  /** Returns true if value passes through the node: it has no label. */
  readonly passes: (graph: TransferGraph, node: NodeId) => boolean;
}

/** CURRENT: nothing is new. UPDATED: the new transfers were read. BEHIND: so much is new that a rebuild costs less. */
export type FollowOutcome = 'CURRENT' | 'UPDATED' | 'BEHIND';

export interface ExposureUpdater {
  /** Reads new transfers of the log, at most `exposureLogARound`, and computes their addresses. */
  follow(): FollowOutcome;
  /** Computes pending entries for about `budgetMs`. Returns their number. */
  recompute(budgetMs: number): number;
  /** Number of pending entries. */
  readonly waiting: number;
  state(): ChangesState;
}

/** The record of an address without an entry. */
const NO_RECORD: ExposureRecord = { ...NO_EXPOSURE, flows: { in: false, out: false } };
const NO_COLUMNS = createNeighbourColumns(0);

/** Creates the updater of one open index, which is the only writer of its changes. */
export function createUpdater(
  chain: ChainId,
  files: { readonly index: MappedIndex; readonly changes: Changes },
  deps: UpdaterDeps,
): ExposureUpdater {
  return new IndexUpdater(chain, files, deps);
}

/** Returns true if a direction depends on the opposite one: its sum is so small that it may be dust in comparison. */
function dependsOn(rows: RowReader, node: NodeId, direction: Direction): boolean {
  const { basis, total, dust } = rows.basisOf(node, direction);
  return basis === 'USD' && total < dust;
}

/** Returns true if a row excludes its dust. */
function leavesDust(rows: RowReader, node: NodeId, direction: Direction): boolean {
  const basis = rows.basisOf(node, direction);
  const { heavy, light } = rows.read(node, direction, basis, 0, NO_COLUMNS);
  return heavy > 0 && !rows.followsDust(node, direction, basis, light.weight);
}

function flowsOf(record: ExposureRecord | null, direction: Direction): boolean {
  return record?.flows[direction] ?? false;
}

class IndexUpdater implements ExposureUpdater {
  readonly #chain: ChainId;
  readonly #index: MappedIndex;
  readonly #changes: Changes;
  readonly #deps: UpdaterDeps;
  readonly #clock: Clock;
  readonly #transfers: UpdaterDeps['transfers'];
  readonly #weighing: Weighing;
  readonly #columns = createNeighbourColumns(GRAPH_LIMITS.counterpartiesMax);
  /** The pending entry at which the next recomputation continues. */
  #cursor: NodeId = 0;

  constructor(
    chain: ChainId,
    { index, changes }: { readonly index: MappedIndex; readonly changes: Changes },
    deps: UpdaterDeps,
  ) {
    this.#chain = chain;
    this.#index = index;
    this.#changes = changes;
    this.#deps = deps;
    this.#clock = deps.clock;
    this.#transfers = deps.transfers;
    this.#weighing = deps.weighing;
  }

  state(): ChangesState {
    const { meta } = this.#index;
    return (
      this.#changes.state() ?? {
        position: meta.position,
        processedAtMs: meta.asOfMs,
        allWaitSinceMs: null,
        computed: 0,
        added: 0,
        waiting: 0,
      }
    );
  }

  #isNew(node: NodeId): boolean {
    return node > this.#index.meta.addresses;
  }

  /** Returns the current entry; null if there is no entry yet. */
  #recordOf(graph: TransferGraph, node: NodeId): ExposureRecord | null {
    const changed = this.#changes.entry(node)?.record;
    if (changed) return changed;
    if (this.#isNew(node)) return null;
    const key = graph.keyOf(node);
    this.#index.find(key, key.length);
    return this.#index.node === 0 || this.#index.entry === 0 ? null : this.#index.record(this.#index.entry);
  }

  /**
   * Returns the noted blocks that were reverted, with their addresses, which changed. Also returns final blocks, which can be removed.
   */
  #revertedBlocks(): { nodes: Set<NodeId>; gone: number[] } {
    const nodes = new Set<NodeId>();
    const gone: number[] = [];
    const noted = this.#changes.blocks();
    if (noted.size === 0) return { nodes, gone };
    const stored = new Map(
      this.#transfers.pendingBlocks(this.#chain).map(({ height, hash }) => [height, hash]),
    );
    const finalHeight = this.#transfers.finalHeight(this.#chain);
    for (const [height, block] of noted) {
      if (stored.get(height) === block.hash) continue;
      gone.push(height);
      if (height > finalHeight) for (const node of block.nodes) nodes.add(node);
    }
    return { nodes, gone };
  }

  /** Returns the pending blocks that begin in the range, with the addresses that their transfers changed. */
  #newBlocks(first: number, end: number): [height: number, block: NotedBlock][] {
    return this.#transfers
      .pendingBlocks(this.#chain)
      .filter(({ firstOrdinal, count }) => count > 0 && firstOrdinal >= first && firstOrdinal < end)
      .map(({ height, hash, firstOrdinal, count }) => {
        const nodes = new Set<NodeId>();
        for (const { from, to } of this.#transfers.loggedParties(
          this.#chain,
          firstOrdinal,
          firstOrdinal + count,
        ))
          for (const node of [from, to]) if (node !== NOBODY) nodes.add(node);
        return [height, { hash, firstOrdinal, count, nodes: [...nodes] }];
      });
  }

  /**
   * Computes an address of new transfers. Only the changed direction is computed (the node is then added to `partial`) if the other one
   * does not depend on it.
   */
  #evaluateChanged(
    graph: TransferGraph,
    rows: RowReader,
    node: NodeId,
    bits: number,
    before: ExposureRecord | null,
    partial: Set<NodeId>,
  ): ExposureRecord {
    const direction = bits === 1 ? 'in' : bits === 2 ? 'out' : null;
    const waits = (this.#changes.entry(node)?.waitsSinceMs ?? 0) > 0;
    if (direction !== null && !waits && !this.#isNew(node) && !dependsOn(rows, node, OPPOSITE[direction])) {
      // Whether an asset without a price was spent affects the received amounts of it.
      const hasUnpriced = rows.evidenceSums(node, 'in').some((flow) => flow.amount > 0 && !isPriced(flow));
      const now = hasUnpriced ? null : this.#deps.evaluate(graph, node, [direction]);
      const joined = now === null ? null : joinDirections(before ?? NO_RECORD, now, direction);
      if (joined !== null) {
        partial.add(node);
        return joined;
      }
    }
    return this.#deps.evaluate(graph, node);
  }

  /**
   * Collects the addresses with value that passes through `node` in the direction within the hops of an entry: backwards, hop by hop,
   * through addresses that have no label and are not hubs. Returns false if the limit is exceeded.
   */
  #reach(
    graph: TransferGraph,
    rows: RowReader,
    node: NodeId,
    direction: Direction,
    into: Set<NodeId>,
  ): boolean {
    const back = OPPOSITE[direction];
    // Only for this start: another start may have found an address from further away, and then did not search beyond it.
    const seen = new Set<NodeId>();
    let level = [node];
    for (let hop = 1; hop < this.#index.meta.maxHops && level.length > 0; hop++) {
      const next: NodeId[] = [];
      for (const at of level) {
        if (!this.#deps.passes(graph, at) || rows.isHub(at, GRAPH_LIMITS.counterpartiesMax)) continue;
        const count = rows.readAll(at, back, GRAPH_LIMITS.counterpartiesMax, this.#columns);
        for (let place = 0; place < count; place++) {
          const usd = this.#columns.valueUsd[place] as number;
          const other = this.#columns.ids[place] as NodeId;
          if (seen.has(other)) continue;
          // Priced dust is dust in the row of the other side too, which follows it only if it is a considerable part.
          if (
            usd > 0 &&
            usd < this.#weighing.dustUsd &&
            this.#columns.unpriced[place] === 0 &&
            leavesDust(rows, other, direction)
          )
            continue;
          seen.add(other);
          into.add(other);
          next.push(other);
        }
        if (into.size > EXPOSURE_LIMITS.exposureReachMax) return false;
      }
      level = next;
    }
    return true;
  }

  get waiting(): number {
    return this.state().waiting;
  }

  /** Reads new transfers of the log, computes their addresses, and makes those within reach of a change pending. */
  follow(): FollowOutcome {
    const position = this.#transfers.logPosition(this.#chain);
    const graph = this.#transfers.graph(this.#chain);
    if (position === null || graph === null) return 'CURRENT';
    const state = this.state();
    const { store, ordinal, transfers: stored } = state.position;
    if (store !== position.store) return 'BEHIND';
    if (ordinal === position.ordinal && stored === position.transfers) return 'CURRENT';
    if (position.ordinal - ordinal > EXPOSURE_LIMITS.exposureLogBehindMax) return 'BEHIND';
    const nowMs = this.#clock.now();
    const end = Math.min(position.ordinal, ordinal + EXPOSURE_LIMITS.exposureLogARound);
    const rows = new RowReader(graph, this.#weighing);
    const removed = this.#revertedBlocks();
    // Bits of the changed directions: 1 in, 2 out.
    const changed = new Map([...removed.nodes].map((node) => [node, 3]));
    const note = (node: NodeId, bit: number): void => {
      if (node !== NOBODY) changed.set(node, (changed.get(node) ?? 0) | bit);
    };
    const edges = new Map<string, Moved>();
    for (const { from, to, asset, amount } of this.#transfers.loggedParties(this.#chain, ordinal, end)) {
      note(from, 2);
      note(to, 1);
      if (from === to || amount === 0 || !rows.isEvidence(asset)) continue;
      const name = `${from} ${to}`;
      const moved = edges.get(name) ?? { from, to, amounts: new Map<number, number>() };
      moved.amounts.set(asset, (moved.amounts.get(asset) ?? 0) + amount);
      edges.set(name, moved);
    }
    const movedAt = byAddress(edges.values());
    const rowChanges = new RowChanges(graph, rows, this.#weighing);
    for (const [node, moved] of movedAt) if (rowChanges.hasUnpriced(node, moved)) note(node, 3);
    const blocks = this.#newBlocks(ordinal, end);
    const before = new Map([...changed.keys()].map((node) => [node, this.#recordOf(graph, node)]));
    const partial = new Set<NodeId>();
    const after = new Map(
      [...changed].map(([node, bits]) => [
        node,
        this.#evaluateChanged(graph, rows, node, bits, before.get(node) ?? null, partial),
      ]),
    );

    // Other addresses see the change only if non-neutral value flows here, or did before.
    const reached = new Set<NodeId>();
    const starts = new Set<string>();
    // If every entry is pending already, the reach of a change does not matter.
    let isWhole = state.allWaitSinceMs === null;
    const spread = (node: NodeId, direction: Direction): void => {
      const name = `${direction} ${node}`;
      if (!isWhole || starts.has(name)) return;
      starts.add(name);
      if (!flowsOf(before.get(node) ?? null, direction) && !flowsOf(after.get(node) ?? null, direction))
        return;
      if (!this.#deps.passes(graph, node)) return;
      const moved = movedAt.get(node);
      if (!removed.nodes.has(node) && moved !== undefined && !rowChanges.changes(node, direction, moved))
        return;
      isWhole = this.#reach(graph, rows, node, direction, reached);
    };
    for (const node of movedAt.keys()) {
      spread(node, 'out');
      spread(node, 'in');
    }
    for (const node of removed.nodes) {
      spread(node, 'out');
      spread(node, 'in');
    }

    const processed: GraphPosition = {
      store: position.store,
      ordinal: end,
      // Transfers after `end` are counted when they are read.
      transfers: end === position.ordinal ? position.transfers : stored,
    };
    this.#changes.write(() => {
      let { added, computed, waiting } = state;
      for (const height of removed.gone) this.#changes.removeBlock(height);
      for (const [height, block] of blocks) this.#changes.setBlock(height, block);
      for (const [node, record] of after) {
        if (this.#isNew(node)) {
          const key = graph.keyOf(node);
          if (this.#changes.nodeOf(key) === 0) {
            this.#changes.add(key, node);
            added++;
          }
        }
        const known = this.#changes.entry(node);
        if (known?.record == null) computed++;
        if (known !== null && known.waitsSinceMs > 0) waiting--;
        this.#changes.put(node, record);
      }
      // A direction that another change reached becomes pending too, unless the whole address was computed.
      for (const node of isWhole ? reached : [])
        if ((!after.has(node) || partial.has(node)) && this.#changes.wait(node, nowMs)) waiting++;
      const allWaitSinceMs = isWhole ? state.allWaitSinceMs : (state.allWaitSinceMs ?? nowMs);
      this.#changes.setState({
        position: processed,
        processedAtMs: nowMs,
        allWaitSinceMs,
        computed,
        added,
        waiting,
      });
    });
    return isWhole ? 'UPDATED' : 'BEHIND';
  }

  recompute(budgetMs: number): number {
    const graph = this.#transfers.graph(this.#chain);
    if (graph === null) return 0;
    const untilMs = this.#clock.monotonic() + budgetMs;
    let done = 0;
    while (this.#clock.monotonic() < untilMs) {
      let batch = this.#changes.waiting(this.#cursor, EXPOSURE_LIMITS.exposureBatch);
      if (batch.length === 0 && this.#cursor > 0)
        batch = this.#changes.waiting(0, EXPOSURE_LIMITS.exposureBatch);
      if (batch.length === 0) {
        this.#cursor = 0;
        return done;
      }
      const records: [NodeId, ExposureRecord][] = [];
      for (const { node } of batch) {
        records.push([node, this.#deps.evaluate(graph, node)]);
        this.#cursor = node + 1;
        if (this.#clock.monotonic() >= untilMs) break;
      }
      this.#changes.write(() => {
        const state = this.state();
        let { computed } = state;
        for (const [node, record] of records) {
          if (this.#changes.entry(node)?.record == null) computed++;
          this.#changes.put(node, record);
        }
        this.#changes.setState({ ...state, computed, waiting: Math.max(0, state.waiting - records.length) });
      });
      done += records.length;
    }
    return done;
  }
}
