/**
 * Asking a server from code that cannot wait: kernels are synchronous, so a thread of its own speaks to Redis, and the asking
 * thread sleeps on shared memory until the answer is there. One question is one pipelined round trip, however many keys it names.
 */
import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from 'node:worker_threads';
import type { Clock } from '../../base/clock.ts';
import { AssayError, type ErrorData, errorFromData, messageOf } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Logger, LogLevel } from '../../base/log.ts';
import { workerUrl } from '../../base/paths.ts';

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

export interface AskedMessage extends Question {
  readonly number: number;
}

export type AnswerMessage = { readonly number: number } & (
  | { readonly ok: true; readonly bytes: Uint8Array; readonly lengths: Int32Array }
  | { readonly ok: false; readonly error: ErrorData }
);

/** The length of what is not there. */
export const ABSENT = -1;
/** Chunks of edges are read as columns of doubles. */
export const aligned = (length: number): number => (length + 7) & ~7;

const unreachable = (): AssayError =>
  new AssayError('NOT_READY', 'The store of the transfer graph cannot be reached at the moment. Try again.', {
    retryAfterSeconds: 1,
  });

function unpackValues(bytes: Uint8Array, lengths: Int32Array): (Buffer | null)[] {
  const values: (Buffer | null)[] = [];
  let place = bytes.byteOffset;
  for (const length of lengths) {
    values.push(length === ABSENT ? null : Buffer.from(bytes.buffer as ArrayBuffer, place, length));
    if (length !== ABSENT) place += aligned(length);
  }
  return values;
}

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
