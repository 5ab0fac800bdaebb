/**
 * Who the addresses of a graph are, for kernels that ask it of thousands of them: labels read once an address and snapshot, folded
 * into what tracing, exposure and score need, and kept by node in a table of fixed size.
 */
import { LIMITS } from '../base/limits.ts';
import type { NodeId, TransferGraph } from '../graph/graph.ts';
import type { LabelReader } from '../labels/index/reader.ts';
import type { Label } from '../labels/label.ts';
import { type RiskLevel, type RiskPolicy, riskLevelOf } from '../risk/policy.ts';
import { score } from '../risk/score.ts';
import type { EntitySummary, ExposureCategory } from './answers.ts';
import { labelEvidence } from './judge.ts';
import { isDirectHit, isHistory } from './sanctions-detail.ts';

/** What the labels of an address come to. Addresses that come to the same share one; `UNATTRIBUTED` where nobody knows them. */
export interface Attribution {
  /** Category and entity: exposures of equal ones are added up. Empty where unattributed. */
  readonly key: string;
  /** The label that decides; its dates are of one of the addresses that share it. Null where unattributed. */
  readonly label: Label | null;
  readonly entity: EntitySummary | null;
  readonly category: ExposureCategory;
  /** That the category is right, 0 to 1. */
  readonly confidence: number;
  /** A list in force names the address itself. */
  readonly sanctioned: boolean;
  /** Serves the public: money behind it is not the same money any more. */
  readonly isService: boolean;
  /** Of at least the policy's `riskyFrom`, or sanctioned. */
  readonly isRisky: boolean;
  /** What owning the address is worth, 0 to 100, and its level. */
  readonly points: number;
  readonly riskLevel: RiskLevel;
}

export const UNATTRIBUTED: Attribution = {
  key: '',
  label: null,
  entity: null,
  category: 'UNKNOWN',
  confidence: 1,
  sanctioned: false,
  isService: false,
  isRisky: false,
  points: 0,
  riskLevel: 'LOW',
};

export const summaryOf = (label: Label | null): EntitySummary | null =>
  label && { name: label.entity.name, category: label.category, threatLevel: label.threatLevel };

/** Folds labels: a direct listing in force decides, else the first label that is not mere history. */
export function attribute(labels: readonly Label[], policy: RiskPolicy, asOf: string | null): Attribution {
  const listed = labels.find((label) => label.sanctions.some((entry) => isDirectHit(entry, asOf)));
  const label = listed ?? labels.find((candidate) => !isHistory(candidate, asOf)) ?? null;
  if (label === null) return UNATTRIBUTED;
  const category = listed ? 'SANCTIONED_ENTITY' : label.category;
  const points = score({ ...labelEvidence(labels, policy, asOf), exposures: [] }, policy).riskScore;
  return {
    key: `${category} ${label.entity.id}`,
    label,
    entity: summaryOf(label),
    category,
    confidence: listed ? 1 : label.confidence,
    sanctioned: listed !== undefined,
    isService: policy.services.has(label.category),
    isRisky: listed !== undefined || policy.weights[category] >= policy.riskyFrom,
    points,
    riskLevel: riskLevelOf(points, policy),
  };
}

/** The attributions of one graph, snapshot and date. Valid until the next call of the function that gave it. */
export interface Attributions {
  of(node: NodeId): Attribution;
}

/** Reads one address; what `attribute` makes of it is shared where it is the same. */
function createInterning(policy: RiskPolicy): {
  readonly codeOf: (labels: readonly Label[], asOf: string | null) => number;
  readonly at: (code: number) => Attribution;
  readonly isFull: () => boolean;
} {
  const known: Attribution[] = [UNATTRIBUTED];
  const codes = new Map<string, number>();
  return {
    codeOf(labels, asOf) {
      if (labels.length === 0) return 0;
      const found = attribute(labels, policy, asOf);
      if (found.label === null) return 0;
      const { category, source, threatLevel } = found.label;
      const name = `${found.key}\n${category}\n${found.confidence}\n${found.points}\n${source}\n${threatLevel}`;
      const shared = codes.get(name);
      if (shared !== undefined) return shared;
      codes.set(name, known.length);
      return known.push(found) - 1;
    },
    at: (code) => known[code] as Attribution,
    isFull: () => known.length > LIMITS.attributionsKept,
  };
}

const SLOTS = LIMITS.attributedNodesKept;
const CHAIN_BITS = 8;

/**
 * Returns what gives the attributions of a graph by the labels of a snapshot. As of now they are kept for as long as the snapshot
 * stays: one slot a node, the last one that fell into it; as of a date they are kept for one request alone.
 */
export function createAttributions(options: {
  readonly policy: RiskPolicy;
}): (graph: TransferGraph, reader: LabelReader, asOf: string | null) => Attributions {
  const { policy } = options;
  /** Number of the chain plus 1, above the code of the attribution; 0: empty. */
  let nodes: Uint32Array | null = null;
  let codes = new Uint32Array(0);
  let interned = createInterning(policy);
  let heldBy: LabelReader | null = null;
  const chains = new Map<string, number>();

  function startAnew(reader: LabelReader): void {
    // Allocated by who needs it: a thread that never screens holds nothing.
    nodes ??= new Uint32Array(SLOTS);
    if (codes.length === 0) codes = new Uint32Array(SLOTS);
    codes.fill(0);
    interned = createInterning(policy);
    heldBy = reader;
  }

  return (graph, reader, asOf) => {
    const { chain } = graph;
    if (asOf !== null) {
      const own = new Map<NodeId, Attribution>();
      return {
        of(node) {
          const known = own.get(node);
          if (known) return known;
          const found = attribute(reader.lookup(graph.keyOf(node), chain), policy, asOf);
          own.set(node, found);
          return found;
        },
      };
    }
    if (heldBy !== reader || interned.isFull()) startAnew(reader);
    let number = chains.get(chain);
    if (number === undefined) {
      number = chains.size + 1;
      chains.set(chain, number);
    }
    const mark = number;
    const heldNodes = nodes as Uint32Array;
    const heldCodes = codes;
    const { codeOf, at } = interned;
    return {
      of(node) {
        // Chains lie apart by an odd step, so that the small ids of two of them do not fight for the same slots.
        const slot = (node + mark * 0x9e3779b1) & (SLOTS - 1);
        const held = heldCodes[slot] as number;
        if (heldNodes[slot] === node && (held & ((1 << CHAIN_BITS) - 1)) === mark)
          return at(held >>> CHAIN_BITS);
        const code = codeOf(reader.lookup(graph.keyOf(node), chain), null);
        heldNodes[slot] = node;
        heldCodes[slot] = (code << CHAIN_BITS) | mark;
        return at(code);
      },
    };
  };
}
