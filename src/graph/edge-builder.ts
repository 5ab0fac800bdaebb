/**
 * Packs the neighbours of an address into chunks (edges.ts). An edge with one transfer, which nearly all are, takes about 20 bytes: its
 * flags, its value, its time after the start of the chunk, its asset and amount, and on the sender's side its number in the log. Pure.
 */

import {
  ASSET_SHIFT,
  CHUNK_HEADER_BYTES,
  type ChunkView,
  type CopiedRow,
  HUB_CHUNK,
  ID_BYTES,
  NARROW_IDS,
  NARROW_IDS_END,
  ONE_REF,
  ONE_TRANSFER,
  ONE_UNPRICED,
  SINGLE_CHUNK,
  SINGLE_HEADER_BYTES,
  valueRank,
} from './edge-chunk.ts';
import { writeDays } from './edge-days.ts';
import { type AssetSum, type Edge, type TransferRef, totalsOf } from './edges.ts';
import { GRAPH_LIMITS } from './limits.ts';
import { ByteWriter } from './store/bytes.ts';

/** The only transfer of an edge. */
export interface SingleTransfer {
  asset: number;
  /** Below zero if no price is known. */
  cents: number;
  timestampMs: number;
  /** Below zero in the direction that does not store it. */
  ordinal: number;
  /** Words of 32 bits. */
  amountLow: number;
  amountMiddle: number;
  amountHigh: number;
}

/** A chunk to be stored, with the first id it is responsible for. */
export interface PackedChunk {
  readonly firstId: number;
  readonly bytes: Buffer;
}

/** Bytes of a row of a hub outside of its tail: its id and its rank. */
const HUB_COLUMN_BYTES = 12;
/** Rows of a single chunk: their number has two bytes. More never fit, unless one alone is larger than a chunk. */
const SINGLE_ROWS_MAX = 0xffff;
/** Up to this many edges are sorted by insertion, which is faster for the few of most addresses. */
const INSERTION_MAX = 24;
const ASSET_IN_FLAGS_MAX = 31;
const SECONDS_MAX = 0xffff_ffff;

const copied: CopiedRow = { cents: 0, unpriced: 0, flags: 0, seenMs: 0, start: 0, end: 0 };
const tailScratch = new ByteWriter();

function writeRefs(out: ByteWriter, newest: readonly TransferRef[]): void {
  let before: TransferRef | null = null;
  for (const ref of newest) {
    if (before === null) out.varint(ref.ordinal);
    else {
      out.time(before.timestampMs - ref.timestampMs);
      out.signed(ref.ordinal - before.ordinal);
    }
    before = ref;
  }
}

/** Appends the tail of an edge with several transfers, with its length in front. */
function writeTail(out: ByteWriter, edge: Edge, keepsRefs: boolean): void {
  const totals = totalsOf(edge);
  const tail = tailScratch;
  tail.length = 0;
  tail.varint(totals.transfers);
  tail.varint(totals.unpriced);
  tail.time(totals.firstSeenMs);
  tail.time(totals.lastSeenMs - totals.firstSeenMs);
  const first = edge.assets[0] as AssetSum;
  const hasRefs = keepsRefs && first.newest.length > 0;
  tail.varint(edge.assets.length * 2 + (hasRefs ? 1 : 0));
  if (edge.assets.length === 1) {
    tail.varint(first.asset);
    tail.amount(first.amount);
    if (hasRefs) writeRefs(tail, first.newest);
  } else
    for (const sum of edge.assets) {
      tail.varint(sum.asset);
      tail.varint(sum.transfers);
      tail.varint(sum.unpriced);
      tail.varint(sum.cents);
      tail.time(sum.firstSeenMs);
      tail.time(sum.lastSeenMs - sum.firstSeenMs);
      tail.amount(sum.amount);
      if (hasRefs) writeRefs(tail, sum.newest);
    }
  // Days come last, so that the sums can be read without them.
  if (edge.assets.some(({ days }) => days.length > 0))
    for (const { days, lastSeenMs } of edge.assets) writeDays(tail, days, lastSeenMs);
  out.varint(tail.length);
  out.copy(tail.bytes, 0, tail.length);
}

