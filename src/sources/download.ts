/**
 * Downloads a publisher's files into a folder: conditionally, with limits on time and size, validated, and replaced
 * atomically. After any failure, the last good copy stays. The readers parse the files.
 */

import { createHash } from 'node:crypto';
import { mkdir, open, readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Dispatcher } from 'undici';
import { type Clock, isoTime } from '../base/clock.ts';
import { AssayError, messageOf } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import type { Logger } from '../base/log.ts';
import { createOutboundAgent, type OutboundPolicy, PUBLIC_HTTPS } from '../base/outbound.ts';
import { systemRandom } from '../base/random.ts';
import { sleep } from '../base/retry.ts';
import { isUrl } from '../base/url.ts';
import { PRIVATE_FOLDER } from '../state/data-folder.ts';
import { asStorageFull } from '../state/storage.ts';
import { asFault, DownloadFault } from './download-fault.ts';
import {
  createPartFetcher,
  decoded,
  discard,
  headerOf,
  type RequestSettings,
  sendRequest,
} from './download-request.ts';
import { type CopyState, readCopyState, replaceCopy, writeCopyState } from './last-copy.ts';
import { SOURCE_LIMITS } from './limits.ts';
import { listParts, openBytes } from './open.ts';
import type { PublisherFile, PublisherSource } from './publisher.ts';

export interface DownloadBounds {
  readonly connectMs: number;
  readonly headersMs: number;
  readonly stallMs: number;
  readonly totalMs: number;
  readonly bytesMax: number;
  readonly redirectsMax: number;
  /** Waits before the second, third, … attempt after a temporary failure (connection closed, 429, 5xx). */
  readonly retryWaitsMs: readonly number[];
}

export const DOWNLOAD_BOUNDS: DownloadBounds = {
  connectMs: LIMITS.downloadConnectMs,
  headersMs: LIMITS.downloadHeadersMs,
  stallMs: LIMITS.downloadStallMs,
  totalMs: SOURCE_LIMITS.downloadTotalMs,
  bytesMax: SOURCE_LIMITS.downloadBytesMax,
  redirectsMax: SOURCE_LIMITS.downloadRedirectsMax,
  retryWaitsMs: [2_000, 10_000],
};

export interface DownloadProgress {
  readonly file: string;
  readonly bytes: number;
  /** Size that the server announced; null if it did not. */
  readonly totalBytes: number | null;
}

export interface DownloadOptions {
  /** Folder for the files of this source; created if missing. */
  readonly folder: string;
  /** URL of a mirror: file names are appended to it. Only a mirror may be plain http or private. */
  readonly from?: string;
  /** Credentials as headers, for publishers that require them. Sent to the hosts of the files only, never to a mirror. */
  readonly credentials?: Readonly<Record<string, string>>;
  /** Accept a file of less than half the last good size. */
  readonly force?: boolean;
  readonly signal?: AbortSignal;
  readonly onProgress?: (progress: DownloadProgress) => void;
  readonly bounds?: Partial<DownloadBounds>;
}

export interface DownloadDeps {
  readonly clock: Clock;
  readonly log: Logger;
  /** Hosts of publishers that may be private or plain http. Default: none. A mirror is trusted by its own option. */
  readonly policy?: OutboundPolicy;
  /**
   * Reads a downloaded file to the end, as the import will, before it replaces the last good copy; throws if it is invalid.
   * The file has its own name, in a temporary folder.
   */
  readonly parse?: (path: string, file: PublisherFile) => Promise<void>;
}

export interface FileDownload {
  readonly name: string;
  readonly status: 'updated' | 'unchanged' | 'failed';
  /** One sentence for people. */
  readonly reason: string;
  /** The last good copy; null if no copy exists. */
  readonly path: string | null;
  /** Size of that copy. */
  readonly bytes: number;
  /** `Last-Modified` of that copy as an ISO time, if the server sent it. */
  readonly lastModified: string | null;
  /** When the publisher last confirmed or replaced that copy (ISO time); null if never. */
  readonly checkedAt: string | null;
  readonly optional: boolean;
}

const FILE_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;
const PARTIAL = '.partial-';

/**
 * Downloads every file of a source, one after the other, and returns the result of each. A failed file never throws; the
 * caller must report it. Two runs at the same time are safe: the complete file of the last one to finish stays.
 *
 * @throws INVALID_REQUEST if the URL of the mirror is invalid.
 */
