/** `POST /monitoring/wallets/{id}/test`. */
import { deliveryAnswer } from '../../monitoring/answers.ts';
import { callerOf, operation } from '../operation.ts';
import { TestDeliveries } from '../schemas/monitoring.ts';
import { MONITORING, NOT_FOUND, walletPath } from './support/monitoring.ts';

export const testWallet = operation({
  ...MONITORING,
  id: 'testWallet',
  sdk: 'wallets.test',
  method: 'POST',
  path: '/monitoring/wallets/{id}/test',
  pathParameters: walletPath,
  response: TestDeliveries,
  statuses: NOT_FOUND,
  summary: 'Send a test message',
  description: 'To the webhook of the wallet and every channel of the account.',
  async run({ services, call, path }) {
    const service = services.useCases.monitoring();
    const wallet = service.wallet(callerOf(call).accountId, path.id);
    const deliveries = await service.store.outbox.test(wallet);
    return { deliveries: deliveries.map(deliveryAnswer) };
  },
});
