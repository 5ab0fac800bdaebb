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
import { AssayError, messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import { sleep } from '../../base/retry.ts';
import { readJson, writeJsonAtomically } from '../../state/atomic-file.ts';
import { PRIVATE_FOLDER } from '../../state/data-folder.ts';
import { REPLICATION_LIMITS } from '../limits.ts';
import type { Published, Publisher } from '../publish.ts';
import type { ReleaseFile } from '../release.ts';
import { SourceFault } from '../source.ts';
import { elementOf, type S3Client, type S3Request, type S3Response } from './client.ts';
import { errorOf, fileKey, LATEST } from './source.ts';

const HISTORY = 'history.json';
const releaseKey = (id: string): string => `releases/${id}.json`;

/** Delays before the second, third, … attempt of a request. */
const RETRY_WAITS_MS = [500, 2_000, 8_000] as const;

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
interface ReleaseHistoryRow {
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
export const openReleaseStore = (
  client: S3Client,
  options: UploadOptions,
  { log }: { readonly log: Logger },
): ReleaseStore => new S3ReleaseStore(client, options, log);

class S3ReleaseStore implements ReleaseStore {
  readonly #client: S3Client;
  readonly #log: Logger;
  readonly #options: UploadOptions & Required<Pick<UploadOptions, 'retryWaitsMs' | 'partBytes' | 'kept'>>;

  constructor(client: S3Client, options: UploadOptions, log: Logger) {
    this.#client = client;
    this.#log = log;
    this.#options = {
      retryWaitsMs: RETRY_WAITS_MS,
      partBytes: REPLICATION_LIMITS.uploadPartBytes,
      kept: REPLICATION_LIMITS.releasesKeptInStore,
      ...options,
    };
  }

  async put(
    { release, envelope }: Published,
    blobs: Publisher['blobs'],
    signal: AbortSignal,
  ): Promise<{ readonly bytes: number }> {
    const { folder, kept, onProgress } = this.#options;
    mkdirSync(folder, PRIVATE_FOLDER);
    const before = await this.#history(signal);
    const present = new Set(before[0]?.files);
    const missing: ReleaseFile[] = [];
    for (const file of new Map(release.files.map((one) => [one.sha256, one])).values()) {
      // The files of the newest release exist: no cleanup removes them.
      if (!present.has(file.sha256) && !(await this.#holds(file, signal))) missing.push(file);
    }
    const totalBytes = missing.reduce((sum, file) => sum + file.bytes, 0);
    let doneBytes = 0;
    for (const file of missing) {
      await this.#upload(file, blobs.path(file.sha256), signal, (bytes) =>
        onProgress?.({ path: file.path, bytes: doneBytes + bytes, totalBytes }),
      );
      doneBytes += file.bytes;
    }
    const json = { 'content-type': 'application/json' };
    const put = (key: string, body: Uint8Array): Promise<S3Response> =>
      this.#request({ method: 'PUT', key, headers: json, body, signal }, key);
    await put(releaseKey(release.id), envelope);
    const row: ReleaseHistoryRow = { id: release.id, files: release.files.map((file) => file.sha256) };
    const rows = [row, ...before.filter(({ id }) => id !== release.id)];
    // Written before the pointer, so that the next cleanup knows every release that a node may be reading.
    await put(HISTORY, Buffer.from(JSON.stringify(rows.slice(0, kept))));
    await put(LATEST, envelope);
    const stay = new Set(rows.slice(0, kept).flatMap(({ files }) => files));
    for (const old of rows.slice(kept)) {
      const gone = [releaseKey(old.id), ...old.files.filter((name) => !stay.has(name)).map(fileKey)];
      for (const key of new Set(gone))
        await this.#request({ method: 'DELETE', key, signal }, key, [200, 204, 404]);
    }
    return { bytes: totalBytes };
  }

  /** Sends a request, with retries; throws if the status of the response is not in `allowed`. */
  async #request(
    request: S3Request,
    subject: string,
    allowed: readonly number[] = [200],
  ): Promise<S3Response> {
    for (let attempt = 0; ; attempt++) {
      try {
        const response = await this.#client.request(request);
        if (allowed.includes(response.status) && response.code === '') return response;
        // CompleteMultipartUpload may return status 200 with an error in the body.
        const status = response.status === 200 ? 500 : response.status;
        if (status === 404 && allowed.includes(404)) return response;
        throw errorOf(this.#client.name, subject, status, response.code);
      } catch (error) {
        request.signal.throwIfAborted();
        if (!(error instanceof SourceFault)) throw error;
        const wait = this.#options.retryWaitsMs[attempt];
        if (wait === undefined)
          throw new AssayError('SOURCE_UNAVAILABLE', `${this.#client.name}: ${subject}: ${error.message}.`, {
            cause: error,
          });
        this.#log.debug({ object: subject, reason: messageOf(error) }, 'upload failed, retrying');
        await sleep(wait, request.signal);
        request.signal.throwIfAborted();
      }
    }
  }

  async #holds({ sha256, bytes, path }: ReleaseFile, signal: AbortSignal): Promise<boolean> {
    const { status, headers } = await this.#request(
      { method: 'HEAD', key: fileKey(sha256), signal },
      path,
      [200, 404],
    );
    return status === 200 && Number(headers['content-length']) === bytes;
  }

  async #upload(
    file: ReleaseFile,
    from: string,
    signal: AbortSignal,
    progress: (bytes: number) => void,
  ): Promise<void> {
    const handle = await open(from, 'r');
    try {
      if (file.bytes > this.#options.partBytes)
        return await this.#uploadParts(file, handle, signal, progress);
      const body = await slice(handle, 0, file.bytes);
      await this.#request({ method: 'PUT', key: fileKey(file.sha256), body, signal }, file.path);
      progress(file.bytes);
    } finally {
      await handle.close();
    }
  }

  async #uploadParts(
    file: ReleaseFile,
    handle: FileHandle,
    signal: AbortSignal,
    progress: (bytes: number) => void,
  ): Promise<void> {
    const { folder, partBytes } = this.#options;
    const key = fileKey(file.sha256);
    const statePath = join(folder, `${file.sha256}.json`);
    const save = (state: Unfinished): void => writeJsonAtomically(statePath, state);
    let state = readUnfinished(statePath, partBytes);
    // The store may have deleted the parts meanwhile (a lifecycle rule, another store): start the upload again.
    for (let attempt = 0; ; attempt++) {
      if (state === null) {
        const started = await this.#request(
          { method: 'POST', key, query: { uploads: '' }, body: NO_BYTES, signal },
          file.path,
        );
        const uploadId = elementOf(started.text, 'UploadId');
        if (uploadId === '')
          throw new AssayError(
            'SOURCE_UNAVAILABLE',
            `${this.#client.name}: ${file.path}: the store did not start an upload.`,
          );
        state = { uploadId, partBytes, etags: [] };
        save(state);
      }
      try {
        await this.#finish(file, key, handle, state, save, signal, progress);
        break;
      } catch (error) {
        const isGone = error instanceof AssayError && error.message.includes('NoSuchUpload');
        if (!isGone || attempt > 0) throw error;
        state = null;
      }
    }
    rmSync(statePath, { force: true });
  }

  async #finish(
    file: ReleaseFile,
    key: string,
    handle: FileHandle,
    { uploadId, etags: before }: Unfinished,
    save: (state: Unfinished) => void,
    signal: AbortSignal,
    progress: (bytes: number) => void,
  ): Promise<void> {
    const { partBytes } = this.#options;
    const etags = [...before];
    for (let from = etags.length * partBytes; from < file.bytes; from += partBytes) {
      const body = await slice(handle, from, Math.min(partBytes, file.bytes - from));
      const query = { partNumber: String(etags.length + 1), uploadId };
      const { headers } = await this.#request({ method: 'PUT', key, query, body, signal }, file.path);
      etags.push(String(headers.etag ?? ''));
      save({ uploadId, partBytes, etags });
      progress(from + body.length);
    }
    const parts = etags
      .map((etag, at) => `<Part><PartNumber>${at + 1}</PartNumber><ETag>${inXml(etag)}</ETag></Part>`)
      .join('');
    const body = Buffer.from(
      `<CompleteMultipartUpload xmlns="http://s3.amazonaws.com/doc/2006-03-01/">${parts}</CompleteMultipartUpload>`,
    );
    await this.#request({ method: 'POST', key, query: { uploadId }, body, signal }, file.path);
    if (!(await this.#holds(file, signal)))
      throw new AssayError(
        'SOURCE_UNAVAILABLE',
        `${this.#client.name}: ${file.path} has another size in the store.`,
      );
  }

  async #history(signal: AbortSignal): Promise<readonly ReleaseHistoryRow[]> {
    const { status, text } = await this.#request(
      { method: 'GET', key: HISTORY, signal },
      HISTORY,
      [200, 404],
    );
    return status === 404 ? [] : readHistory(text);
  }
}

