/**
 * Releases in an S3-compatible object store:
 *
 *     PREFIX/files/SHA256         files, by the hash of their content
 *     PREFIX/releases/ID.json     every kept release, in its envelope
 *     PREFIX/history.json         the kept releases, newest first, for the cleanup
 *     PREFIX/latest.json          the envelope of the newest release; written after all its files, so that it is never incomplete
 */
import { createHash } from 'node:crypto';
import { mkdirSync, rmSync } from 'node:fs';
import { type FileHandle, open } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { AssayError, messageOf } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Logger } from '../../base/log.ts';
import { readJson, writeJsonAtomically } from '../../state/atomic-file.ts';
import { PRIVATE_FOLDER } from '../../state/data-folder.ts';
import { discard, faulty, requireFrom } from '../http/source.ts';
import type { Published, Publisher } from '../publish.ts';
import type { ReleaseFile } from '../release.ts';
import { type Latest, type ReleaseSource, SourceFault } from '../source.ts';
import { elementOf, type S3Answer, type S3Client, type S3Request } from './client.ts';

const LATEST = 'latest.json';
const HISTORY = 'history.json';
const fileKey = (sha256: string): string => `files/${sha256}`;
const releaseKey = (id: string): string => `releases/${id}.json`;

/** One poll is a GET that returns 304: 17,000 a day. */
const LOOK_MS = 5_000;
const RETRY_WAITS_MS = [500, 2_000, 8_000] as const;

const isPassing = (status: number): boolean => status === 429 || status >= 500;

/** Converts an error response: to SourceFault if it may be temporary, otherwise to an error that the operator must handle. */
function refusal(name: string, what: string, status: number, code = ''): Error {
  const text = `${name}: ${what}: HTTP ${status}${code === '' ? '' : ` ${code}`}`;
  return isPassing(status) ? new SourceFault(text) : new AssayError('SOURCE_UNAVAILABLE', `${text}.`);
}

// --- reading ------------------------------------------------------------------------------------------------------------

/** Opens an object store as a source of releases. */
export function openS3Source(client: S3Client): ReleaseSource {
  return {
    name: client.name,
    lookMs: LOOK_MS,
    async latest(tag, _waitMs, signal): Promise<Latest> {
      try {
        const headers = tag === null ? {} : { 'if-none-match': tag };
        const answer = await client.ask({ method: 'GET', key: LATEST, headers, signal });
        if (answer.status === 304) return { state: 'unchanged' };
        if (answer.status === 404) return { state: 'none' };
        if (answer.status !== 200)
          throw refusal(client.name, 'the newest release', answer.status, answer.code);
        const { etag } = answer.headers;
        return {
          state: 'new',
          envelope: Buffer.from(answer.text),
          tag: typeof etag === 'string' ? etag : null,
        };
      } catch (error) {
        signal.throwIfAborted();
        if (!(error instanceof SourceFault)) throw error;
        throw new AssayError('SOURCE_UNAVAILABLE', `${client.name} does not answer: ${error.message}.`, {
          cause: error,
        });
      }
    },
    async read(file, from, signal) {
      const headers = from === 0 ? {} : { range: `bytes=${from}-` };
      const response = await client.send({ method: 'GET', key: fileKey(file.sha256), headers, signal });
      requireFrom(response, from, () => {
        discard(response.body);
        return refusal(client.name, file.path, response.statusCode);
      });
      return faulty(response.body, signal);
    },
    close: () => client.close(),
  };
}

// --- writing ------------------------------------------------------------------------------------------------------------

export interface UploadProgress {
  readonly path: string;
  readonly bytes: number;
  readonly totalBytes: number;
}

export interface UploadOptions {
  /** Folder with the state of unfinished uploads, so that the next attempt can resume. */
  readonly folder: string;
  readonly onProgress?: (progress: UploadProgress) => void;
  readonly retryWaitsMs?: readonly number[];
  /** For tests: bytes of one part. */
  readonly partBytes?: number;
  /** Number of kept releases. */
  readonly kept?: number;
}

export interface ReleaseStore {
  /** Uploads the files of a release that the store lacks, and makes it the newest. Throws SOURCE_UNAVAILABLE. */
  put(
    published: Published,
    blobs: Publisher['blobs'],
    signal: AbortSignal,
  ): Promise<{ readonly bytes: number }>;
}

/** A release in the history. */
interface HistoryRow {
  readonly id: string;
  readonly files: readonly string[];
}

