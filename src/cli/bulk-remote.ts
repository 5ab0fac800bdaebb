/**
 * `assay bulk --remote`: a bulk job on another server. Sends the input, waits, and fetches the result; an interrupted download
 * continues at its last byte. The job belongs to the server: if this command is interrupted, the job is still there.
 */

import type { Stats } from 'node:fs';
import { createReadStream } from 'node:fs';
import { type FileHandle, open, readFile, rename, rm, stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import type { Agent, Dispatcher } from 'undici';
import { AssayError, messageOf } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import { checkOutboundUrl, createOutboundAgent } from '../base/outbound.ts';
import { systemRandom } from '../base/random.ts';
import { isUrl } from '../base/url.ts';
import type { ChainId } from '../chains/registry.ts';
import type { JobFormat, JobKind, JobView } from '../jobs/bulk-jobs.ts';
import { printableLine, type Terminal } from './context.ts';
import { Interruption } from './exit-codes.ts';
import type { Progress } from './progress.ts';
import { beginningOf, refusedBy, sentenceOf } from './remote-error.ts';

export interface RemoteBulkOptions {
  /** Base URL of the server. */
  readonly url: string;
  readonly key: string;
  /** Null sends standard input. */
  readonly input: string | null;
  /** Null writes standard output. */
  readonly output: string | null;
  readonly kind: JobKind;
  readonly format: JobFormat;
  readonly chain: ChainId | null;
  /** Adds the verdict of the oracle to each label set. */
  readonly verdict: boolean;
  /** Id of a job that was started before; nothing is sent then. */
  readonly job: string | null;
  /** Sent if `input` is null. */
  readonly standardInput: AsyncIterable<Uint8Array>;
}

const TYPES: Readonly<Record<JobFormat, string>> = { ndjson: 'application/x-ndjson', csv: 'text/csv' };
const POLL_MS_MIN = 200;
const POLL_MS_MAX = 2_000;
const RETRY_MS_MIN = 250;
const RETRY_MS_MAX = 10_000;
/** Consecutive attempts without progress: a server that restarts is available again within about a minute. */
const ATTEMPTS_MAX = 12;

/** A rate limit counts the current second and the 60 before it. If the server asks for a longer wait, the user has to decide. */
const RETRY_AFTER_MS_MAX = 61_000;
const ONCE_BYTES = 16;

/** An error after which the request can be retried: the connection failed, or the server cannot respond at the moment. */
class Passing extends Error {
  readonly waitMs: number | null;

  constructor(message: string, waitMs: number | null, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.waitMs = waitMs;
  }
}

type Headers = Readonly<Record<string, string>>;

interface Server {
  ask(
    method: 'GET' | 'POST',
    path: string,
    headers?: Headers,
    body?: Readable,
  ): Promise<Dispatcher.ResponseData>;
}

function connect(agent: Agent, base: URL, key: string, signal: AbortSignal): Server {
  return {
    async ask(method, path, headers = {}, body) {
      let response: Dispatcher.ResponseData;
      try {
        response = await agent.request({
          origin: base.origin,
          path: `${base.pathname.replace(/\/$/, '')}/api/v1${path}`,
          method,
          headers: { authorization: `Bearer ${key}`, ...headers },
          signal,
          ...(body === undefined ? {} : { body }),
        });
      } catch (cause) {
        signal.throwIfAborted();
        const reason = cause instanceof Error ? cause.message || cause.name : String(cause);
        throw new Passing(`${base.origin} cannot be reached: ${reason.replace(/\.$/, '')}.`, null, cause);
      }
      if (response.statusCode < 400) return response;
      const said = `${base.origin} answered ${response.statusCode}: ${await sentenceOf(response)}`;
      if (response.statusCode < 500 && response.statusCode !== 429) throw refusedBy(said);
      signal.throwIfAborted();
      const seconds = Number(response.headers['retry-after']);
      const waitMs = Number.isFinite(seconds) && seconds > 0 ? seconds * 1_000 : null;
      throw new Passing(said, waitMs);
    },
  };
}

/** Ids become part of a file name. */
const ID_SHAPE = /^[\w-]{1,64}$/;

/**
 * Parses a response about a job.
 *
 * @throws SOURCE_UNAVAILABLE; Passing if the response is incomplete
 */
async function jobIn(response: Dispatcher.ResponseData): Promise<JobView> {
  const bytes = await beginningOf(response).catch((cause: unknown) => {
    throw new Passing('The connection broke.', null, cause);
  });
  try {
    const { data } = JSON.parse(bytes.toString()) as { data?: { job?: JobView } };
    if (data?.job !== undefined && ID_SHAPE.test(data.job.id)) return data.job;
  } catch {
    // Not JSON, so not a response of this API.
  }
  throw new AssayError('SOURCE_UNAVAILABLE', 'The response of the server contains no job.');
}

/** What the parts of the command share with its user. */
interface User {
  readonly signal: AbortSignal;
  /** Prints a line. */
  readonly say: (line: string) => void;
}

/**
 * Retries until it succeeds or `ATTEMPTS_MAX` consecutive attempts have failed. The first failure is reported: the others take a minute.
 *
 * @param hasMoved - whether the failed attempt made progress
 */
async function persist<T>(
  { signal, say }: User,
  attempt: () => Promise<T>,
  hasMoved: () => boolean = () => false,
): Promise<T> {
  for (let failures = 1; ; failures++) {
    try {
      return await attempt();
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof Passing)) throw error;
      if (hasMoved()) failures = 1;
      const waitMs = error.waitMs ?? Math.min(RETRY_MS_MAX, RETRY_MS_MIN * 2 ** (failures - 1));
      if (failures >= ATTEMPTS_MAX || waitMs > RETRY_AFTER_MS_MAX)
        throw new AssayError('SOURCE_UNAVAILABLE', error.message, { cause: error });
      if (failures === 1) say(`${error.message} Trying again.`);
      await wait(waitMs, undefined, { signal });
    }
  }
}

