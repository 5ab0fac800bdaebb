/** `GET /docs/api`. */
import { operation } from '../operation.ts';

export const docsApi = operation({
  id: 'docsApi',
  sdk: null,
  tag: 'Service',
  method: 'GET',
  path: '/docs/api',
  mount: 'root',
  response: 'text/html',
  responseHeaders: ['Cache-Control'],
  isListed: false,
  summary: 'API reference to try out',
  description: 'The OpenAPI document in a viewer that sends requests with the key of the reader.',
  page: ({ services }) => services.documents.viewer.page,
});
