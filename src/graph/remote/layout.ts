/**
 * How a chain's records are stored in a server that speaks the Redis protocol: names, and the encoding of values that are not simply an
 * LMDB record. Plain strings, spread over buckets; docs/decisions/remote-adjacency.md explains why. Pure.
 */
import { createHash } from 'node:crypto';
import type { ChainId } from '../../chains/registry.ts';
import { wrongFormat } from '../../state/format-version.ts';
import { ByteReader, ByteWriter } from '../store/bytes.ts';
import type { State } from '../store/chain-store.ts';

/**
 * Changes when the meaning of the bytes or names below, or of the store's records, changes. Version 1 had no priced part of flows, version 2
 * no compact chunks (edges.ts), version 3 no compact sums of addresses (node-record.ts).
 */
export const REMOTE_FORMAT = 4;
/** Also readable. The next push writes the current format. */
const FORMER_FORMATS: readonly unknown[] = [1, 2, 3];

/** Assets per record. */
export const ASSETS_PER_PAGE = 16;

/** The entry point for readers of a chain: written last, by one command. */
export interface Head {
  readonly format: number;
  /** Part of the name of every record: a chain that is pushed again is stored beside the old one until this changes. */
  readonly generation: number;
  /** Records newer than this are ignored. */
  readonly version: number;
  readonly buckets: number;
  /** Identifies the store it was pushed from. */
  readonly source: string;
  readonly state: State;
  /** Number of the first transfer that could still be reverted when this version was pushed. */
  readonly openOrdinal: number;
  /** When readers were switched to it, in milliseconds since the epoch. */
  readonly switchedMs: number;
  /** Number of all records. `checksum` is the sum of their digests, as hexadecimal. */
  readonly records: number;
  readonly checksum: string;
}

/**
 * Parses the head of a chain.
 *
 * @throws STORE_VERSION if its format is unknown
 */
export function parseHead(chain: ChainId, text: string): Head {
  const head = JSON.parse(text) as Partial<Head>;
  if (head.format !== REMOTE_FORMAT && !FORMER_FORMATS.includes(head.format))
    throw wrongFormat(
      `The remote graph of ${chain}`,
      head.format,
      REMOTE_FORMAT,
      'Push it again with this version.',
    );
  return head as Head;
}

/** The slot of keys that exist once per chain: `head`, and the state of a push. */
export const chainSlot = (chain: ChainId): string => `graph.${chain.toLowerCase()}`;
/** The slot of a bucket of a chain. */
export const bucketSlot = (chain: ChainId, bucket: number): string => `${chainSlot(chain)}.${bucket}`;

/** Returns the bucket of a key: FNV-1a (Fowler, Noll, Vo). */
export function bucketOfKey(key: Uint8Array, buckets: number): number {
  let hash = 0x811c9dc5;
  for (const byte of key) hash = Math.imul(hash ^ byte, 0x01000193);
  return (hash >>> 0) % buckets;
}

/** Names inside a bucket. Base 36 keeps numbers short. */
export const NAMES = {
  node: (node: number): string => `n${node.toString(36)}`,
  id: (key: Uint8Array): string => `i${Buffer.from(key).toString('base64url')}`,
  chunk: (node: number, direction: number, firstId: number): string =>
    `e${node.toString(36)}.${direction}.${firstId.toString(36)}`,
  directory: (node: number, direction: number): string => `d${node.toString(36)}.${direction}`,
  log: (chunk: number): string => `l${chunk.toString(36)}`,
  assets: (page: number): string => `s${page.toString(36)}`,
  blocks: 'b',
  /**
   * A record at a version that two later ones have replaced: its complete bytes, which carry the version before that. The key expires when
   * no reader can need it any more.
   */
  earlier: (name: string, version: number): string => `${name}~${version.toString(36)}`,
  /** The newest version that the bucket contains completely. */
  marker: 'v',
  /** The writer of the bucket: `token:step`. */
  writer: 'w',
} as const;

/** Returns the page that contains an asset. */
export const assetPageOf = (id: number): number => Math.floor(id / ASSETS_PER_PAGE);

/** A value with the version that wrote it, and its previous value, which readers of the previous version still need. */
export interface Versioned {
  readonly version: number;
  readonly value: Buffer;
  /** Null if it did not exist, or if no reader may read it any more. */
  readonly previous: { readonly version: number; readonly value: Buffer } | null;
}

const out = new ByteWriter();
const reader = new ByteReader();

/** Packs a versioned value: version, previous version or 0, the previous value if there is one, then the value. */
export function packVersioned({ version, value, previous }: Versioned): Buffer {
  out.length = 0;
  out.varint(version);
  out.varint(previous?.version ?? 0);
  if (previous) {
    out.varint(previous.value.length);
    out.copy(previous.value, 0, previous.value.length);
  }
  out.copy(value, 0, value.length);
  return out.take();
}

/** The values are views of the bytes. */
export function unpackVersioned(bytes: Buffer): Versioned {
  reader.open(bytes);
  const version = reader.varint();
  const before = reader.varint();
  let previous: Versioned['previous'] = null;
  if (before > 0) {
    const length = reader.varint();
    previous = { version: before, value: bytes.subarray(reader.at, reader.at + length) };
    reader.skip(length);
  }
  return { version, value: bytes.subarray(reader.at), previous };
}

