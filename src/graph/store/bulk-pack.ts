/**
 * Packs the transfers of one new address of a bulk load: from words directly into the chunks of its neighbours and its record. Pure, so
 * that a thread other than the writer can do it.
 */
import { ChunkBuilder, type SingleTransfer } from '../edge-builder.ts';
import type { Edge, TransferRef } from '../edges.ts';
import { GRAPH_LIMITS } from '../limits.ts';
import type { DeltaEntry } from './delta.ts';
import { addToEdge } from './merge.ts';
import { createNode, flowOf, packNode } from './node-record.ts';
import {
  copyRecord,
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
} from './runs.ts';

const TWO_32 = 2 ** 32;
/** Places of an address in a group: more than `bulkPackedTransfers`. With an id of 32 bits in front, a place is a safe integer. */
const PLACES = 2 ** 21;

/** Marks of a transfer in a load: it is a duplicate; it is the first of its transaction for its sender, or for its receiver. */
export const DUPLICATE = 1;
export const NEW_FOR_SENDER = 2;
export const NEW_FOR_RECEIVER = 4;

/** Halves of one address, in the order of direction, then of arrival. Duplicates are left out. */
export class NodeGroup {
  words = new Uint32Array(1024 * HALF_WORDS);
  count = 0;

  /** The group contains amounts of 2^96 or more. */
  hasLarge = false;

  clear(): void {
    this.count = 0;
    this.hasLarge = false;
  }

  add(from: Uint32Array, at: number): void {
    const start = this.count * HALF_WORDS;
    if (start === this.words.length) {
      const words = new Uint32Array(this.words.length * 2);
      words.set(this.words);
      this.words = words;
    }
    copyRecord(from, at, this.words, start, HALF_WORDS);
    if ((from[at + HALF_TIME + 1] as number) & FLAG_LARGE) this.hasLarge = true;
    this.count++;
  }
}

/** Data needed to read a group. */
export interface PackContext {
  /** Number in the log of the load's first transfer. */
  readonly firstOrdinal: number;
  /** By number in the load. */
  readonly marks: Uint8Array;
  /** Returns an amount of 2^96 or more by its number in the log. */
  readonly largeAmount: (ordinal: number) => bigint;
}

/** Receives packed records. It owns the bytes. */
export interface PackedSink {
  node(node: number, bytes: Buffer): void;
  chunk(node: number, direction: number, firstId: number, bytes: Buffer): void;
}

const single: SingleTransfer = {
  asset: 0,
  cents: -1,
  timestampMs: 0,
  ordinal: -1,
  amountLow: 0,
  amountMiddle: 0,
  amountHigh: 0,
};
const builder = new ChunkBuilder();
let places = new Float64Array(1024);

const timeOf = (words: Uint32Array, at: number): number =>
  (words[at + HALF_TIME] as number) + ((words[at + HALF_TIME + 1] as number) & 0xffff) * TWO_32;

const centsOf = (words: Uint32Array, at: number): number =>
  (words[at + HALF_TIME + 1] as number) & FLAG_PRICED
    ? (words[at + HALF_CENTS] as number) + (words[at + HALF_CENTS + 1] as number) * TWO_32
    : -1;

const isNewTransaction = ({ marks }: PackContext, words: Uint32Array, at: number): boolean => {
  const isSender = (words[at + HALF_NODE] as number) % 2 === 1;
  const mark = marks[words[at + HALF_INDEX] as number] as number;
  return (mark & (isSender ? NEW_FOR_SENDER : NEW_FOR_RECEIVER)) !== 0;
};

function amountOf({ firstOrdinal, largeAmount }: PackContext, words: Uint32Array, at: number): bigint {
  if ((words[at + HALF_TIME + 1] as number) & FLAG_LARGE)
    return largeAmount(firstOrdinal + (words[at + HALF_INDEX] as number));
  const low = words[at + HALF_AMOUNT] as number;
  const middle = words[at + HALF_AMOUNT + 1] as number;
  const high = words[at + HALF_AMOUNT + 2] as number;
  if (high === 0 && middle < 0x20_0000) return BigInt(low + middle * TWO_32);
  return (BigInt(high) << 64n) | (BigInt(middle) << 32n) | BigInt(low);
}

/** Returns a half in the form that the merge of live transfers takes. */
export function entryOf(context: PackContext, words: Uint32Array, at: number): DeltaEntry {
  const cents = centsOf(words, at);
  return {
    direction: (words[at + HALF_NODE] as number) % 2,
    counterparty: words[at + HALF_COUNTERPARTY] as number,
    asset: words[at + HALF_ASSET] as number,
    amount: amountOf(context, words, at),
    cents: cents < 0 ? null : cents,
    timestampMs: timeOf(words, at),
    ordinal: context.firstOrdinal + (words[at + HALF_INDEX] as number),
    isNewTransaction: isNewTransaction(context, words, at),
    pendingBlock: null,
  };
}

