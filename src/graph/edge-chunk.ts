/**
 * The packed form of an address's neighbours in one direction: a column of ids, followed by tails with the rest, about 20 bytes per edge
 * with one transfer and 40 with more. A single chunk is ordered by value, so that its start is the answer to a query. The chunks of a hub
 * are ordered by id, so that an update finds its place, and have a column of values, so that a scan reads only these. edge-builder.ts
 * writes chunks. Pure; store/ decides where chunks are stored.
 */

import { AssayError } from '../base/errors.ts';
import { readDays } from './edge-days.ts';
import type { AssetSum, Edge, EdgeTotals, TransferRef } from './edges.ts';
import { GRAPH_LIMITS } from './limits.ts';
import type { EdgeSums, IncludedSums } from './row-collector.ts';
import { ByteReader } from './store/bytes.ts';

/**
 * The first byte of a chunk. The lowest bit is set in the chunks of a hub, which are sorted by id, the others by value. Stores of format 4
 * and earlier have the first two, and keep them until the chunk is written again: 0 and 1.
 */
const FORMER_HUB = 1;
export const SINGLE_CHUNK = 2;
export const HUB_CHUNK = 3;

/** Returns true for the chunk of an address with more than one. */
export const isHubChunk = (bytes: Uint8Array): boolean => ((bytes[0] as number) & 1) === 1;

/** Header of a hub's chunk: kind, 3 unused bytes, number of edges, first id of the next chunk, start of its times in seconds. */
export const CHUNK_HEADER_BYTES = 16;
const COUNT_AT = 4;
/** Offset of the first id of the next chunk. */
export const NEXT_AT = 8;
const START_AT = 12;
/** Header of a single chunk: kind, `NARROW_IDS` or 0, number of edges in 2 bytes, start of its times in seconds. */
export const SINGLE_HEADER_BYTES = 8;
export const ID_BYTES = 4;
/** Bytes of each id in a single chunk in which all ids are below `NARROW_IDS_END`: since format 6, nearly all. */
export const NARROW_IDS = 3;
export const NARROW_IDS_END = 2 ** 24;

/** Flags of a tail. One with a single transfer has its asset in the bits above, if it is below 32, and 0 there if the asset follows. */
export const ONE_TRANSFER = 1;
export const ONE_UNPRICED = 2;
export const ONE_REF = 4;
export const ASSET_SHIFT = 3;

/**
 * The value by which edges are compared: whole cents if known, otherwise below zero, and closer to zero the more unpriced transfers the
 * edge has. Two edges with different cents, or both without cents, compare as in `byValue`.
 */
export const valueRank = (cents: number, unpriced: number): number =>
  cents > 0 ? cents : -1 / (1 + unpriced);

/** An edge as its chunk has it: what is in columns or depends on the chunk, and the place of the bytes that do not. */
export interface CopiedRow {
  cents: number;
  unpriced: number;
  flags: number;
  /** Time of the only transfer. Not set if there are more. */
  seenMs: number;
  start: number;
  end: number;
}

/** One chunk, opened for reading. Its columns are views, valid until the bytes are reused. */
export class ChunkView {
  isHub = false;
  count = 0;
  next = 0;
  ids: Uint32Array = new Uint32Array(0);
  /** Positioned at the tail of the next edge. */
  readonly tail = new ByteReader();
  /** Whether the chunk is of format 5, in which a tail begins with flags. */
  isCompact = false;
  /** Flags of the last tail that was begun: 0 in a former chunk. */
  flags = 0;
  /** Value of that edge in cents. */
  cents = 0;
  #hasRanks = false;
  #ranks: Float64Array = new Float64Array(0);
  #startMs = 0;
  #tailsAt = 0;
  #aligned = Buffer.alloc(0);
  #wideIds = new Uint32Array(0);

  open(given: Buffer): this {
    const bytes = given.byteOffset % 8 === 0 ? given : this.#align(given);
    const kind = bytes[0] as number;
    const isShort = kind === SINGLE_CHUNK;
    if (bytes.length < (isShort ? SINGLE_HEADER_BYTES : CHUNK_HEADER_BYTES) || kind > HUB_CHUNK)
      throw cutChunk();
    this.isHub = kind === HUB_CHUNK || kind === FORMER_HUB;
    this.isCompact = isShort || kind === HUB_CHUNK;
    this.#hasRanks = !isShort;
    const count = isShort ? bytes.readUInt16LE(2) : bytes.readUInt32LE(COUNT_AT);
    this.count = count;
    this.next = isShort ? 0 : bytes.readUInt32LE(NEXT_AT);
    this.#startMs = this.isCompact ? bytes.readUInt32LE(isShort ? 4 : START_AT) * 1000 : 0;
    const idsAt = isShort ? SINGLE_HEADER_BYTES : CHUNK_HEADER_BYTES + count * 8;
    const isNarrow = isShort && bytes[1] === NARROW_IDS;
    const tailsAt = idsAt + count * (isNarrow ? NARROW_IDS : ID_BYTES);
    if (tailsAt > bytes.length) throw cutChunk();
    const { buffer, byteOffset } = bytes;
    if (!isShort) this.#ranks = new Float64Array(buffer, byteOffset + CHUNK_HEADER_BYTES, count);
    this.ids = isNarrow
      ? this.#widened(bytes, idsAt, count)
      : new Uint32Array(buffer, byteOffset + idsAt, count);
    this.tail.open(bytes, tailsAt, bytes.length);
    this.#tailsAt = tailsAt;
    return this;
  }