/** Progress of a multipart upload of one file. */
interface Unfinished {
  readonly uploadId: string;
  readonly partBytes: number;
  readonly etags: readonly string[];
}

/** Opens an object store for uploads of releases. */
export function openReleaseStore(
  client: S3Client,
  options: UploadOptions,
  { log }: { readonly log: Logger },
): ReleaseStore {
  const { folder, onProgress, retryWaitsMs = RETRY_WAITS_MS } = options;
  const { partBytes = LIMITS.uploadPartBytes, kept = LIMITS.releasesKeptInStore } = options;

  /** Sends a request, with retries; throws if the status of the response is not in `fine`. */
  async function ask(asked: S3Request, what: string, fine: readonly number[] = [200]): Promise<S3Answer> {
    for (let attempt = 0; ; attempt++) {
      try {
        const answer = await client.ask(asked);
        if (fine.includes(answer.status) && answer.code === '') return answer;
        // CompleteMultipartUpload may return status 200 with an error in the body.
        const status = answer.status === 200 ? 500 : answer.status;
        if (status === 404 && fine.includes(404)) return answer;
        throw refusal(client.name, what, status, answer.code);
      } catch (error) {
        asked.signal.throwIfAborted();
        if (!(error instanceof SourceFault)) throw error;
        const wait = retryWaitsMs[attempt];
        if (wait === undefined)
          throw new AssayError('SOURCE_UNAVAILABLE', `${client.name}: ${what}: ${error.message}.`, {
            cause: error,
          });
        log.debug({ what, reason: messageOf(error) }, 'upload: trying again');
        await pause(wait, undefined, { signal: asked.signal });
      }
    }
  }

  async function holds({ sha256, bytes, path }: ReleaseFile, signal: AbortSignal): Promise<boolean> {
    const { status, headers } = await ask({ method: 'HEAD', key: fileKey(sha256), signal }, path, [200, 404]);
    return status === 200 && Number(headers['content-length']) === bytes;
  }

  async function upload(
    file: ReleaseFile,
    from: string,
    signal: AbortSignal,
    progress: (bytes: number) => void,
  ): Promise<void> {
    const handle = await open(from, 'r');
    try {
      if (file.bytes > partBytes) return await uploadParts(file, handle, signal, progress);
      const body = await slice(handle, 0, file.bytes);
      await ask({ method: 'PUT', key: fileKey(file.sha256), body, signal }, file.path);
      progress(file.bytes);
    } finally {
      await handle.close();
    }
  }

  async function uploadParts(
    file: ReleaseFile,
    handle: FileHandle,
    signal: AbortSignal,
    progress: (bytes: number) => void,
  ): Promise<void> {
    const key = fileKey(file.sha256);
    const notePath = join(folder, `${file.sha256}.json`);
    const note = (state: Unfinished): void => writeJsonAtomically(notePath, state);
    let state = readNote(notePath, partBytes);
    // The store may have deleted the parts meanwhile (a lifecycle rule, another store): start the upload again.
    for (let attempt = 0; ; attempt++) {
      if (state === null) {
        const begun = await ask(
          { method: 'POST', key, query: { uploads: '' }, body: NO_BYTES, signal },
          file.path,
        );
        const uploadId = elementOf(begun.text, 'UploadId');
        if (uploadId === '')
          throw new AssayError('SOURCE_UNAVAILABLE', `${client.name}: ${file.path}: no upload was begun.`);
        state = { uploadId, partBytes, etags: [] };
        note(state);
      }
      try {
        await finish(file, key, handle, state, note, signal, progress);
        break;
      } catch (error) {
        const isGone = error instanceof AssayError && error.message.includes('NoSuchUpload');
        if (!isGone || attempt > 0) throw error;
        state = null;
      }
    }
    rmSync(notePath, { force: true });
  }

  async function finish(
    file: ReleaseFile,
    key: string,
    handle: FileHandle,
    { uploadId, etags: before }: Unfinished,
    note: (state: Unfinished) => void,
    signal: AbortSignal,
    progress: (bytes: number) => void,
  ): Promise<void> {
    const etags = [...before];
    for (let from = etags.length * partBytes; from < file.bytes; from += partBytes) {
      const body = await slice(handle, from, Math.min(partBytes, file.bytes - from));
      const query = { partNumber: String(etags.length + 1), uploadId };
      const { headers } = await ask({ method: 'PUT', key, query, body, signal }, file.path);
      etags.push(String(headers.etag ?? ''));
      note({ uploadId, partBytes, etags });
      progress(from + body.length);
    }
    const parts = etags
      .map((etag, at) => `<Part><PartNumber>${at + 1}</PartNumber><ETag>${inXml(etag)}</ETag></Part>`)
      .join('');
    const body = Buffer.from(
      `<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${parts}</CompleteMultipartUpload>`,
    );
    await ask({ method: 'POST', key, query: { uploadId }, body, signal }, file.path);
    if (!(await holds(file, signal)))
      throw new AssayError('SOURCE_UNAVAILABLE', `${client.name}: ${file.path} has another size there.`);
  }

  async function history(signal: AbortSignal): Promise<readonly HistoryRow[]> {
    const { status, text } = await ask({ method: 'GET', key: HISTORY, signal }, HISTORY, [200, 404]);
    return status === 404 ? [] : readHistory(text);
  }

  return {
    async put({ release, envelope }, blobs, signal) {
      mkdirSync(folder, PRIVATE_FOLDER);
      const before = await history(signal);
      const there = new Set(before[0]?.files);
      const missing: ReleaseFile[] = [];
      for (const file of new Map(release.files.map((one) => [one.sha256, one])).values()) {
        // The files of the newest release exist: no cleanup removes them.
        if (!there.has(file.sha256) && !(await holds(file, signal))) missing.push(file);
      }
      const totalBytes = missing.reduce((sum, file) => sum + file.bytes, 0);
      let doneBytes = 0;
      for (const file of missing) {
        await upload(file, blobs.path(file.sha256), signal, (bytes) =>
          onProgress?.({ path: file.path, bytes: doneBytes + bytes, totalBytes }),
        );
        doneBytes += file.bytes;
      }
      const json = { 'content-type': 'application/json' };
      const put = (key: string, body: Uint8Array): Promise<S3Answer> =>
        ask({ method: 'PUT', key, headers: json, body, signal }, key);
      await put(releaseKey(release.id), envelope);
      const row: HistoryRow = { id: release.id, files: release.files.map((file) => file.sha256) };
      const rows = [row, ...before.filter(({ id }) => id !== release.id)];
      // Written before the pointer, so that the next cleanup knows every release that a node may be reading.
      await put(HISTORY, Buffer.from(JSON.stringify(rows.slice(0, kept))));
      await put(LATEST, envelope);
      const stay = new Set(rows.slice(0, kept).flatMap(({ files }) => files));
      for (const old of rows.slice(kept)) {
        const gone = [releaseKey(old.id), ...old.files.filter((name) => !stay.has(name)).map(fileKey)];
        for (const key of new Set(gone)) await ask({ method: 'DELETE', key, signal }, key, [200, 204, 404]);
      }
      return { bytes: totalBytes };
    },
  };
}

