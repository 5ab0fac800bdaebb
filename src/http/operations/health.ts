/** `GET /health`. */
import { Type } from 'typebox';
import { isoTime } from '../../base/clock.ts';
import { NO_STORE, operation } from '../operation.ts';
import { Ignored } from '../schemas/envelopes.ts';
import { time } from '../schemas/fields.ts';

export const health = operation({
  id: 'health',
  sdk: 'service.health',
  tag: 'Service',
  method: 'GET',
  path: '/health',
  mount: 'both',
  nodes: 'all',
  response: Type.Object(
    {
      success: Type.Literal(true),
      status: Type.Literal('ok'),
      ts: time('ISO 8601 UTC.'),
      ignored: Type.Optional(Ignored),
    },
    { title: 'Health' },
  ),
  responseHeaders: ['Cache-Control'],
  summary: 'Liveness',
  description: 'Responds while the process is alive. It does not check the data; /ready does.',
  page: ({ services: { clock } }) => ({
    status: 200,
    contentType: 'application/json',
    lines: NO_STORE,
    body: JSON.stringify({ success: true, status: 'ok', ts: isoTime(clock.now()) }),
  }),
});
