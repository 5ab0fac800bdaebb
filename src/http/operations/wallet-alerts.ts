/** `GET /monitoring/wallets/{id}/alerts`. */
import { callerOf, operation } from '../operation.ts';
import { AlertList } from '../schemas/monitoring.ts';
import { alertFilters, alertsPage, MONITORING, NOT_FOUND, walletPath } from './support/monitoring.ts';

export const walletAlerts = operation({
  ...MONITORING,
  id: 'walletAlerts',
  sdk: 'wallets.alerts',
  method: 'GET',
  path: '/monitoring/wallets/{id}/alerts',
  pathParameters: walletPath,
  query: alertFilters,
  response: AlertList,
  statuses: NOT_FOUND,
  summary: 'Alerts of a wallet',
  description: 'Newest first.',
  async run(input) {
    const { services, call, path } = input;
    const { id, chain } = services.useCases.monitoring().wallet(callerOf(call).accountId, path.id);
    return alertsPage(input, { walletId: id }, chain);
  },
});
