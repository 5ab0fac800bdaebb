/** Shapes of the answers about an address: `data` of the API, field for field. */

import type { PriceStatus } from '../chains/assets.ts';
import type { ChainId } from '../chains/registry.ts';
import type { TaintMethod } from '../graph/utxo/taint-rules.ts';
import type { EvidenceClass } from '../labels/evidence-class.ts';
import type { SanctionsEntry } from '../labels/label.ts';
import type { LabelJson } from '../labels/label-json.ts';
import type { DecidedBy } from '../labels/primary.ts';
import type { Category, ThreatLevel } from '../labels/taxonomy.ts';
import type { GeographicRisk } from '../risk/geography.ts';
import type { RiskLevel } from '../risk/policy.ts';
import type { ScoreFactor } from '../risk/score.ts';
import type { SanctionsList } from '../sources/index.ts';

export type CoverageStatus = 'COMPLETE' | 'PARTIAL' | 'NONE';

export interface CoverageEntry {
  readonly status: CoverageStatus;
  /**
   * Of `graph` in responses of screening and KYT: assets that are evidence and moved without a USD value. Their shares are by
   * amount.
   */
  readonly unpricedAssets?: readonly string[];
  /** ISO 8601 UTC; null if nothing was read or the age is not known. */
  readonly asOf: string | null;
}

/** Which data an answer is based on, and how complete it is. */
export interface Coverage {
  readonly labels: CoverageEntry;
  readonly graph: CoverageEntry;
  readonly balances: CoverageEntry;
  readonly history: CoverageEntry;
  readonly sanctions: CoverageEntry;
}

export const REASON_CODES = [
  'SANCTIONED',
  /** A designated party owns the address, according to a list or a published label. */
  'SANCTIONED_OWNER',
  'DELISTED',
  'LABEL',
  'EXPOSURE',
  /** Transfers of tokens that are on no curated list: anyone can forge them, so they never score. */
  'SPOOFABLE_TRANSFER',
  /** Transfers without value from an address that looks like a counterparty. */
  'ADDRESS_POISONING',
  /** There were dealings with a designated party before its designation; they count with their earlier category. */
  'BEFORE_DESIGNATION',
  /** Dealings since the designation with an address that an uncertain label attributes to a designated party. */
  'SUSPECTED_OWNER',
  /** A walk ended at an unlabelled address with too many counterparties. */
  'HUB_NOT_FOLLOWED',
  /** A walk reached its limit of addresses before it was complete, or more assets without a price moved than are followed. */
  'WALK_CUT',
  /** The exposure of the address was not computed, or is too old. */
  'GRAPH_NOT_READ',
  /** No label, list entry or transfer of the address is known. */
  'NOT_ASSESSED',
  'STALE_OR_MISSING_DATA',
] as const;

export type ReasonCode = (typeof REASON_CODES)[number];

/** One reason for a verdict. */
export interface Reason {
  readonly code: ReasonCode;
  readonly severity: 'LOW' | 'MEDIUM' | 'HIGH' | 'CRITICAL';
  readonly category: Category | 'UNKNOWN';
  readonly message: string;
  /** Source id or authority; null if the reason comes from the service itself. */
  readonly source: string | null;
  /** False if the fact ships with the product and was not checked against a publisher's file. */
  readonly verified: boolean;
}

export interface SanctionsDetail {
  readonly isSanctioned: boolean;
  readonly lists: readonly SanctionsEntry[];
  /** Jurisdictions (US, EU, UN, UK, CH, other) of the entries in force that make the address sanctioned. */
  readonly agreementCount: number;
  /** The oldest last check among the loaded lists; null if no list is loaded. */
  readonly dataAsOf: string | null;
}

/** `data` of GET /entity/{address}, POST /screen and GET /address/{chain}/{address}/labels. */
export interface EntityLabelSet {
  readonly address: string;
  readonly chain: ChainId;
  readonly labels: readonly LabelJson[];
  readonly sanctioned: boolean;
  /** Null if the address is not sanctioned. */
  readonly sanctionsDetail: SanctionsDetail | null;
  readonly coverage: Coverage;
  readonly assessed: boolean;
  /** STALE_OR_MISSING_DATA if `sanctioned: false` is based on less than all five lists. */
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
  /** Dates of each list; null if the list was never loaded. */
  readonly freshness: Readonly<Partial<Record<SanctionsList, ListDates>>>;
  readonly coverage: Coverage;
  readonly assessed: boolean;
  readonly reasons: readonly Reason[];
  readonly dataVersion: string;
}

export interface OracleQuota {
  /** Null if the quota is unlimited. */
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
  /**
   * When the exposure in this response was last up to date, ISO 8601 UTC; null if the chain has no stored transfers, or no index
   * of them.
   */
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
  /** ISO date on which the source last confirmed the label; null if it gives none. */
  readonly date: string | null;
  readonly sourceUrl: string | null;
}

