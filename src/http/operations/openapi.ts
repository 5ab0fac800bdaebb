/** `GET /openapi.json`. */
import { operation } from '../operation.ts';

export const openapi = operation({
  id: 'openapi',
  sdk: 'service.openapi',
  tag: 'Service',
  method: 'GET',
  path: '/openapi.json',
  mount: 'root',
  response: 'application/json',
  responseHeaders: ['Cache-Control'],
  summary: 'OpenAPI 3.1 document',
  description: 'This interface, generated from the schemas that validate requests.',
  page: ({ services }) => services.documents.openApi(),
});
