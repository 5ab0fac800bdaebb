/**
 * Alerts as they are stored: lists without the names of the fields, which take half of a record that has them. Alerts of earlier versions are
 * objects, and are read as they are.
 */
import { wrongFormat } from '../state/format-version.ts';
import type { Alert, AlertEvent, AlertTransaction } from './records.ts';

/** Version of the lists. Another one is refused: its fields would be read as others. */
const VERSION = 1;

type StoredEvent = readonly [
  atMs: AlertEvent['atMs'],
  kind: AlertEvent['kind'],
  status: AlertEvent['status'],
  by: AlertEvent['by'],
  /** Null without one. */
  note?: string | null,
  assignee?: string | null,
];

type StoredTransaction = readonly [
  hash: string,
  blockNumber: number,
  direction: AlertTransaction['direction'],
  address: string | null,
  entity: AlertTransaction['counterparty']['entity'],
  asset: string,
  amount: string,
  amountUsd: number | null,
  timestampMs: number,
  decimals?: number | null,
];

/** An alert without what its key has: its account and its sequence number. */
type StoredFields = readonly [
  version: typeof VERSION,
  id: Alert['id'],
  walletId: Alert['walletId'],
  ruleId: Alert['ruleId'],
  ruleName: Alert['ruleName'],
  severity: Alert['severity'],
  status: Alert['status'],
  title: Alert['title'],
  message: Alert['message'],
  category: Alert['category'],
  riskType: Alert['riskType'],
  final: Alert['final'],
  reorged: Alert['reorged'],
  transaction: StoredTransaction | null,
  walletAddress: Alert['wallet']['walletAddress'],
  chain: Alert['wallet']['chain'],
  label: Alert['wallet']['label'],
  createdAtMs: Alert['createdAtMs'],
  updatedAtMs: Alert['updatedAtMs'],
  resolvedAtMs: Alert['resolvedAtMs'],
  history: readonly StoredEvent[],
  assignee?: string | null,
];

/** What the table of alerts holds. */
export type StoredAlert = Alert | StoredFields;

/** The last, optional field of a list: nothing if it is absent. */
const optional = <T>(value: T | undefined): readonly [] | readonly [T] =>
  value === undefined ? [] : [value];

function storedEvent({ atMs, kind, status, by, note, assignee }: AlertEvent): StoredEvent {
  if (assignee !== undefined) return [atMs, kind, status, by, note ?? null, assignee];
  return [atMs, kind, status, by, ...optional(note)];
}

function eventOf([atMs, kind, status, by, note, assignee]: StoredEvent): AlertEvent {
  return {
    ...{ atMs, kind, status, by },
    ...(note == null ? {} : { note }),
    ...(assignee === undefined ? {} : { assignee }),
  };
}

const storedTransaction = (of: AlertTransaction): StoredTransaction => [
  ...([of.hash, of.blockNumber, of.direction, of.counterparty.address, of.counterparty.entity] as const),
  ...([of.asset, of.amount, of.amountUsd, of.timestampMs] as const),
  ...optional(of.decimals),
];

function transactionOf(stored: StoredTransaction): AlertTransaction {
  const [hash, blockNumber, direction, address, entity, asset, amount, amountUsd, timestampMs, decimals] =
    stored;
  return {
    ...{ hash, blockNumber, direction, counterparty: { address, entity }, asset, amount },
    ...(decimals === undefined ? {} : { decimals }),
    ...{ amountUsd, timestampMs },
  };
}

/** Returns what is stored for an alert. */
export const storedAlert = (alert: Alert): StoredAlert => [
  VERSION,
  ...([alert.id, alert.walletId, alert.ruleId, alert.ruleName, alert.severity, alert.status] as const),
  ...([alert.title, alert.message, alert.category, alert.riskType, alert.final, alert.reorged] as const),
  alert.transaction && storedTransaction(alert.transaction),
  ...([alert.wallet.walletAddress, alert.wallet.chain, alert.wallet.label] as const),
  ...([alert.createdAtMs, alert.updatedAtMs, alert.resolvedAtMs] as const),
  alert.history.map(storedEvent),
  ...optional(alert.assignee),
];

/**
 * Returns the alert that is stored under the number of an account.
 *
 * @throws STORE_VERSION if a later version of the program stored it
 */
export function alertOf(accountId: string, sequence: number, stored: StoredAlert): Alert {
  if (!isFields(stored)) return stored;
  const [version, id, walletId, ruleId, ruleName, severity, status, title, message, category, ...others] =
    stored;
  if (version !== VERSION)
    throw wrongFormat(`Alert ${sequence} of an account`, version, VERSION, 'Nothing was changed.');
  const [riskType, final, reorged, transaction, walletAddress, chain, label, createdAtMs, ...last] = others;
  const [updatedAtMs, resolvedAtMs, history, assignee] = last;
  return {
    ...{ ruleId, ruleName, severity, title, message, category, riskType, final },
    transaction: transaction && transactionOf(transaction),
    ...{ id, accountId, walletId, sequence, status, reorged },
    wallet: { walletAddress, chain, label },
    ...{ createdAtMs, updatedAtMs, resolvedAtMs },
    history: history.map(eventOf),
    ...(assignee === undefined ? {} : { assignee }),
  };
}

const isFields = (stored: StoredAlert): stored is StoredFields => Array.isArray(stored);
