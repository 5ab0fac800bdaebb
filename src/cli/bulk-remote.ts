/**
 * `assay bulk --remote`: a bulk job on a server elsewhere. Sends the input, waits, and fetches the result, taken up again where a
 * connection broke. The job is the server's: who is interrupted here finds it there.
 */
import { createReadStream } from 'node:fs';
import { type FileHandle, open, readFile, rename, stat } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { setTimeout as wait } from 'node:timers/promises';
import type { Agent, Dispatcher } from 'undici';
import { AssayError } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import { checkOutboundUrl, createOutboundAgent } from '../base/outbound.ts';
import { systemRandom } from '../base/random.ts';
import type { ChainId } from '../chains/registry.ts';
import type { JobFormat, JobKind, JobView } from '../jobs/bulk-jobs.ts';
import type { Terminal } from './context.ts';
import type { Progress } from './progress.ts';

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
  /** A job that was begun before; nothing is sent then. */
  readonly job: string | null;
  /** What is sent in place of a file. */
  readonly standardInput: AsyncIterable<Uint8Array>;
}

const TYPES: Readonly<Record<JobFormat, string>> = { ndjson: 'application/x-ndjson', csv: 'text/csv' };
const POLL_MS_MIN = 200;
const POLL_MS_MAX = 2_000;
const RETRY_MS_MIN = 250;
const RETRY_MS_MAX = 10_000;
/** Attempts in a row of which none brought anything: a server that restarts is back within about a minute. */
const ATTEMPTS_MAX = 12;

/** A rate limit counts a minute. A server that wants longer is a matter for whoever runs the command. */
const RETRY_AFTER_MS_MAX = 60_000;
const ONCE_BYTES = 16;
/** What a server answers of one job, or against it, has 1 KB. */
const ANSWER_BYTES_MAX = 64 * 1024;

/** What was asked may be asked again: the connection failed, or the server is not able to answer now. */
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

/** What a server says, without anything that a terminal takes for an order. */
const printable = (text: string): string => text.replace(/[\p{Cc}\s]+/gu, ' ');

/** The first bytes of an answer, or all where it has no more. Rejects as its connection does. */
async function beginningOf({ body }: Dispatcher.ResponseData): Promise<Buffer> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of body as AsyncIterable<Uint8Array>) {
    pieces.push(piece);
    length += piece.length;
    // Leaving ends the connection.
    if (length >= ANSWER_BYTES_MAX) break;
  }
  return Buffer.concat(pieces).subarray(0, ANSWER_BYTES_MAX);
}

/** The sentence of an error answer; what stands there where it is no answer of such a server. */
async function sentenceOf(response: Dispatcher.ResponseData): Promise<string> {
  const text = await beginningOf(response).then(String, () => '');
  try {
    const said = JSON.parse(text) as { error?: unknown };
    if (typeof said.error === 'string') return printable(said.error);
  } catch {
    // A proxy in between says it in its own way.
  }
  return printable(text).slice(0, 200);
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
        throw new Passing(`${base.origin} cannot be reached: ${reason}`, null, cause);
      }
      if (response.statusCode < 400) return response;
      const said = `${base.origin} answered ${response.statusCode}: ${await sentenceOf(response)}`;
      if (response.statusCode < 500 && response.statusCode !== 429)
        throw new AssayError('INVALID_REQUEST', said);
      signal.throwIfAborted();
      const seconds = Number(response.headers['retry-after']);
      const waitMs = Number.isFinite(seconds) && seconds > 0 ? seconds * 1_000 : null;
      throw new Passing(said, waitMs);
    },
  };
}

/** Ids become part of a file's name. */
const ID_SHAPE = /^[\w-]{1,64}$/;

/** Rejects with SOURCE_UNAVAILABLE, and with Passing where the answer broke off. */
async function jobIn(response: Dispatcher.ResponseData): Promise<JobView> {
  const bytes = await beginningOf(response).catch((cause: unknown) => {
    throw new Passing('The connection broke.', null, cause);
  });
  try {
    const { data } = JSON.parse(bytes.toString()) as { data?: { job?: JobView } };
    if (data?.job !== undefined && ID_SHAPE.test(data.job.id)) return data.job;
  } catch {
    // No JSON: of another server.
  }
  throw new AssayError('SOURCE_UNAVAILABLE', 'What the server answered tells of no job.');
}

