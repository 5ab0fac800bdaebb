/** `GET /ready`. */
import { NO_STORE, operation, type Page } from '../operation.ts';
import { oneOf } from '../schemas/common.ts';
import { NotReady, Ready } from '../schemas/service.ts';

const json = (status: number, value: object): Page => ({
  status,
  contentType: 'application/json',
  lines: NO_STORE,
  body: JSON.stringify(value),
});

export const ready = operation({
  id: 'ready',
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
    503: { description: 'Not ready, with the reasons.', schema: NotReady },
  },
  summary: 'Readiness',
  description: 'The label snapshot in use, and the publication and the last check of each sanctions list.',
  page({ services, query }) {
    const data = services.readiness();
    if (data.ready && query.for === 'writes' && data.degraded !== undefined) {
      const reasons = data.degraded.map(({ reason }) => reason);
      return json(503, { error: `Not ready for writes: ${reasons.join(' ')}`, data });
    }
    if (data.ready) return json(200, { success: true, data });
    return json(503, { error: `Not ready: ${data.reasons.join(' ')}`, data });
  },
});
