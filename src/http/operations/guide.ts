/** `GET /docs/guide`. */
import { operation } from '../operation.ts';
import { guideFacts, guideHeader } from './support/guide.ts';

export const guide = operation({
  ...guideFacts,
  id: 'guide',
  sdk: null,
  path: '/docs/guide',
  header: guideHeader,
  response: 'text/html',
  summary: 'Guide',
  description: 'All pages of the guide, with search.',
  page: ({ services, call, header }) =>
    services.guide.page('/docs/guide', call.acceptEncoding ?? '', header['If-None-Match']),
});