/** Asks until it is answered or `ATTEMPTS_MAX` attempts in a row have failed. `attempt` tells whether it got further. */
async function persist<T>(
  terminal: Terminal,
  attempt: () => Promise<T>,
  hasMoved: () => boolean = () => false,
): Promise<T> {
  for (let failures = 1; ; failures++) {
    try {
      return await attempt();
    } catch (error) {
      terminal.signal.throwIfAborted();
      if (!(error instanceof Passing)) throw error;
      if (hasMoved()) failures = 1;
      const waitMs = error.waitMs ?? Math.min(RETRY_MS_MAX, RETRY_MS_MIN * 2 ** (failures - 1));
      if (failures >= ATTEMPTS_MAX || waitMs > RETRY_AFTER_MS_MAX)
        throw new AssayError('SOURCE_UNAVAILABLE', error.message, { cause: error });
      await wait(waitMs, undefined, { signal: terminal.signal });
    }
  }
}

/**
 * Sends the input. A pipe cannot be read again; of a file this rejects with Passing, and it may be sent again: `once` names the job, so
 * that it is not begun twice.
 */
async function send(
  server: Server,
  { input, standardInput, kind, format, chain, verdict }: RemoteBulkOptions,
  once: string,
  progress: Progress,
): Promise<JobView> {
  const total = input === null ? null : (await stat(input)).size;
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
      `${error.message} (after ${sent} bytes were sent; nothing was begun, unless GET /jobs lists it).`,
      { cause: error },
    );
  }
}

/** Waits until the job has ended. */
async function follow(
  server: Server,
  begun: JobView,
  terminal: Terminal,
  progress: Progress,
): Promise<JobView> {
  for (let job = begun; ; ) {
    if (job.state === 'DONE') return job;
    if (job.state === 'FAILED' || job.state === 'CANCELLED') {
      const why = job.error === null ? '' : `: ${printable(job.error)}`;
      throw new AssayError(
        'INVALID_REQUEST',
        `Job ${job.id} is ${job.state} after ${job.answered} lines${why}`,
      );
    }
    const { itemsPerSecond, secondsLeft } = job;
    const elapsedMs =
      itemsPerSecond === null || itemsPerSecond === 0 ? 0 : (job.answered / itemsPerSecond) * 1_000;
    progress.update(job.kind, job.answered, job.items, 'lines', { hasBar: true, elapsedMs });
    const left = secondsLeft === null ? POLL_MS_MAX : secondsLeft * 500;
    await wait(Math.min(POLL_MS_MAX, Math.max(POLL_MS_MIN, left)), undefined, { signal: terminal.signal });
    const { id } = job;
    job = await persist(terminal, async () => jobIn(await server.ask('GET', `/jobs/${id}`)));
  }
}

