/**
 * The packed form of an address's neighbours in one direction: columns of value and id, followed by tails with the rest, 30 to 40 bytes per
 * edge. A single chunk is ordered by value, so that its start is the answer to a query. The chunks of a hub are ordered by id, so that an
 * update finds its place. Pure; store/ decides where chunks are stored.
 */
import { AssayError } from '../base/errors.ts';
import { type EdgeDay, readDays, writeDays } from './edge-days.ts';
import { GRAPH_LIMITS } from './limits.ts';
import type { EdgeSums } from './row-collector.ts';
import { ByteReader, ByteWriter } from './store/bytes.ts';

/** A transfer of an edge: its time and its number in the log. */
export interface TransferRef {
  readonly timestampMs: number;
  readonly ordinal: number;
}

/** Sums of one asset between an address and one counterparty in one direction. */
export interface AssetSum {
  asset: number;
  transfers: number;
  unpriced: number;
  /** USD of the priced transfers in whole cents: an integer, so that sums do not drift. */
  cents: number;
  amount: bigint;
  firstSeenMs: number;
  lastSeenMs: number;
  /** Newest first, at most `recentTransfersPerEdge`. Stored in one direction of an edge only, and empty in the other. */
  newest: TransferRef[];
  /** Amounts by day (edge-days.ts), newest first. Stored in the same direction as `newest`. Empty if all moved on one day. */
  days: EdgeDay[];
}

/** All transfers between an address and one counterparty in one direction, summed by asset. */
export interface Edge {
  /** Dense address id. */
  counterparty: number;
  /** In the order of their ids. Never empty. */
  assets: AssetSum[];
}

/** The sums of an edge over its assets. */
export interface EdgeTotals {
  readonly counterparty: number;
  readonly cents: number;
  readonly unpriced: number;
  readonly transfers: number;
  readonly firstSeenMs: number;
  readonly lastSeenMs: number;
}

/** Adds up the assets of an edge. */
export function totalsOf({ counterparty, assets }: Edge): EdgeTotals {
  let cents = 0;
  let unpriced = 0;
  let transfers = 0;
  let firstSeenMs = Number.POSITIVE_INFINITY;
  let lastSeenMs = 0;
  for (const sum of assets) {
    cents += sum.cents;
    unpriced += sum.unpriced;
    transfers += sum.transfers;
    if (sum.firstSeenMs < firstSeenMs) firstSeenMs = sum.firstSeenMs;
    if (sum.lastSeenMs > lastSeenMs) lastSeenMs = sum.lastSeenMs;
  }
  return { counterparty, cents, unpriced, transfers, firstSeenMs, lastSeenMs };
}

/** Greatest known value first, then most unpriced transfers, then smallest id. */
export const byValue = (a: EdgeTotals, b: EdgeTotals): number =>
  b.cents - a.cents || b.unpriced - a.unpriced || a.counterparty - b.counterparty;

/** Orders transfers by time, then by number in the log, newest first. */
export const newestFirst = (a: TransferRef, b: TransferRef): number =>
  b.timestampMs - a.timestampMs || b.ordinal - a.ordinal;

/** Inserts a transfer into the list of the newest, which keeps at most `limit`. */
export function addNewest(newest: TransferRef[], ref: TransferRef, limit: number): void {
  let at = newest.length;
  while (at > 0 && newestFirst(ref, newest[at - 1] as TransferRef) < 0) at--;
  if (at >= limit) return;
  newest.splice(at, 0, ref);
  if (newest.length > limit) newest.pop();
}

/** Returns the sums of one asset in an edge, and creates them if the edge has none. */
export function assetSumOf(edge: Edge, asset: number): AssetSum {
  let at = 0;
  for (; at < edge.assets.length; at++) {
    const sum = edge.assets[at] as AssetSum;
    if (sum.asset === asset) return sum;
    if (sum.asset > asset) break;
  }
  const made: AssetSum = {
    asset,
    transfers: 0,
    unpriced: 0,
    cents: 0,
    amount: 0n,
    firstSeenMs: Number.POSITIVE_INFINITY,
    lastSeenMs: 0,
    newest: [],
    days: [],
  };
  edge.assets.splice(at, 0, made);
  return made;
}

