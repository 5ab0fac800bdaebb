/**
 * Bulk screening over jobs: lines of any number in, results in the same order out. The input is cut into jobs of a bounded size, of
 * which a few are under way at once, so memory is bounded. Broken connections are resumed.
 */
import { type Connection, delayAfter, failureOf, isPassing, pause } from './core/connection.ts';
import { randomKey } from './core/crypto.ts';
import { AbortError, AssayError, ConnectionError } from './core/errors.ts';
import type { TransportResponse } from './core/transport.ts';
import type {
  BulkError,
  BulkItem,
  Job,
  KytBody,
  KytResult,
  SanctionsCheck,
  ScreeningBody,
  ScreeningResult,
} from './generated/api.ts';
import { Jobs } from './resources/jobs.ts';

export type JobKind = Job['kind'];

/** A line of the input: an address, or the fields of the single operation. */
export type BulkLine<Kind extends JobKind = 'labels'> =
  | string
  | (Kind extends 'kyt'
      ? KytBody
      : Kind extends 'screening'
        ? ScreeningBody
        : { readonly address: string; readonly chain?: string });

/** The result of a line that failed. It costs nothing. `line` counts from 1. */
export type BulkLineError = Partial<BulkError> & { readonly error: string; readonly line: number };

/** The results of the kinds of jobs. A failed line has `error`, the others have not. */
export type BulkLineResult<Kind extends JobKind> =
  | BulkLineError
  | ({ readonly error?: undefined } & {
      labels: BulkItem;
      sanctions: SanctionsCheck;
      screening: ScreeningResult;
      kyt: KytResult;
    }[Kind]);

export interface FollowOptions {
  /**
   * Aborts the work; jobs that have not ended are stopped. If a job is being sent at this time, its response is awaited for up to 5
   * seconds, because the job can only be stopped by its id.
   */
  readonly signal?: AbortSignal | undefined;
  /** Further attempts at each request, and at a broken download without progress. Default: 10, about a minute. */
  readonly maxRetries?: number | undefined;
}

export interface BulkOptions<Kind extends JobKind> extends FollowOptions {
  /** The question that is asked about every line. Default: `labels`. */
  readonly kind?: Kind | undefined;
  /** Chain of lines that have none. */
  readonly chain?: string | undefined;
  /** With `labels`: adds the verdict of the oracle to each result. */
  readonly verdict?: boolean | undefined;
  /** Lines of one job. Default: 100,000. */
  readonly linesPerJob?: number | undefined;
  /** Jobs that are under way at once. Default: 3. */
  readonly concurrency?: number | undefined;
  /**
   * Names the whole run, so that it can be repeated: the same input under the same key within 24 hours continues the jobs of the
   * first run and is charged once. The jobs are then kept until they expire. Without a key they are removed when their results
   * were read.
   */
  readonly idempotencyKey?: string | undefined;
}

const LINES_PER_JOB = 100_000;
const CONCURRENCY = 3;
const RETRIES_MAX = 10;
/** Size at which the lines of a job are full in any case, so that long lines do not fill the memory. */
const JOB_CHARS_MAX = 32 * 1024 * 1024;
/** Lines that are encoded at once. */
const ENCODED_CHARS = 256 * 1024;
/** Time that a job which is being sent gets to return its id when the work is stopped. */
const STOP_MS_MAX = 5_000;
const POLL_MS_MIN = 50;
const POLL_MS_MAX = 2_000;

interface Chunk {
  readonly bytes: Uint8Array;
  readonly lines: number;
}

/** Collects the lines of one job. */
class LineWriter {
  readonly #encoder = new TextEncoder();
  readonly #pieces: Uint8Array[] = [];
  #text = '';
  #chars = 0;
  lines = 0;

  get isFull(): boolean {
    return this.#chars >= JOB_CHARS_MAX;
  }

  add(line: unknown): void {
    const text = `${JSON.stringify(line)}\n`;
    this.#text += text;
    this.#chars += text.length;
    this.lines++;
    if (this.#text.length >= ENCODED_CHARS) this.#flush();
  }

  #flush(): void {
    this.#pieces.push(this.#encoder.encode(this.#text));
    this.#text = '';
  }