/** A sum below 2^64 as one number, also accessible as words. */
const sumOf64 = new BigUint64Array([1n]);
const sumWords = new Uint32Array(sumOf64.buffer);
const LOW_WORD = sumWords[0] === 1 ? 0 : 1;

/** A sum of amounts. Each word is summed separately, in floats that hold the sums exactly. */
class OpenAmount {
  low = 0;
  middle = 0;
  high = 0;
  large = 0n;

  add(context: PackContext, words: Uint32Array, at: number): void {
    if ((words[at + HALF_TIME + 1] as number) & FLAG_LARGE) this.large += amountOf(context, words, at);
    else {
      this.low += words[at + HALF_AMOUNT] as number;
      this.middle += words[at + HALF_AMOUNT + 1] as number;
      this.high += words[at + HALF_AMOUNT + 2] as number;
    }
  }

  get sum(): bigint {
    const { low, middle, high, large } = this;
    const carry = Math.floor(low / TWO_32);
    if (high === 0 && large === 0n && middle + carry < TWO_32) {
      // As the machine orders the words of a number.
      sumWords[LOW_WORD] = low - carry * TWO_32;
      sumWords[1 - LOW_WORD] = middle + carry;
      return sumOf64[0] as bigint;
    }
    return large + BigInt(low) + (BigInt(middle) << 32n) + (BigInt(high) << 64n);
  }
}

const NEWEST_MAX = GRAPH_LIMITS.recentTransfersPerAddress;

/** The newest transfers of an address, as `addNewest` orders them, in columns: most addresses pass all of their transfers. */
class Newest {
  readonly #times = new Float64Array(NEWEST_MAX);
  readonly #ordinals = new Float64Array(NEWEST_MAX);
  #count = 0;

  clear(): void {
    this.#count = 0;
  }

