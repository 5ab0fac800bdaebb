/** `POST /monitoring/deliveries/{id}/replay`. */
import { deliveryAnswer } from '../../monitoring/answers.ts';
import { callerOf, operation, REPLAYED } from '../operation.ts';
import { idText } from '../schemas/fields.ts';
import { OneDelivery } from '../schemas/monitoring.ts';
import { MONITORING, NOT_FOUND } from './support/monitoring.ts';
import { repeatHeader, repeatKeyOf } from './support/repeats.ts';

export const replayDelivery = operation({
  ...MONITORING,
  id: 'replayDelivery',
  sdk: 'deliveries.replay',
  method: 'POST',
  path: '/monitoring/deliveries/{id}/replay',
  pathParameters: { id: idText('Id of a delivery of the account.') },
  header: repeatHeader,
  response: OneDelivery,
  responseHeaders: ['Idempotency-Replayed'],
  statuses: NOT_FOUND,
  summary: 'Send a message again',
  description: 'The same message with the same webhook-id; its retries begin again.',
  async run({ services, call, path, header }) {
    const { outbox } = services.useCases.monitoring().store;
    const { accountId } = callerOf(call);
    const repeatKey = repeatKeyOf(call, accountId, header['Idempotency-Key'], null);
    const { delivery, isRepeated } = await outbox.replay(accountId, path.id, repeatKey);
    if (isRepeated) call.lines += REPLAYED;
    return { delivery: deliveryAnswer(delivery) };
  },
});