/** Returns the facts of the input file. */
const inputStat = (input: string): Promise<Stats> =>
  stat(input).catch((cause: unknown) => {
    throw new AssayError('INVALID_FILE', `input: '${input}' cannot be opened: ${messageOf(cause)}.`, {
      cause,
    });
  });

/**
 * Sends the input. A pipe cannot be read again. For a file, a connection failure rejects with Passing, so that it can be retried:
 * `once` is the idempotency key, so that the job is not started twice.
 */
async function send(
  server: Server,
  { input, standardInput, kind, format, chain, verdict }: RemoteBulkOptions,
  once: string,
  progress: Progress,
): Promise<JobView> {
  const total = input === null ? null : (await inputStat(input)).size;
  const source = input === null ? standardInput : createReadStream(input, { highWaterMark: 256 * 1024 });
  let sent = 0;
  async function* counted(): AsyncGenerator<Uint8Array> {
    for await (const bytes of source) {
      sent += bytes.length;
      progress.update('sending', sent, total, 'B', { hasBar: true });
      yield bytes;
    }
  }
  const query = new URLSearchParams({
    ...{ kind, format },
    ...(chain === null ? {} : { chain }),
    ...(verdict ? { verdict: 'true' } : {}),
  });
  const headers = {
    'content-type': TYPES[format],
    'idempotency-key': once,
    ...(total === null ? {} : { 'content-length': String(total) }),
  };
  try {
    return await jobIn(
      await server.ask('POST', `/jobs?${query}`, headers, Readable.from(counted(), { objectMode: false })),
    );
  } catch (error) {
    if (!(error instanceof Passing) || input !== null) throw error;
    throw new AssayError(
      'SOURCE_UNAVAILABLE',
      `${error.message} (after ${sent} bytes were sent; no job was created, unless GET /jobs lists it).`,
      { cause: error },
    );
  }
}

/** Waits until the job has ended. */
async function follow(server: Server, begun: JobView, user: User, progress: Progress): Promise<JobView> {
  for (let job = begun; ; ) {
    if (job.state === 'DONE') return job;
    if (job.state === 'FAILED' || job.state === 'CANCELLED') {
      const why = job.error === null ? '' : `: ${printableLine(job.error)}`;
      throw refusedBy(`Job ${job.id} is ${job.state} after ${job.answered} lines${why}`);
    }
    const { itemsPerSecond, secondsLeft } = job;
    const elapsedMs =
      itemsPerSecond === null || itemsPerSecond === 0 ? 0 : (job.answered / itemsPerSecond) * 1_000;
    progress.update(job.kind, job.answered, job.items, 'lines', { hasBar: true, elapsedMs });
    const left = secondsLeft === null ? POLL_MS_MAX : secondsLeft * 500;
    await wait(Math.min(POLL_MS_MAX, Math.max(POLL_MS_MIN, left)), undefined, { signal: user.signal });
    const { id } = job;
    job = await persist(user, async () => jobIn(await server.ask('GET', `/jobs/${id}`)));
  }
}