/** Whether the sums of an edge are those of one transfer, so that one time, one price and one number say all. */
function isOneTransfer({ assets }: Edge): boolean {
  const [sum] = assets as [AssetSum];
  if (assets.length > 1 || sum.transfers !== 1 || sum.firstSeenMs !== sum.lastSeenMs) return false;
  if (sum.days.length > 0 || sum.newest.length > 1) return false;
  return sum.unpriced === 0 || (sum.unpriced === 1 && sum.cents === 0);
}

const flagsOf = (isUnpriced: boolean, hasRef: boolean, asset: number): number =>
  ONE_TRANSFER |
  (isUnpriced ? ONE_UNPRICED : 0) |
  (hasRef ? ONE_REF : 0) |
  (asset <= ASSET_IN_FLAGS_MAX ? asset << ASSET_SHIFT : 0);

/** Bytes of a whole number as `ByteWriter.varint` writes it. */
function varintBytes(value: number): number {
  let bytes = 1;
  for (let limit = 0x80; value >= limit; limit *= 0x80) bytes++;
  return bytes;
}

/** Bytes of a duration as `ByteWriter.time` writes it. */
const timeBytes = (ms: number): number => varintBytes(ms % 1000 === 0 ? (ms / 1000) * 2 : ms * 2 + 1);

/** Collects edges into chunks, as columns. */
export class ChunkBuilder {
  #hasRefs = true;
  #count = 0;
  #ids = new Uint32Array(256);
  #ranks = new Float64Array(256);
  #unpriced = new Float64Array(256);
  #flags = new Uint8Array(256);
  /** Time of an edge with one transfer. */
  #seenMs = new Float64Array(256);
  /** Earliest of these times, in seconds. */
  #startSeconds = SECONDS_MAX;
  /** Where the part of each tail that does not depend on the chunk ends. The first starts at 0. */
  #ends = new Uint32Array(257);
  readonly #tails = new ByteWriter();
  /** Edges in the order in which they are packed. */
  #order = new Uint32Array(256);
  /** The complete tails of the chunk that is being packed. */
  readonly #packed = new ByteWriter();

  /** @param hasRefs - whether the edges that are added name their newest transfers */
  clear(hasRefs = true): void {
    this.#hasRefs = hasRefs;
    this.#count = 0;
    this.#tails.length = 0;
    this.#startSeconds = SECONDS_MAX;
  }

  add(edge: Edge): void {
    const { cents, unpriced, lastSeenMs } = totalsOf(edge);
    const out = this.#tails;
    let flags = 0;
    if (isOneTransfer(edge)) {
      const [{ asset, amount, newest }] = edge.assets as [AssetSum];
      const ref = this.#hasRefs ? newest[0] : undefined;
      flags = flagsOf(unpriced === 1, ref !== undefined, asset);
      if (flags >> ASSET_SHIFT === 0) out.varint(asset);
      out.compact(amount);
      if (ref !== undefined) out.varint(ref.ordinal);
    } else writeTail(out, edge, this.#hasRefs);
    this.#addRow(edge.counterparty, valueRank(cents, unpriced), unpriced, flags, lastSeenMs);
  }

  /** Adds an edge with one transfer of an amount below 2^96, without creating an Edge object. */
  addSingle(counterparty: number, transfer: SingleTransfer): void {
    const { asset, cents, timestampMs, ordinal, amountLow, amountMiddle, amountHigh } = transfer;
    const isUnpriced = cents < 0 && (amountLow !== 0 || amountMiddle !== 0 || amountHigh !== 0);
    const flags = flagsOf(isUnpriced, ordinal >= 0, asset);
    const out = this.#tails;
    if (flags >> ASSET_SHIFT === 0) out.varint(asset);
    out.compactWords(amountLow, amountMiddle, amountHigh);
    if (ordinal >= 0) out.varint(ordinal);
    const unpriced = isUnpriced ? 1 : 0;
    this.#addRow(counterparty, valueRank(Math.max(cents, 0), unpriced), unpriced, flags, timestampMs);
  }

  /** Copies the edge at `index` of a view, which must be the next one. */
  copy(view: ChunkView, index: number): void {
    if (!view.isCompact) {
      this.add(view.edge(index));
      return;
    }
    view.row(index, copied);
    const { cents, unpriced, flags, seenMs, start, end } = copied;
    this.#tails.copy(view.tail.bytes, start, end);
    this.#addRow(view.ids[index] as number, valueRank(cents, unpriced), unpriced, flags, seenMs);
  }

  /** Adds the columns of the edge with the last tail. */
  #addRow(id: number, rank: number, unpriced: number, flags: number, seenMs: number): void {
    const at = this.#count++;
    if (at === this.#ids.length) this.#grow();
    this.#ids[at] = id;
    this.#ranks[at] = rank;
    this.#unpriced[at] = unpriced;
    this.#flags[at] = flags;
    this.#seenMs[at] = seenMs;
    this.#order[at] = at;
    this.#ends[at + 1] = this.#tails.length;
    if (flags !== 0) this.#startSeconds = Math.min(this.#startSeconds, Math.floor(seenMs / 1000));
  }

  #grow(): void {
    const length = this.#ids.length * 2;
    const enlarged = <T extends Uint8Array | Uint32Array | Float64Array>(from: T, to: T): T => {
      to.set(from);
      return to;
    };
    this.#ids = enlarged(this.#ids, new Uint32Array(length));
    this.#ranks = enlarged(this.#ranks, new Float64Array(length));
    this.#unpriced = enlarged(this.#unpriced, new Float64Array(length));
    this.#flags = enlarged(this.#flags, new Uint8Array(length));
    this.#seenMs = enlarged(this.#seenMs, new Float64Array(length));
    this.#order = enlarged(this.#order, new Uint32Array(length));
    this.#ends = enlarged(this.#ends, new Uint32Array(length + 1));
  }

