/** `GET /metrics`. */
import { operation } from '../operation.ts';

export const metrics = operation({
  id: 'metrics',
  sdk: 'service.metrics',
  tag: 'Service',
  method: 'GET',
  path: '/metrics',
  mount: 'both',
  nodes: 'all',
  response: 'text/plain',
  summary: 'Metrics',
  description: 'Counters and durations in the text format of Prometheus.',
  page: async ({ services: { metrics: source } }) => ({
    status: 200,
    contentType: source.contentType,
    body: await source.scrape(),
  }),
});
