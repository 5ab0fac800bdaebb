/** Alerts as a CSV file. The columns are those of the API, so that programs can read the file in every language. */
import type { Schemas } from '../../api/client.ts';
import { csvText } from '../../ui/csv.ts';

const COLUMNS = [
  ...[
    'sequence',
    'id',
    'created_at',
    'status',
    'severity',
    'rule',
    'title',
    'message',
    'category',
    'assignee',
  ],
  ...[
    'wallet',
    'wallet_chain',
    'wallet_label',
    'direction',
    'counterparty',
    'counterparty_name',
    'hash',
    'time',
  ],
  ...['amount', 'asset', 'usd', 'final', 'reorged'],
];

/** Returns the file. */
export function alertsCsv(alerts: readonly Schemas['Alert'][]): string {
  const rows = alerts.map(({ transaction, wallet, ...alert }) => [
    ...[alert.sequence, alert.id, alert.createdAt, alert.status, alert.severity, alert.ruleId, alert.title],
    ...[alert.message, alert.category, alert.assignee, wallet.walletAddress, wallet.chain, wallet.label],
    ...[transaction?.direction, transaction?.counterparty.address, transaction?.counterparty.entity?.name],
    ...[transaction?.hash, transaction?.timestamp, transaction?.amount, transaction?.asset],
    ...[transaction?.amountUsd, alert.final, alert.reorged],
  ]);
  return csvText(COLUMNS, rows);
}
