/**
 * `GET /log/tile/{level}/{index}[.p/{width}]`: tiles and entry bundles of the transparency log (C2SP tlog-tiles). The index has one to three
 * segments, and a partial tile one more, so there is one operation for each number of segments.
 */
import { Type } from 'typebox';
import { AssayError } from '../../base/errors.ts';
import { parseTilePath, tileTag } from '../../receipts/log/tiles.ts';
import { namesTag, type Operation, operation } from '../operation.ts';
import { ErrorBody } from '../schemas/envelopes.ts';

/** A year: a tile never changes, and neither does a partial one, which has its width in its path. */
const CACHE = 'public, max-age=31536000, immutable';

/** Longest segment of a tile's path: `123.p`. */
const SEGMENT_CHARS = 7;

const segment = (description: string) => Type.String({ minLength: 1, maxLength: SEGMENT_CHARS, description });

const tileOperation = (segments: readonly ('second' | 'third' | 'fourth')[]): Operation =>
  operation({
    id: `logTile${segments.length + 1}`,
    sdk: null,
    tag: 'Receipts',
    method: 'GET',
    path: `/log/tile/{level}/{first}${segments.map((name) => `/{${name}}`).join('')}`,
    mount: 'root',
    pathParameters: {
      level: segment('Level of the tile from 0, or `entries` for an entry bundle.'),
      first: segment('Index of the tile in groups of three digits; all but the last begin with x.'),
      ...Object.fromEntries(segments.map((name) => [name, segment('Next group, or the width after `.p`.')])),
    },
    header: {
      'If-None-Match': Type.String({ default: '', description: 'ETag of an earlier response.' }),
    },
    response: 'application/octet-stream',
    responseHeaders: ['ETag', 'Cache-Control'],
    statuses: {
      304: { description: 'The earlier response is still valid.', schema: null },
      404: { description: 'The checkpoint has no such tile.', schema: ErrorBody },
    },
    isListed: false,
    summary: 'Tile of the transparency log',
    description: 'Hashes of one level of the tree, or a bundle of entries (C2SP tlog-tiles).',
    page({ services, path, header }) {
      const { level, first, ...rest } = path as Readonly<Record<string, string>>;
      const place = ['tile', level, first, ...segments.map((name) => rest[name])].join('/');
      const name = parseTilePath(place);
      const body = name === null ? null : services.useCases.receiptLog().tile(name);
      if (body === null)
        throw new AssayError('NOT_FOUND', `path: the log has no ${place}. /log/checkpoint has its size.`, {
          field: 'path',
        });
      const etag = `"${tileTag(body)}"`;
      const isCurrent = namesTag(header['If-None-Match'], etag);
      return {
        status: isCurrent ? 304 : 200,
        contentType: 'application/octet-stream',
        lines: `\r\nETag: ${etag}\r\nCache-Control: ${CACHE}\r\nX-Content-Type-Options: nosniff`,
        body: isCurrent ? '' : body,
      };
    },
  });

/** With one to four segments after the level. */
export const LOG_TILES: readonly Operation[] = [
  tileOperation([]),
  tileOperation(['second']),
  tileOperation(['second', 'third']),
  tileOperation(['second', 'third', 'fourth']),
];
