/**
 * Asking a server from code that cannot wait: kernels are synchronous, so a thread of its own speaks to Redis, and the asking
 * thread sleeps on shared memory until the answer is there. One question is one pipelined round trip, however many keys it names.
 */
import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from 'node:worker_threads';
import type { Clock } from '../../base/clock.ts';
import { AssayError, type ErrorData, errorFromData, errorToData, messageOf } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import { createLogger, type Logger, type LogLevel } from '../../base/log.ts';
import { workerUrl } from '../../base/paths.ts';
import { openRedis, parseRedisUrl, type RedisStore } from '../../base/redis.ts';

/** Names of one slot; all of them stand on one server. */
export interface WantedKeys {
  readonly slot: string;
  readonly names: readonly string[];
}

export interface Question {
  readonly keys: readonly WantedKeys[];
  /**
   * The name of a number in each slot that must be at least so great: a server that lost writes in a fail-over lost the newest, and
   * this is written behind all others.
   */
  readonly marker: { readonly name: string; readonly atLeast: number } | null;
}

/** Values in the order of the question; null for what is not there. */
export type Fetch = (question: Question) => readonly (Buffer | null)[];

export interface Fetcher {
  /** Throws NOT_READY where no whole answer comes in time. */
  readonly fetch: Fetch;
  /** Questions that were asked. */
  readonly roundTrips: number;
  close(): Promise<void>;
}

/** What the thread is started with. */
export interface GraphIoJob {
  readonly url: string;
  readonly logLevel: LogLevel;
  readonly port: MessagePort;
  /** One int32: the number of the question that was answered last. */
  readonly answered: SharedArrayBuffer;
}

interface AskedMessage extends Question {
  readonly number: number;
}

type AnswerMessage = { readonly number: number } & (
  | { readonly ok: true; readonly bytes: Uint8Array; readonly lengths: Int32Array }
  | { readonly ok: false; readonly error: ErrorData }
);

const ABSENT = -1;
/** Chunks of edges are read as columns of doubles. */
const aligned = (length: number): number => (length + 7) & ~7;

const unreachable = (): AssayError =>
  new AssayError('NOT_READY', 'The store of the transfer graph cannot be reached at the moment. Try again.', {
    retryAfterSeconds: 1,
  });

/** Values end to end, each at a multiple of eight. */
function packValues(values: readonly (Buffer | null)[]): { bytes: Uint8Array; lengths: Int32Array } {
  const lengths = new Int32Array(values.length);
  let total = 0;
  for (const [at, value] of values.entries()) {
    lengths[at] = value?.length ?? ABSENT;
    total += aligned(value?.length ?? 0);
  }
  const bytes = new Uint8Array(new ArrayBuffer(total));
  let place = 0;
  for (const value of values) {
    if (value === null) continue;
    bytes.set(value, place);
    place += aligned(value.length);
  }
  return { bytes, lengths };
}

function unpackValues(bytes: Uint8Array, lengths: Int32Array): (Buffer | null)[] {
  const values: (Buffer | null)[] = [];
  let place = bytes.byteOffset;
  for (const length of lengths) {
    values.push(length === ABSENT ? null : Buffer.from(bytes.buffer as ArrayBuffer, place, length));
    if (length !== ABSENT) place += aligned(length);
  }
  return values;
}

interface Command {
  readonly names: string[];
  /** Where each value goes in the answer; below zero: a marker. */
  readonly places: number[];
}

const MARKER = -1;

/** One MGET a slot, or as few as may be where slots do not matter; none of more keys than hold others up for a millisecond. */
function commandsOf(redis: RedisStore, { keys, marker }: Question): Command[] {
  const commands: Command[] = [];
  const isSharded = redis.place.kind === 'cluster';
  let open: Command | null = null;
  let place = 0;
  for (const { slot, names } of keys) {
    if (isSharded) open = null;
    let isMarked = false;
    for (const name of names) {
      if (open === null || open.names.length >= LIMITS.remoteKeysPerCommand) {
        open = { names: [], places: [] };
        commands.push(open);
        isMarked = false;
      }
      if (marker !== null && !isMarked) {
        open.names.push(redis.key(slot, marker.name));
        open.places.push(MARKER);
        isMarked = true;
      }
      open.names.push(redis.key(slot, name));
      open.places.push(place++);
    }
  }
  return commands;
}