  chunk(): Chunk {
    this.#flush();
    const bytes = new Uint8Array(this.#pieces.reduce((sum, { length }) => sum + length, 0));
    let at = 0;
    for (const piece of this.#pieces) {
      bytes.set(piece, at);
      at += piece.length;
    }
    return { bytes, lines: this.lines };
  }
}

/** Cuts the input into the lines of jobs. */
async function* chunksOf(
  source: Iterable<unknown> | AsyncIterable<unknown>,
  linesPerJob: number,
): AsyncGenerator<Chunk, void, undefined> {
  let writer = new LineWriter();
  for await (const line of source) {
    writer.add(line);
    if (writer.lines < linesPerJob && !writer.isFull) continue;
    yield writer.chunk();
    writer = new LineWriter();
  }
  if (writer.lines > 0) yield writer.chunk();
}

/** Returns the single values of batches. Values that are there already cost one turn each, without a generator. */
function eachOf<T>(batches: AsyncGenerator<readonly T[], void, undefined>): AsyncIterableIterator<T> {
  let batch: readonly T[] = [];
  let at = 0;
  async function following(): Promise<IteratorResult<T, undefined>> {
    for (;;) {
      const { done, value } = await batches.next();
      if (done === true) return { done, value: undefined };
      batch = value;
      at = 1;
      if (batch.length > 0) return { done: false, value: batch[0] as T };
    }
  }
  return {
    next: () =>
      at < batch.length ? Promise.resolve({ done: false as const, value: batch[at++] as T }) : following(),
    async return() {
      batch = [];
      await batches.return();
      return { done: true, value: undefined };
    },
    [Symbol.asyncIterator]() {
      return this;
    },
  };
}

/** Parses complete lines at once: a line break is only between two values, because JSON escapes those in texts. */
function parseLines<T>(text: string): T[] {
  try {
    return JSON.parse(`[${text.replaceAll('\n', ',')}]`) as T[];
  } catch (cause) {
    throw new ConnectionError('A line of the result is not JSON.', { cause });
  }
}

/** Returns the results in pieces of a body, without the incomplete line at the end of each piece. */
async function* parsed<T>(body: AsyncIterable<Uint8Array>): AsyncGenerator<T[], void, undefined> {
  const decoder = new TextDecoder();
  let rest = '';
  for await (const bytes of body) {
    const text = rest + decoder.decode(bytes, { stream: true });
    const end = text.lastIndexOf('\n');
    rest = text.slice(end + 1);
    if (end > 0) yield parseLines(text.slice(0, end));
  }
  if (rest.trim() !== '') yield parseLines(rest);
}

const isEnded = ({ state }: Job): boolean => state === 'DONE' || state === 'FAILED' || state === 'CANCELLED';

export class Bulk {
  readonly #jobs: Jobs;

  constructor(connection: Connection) {
    this.#jobs = new Jobs(connection);
  }

