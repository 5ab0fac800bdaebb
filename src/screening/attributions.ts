/** The attributions of the nodes of a graph: read from the labels once, and kept across requests for as long as nothing changes them. */
import type { BridgeHit, Bridges } from '../chains/bridges.ts';
import type { ChainId } from '../chains/registry.ts';
import type { NodeId, TransferGraph } from '../graph/graph.ts';
import type { LabelReader } from '../labels/index/reader.ts';
import { type RiskPolicy, riskLevelOf } from '../risk/policy.ts';
import { type Attribution, attribute, UNATTRIBUTED } from './attribution.ts';
import { SCREENING_LIMITS } from './limits.ts';

/** Returns the attribution of a contract that has no label but is known to belong to a bridge. */
function bridgeAttribution({ id, name }: BridgeHit, policy: RiskPolicy): Attribution {
  const category = 'BRIDGE';
  const points = Math.round(policy.weights[category]);
  const key = `${category} ${id}`;
  return {
    key,
    rowKey: `${key} 1 published`,
    entityId: id,
    entity: { name, category, threatLevel: policy.threats[category] },
    jurisdiction: null,
    category,
    confidence: 1,
    class: 'published',
    isFirm: true,
    sanctioned: false,
    suspected: undefined,
    isService: policy.services.has(category),
    isRisky: points >= policy.riskyFrom,
    points,
    riskLevel: riskLevelOf(points, policy),
    until: undefined,
    designatedLater: undefined,
  };
}

/** The attributions of one graph, snapshot and date. Valid until the next call of the function that returned it. */
export interface Attributions {
  of(node: NodeId): Attribution;
}

export interface AttributionDeps {
  readonly policy: RiskPolicy;
  readonly bridges: Pick<Bridges, 'of'>;
}

/** Attributions by number. Equal attributions share one object. */
class Interned {
  readonly #known: Attribution[] = [UNATTRIBUTED];
  readonly #numbers = new Map<string, number>();

  get isFull(): boolean {
    return this.#known.length > SCREENING_LIMITS.attributionsKept;
  }

  at(number: number): Attribution {
    return this.#known[number] as Attribution;
  }

  numberOf(found: Attribution): number {
    if (found === UNATTRIBUTED) return 0;
    const { key, confidence, points, jurisdiction, entity } = found;
    const name = `${key}\n${confidence}\n${found.class}\n${points}\n${jurisdiction}\n${entity?.threatLevel}\n${found.isService}\n${JSON.stringify([found.until, found.suspected])}`;
    const shared = this.#numbers.get(name);
    if (shared !== undefined) return shared;
    const number = this.#known.push(found) - 1;
    this.#numbers.set(name, number);
    return number;
  }
}

/**
 * The addresses of one chain that are known to have no label, a bit each. A walk asks for thousands of addresses and nearly all have none; the bits
 * of a chain fit the processor's cache, and the slots do not.
 */
class WithoutLabel {
  #bits = new Uint8Array(0);