/** Where a result goes. */
interface Sink {
  /** Bytes of this very result that are there already. */
  readonly held: number;
  write(bytes: Uint8Array): Promise<void>;
  /** All are there. */
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

/** Beside its place until it is whole, under the name of its job: what was fetched before an interruption is not fetched again. */
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

/** Fetches what the sink does not hold yet, over as many connections as it takes. */
async function fetchResult(
  server: Server,
  job: JobView,
  sink: Sink,
  terminal: Terminal,
  progress: Progress,
): Promise<void> {
  const total = job.resultBytes;
  let held = sink.held;
  let moved = false;
  let etag = '';
  // Every job has a line, and every line an answer.
  if (total === 0)
    throw new AssayError('INVALID_REQUEST', `The result of job ${job.id} was removed when it expired.`);
  if (held > total)
    throw new AssayError(
      'INVALID_FILE',
      `What was fetched of job ${job.id} before is longer than its result.`,
    );

  const attempt = async (): Promise<void> => {
    moved = false;
    if (held === total) return;
    const headers = { range: `bytes=${held}-`, ...(etag === '' ? {} : { 'if-range': etag }) };
    const response = await server.ask('GET', `/jobs/${job.id}/result`, headers);
    const { 'content-range': range, etag: tag } = response.headers;
    if (response.statusCode !== 206 || range !== `bytes ${held}-${total - 1}/${total}`) {
      response.body.destroy();
      throw new AssayError('SOURCE_UNAVAILABLE', `The result of job ${job.id} is not what it was any more.`);
    }
    etag = typeof tag === 'string' ? tag : '';
    const chunks = response.body[Symbol.asyncIterator]() as AsyncIterator<Uint8Array>;
    for (;;) {
      const { done, value } = await chunks.next().catch((cause: unknown) => {
        terminal.signal.throwIfAborted();
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
  await persist(terminal, attempt, () => moved);
}

/** The key of a file, whose first line it is. Throws INVALID_REQUEST. */
export async function keyOfFile(path: string): Promise<string> {
  const key = (await readFile(path, 'utf8')).split(/\r?\n/, 1)[0]?.trim() ?? '';
  if (key === '')
    throw new AssayError('INVALID_REQUEST', `--key-file: '${path}' holds no key in its first line.`);
  return key;
}

/** Throws INVALID_REQUEST where the server refuses, the job failed or it was interrupted; SOURCE_UNAVAILABLE. */
export async function runRemoteBulk(
  options: RemoteBulkOptions,
  terminal: Terminal,
  progress: Progress,
): Promise<void> {
  if (!URL.canParse(options.url))
    throw new AssayError('INVALID_REQUEST', `--remote: '${options.url}' is not a URL.`);
  const base = new URL(options.url);
  // Whoever runs the command named the server: it may stand on a private address.
  const policy = { trustedHosts: new Set([base.hostname]) };
  checkOutboundUrl(base, policy);
  const timeouts = {
    connectMs: LIMITS.downloadConnectMs,
    headersMs: LIMITS.downloadHeadersMs,
    stallMs: LIMITS.downloadStallMs,
  };
  const agent = createOutboundAgent({ policy, timeouts });
  const server = connect(agent, base, options.key, terminal.signal);
  const say = (line: string): void => {
    progress.end();
    terminal.err.write(`${line}\n`);
  };
  let id = options.job;
  let sink: Sink | null = null;
  try {
    let job: JobView;
    if (id === null) {
      // A key that is refused should be so before a gigabyte was sent.
      await (await persist(terminal, () => server.ask('GET', '/jobs?limit=1'))).body.dump();
      const once = Buffer.from(systemRandom.bytes(ONCE_BYTES)).toString('hex');
      job = await persist(terminal, () => send(server, options, once, progress));
      id = job.id;
      say(`Job ${id}: ${job.items} lines, ${job.cost.reserved} ${job.cost.unit} reserved.`);
    } else {
      const begun = id;
      job = await persist(terminal, async () =>
        jobIn(await server.ask('GET', `/jobs/${encodeURIComponent(begun)}`)),
      );
    }
    job = await follow(server, job, terminal, progress);
    sink = options.output === null ? standardOutput(terminal) : await fileSink(options.output, job);
    await fetchResult(server, job, sink, terminal, progress);
    await sink.finish();
    const rate = job.itemsPerSecond === null ? '' : `, ${Math.round(job.itemsPerSecond)} a second`;
    say(
      `${job.answered} lines (${job.failed} with an error)${rate}; ${job.cost.spent} ${job.cost.unit} spent, job ${job.id}.`,
    );
  } catch (error) {
    const output = options.output === null ? '' : ` --output ${options.output}`;
    const how = `fetched by: assay bulk --remote ${options.url} --job ${id}${output}`;
    if (!terminal.signal.aborted) {
      if (id === null || !(error instanceof AssayError && error.code === 'SOURCE_UNAVAILABLE')) throw error;
      throw new AssayError(error.code, `${error.message} What comes of job ${id} is ${how}`, {
        cause: error,
      });
    }
    if (id === null)
      throw new AssayError('INVALID_REQUEST', 'Interrupted before all was sent; nothing was begun.');
    throw new AssayError('INVALID_REQUEST', `Interrupted. The job goes on; its result is ${how}`);
  } finally {
    progress.end();
    await sink?.close();
    await agent.destroy();
  }
}
