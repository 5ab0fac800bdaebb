/** Monitoring records as shown by the API and in webhooks: ISO times, EVM addresses in lower case, no data of other accounts. */

import { isoTime } from '../base/clock.ts';
import { twoDecimals } from '../base/figures.ts';
import { followingOf } from './following.ts';
import type { Alert, ChainFollowing, Delivery, MonitoredTransaction, MonitoredWallet } from './records.ts';

const time = (ms: number | null): string | null => (ms === null ? null : isoTime(ms));
/** All monitored chains are EVM chains. */
const shown = (address: string): string => address.toLowerCase();
const counterparty = <T extends { readonly address: string | null }>(party: T): T => ({
  ...party,
  address: party.address === null ? null : shown(party.address),
});

/** USD with two decimals: records of earlier versions have more. */
const usdShown = (usd: number | null): number | null => (usd === null ? null : twoDecimals(usd));

/** Returns a wallet as the API shows it. */
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
    // Earlier versions screened a wallet only when it was added.
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

/** Returns the JSON text of `walletAnswer`, cached per record because lists show the same wallets repeatedly. */
export function walletText(wallet: MonitoredWallet): string {
  const known = walletTexts.get(wallet);
  if (known !== undefined) return known;
  const text = JSON.stringify(walletAnswer(wallet));
  walletTexts.set(wallet, text);
  return text;
}

/**
 * Returns a wallet as the API shows it, with whether its chain is followed.
 *
 * @param of - of the wallet's chain
 */
export const followedWallet = (wallet: MonitoredWallet, of: ChainFollowing) => ({
  ...walletAnswer(wallet),
  ...followingOf(wallet, of),
});

/** Returns the JSON text of `followedWallet`. */
export const followedWalletText = (wallet: MonitoredWallet, of: ChainFollowing): string =>
  `${walletText(wallet).slice(0, -1)},${JSON.stringify(followingOf(wallet, of)).slice(1)}`;

/** Returns an alert as the API and the webhooks show it. */
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
            decimals: transaction.decimals ?? null,
            amountUsd: usdShown(transaction.amountUsd),
            timestamp: isoTime(transaction.timestampMs),
          },
    createdAt: isoTime(alert.createdAtMs),
    updatedAt: isoTime(alert.updatedAtMs),
    resolvedAt: time(alert.resolvedAtMs),
    assignee: alert.assignee ?? null,
    history: alert.history.map(({ atMs, kind, status, by, note = null, assignee = null }) => ({
      ...{ at: isoTime(atMs), kind, status, by, note },
      ...(kind === 'ASSIGNEE' ? { assignee } : {}),
    })),
  };
}
export type AlertAnswer = ReturnType<typeof alertAnswer>;

/**
 * Returns a transaction as the API shows it. `confirmations` counts the blocks from the transaction's own block to the head; null
 * if the head is not known, 0 if the block was reverted.
 */
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
    decimals: transaction.decimals ?? null,
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

/** Returns a delivery as the API shows it. */
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
