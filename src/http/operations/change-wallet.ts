/** `PATCH /monitoring/wallets/{id}`. */
import { callerOf, operation } from '../operation.ts';
import { WalletDetail, WalletPatch } from '../schemas/monitoring.ts';
import { MONITORING, NOT_FOUND, walletDetail, walletPath } from './support/monitoring.ts';

export const changeWallet = operation({
  ...MONITORING,
  id: 'changeWallet',
  sdk: 'wallets.update',
  method: 'PATCH',
  path: '/monitoring/wallets/{id}',
  pathParameters: walletPath,
  body: WalletPatch,
  response: WalletDetail,
  statuses: NOT_FOUND,
  examples: [{ summary: 'Pause a wallet', body: { status: 'PAUSED' } }],
  summary: 'Change, pause, resume or restore a wallet',
  description:
    'A paused wallet gets no alerts, also not later for the time of the pause. Null removes a text or the URL.',
  async run({ services, call, path, body }) {
    const service = services.useCases.monitoring();
    return walletDetail(services, await service.change(callerOf(call).accountId, path.id, body));
  },
});