  /** Packs all edges of an address into one chunk ordered by value. Returns null if they do not fit into one chunk. */
  packSingle(): PackedChunk | null {
    const count = this.#count;
    const idBytes = this.#hasNarrowIds() ? NARROW_IDS : ID_BYTES;
    const leastBytes = SINGLE_HEADER_BYTES + count * (idBytes + 1) + this.#tails.length;
    const isTooLarge = (bytes: number): boolean => bytes > GRAPH_LIMITS.edgeChunkBytesMax && count > 1;
    if (isTooLarge(leastBytes) || count > SINGLE_ROWS_MAX) return null;
    const ids = this.#ids;
    const ranks = this.#ranks;
    const unpriced = this.#unpriced;
    this.#sort(
      (a, b) =>
        (ranks[b] as number) - (ranks[a] as number) ||
        (unpriced[b] as number) - (unpriced[a] as number) ||
        (ids[a] as number) - (ids[b] as number),
    );
    this.#packTails(0, count, true);
    const tailsAt = SINGLE_HEADER_BYTES + count * idBytes;
    if (isTooLarge(tailsAt + this.#packed.length)) return null;
    const bytes = this.#withTails(tailsAt);
    bytes[0] = SINGLE_CHUNK;
    bytes[1] = idBytes === NARROW_IDS ? NARROW_IDS : 0;
    bytes.writeUInt16LE(count, 2);
    bytes.writeUInt32LE(this.#startSeconds, 4);
    this.#writeIds(bytes, SINGLE_HEADER_BYTES, 0, count, idBytes);
    return { firstId: 0, bytes };
  }

  /**
   * Packs a range of edges of a hub, ordered by id, into chunks. The first starts at `firstId`, and the last points to `next`. An edge that
   * is larger than a chunk (hundreds of assets) gets a chunk of its own.
   */
  packHub(firstId: number, next: number): PackedChunk[] {
    const count = this.#count;
    const ids = this.#ids;
    this.#sort((a, b) => (ids[a] as number) - (ids[b] as number));
    let total = 0;
    for (let row = 0; row < count; row++) total += this.#hubRowBytes(row);
    const room = GRAPH_LIMITS.edgeChunkBytesMax - CHUNK_HEADER_BYTES;
    // Full chunks if there are many. If one chunk becomes two, both are filled by half, so that the next edge finds room.
    const fill = total > room && total <= 2 * room ? total / 2 : room;
    const chunks: PackedChunk[] = [];
    let start = 0;
    let startId = firstId;
    let bytes = 0;
    for (let index = 0; index < count; index++) {
      const row = this.#order[index] as number;
      const more = this.#hubRowBytes(row);
      if (index > start && bytes + more > fill) {
        const id = ids[row] as number;
        chunks.push({ firstId: startId, bytes: this.#packHubChunk(start, index, id) });
        start = index;
        startId = id;
        bytes = 0;
      }
      bytes += more;
    }
    chunks.push({ firstId: startId, bytes: this.#packHubChunk(start, count, next) });
    return chunks;
  }

  #hubRowBytes(row: number): number {
    const rest = (this.#ends[row + 1] as number) - this.#startOf(row);
    const hasTime = this.#flags[row] !== 0;
    return HUB_COLUMN_BYTES + 1 + (hasTime ? timeBytes(this.#sinceStart(row)) : 0) + rest;
  }

  #startOf(row: number): number {
    return row > 0 ? (this.#ends[row] as number) : 0;
  }

  #sinceStart(row: number): number {
    return (this.#seenMs[row] as number) - this.#startSeconds * 1000;
  }

  #sort(compare: (a: number, b: number) => number): void {
    const order = this.#order;
    const count = this.#count;
    if (count > INSERTION_MAX) {
      order.subarray(0, count).sort(compare);
      return;
    }
    for (let at = 1; at < count; at++) {
      const row = order[at] as number;
      let to = at;
      while (to > 0 && compare(order[to - 1] as number, row) > 0) {
        order[to] = order[to - 1] as number;
        to--;
      }
      order[to] = row;
    }
  }

  /** Writes the tails of the edges `from` to `to - 1` of the order, with their values if the chunk has no column for them. */
  #packTails(from: number, to: number, hasCents: boolean): void {
    const out = this.#packed;
    const tails = this.#tails.bytes;
    out.length = 0;
    for (let index = from; index < to; index++) {
      const row = this.#order[index] as number;
      const flags = this.#flags[row] as number;
      out.byte(flags);
      if (hasCents && !(flags & ONE_UNPRICED)) out.varint(Math.max(this.#ranks[row] as number, 0));
      if (flags & ONE_TRANSFER) out.time(this.#sinceStart(row));
      const start = this.#startOf(row);
      const end = this.#ends[row + 1] as number;
      out.reserve(end - start);
      const { bytes } = out;
      // Tails are too short for a copy by a call.
      let at = out.length;
      for (let byte = start; byte < end; byte++) bytes[at++] = tails[byte] as number;
      out.length = at;
    }
  }

  /** Returns a new chunk with the packed tails behind `tailsAt` bytes, which are not set. */
  #withTails(tailsAt: number): Buffer {
    const { bytes, length } = this.#packed;
    const chunk = Buffer.allocUnsafe(tailsAt + length);
    bytes.copy(chunk, tailsAt, 0, length);
    return chunk;
  }

  #hasNarrowIds(): boolean {
    for (let row = 0; row < this.#count; row++)
      if ((this.#ids[row] as number) >= NARROW_IDS_END) return false;
    return true;
  }

  #writeIds(bytes: Buffer, start: number, from: number, to: number, idBytes: number): void {
    for (let index = from, at = start; index < to; index++, at += idBytes) {
      const id = this.#ids[this.#order[index] as number] as number;
      bytes[at] = id;
      bytes[at + 1] = id >>> 8;
      bytes[at + 2] = id >>> 16;
      if (idBytes === ID_BYTES) bytes[at + 3] = id >>> 24;
    }
  }

  /** Packs the edges `from` to `to - 1` of the order into a chunk of a hub. */
  #packHubChunk(from: number, to: number, next: number): Buffer {
    const count = to - from;
    this.#packTails(from, to, false);
    const bytes = this.#withTails(CHUNK_HEADER_BYTES + count * HUB_COLUMN_BYTES);
    bytes.writeUInt32LE(HUB_CHUNK, 0);
    bytes.writeUInt32LE(count, 4);
    bytes.writeUInt32LE(next, 8);
    bytes.writeUInt32LE(this.#startSeconds, 12);
    for (let index = from, at = CHUNK_HEADER_BYTES; index < to; index++, at += 8)
      bytes.writeDoubleLE(this.#ranks[this.#order[index] as number] as number, at);
    this.#writeIds(bytes, CHUNK_HEADER_BYTES + count * 8, from, to, ID_BYTES);
    return bytes;
  }
}
