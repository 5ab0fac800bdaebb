/** `POST /monitoring/deliveries/{id}/replay`. */
import { deliveryAnswer } from '../../monitoring/answers.ts';
import { callerOf, operation } from '../operation.ts';
import { idText } from '../schemas/common.ts';
import { OneDelivery } from '../schemas/monitoring.ts';
import { MONITORING, NOT_FOUND } from './support/monitoring.ts';

export const replayDelivery = operation({
  ...MONITORING,
  id: 'replayDelivery',
  method: 'POST',
  path: '/monitoring/deliveries/{id}/replay',
  pathParameters: { id: idText('Id of a delivery of the account.') },
  response: OneDelivery,
  statuses: NOT_FOUND,
  summary: 'Send a message again',
  description: 'The same message with the same webhook-id; its retries begin again.',
  async run({ services, call, path }) {
    const { outbox } = services.useCases.monitoring().store;
    return { delivery: deliveryAnswer(await outbox.replay(callerOf(call).accountId, path.id)) };
  },
});
