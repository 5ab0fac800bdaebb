/** `GET /monitoring/alerts`. */
import { Type } from 'typebox';
import { HTTP_LIMITS } from '../limits.ts';
import { operation } from '../operation.ts';
import { AlertList } from '../schemas/monitoring.ts';
import { alertFilters, alertsPage, MONITORING } from './support/monitoring.ts';

export const listAlerts = operation({
  ...MONITORING,
  id: 'listAlerts',
  sdk: 'alerts.list',
  method: 'GET',
  path: '/monitoring/alerts',
  query: {
    walletId: Type.Optional(Type.String({ description: 'Only alerts of this wallet.' })),
    walletAddress: Type.Optional(
      Type.Array(Type.String(), {
        maxItems: HTTP_LIMITS.alertAddressesMax,
        description: 'Only alerts of wallets at these addresses, separated by commas.',
      }),
    ),
    ...alertFilters,
  },
  response: AlertList,
  summary: 'Alerts',
  description: 'Of all wallets of the account, newest first.',
  async run(input) {
    const { walletId, walletAddress } = input.query;
    return alertsPage(input, {
      ...(walletId === undefined ? {} : { walletId }),
      ...(walletAddress === undefined ? {} : { walletAddresses: walletAddress }),
    });
  },
});