const NO_BYTES = new Uint8Array(0);

const inXml = (text: string): string =>
  text.replace(/[&<>]/g, (sign) => ({ '&': '&amp;', '<': '&lt;', '>': '&gt;' })[sign] ?? '');

async function slice(handle: FileHandle, from: number, length: number): Promise<Buffer> {
  const bytes = Buffer.allocUnsafe(length);
  for (let at = 0; at < length; ) {
    const { bytesRead } = await handle.read(bytes, at, length - at, from + at);
    if (bytesRead === 0) throw new AssayError('STORE_CORRUPT', 'A file of the release was truncated.');
    at += bytesRead;
  }
  return bytes;
}

function readUnfinished(path: string, partBytes: number): Unfinished | null {
  try {
    const state = readJson(path) as Unfinished;
    return state.partBytes === partBytes ? state : null;
  } catch {
    // Missing or unreadable: the upload starts again, and the store deletes the old parts by its own rules.
    return null;
  }
}

const NAME = /^[0-9a-f]{32,64}$/;

/** Names in the history become keys to delete, so only valid names are accepted. */
function readHistory(text: string): readonly ReleaseHistoryRow[] {
  let rows: readonly Partial<ReleaseHistoryRow>[];
  try {
    const parsed: unknown = JSON.parse(text);
    rows = Array.isArray(parsed) ? parsed : [];
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
