/** The thread side of fetch.ts: reads from the servers and answers the questions of a sleeping thread. */
import { AssayError, errorToData, messageOf } from '../../base/errors.ts';
import { createLogger } from '../../base/log.ts';
import { openRedis, parseRedisUrl, type RedisStore } from '../../state/redis.ts';
import {
  ABSENT,
  type AnswerMessage,
  type AskedMessage,
  aligned,
  type GraphIoJob,
  type Question,
} from './fetch.ts';
import { REMOTE_LIMITS } from './limits.ts';

/** Concatenates values, each aligned to 8 bytes. */
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

interface Command {
  readonly names: string[];
  /** Index of each value in the answer. Below zero: a marker. */
  readonly places: number[];
}

const MARKER = -1;

/**
 * One MGET per slot, or as few as possible if the server has no slots. No command has so many keys that it blocks others for a millisecond.
 */
function commandsOf(redis: RedisStore, { keys, marker }: Question): Command[] {
  const commands: Command[] = [];
  const isSharded = redis.place.kind === 'cluster';
  let open: Command | null = null;
  let place = 0;
  for (const { slot, names } of keys) {
    if (isSharded) open = null;
    let isMarked = false;
    for (const name of names) {
      if (open === null || open.names.length >= REMOTE_LIMITS.remoteKeysPerCommand) {
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

/** Reads the values. Rejects with NOT_READY if a slot is behind its marker. */
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
          'A server of the transfer graph lost pushed data, or has a newer push. Try again; if the error persists, push the chain again.',
          { retryAfterSeconds: 1 },
        );
    }
  }
  return values;
}

/** Runs in the thread: answers questions until the port is closed. */
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

/** Passes on the text of a server error (a wrong type, no permission), which does not contain stored data. */
const knownError = (error: unknown): unknown =>
  error instanceof Error && error.name === 'ReplyError'
    ? new AssayError('NOT_READY', `The store of the transfer graph returned an error: ${messageOf(error)}`)
    : error;
