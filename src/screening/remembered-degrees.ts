/**
 * Caches the degrees of a graph, the results of hub tests and the rows along which value is passed on, across requests. Kernels read the
 * degree of every address that they meet, twice, to recognise super-nodes. If it is high, they read the whole row. They meet the same
 * addresses again and again.
 */
import type { ChainId } from '../chains/registry.ts';
import type { HubCache, HubLimits, NodeId, PassedCache, TransferGraph } from '../graph/graph.ts';
import { PassedRows } from '../graph/kernels/passed-rows.ts';
import type { Direction, TransferCoverage } from '../graph/transfers.ts';
import { SCREENING_LIMITS } from './limits.ts';

const SLOTS = SCREENING_LIMITS.rememberedDegrees;
const PLACE: Readonly<Record<Direction, number>> = { in: 0, out: 1 };
/**
 * Words of a slot: node, era, and one for each direction: 0 until the degree is known, then its hub test and, above `DEGREE_SHIFT`, one more
 * than the degree.
 */
const SLOT_WORDS = 4;
const ERA = 1;
const DIRECTIONS = 2;
/** States of a direction's hub test. */
const UNTESTED = 0;
const NO_HUB = 1;
const HUB = 2;
const HUB_TEST = 3;
const DEGREE_SHIFT = 2;
/** Greater degrees do not fit. No chain has so many addresses yet. */
const DEGREE_MAX = 2 ** 30 - 2;

/**
 * Returns a function that adds the cache to a chain's graph. Cached degrees expire when the chain's coverage or the version of
 * the graph changes: as long as both stay, no transfer was added or removed.
 */
export function createRememberedDegrees(): (
  graph: TransferGraph,
  coverage: TransferCoverage,
) => TransferGraph {
  let slots = new Uint32Array(0);
  let rows: PassedRows | null = null;
  /** Those of all cached hub tests and rows. Screenings always use the same; others are not cached. */
  let cachedLimits: HubLimits | null = null;
  const known = new Map<ChainId, { readonly state: string; readonly era: number }>();
  // An empty slot has era 0, which no chain has.
  let newest = 0;

  function eraOf(
    { chain, version }: TransferGraph,
    { transfers, lastBlock, asOf }: TransferCoverage,
  ): number {
    const state = `${transfers} ${lastBlock} ${asOf} ${version ?? ''}`;
    const current = known.get(chain);
    if (current?.state === state) return current.era;
    known.set(chain, { state, era: ++newest });
    return newest;
  }

  const slotOf = (node: NodeId, era: number): number =>
    ((node + era * 0x9e3779b1) & (SLOTS - 1)) * SLOT_WORDS;

  const areCached = (limits: HubLimits): boolean => {
    cachedLimits ??= limits;
    return (
      limits.degreeMax === cachedLimits.degreeMax &&
      limits.dustUsd === cachedLimits.dustUsd &&
      limits.dustShare === cachedLimits.dustShare
    );
  };

  function passedCacheOf(era: number): PassedCache {
    const wayOf = (direction: Direction, tag: number): number => 2 * tag + PLACE[direction];
    return {
      get: (node, direction, tag, limits, into) =>
        areCached(limits) ? rows?.get({ node, way: wayOf(direction, tag), era }, into) : undefined,
      set(node, direction, tag, limits, row, from) {
        if (!areCached(limits)) return;
        rows ??= new PassedRows(SCREENING_LIMITS.rememberedRows);
        rows.set({ node, way: wayOf(direction, tag), era }, row, from);
      },
    };
  }

  function hubCacheOf(era: number): HubCache {
    /** Place of the word of a direction; -1 if its degree is not cached, or for other limits. */
    const wordOf = (node: NodeId, direction: Direction, limits: HubLimits): number => {
      const slot = slotOf(node, era);
      const isCached = slots[slot] === node && slots[slot + ERA] === era && areCached(limits);
      const place = slot + DIRECTIONS + PLACE[direction];
      return isCached && slots[place] !== 0 ? place : -1;
    };
    return {
      get(node, direction, limits) {
        const place = wordOf(node, direction, limits);
        const state = place < 0 ? UNTESTED : (slots[place] as number) & HUB_TEST;
        return state === UNTESTED ? undefined : state === HUB;
      },
      set(node, direction, limits, isHub) {
        // The slot is that of the node if its degree was read before, as each test does.
        const place = wordOf(node, direction, limits);
        if (place >= 0) slots[place] = ((slots[place] as number) & ~HUB_TEST) | (isHub ? HUB : NO_HUB);
      },
    };
  }

  return (graph, coverage) => {
    if (slots.length === 0) slots = new Uint32Array(SLOTS * SLOT_WORDS);
    const era = eraOf(graph, coverage);
    return {
      chain: graph.chain,
      nodeCount: graph.nodeCount,
      idOf: (key) => graph.idOf(key),
      keyOf: (node) => graph.keyOf(node),
      ...(graph.peekKey && { peekKey: (node) => graph.peekKey?.(node) ?? graph.keyOf(node) }),
      addressOf: (node) => graph.addressOf(node),
      ...(graph.texts && { texts: graph.texts }),
      neighbours: (node, direction, limit, into) => graph.neighbours(node, direction, limit, into),
      sums: (node) => graph.sums(node),
      assetName: (asset) => graph.assetName(asset),
      row: (node, direction, query, into) => graph.row(node, direction, query, into),
      ...(graph.reportsOthers && { reportsOthers: true }),
      edge: (from, to, side) => graph.edge(from, to, side),
      ...(graph.prefetch && { prefetch: (next) => graph.prefetch?.(next) }),
      degree(node: NodeId, direction: Direction): number {
        const slot = slotOf(node, era);
        const place = slot + DIRECTIONS + PLACE[direction];
        const isOwn = slots[slot] === node && slots[slot + ERA] === era;
        const known = isOwn ? (slots[place] as number) : 0;
        if (known !== 0) return (known >>> DEGREE_SHIFT) - 1;
        const degree = graph.degree(node, direction);
        if (!isOwn) {
          slots[slot] = node;
          slots[slot + ERA] = era;
          slots[slot + DIRECTIONS] = 0;
          slots[slot + DIRECTIONS + 1] = 0;
        }
        slots[place] = degree > DEGREE_MAX ? 0 : (degree + 1) << DEGREE_SHIFT;
        return degree;
      },
      hubs: hubCacheOf(era),
      passed: passedCacheOf(era),
      // A view is created for each request, which reads it without a pause.
      memory: new Map(),
    };
  };
}
