/** Settings: watched wallets and the receivers of alerts. */
import { hostNames, number } from './readers.ts';
import { setting } from './setting.ts';

/** Days of a hundred years. */
const DAYS_MAX = 36_525;

export const monitoringSettings = {
  walletRefreshHours: setting(
    'ASSAY_WALLET_REFRESH_HOURS',
    '24',
    number(1, 24 * 30, false),
    'Hours between two screenings of a watched wallet. Each alert also triggers a screening.',
  ),
  transactionRetentionDays: setting(
    'ASSAY_TRANSACTION_RETENTION_DAYS',
    // Laws ask for five years after a business relationship or a transaction (FATF recommendation 11, EU 2024/1624), some for more.
    '2557',
    number(1, DAYS_MAX, true),
    'Days for which the transactions of watched wallets are kept after their block; then they are deleted. Default: seven years. Alerts, with the transaction that each of them is about, are not deleted. Nodes with the role `listener` need the same value.',
  ),
  webhookTrustedHosts: setting(
    'ASSAY_WEBHOOK_TRUSTED_HOSTS',
    '',
    hostNames,
    'Your own hosts that may receive alerts although their addresses are private, without ports, comma-separated. Plain http is allowed for them. Nodes with the role `api` (which accept the URL) and `delivery` (which send) need the same value.',
  ),
} as const;