/** Destination of a result. */
interface Sink {
  /** Bytes of this result that are already there. */
  readonly held: number;
  write(bytes: Uint8Array): Promise<void>;
  /** Called when all bytes are there. */
  finish(): Promise<void>;
  close(): Promise<void>;
}

function standardOutput(terminal: Terminal): Sink {
  return {
    held: 0,
    write: (bytes) =>
      new Promise((resolve, reject) => {
        terminal.out.write(bytes, (error) => (error ? reject(error) : resolve()));
      }),
    finish: async () => {},
    close: async () => {},
  };
}

/**
 * A temporary file named after the job, renamed when it is complete: bytes fetched before an interruption are not fetched again.
 */
async function fileSink(path: string, job: JobView): Promise<Sink> {
  const part = `${path}.${job.id}.part`;
  const file: FileHandle = await open(part, 'a');
  const { size } = await file.stat();
  return {
    held: size,
    async write(bytes) {
      await file.writeFile(bytes);
    },
    async finish() {
      await file.sync();
      await rename(part, path);
    },
    close: () => file.close(),
  };
}

/**
 * Throws if the result could not be written: a job that has run is paid for.
 *
 * @throws INVALID_FILE
 */
async function requireWritable(path: string): Promise<void> {
  const refuse = (reason: string): AssayError =>
    new AssayError('INVALID_FILE', `--output: '${path}' cannot be written: ${reason}.`, { field: 'output' });
  const found = await stat(path).catch(() => null);
  if (found?.isDirectory() === true) throw refuse('it is a folder');
  const probe = `${path}.part`;
  const file = await open(probe, 'wx').catch((cause: NodeJS.ErrnoException) => {
    // A file of an earlier run shows that the folder can be written.
    if (cause.code === 'EEXIST') return null;
    throw refuse(messageOf(cause));
  });
  if (file === null) return;
  await file.close();
  await rm(probe, { force: true });
}

