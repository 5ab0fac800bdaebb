/** `GET /billing/stream`. */
import { Type } from 'typebox';
import { callerOf, operation } from '../operation.ts';
import { BILLING } from './support/billing.ts';
import { EventId, guarded } from './support/streams.ts';

export const billingStream = operation({
  ...BILLING,
  id: 'billingStream',
  sdk: 'billing.stream',
  method: 'GET',
  path: '/billing/stream',
  query: { lastEventId: Type.Optional(EventId) },
  header: { 'Last-Event-ID': Type.Optional(EventId) },
  response: 'text/event-stream',
  statuses: { 101: { description: 'A WebSocket, if the request asks for one.', schema: null } },
  summary: 'Stream of billing events',
  description:
    'Server-sent events `invoice.created`, `invoice.updated`, `invoice.processing`, `invoice.settled`, `invoice.expired`, `invoice.invalid`, `invoice.held`, `invoice.new` (unpaid again) with the invoice as it is now, and `balance.low`; or a WebSocket of JSON messages {id, event, data}. `lastEventId`, or the header Last-Event-ID, resumes the stream after that event.',
  follow({ services, call, query, header }, open) {
    const { accountId } = callerOf(call);
    const streams = services.useCases.billingStreams();
    const eventId = query.lastEventId ?? header['Last-Event-ID'] ?? '';
    const after = eventId === '' ? null : Number(eventId);
    streams.requireRoom(accountId);
    const stream = open();
    stream.onEnd(streams.subscribe(accountId, after, guarded(services, call, stream, 'any')));
  },
});
