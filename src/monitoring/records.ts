/** Records of monitoring: wallets, alerts, monitored transactions, channels, deliveries. Times are milliseconds since the epoch. */
import type { StagedCharge } from '../base/staged-purchases.ts';
import { CHAINS } from '../chains/registry.ts';
import type { Category } from '../labels/taxonomy.ts';
import type { RiskLevel } from '../risk/policy.ts';
import type { Coverage } from '../screening/answers.ts';

export type MonitoringChain = Extract<(typeof CHAINS)[number], { readonly monitored: true }>['id'];

/** Chains on which a wallet can be watched, in the order of the registry. */
export const MONITORING_CHAINS: readonly MonitoringChain[] = CHAINS.flatMap((chain) =>
  chain.monitored ? [chain.id] : [],
);

export const RULE_IDS = [
  'SANCTIONS-001',
  'MIXING-001',
  'SCAM-001',
  'HIGHRISK-001',
  'DARKWEB-001',
  'VELOCITY-001',
] as const;
export type RuleId = (typeof RULE_IDS)[number];

export const SEVERITIES = ['LOW', 'MEDIUM', 'HIGH', 'CRITICAL'] as const;
export type Severity = (typeof SEVERITIES)[number];

export const ALERT_STATUSES = ['NEW', 'INVESTIGATING', 'RESOLVED', 'DISMISSED'] as const;
export type AlertStatus = (typeof ALERT_STATUSES)[number];

export const ALERT_THRESHOLDS = ['all', 'medium', 'high', 'critical'] as const;
export type AlertThreshold = (typeof ALERT_THRESHOLDS)[number];

export const ALERT_FREQUENCIES = ['realtime', 'daily'] as const;
export type AlertFrequency = (typeof ALERT_FREQUENCIES)[number];

export interface MonitoredWallet {
  readonly id: string;
  readonly accountId: string;
  readonly chain: MonitoringChain;
  /** In canonical form. */
  readonly walletAddress: string;
  readonly label: string | null;
  readonly status: 'ACTIVE' | 'PAUSED' | 'DELETED';
  /** Result of the last screening of the address, like the next four fields. */
  readonly riskScore: number | null;
  readonly riskLevel: RiskLevel | null;
  /** Like the next two, absent for a wallet of an earlier version until it is screened again. */
  readonly assessed?: boolean;
  readonly coverage?: Coverage;
  readonly screenedAtMs?: number;
  /** Rule that the address itself falls under by its labels; null for none. Absent in records of earlier versions. */
  readonly ownRuleId?: RuleId | null;
  readonly enabledRules: readonly RuleId[];
  readonly customWebhookUrl: string | null;
  readonly alertThreshold: AlertThreshold;
  readonly alertFrequency: AlertFrequency;
  readonly notes: string | null;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  readonly deletedAtMs: number | null;
  /**
   * Transfers of blocks up to this height are ignored, unless the chain has reverted them since: the head when the wallet was added, resumed or
   * restored.
   */
  readonly watchFromHeight: number | null;
  /** Hash of that block. Null if it is not known; absent in records of earlier versions. */
  readonly watchFromHash?: string | null;
  /**
   * Number of reverts of the chain at that time. If a later one went below that height, blocks of the new branch count from there on. Absent in
   * records of earlier versions: 0, because reverts were not counted.
   */
  readonly watchFromRevert?: number;
}

/** The charge of a new wallet. */
export type WalletCharge = StagedCharge;

export interface PendingWallet {
  /** The wallet as it will be. */
  readonly wallet: MonitoredWallet;
  readonly charge: WalletCharge;
  /** JSON text of the response's `data`: a repeated request gets the same one. */
  readonly data: string;
  /** True if the purchase failed: a charge is refunded, then the row is removed. */
  readonly isAbandoned: boolean;
}

export type WalletDraftRecord = Omit<
  MonitoredWallet,
  'id' | 'createdAtMs' | 'updatedAtMs' | 'deletedAtMs' | 'status'
>;

/** Whether a chain is followed. */
export interface FollowReport {
  /** False if transfers of the chain are not seen at the moment. */
  readonly following: boolean;
  /** Why it is not followed, as a sentence; null if it is. */
  readonly reason: string | null;
}

export interface ChainFollowing extends FollowReport {
  /** Height of the last processed block; null before the first. */
  readonly followedTo: number | null;
}

export interface CounterpartyEntity {
  readonly name: string;
  readonly category: Category;
  readonly threatLevel: string;
}

export interface AlertTransaction {
  readonly hash: string;
  readonly blockNumber: number;
  readonly direction: 'in' | 'out';
  readonly counterparty: { readonly address: string | null; readonly entity: CounterpartyEntity | null };
  readonly asset: string;
  /** Decimal text in native units; in the smallest unit if `decimals` is null. */
  readonly amount: string;
  /** Absent in records of earlier versions. */
  readonly decimals?: number | null;
  readonly amountUsd: number | null;
  readonly timestampMs: number;
}