  /** The values by which the edges are compared (`valueRank`). Those of a single chunk are in its tails. */
  get ranks(): Float64Array {
    if (this.#hasRanks) return this.#ranks;
    const { tail, count } = this;
    const { at } = tail;
    const ranks = new Float64Array(count);
    tail.at = this.#tailsAt;
    for (let index = 0; index < count; index++) {
      const start = tail.at;
      ranks[index] = this.#rank(index);
      tail.at = start;
      this.skipTails(1);
    }
    tail.at = at;
    this.#ranks = ranks;
    this.#hasRanks = true;
    return ranks;
  }

  #rank(index: number): number {
    this.#begin(index);
    if (this.cents > 0) return this.cents;
    if (this.flags & ONE_TRANSFER) return valueRank(0, this.flags & ONE_UNPRICED ? 1 : 0);
    this.tail.varint();
    this.tail.varint();
    return valueRank(0, this.tail.varint());
  }

  /** Position of an id, or -1 if the chunk does not contain it. */
  indexOf(id: number): number {
    return this.ids.indexOf(id);
  }

  /** Skips `count` tails. */
  skipTails(count: number): void {
    const { tail } = this;
    if (!this.isCompact) {
      for (let left = count; left > 0; left--) tail.skip(tail.varint());
      return;
    }
    const hasCents = !this.isHub;
    for (let left = count; left > 0; left--) {
      const flags = tail.byte();
      if (hasCents && !(flags & ONE_UNPRICED)) tail.varint();
      if (!(flags & ONE_TRANSFER)) {
        tail.skip(tail.varint());
        continue;
      }
      tail.varint();
      if (flags >> ASSET_SHIFT === 0) tail.varint();
      tail.skipCompact();
      if (flags & ONE_REF) tail.varint();
    }
  }