  /**
   * Screens any number of lines, and returns the results in the order of the lines. Lines are read as they are needed: at most
   * `concurrency` jobs of `linesPerJob` lines are held. If the iteration ends early, jobs that run are stopped, and only lines that
   * were answered are charged.
   *
   * @param source - addresses, or objects with the fields of the single operation
   * @throws ApiError if the server refuses a job, for example because quota or credits do not suffice; AssayError if a job failed
   * @example
   * for await (const result of assay.bulk.screen(addresses, { chain: 'ETH', verdict: true })) {
   *   if (result.error === undefined) console.log(result.address, result.verdict);
   * }
   */
  screen<Kind extends JobKind = 'labels'>(
    source: Iterable<BulkLine<Kind>> | AsyncIterable<BulkLine<Kind>>,
    options: BulkOptions<Kind> = {},
  ): AsyncIterableIterator<BulkLineResult<Kind>> {
    const { linesPerJob = LINES_PER_JOB, concurrency = CONCURRENCY } = options;
    if (!(linesPerJob >= 1)) throw new AssayError('linesPerJob: must be at least 1.');
    if (!(concurrency >= 1)) throw new AssayError('concurrency: must be at least 1.');
    return eachOf(this.#run(chunksOf(source, linesPerJob), concurrency, options));
  }

  async *#run<Kind extends JobKind>(
    chunks: AsyncGenerator<Chunk, void, undefined>,
    concurrency: number,
    { signal, ...options }: BulkOptions<Kind>,
  ): AsyncGenerator<BulkLineResult<Kind>[], void, undefined> {
    const stop = new AbortController();
    /** Ends requests that send a job. It comes later than `stop`: a job that the server has received runs and is charged until it is stopped. */
    const cut = new AbortController();
    /** Ends a wait for lines that never come. */
    const aborted = new Promise<never>((_, reject) => {
      stop.signal.addEventListener('abort', () =>
        reject(new AbortError('The call was aborted.', { cause: signal?.reason })),
      );
    });
    aborted.catch(() => {});
    const abort = (): void => stop.abort(signal?.reason);
    if (signal?.aborted) abort();
    else signal?.addEventListener('abort', abort, { once: true });
    const own = { ...options, signal: stop.signal };
    const open = new Set<string>();
    /** Jobs in the order of the input; null is the end of the input. */
    const started: Promise<{ job: Job; lines: number } | null>[] = [];
    /** Jobs that are sent or followed now. Their reader waits for lines, which may never come; these end when they are aborted. */
    const running = new Set<Promise<Job>>();

    /** Reads the lines of the next job and runs it. The one after it is read meanwhile, if there is room. */
    let number = 0;
    let room = concurrency;
    let isReading = false;
    const fill = (): void => {
      if (isReading || room === 0) return;
      isReading = true;
      room--;
      const reading = chunks.next();
      const at = number++;
      started.push(
        reading.then(async ({ done, value }) => {
          if (done === true) return null;
          isReading = false;
          fill();
          const job = this.#execute(value, at, own, cut.signal, open);
          running.add(job);
          return { job: await job.finally(() => running.delete(job)), lines: value.lines };
        }),
      );
      // Its reader handles the error.
      started.at(-1)?.catch(() => {});
    };
    try {
      fill();
      for (let first = 0; ; ) {
        const next = await Promise.race([started.shift(), aborted]);
        if (next === null || next === undefined) return;
        for await (const batch of this.#batches<BulkLineResult<Kind>>(next.job, own)) {
          for (const result of first === 0 ? [] : batch)
            if (result.error !== undefined) (result as { line: number }).line += first;
          yield batch;
        }
        first += next.lines;
        open.delete(next.job.id);
        if (options.idempotencyKey === undefined) await this.#remove(next.job.id);
        room++;
        fill();
      }
    } finally {
      stop.abort();
      signal?.removeEventListener('abort', abort);
      const timer = setTimeout(() => cut.abort(), options.idempotencyKey === undefined ? STOP_MS_MAX : 0);
      await Promise.allSettled(running);
      clearTimeout(timer);
      if (options.idempotencyKey === undefined) await Promise.all([...open].map((id) => this.#remove(id)));
      // The source may be blocked in a read, which nothing can end.
      void chunks.return().catch(() => {});
    }
  }

  /** Stops or removes a job whose results are not needed any more. If that fails, it expires. */
  async #remove(id: string): Promise<void> {
    await this.#jobs.cancel(id).catch(() => {});
  }

  /** Runs the lines of one job to their end. */
  async #execute(
    chunk: Chunk,
    number: number,
    options: BulkOptions<JobKind>,
    cut: AbortSignal,
    open: Set<string>,
  ): Promise<Job> {
    const job = await this.#start(chunk, number, options, cut);
    open.add(job.id);
    return this.#ended(job, options);
  }

