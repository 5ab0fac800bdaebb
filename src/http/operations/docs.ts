/** `GET /docs`. */
import { operation } from '../operation.ts';

export const docs = operation({
  id: 'docs',
  sdk: 'service.docs',
  tag: 'Service',
  method: 'GET',
  path: '/docs',
  mount: 'root',
  response: 'text/html',
  responseHeaders: ['Cache-Control'],
  summary: 'API reference',
  description: 'The OpenAPI document as a page.',
  page: ({ services }) => services.documents.docs(),
});