/** Fetches the missing bytes of a result, over as many connections as needed. */
async function fetchResult(
  server: Server,
  job: JobView,
  sink: Sink,
  user: User,
  progress: Progress,
): Promise<void> {
  const total = job.resultBytes;
  let held = sink.held;
  let moved = false;
  let etag = '';
  // Every job has a line, and every line has a result.
  if (total === 0) throw refusedBy(`The result of job ${job.id} was removed when it expired.`);
  if (held > total)
    throw new AssayError('INVALID_FILE', `The fetched part of job ${job.id} is longer than its result.`);

  const attempt = async (): Promise<void> => {
    moved = false;
    if (held === total) return;
    const headers = { range: `bytes=${held}-`, ...(etag === '' ? {} : { 'if-range': etag }) };
    const response = await server.ask('GET', `/jobs/${job.id}/result`, headers);
    const { 'content-range': range, etag: tag } = response.headers;
    if (response.statusCode !== 206 || range !== `bytes ${held}-${total - 1}/${total}`) {
      // A body that is destroyed emits an error, and without a listener it would end the process.
      response.body.on('error', () => {}).destroy();
      throw new AssayError(
        'SOURCE_UNAVAILABLE',
        `The result of job ${job.id} has changed since it was fetched.`,
      );
    }
    etag = typeof tag === 'string' ? tag : '';
    const chunks = response.body[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>;
    for (;;) {
      const { done, value } = await chunks.next().catch((cause: unknown) => {
        user.signal.throwIfAborted();
        throw new Passing('The connection broke.', null, cause);
      });
      if (done === true) break;
      await sink.write(value);
      held += value.length;
      moved = true;
      progress.update('fetching', held, total, 'B', { hasBar: true });
    }
    if (held !== total) throw new Passing('The connection ended early.', null);
  };
  await persist(user, attempt, () => moved);
}

/**
 * Reads the API key from the first line of a file.
 *
 * @throws INVALID_REQUEST
 */
export async function keyOfFile(path: string): Promise<string> {
  const text = await readFile(path, 'utf8').catch((error: unknown) => {
    throw new AssayError('INVALID_REQUEST', `--key-file: cannot be read (${messageOf(error)}).`);
  });
  const key = text.split(/\r?\n/, 1)[0]?.trim() ?? '';
  if (key === '')
    throw new AssayError('INVALID_REQUEST', `--key-file: '${path}' has no key in its first line.`);
  return keyOfText(key, `--key-file: the first line of '${path}'`);
}

/**
 * Returns a key that a header can hold.
 *
 * @param place - named in the error, which must not repeat the key
 */
export function keyOfText(key: string, place: string): string {
  if (/^[\x21-\x7e]{1,256}$/.test(key)) return key;
  throw new AssayError(
    'INVALID_REQUEST',
    `${place} must be a key of 1 to 256 printable characters, without spaces.`,
  );
}

/**
 * Runs a bulk job on another server.
 *
 * @throws INVALID_FILE if the input cannot be read or the output cannot be written; no job was created then
 * @throws INVALID_REQUEST if the server refuses, the job failed or the command was interrupted; SOURCE_UNAVAILABLE
 */
export async function runRemoteBulk(
  options: RemoteBulkOptions,
  terminal: Terminal,
  progress: Progress,
): Promise<void> {
  if (!isUrl(options.url))
    throw new AssayError('INVALID_REQUEST', `--remote: '${options.url}' is not a URL.`);
  const base = new URL(options.url);
  // The user has named the server, so a private address is allowed.
  const policy = { trustedHosts: new Set([base.hostname]) };
  checkOutboundUrl(base, policy);
  if (options.output !== null) await requireWritable(options.output);
  const timeouts = {
    connectMs: LIMITS.downloadConnectMs,
    headersMs: LIMITS.downloadHeadersMs,
    stallMs: LIMITS.downloadStallMs,
  };
  const agent = createOutboundAgent({ policy, timeouts });
  const server = connect(agent, base, options.key, terminal.signal);
  const say = (line: string): void => {
    progress.end();
    terminal.err.write(`${printableLine(line)}\n`);
  };
  const user: User = { signal: terminal.signal, say };
  let id = options.job;
  let sink: Sink | null = null;
  try {
    let job: JobView;
    if (id === null) {
      // A request with the key first, so that an invalid key is detected before a gigabyte is sent.
      await (await persist(user, () => server.ask('GET', '/jobs?limit=1'))).body.dump();
      const once = Buffer.from(systemRandom.bytes(ONCE_BYTES)).toString('hex');
      job = await persist(user, () => send(server, options, once, progress));
      id = job.id;
      say(`Job ${id}: ${job.items} lines, ${job.cost.reserved} ${job.cost.unit} reserved.`);
    } else {
      const begun = id;
      job = await persist(user, async () =>
        jobIn(await server.ask('GET', `/jobs/${encodeURIComponent(begun)}`)),
      );
    }
    job = await follow(server, job, user, progress);
    sink = options.output === null ? standardOutput(terminal) : await fileSink(options.output, job);
    await fetchResult(server, job, sink, user, progress);
    await sink.finish();
    const rate = job.itemsPerSecond === null ? '' : `, ${Math.round(job.itemsPerSecond)} a second`;
    say(
      `${job.answered} lines (${job.failed} with an error)${rate}; ${job.cost.spent} ${job.cost.unit} spent, job ${job.id}.`,
    );
  } catch (error) {
    const output = options.output === null ? '' : ` --output ${options.output}`;
    const how = `fetch it with: assay bulk --remote ${options.url} --job ${id}${output}`;
    if (!terminal.signal.aborted) {
      // A file that could not be written: a full disk, for example.
      if (id !== null && !(error instanceof AssayError))
        say(`The server keeps the result of job ${id}; ${how}`);
      if (id === null || !(error instanceof AssayError && error.code === 'SOURCE_UNAVAILABLE')) throw error;
      throw new AssayError(error.code, `${error.message} If job ${id} was created, ${how}`, {
        cause: error,
      });
    }
    if (id === null) throw new Interruption('Interrupted before the input was complete; no job was created.');
    throw new Interruption(`Interrupted. The job continues; ${how}`);
  } finally {
    progress.end();
    await sink?.close();
    await agent.destroy();
  }
}