/** Header: sorted by value (0) or by id (1), 3 unused bytes, number of edges, first id of the next chunk of a hub. */
export const CHUNK_HEADER_BYTES = 16;
const COUNT_AT = 4;
/** Offset of the first id of the next chunk. */
export const NEXT_AT = 8;

/**
 * The value by which edges are compared: whole cents if known, otherwise below zero, and closer to zero the more unpriced transfers the
 * edge has. Two edges with different cents, or both without cents, compare as in `byValue`.
 */
export const valueRank = (cents: number, unpriced: number): number =>
  cents > 0 ? cents : -1 / (1 + unpriced);

export interface ChunkHead {
  readonly isHub: boolean;
  readonly count: number;
  /** The first id of the hub's next chunk. 0 in the last one. */
  readonly next: number;
}

/** One chunk, opened for reading. Its columns are views, valid until the bytes are reused. */
export class ChunkView {
  isHub = false;
  count = 0;
  next = 0;
  ranks: Float64Array = new Float64Array(0);
  ids: Uint32Array = new Uint32Array(0);
  /** Positioned at the tail of the next edge. */
  readonly tail = new ByteReader();
  #aligned = Buffer.alloc(0);

  open(given: Buffer): this {
    const bytes = given.byteOffset % 8 === 0 ? given : this.#align(given);
    if (bytes.length < CHUNK_HEADER_BYTES) throw cutChunk();
    this.isHub = bytes[0] === 1;
    this.count = bytes.readUInt32LE(COUNT_AT);
    this.next = bytes.readUInt32LE(NEXT_AT);
    const idsAt = CHUNK_HEADER_BYTES + this.count * 8;
    const tailsAt = idsAt + this.count * 4;
    if (tailsAt > bytes.length) throw cutChunk();
    this.ranks = new Float64Array(bytes.buffer, bytes.byteOffset + CHUNK_HEADER_BYTES, this.count);
    this.ids = new Uint32Array(bytes.buffer, bytes.byteOffset + idsAt, this.count);
    this.tail.open(bytes, tailsAt, bytes.length);
    return this;
  }

  /** Position of an id, or -1 if the chunk does not contain it. */
  indexOf(id: number): number {
    return this.ids.indexOf(id);
  }

  /** Skips `count` tails. */
  skipTails(count: number): void {
    for (let left = count; left > 0; left--) this.tail.skip(this.tail.varint());
  }

  /** Reads the tail of the edge at `index`, which must be the next one, into sums over its assets. */
  totals(index: number): EdgeTotals {
    const { tail } = this;
    const length = tail.varint();
    const end = tail.at + length;
    const transfers = tail.varint();
    const unpriced = tail.varint();
    const firstSeenMs = tail.time();
    const lastSeenMs = firstSeenMs + tail.time();
    tail.at = end;
    const rank = this.ranks[index] as number;
    const cents = Math.max(rank, 0);
    return { counterparty: this.ids[index] as number, cents, unpriced, transfers, firstSeenMs, lastSeenMs };
  }

  /** Reads the complete tail of the edge at `index`, which must be the next one. */
  edge(index: number): Edge {
    const { tail } = this;
    const counterparty = this.ids[index] as number;
    const length = tail.varint();
    const end = tail.at + length;
    const transfers = tail.varint();
    const unpriced = tail.varint();
    const firstSeenMs = tail.time();
    const lastSeenMs = firstSeenMs + tail.time();
    const code = tail.varint();
    const hasRefs = code % 2 === 1;
    const count = code >>> 1;
    const assets: AssetSum[] = [];
    if (count === 1) {
      const rank = this.ranks[index] as number;
      const cents = Math.max(rank, 0);
      const asset = tail.varint();
      const amount = tail.amount();
      const newest = hasRefs ? readRefs(tail, transfers, lastSeenMs) : [];
      assets.push({
        asset,
        transfers,
        unpriced,
        cents,
        amount,
        firstSeenMs,
        lastSeenMs,
        newest,
        days: [],
      });
    } else
      for (let left = count; left > 0; left--) {
        const asset = tail.varint();
        const own = { transfers: tail.varint(), unpriced: tail.varint(), cents: tail.varint() };
        const first = tail.time();
        const last = first + tail.time();
        const amount = tail.amount();
        const newest = hasRefs ? readRefs(tail, own.transfers, last) : [];
        assets.push({ asset, ...own, amount, firstSeenMs: first, lastSeenMs: last, newest, days: [] });
      }
    if (tail.at < end) for (const sum of assets) sum.days = readDays(tail, sum.lastSeenMs);
    tail.at = end;
    return { counterparty, assets };
  }

