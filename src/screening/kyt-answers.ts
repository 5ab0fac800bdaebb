/** Shapes of the answer to a payment that is about to be made or accepted. */

import type { ChainId } from '../chains/registry.ts';
import type { RiskLevel } from '../risk/policy.ts';
import type { ScoreFactor } from '../risk/score.ts';
import type { Coverage, EntitySummary, ExposureCategory, FlowTotal, Reason } from './answers.ts';

/** One party of a KYT check. */
export interface KytParty {
  readonly address: string;
  readonly entity: EntitySummary | null;
  readonly sanctioned: boolean;
}

export type KytPartyName = 'from' | 'to' | 'address';

export interface KytFlag {
  readonly code: string;
  readonly severity: 'LOW' | 'MEDIUM' | 'HIGH' | 'CRITICAL';
  readonly party: KytPartyName;
  readonly category: ExposureCategory;
  readonly riskType: ScoreFactor['riskType'];
  readonly direction: 'in' | 'out' | 'both';
  readonly entity: EntitySummary | null;
  readonly percentage: number;
  readonly valueUsd: number | null;
  readonly hops: number;
  readonly message: string;
}

export type KytDecision = 'BLOCK' | 'REVIEW' | 'ALLOW';

/** The transfers between the two parties of a pair, in both directions. */
export interface KytLink {
  readonly riskScore: number;
  /** Known transfers from `from` to `to`; null if there are none. */
  readonly sent: FlowTotal | null;
  readonly returned: FlowTotal | null;
}

/** `data` of POST /kyt: `from` and `to` of a pair, `address` of a single address. */
export interface KytAnswer {
  readonly chain: ChainId;
  readonly riskScore: number;
  readonly riskLevel: RiskLevel;
  readonly decision: KytDecision;
  readonly from?: KytParty;
  readonly to?: KytParty;
  readonly link?: KytLink;
  readonly address?: KytParty;
  /** Direction of the single address. */
  readonly direction?: 'in' | 'out' | 'both';
  readonly flags: readonly KytFlag[];
  readonly reasons: readonly Reason[];
  /** Name → address, for names that were given instead of addresses. */
  readonly resolved: Readonly<Record<string, string>>;
  readonly assessed: boolean;
  readonly coverage: Coverage;
  readonly dataVersion: string;
  readonly policyVersion: string;
  readonly checkedAt: string;
}