export async function downloadSource(
  source: PublisherSource,
  options: DownloadOptions,
  deps: DownloadDeps,
): Promise<readonly FileDownload[]> {
  const bounds = { ...DOWNLOAD_BOUNDS, ...options.bounds };
  const mirror = options.from === undefined ? null : parseMirror(options.from);
  const policy: OutboundPolicy = mirror
    ? { trustedHosts: new Set([mirror.hostname]) }
    : (deps.policy ?? PUBLIC_HTTPS);
  await mkdir(options.folder, PRIVATE_FOLDER);
  await removeStalePartials(options.folder, bounds, deps.clock);
  const agent = createOutboundAgent({ policy, timeouts: bounds });
  try {
    const results: FileDownload[] = [];
    for (const file of source.files) {
      const url = mirror ? new URL(encodeURIComponent(file.name), mirror) : new URL(file.url);
      const fetching = new FileFetch({
        file,
        url,
        policy,
        agent,
        bounds,
        options,
        deps,
        sourceId: source.id,
      });
      results.push(await fetching.run());
    }
    return results;
  } finally {
    await agent.destroy();
  }
}

function parseMirror(text: string): URL {
  const refuse = (why: string): never => {
    throw new AssayError('INVALID_REQUEST', `from: '${text.slice(0, 200)}' ${why}.`, { field: 'from' });
  };
  if (!isUrl(text)) return refuse('is not a URL');
  const url = new URL(text);
  if (url.protocol !== 'http:' && url.protocol !== 'https:') refuse('is not an http or https URL');
  if (url.username !== '' || url.password !== '') refuse('must not contain credentials');
  if (!url.pathname.endsWith('/')) url.pathname += '/';
  url.search = '';
  url.hash = '';
  return url;
}

/** Removes folders of runs that were killed: those older than the maximum duration of a run. */
async function removeStalePartials(folder: string, bounds: DownloadBounds, clock: Clock): Promise<void> {
  const oldest = clock.now() - 2 * bounds.totalMs * (bounds.retryWaitsMs.length + 1);
  for (const name of await readdir(folder)) {
    if (!name.startsWith(PARTIAL)) continue;
    const path = join(folder, name);
    const found = await stat(path).catch(() => null);
    if (found && found.mtimeMs < oldest) await rm(path, { recursive: true, force: true });
  }
}

interface FetchContext {
  readonly file: PublisherFile;
  readonly url: URL;
  readonly policy: OutboundPolicy;
  readonly agent: Dispatcher;
  readonly bounds: DownloadBounds;
  readonly options: DownloadOptions;
  readonly deps: DownloadDeps;
  readonly sourceId: string;
}

type Stored = Pick<CopyState, 'bytes' | 'sha256'>;
type Received = Omit<CopyState, 'url' | 'checkedAt'>;

/** The download of one file: attempts, checks, replacement. */
class FileFetch {
  private readonly context: FetchContext;
  private readonly path: string;

  constructor(context: FetchContext) {
    if (!FILE_NAME.test(context.file.name)) {
      throw new AssayError('INVALID_REQUEST', `'${context.file.name}' is not a plain file name.`, {
        field: 'name',
      });
    }
    this.context = context;
    this.path = join(context.options.folder, context.file.name);
  }

  async run(): Promise<FileDownload> {
    const { file, bounds, options, deps, sourceId } = this.context;
    const previous = await readCopyState(this.path, this.context.url);
    if (file.credentials !== undefined && options.credentials === undefined && !this.isMirrored())
      return this.result('failed', `requires credentials: ${file.credentials}`, previous);
    for (let attempt = 0; ; attempt++) {
      try {
        return await this.attempt(previous);
      } catch (error) {
        const wait = bounds.retryWaitsMs[attempt];
        const passing = error instanceof DownloadFault && error.passing && options.signal?.aborted !== true;
        if (passing && wait !== undefined) {
          deps.log.debug(
            { source: sourceId, file: file.name, reason: messageOf(error) },
            'download failed, retrying',
          );
          await sleep(wait, options.signal);
          continue;
        }
        deps.log.debug({ source: sourceId, file: file.name, reason: messageOf(error) }, 'download failed');
        return this.result('failed', messageOf(error), previous);
      }
    }
  }

