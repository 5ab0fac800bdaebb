/** Shapes of the answers of a trace. */

import type { ChainId } from '../chains/registry.ts';
import type { ThreatLevel } from '../labels/taxonomy.ts';
import type { RiskLevel } from '../risk/policy.ts';
import type { Coverage, EntitySummary, ExposureCategory } from './answers.ts';

export interface TraceNode {
  readonly address: string;
  /** Name of the entity; null if the address has no label. */
  readonly label: string | null;
  readonly category: ExposureCategory;
  /** Level of the address itself. */
  readonly riskLevel: RiskLevel;
  readonly entity: EntitySummary | null;
  readonly threatLevel: ThreatLevel | null;
  /** Number of transfers between the start and the address. */
  readonly depth: number;
  readonly sanctioned: boolean;
}

/** All transfers of one asset from one address to another. */
export interface TraceEdge {
  readonly from: string;
  readonly to: string;
  readonly asset: string;
  /** Native units, decimal; the smallest unit if `decimals` is null. */
  readonly value: string;
  readonly decimals: number | null;
  readonly valueUsd: number | null;
  readonly txCount: number;
  readonly firstSeen: string;
  readonly lastSeen: string;
}

export type StopReason = 'SERVICE' | 'MAX_DEGREE' | 'BUDGET' | 'DEPTH';

export interface TraceStop {
  readonly address: string;
  readonly reason: StopReason;
}

export interface TraceStats {
  readonly totalNodes: number;
  readonly totalEdges: number;
  readonly maxDepthReached: number;
}

export interface TraceGraph {
  readonly nodes: readonly TraceNode[];
  readonly edges: readonly TraceEdge[];
  readonly stats: TraceStats;
  readonly stoppedAt: readonly TraceStop[];
}

export interface TracePath {
  readonly addresses: readonly string[];
  readonly edges: readonly TraceEdge[];
  readonly hops: number;
  /** USD of the step with the least value; null if a step has no price. */
  readonly bottleneckUsd: number | null;
}

/** A bridge that the trace met, and the transfers of the same holder on the chains that it leads to. */
export interface BridgeCrossing {
  readonly bridge: EntitySummary;
  readonly bridgeAddress: string;
  /** The address that used the bridge. */
  readonly address: string;
  /** `out` means that value went into the bridge. */
  readonly direction: 'in' | 'out';
  readonly valueUsd: number | null;
  readonly txCount: number;
  /** The chain that the value left. Null if it is the other side of the bridge, and that is not known. */
  readonly fromChain: ChainId | null;
  /** The chain that the value reached, like `fromChain`. */
  readonly toChain: ChainId | null;
  /** Chains that the bridge connects with the traced one; the other side is one of them. */
  readonly connectedChains: readonly ChainId[];
  /** How the two sides were matched; null if they were not. */
  readonly matchedBy: 'SAME_ADDRESS' | 'SAME_ADDRESS_AND_BRIDGE' | null;
  readonly explanation: string;
  /** The trace on the other chain; null if no trace was made. */
  readonly graph: TraceGraph | null;
}

/** `data` of POST /trace. */
export interface TraceAnswer extends TraceGraph {
  readonly address: string;
  readonly chain: ChainId;
  readonly direction: 'in' | 'out' | 'both';
  /** Path mode only. */
  readonly found?: boolean;
  readonly target?: string;
  readonly paths?: readonly TracePath[];
  /** Path mode: true if there may be more paths. */
  readonly truncated?: boolean;
  /** Only if requested. */
  readonly crossChain?: readonly BridgeCrossing[];
  readonly coverage: Coverage;
  readonly assessed: boolean;
  readonly dataVersion: string;
  readonly tracedAt: string;
}
