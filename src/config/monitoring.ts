/** Settings: watched wallets and the receivers of alerts. */
import { hostNames, number } from './readers.ts';
import { setting } from './setting.ts';

export const monitoringSettings = {
  walletRefreshHours: setting(
    'ASSAY_WALLET_REFRESH_HOURS',
    '24',
    number(1, 24 * 30, false),
    'Hours between two screenings of a watched wallet. Each alert also triggers a screening.',
  ),
  webhookTrustedHosts: setting(
    'ASSAY_WEBHOOK_TRUSTED_HOSTS',
    '',
    hostNames,
    'Your own hosts that may receive alerts although their addresses are private, comma-separated. Plain http is allowed for them. Nodes with the role `api` (which accept the URL) and `delivery` (which send) need the same value.',
  ),
} as const;
