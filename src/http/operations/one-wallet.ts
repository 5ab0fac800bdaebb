/** `GET /monitoring/wallets/{id}`. */
import { callerOf, operation } from '../operation.ts';
import { WalletDetail } from '../schemas/monitoring.ts';
import { MONITORING, NOT_FOUND, walletDetail, walletPath } from './support/monitoring.ts';

export const oneWallet = operation({
  ...MONITORING,
  id: 'oneWallet',
  sdk: 'wallets.get',
  method: 'GET',
  path: '/monitoring/wallets/{id}',
  pathParameters: walletPath,
  response: WalletDetail,
  statuses: NOT_FOUND,
  summary: 'One watched wallet',
  description: 'With the counts of its alerts and transactions.',
  run: async ({ services, call, path }) =>
    walletDetail(services, services.useCases.monitoring().wallet(callerOf(call).accountId, path.id)),
});
