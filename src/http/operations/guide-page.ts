/** `GET /docs/guide/{page}`. */
import { Type } from 'typebox';
import { operation } from '../operation.ts';
import { ErrorBody } from '../schemas/envelopes.ts';
import { guideFacts, guideHeader } from './support/guide.ts';

export const guidePage = operation({
  ...guideFacts,
  id: 'guidePage',
  sdk: null,
  path: '/docs/guide/{page}',
  pathParameters: {
    page: Type.String({
      maxLength: 128,
      description: 'Name of a page, such as `screening`; with `.md`, its Markdown.',
      examples: ['screening.md'],
    }),
  },
  header: guideHeader,
  response: 'text/html',
  statuses: {
    ...guideFacts.statuses,
    404: { description: 'The guide has no such page.', schema: ErrorBody },
  },
  summary: 'Page of the guide',
  description: 'A page as HTML, or as Markdown (text/markdown) if its name ends with `.md`.',
  page: ({ services, call, path, header }) =>
    services.guide.page(`/docs/guide/${path.page}`, call.acceptEncoding ?? '', header['If-None-Match']),
});
