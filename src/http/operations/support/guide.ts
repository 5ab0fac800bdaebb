/** Parts of the operations that send files of the guide. */
import { Type } from 'typebox';
import type { Operation } from '../../operation.ts';

export const guideHeader = {
  'If-None-Match': Type.Optional(
    Type.String({ description: 'ETag of an earlier response. If it is still valid, the response is 304.' }),
  ),
};

export const guideFacts = {
  tag: 'Service',
  method: 'GET',
  mount: 'root',
  isListed: false,
  responseHeaders: ['ETag', 'Cache-Control', 'Vary'],
  statuses: { 304: { description: 'The earlier response is still valid.', schema: null } },
} as const satisfies Partial<Operation>;
