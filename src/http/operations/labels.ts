/** `GET /address/{chain}/{address}/labels`. */
import { Type } from 'typebox';
import { operation, type Services } from '../operation.ts';
import { addressText, chainText, EntityLabelSet } from '../schemas/common.ts';

/** Seconds for which a client may use its cached copy of a label set (specification decisions). */
const MAX_AGE_SECONDS = 300;

/** Whether an If-None-Match header contains the tag, by weak comparison (RFC 9110, section 13.1.2). */
function namesTag(header: string, tag: string): boolean {
  return header.split(',').some((one) => {
    const trimmed = one.trim();
    return trimmed === '*' || trimmed === tag || trimmed === tag.slice(2);
  });
}

const tagOf = ({ useCases }: Pick<Services, 'useCases'>): string => `W/"${useCases.labelSetVersion()}"`;

export const labels = operation({
  id: 'labels',
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
  responseHeaders: ['ETag', 'Cache-Control'],
  statuses: { 304: { description: 'The earlier response is still valid.', schema: null } },
  summary: 'Raw labels, cacheable',
  description: 'The same data as POST /screen, with ETag and Cache-Control.',
  isUnchanged: ({ services, header: { 'If-None-Match': known } }) =>
    known !== undefined && namesTag(known, tagOf(services)),
  // An invalid address is an error whatever its tag, so the labels are also written for a 304.
  write({ services, call, path, header: { 'If-None-Match': known } }, out, offset) {
    const end = services.useCases.labelSet(path.chain, path.address, out, offset);
    const tag = tagOf(services);
    call.lines = `\r\nETag: ${tag}\r\nCache-Control: private, max-age=${MAX_AGE_SECONDS}`;
    call.notModified = known !== undefined && namesTag(known, tag);
    return end;
  },
});
