/** Reads releases from an S3-compatible object store. store.ts has the layout of the store. */
import { AssayError } from '../../base/errors.ts';
import { discard, faulty, requireFrom } from '../http/source.ts';
import { type Latest, type ReleaseSource, SourceFault } from '../source.ts';
import type { S3Client } from './client.ts';

/** Key of the envelope of the newest release. */
export const LATEST = 'latest.json';
/** Returns the key of a file by the SHA-256 of its content. */
export const fileKey = (sha256: string): string => `files/${sha256}`;

/** One poll is a GET that returns 304: 17,000 a day. */
const POLL_MS = 5_000;

const isTemporary = (status: number): boolean => status === 429 || status >= 500;

/**
 * Returns the error for an error response: SourceFault if it may be temporary, otherwise an error that the operator must handle.
 *
 * @param subject - the requested object, for the message
 * @param code - error code of S3; empty if missing
 */
export function errorOf(name: string, subject: string, status: number, code = ''): Error {
  const text = `${name}: ${subject}: HTTP ${status}${code === '' ? '' : ` ${code}`}`;
  return isTemporary(status) ? new SourceFault(text) : new AssayError('SOURCE_UNAVAILABLE', `${text}.`);
}

/** Opens an object store as a source of releases. */
export function openS3Source(client: S3Client): ReleaseSource {
  return {
    name: client.name,
    pollMs: POLL_MS,
    async latest(tag, _waitMs, signal): Promise<Latest> {
      try {
        const headers = tag === null ? {} : { 'if-none-match': tag };
        const response = await client.request({ method: 'GET', key: LATEST, headers, signal });
        if (response.status === 304) return { state: 'unchanged' };
        if (response.status === 404) return { state: 'none' };
        if (response.status !== 200)
          throw errorOf(client.name, 'the newest release', response.status, response.code);
        const { etag } = response.headers;
        return {
          state: 'new',
          envelope: Buffer.from(response.text),
          tag: typeof etag === 'string' ? etag : null,
        };
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof SourceFault)) throw error;
        throw new AssayError('SOURCE_UNAVAILABLE', `${client.name} does not respond: ${error.message}.`, {
          cause: error,
        });
      }
    },
    async read(file, from, signal) {
      const headers = from === 0 ? {} : { range: `bytes=${from}-` };
      const response = await client.send({ method: 'GET', key: fileKey(file.sha256), headers, signal });
      requireFrom(response, from, () => {
        discard(response.body);
        return errorOf(client.name, file.path, response.statusCode);
      });
      return faulty(response.body, signal);
    },
    close: () => client.close(),
  };
}