  add(timestampMs: number, ordinal: number): void {
    const times = this.#times;
    const ordinals = this.#ordinals;
    let at = this.#count;
    while (
      at > 0 &&
      (timestampMs > (times[at - 1] as number) ||
        (timestampMs === times[at - 1] && ordinal > (ordinals[at - 1] as number)))
    ) {
      at--;
      if (at + 1 === NEWEST_MAX) continue;
      times[at + 1] = times[at] as number;
      ordinals[at + 1] = ordinals[at] as number;
    }
    if (at === NEWEST_MAX) return;
    times[at] = timestampMs;
    ordinals[at] = ordinal;
    if (this.#count < NEWEST_MAX) this.#count++;
  }

  list(): TransferRef[] {
    const list: TransferRef[] = [];
    for (let at = 0; at < this.#count; at++)
      list.push({ timestampMs: this.#times[at] as number, ordinal: this.#ordinals[at] as number });
    return list;
  }
}

const newest = new Newest();

/** Sums of one flow while they are added up. */
interface OpenFlow {
  readonly asset: number;
  readonly direction: number;
  readonly priced: OpenAmount;
  readonly unpricedAmount: OpenAmount;
  transfers: number;
  unpriced: number;
  cents: number;
}

function openFlow(flows: OpenFlow[], asset: number, direction: number): OpenFlow {
  for (const flow of flows) if (flow.asset === asset && flow.direction === direction) return flow;
  const made: OpenFlow = {
    asset,
    direction,
    priced: new OpenAmount(),
    unpricedAmount: new OpenAmount(),
    transfers: 0,
    unpriced: 0,
    cents: 0,
  };
  flows.push(made);
  return made;
}

/** Packs a group, which must not be empty: its chunks in key order, then its record. */
export function packGroup(
  context: PackContext,
  node: number,
  { words, count }: NodeGroup,
  sink: PackedSink,
): void {
  const { firstOrdinal } = context;
  const record = createNode();
  newest.clear();
  const flows: OpenFlow[] = [];
  let last: OpenFlow | null = null;
  let firstSeenMs = Number.POSITIVE_INFINITY;
  let lastSeenMs = 0;
  // Newest first: most of the older ones are then rejected at once from the list of newest transfers.
  for (let half = count - 1; half >= 0; half--) {
    const at = half * HALF_WORDS;
    const timestampMs = timeOf(words, at);
    if (timestampMs < firstSeenMs) firstSeenMs = timestampMs;
    if (timestampMs > lastSeenMs) lastSeenMs = timestampMs;
    if (isNewTransaction(context, words, at)) record.transactions++;
    newest.add(timestampMs, firstOrdinal + (words[at + HALF_INDEX] as number));
    if (words[at + HALF_COUNTERPARTY] === node) {
      record.selfTransfers++;
      continue;
    }
    const asset = words[at + HALF_ASSET] as number;
    const direction = (words[at + HALF_NODE] as number) % 2;
    if (last === null || last.asset !== asset || last.direction !== direction)
      last = openFlow(flows, asset, direction);
    const cents = centsOf(words, at);
    last.transfers++;
    if (cents >= 0) last.cents += cents;
    else if (!isZero(words, at)) last.unpriced++;
    (cents >= 0 ? last.priced : last.unpricedAmount).add(context, words, at);
  }
  record.newest = newest.list();
  record.firstSeenMs = firstSeenMs;
  record.lastSeenMs = lastSeenMs;
  for (const open of flows) {
    const { transfers, unpriced, cents, priced, unpricedAmount } = open;
    const pricedAmount = priced.sum;
    const amount = pricedAmount + unpricedAmount.sum;
    const flow = flowOf(record, open.asset, open.direction);
    Object.assign(flow, { transfers, unpriced, cents, amount, pricedAmount });
  }

  let start = 0;
  for (let direction = 0; direction < 2; direction++) {
    let end = start;
    while (end < count && (words[end * HALF_WORDS + HALF_NODE] as number) % 2 === direction) end++;
    // The record lists all transfers of an address that has few.
    const hasRefs = direction === 1 && count > GRAPH_LIMITS.recentTransfersPerAddress;
    const added = end > start ? packEdges(context, node, { direction, hasRefs }, words, start, end, sink) : 0;
    if (direction === 0) record.counterpartiesIn = added;
    else record.counterpartiesOut = added;
    start = end;
  }
  sink.node(node, packNode(record));
}

const isZero = (words: Uint32Array, at: number): boolean =>
  words[at + HALF_AMOUNT] === 0 &&
  words[at + HALF_AMOUNT + 1] === 0 &&
  words[at + HALF_AMOUNT + 2] === 0 &&
  ((words[at + HALF_TIME + 1] as number) & FLAG_LARGE) === 0;

/** Returns the number of counterparties. */
function packEdges(
  context: PackContext,
  node: number,
  { direction, hasRefs }: { readonly direction: number; readonly hasRefs: boolean },
  words: Uint32Array,
  start: number,
  end: number,
  sink: PackedSink,
): number {
  const { firstOrdinal } = context;
  // Counterparty and place in one float: 31 and 20 bits. They are separated without `%`, which is a call for doubles.
  if (places.length < end - start) places = new Float64Array((end - start) * 2);
  let count = 0;
  for (let half = start; half < end; half++) {
    const counterparty = words[half * HALF_WORDS + HALF_COUNTERPARTY] as number;
    if (counterparty !== 0 && counterparty !== node) places[count++] = counterparty * PLACES + (half - start);
  }
  if (count === 0) return 0;
  sortPlaces(count);
  builder.clear(hasRefs);
  let counterparties = 0;
  for (let from = 0; from < count; ) {
    const counterparty = Math.floor((places[from] as number) / PLACES);
    const first = counterparty * PLACES;
    let to = from + 1;
    while (to < count && (places[to] as number) < first + PLACES) to++;
    const at = (start + (places[from] as number) - first) * HALF_WORDS;
    counterparties++;
    if (to - from === 1 && !((words[at + HALF_TIME + 1] as number) & FLAG_LARGE)) {
      single.asset = words[at + HALF_ASSET] as number;
      single.cents = centsOf(words, at);
      single.timestampMs = timeOf(words, at);
      single.ordinal = hasRefs ? firstOrdinal + (words[at + HALF_INDEX] as number) : -1;
      single.amountLow = words[at + HALF_AMOUNT] as number;
      single.amountMiddle = words[at + HALF_AMOUNT + 1] as number;
      single.amountHigh = words[at + HALF_AMOUNT + 2] as number;
      builder.addSingle(counterparty, single);
    } else {
      const edge: Edge = { counterparty, assets: [] };
      for (let place = from; place < to; place++)
        addToEdge(edge, entryOf(context, words, (start + (places[place] as number) - first) * HALF_WORDS));
      builder.add(edge);
    }
    from = to;
  }
  const chunk = builder.packSingle();
  for (const { firstId, bytes } of chunk ? [chunk] : builder.packHub(0, 0))
    sink.chunk(node, direction, firstId, bytes);
  return counterparties;
}

/** Sorts the first `count` places. Most addresses have only a few. */
function sortPlaces(count: number): void {
  if (count > 24) {
    places.subarray(0, count).sort();
    return;
  }
  for (let at = 1; at < count; at++) {
    const value = places[at] as number;
    let to = at;
    while (to > 0 && (places[to - 1] as number) > value) {
      places[to] = places[to - 1] as number;
      to--;
    }
    places[to] = value;
  }
}