/** Two labels of an address that disagree in a relevant field, and which of them was used. */
export interface LabelConflict {
  /** Fields that differ. */
  readonly fields: readonly ('category' | 'threatLevel' | 'entity')[];
  /** The label that was used, then the other one. */
  readonly labels: readonly ConflictingLabel[];
  readonly decided: ConflictingLabel;
  /** The first criterion of the documented rule in which they differ. */
  readonly decidedBy: DecidedBy;
  /** True if the other label is not about the holder of the address, so that it does not score. */
  readonly isSettled: boolean;
  readonly message: string;
}

export interface EntitySummary {
  readonly name: string;
  readonly category: Category;
  readonly threatLevel: ThreatLevel;
}

export type ExposureCategory = Category | 'UNKNOWN';

/** The label on which a row of exposure rests. */
export interface ExposureLabel {
  /** The labelled address with the greatest part of the value of the row. */
  readonly address: string;
  /** Source id. */
  readonly source: string;
  readonly sourceUrl: string | null;
  /** ISO date on which the source last confirmed the label; null if it gives none. */
  readonly date: string | null;
  /** Confidence of the label, 0 to 1. */
  readonly confidence: number;
}

export interface Exposure {
  readonly category: ExposureCategory;
  readonly entity: EntitySummary | null;
  readonly direction: 'in' | 'out';
  readonly type: 'DIRECT' | 'INDIRECT';
  /** Percentage of the value that was received (in) or sent (out): of all priced value, or of `asset`. */
  readonly percentage: number;
  /** The asset that `percentage` refers to, if it has no price; null for USD, and if nothing can be weighed. */
  readonly asset: string | null;
  /** How the value is priced: the weakest status among the direction's priced assets. */
  readonly priceStatus: PriceStatus;
  /** Day (YYYY-MM-DD) of the oldest of their prices, if a price is from an earlier day than the transfers. */
  readonly priceDate: string | null;
  /** Evidence class of the label of the other side; null for UNKNOWN. */
  readonly class: EvidenceClass | null;
  /** Null for UNKNOWN, and for a contract of a known bridge that has no label. */
  readonly label: ExposureLabel | null;
  /** USD value of this part of the direction; null if `asset` has no price. */
  readonly valueUsd: number | null;
  readonly hops: number;
  readonly txCount: number;
  /** Number of transfers without a price. */
  readonly unpricedTxCount: number;
}

/** An address at which money was not followed further, and its percentage of the direction's value or of the asset. */
export interface StoppedFlow {
  readonly address: string;
  /** UNPRICED: several assets without a price moved there, so it is not known which part went to which address. */
  readonly reason: 'MAX_DEGREE' | 'BUDGET' | 'UNPRICED';
  readonly direction: 'in' | 'out';
  /** The asset without a price that was followed separately; null for the value of the direction. */
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
  /** Number of transfers. */
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
  /** Native units, decimal; the smallest unit if `decimals` is null. */
  readonly amount: string;
  readonly decimals: number | null;
  readonly valueUsd: number | null;
  readonly priceStatus: PriceStatus;
  /** Day (YYYY-MM-DD) of the price, if it is earlier than the day of the transfer. */
  readonly priceDate: string | null;
  readonly reason: string;
}

/** A transfer that anyone could have added to the history of the address. It never scores. */
export interface SpoofableTransfer {
  readonly hash: string;
  readonly timestamp: string;
  readonly direction: 'in' | 'out';
  readonly counterparty: string;
  readonly entity: EntitySummary | null;
  readonly category: ExposureCategory;
  readonly asset: string;
  /** Native units, decimal; the smallest unit if `decimals` is null. */
  readonly amount: string;
  readonly decimals: number | null;
  /** UNKNOWN_TOKEN: on no curated list. ZERO_VALUE_TOKEN: no amount moved. DUST: a tiny amount from a look-alike address. */
  readonly kind: 'UNKNOWN_TOKEN' | 'ZERO_VALUE_TOKEN' | 'DUST';
  /** The real counterparty that the counterparty's address imitates; null if it imitates none. */
  readonly imitates: string | null;
  /** True if the address itself signed the transaction; null if the source does not say. */
  readonly holderSent: boolean | null;
  /** True if the transaction calls the token's contract; null if the source does not say. */
  readonly callsAsset: boolean | null;
  /** True if the call decodes to this transfer; null if the source does not say. */
  readonly decodes: boolean | null;
}

