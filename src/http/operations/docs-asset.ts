/** `GET /docs/assets/{file}`: the scripts of /docs/api, compressed when they were shipped. */
import { Type } from 'typebox';
import { AssayError } from '../../base/errors.ts';
import { codingFor, EMPTY, namesTag, operation } from '../operation.ts';
import { ErrorBody } from '../schemas/envelopes.ts';

export const docsAsset = operation({
  id: 'docsAsset',
  sdk: null,
  tag: 'Service',
  method: 'GET',
  path: '/docs/assets/{file}',
  mount: 'root',
  pathParameters: {
    file: Type.String({ minLength: 1, maxLength: 64, description: 'Name of a file of /docs/api.' }),
  },
  header: {
    'Accept-Encoding': Type.String({ default: '', description: 'Codings that the client accepts.' }),
    'If-None-Match': Type.String({ default: '', description: 'ETag of an earlier response.' }),
  },
  response: 'text/javascript',
  responseHeaders: ['ETag', 'Cache-Control', 'Vary'],
  statuses: {
    304: { description: 'The earlier response is still valid.', schema: null },
    404: { description: 'This version of the program has no such file.', schema: ErrorBody },
  },
  isListed: false,
  summary: 'Script of the API reference',
  description: 'The name of a file contains its hash, so caches may keep it.',
  async file({ services, call, path, header }) {
    const asset = services.documents.viewer.assets.get(path.file);
    if (asset === undefined)
      throw new AssayError('NOT_FOUND', `file: no file '${path.file}' in /docs/assets. Reload /docs/api.`, {
        field: 'file',
      });
    const { contentType } = asset;
    const variant = asset.variant(codingFor(header['Accept-Encoding']));
    const coding = variant.coding === null ? '' : `\r\nContent-Encoding: ${variant.coding}`;
    call.lines = `\r\nETag: ${variant.etag}\r\nCache-Control: public, max-age=31536000, immutable\r\nVary: Accept-Encoding\r\nX-Content-Type-Options: nosniff${coding}`;
    const isCurrent = namesTag(header['If-None-Match'], variant.etag);
    return { status: isCurrent ? 304 : 200, contentType, source: isCurrent ? EMPTY : await variant.open() };
  },
});
