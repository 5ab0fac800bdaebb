/** `GET /monitoring/stream`. */
import { Type } from 'typebox';
import { callerOf, operation } from '../operation.ts';
import { MONITORING } from './support/monitoring.ts';
import { EventId, guarded } from './support/streams.ts';

export const alertStream = operation({
  ...MONITORING,
  id: 'alertStream',
  sdk: 'alerts.stream',
  method: 'GET',
  path: '/monitoring/stream',
  query: { lastEventId: Type.Optional(EventId) },
  header: { 'Last-Event-ID': Type.Optional(EventId) },
  response: 'text/event-stream',
  statuses: { 101: { description: 'A WebSocket, if the request asks for one.', schema: null } },
  summary: 'Stream of alerts and wallet changes',
  description:
    'Server-sent events, or a WebSocket of JSON messages {id, event, data}. `lastEventId`, or the header Last-Event-ID, resumes the stream after that event. A client that does not read fast enough is disconnected with a reason, and can resume.',
  follow({ services, call, query, header }, open) {
    const { accountId } = callerOf(call);
    const { streams } = services.useCases.monitoring();
    const eventId = query.lastEventId ?? header['Last-Event-ID'] ?? '';
    const after = eventId === '' ? null : Number(eventId);
    streams.requireRoom(accountId);
    const stream = open();
    stream.onEnd(streams.subscribe(accountId, after, guarded(services, call, stream, 'monitoring')));
  },
});
