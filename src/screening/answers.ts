/** The shapes that the use cases answer with: `data` of the API, field for field. */
import type { PriceStatus } from '../chains/assets.ts';
import type { ChainId } from '../chains/registry.ts';
import type { TaintMethod } from '../graph/utxo/taint-rules.ts';
import type { EvidenceClass } from '../labels/evidence-class.ts';
import type { SanctionsEntry } from '../labels/label.ts';
import type { LabelJson } from '../labels/label-json.ts';
import type { DecidedBy } from '../labels/primary.ts';
import type { Category, ThreatLevel } from '../labels/taxonomy.ts';
import type { GeographicRisk } from '../risk/geography.ts';
import type { RiskLevel, ScoreFactor } from '../risk/score.ts';
import type { SanctionsList } from '../sources/records.ts';

export type CoverageStatus = 'COMPLETE' | 'PARTIAL' | 'NONE';

export interface CoverageEntry {
  readonly status: CoverageStatus;
  /**
   * Of `graph` in answers of screening and KYT: assets that are evidence and moved without a USD value. Shares of these are by amount.
   */
  readonly unpricedAssets?: readonly string[];
  /** ISO 8601 UTC; null where nothing was read or its age is not known. */
  readonly asOf: string | null;
}

/** How much of the world an answer rests on. */
export interface Coverage {
  readonly labels: CoverageEntry;
  readonly graph: CoverageEntry;
  readonly balances: CoverageEntry;
  readonly history: CoverageEntry;
  readonly sanctions: CoverageEntry;
}

export const REASON_CODES = [
  'SANCTIONED',
  /** A designated party owns the address, as a list or a published label attributes it. */
  'SANCTIONED_OWNER',
  'DELISTED',
  'LABEL',
  'EXPOSURE',
  /** Transfers of tokens that no curated list knows: anybody can forge them, so they never score. */
  'SPOOFABLE_TRANSFER',
  /** Transfers without value from an address that looks like a counterparty. */
  'ADDRESS_POISONING',
  /** All dealings with a designated party ended before its designation. */
  'BEFORE_DESIGNATION',
  /** A walk ended at an address with too many counterparties that no label names. */
  'HUB_NOT_FOLLOWED',
  /** A walk reached its limit of addresses before its end. */
  'WALK_CUT',
  /** The exposure of the address is not computed, or too old. */
  'GRAPH_NOT_READ',
  /** No label, list entry or transfer of the address is known. */
  'NOT_ASSESSED',
  'STALE_OR_MISSING_DATA',
] as const;

export type ReasonCode = (typeof REASON_CODES)[number];

/** Why a verdict is what it is. */
export interface Reason {
  readonly code: ReasonCode;
  readonly severity: 'LOW' | 'MEDIUM' | 'HIGH' | 'CRITICAL';
  readonly category: Category | 'UNKNOWN';
  readonly message: string;
  /** Source id or authority; null where the reason is the service's own. */
  readonly source: string | null;
  /** False where the fact ships with the product and was not checked against a publisher's file. */
  readonly verified: boolean;
}

export interface SanctionsDetail {
  readonly isSanctioned: boolean;
  readonly lists: readonly SanctionsEntry[];
  /** Jurisdictions (US, EU, UN, UK, CH, other) of the entries in force that make the address sanctioned. */
  readonly agreementCount: number;
  /** The oldest last check of the lists that are loaded; null where none is. */
  readonly dataAsOf: string | null;
}

/** `data` of GET /entity/{address}, POST /screen and GET /address/{chain}/{address}/labels. */
export interface EntityLabelSet {
  readonly address: string;
  readonly chain: ChainId;
  readonly labels: readonly LabelJson[];
  readonly sanctioned: boolean;
  /** Null when not sanctioned. */
  readonly sanctionsDetail: SanctionsDetail | null;
  readonly coverage: Coverage;
  readonly assessed: boolean;
  /** STALE_OR_MISSING_DATA where `sanctioned: false` rests on less than all five lists. */
  readonly reasons: readonly Reason[];
  readonly dataVersion: string;
}