  private result(status: FileDownload['status'], reason: string, state: CopyState | null): FileDownload {
    return {
      name: this.context.file.name,
      status,
      reason,
      path: state ? this.path : null,
      bytes: state?.bytes ?? 0,
      lastModified: isoOfHttpDate(state?.lastModified ?? null),
      checkedAt: state?.checkedAt ?? null,
      optional: this.context.file.optional === true,
    };
  }

  /** Makes one attempt: the request with its redirects, the checks, and the replacement of the copy. */
  private async attempt(previous: CopyState | null): Promise<FileDownload> {
    const { bounds, options } = this.context;
    const deadline = new AbortController();
    const timer = setTimeout(() => {
      deadline.abort(new DownloadFault(`took longer than ${bounds.totalMs / 1000} s in total.`, false));
    }, bounds.totalMs);
    const signal = options.signal ? AbortSignal.any([options.signal, deadline.signal]) : deadline.signal;
    // Not named by the process id: an earlier process of the same id that was killed may have left one.
    const partial = join(options.folder, PARTIAL + Buffer.from(systemRandom.bytes(8)).toString('hex'));
    try {
      const response = this.isCollected() ? null : await this.request(previous, signal);
      if (response?.statusCode === 304) return await this.confirm(response, previous);
      await mkdir(partial);
      const fetched = join(partial, this.context.file.name);
      const received =
        response === null
          ? await this.collect(fetched, signal)
          : await this.receive(response, fetched, signal);
      // The checks can take long and need no network, so the time limit ends here: only the caller can abort them.
      clearTimeout(timer);
      return await this.accept(received, fetched, previous);
    } catch (error) {
      if (signal.aborted) throw asFault(signal.reason);
      throw asFault(asStorageFull(error, this.path));
    } finally {
      clearTimeout(timer);
      await rm(partial, { recursive: true, force: true });
    }
  }

  private request(previous: CopyState | null, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
    const headers: Record<string, string> = {};
    if (previous?.etag) headers['if-none-match'] = previous.etag;
    if (previous?.lastModified) headers['if-modified-since'] = previous.lastModified;
    return sendRequest(this.context.url, { headers }, this.requestSettings(signal));
  }

  private requestSettings(signal: AbortSignal): RequestSettings {
    const { policy, agent, bounds, file, options, url } = this.context;
    return {
      ...{ policy, agent, signal },
      redirectsMax: bounds.redirectsMax,
      userAgent: file.userAgent ?? 'assay',
      credentials: this.isMirrored() ? {} : (options.credentials ?? {}),
      credentialsHost: url.host,
    };
  }

  private isMirrored(): boolean {
    return this.context.options.from !== undefined;
  }

  /** A mirror has the file in one piece. */
  private isCollected(): boolean {
    return this.context.file.collect !== undefined && !this.isMirrored();
  }

  /** Keeps the last good copy, because the server says that it is the newest. */
  private async confirm(
    response: Dispatcher.ResponseData,
    previous: CopyState | null,
  ): Promise<FileDownload> {
    discard(response);
    if (previous === null)
      throw new DownloadFault(
        'the server answered "not modified" for a file that was never downloaded.',
        false,
      );
    const state = { ...previous, checkedAt: isoTime(this.context.deps.clock.now()) };
    await writeCopyState(this.path, state);
    return this.result('unchanged', 'Not modified since the last download.', state);
  }

  /** Writes a file that consists of several responses. */
  private async collect(fetched: string, signal: AbortSignal): Promise<Received> {
    const parts = this.context.file.collect?.(createPartFetcher(this.requestSettings(signal))) ?? [];
    const stored = await this.store(this.measured(parts, null), fetched, signal);
    return { ...stored, etag: null, lastModified: null };
  }

  /** Writes the body of one response without its content encoding. */
  private async receive(
    response: Dispatcher.ResponseData,
    fetched: string,
    signal: AbortSignal,
  ): Promise<Received> {
    const announced = headerOf(response, 'content-length');
    const totalBytes = announced !== null && /^\d{1,15}$/.test(announced) ? Number(announced) : null;
    if (totalBytes !== null && totalBytes > this.context.bounds.bytesMax) {
      discard(response);
      this.refuseSize();
    }
    const body = decoded(this.measured(response.body, totalBytes), headerOf(response, 'content-encoding'));
    return {
      ...(await this.store(body, fetched, signal)),
      etag: validator(headerOf(response, 'etag')),
      lastModified: validator(headerOf(response, 'last-modified')),
    };
  }

