/** The upload of a bulk job: the browser sends the file from the disk, so a gigabyte needs no memory. */

import { type DataOf, noteSessionEnd } from '../../api/client.ts';
import { ApiError } from '../../api/errors.ts';
import { everyOf } from '../../api/every.ts';

export type Job = DataOf<'/jobs/{id}', 'get'>['job'];
export type Kind = Job['kind'];
export type Format = Job['format'];

/** Whether a job will change without anybody's doing. */
export const isOpen = ({ state }: Pick<Job, 'state'>): boolean =>
  state === 'RECEIVING' || state === 'QUEUED' || state === 'RUNNING';

export const KINDS = everyOf<Kind>()(['labels', 'sanctions', 'screening', 'kyt']);

/** The balance or quota that pays for the lines of a kind. */
export const unitOf = (kind: Kind): Job['cost']['unit'] =>
  kind === 'labels' || kind === 'sanctions' ? 'intel' : 'credits';

/** `jobBytesMax` of the API. */
export const FILE_BYTES_MAX = 1024 ** 3;

/** Bytes of the beginning of a file that are shown and that decide its format. */
const HEAD_BYTES = 4_096;
/** Larger files are counted by the server: reading more takes seconds on a laptop. */
const COUNT_BYTES_MAX = 64 * 1024 ** 2;

const NDJSON_NAME = /\.(?:ndjson|jsonl|json)$/i;
const LINE_FEED = 10;
/** A line that names the column of addresses. */
const HEADER = /(?:^|[,;])\s*"?address"?\s*(?:[,;]|$)/i;

/** Facts about a file that are known before it is sent. */
export interface FileFacts {
  readonly format: Format;
  /** The first lines. */
  readonly head: readonly string[];
  /** Lines with a text, without a header; null if the file is too large to count here. */
  readonly lines: number | null;
}

/** Returns the format of a file: objects and JSON texts are NDJSON, and everything else has columns or is a list. */
export function formatOf(name: string, head: string): Format {
  const first = head.trimStart().at(0);
  return first === '{' || NDJSON_NAME.test(name) ? 'ndjson' : 'csv';
}

async function countLines(file: Blob): Promise<number> {
  let lines = 0;
  let hasText = false;
  const reader = file.stream().getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read())
    for (const byte of part.value)
      if (byte !== LINE_FEED) hasText ||= byte > 32;
      else {
        if (hasText) lines++;
        hasText = false;
      }
  return hasText ? lines + 1 : lines;
}

/** Looks at a file. */
export async function factsOf(file: File, linesShown: number): Promise<FileFacts> {
  const head = (await file.slice(0, HEAD_BYTES).text()).replace(/^\uFEFF/, '');
  const format = formatOf(file.name, head);
  const first = head.split(/\r?\n/).filter((line) => line.trim() !== '');
  const headers = format === 'csv' && HEADER.test(first[0] ?? '') ? 1 : 0;
  const lines = file.size <= COUNT_BYTES_MAX ? (await countLines(file)) - headers : null;
  return { format, head: first.slice(0, linesShown), lines };
}

export interface Upload {
  readonly file: Blob;
  readonly kind: Kind;
  readonly format: Format;
  /** Chain of the lines that name none; null if all name one. */
  readonly chain: string | null;
  readonly isWithVerdict: boolean;
  /** The same key with the same file is one job. */
  readonly idempotencyKey: string;
  readonly signal: AbortSignal;
  /** Called with the share of the file that was sent, 0 to 1. */
  readonly onProgress: (share: number) => void;
}

/**
 * Sends a file, and returns the job. `fetch` does not say how much was sent, `XMLHttpRequest` does.
 *
 * @throws ApiError; the reason of `signal` if the person stopped the upload
 */
export function sendFile(upload: Upload): Promise<Job> {
  const { file, kind, format, chain, isWithVerdict, idempotencyKey, signal, onProgress } = upload;
  const query = new URLSearchParams({ kind, format });
  if (chain !== null) query.set('chain', chain);
  if (isWithVerdict) query.set('verdict', 'true');
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    const stop = (): void => request.abort();
    request.open('POST', `/api/v1/jobs?${query}`);
    request.setRequestHeader('accept', 'application/problem+json, application/json');
    request.setRequestHeader('content-type', format === 'csv' ? 'text/csv' : 'application/x-ndjson');
    request.setRequestHeader('idempotency-key', idempotencyKey);
    request.upload.onprogress = ({ loaded, total }) => onProgress(total === 0 ? 1 : loaded / total);
    request.onerror = () => reject(ApiError.offline(new Error('The upload failed.')));
    request.onabort = () => reject(signal.reason);
    request.onload = () => {
      const { status, responseText } = request;
      if (status === 200) return resolve((JSON.parse(responseText) as { data: { job: Job } }).data.job);
      const headers = new Headers();
      for (const name of ['x-error-code', 'x-request-id', 'retry-after']) {
        const value = request.getResponseHeader(name);
        if (value !== null) headers.set(name, value);
      }
      ApiError.of(new Response(responseText, { status, headers })).then(
        (error) => reject(noteSessionEnd(error)),
        reject,
      );
    };
    request.onloadend = () => signal.removeEventListener('abort', stop);
    signal.addEventListener('abort', stop);
    request.send(file);
  });
}