  /** Makes room for the nodes of a graph, at most `unlabelledNodesKept`. */
  reserve(nodeCount: number): void {
    const bytes = (Math.min(nodeCount, SCREENING_LIMITS.unlabelledNodesKept) >> 3) + 1;
    if (bytes <= this.#bits.length) return;
    // With room for new addresses, so that a chain that is followed live copies seldom.
    const grown = new Uint8Array(bytes + (bytes >> 3));
    grown.set(this.#bits);
    this.#bits = grown;
  }

  has(node: NodeId): boolean {
    // Beyond the end, the byte is undefined, which counts as 0.
    return (((this.#bits[node >>> 3] as number) >> (node & 7)) & 1) === 1;
  }

  add(node: NodeId): void {
    const at = node >>> 3;
    if (at < this.#bits.length) this.#bits[at] = (this.#bits[at] as number) | (1 << (node & 7));
  }

  clear(): void {
    this.#bits.fill(0);
  }
}

const SLOTS = SCREENING_LIMITS.attributedNodesKept;
/** Bits of a slot that hold the number of the graph; the bits above hold the number of the attribution. */
const CHAIN_BITS = 8;
const CHAIN_MASK = (1 << CHAIN_BITS) - 1;
/** Odd, so that the small ids of two chains do not compete for the same slots. */
const CHAIN_STEP = 0x9e3779b1;

/**
 * Returns a function that gives the attributions of a graph by the labels of a snapshot. Attributions as of now are cached while
 * the snapshot stays: each node has one slot, and the last node that maps to the slot keeps it. Attributions as of a date are
 * cached for one request only.
 */
export function createAttributions({
  policy,
  bridges,
}: AttributionDeps): (graph: TransferGraph, reader: LabelReader, asOf: string | null) => Attributions {
  // Allocated on first use: a thread that never screens holds no memory.
  // The node of a slot and its mark are side by side: most slots are not in the processor's cache.
  let slots = new Uint32Array(0);
  let interned = new Interned();
  let heldBy: LabelReader | null = null;
  /** Numbers of the graphs whose nodes are in the slots: a chain that becomes the graph of another store gets a new one. */
  const graphNumbers = new Map<ChainId, { readonly source: string; readonly number: number }>();
  let lastNumber = 0;
  const withoutLabel = new Map<ChainId, WithoutLabel>();

  function startAnew(reader: LabelReader): void {
    if (slots.length === 0) slots = new Uint32Array(2 * SLOTS);
    else slots.fill(0);
    interned = new Interned();
    heldBy = reader;
    for (const nodes of withoutLabel.values()) nodes.clear();
  }

  function withoutLabelOf({ chain, nodeCount }: TransferGraph): WithoutLabel {
    let nodes = withoutLabel.get(chain);
    if (nodes === undefined) {
      nodes = new WithoutLabel();
      withoutLabel.set(chain, nodes);
    }
    nodes.reserve(nodeCount);
    return nodes;
  }

  /** Counts from 1: a slot of 0 is empty. */
  function numberOf({ chain, source = '' }: TransferGraph, reader: LabelReader): number {
    const known = graphNumbers.get(chain);
    if (known?.source === source) return known.number;
    withoutLabel.delete(chain);
    if (lastNumber === CHAIN_MASK) {
      startAnew(reader);
      graphNumbers.clear();
      lastNumber = 0;
    }
    graphNumbers.set(chain, { source, number: ++lastNumber });
    return lastNumber;
  }

  return (graph, reader, asOf) => {
    const { chain } = graph;
    const read = (node: NodeId): Attribution => {
      const key = graph.peekKey?.(node) ?? graph.keyOf(node);
      const found = attribute(reader.lookup(key, chain), policy, asOf);
      const bridge = found === UNATTRIBUTED ? bridges.of(chain, key) : null;
      return bridge === null ? found : bridgeAttribution(bridge, policy);
    };
    if (asOf !== null) {
      const own = new Map<NodeId, Attribution>();
      return {
        of(node) {
          const known = own.get(node) ?? read(node);
          own.set(node, known);
          return known;
        },
      };
    }
    if (heldBy !== reader || interned.isFull) startAnew(reader);
    const mark = numberOf(graph, reader);
    const shared = interned;
    const unlabelled = withoutLabelOf(graph);
    return {
      of(node) {
        // Another snapshot was asked for meanwhile, or the slots were full: they have other attributions now.
        if (interned !== shared) return read(node);
        if (unlabelled.has(node)) return UNATTRIBUTED;
        const slot = 2 * ((node + mark * CHAIN_STEP) & (SLOTS - 1));
        const held = slots[slot + 1] as number;
        if (slots[slot] === node && (held & CHAIN_MASK) === mark) return shared.at(held >>> CHAIN_BITS);
        const number = shared.numberOf(read(node));
        if (number === 0) {
          unlabelled.add(node);
          if (unlabelled.has(node)) return UNATTRIBUTED;
        }
        slots[slot] = node;
        slots[slot + 1] = (number << CHAIN_BITS) | mark;
        return shared.at(number);
      },
    };
  };
}
