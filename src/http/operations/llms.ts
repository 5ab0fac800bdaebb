/** `GET /llms.txt`. */
import { operation } from '../operation.ts';
import { guideFacts, guideHeader } from './support/guide.ts';

export const llms = operation({
  ...guideFacts,
  id: 'llms',
  sdk: null,
  path: '/llms.txt',
  header: guideHeader,
  response: 'text/plain',
  summary: 'List of documents for language models',
  description: 'The pages of the guide as Markdown, and the OpenAPI document, in the form of llmstxt.org.',
  page: ({ services, call, header }) =>
    services.guide.page('/llms.txt', call.acceptEncoding ?? '', header['If-None-Match']),
});