const NO_BYTES = new Uint8Array(0);

const inXml = (text: string): string =>
  text.replace(/[&<>]/g, (sign) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;' })[sign] ?? '');

async function slice(handle: FileHandle, from: number, length: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(length);
  for (let at = 0; at < length; ) {
    const { bytesRead } = await handle.read(bytes, at, length - at, from + at);
    if (bytesRead === 0)
      throw new AssayError('STORE_CORRUPT', 'A file of the release is shorter than it was.');
    at += bytesRead;
  }
  return bytes;
}

function readNote(path: string, partBytes: number): Unfinished | null {
  try {
    const found = readJson(path) as Unfinished;
    return found.partBytes === partBytes ? found : null;
  } catch {
    // Missing or unreadable: the upload starts again, and the store deletes the old parts by its own rules.
    return null;
  }
}

const NAME = /^[0-9a-f]{32,64}$/;

/** Names in the history become keys to delete, so only valid names are accepted. */
function readHistory(text: string): readonly HistoryRow[] {
  let rows: readonly Partial<HistoryRow>[];
  try {
    const found: unknown = JSON.parse(text);
    rows = Array.isArray(found) ? found : [];
  } catch {
    rows = [];
  }
  return rows.flatMap(({ id = '', files = [] }) =>
    NAME.test(id) && files.every((name) => NAME.test(name)) ? [{ id, files }] : [],
  );
}

/** Returns the folder name for the upload state of a store, so that two stores never share it. */
export const storeFolderName = (name: string): string =>
  createHash('sha256').update(name).digest('hex').slice(0, 16);