  /** Reads the flags and the value of the edge at `index`, which must be the next one. */
  #begin(index: number): void {
    const { tail } = this;
    const flags = this.isCompact ? tail.byte() : 0;
    this.flags = flags;
    if (this.isCompact && !this.isHub) this.cents = flags & ONE_UNPRICED ? 0 : tail.varint();
    else this.cents = Math.max(this.ranks[index] as number, 0);
  }

  /** Reads the tail of the edge at `index`, which must be the next one, into sums over its assets. */
  totals(index: number): EdgeTotals {
    const { tail } = this;
    this.#begin(index);
    const cents = this.cents;
    const counterparty = this.ids[index] as number;
    const { flags } = this;
    if (flags & ONE_TRANSFER) {
      const seenMs = this.#startMs + tail.time();
      if (flags >> ASSET_SHIFT === 0) tail.varint();
      tail.skipCompact();
      if (flags & ONE_REF) tail.varint();
      const unpriced = flags & ONE_UNPRICED ? 1 : 0;
      return { counterparty, cents, unpriced, transfers: 1, firstSeenMs: seenMs, lastSeenMs: seenMs };
    }
    const length = tail.varint();
    const end = tail.at + length;
    const transfers = tail.varint();
    const unpriced = tail.varint();
    const firstSeenMs = tail.time();
    const lastSeenMs = firstSeenMs + tail.time();
    tail.at = end;
    return { counterparty, cents, unpriced, transfers, firstSeenMs, lastSeenMs };
  }

  /** Reads the complete tail of the edge at `index`, which must be the next one. */
  edge(index: number): Edge {
    const { tail } = this;
    const counterparty = this.ids[index] as number;
    this.#begin(index);
    const cents = this.cents;
    const { flags } = this;
    if (flags & ONE_TRANSFER) {
      const seenMs = this.#startMs + tail.time();
      const asset = flags >> ASSET_SHIFT || tail.varint();
      const amount = tail.compact();
      const newest = flags & ONE_REF ? [{ timestampMs: seenMs, ordinal: tail.varint() }] : [];
      const unpriced = flags & ONE_UNPRICED ? 1 : 0;
      const seen = { firstSeenMs: seenMs, lastSeenMs: seenMs };
      return {
        counterparty,
        assets: [{ asset, transfers: 1, unpriced, cents, amount, ...seen, newest, days: [] }],
      };
    }
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
      const asset = tail.varint();
      const amount = tail.amount();
      const newest = hasRefs ? readRefs(tail, transfers, lastSeenMs) : [];
      const own = { asset, transfers, unpriced, cents, amount };
      assets.push({ ...own, firstSeenMs, lastSeenMs, newest, days: [] });
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
    this.#begin(index);
    const cents = this.cents;
    const { flags } = this;
    const id = this.ids[index] as number;
    if (flags & ONE_TRANSFER) {
      const seenMs = this.#startMs + tail.time();
      const asset = flags >> ASSET_SHIFT || tail.varint();
      sums.single(id, asset, 1, flags & ONE_UNPRICED ? 1 : 0, cents, tail.compactNumber(), seenMs, seenMs);
      if (flags & ONE_REF) tail.varint();
      return;
    }
    const length = tail.varint();
    const end = tail.at + length;
    const transfers = tail.varint();
    const unpriced = tail.varint();
    const firstSeenMs = tail.time();
    const lastSeenMs = firstSeenMs + tail.time();
    const code = tail.varint();
    const count = code >>> 1;
    if (count === 1) {
      const asset = tail.varint();
      sums.single(id, asset, transfers, unpriced, cents, tail.amountNumber(), firstSeenMs, lastSeenMs);
    } else {
      const hasRefs = code % 2 === 1;
      sums.begin(id);
      for (let left = count; left > 0; left--) {
        const asset = tail.varint();
        const assetTransfers = tail.varint();
        const assetUnpriced = tail.varint();
        const assetCents = tail.varint();
        const first = tail.time();
        const last = first + tail.time();
        const amount = tail.amountNumber();
        if (hasRefs) skipRefs(tail, assetTransfers);
        if (sums.counts(asset)) sums.add(assetTransfers, assetUnpriced, assetCents, amount, first, last);
      }
      sums.end();
    }
    tail.at = end;
  }

  /** Skips the tail of the edge at `index`, which must be the next one. Returns true if a query includes sums of the edge. */
  isIncluded(index: number, sums: IncludedSums): boolean {
    const { tail } = this;
    const id = this.ids[index] as number;
    this.#begin(index);
    const { flags } = this;
    if (flags & ONE_TRANSFER) {
      tail.skipVarint();
      const asset = flags >> ASSET_SHIFT || tail.varint();
      tail.skipCompact();
      if (flags & ONE_REF) tail.skipVarint();
      return sums.includes(id, asset);
    }
    const length = tail.varint();
    const end = tail.at + length;
    for (let field = 0; field < 4; field++) tail.skipVarint();
    const code = tail.varint();
    const count = code >>> 1;
    let isIncluded = false;
    for (let left = count; left > 0 && !isIncluded; left--) {
      isIncluded = sums.includes(id, tail.varint());
      if (isIncluded || left === 1) break;
      const transfers = tail.varint();
      for (let field = 0; field < 4; field++) tail.skipVarint();
      tail.skipAmount();
      if (code % 2 === 1) skipRefs(tail, transfers);
    }
    tail.at = end;
    return isIncluded;
  }

  /** Reads the edge at `index`, which must be the next one, as a row that `ChunkBuilder.copy` writes. The chunk must be compact. */
  row(index: number, into: CopiedRow): void {
    const { tail } = this;
    this.#begin(index);
    into.cents = this.cents;
    into.flags = this.flags;
    if (this.flags & ONE_TRANSFER) {
      into.unpriced = this.flags & ONE_UNPRICED ? 1 : 0;
      into.seenMs = this.#startMs + tail.time();
      into.start = tail.at;
      if (this.flags >> ASSET_SHIFT === 0) tail.varint();
      tail.skipCompact();
      if (this.flags & ONE_REF) tail.varint();
    } else {
      into.start = tail.at;
      const length = tail.varint();
      const end = tail.at + length;
      tail.varint();
      into.unpriced = tail.varint();
      tail.at = end;
    }
    into.end = tail.at;
  }

  /** Copies ids of three bytes. */
  #widened(bytes: Buffer, start: number, count: number): Uint32Array {
    if (this.#wideIds.length < count) this.#wideIds = new Uint32Array(2 * count);
    const ids = this.#wideIds;
    for (let index = 0, at = start; index < count; index++, at += NARROW_IDS)
      ids[index] =
        (bytes[at] as number) | ((bytes[at + 1] as number) << 8) | ((bytes[at + 2] as number) << 16);
    return ids.subarray(0, count);
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

/** Returns all edges of a chunk. */
export function edgesIn(view: ChunkView): Edge[] {
  const edges: Edge[] = [];
  for (let index = 0; index < view.count; index++) edges.push(view.edge(index));
  return edges;
}

const cutChunk = (): AssayError =>
  new AssayError(
    'STORE_CORRUPT',
    'The transfer store is damaged: a list of neighbours ends in the middle of an edge.',
  );
