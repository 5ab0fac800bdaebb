/** Records of monitoring as the API and the webhooks tell them: ISO times, EVM addresses in lower case, nothing of other accounts. */
import { isoTime } from '../base/clock.ts';
import type { Alert, Delivery, MonitoredTransaction, MonitoredWallet } from './records.ts';

const time = (ms: number | null): string | null => (ms === null ? null : isoTime(ms));
/** All chains that are monitored are EVM chains. */
const shown = (address: string): string => address.toLowerCase();
const counterparty = <T extends { readonly address: string | null }>(party: T): T => ({
  ...party,
  address: party.address === null ? null : shown(party.address),
});

/** USD with two decimals: records of earlier versions have more. */
const usdShown = (usd: number | null): number | null => (usd === null ? null : Math.round(usd * 100) / 100);

export function walletAnswer(wallet: MonitoredWallet) {
  return {
    id: wallet.id,
    walletAddress: shown(wallet.walletAddress),
    chain: wallet.chain,
    label: wallet.label,
    status: wallet.status,
    riskScore: wallet.riskScore,
    riskLevel: wallet.riskLevel,
    assessed: wallet.assessed ?? false,
    // Earlier versions screened a wallet when it was added, and never again.
    screenedAt: isoTime(wallet.screenedAtMs ?? wallet.createdAtMs),
    coverage: wallet.coverage ?? null,
    enabledRules: wallet.enabledRules,
    customWebhookUrl: wallet.customWebhookUrl,
    alertThreshold: wallet.alertThreshold,
    alertFrequency: wallet.alertFrequency,
    notes: wallet.notes,
    createdAt: isoTime(wallet.createdAtMs),
    updatedAt: isoTime(wallet.updatedAtMs),
    deletedAt: time(wallet.deletedAtMs),
  };
}

const walletTexts = new WeakMap<MonitoredWallet, string>();

/** JSON text of `walletAnswer`, made once a record: lists show the same ones again and again. */
export function walletText(wallet: MonitoredWallet): string {
  const known = walletTexts.get(wallet);
  if (known !== undefined) return known;
  const text = JSON.stringify(walletAnswer(wallet));
  walletTexts.set(wallet, text);
  return text;
}

export function alertAnswer(alert: Alert) {
  const { transaction } = alert;
  return {
    id: alert.id,
    sequence: alert.sequence,
    walletId: alert.walletId,
    wallet: { ...alert.wallet, walletAddress: shown(alert.wallet.walletAddress) },
    status: alert.status,
    severity: alert.severity,
    ruleId: alert.ruleId,
    ruleName: alert.ruleName,
    title: alert.title,
    message: alert.message,
    category: alert.category,
    riskType: alert.riskType,
    final: alert.final,
    reorged: alert.reorged,
    transaction:
      transaction === null
        ? null
        : {
            hash: transaction.hash,
            blockNumber: transaction.blockNumber,
            direction: transaction.direction,
            counterparty: counterparty(transaction.counterparty),
            asset: transaction.asset,
            amount: transaction.amount,
            amountUsd: usdShown(transaction.amountUsd),
            timestamp: isoTime(transaction.timestampMs),
          },
    createdAt: isoTime(alert.createdAtMs),
    updatedAt: isoTime(alert.updatedAtMs),
    resolvedAt: time(alert.resolvedAtMs),
    history: alert.history.map(({ atMs, kind, status, by }) => ({ at: isoTime(atMs), kind, status, by })),
  };
}
export type AlertAnswer = ReturnType<typeof alertAnswer>;

/** `confirmations`: blocks on top of the transaction's and itself; null where the head is not known, 0 where it was taken back. */
export function transactionAnswer(transaction: MonitoredTransaction, headHeight: number | null) {
  return {
    id: transaction.id,
    walletId: transaction.walletId,
    hash: transaction.hash,
    blockNumber: transaction.blockNumber,
    timestamp: isoTime(transaction.timestampMs),
    direction: transaction.direction,
    counterparty: {
      address: transaction.counterparty.address === null ? null : shown(transaction.counterparty.address),
      entity: transaction.counterparty.entity,
      category: transaction.counterparty.entity?.category ?? null,
    },
    asset: transaction.asset,
    amount: transaction.amount,
    amountUsd: usdShown(transaction.amountUsd),
    riskScore: transaction.riskScore,
    riskLevel: transaction.riskLevel,
    spoofable: transaction.spoofable ?? false,
    alertIds: transaction.alertIds,
    reorged: transaction.reorged,
    confirmations: transaction.reorged
      ? 0
      : headHeight === null
        ? null
        : Math.max(0, headHeight - transaction.blockNumber + 1),
  };
}

export function deliveryAnswer(delivery: Delivery) {
  return {
    id: delivery.id,
    walletId: delivery.walletId,
    alertId: delivery.alertId,
    channel: delivery.channel,
    event: delivery.event,
    target: delivery.target,
    status: delivery.status,
    attempts: delivery.attempts.map(({ atMs, ...attempt }) => ({ at: isoTime(atMs), ...attempt })),
    createdAt: isoTime(delivery.createdAtMs),
    nextAttemptAt: time(delivery.nextAttemptAtMs),
  };
}