/** Asks; rejects with NOT_READY where a slot is behind its marker. */
export async function ask(redis: RedisStore, question: Question): Promise<(Buffer | null)[]> {
  const commands = commandsOf(redis, question);
  const replies = await redis.guard(
    Promise.all(commands.map(({ names }) => redis.connection.mgetBuffer(...names))),
  );
  const count = question.keys.reduce((sum, { names }) => sum + names.length, 0);
  const values: (Buffer | null)[] = new Array<Buffer | null>(count).fill(null);
  for (const [at, { places }] of commands.entries()) {
    const reply = replies[at] as readonly (Buffer | null)[];
    for (const [index, place] of places.entries()) {
      const value = reply[index] ?? null;
      if (place !== MARKER) values[place] = value;
      else if (value === null || Number(value.toString('latin1')) < (question.marker?.atLeast ?? 0))
        throw new AssayError(
          'NOT_READY',
          'A server of the transfer graph lost what was pushed to it, or holds a later push. Try again; where this stays, push the chain again.',
          { retryAfterSeconds: 1 },
        );
    }
  }
  return values;
}

/** Runs in the thread: answers until the port is closed. */
export function runGraphIo({ url, logLevel, port, answered }: GraphIoJob): void {
  const redis = openRedis(parseRedisUrl(url), { log: createLogger({ level: logLevel }) });
  const state = new Int32Array(answered);
  const send = (answer: AnswerMessage): void => {
    port.postMessage(answer, answer.ok ? [answer.bytes.buffer as ArrayBuffer] : []);
    if (answer.number > Atomics.load(state, 0)) Atomics.store(state, 0, answer.number);
    Atomics.notify(state, 0);
  };
  port.on('message', ({ number, ...question }: AskedMessage) => {
    ask(redis, question).then(
      (values) => send({ number, ok: true, ...packValues(values) }),
      (error: unknown) => send({ number, ok: false, error: errorToData(knownError(error)) }),
    );
  });
  port.on('close', () => void redis.close());
}

/** What a server answers instead of values (a wrong type, no permission) is told in its own words; none of it is a key's content. */
const knownError = (error: unknown): unknown =>
  error instanceof Error && error.name === 'ReplyError'
    ? new AssayError('NOT_READY', `The store of the transfer graph refused to answer: ${messageOf(error)}`)
    : error;

export interface FetcherOptions {
  readonly url: string;
  readonly logLevel: LogLevel;
}

export interface FetcherDeps {
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly log: Pick<Logger, 'error'>;
}

interface IoThread {
  readonly worker: Worker;
  readonly port: MessagePort;
  readonly state: Int32Array;
}

/** Starts the thread at the first question; it ends with `close`, or with the asking thread. */
export function createFetcher(options: FetcherOptions, { clock, log }: FetcherDeps): Fetcher {
  let thread: IoThread | null = null;
  let asked = 0;

  function open(): IoThread {
    if (thread !== null) return thread;
    const { port1, port2 } = new MessageChannel();
    const answered = new SharedArrayBuffer(4);
    const worker = new Worker(workerUrl('graph-io'), {
      workerData: { ...options, port: port2, answered } satisfies GraphIoJob,
      transferList: [port2],
      execArgv: [],
    });
    const opened = { worker, port: port1, state: new Int32Array(answered) };
    worker.on('error', (error: unknown) => log.error(`transfer graph: ${messageOf(error)}`));
    worker.on('exit', () => {
      // The next question starts another.
      if (thread === opened) thread = null;
      port1.close();
    });
    worker.unref();
    thread = opened;
    return opened;
  }

  /** Sleeps until a question is answered; false where that takes too long. */
  function waitFor(state: Int32Array, number: number): boolean {
    const end = clock.monotonic() + LIMITS.remoteReadMs;
    for (;;) {
      const seen = Atomics.load(state, 0);
      if (seen >= number) return true;
      const left = end - clock.monotonic();
      if (left <= 0) return false;
      Atomics.wait(state, 0, seen, left);
    }
  }

  return {
    fetch(question) {
      const { port, state } = open();
      const number = ++asked;
      port.postMessage({ ...question, number } satisfies AskedMessage);
      if (!waitFor(state, number)) throw unreachable();
      for (;;) {
        const received = receiveMessageOnPort(port) as { message: AnswerMessage } | undefined;
        if (received === undefined) throw unreachable();
        const { message } = received;
        // Answers to questions that were given up come late.
        if (message.number !== number) continue;
        if (!message.ok) throw errorFromData(message.error);
        return unpackValues(message.bytes, message.lengths);
      }
    },
    get roundTrips() {
      return asked;
    },
    async close() {
      const closing = thread;
      thread = null;
      await closing?.worker.terminate();
    },
  };
}
