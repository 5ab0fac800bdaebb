/**
 * Reads from a server in synchronous code. Kernels cannot wait for promises, so a separate thread talks to Redis, and the calling thread
 * sleeps on shared memory until the answer arrives. One question is one pipelined round trip, however many keys it names.
 */
import { MessageChannel, type MessagePort, receiveMessageOnPort, Worker } from 'node:worker_threads';
import type { Clock } from '../../base/clock.ts';
import { AssayError, type ErrorData, errorFromData, messageOf } from '../../base/errors.ts';
import type { Logger, LogLevel } from '../../base/log.ts';
import { workerUrl } from '../../base/paths.ts';
import { REMOTE_LIMITS } from './limits.ts';

/** Names in one slot. They are all on one server. */
export interface WantedKeys {
  readonly slot: string;
  readonly names: readonly string[];
}

export interface Question {
  readonly keys: readonly WantedKeys[];
  /**
   * The name of a number in each slot, and its minimum. A server that lost writes in a fail-over lost the newest ones, and the marker is
   * written after all others.
   */
  readonly marker: { readonly name: string; readonly atLeast: number } | null;
}

/** Returns values in the order of the question, and null for missing keys. */
export type Fetch = (question: Question) => readonly (Buffer | null)[];

export interface Fetcher {
  /** Throws NOT_READY if no complete answer arrives in time. */
  readonly fetch: Fetch;
  /** Number of questions asked. */
  readonly roundTrips: number;
  close(): Promise<void>;
}

/** Start data of the thread. */
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

/** Marks a missing value. */
export const ABSENT = -1;
/** Aligns to 8 bytes: chunks of edges are read as columns of doubles. */
export const aligned = (length: number): number => (length + 7) & ~7;

const unreachable = (): AssayError =>
  new AssayError('NOT_READY', 'The store of the transfer graph is unavailable. Try again.', {
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

/** Creates a fetcher. Its thread starts at the first question, and ends with `close` or with the calling thread. */
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
    worker.on('error', (error: unknown) =>
      log.error({ reason: messageOf(error) }, 'thread of the remote transfer graph failed'),
    );
    worker.on('exit', () => {
      // The next question starts a new thread.
      if (thread === opened) thread = null;
      port1.close();
    });
    worker.unref();
    thread = opened;
    return opened;
  }

  /** Sleeps until a question is answered. Returns false on timeout. */
  function waitFor(state: Int32Array, number: number): boolean {
    const end = clock.monotonic() + REMOTE_LIMITS.remoteReadMs;
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
        // Answers to questions that timed out arrive late.
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
