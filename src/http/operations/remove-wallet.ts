/** `DELETE /monitoring/wallets/{id}`. */
import { callerOf, operation } from '../operation.ts';
import { WalletDetail } from '../schemas/monitoring.ts';
import { MONITORING, NOT_FOUND, walletDetail, walletPath } from './support/monitoring.ts';

export const removeWallet = operation({
  ...MONITORING,
  id: 'removeWallet',
  sdk: 'wallets.remove',
  method: 'DELETE',
  path: '/monitoring/wallets/{id}',
  pathParameters: walletPath,
  response: WalletDetail,
  statuses: NOT_FOUND,
  summary: 'Delete a wallet softly',
  description: 'Stops watching; alerts and transactions are kept, and the wallet can be restored.',
  async run({ services, call, path }) {
    const service = services.useCases.monitoring();
    return walletDetail(services, await service.remove(callerOf(call).accountId, path.id));
  },
});