export interface ListDates {
  readonly publishedAt: string | null;
  readonly checkedAt: string | null;
}

/** `data` of GET /sanctions/check. */
export interface SanctionsCheckAnswer {
  readonly address: string;
  readonly chain: ChainId;
  readonly sanctioned: boolean;
  readonly lists: readonly SanctionsEntry[];
  readonly agreementCount: number;
  readonly dataAsOf: string | null;
  /** Each of the lists, null where it was never loaded. */
  readonly freshness: Readonly<Partial<Record<SanctionsList, ListDates>>>;
  readonly coverage: Coverage;
  readonly assessed: boolean;
  readonly reasons: readonly Reason[];
  readonly dataVersion: string;
}

export interface OracleQuota {
  /** Null: unlimited. */
  readonly limit: number | null;
  readonly remaining: number | null;
  /** ISO 8601 UTC. */
  readonly resetAt: string;
}

export type Verdict = 'safe' | 'warning' | 'danger';

/** `data` of GET /oracle/address/{chain}/{address}. */
export interface OracleAnswer {
  readonly address: string;
  readonly chain: ChainId;
  readonly verdict: Verdict;
  readonly score: number;
  readonly riskLevel: RiskLevel;
  readonly sanctioned: boolean;
  readonly reasons: readonly Reason[];
  /** The owner of the address; null if no label names one. */
  readonly entity: EntitySummary | null;
  readonly coverage: Coverage;
  readonly assessed: boolean;
  /** When the exposure in this answer was last up to date, ISO 8601 UTC; null if the chain has no stored transfers, or no index of them. */
  readonly exposureAsOf: string | null;
  readonly dataVersion: string;
  readonly policyVersion: string;
  readonly evaluatedAt: string;
  readonly ttlSeconds: number;
  readonly quota: OracleQuota;
}

/** One of the labels of a contradiction. */
export interface ConflictingLabel {
  readonly name: string;
  readonly entityId: string;
  readonly category: Category;
  readonly threatLevel: ThreatLevel;
  readonly source: string;
  readonly class: EvidenceClass;
  /** 0 to 1. */
  readonly confidence: number;
  /** ISO date when the source last stood by the label; null if it does not say. */
  readonly date: string | null;
  readonly sourceUrl: string | null;
}

/** Two labels of an address that disagree in what matters, and which of them was taken. */
export interface LabelConflict {
  /** Fields that differ. */
  readonly fields: readonly ('category' | 'threatLevel' | 'entity')[];
  /** The label that was taken, then the other one. */
  readonly labels: readonly ConflictingLabel[];
  readonly decided: ConflictingLabel;
  /** The first criterion of the written rule in which they differ. */
  readonly decidedBy: DecidedBy;
  /** The other label is not about the holder of the address, and does not score. */
  readonly isSettled: boolean;
  readonly message: string;
}

export interface EntitySummary {
  readonly name: string;
  readonly category: Category;
  readonly threatLevel: ThreatLevel;
}

export type ExposureCategory = Category | 'UNKNOWN';

export interface Exposure {
  readonly category: ExposureCategory;
  readonly entity: EntitySummary | null;
  readonly direction: 'in' | 'out';
  readonly type: 'DIRECT' | 'INDIRECT';
  /** Of what was received (in) or sent (out): of all priced value, or of `asset`. */
  readonly percentage: number;
  /** The asset that `percentage` is a share of, if it has no price; null for USD, and if nothing can be weighed. */
  readonly asset: string | null;
  /** How the value is priced: the weakest of the direction's priced assets. */
  readonly priceStatus: PriceStatus;
  /** Day (YYYY-MM-DD) of the oldest of their prices, if a price is of an earlier day than the transfers. */
  readonly priceDate: string | null;
  /** How the label of the other side came to be known; null for UNKNOWN. */
  readonly class: EvidenceClass | null;
  /** The part of the direction's USD; null if `asset` has no price. */
  readonly valueUsd: number | null;
  readonly hops: number;
  readonly txCount: number;
  /** Transfers whose value nobody could price. */
  readonly unpricedTxCount: number;
}

