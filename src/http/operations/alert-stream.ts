/** `GET /monitoring/stream`. */
import { Type } from 'typebox';
import type { StreamEvent } from '../../monitoring/stream.ts';
import { callerOf, operation } from '../operation.ts';
import { MONITORING } from './support/monitoring.ts';

/** Position in the stream. Empty: from now on. */
const EventId = Type.String({
  pattern: '^\\d{0,15}$',
  description: 'the id of an event of this stream',
});

export const alertStream = operation({
  ...MONITORING,
  id: 'alertStream',
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
    const { id: keyId, accountId } = callerOf(call);
    const { streams } = services.useCases.monitoring();
    const eventId = query.lastEventId ?? header['Last-Event-ID'] ?? '';
    const after = eventId === '' ? null : Number(eventId);
    streams.requireRoom(accountId);
    const stream = open();
    // A stream outlives the check of its key or session, so it is checked again for each event: a revoked key gets no more events.
    const { keys } = services.access;
    const token = call.principal?.token ?? '';
    const mayRead = (): boolean => {
      if (token !== '') return services.access.people().session(token) !== null;
      const key = keys.get(keyId);
      return (
        key?.status === 'ACTIVE' && key.permissions.includes('monitoring') && !keys.isDisabled(accountId)
      );
    };
    const guarded = {
      send(event: StreamEvent): boolean {
        if (mayRead()) return stream.send(event);
        stream.close(`The ${token === '' ? 'key' : 'session'} of this stream is not valid any more.`);
        return false;
      },
      get waitingBytes() {
        return stream.waitingBytes;
      },
      close: (reason: string) => stream.close(reason),
    };
    stream.onEnd(streams.subscribe(accountId, after, guarded));
  },
});
