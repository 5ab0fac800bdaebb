/**
 * The thread of a bulk load that sorts the halves of a run and writes them, while the thread that owns the store writes the rest of the
 * run: its positions and its log. Both only read the columns meanwhile.
 */
import { on } from 'node:events';
import { type MessagePort, parentPort, Worker } from 'node:worker_threads';
import { AssayError, type ErrorData, errorFromData, errorToData } from '../../base/errors.ts';
import { workerUrl } from '../../base/paths.ts';
import { endBehind, whenEnded } from '../../base/threads.ts';
import { asStorageFull } from '../../state/storage.ts';
import { RunColumns } from './run-columns.ts';
import {
  bucketBits,
  FLAG_LARGE,
  FLAG_PRICED,
  HALF_AMOUNT,
  HALF_ASSET,
  HALF_CENTS,
  HALF_COUNTERPARTY,
  HALF_INDEX,
  HALF_NODE,
  HALF_TIME,
  HALF_WORDS,
  orderInBuckets,
  tally,
  toStarts,
  writeRun,
} from './runs.ts';

const TWO_32 = 2 ** 32;

/** A run with the ids of the store. */
export interface HalvesRequest {
  readonly path: string;
  /** Memory of the columns, and the transfers that it has room for. */
  readonly memory: SharedArrayBuffer;
  readonly capacity: number;
  readonly count: number;
  /** Number in the load of the first transfer. */
  readonly firstIndex: number;
  /** The greatest id of an address. */
  readonly greatest: number;
  /** Transfers with an amount of 2^96 or more. */
  readonly large: ReadonlySet<number>;
}

type HalvesReply = { readonly error: ErrorData | null };

/** Runs in a thread of its own, until null is sent. */
export function runBulkHalves(): void {
  const port = parentPort as MessagePort;
  let writer: RunHalves | null = null;
  port.on('message', (request: HalvesRequest | null) => {
    if (request === null) {
      endBehind(port);
      return;
    }
    writer ??= new RunHalves(request.capacity);
    const reply = (error: ErrorData | null): void => port.postMessage({ error } satisfies HalvesReply);
    try {
      writer.write(request);
      reply(null);
    } catch (error) {
      const known = asStorageFull(error, request.path);
      if (!(known instanceof AssayError)) throw known;
      reply(errorToData(known));
    }
  });
}

/** The thread, as the thread that owns the store sees it. */
export class HalvesThread {
  readonly #worker = new Worker(workerUrl('bulk-halves'), { execArgv: [] });
  readonly #replies = (on(this.#worker, 'message', { close: ['exit'] }) as AsyncIterable<[HalvesReply]>)[
    Symbol.asyncIterator
  ]();

  /** Starts to write the halves of a run. Resolves when they are durable. */
  async write(request: HalvesRequest): Promise<void> {
    this.#worker.postMessage(request);
    const { value, done } = await this.#replies.next();
    if (done) throw new AssayError('INTERNAL', 'The thread that sorts transfers stopped before the end.');
    const [{ error }] = value;
    if (error !== null) throw errorFromData(error);
  }

  /** Ends the thread. */
  async stop(): Promise<void> {
    this.#worker.postMessage(null);
    await whenEnded(this.#worker);
  }
}

/** Sorts and writes the halves of one run after another, in the same memory. */
class RunHalves {
  readonly #words: Uint32Array;
  readonly #orders: { readonly order: Uint32Array; readonly spare: Uint32Array };

  constructor(capacity: number) {
    this.#words = new Uint32Array(capacity * 2 * HALF_WORDS);
    this.#orders = { order: new Uint32Array(capacity * 2), spare: new Uint32Array(capacity * 2) };
  }

  write({ path, memory, capacity, count, firstIndex, greatest, large }: HalvesRequest): void {
    const words = this.#words;
    // Bucketed by the highest bits of the sort key: sorting then stays within nearby memory.
    const bits = bucketBits(count * 2);
    const shift = Math.max(0, 32 - Math.clz32(greatest * 2 + 1) - bits);
    const columns = new RunColumns(memory, capacity);
    const { from: senders, to: receivers } = columns;
    const places = new Uint32Array(2 ** bits);
    for (let at = 0; at < count; at++) {
      const from = senders[at] as number;
      const to = receivers[at] as number;
      if (from !== 0) tally(places, (from * 2 + 1) >>> shift);
      if (to !== 0 && to !== from) tally(places, (to * 2) >>> shift);
    }
    toStarts(places);
    const { times, cents: values, asset, amounts } = columns;
    const add = (half: number, at: number, node: number, counterparty: number): void => {
      const place = half * HALF_WORDS;
      const time = times[at] as number;
      const cents = values[at] as number;
      const flags = (cents >= 0 ? FLAG_PRICED : 0) | (large.size > 0 && large.has(at) ? FLAG_LARGE : 0);
      words[place + HALF_NODE] = node;
      words[place + HALF_COUNTERPARTY] = counterparty;
      words[place + HALF_ASSET] = asset[at] as number;
      words[place + HALF_INDEX] = firstIndex + at;
      words[place + HALF_TIME] = time >>> 0;
      words[place + HALF_TIME + 1] = Math.floor(time / TWO_32) | flags;
      words[place + HALF_CENTS] = cents >= 0 ? cents >>> 0 : 0;
      words[place + HALF_CENTS + 1] = cents >= 0 ? Math.floor(cents / TWO_32) : 0;
      words[place + HALF_AMOUNT] = amounts[at * 3] as number;
      words[place + HALF_AMOUNT + 1] = amounts[at * 3 + 1] as number;
      words[place + HALF_AMOUNT + 2] = amounts[at * 3 + 2] as number;
    };
    for (let at = 0; at < count; at++) {
      const from = senders[at] as number;
      const to = receivers[at] as number;
      if (from !== 0) add(tally(places, (from * 2 + 1) >>> shift), at, from * 2 + 1, to);
      if (to !== 0 && to !== from) add(tally(places, (to * 2) >>> shift), at, to * 2, from);
    }
    const order = orderInBuckets(words, HALF_WORDS, HALF_NODE, places, shift, this.#orders);
    writeRun(path, words, HALF_WORDS, order, places[places.length - 1] as number);
  }
}