/** Where money was not followed to its end, and how much of the direction's value, or of the asset, that is. */
export interface StoppedFlow {
  readonly address: string;
  /** UNPRICED: several assets without a price moved there, so nothing says which part went where. */
  readonly reason: 'MAX_DEGREE' | 'BUDGET' | 'UNPRICED';
  readonly direction: 'in' | 'out';
  /** The asset without a price that was followed by itself; null: the value of the direction. */
  readonly asset: string | null;
  readonly percentage: number;
}

export interface TopCounterparty {
  readonly address: string;
  readonly entity: EntitySummary | null;
  readonly category: ExposureCategory;
  readonly threatLevel: ThreatLevel | null;
  readonly sanctioned: boolean;
  readonly direction: 'in' | 'out';
  /** Transfers. */
  readonly txCount: number;
  readonly valueUsd: number | null;
  readonly percentage: number;
  readonly firstSeen: string;
  readonly lastSeen: string;
}

export interface FlaggedTransaction {
  readonly hash: string;
  readonly timestamp: string;
  readonly direction: 'in' | 'out';
  readonly counterparty: string;
  readonly entity: EntitySummary | null;
  readonly category: ExposureCategory;
  readonly severity: 'LOW' | 'MEDIUM' | 'HIGH' | 'CRITICAL';
  readonly asset: string;
  /** Smallest unit, decimal string. */
  readonly amount: string;
  readonly valueUsd: number | null;
  readonly priceStatus: PriceStatus;
  /** Day (YYYY-MM-DD) of the price, if that is an earlier one than the day of the transfer. */
  readonly priceDate: string | null;
  readonly reason: string;
}

/** A transfer that anybody could have put into the history of the address. It never scores. */
export interface SpoofableTransfer {
  readonly hash: string;
  readonly timestamp: string;
  readonly direction: 'in' | 'out';
  readonly counterparty: string;
  readonly entity: EntitySummary | null;
  readonly category: ExposureCategory;
  readonly asset: string;
  /** Smallest unit, decimal string. */
  readonly amount: string;
  readonly decimals: number | null;
  /** UNKNOWN_TOKEN: on no curated list. ZERO_VALUE_TOKEN: no amount moved. DUST: next to nothing, from a look-alike address. */
  readonly kind: 'UNKNOWN_TOKEN' | 'ZERO_VALUE_TOKEN' | 'DUST';
  /** The real counterparty that the counterparty's address looks like; null if it looks like none. */
  readonly imitates: string | null;
  /** The address itself signed the transaction; null if the source does not say, as below. */
  readonly holderSent: boolean | null;
  /** The transaction calls the token's contract. */
  readonly callsAsset: boolean | null;
  /** The call decodes to this transfer. */
  readonly decodes: boolean | null;
}

export interface AssetTotal {
  readonly asset: string;
  /** False for tokens that no curated list knows: anybody can forge their transfers, and they count nowhere. */
  readonly isEvidence: boolean;
  readonly priceStatus: PriceStatus;
  /** Day (YYYY-MM-DD) of the price, if that is an earlier one than the day of the last transfer. */
  readonly priceDate: string | null;
  /** Smallest unit, decimal string. */
  readonly amount: string;
  readonly decimals: number | null;
  readonly valueUsd: number | null;
  readonly txCount: number;
}

export interface FlowTotal {
  readonly valueUsd: number | null;
  readonly txCount: number;
  readonly byAsset: readonly AssetTotal[];
}

/** Whose money was received, under one rule of taint. */
export interface TaintShares {
  readonly method: TaintMethod;
  /** Category → percentage of what was received. Under poison and TIHO shares overlap, and need not add up to 100. */
  readonly received: Readonly<Partial<Record<ExposureCategory, number>>>;
  /** The same of outputs that nothing spends; null on chains without outputs, as all below. */
  readonly unspent: Readonly<Partial<Record<ExposureCategory, number>>> | null;
  /** Of what was received: newly mined, and out of what was not read; both are part of UNKNOWN. */
  readonly minedPercentage: number | null;
  readonly unexploredPercentage: number | null;
  readonly outputs: number | null;
  /** A budget ended the search before all origins were found. */
  readonly isTruncated: boolean;
}

