/**
 * Downloads a publisher's files into a folder: conditionally, with limits on time and size, validated, and replaced
 * atomically. After any failure, the last good copy stays. The readers parse the files.
 */

import { createHash } from 'node:crypto';
import {
  type FileHandle,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { createGunzip } from 'node:zlib';
import type { Dispatcher } from 'undici';
import { type Clock, isoTime } from '../base/clock.ts';
import { AssayError, messageOf } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import type { Logger } from '../base/log.ts';
import {
  checkOutboundUrl,
  createOutboundAgent,
  type OutboundPolicy,
  PUBLIC_HTTPS,
} from '../base/outbound.ts';
import { systemRandom } from '../base/random.ts';
import { sleep } from '../base/retry.ts';
import { undici } from '../base/undici.ts';
import { isUrl } from '../base/url.ts';
import { PRIVATE_FOLDER } from '../state/data-folder.ts';
import { asStorageFull } from '../state/storage.ts';
import { SOURCE_LIMITS } from './limits.ts';
import { listParts, openBytes } from './open.ts';
import type { FetchPart, PublisherFile, PublisherSource } from './publisher.ts';

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

/** The state of the last good copy, stored next to it as `<name>.json`. */
interface CopyState {
  readonly url: string;
  readonly etag: string | null;
  /** The header as the server sent it, for conditional requests. */
  readonly lastModified: string | null;
  readonly bytes: number;
  readonly sha256: string;
  readonly checkedAt: string;
}

/** A failure of one attempt. `passing` is true if another attempt may succeed. */
class DownloadFault extends Error {
  readonly passing: boolean;

  constructor(message: string, passing: boolean) {
    super(message);
    this.name = 'DownloadFault';
    this.passing = passing;
  }
}

const FILE_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/;
const REDIRECTS: ReadonlySet<number> = new Set([301, 302, 303, 307, 308]);
const PARTIAL = '.partial-';

let attempts = 0;

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

interface Received {
  readonly bytes: number;
  readonly sha256: string;
  readonly etag: string | null;
  readonly lastModified: string | null;
}

/** The download of one file: attempts, checks, replacement. */
class FileFetch {
  private readonly context: FetchContext;
  private readonly path: string;
  private readonly statePath: string;

  constructor(context: FetchContext) {
    if (!FILE_NAME.test(context.file.name)) {
      throw new AssayError('INVALID_REQUEST', `'${context.file.name}' is not a plain file name.`, {
        field: 'name',
      });
    }
    this.context = context;
    this.path = join(context.options.folder, context.file.name);
    this.statePath = `${this.path}.json`;
  }

  async run(): Promise<FileDownload> {
    const { file, bounds, options, deps, sourceId } = this.context;
    const previous = await this.readState();
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
    const { bounds, options, deps } = this.context;
    const deadline = new AbortController();
    const timer = setTimeout(() => {
      deadline.abort(new DownloadFault(`took longer than ${bounds.totalMs / 1000} s in total.`, false));
    }, bounds.totalMs);
    const signal = options.signal ? AbortSignal.any([options.signal, deadline.signal]) : deadline.signal;
    // Not named by the process id: an earlier process of the same id that was killed may have left one.
    const partial = join(options.folder, PARTIAL + Buffer.from(systemRandom.bytes(8)).toString('hex'));
    try {
      if (this.isCollected()) {
        await mkdir(partial);
        const fetched = join(partial, this.context.file.name);
        const collected = await this.collect(fetched, signal);
        clearTimeout(timer);
        return await this.accept(collected, fetched, previous);
      }
      const response = await this.request(previous, signal);
      if (response.statusCode === 304) {
        discard(response);
        if (previous === null)
          throw new DownloadFault(
            'the server answered "not modified" for a file that was never downloaded.',
            false,
          );
        const state = { ...previous, checkedAt: isoTime(deps.clock.now()) };
        await this.writeState(state);
        return this.result('unchanged', 'Not modified since the last download.', state);
      }
      await mkdir(partial);
      const fetched = join(partial, this.context.file.name);
      const received = await this.receive(response, fetched, signal);
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

  private async request(previous: CopyState | null, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
    const headers: Record<string, string> = {};
    if (previous?.etag) headers['if-none-match'] = previous.etag;
    if (previous?.lastModified) headers['if-modified-since'] = previous.lastModified;
    return this.send(this.context.url, headers, null, signal);
  }

  /** Sends a GET, or a POST of a form, and follows redirects with a GET. Returns responses of HTTP 200 and 304. */
  private async send(
    first: URL,
    extra: Readonly<Record<string, string>>,
    form: string | null,
    signal: AbortSignal,
  ): Promise<Dispatcher.ResponseData> {
    const { bounds, policy, agent, file, options } = this.context;
    const own = this.isMirrored() ? {} : (options.credentials ?? {});
    let url = first;
    for (let redirects = 0; ; redirects++) {
      checkOutboundUrl(url, policy);
      const posts = form !== null && redirects === 0;
      const response = await undici().request(url, {
        dispatcher: agent,
        method: posts ? 'POST' : 'GET',
        body: posts ? form : null,
        headers: {
          'user-agent': file.userAgent ?? 'assay',
          accept: '*/*',
          'accept-encoding': 'gzip, identity;q=0.5',
          ...extra,
          ...(posts ? { 'content-type': 'application/x-www-form-urlencoded' } : {}),
          // Another host must not learn the credentials of this one.
          ...(url.host === this.context.url.host ? own : {}),
        },
        signal,
      });
      const { statusCode } = response;
      if (statusCode === 200 || statusCode === 304) return response;
      discard(response);
      if (!REDIRECTS.has(statusCode)) {
        throw new DownloadFault(
          `the server answered HTTP ${statusCode}.`,
          statusCode === 429 || statusCode >= 500,
        );
      }
      if (redirects >= bounds.redirectsMax) {
        throw new DownloadFault(`more than ${bounds.redirectsMax} redirects.`, false);
      }
      url = redirectTarget(url, headerOf(response, 'location'));
    }
  }

  private isMirrored(): boolean {
    return this.context.options.from !== undefined;
  }

  /** A mirror has the file in one piece. */
  private isCollected(): boolean {
    return this.context.file.collect !== undefined && !this.isMirrored();
  }

  /** Writes a file that consists of several responses. */
  private async collect(fetched: string, signal: AbortSignal): Promise<Received> {
    const { file, bounds, options } = this.context;
    let bytes = 0;
    const hash = createHash('sha256');
    const handle = await open(fetched, 'wx');
    try {
      for await (const part of file.collect?.(this.partFetcher(signal)) ?? []) {
        signal.throwIfAborted();
        const chunk = typeof part === 'string' ? Buffer.from(part) : part;
        bytes += chunk.length;
        if (bytes > bounds.bytesMax)
          throw new DownloadFault(`is larger than ${bounds.bytesMax.toLocaleString('en')} bytes.`, false);
        options.onProgress?.({ file: file.name, bytes, totalBytes: null });
        hash.update(chunk);
        await writeAll(handle, chunk);
      }
      await handle.sync();
    } finally {
      await handle.close();
    }
    return { bytes, sha256: hash.digest('hex'), etag: null, lastModified: null };
  }

  /** Returns the function with which a source requests the parts of its file. */
  private partFetcher(signal: AbortSignal): FetchPart {
    /** Cookies by host, in the form of a `Cookie` header. Names and values only: they are used within seconds. */
    const jar = new Map<string, Map<string, string>>();
    let requests = 0;
    return async (address, { form } = {}) => {
      if (++requests > SOURCE_LIMITS.downloadPartsMax)
        throw new DownloadFault(`has more than ${SOURCE_LIMITS.downloadPartsMax} parts.`, false);
      const url = new URL(address);
      const cookies = jar.get(url.host) ?? new Map<string, string>();
      jar.set(url.host, cookies);
      const cookie = [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
      const body = form === undefined ? null : new URLSearchParams(form).toString();
      const response = await this.send(url, cookie === '' ? {} : { cookie }, body, signal);
      const set = response.headers['set-cookie'] ?? [];
      for (const line of Array.isArray(set) ? set : [set]) {
        const [, name, value] = /^([^=;\s]{1,256})=([\x21-\x3a\x3c-\x7e]{0,4096})/.exec(line) ?? [];
        if (name !== undefined && value !== undefined && cookies.size < 50) cookies.set(name, value);
      }
      const chunks: Uint8Array[] = [];
      let bytes = 0;
      for await (const chunk of decoded(response.body, headerOf(response, 'content-encoding'))) {
        bytes += chunk.length;
        if (bytes > SOURCE_LIMITS.downloadPartBytesMax) {
          discard(response);
          throw new DownloadFault(
            `a part is larger than ${SOURCE_LIMITS.downloadPartBytesMax.toLocaleString('en')} bytes.`,
            false,
          );
        }
        chunks.push(chunk);
      }
      return Buffer.concat(chunks);
    };
  }

  /** Streams the body to a file, decodes its content encoding, and flushes the file to disk. */
  private async receive(
    response: Dispatcher.ResponseData,
    fetched: string,
    signal: AbortSignal,
  ): Promise<Received> {
    const { file, bounds, options } = this.context;
    const announced = headerOf(response, 'content-length');
    const totalBytes = announced !== null && /^\d{1,15}$/.test(announced) ? Number(announced) : null;
    const tooLarge = (): never => {
      throw new DownloadFault(`is larger than ${bounds.bytesMax.toLocaleString('en')} bytes.`, false);
    };
    if (totalBytes !== null && totalBytes > bounds.bytesMax) {
      discard(response);
      tooLarge();
    }
    let wireBytes = 0;
    const counted = async function* (): AsyncGenerator<Uint8Array> {
      for await (const chunk of response.body) {
        wireBytes += (chunk as Uint8Array).length;
        if (wireBytes > bounds.bytesMax) tooLarge();
        options.onProgress?.({ file: file.name, bytes: wireBytes, totalBytes });
        yield chunk as Uint8Array;
      }
    };
    const hash = createHash('sha256');
    let bytes = 0;
    const handle = await open(fetched, 'wx');
    try {
      for await (const chunk of decoded(counted(), headerOf(response, 'content-encoding'))) {
        signal.throwIfAborted();
        bytes += chunk.length;
        if (bytes > bounds.bytesMax) tooLarge();
        hash.update(chunk);
        await writeAll(handle, chunk);
      }
      await handle.sync();
    } finally {
      await handle.close();
    }
    return {
      bytes,
      sha256: hash.digest('hex'),
      etag: validator(headerOf(response, 'etag')),
      lastModified: validator(headerOf(response, 'last-modified')),
    };
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
      await rename(fetched, this.path);
      await syncFolder(options.folder);
    }
    await this.writeState(state);
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

  /**
   * Returns the state of the last good copy; null if there is no copy. If the stored state belongs to another copy, only the
   * size and time of the copy are known.
   */
  private async readState(): Promise<CopyState | null> {
    const copy = await stat(this.path).catch(() => null);
    if (!copy?.isFile()) return null;
    const state = parseState(await readFile(this.statePath, 'utf8').catch(() => ''));
    if (state && state.bytes === copy.size) {
      // The validators of one server mean nothing to another.
      return state.url === this.context.url.href ? state : { ...state, etag: null, lastModified: null };
    }
    return {
      url: this.context.url.href,
      etag: null,
      lastModified: null,
      bytes: copy.size,
      sha256: '',
      checkedAt: isoTime(copy.mtimeMs),
    };
  }

  private async writeState(state: CopyState): Promise<void> {
    const fresh = `${this.statePath}.${process.pid}-${attempts++}`;
    await writeFile(fresh, `${JSON.stringify(state)}\n`);
    await rename(fresh, this.statePath);
  }
}

function parseState(text: string): CopyState | null {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return null;
  }
  if (typeof value !== 'object' || value === null) return null;
  const { url, etag, lastModified, bytes, sha256, checkedAt } = value as Record<string, unknown>;
  const textOrNull = (field: unknown): field is string | null => field === null || typeof field === 'string';
  if (typeof url !== 'string' || typeof bytes !== 'number' || typeof sha256 !== 'string') return null;
  if (typeof checkedAt !== 'string' || !textOrNull(etag) || !textOrNull(lastModified)) return null;
  return { url, etag, lastModified, bytes, sha256, checkedAt };
}

/** Returns the target of a redirect. Throws if the target is not a valid URL, or a downgrade from https. */
export function redirectTarget(from: URL, location: string | null): URL {
  if (location === null || !isUrl(location, from.href)) {
    throw new DownloadFault('the server redirects to no valid URL.', false);
  }
  const to = new URL(location, from);
  if (from.protocol === 'https:' && to.protocol !== 'https:') {
    throw new DownloadFault(
      `the server redirects from https to ${to.protocol.slice(0, -1)}, which is refused.`,
      false,
    );
  }
  return to;
}

/** Discards a response with an unused body; undici reports that as an error of the body. */
function discard(response: Dispatcher.ResponseData): void {
  response.body.on('error', () => {}).destroy();
}

function headerOf(response: Dispatcher.ResponseData, name: string): string | null {
  const value = response.headers[name];
  return (Array.isArray(value) ? value[0] : value) ?? null;
}

/** Returns a validator for later requests: printable ASCII of a reasonable length; null for anything else. */
function validator(value: string | null): string | null {
  if (value === null || value.length > SOURCE_LIMITS.downloadValidatorCharsMax) return null;
  return /^[\x20-\x7e]+$/.test(value) ? value : null;
}

function isoOfHttpDate(text: string | null): string | null {
  const at = text === null ? Number.NaN : Date.parse(text);
  return Number.isNaN(at) ? null : isoTime(at);
}

function decoded(body: AsyncIterable<Uint8Array>, encoding: string | null): AsyncIterable<Uint8Array> {
  const name = encoding?.trim().toLowerCase() ?? '';
  if (name === '' || name === 'identity') return body;
  if (name !== 'gzip' && name !== 'x-gzip') {
    throw new DownloadFault(`the server packs with '${name.slice(0, 40)}', which was not asked for.`, false);
  }
  const wire = Readable.from(body);
  const gunzip = createGunzip();
  // Otherwise the reader would wait forever after a closed connection.
  wire.on('error', (error) => gunzip.destroy(error));
  gunzip.on('close', () => wire.destroy());
  return wire.pipe(gunzip);
}

async function writeAll(handle: FileHandle, chunk: Uint8Array): Promise<void> {
  for (let at = 0; at < chunk.length; ) {
    at += (await handle.write(chunk, at, chunk.length - at)).bytesWritten;
  }
}

/** Flushes a folder to disk, so that a rename in it is durable. */
async function syncFolder(folder: string): Promise<void> {
  const handle = await open(folder, 'r');
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
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

/** Converts the errors of undici and of the file system to one sentence. Only a connection error is temporary. */
function asFault(error: unknown): DownloadFault {
  if (error instanceof DownloadFault) return error;
  if (error instanceof AssayError) return new DownloadFault(error.message, false);
  if (error instanceof Error && error.name === 'AbortError')
    return new DownloadFault('it was stopped.', false);
  const code = (error as { code?: unknown } | null)?.code;
  const passing = typeof code === 'string' && PASSING.has(code);
  const known = typeof code === 'string' ? SENTENCES[code] : undefined;
  return new DownloadFault(known ?? messageOf(error), passing);
}

const SENTENCES: Readonly<Record<string, string>> = {
  UND_ERR_CONNECT_TIMEOUT: 'the server could not be reached in time.',
  UND_ERR_HEADERS_TIMEOUT: 'the server took too long to answer.',
  UND_ERR_BODY_TIMEOUT: 'the server fell silent in the middle of the file.',
  UND_ERR_SOCKET: 'the connection was cut.',
  UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'the file is longer or shorter than the server announced.',
  UND_ERR_HEADERS_OVERFLOW: 'the headers of the answer are too large.',
  ECONNREFUSED: 'the server refused the connection.',
  ECONNRESET: 'the connection was cut.',
  ENOTFOUND: 'the name of the server is not known.',
  EAI_AGAIN: 'the name of the server could not be looked up.',
  Z_BUF_ERROR: 'the packed answer ends too early.',
  Z_DATA_ERROR: 'the packed answer is broken.',
};

/** Errors after which a retry may succeed. A missing network is not among them: it lasts longer than the retries. */
const PASSING: ReadonlySet<string> = new Set([
  'UND_ERR_CONNECT_TIMEOUT',
  'UND_ERR_HEADERS_TIMEOUT',
  'UND_ERR_BODY_TIMEOUT',
  'UND_ERR_SOCKET',
  'UND_ERR_RES_CONTENT_LENGTH_MISMATCH',
  'ECONNRESET',
  'EPIPE',
  'ETIMEDOUT',
  'Z_BUF_ERROR',
]);