  /** Adds the tail of the edge at `index`, which must be the next one, to the sums over the assets of a query. */
  weigh(index: number, sums: EdgeSums): void {
    const { tail } = this;
    const length = tail.varint();
    const end = tail.at + length;
    const transfers = tail.varint();
    const unpriced = tail.varint();
    const firstSeenMs = tail.time();
    const lastSeenMs = firstSeenMs + tail.time();
    const code = tail.varint();
    const count = code >>> 1;
    sums.begin(this.ids[index] as number);
    if (count === 1) {
      const asset = tail.varint();
      if (sums.counts(asset)) {
        const cents = Math.max(this.ranks[index] as number, 0);
        sums.add(transfers, unpriced, cents, tail.amountNumber(), firstSeenMs, lastSeenMs);
      }
    } else {
      const hasRefs = code % 2 === 1;
      for (let left = count; left > 0; left--) {
        const asset = tail.varint();
        const assetTransfers = tail.varint();
        const assetUnpriced = tail.varint();
        const cents = tail.varint();
        const first = tail.time();
        const last = first + tail.time();
        const amount = tail.amountNumber();
        if (hasRefs) skipRefs(tail, assetTransfers);
        if (sums.counts(asset)) sums.add(assetTransfers, assetUnpriced, cents, amount, first, last);
      }
    }
    sums.end();
    tail.at = end;
  }

  #align(given: Buffer): Buffer {
    if (this.#aligned.length < given.length)
      this.#aligned = Buffer.from(new ArrayBuffer(Math.max(64 * 1024, given.length)));
    // The memory of a `getBinaryFast` result is longer than its `length`.
    this.#aligned.set(given.subarray(0, given.length));
    return this.#aligned.subarray(0, given.length);
  }
}

function readRefs(tail: ByteReader, transfers: number, lastSeenMs: number): TransferRef[] {
  const refs: TransferRef[] = [];
  let timestampMs = lastSeenMs;
  let ordinal = 0;
  const count = Math.min(transfers, GRAPH_LIMITS.recentTransfersPerEdge);
  for (let index = 0; index < count; index++) {
    if (index > 0) timestampMs -= tail.time();
    ordinal = index === 0 ? tail.varint() : ordinal + tail.signed();
    refs.push({ timestampMs, ordinal });
  }
  return refs;
}

function skipRefs(tail: ByteReader, transfers: number): void {
  const count = Math.min(transfers, GRAPH_LIMITS.recentTransfersPerEdge);
  for (let index = 0; index < count; index++) {
    if (index > 0) tail.varint();
    tail.varint();
  }
}

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

const tailScratch = new ByteWriter();