export interface TaintAnswer {
  /** OUTPUTS: single outputs were followed. ACCOUNTS: the flow between addresses was. */
  readonly basis: 'OUTPUTS' | 'ACCOUNTS';
  readonly methods: readonly TaintShares[];
}

/** What an address moved on one day (UTC). */
export interface DailyTotal {
  /** YYYY-MM-DD. */
  readonly date: string;
  /** USD of the priced transfers; null where none is priced. */
  readonly inUsd: number | null;
  readonly outUsd: number | null;
  readonly inTxCount: number;
  readonly outTxCount: number;
}

/** Where a fact stands. */
export interface CitedFact {
  readonly fact: string;
  readonly sourceUrl: string;
  /** ISO date of the source. */
  readonly date: string;
  /** True only where the words were compared with the publisher's own text. */
  readonly verified: boolean;
  /** First and last day on which the fact holds, ISO dates; null: no bound is known. */
  readonly validFrom: string | null;
  readonly validUntil: string | null;
}

export interface LegalInterpretation {
  /** ISO 3166-1 alpha-2. */
  readonly jurisdiction: string;
  /** FATF: no law of the country is known here, the standard stands in its place. */
  readonly standard: 'NATIONAL' | 'FATF';
  readonly regulator: string | null;
  readonly framework: readonly string[];
  readonly assessment: string;
  readonly recommendedAction: string;
  readonly obligations: readonly string[];
  readonly reportingTo: string | null;
  readonly sanctionsAuthority: string | null;
  readonly travelRule: {
    /** Amount from which particulars of both sides accompany a transfer; null: from the first unit. */
    readonly threshold: number | null;
    /** ISO 4217. */
    readonly currency: string;
    readonly law: string;
    readonly note: string | null;
  } | null;
  readonly sources: readonly CitedFact[];
  /** Of the file that the law was read from; null where it was not. */
  readonly version: string | null;
  readonly disclaimer: string;
}

/** `data` of POST /screening. */
export interface ScreeningAnswer {
  readonly walletAddress: string;
  readonly address: string;
  readonly chain: ChainId;
  /** The requested day; null: now. */
  readonly asOf: string | null;
  readonly riskScore: number;
  readonly riskLevel: RiskLevel;
  readonly scoreBreakdown: readonly ScoreFactor[];
  readonly policyVersion: string;
  readonly assessed: boolean;
  /** STALE_OR_MISSING_DATA and the like: what qualifies the answer. */
  readonly reasons: readonly Reason[];
  readonly balance: number | null;
  readonly balanceUsd: number | null;
  /** Distinct transactions among the transfers known; null where none is known. */
  readonly totalTransactions: number | null;
  readonly sanctionsCheck: SanctionsDetail;
  readonly sanctioned: boolean;
  readonly entity: EntitySummary | null;
  readonly entityLabels: readonly LabelJson[];
  /** Labels that contradict the first one in category, threat level or owner, and how that was decided. */
  readonly labelConflicts: readonly LabelConflict[];
  readonly flaggedTransactions: readonly FlaggedTransaction[];
  /** Newest first. */
  readonly spoofableTransfers: readonly SpoofableTransfer[];
  readonly topCounterparties: readonly TopCounterparty[];
  readonly exposureSending: Readonly<Partial<Record<ExposureCategory, number>>>;
  readonly exposureReceiving: Readonly<Partial<Record<ExposureCategory, number>>>;
  readonly exposures: readonly Exposure[];
  /** Empty where all money was followed for as many hops as asked. */
  readonly stoppedAt: readonly StoppedFlow[];
  readonly taint: TaintAnswer;
  readonly clusterAnalysis: {
    readonly clusterId: string | null;
    readonly size: number | null;
    readonly heuristics: readonly string[];
    readonly confidence: number | null;
    readonly members: readonly string[];
  };
  readonly transactionFlow: {
    readonly inflow: FlowTotal;
    readonly outflow: FlowTotal;
    readonly net: FlowTotal;
    /** Newest first. */
    readonly daily: readonly DailyTotal[];
    /** Whether `daily` reaches back to the first transfer known. */
    readonly dailyIsComplete: boolean;
  };
  readonly geographicRisk: GeographicRisk;
  readonly fundFlowJurisdictions: readonly {
    readonly jurisdiction: string;
    readonly inUsd: number | null;
    readonly outUsd: number | null;
    readonly percentage: number;
  }[];
  readonly historicalServices: readonly {
    readonly name: string;
    readonly category: Category;
    readonly firstSeen: string;
    readonly lastSeen: string;
    readonly txCount: number;
    readonly valueUsd: number | null;
  }[];
  readonly crossChainBalances: Readonly<
    Record<string, { readonly balance: number | null; readonly balanceUsd: number | null }>
  >;
  readonly bridgeActivity: {
    readonly bridges: readonly string[];
    readonly inUsd: number | null;
    readonly outUsd: number | null;
    readonly txCount: number;
  };
  readonly darknetExposure: {
    /** USD; null where no transfer is known or none is priced. */
    readonly direct: number | null;
    readonly indirect: number | null;
    /** Of all value that moved; null where none is known to have. */
    readonly percentage: number | null;
    readonly markets: readonly string[];
  };
  readonly addressValidation: {
    readonly valid: true;
    readonly canonical: string;
    readonly kind: string;
    readonly checksum: boolean;
  };
  readonly legalInterpretation: LegalInterpretation;
  readonly coverage: Coverage;
  readonly dataVersion: string;
  readonly screenedAt: string;
}

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

