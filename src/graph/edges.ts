/**
 * The packed form of an address's neighbours: sorted, variable-length edges in chunks, about 25 to 40 bytes an edge.
 * Pure; store.ts decides where chunks are kept.
 */
import { AssayError } from '../base/errors.ts';

/** All transfers of one asset between an address and one counterparty in one direction. */
export interface Edge {
  /** Dense address id; 0 is nobody (coinbase, mint, burn without an address). */
  counterparty: number;
  asset: number;
  transfers: number;
  unpriced: number;
  amount: bigint;
  /** USD of the priced transfers in whole cents: an integer, so that sums do not drift. */
  cents: number;
  firstSeenMs: number;
  lastSeenMs: number;
}

/** Where an edge stands in the order of a chunk. */
export interface EdgePlace {
  readonly counterparty: number;
  readonly asset: number;
}

export interface EdgeChunk {
  readonly edges: Edge[];
  /** The first edge of the next chunk of the same address and direction; null in the last one. */
  readonly next: EdgePlace | null;
}

export const compareEdges = (a: EdgePlace, b: EdgePlace): number =>
  a.counterparty - b.counterparty || a.asset - b.asset;

const HEADER_BYTES = 9;
/** Seven varints of at most 8 bytes, the length byte, and an amount of at most 255 bytes. */
const EDGE_BYTES_MAX = 7 * 8 + 1 + 255;

let scratch = Buffer.allocUnsafe(64 * 1024);

function writeVarint(out: Buffer, at: number, value: number): number {
  let rest = value;
  let offset = at;
  while (rest >= 0x80) {
    out[offset++] = (rest % 0x80) | 0x80;
    rest = Math.floor(rest / 0x80);
  }
  out[offset++] = rest;
  return offset;
}

function writeAmount(out: Buffer, at: number, amount: bigint): number {
  const hex = amount === 0n ? '' : amount.toString(16);
  const bytes = (hex.length + 1) >> 1;
  if (bytes > 255)
    throw new AssayError('INTERNAL', 'The sum of the amounts of an edge needs more than 255 bytes.');
  out[at] = bytes;
  out.write(hex.length % 2 === 0 ? hex : `0${hex}`, at + 1, 'hex');
  return at + 1 + bytes;
}

/** Packs edges that are already in order. The answer is a copy of its own. */
export function encodeChunk(edges: readonly Edge[], next: EdgePlace | null): Buffer {
  const needed = HEADER_BYTES + edges.length * EDGE_BYTES_MAX;
  if (scratch.length < needed) scratch = Buffer.allocUnsafe(needed);
  scratch[0] = next ? 1 : 0;
  scratch.writeUInt32BE(next?.counterparty ?? 0, 1);
  scratch.writeUInt32BE(next?.asset ?? 0, 5);
  let at = HEADER_BYTES;
  for (const edge of edges) {
    at = writeVarint(scratch, at, edge.counterparty);
    at = writeVarint(scratch, at, edge.asset);
    at = writeVarint(scratch, at, edge.transfers);
    at = writeVarint(scratch, at, edge.unpriced);
    at = writeVarint(scratch, at, edge.cents);
    at = writeVarint(scratch, at, edge.firstSeenMs);
    at = writeVarint(scratch, at, edge.lastSeenMs - edge.firstSeenMs);
    at = writeAmount(scratch, at, edge.amount);
  }
  return Buffer.from(scratch.subarray(0, at));
}

/** Unpacks a chunk. Throws STORE_CORRUPT where the bytes end inside an edge. */
export function decodeChunk(bytes: Buffer): EdgeChunk {
  let at = HEADER_BYTES;
  const varint = (): number => {
    let value = 0;
    let factor = 1;
    for (;;) {
      const byte = bytes[at++];
      if (byte === undefined) throw cutChunk();
      value += (byte & 0x7f) * factor;
      if (byte < 0x80) return value;
      factor *= 0x80;
    }
  };
  const amount = (): bigint => {
    const length = bytes[at++];
    if (length === undefined || at + length > bytes.length) throw cutChunk();
    const start = at;
    at += length;
    if (length <= 6) return length === 0 ? 0n : BigInt(bytes.readUIntBE(start, length));
    return BigInt(`0x${bytes.toString('hex', start, at)}`);
  };
  if (bytes.length < HEADER_BYTES) throw cutChunk();
  const next = bytes[0] === 1 ? { counterparty: bytes.readUInt32BE(1), asset: bytes.readUInt32BE(5) } : null;
  const edges: Edge[] = [];
  while (at < bytes.length) {
    const counterparty = varint();
    const asset = varint();
    const transfers = varint();
    const unpriced = varint();
    const cents = varint();
    const firstSeenMs = varint();
    const lastSeenMs = firstSeenMs + varint();
    edges.push({
      counterparty,
      asset,
      transfers,
      unpriced,
      cents,
      firstSeenMs,
      lastSeenMs,
      amount: amount(),
    });
  }
  return { edges, next };
}

const cutChunk = (): AssayError =>
  new AssayError('STORE_CORRUPT', 'The transfer store holds neighbours that end in the middle of an edge.');

/** Adds the second edge, of the same counterparty and asset, to the first. */
export function addEdge(edge: Edge, more: Edge): void {
  edge.transfers += more.transfers;
  edge.unpriced += more.unpriced;
  edge.amount += more.amount;
  edge.cents += more.cents;
  edge.firstSeenMs = Math.min(edge.firstSeenMs, more.firstSeenMs);
  edge.lastSeenMs = Math.max(edge.lastSeenMs, more.lastSeenMs);
}

/** Merges two ordered runs into one. Edges of the same place are added up; the first run's objects are reused. */
export function mergeEdges(kept: readonly Edge[], added: readonly Edge[]): Edge[] {
  const merged: Edge[] = [];
  let k = 0;
  let a = 0;
  while (k < kept.length || a < added.length) {
    const left = kept[k];
    const right = added[a];
    const order = left === undefined ? 1 : right === undefined ? -1 : compareEdges(left, right);
    if (left !== undefined && order <= 0) {
      if (order === 0 && right !== undefined) {
        addEdge(left, right);
        a++;
      }
      merged.push(left);
      k++;
    } else if (right !== undefined) {
      merged.push(right);
      a++;
    }
  }
  return merged;
}