  /** Passes on what the network sends, reports how much it is, and ends at the limit. */
  private async *measured(
    chunks: AsyncIterable<string | Uint8Array> | Iterable<string | Uint8Array>,
    totalBytes: number | null,
  ): AsyncGenerator<Uint8Array> {
    const { file, bounds, options } = this.context;
    let bytes = 0;
    for await (const part of chunks) {
      const chunk = typeof part === 'string' ? Buffer.from(part) : part;
      bytes += chunk.length;
      if (bytes > bounds.bytesMax) this.refuseSize();
      options.onProgress?.({ file: file.name, bytes, totalBytes });
      yield chunk;
    }
  }

  /** Writes chunks to a new file, and flushes it to disk. A packed file may become larger than what was sent: the limit holds again. */
  private async store(
    chunks: AsyncIterable<Uint8Array>,
    fetched: string,
    signal: AbortSignal,
  ): Promise<Stored> {
    const hash = createHash('sha256');
    let bytes = 0;
    const handle = await open(fetched, 'wx');
    try {
      for await (const chunk of chunks) {
        signal.throwIfAborted();
        bytes += chunk.length;
        if (bytes > this.context.bounds.bytesMax) this.refuseSize();
        hash.update(chunk);
        await handle.appendFile(chunk);
      }
      await handle.sync();
    } finally {
      await handle.close();
    }
    return { bytes, sha256: hash.digest('hex') };
  }

  private refuseSize(): never {
    const { bytesMax } = this.context.bounds;
    throw new DownloadFault(`is larger than ${bytesMax.toLocaleString('en')} bytes.`, false);
  }

  /** Checks the received file, replaces the last good copy, and returns the result. */
  private async accept(
    received: Received,
    fetched: string,
    previous: CopyState | null,
  ): Promise<FileDownload> {
    const { file, options, deps } = this.context;
    const state: CopyState = {
      url: this.context.url.href,
      ...received,
      checkedAt: isoTime(deps.clock.now()),
    };
    const same = previous?.sha256 === received.sha256;
    if (!same) {
      await this.checkPlausible(received, fetched, previous);
      if (deps.parse) {
        await deps.parse(fetched, file).catch((error: unknown) => {
          throw new DownloadFault(`it cannot be parsed: ${messageOf(error)}`, false);
        });
      }
      options.signal?.throwIfAborted();
      await replaceCopy(this.path, fetched);
    }
    await writeCopyState(this.path, state);
    return same
      ? this.result('unchanged', 'The content is the same as before.', state)
      : this.result('updated', `${received.bytes.toLocaleString('en')} bytes.`, state);
  }

  private async checkPlausible(
    received: Received,
    fetched: string,
    previous: CopyState | null,
  ): Promise<void> {
    const { file } = this.context;
    const refuse = (why: string): never => {
      throw new DownloadFault(why, false);
    };
    if (received.bytes === 0) refuse('the file is empty.');
    if (file.webPage !== true && (await looksLikeWebPage(fetched)))
      refuse('the server sent a web page instead of the file.');
    const least = previous && this.context.options.force !== true ? previous.bytes / 2 : 0;
    if (previous && received.bytes < least) {
      refuse(
        `${received.bytes.toLocaleString('en')} bytes are less than half of the last good copy ` +
          `(${previous.bytes.toLocaleString('en')}).`,
      );
    }
    // A compressed file contains its own checksums: decompressing it to the end detects truncation, a flipped bit and a bomb.
    for (const part of await listParts(fetched)) {
      for await (const _ of openBytes(part));
    }
  }
}

function isoOfHttpDate(text: string | null): string | null {
  const at = text === null ? Number.NaN : Date.parse(text);
  return Number.isNaN(at) ? null : isoTime(at);
}

/** Returns a validator for later requests: printable ASCII of a reasonable length; null for anything else. */
function validator(value: string | null): string | null {
  if (value === null || value.length > SOURCE_LIMITS.downloadValidatorCharsMax) return null;
  return /^[\x20-\x7e]+$/.test(value) ? value : null;
}

async function looksLikeWebPage(path: string): Promise<boolean> {
  const handle = await open(path, 'r');
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(512), 0, 512, 0);
    return /^\uFEFF?\s*(?:<\?xml[^>]*>\s*)?(?:<!--[\s\S]*?-->\s*)?<(?:!doctype\s+html|html[\s>])/i.test(
      buffer.toString('utf8', 0, bytesRead),
    );
  } finally {
    await handle.close();
  }
}