/** What moved between the two parties of a pair, both ways. */
export interface KytLink {
  readonly riskScore: number;
  /** Transfers known from one to the other; null where none is. */
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
  /** Of the single address. */
  readonly direction?: 'in' | 'out' | 'both';
  readonly flags: readonly KytFlag[];
  readonly reasons: readonly Reason[];
  /** Names that were given in place of addresses. */
  readonly resolved: Readonly<Record<string, string>>;
  readonly assessed: boolean;
  readonly coverage: Coverage;
  readonly dataVersion: string;
  readonly policyVersion: string;
  readonly checkedAt: string;
}

export interface TraceNode {
  readonly address: string;
  /** Name of the entity; null where nobody knows the address. */
  readonly label: string | null;
  readonly category: ExposureCategory;
  /** Of what the address itself is. */
  readonly riskLevel: RiskLevel;
  readonly entity: EntitySummary | null;
  readonly threatLevel: ThreatLevel | null;
  /** Transfers between the start and the address. */
  readonly depth: number;
  readonly sanctioned: boolean;
}

/** What moved of one asset from one address to another. */
export interface TraceEdge {
  readonly from: string;
  readonly to: string;
  readonly asset: string;
  /** Native units, decimal; the smallest unit where `decimals` is null. */
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
  /** USD of its thinnest step; null where a step is unpriced. */
  readonly bottleneckUsd: number | null;
}

/** A bridge met on the way, and what is known of the same holder on the chains it leads to. */
export interface BridgeCrossing {
  readonly bridge: EntitySummary;
  readonly bridgeAddress: string;
  /** The address that used the bridge. */
  readonly address: string;
  /** `out`: value went into the bridge. */
  readonly direction: 'in' | 'out';
  readonly valueUsd: number | null;
  readonly txCount: number;
  readonly fromChain: ChainId;
  /** Null: the bridge's counterpart chains are not known, or nothing is known of the holder there. */
  readonly toChain: ChainId | null;
  /** How the two sides were matched; null where they were not. */
  readonly matchedBy: 'SAME_ADDRESS' | 'SAME_ADDRESS_AND_BRIDGE' | null;
  readonly explanation: string;
  /** The trace on the other chain; null where there is none. */
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
  /** Path mode: there may be more paths. */
  readonly truncated?: boolean;
  /** Where asked for. */
  readonly crossChain?: readonly BridgeCrossing[];
  readonly coverage: Coverage;
  readonly assessed: boolean;
  readonly dataVersion: string;
  readonly tracedAt: string;
}
