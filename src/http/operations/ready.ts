/** `GET /ready`. */
import {
  type Call,
  errorBody,
  errorCodeLine,
  NO_STORE,
  operation,
  type Page,
  type Services,
} from '../operation.ts';
import { oneOf } from '../schemas/fields.ts';
import { NotReady, NotReadyProblem, Ready } from '../schemas/service.ts';

type ReadyData = ReturnType<Services['readiness']>;

/** Returns the 503 response: the error, with the state of the service beside it. */
function notReady(call: Call, message: string, data: ReadyData): Page {
  const error = { code: 'NOT_READY', message, members: { data } } as const;
  return {
    status: 503,
    lines: NO_STORE + errorCodeLine(error.code),
    ...errorBody(error, call.accept, call.requestId),
  };
}

export const ready = operation({
  id: 'ready',
  sdk: 'service.ready',
  tag: 'Service',
  method: 'GET',
  path: '/ready',
  mount: 'both',
  nodes: 'all',
  query: {
    for: oneOf(
      ['reads', 'writes'],
      '`writes`: responds with 503 also if writes are refused, for example because the disk is full. Default `reads`.',
      { default: 'reads' },
    ),
  },
  response: Ready,
  responseHeaders: ['Cache-Control'],
  statuses: {
    503: { description: 'Not ready, with the reasons.', schema: NotReady, problem: NotReadyProblem },
  },
  summary: 'Readiness',
  description: 'The label snapshot in use, and the publication and the last check of each sanctions list.',
  page({ services, call, query }) {
    const data = services.readiness();
    if (!data.ready) return notReady(call, `Not ready: ${data.reasons.join(' ')}`, data);
    const refused = (data.degraded ?? []).filter(({ kind }) => kind === 'STORAGE');
    if (query.for === 'writes' && refused.length > 0) {
      const reasons = refused.map(({ reason }) => reason);
      return notReady(call, `Not ready for writes: ${reasons.join(' ')}`, data);
    }
    const body = JSON.stringify({ success: true, data });
    return { status: 200, contentType: 'application/json', lines: NO_STORE, body };
  },
});
