/** `GET /address/{chain}/{address}/labels`. */
import { Type } from 'typebox';
import { namesTag, operation, type Services } from '../operation.ts';
import { EntityLabelSet } from '../schemas/facts.ts';
import { addressText, chainText } from '../schemas/fields.ts';

/** Seconds for which a client may use its cached copy of a label set (specification decisions). */
const MAX_AGE_SECONDS = 300;

const tagOf = ({ useCases }: Services): string => `W/"${useCases.labelSetVersion()}"`;

export const labels = operation({
  id: 'labels',
  sdk: 'labels.list',
  tag: 'Labels',
  method: 'GET',
  path: '/address/{chain}/{address}/labels',
  permission: 'intel',
  rateClass: 'intel',
  quota: { meter: 'intel', per: 'request' },
  pathParameters: { chain: chainText('Chain of the address.'), address: addressText('The address.') },
  header: {
    'If-None-Match': Type.Optional(
      Type.String({
        description:
          'ETag of an earlier response. If it is still valid, the response is 304 and costs no quota.',
      }),
    ),
  },
  response: EntityLabelSet,
  responseHeaders: ['ETag', 'Cache-Control', 'Vary'],
  statuses: { 304: { description: 'The earlier response is still valid.', schema: null } },
  summary: 'Raw labels, cacheable',
  description: 'The same data as POST /screen, with ETag and Cache-Control.',
  isCurrent: (services, known) => namesTag(known, tagOf(services)),
  write({ services, call, path }, out, offset) {
    const end = services.useCases.labelSet(path.chain, path.address, out, offset);
    // The tag is weak, so it is the same for compressed and for plain responses.
    call.lines = `\r\nETag: ${tagOf(services)}\r\nCache-Control: private, max-age=${MAX_AGE_SECONDS}\r\nVary: Accept-Encoding`;
    return end;
  },
});