/**
 * Reads a record as it was at a version.
 *
 * @param bytes in the format of `packVersioned`
 * @returns the value; undefined if the record did not exist yet. If both of its values are newer, a version number: `NAMES.earlier` of that
 * version names the earlier record.
 */
export function valueAt(bytes: Buffer, version: number): Buffer | number | undefined {
  const record = unpackVersioned(bytes);
  if (record.version <= version) return record.value;
  if (record.previous === null) return undefined;
  return record.previous.version <= version ? record.previous.value : record.previous.version;
}

/**
 * Where the neighbours of one direction are stored: nowhere, in the address's own record, in a separate record, or in the records of a
 * directory.
 */
export const NO_EDGES = 0;
export const INLINE = 1;
export const APART = 2;
export const HUB = 3;

export interface RemoteNode {
  readonly key: Buffer;
  readonly node: Buffer | undefined;
  readonly delta: Buffer | undefined;
  readonly edges: readonly [RemoteEdges, RemoteEdges];
}

export interface RemoteEdges {
  readonly kind: number;
  /** For INLINE only. */
  readonly chunk: Buffer | undefined;
}

/** Packs the record of an address: key, sums and delta with their lengths, then the edges of both directions. */
export function packRemoteNode({ key, node, delta, edges }: RemoteNode): Buffer {
  out.length = 0;
  for (const part of [key, node, delta]) {
    out.varint(part?.length ?? 0);
    if (part) out.copy(part, 0, part.length);
  }
  for (const { kind, chunk } of edges) {
    out.byte(kind);
    if (!chunk) continue;
    out.varint(chunk.length);
    out.copy(chunk, 0, chunk.length);
  }
  return out.take();
}

/** The parts are views of the bytes. */
export function unpackRemoteNode(bytes: Buffer): RemoteNode {
  reader.open(bytes);
  const part = (): Buffer => {
    const length = reader.varint();
    const start = reader.at;
    reader.skip(length);
    return bytes.subarray(start, start + length);
  };
  const optional = (): Buffer | undefined => {
    const found = part();
    return found.length === 0 ? undefined : found;
  };
  const side = (): RemoteEdges => {
    const kind = reader.byte();
    return { kind, chunk: kind === INLINE ? part() : undefined };
  };
  const key = part();
  const node = optional();
  const delta = optional();
  return { key, node, delta, edges: [side(), side()] };
}

/** Bytes per chunk in its hub's directory: its first id, and the digest by which a push detects a change. */
const DIRECTORY_ROW_BYTES = 12;

export interface HubChunk {
  readonly firstId: number;
  readonly digest: bigint;
}

/** A hub's chunks in the order of their first ids. */
export const packDirectory = (chunks: readonly HubChunk[]): Buffer => {
  const bytes = Buffer.allocUnsafe(chunks.length * DIRECTORY_ROW_BYTES);
  for (const [at, { firstId, digest }] of chunks.entries()) {
    bytes.writeUInt32LE(firstId, at * DIRECTORY_ROW_BYTES);
    bytes.writeBigUInt64LE(digest, at * DIRECTORY_ROW_BYTES + 4);
  }
  return bytes;
};

/** First ids, ascending. */
export function unpackDirectory(bytes: Buffer): Uint32Array {
  const ids = new Uint32Array(bytes.length / DIRECTORY_ROW_BYTES);
  for (let at = 0; at < ids.length; at++) ids[at] = bytes.readUInt32LE(at * DIRECTORY_ROW_BYTES);
  return ids;
}

/** Digests by first id. */
export function digestsIn(bytes: Buffer): Map<number, bigint> {
  const digests = new Map<number, bigint>();
  for (let at = 0; at < bytes.length; at += DIRECTORY_ROW_BYTES)
    digests.set(bytes.readUInt32LE(at), bytes.readBigUInt64LE(at + 4));
  return digests;
}

/** Position of the chunk that is responsible for an id: the last one that starts at or before it, or -1. */
export function chunkIn(firstIds: Uint32Array, id: number): number {
  let low = 0;
  let high = firstIds.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((firstIds[middle] as number) <= id) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** The sum of 64-bit digests of records, independent of their order. */
export class Checksum {
  #sum = 0n;
  records = 0;

  constructor(from?: Pick<Head, 'records' | 'checksum'>) {
    if (!from) return;
    this.#sum = BigInt(`0x${from.checksum}`);
    this.records = from.records;
  }

  add(name: string, value: Uint8Array): void {
    this.#sum = BigInt.asUintN(64, this.#sum + digestOf(name, value));
    this.records++;
  }

  remove(name: string, value: Uint8Array): void {
    this.#sum = BigInt.asUintN(64, this.#sum - digestOf(name, value));
    this.records--;
  }

  get hex(): string {
    return this.#sum.toString(16).padStart(16, '0');
  }
}

/** 64 bits of SHA-256. */
export const digestOf = (name: string, value: Uint8Array): bigint =>
  createHash('sha256').update(name).update('\0').update(value).digest().readBigUInt64LE(0);
