/** The events of a sweep, in files by the account that they concern: written once, read one file after another, in order of time. */

import { closeSync, fsyncSync, ftruncateSync, openSync, readSync, statSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import { AssayError } from '../../base/errors.ts';
import { ATTRIBUTION_LIMITS } from '../limits.ts';
import type { EventColumns } from './judge.ts';

/** Words of an event: account and flags, number of the transfer, time, asset and other party, amount. */
const EVENT_WORDS = 5;
/** Two numbers of 32 bits share a word: the first times this, plus the second. */
export const TWO_32 = 2 ** 32;
/** Flags share a word with the account, which is multiplied by their number of values. */
const FLAG_VALUES = 8;

/** Events of one write: 64 KB for each of at most 1,024 files. */
const BUFFER_EVENTS = 1_600;

const eventFile = (folder: string, partition: number): string => join(folder, `events-${partition}`);

/** Files of events that are written: each has those of the accounts whose number has the same rest. */
export class EventFiles {
  readonly #files: number[] = [];
  readonly #lengths: number[];
  readonly #buffers: Float64Array[];
  readonly #filled: Uint32Array;

  constructor(folder: string, lengths: readonly number[]) {
    this.#lengths = [...lengths];
    this.#buffers = lengths.map(() => new Float64Array(BUFFER_EVENTS * EVENT_WORDS));
    this.#filled = new Uint32Array(lengths.length);
    for (const [partition, length] of lengths.entries()) {
      const file = openSync(eventFile(folder, partition), 'a+', 0o600);
      this.#files.push(file);
      // Events after the last commit are written again.
      ftruncateSync(file, length);
    }
  }

  add(
    node: number,
    flags: number,
    ordinal: number,
    timestampMs: number,
    assetAndParty: number,
    amount: number,
  ): void {
    const partition = node % this.#files.length;
    const buffer = this.#buffers[partition] as Float64Array;
    let at = this.#filled[partition] as number;
    buffer[at++] = node * FLAG_VALUES + flags;
    buffer[at++] = ordinal;
    buffer[at++] = timestampMs;
    buffer[at++] = assetAndParty;
    buffer[at++] = amount;
    this.#filled[partition] = at;
    if (at === buffer.length) this.#write(partition);
  }

  #write(partition: number): void {
    const buffer = this.#buffers[partition] as Float64Array;
    const bytes = new Uint8Array(buffer.buffer, 0, (this.#filled[partition] as number) * 8);
    for (let done = 0; done < bytes.length; )
      done += writeSync(this.#files[partition] as number, bytes, done, bytes.length - done);
    this.#lengths[partition] = (this.#lengths[partition] as number) + bytes.length;
    this.#filled[partition] = 0;
  }

  /** Writes everything to disk, and returns the length of each file. */
  flush(): readonly number[] {
    for (const [partition, file] of this.#files.entries()) {
      this.#write(partition);
      fsyncSync(file);
    }
    return [...this.#lengths];
  }

  close(): void {
    for (const file of this.#files) closeSync(file);
  }
}

interface AccountRows {
  readonly node: number;
  readonly events: EventColumns;
  readonly start: number;
  readonly end: number;
}

function readWords(path: string, bytes: number): Float64Array {
  if (statSync(path).size < bytes) throw new AssayError('STORE_CORRUPT', `${path} is truncated.`);
  const words = new Float64Array(bytes / 8);
  const target = new Uint8Array(words.buffer);
  const file = openSync(path, 'r');
  try {
    for (let done = 0; done < bytes; ) done += readSync(file, target, done, bytes - done, done);
  } finally {
    closeSync(file);
  }
  return words;
}

/** Which partition is read, and how accounts are distributed over all of them. */
interface PartitionPlace {
  /** Number of the partition. */
  readonly next: number;
  /** Bytes of each file that count. */
  readonly lengths: readonly number[];
  readonly partitions: number;
  /** Accounts of the graph. */
  readonly nodeCount: number;
}

/**
 * Yields the accounts of a partition, each with its transfers in the order of time.
 *
 * @throws STORE_CORRUPT if a file is shorter than what counts
 */
export function* readPartition(
  folder: string,
  { next, lengths, partitions, nodeCount }: PartitionPlace,
): Generator<AccountRows> {
  const words = readWords(eventFile(folder, next), lengths[next] as number);
  const count = words.length / EVENT_WORDS;
  const starts = new Uint32Array(Math.floor(nodeCount / partitions) + 3);
  const nodeAt = (event: number): number => Math.floor((words[event * EVENT_WORDS] as number) / FLAG_VALUES);
  const placeOf = (node: number): number => Math.floor(node / partitions) + 1;
  for (let event = 0; event < count; event++) {
    const place = placeOf(nodeAt(event)) + 1;
    starts[place] = (starts[place] as number) + 1;
  }
  for (let place = 1; place < starts.length; place++)
    starts[place] = (starts[place] as number) + (starts[place - 1] as number);
  const order = new Uint32Array(count);
  const filled = starts.slice();
  for (let event = 0; event < count; event++) {
    const place = placeOf(nodeAt(event));
    order[filled[place] as number] = event;
    filled[place] = (filled[place] as number) + 1;
  }
  const events = columnsOf(words, order);
  for (let place = 0; place + 1 < starts.length; place++) {
    const start = starts[place] as number;
    const end = starts[place + 1] as number;
    if (end === start || end - start > ATTRIBUTION_LIMITS.accountEventsMax) continue;
    sortByTime(events, start, end);
    yield { node: nodeAt(order[start] as number), events, start, end };
  }
}

type OwnColumns = { readonly [K in keyof EventColumns]: Float64Array };

function columnsOf(words: Float64Array, order: Uint32Array): OwnColumns {
  const rows = order.length;
  const flags = new Float64Array(rows);
  const ordinal = new Float64Array(rows);
  const timestampMs = new Float64Array(rows);
  const asset = new Float64Array(rows);
  const party = new Float64Array(rows);
  const amount = new Float64Array(rows);
  for (let row = 0; row < rows; row++) {
    const at = (order[row] as number) * EVENT_WORDS;
    const assetAndParty = words[at + 3] as number;
    const high = Math.floor(assetAndParty / TWO_32);
    flags[row] = (words[at] as number) % FLAG_VALUES;
    ordinal[row] = words[at + 1] as number;
    timestampMs[row] = words[at + 2] as number;
    asset[row] = high;
    party[row] = assetAndParty - high * TWO_32;
    amount[row] = words[at + 4] as number;
  }
  return { flags, ordinal, timestampMs, asset, party, amount };
}

/** Sorts the rows of one account by time, then number. The log is nearly in that order, so that nothing moves most of the time. */
function sortByTime(events: OwnColumns, start: number, end: number): void {
  const { timestampMs, ordinal } = events;
  let isSorted = true;
  for (let at = start + 1; at < end && isSorted; at++)
    isSorted = (timestampMs[at - 1] as number) <= (timestampMs[at] as number);
  if (isSorted) return;
  const rows = Array.from({ length: end - start }, (_, at) => start + at).sort(
    (a, b) =>
      (timestampMs[a] as number) - (timestampMs[b] as number) ||
      (ordinal[a] as number) - (ordinal[b] as number),
  );
  for (const column of Object.values(events)) {
    const sorted = rows.map((row) => column[row] as number);
    column.set(sorted, start);
  }
}
