/** `GET /monitoring/deliveries`. */
import { Type } from 'typebox';
import { deliveryAnswer } from '../../monitoring/answers.ts';
import { HTTP_LIMITS } from '../limits.ts';
import { callerOf, operation } from '../operation.ts';
import { oneOf, pageLimit } from '../schemas/common.ts';
import { DELIVERY_STATUSES, DeliveryList } from '../schemas/monitoring.ts';
import { MONITORING } from './support/monitoring.ts';

export const deliveries = operation({
  ...MONITORING,
  id: 'deliveries',
  method: 'GET',
  path: '/monitoring/deliveries',
  query: {
    status: Type.Optional(oneOf(DELIVERY_STATUSES, 'Only messages in this state.')),
    walletId: Type.Optional(Type.String({ description: 'Only messages of this wallet.' })),
    alertId: Type.Optional(Type.String({ description: 'Only messages of this alert.' })),
    limit: pageLimit(HTTP_LIMITS.deliveriesPageMax),
    cursor: Type.Optional(Type.String({ description: 'The `nextCursor` of the previous page.' })),
  },
  response: DeliveryList,
  summary: 'Delivery log',
  description:
    'Every message and every attempt, newest first, kept for 30 days. A page of a filter may be short although more rows follow: continue while nextCursor is set.',
  async run({ services, call, query }) {
    const { limit, cursor, ...filter } = query;
    const { outbox } = services.useCases.monitoring().store;
    const page = { limit, ...(cursor === undefined ? {} : { cursor }) };
    const { deliveries: rows, nextCursor } = outbox.list(callerOf(call).accountId, filter, page);
    return { deliveries: rows.map(deliveryAnswer), nextCursor };
  },
});