/** Appends the tail of an edge, with its length in front. */
function writeTail(out: ByteWriter, edge: Edge, totals: EdgeTotals): void {
  const tail = tailScratch;
  tail.length = 0;
  tail.varint(totals.transfers);
  tail.varint(totals.unpriced);
  tail.time(totals.firstSeenMs);
  tail.time(totals.lastSeenMs - totals.firstSeenMs);
  const first = edge.assets[0] as AssetSum;
  const hasRefs = first.newest.length > 0;
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

/** Returns all edges of a chunk. */
export function edgesIn(view: ChunkView): Edge[] {
  const edges: Edge[] = [];
  for (let index = 0; index < view.count; index++) edges.push(view.edge(index));
  return edges;
}

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

const ROW_COLUMN_BYTES = 12;
/** Up to this many edges are sorted by insertion, which is faster for the few of most addresses. */
const INSERTION_MAX = 24;

/** Collects edges into chunks, as columns. */
export class ChunkBuilder {
  #count = 0;
  #ids = new Uint32Array(256);
  #ranks = new Float64Array(256);
  #unpriced = new Float64Array(256);
  /** Where the tail of each edge ends. The first starts at 0. */
  #ends = new Uint32Array(257);
  readonly #tails = new ByteWriter();
  /** Edges in the order in which they are packed. */
  #order = new Uint32Array(256);
  /** A chunk that is being packed, also as words and doubles. */
  #chunk = Buffer.from(new ArrayBuffer(GRAPH_LIMITS.edgeChunkBytesMax));
  #chunkWords = new Uint32Array(this.#chunk.buffer);
  #chunkDoubles = new Float64Array(this.#chunk.buffer);

  clear(): void {
    this.#count = 0;
    this.#tails.length = 0;
  }

  add(edge: Edge): void {
    const totals = totalsOf(edge);
    writeTail(this.#tails, edge, totals);
    this.#addRow(edge.counterparty, valueRank(totals.cents, totals.unpriced), totals.unpriced);
  }

  /** Adds an edge with one transfer of an amount below 2^96, without creating an Edge object. */
  addSingle(counterparty: number, transfer: SingleTransfer): void {
    const { cents, amountLow, amountMiddle, amountHigh } = transfer;
    const isUnpriced = cents < 0 && (amountLow !== 0 || amountMiddle !== 0 || amountHigh !== 0);
    const unpriced = isUnpriced ? 1 : 0;
    const out = this.#tails;
    const start = out.length;
    // The length fits into one byte: the tail of a single transfer has fewer than 64 bytes.
    out.byte(0);
    out.varint(1);
    out.varint(unpriced);
    out.time(transfer.timestampMs);
    out.varint(0);
    out.varint(transfer.ordinal < 0 ? 2 : 3);
    out.varint(transfer.asset);
    out.amountWords(amountLow, amountMiddle, amountHigh);
    if (transfer.ordinal >= 0) out.varint(transfer.ordinal);
    out.bytes[start] = out.length - start - 1;
    this.#addRow(counterparty, valueRank(Math.max(cents, 0), unpriced), unpriced);
  }

  /** Copies the edge at `index` of a view, which must be the next one. */
  copy(view: ChunkView, index: number): void {
    const { tail } = view;
    const start = tail.at;
    const length = tail.varint();
    const end = tail.at + length;
    tail.varint();
    const unpriced = tail.varint();
    tail.at = end;
    this.#tails.copy(tail.bytes, start, end);
    this.#addRow(view.ids[index] as number, view.ranks[index] as number, unpriced);
  }

  /** Adds the columns of the edge with the last tail. */
  #addRow(id: number, rank: number, unpriced: number): void {
    const at = this.#count++;
    if (at === this.#ids.length) this.#grow();
    this.#ids[at] = id;
    this.#ranks[at] = rank;
    this.#unpriced[at] = unpriced;
    this.#order[at] = at;
    this.#ends[at + 1] = this.#tails.length;
  }

  #grow(): void {
    const length = this.#ids.length * 2;
    const enlarged = <T extends Uint32Array | Float64Array>(from: T, to: T): T => {
      to.set(from);
      return to;
    };
    this.#ids = enlarged(this.#ids, new Uint32Array(length));
    this.#ranks = enlarged(this.#ranks, new Float64Array(length));
    this.#unpriced = enlarged(this.#unpriced, new Float64Array(length));
    this.#order = enlarged(this.#order, new Uint32Array(length));
    this.#ends = enlarged(this.#ends, new Uint32Array(length + 1));
  }

  /** Packs all edges of an address into one chunk ordered by value. Returns null if they do not fit into one chunk. */
  packSingle(): PackedChunk | null {
    const count = this.#count;
    const bytes = CHUNK_HEADER_BYTES + count * ROW_COLUMN_BYTES + this.#tails.length;
    if (bytes > GRAPH_LIMITS.edgeChunkBytesMax && count > 1) return null;
    const ids = this.#ids;
    const ranks = this.#ranks;
    const unpriced = this.#unpriced;
    this.#sort(
      (a, b) =>
        (ranks[b] as number) - (ranks[a] as number) ||
        (unpriced[b] as number) - (unpriced[a] as number) ||
        (ids[a] as number) - (ids[b] as number),
    );
    return { firstId: 0, bytes: this.#pack(0, count, bytes, false, 0) };
  }

  /**
   * Packs a range of edges of a hub, ordered by id, into chunks. The first starts at `firstId`, and the last points to `next`. An edge that
   * is larger than a chunk (hundreds of assets) gets a chunk of its own.
   */
  packHub(firstId: number, next: number): PackedChunk[] {
    const count = this.#count;
    const ids = this.#ids;
    this.#sort((a, b) => (ids[a] as number) - (ids[b] as number));
    const total = count * ROW_COLUMN_BYTES + this.#tails.length;
    const room = GRAPH_LIMITS.edgeChunkBytesMax - CHUNK_HEADER_BYTES;
    // Full chunks if there are many. If one chunk becomes two, both are filled by half, so that the next edge finds room.
    const fill = total > room && total <= 2 * room ? total / 2 : room;
    const chunks: PackedChunk[] = [];
    let start = 0;
    let startId = firstId;
    let bytes = CHUNK_HEADER_BYTES;
    for (let index = 0; index < count; index++) {
      const row = this.#order[index] as number;
      const more =
        ROW_COLUMN_BYTES + (this.#ends[row + 1] as number) - (row > 0 ? (this.#ends[row] as number) : 0);
      if (index > start && bytes + more > fill + CHUNK_HEADER_BYTES) {
        const id = ids[row] as number;
        chunks.push({ firstId: startId, bytes: this.#pack(start, index, bytes, true, id) });
        start = index;
        startId = id;
        bytes = CHUNK_HEADER_BYTES;
      }
      bytes += more;
    }
    chunks.push({ firstId: startId, bytes: this.#pack(start, count, bytes, true, next) });
    return chunks;
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

  /** Packs the edges `from` to `to - 1` of the order. The result is a copy. */
  #pack(from: number, to: number, byteLength: number, isHub: boolean, next: number): Buffer {
    if (byteLength > this.#chunk.length) {
      this.#chunk = Buffer.from(new ArrayBuffer(Math.ceil(byteLength / 8) * 16));
      this.#chunkWords = new Uint32Array(this.#chunk.buffer);
      this.#chunkDoubles = new Float64Array(this.#chunk.buffer);
    }
    const chunk = this.#chunk;
    const words = this.#chunkWords;
    const doubles = this.#chunkDoubles;
    const order = this.#order;
    const ends = this.#ends;
    const tails = this.#tails.bytes;
    const count = to - from;
    words[0] = isHub ? 1 : 0;
    words[COUNT_AT / 4] = count;
    words[NEXT_AT / 4] = next;
    words[3] = 0;
    const ranksAt = CHUNK_HEADER_BYTES / 8;
    const idsAt = CHUNK_HEADER_BYTES / 4 + count * 2;
    let at = CHUNK_HEADER_BYTES + count * ROW_COLUMN_BYTES;
    for (let index = 0; index < count; index++) {
      const row = order[from + index] as number;
      doubles[ranksAt + index] = this.#ranks[row] as number;
      words[idsAt + index] = this.#ids[row] as number;
      // Tails are too short for a copy by a call.
      const end = ends[row + 1] as number;
      for (let byte = row > 0 ? (ends[row] as number) : 0; byte < end; byte++)
        chunk[at++] = tails[byte] as number;
    }
    return Buffer.from(chunk.subarray(0, byteLength));
  }
}

const cutChunk = (): AssayError =>
  new AssayError(
    'STORE_CORRUPT',
    'The transfer store is damaged: a list of neighbours ends in the middle of an edge.',
  );