export interface AlertEvent {
  readonly atMs: number;
  /** Kind of change: a change by a user (`STATUS`, `ASSIGNEE`, `NOTE`), or finality or a reorg of the chain. */
  readonly kind: 'CREATED' | 'STATUS' | 'ASSIGNEE' | 'NOTE' | 'FINAL' | 'REORGED';
  readonly status: AlertStatus;
  /** Key that made the change; null if the chain did. */
  readonly by: string | null;
  /** Of the user who made the change. Absent without one. */
  readonly note?: string;
  /** The new assignee, of an `ASSIGNEE` change only. */
  readonly assignee?: string | null;
}

/** A change of an alert by a user. At least one field is given. */
export interface AlertChange {
  readonly status?: AlertStatus;
  /** Null removes the assignee. */
  readonly assignee?: string | null;
  readonly note?: string;
}

export interface Alert {
  readonly id: string;
  readonly accountId: string;
  readonly walletId: string;
  /** Increases by one with every alert of the account, so that a receiver can sort alerts and detect a gap. */
  readonly sequence: number;
  readonly ruleId: RuleId;
  readonly ruleName: string;
  readonly severity: Severity;
  readonly status: AlertStatus;
  readonly title: string;
  readonly message: string;
  readonly category: Category | null;
  readonly riskType: 'COUNTERPARTY' | 'INDIRECT' | 'BEHAVIOUR' | 'LIST_CHANGE';
  /** The block of the transaction is deep enough that no reorg is expected. */
  readonly final: boolean;
  /** The block of the transaction was reverted. */
  readonly reorged: boolean;
  readonly transaction: AlertTransaction | null;
  /** The wallet at the time when the alert was raised. */
  readonly wallet: {
    readonly walletAddress: string;
    readonly chain: MonitoringChain;
    readonly label: string | null;
  };
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  readonly resolvedAtMs: number | null;
  readonly history: readonly AlertEvent[];
  /** Absent in records of earlier versions. */
  readonly assignee?: string | null;
}

export interface MonitoredTransaction {
  readonly id: string;
  readonly accountId: string;
  readonly walletId: string;
  readonly hash: string;
  readonly position: string;
  readonly blockNumber: number;
  readonly blockHash: string;
  readonly timestampMs: number;
  readonly direction: 'in' | 'out';
  readonly counterparty: { readonly address: string | null; readonly entity: CounterpartyEntity | null };
  readonly asset: string;
  /** Like that of an alert, with the next field. */
  readonly amount: string;
  readonly decimals?: number | null;
  readonly amountUsd: number | null;
  readonly riskScore: number | null;
  readonly riskLevel: RiskLevel | null;
  readonly alertIds: readonly string[];
  readonly reorged: boolean;
  /**
   * Anyone can forge the transfer: it raises no alert above LOW and does not count for velocity. Absent in older records: false.
   */
  readonly spoofable?: boolean;
}

/** Receivers of an account's alerts in addition to the webhook of each wallet. Null if not set. */
export interface AccountChannels {
  readonly email: string | null;
  /** An incoming-webhook URL of Slack: a secret, shown masked. */
  readonly slackWebhookUrl: string | null;
  readonly telegram: { readonly botToken: string; readonly chatId: string } | null;
}

export type ChannelKind = 'webhook' | 'email' | 'slack' | 'telegram';
export type DeliveryEvent = 'alert.created' | 'alert.updated' | 'digest' | 'test' | 'billing';

/** One message to one receiver: stored in the transaction of its alert, and sent afterwards. */
export interface Delivery {
  readonly id: string;
  readonly accountId: string;
  /** Null for a digest. */
  readonly walletId: string | null;
  readonly alertId: string | null;
  readonly channel: ChannelKind;
  readonly event: DeliveryEvent;
  /** URL, address or chat of the receiver at the time when the delivery was stored. */
  readonly target: string;
  readonly status: 'PENDING' | 'DELIVERED' | 'FAILED' | 'CANCELLED';
  readonly attempts: readonly DeliveryAttempt[];
  /** Attempts before the current series: a replay starts a new one. */
  readonly attemptsBefore: number;
  readonly createdAtMs: number;
  /** Due time of the next attempt; null if none will be made. */
  readonly nextAttemptAtMs: number | null;
}

/** A delivery with its message, to be sent. */
export interface OutgoingDelivery extends Delivery {
  /** The whole message, rendered when it was stored, so that every attempt sends the same bytes. */
  readonly body: string;
}

export interface DeliveryAttempt {
  readonly atMs: number;
  readonly durationMs: number;
  /** HTTP status; null if no response arrived. */
  readonly responseStatus: number | null;
  /** Reason of the failure, without secrets; null if it succeeded. */
  readonly error: string | null;
}

export interface WalletFilter {
  readonly includeDeleted: boolean;
  readonly chain?: MonitoringChain;
  readonly status?: MonitoredWallet['status'];
  /** Part of the label or of the address, in any letter case. */
  readonly search?: string;
}

export interface WatchedAddress {
  readonly chain: MonitoringChain;
  readonly walletAddress: string;
  readonly accountId: string;
  readonly walletId: string;
}

/** A wallet that is watched from this change on, or no longer. */
export interface WatchChange extends WatchedAddress {
  readonly isActive: boolean;
}