export interface AssetTotal {
  readonly asset: string;
  /** False for tokens that are on no curated list: anyone can forge their transfers, so they count nowhere. */
  readonly isEvidence: boolean;
  readonly priceStatus: PriceStatus;
  /** Day (YYYY-MM-DD) of the price, if it is earlier than the day of the last transfer. */
  readonly priceDate: string | null;
  /** Native units, decimal; the smallest unit if `decimals` is null. */
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

/** The origin of the money that was received, under one taint rule. */
export interface TaintShares {
  readonly method: TaintMethod;
  /** Category → percentage of the received value. Under poison and TIHO shares overlap, and need not add up to 100. */
  readonly received: Readonly<Partial<Record<ExposureCategory, number>>>;
  /** The same for unspent outputs. Null on chains without outputs, like all fields below. */
  readonly unspent: Readonly<Partial<Record<ExposureCategory, number>>> | null;
  /** Percentage of the received value that is newly mined. It is part of UNKNOWN. */
  readonly minedPercentage: number | null;
  /** Percentage of the received value that comes from outputs that were not read. It is part of UNKNOWN. */
  readonly unexploredPercentage: number | null;
  readonly outputs: number | null;
  /** True if a budget ended the search before all origins were found. */
  readonly isTruncated: boolean;
}

export interface TaintAnswer {
  /** OUTPUTS: single outputs were followed. ACCOUNTS: the flow between addresses was followed. */
  readonly basis: 'OUTPUTS' | 'ACCOUNTS';
  readonly methods: readonly TaintShares[];
}

/** The value that an address moved on one day (UTC). */
export interface DailyTotal {
  /** YYYY-MM-DD. */
  readonly date: string;
  /** USD of the priced transfers; null if none is priced. */
  readonly inUsd: number | null;
  readonly outUsd: number | null;
  readonly inTxCount: number;
  readonly outTxCount: number;
}

/** A fact with its source. */
export interface CitedFact {
  readonly fact: string;
  readonly sourceUrl: string;
  /** ISO date of the source. */
  readonly date: string;
  /** True only if the wording was compared with the publisher's own text. */
  readonly verified: boolean;
  /** First day on which the fact holds, ISO date; null if no bound is known. */
  readonly validFrom: string | null;
  /** Last day on which the fact holds, ISO date; null if no bound is known. */
  readonly validUntil: string | null;
}

export interface LegalInterpretation {
  /** ISO 3166-1 alpha-2. */
  readonly jurisdiction: string;
  /** FATF: no law of the country is known, so the FATF standard is used instead. */
  readonly standard: 'NATIONAL' | 'FATF';
  readonly regulator: string | null;
  readonly framework: readonly string[];
  readonly assessment: string;
  readonly recommendedAction: string;
  readonly obligations: readonly string[];
  readonly reportingTo: string | null;
  readonly sanctionsAuthority: string | null;
  readonly travelRule: {
    /** Amount from which a transfer must carry particulars of both sides; null if every transfer must. */
    readonly threshold: number | null;
    /** ISO 4217. */
    readonly currency: string;
    readonly law: string;
    readonly note: string | null;
  } | null;
  readonly sources: readonly CitedFact[];
  /** Version of the file that contains the law; null if no file was read. */
  readonly version: string | null;
  readonly disclaimer: string;
}

/** `data` of POST /screening. */
export interface ScreeningAnswer {
  readonly walletAddress: string;
  readonly address: string;
  readonly chain: ChainId;
  /** The requested day; null for now. */
  readonly asOf: string | null;
  readonly riskScore: number;
  readonly riskLevel: RiskLevel;
  readonly scoreBreakdown: readonly ScoreFactor[];
  readonly policyVersion: string;
  readonly assessed: boolean;
  /** Reasons that explain or qualify the answer, for example STALE_OR_MISSING_DATA. */
  readonly reasons: readonly Reason[];
  readonly balance: number | null;
  readonly balanceUsd: number | null;
  /** Distinct transactions among the known transfers; null if none is known. */
  readonly totalTransactions: number | null;
  readonly sanctionsCheck: SanctionsDetail;
  readonly sanctioned: boolean;
  readonly entity: EntitySummary | null;
  readonly entityLabels: readonly LabelJson[];
  /** Labels that contradict the first one in category, threat level or owner, and how the conflict was decided. */
  readonly labelConflicts: readonly LabelConflict[];
  readonly flaggedTransactions: readonly FlaggedTransaction[];
  /** Newest first. */
  readonly spoofableTransfers: readonly SpoofableTransfer[];
  readonly topCounterparties: readonly TopCounterparty[];
  readonly exposureSending: Readonly<Partial<Record<ExposureCategory, number>>>;
  readonly exposureReceiving: Readonly<Partial<Record<ExposureCategory, number>>>;
  readonly exposures: readonly Exposure[];
  /** Empty if all money was followed for the requested number of hops. */
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
    /** True if `daily` reaches back to the first known transfer. */
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
    /** USD; null if no transfer is known or none is priced. */
    readonly direct: number | null;
    readonly indirect: number | null;
    /** Percentage of all value that moved; null if no value is known to have moved. */
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