  /**
   * Sends the lines of one job.
   *
   * @param cut - ends the request; `signal` of the options ends the waits between attempts
   */
  async #start(
    { bytes }: Chunk,
    number: number,
    options: BulkOptions<JobKind>,
    cut: AbortSignal,
  ): Promise<Job> {
    const { kind = 'labels', chain, verdict, signal, maxRetries = RETRIES_MAX } = options;
    const query = {
      kind,
      format: 'ndjson' as const,
      ...(chain === undefined ? {} : { chain }),
      ...(verdict === undefined ? {} : { verdict }),
    };
    // The same for every attempt.
    const idempotencyKey =
      options.idempotencyKey === undefined ? await randomKey() : `${options.idempotencyKey}-${number}`;
    for (let failures = 0; ; failures++) {
      try {
        return (await this.#jobs.create(bytes, query, { signal: cut, maxRetries: 0, idempotencyKey })).job;
      } catch (error) {
        const delay = isPassing(error) ? delayAfter(error, failures) : null;
        if (delay === null || failures >= maxRetries) throw error;
        await pause(delay, signal);
      }
    }
  }

  async #ended(begun: Job, { signal, maxRetries = RETRIES_MAX }: FollowOptions): Promise<Job> {
    let job = begun;
    for (let ms = POLL_MS_MIN; !isEnded(job); ms = Math.min(POLL_MS_MAX, ms * 2)) {
      const left = job.secondsLeft === null ? ms : Math.max(POLL_MS_MIN, job.secondsLeft * 500);
      await pause(Math.min(ms, left), signal);
      ({ job } = await this.#jobs.get(job.id, { signal, maxRetries }));
    }
    if (job.state === 'DONE') return job;
    const reason = job.error === null ? '' : `: ${job.error}`;
    throw new AssayError(`Job ${job.id} is ${job.state} after ${job.answered} lines${reason}`);
  }

  /**
   * Waits until a job has ended.
   *
   * @param id - of a job of the account
   * @throws AssayError if the job failed or was stopped; NotFoundError
   */
  async wait(id: string, options: FollowOptions = {}): Promise<Job> {
    const { signal, maxRetries = RETRIES_MAX } = options;
    const { job } = await this.#jobs.get(id, { signal, maxRetries });
    return this.#ended(job, options);
  }

  /**
   * Waits for a job and returns its results in the order of its lines. A broken connection is resumed at its last byte.
   *
   * @param id - of a job of the account
   * @throws AssayError if the job failed or was stopped; NotFoundError
   */
  results<Kind extends JobKind = 'labels'>(
    id: string,
    options: FollowOptions = {},
  ): AsyncIterableIterator<BulkLineResult<Kind>> {
    const batches = async function* (this: Bulk): AsyncGenerator<BulkLineResult<Kind>[], void, undefined> {
      yield* this.#batches<BulkLineResult<Kind>>(await this.wait(id, options), options);
    };
    return eachOf(batches.call(this));
  }

  #batches<T>(job: Job, options: FollowOptions): AsyncGenerator<T[], void, undefined> {
    return parsed<T>(this.#bytes(job, options));
  }

  /** Returns the bytes of a result, over as many connections as needed. */
  async *#bytes(
    { id, resultBytes }: Job,
    { signal, maxRetries = RETRIES_MAX }: FollowOptions,
  ): AsyncGenerator<Uint8Array, void, undefined> {
    if (resultBytes === 0) throw new AssayError(`The result of job ${id} has expired.`);
    let held = 0;
    let ifRange: string | undefined;
    for (let failures = 0; held < resultBytes; failures++) {
      let response: TransportResponse | null = null;
      let failure: unknown = new ConnectionError('The connection ended early.');
      try {
        response = await this.#jobs.result(id, { start: held, ifRange, signal, maxRetries: 0 });
        const expected = `bytes ${held}-${resultBytes - 1}/${resultBytes}`;
        if (response.status !== 206 || response.header('content-range') !== expected)
          throw new AssayError(`The result of job ${id} has changed since it was read.`);
        ifRange = response.header('etag') ?? undefined;
        for await (const bytes of response.body()) {
          held += bytes.length;
          failures = -1;
          yield bytes;
        }
      } catch (error) {
        response?.cancel();
        failure = failureOf(error, signal);
      }
      if (held >= resultBytes) return;
      const delay = isPassing(failure) ? delayAfter(failure, Math.max(0, failures)) : null;
      if (delay === null || failures >= maxRetries) throw failure;
      await pause(delay, signal);
    }
  }
}
