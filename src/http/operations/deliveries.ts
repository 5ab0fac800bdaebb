/** `GET /monitoring/deliveries`. */
import { Type } from 'typebox';
import { deliveryAnswer } from '../../monitoring/answers.ts';
import { HTTP_LIMITS } from '../limits.ts';
import { callerOf, operation } from '../operation.ts';
import { oneOf, pageQuery } from '../schemas/fields.ts';
import { DELIVERY_STATUSES, DeliveryList } from '../schemas/monitoring.ts';
import { MONITORING } from './support/monitoring.ts';
import { pageEnd, pageOf } from './support/paging.ts';

export const deliveries = operation({
  ...MONITORING,
  id: 'deliveries',
  sdk: 'deliveries.list',
  method: 'GET',
  path: '/monitoring/deliveries',
  query: {
    status: Type.Optional(oneOf(DELIVERY_STATUSES, 'Only messages in this state.')),
    walletId: Type.Optional(Type.String({ description: 'Only messages of this wallet.' })),
    alertId: Type.Optional(Type.String({ description: 'Only messages of this alert.' })),
    ...pageQuery(HTTP_LIMITS.deliveriesPageMax),
  },
  response: DeliveryList,
  summary: 'Delivery log',
  description:
    'Every message and every attempt, newest first, kept for 30 days. A page of a filter may be short although more rows follow: continue while nextCursor is set.',
  async run({ services, call, query }) {
    const { limit: _limit, cursor: _cursor, ...filter } = query;
    const { outbox } = services.useCases.monitoring().store;
    const page = outbox.list(callerOf(call).accountId, filter, pageOf(query));
    return { deliveries: page.deliveries.map(deliveryAnswer), ...pageEnd(query, page) };
  },
});
