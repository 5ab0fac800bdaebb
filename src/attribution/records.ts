/** The packed records of attributions: deposit addresses, noted blocks, and facts with their keys. */
import { createHash } from 'node:crypto';
import { ByteReader, ByteWriter } from '../graph/store/bytes.ts';
import type { AccountKind, Forwarding } from './deposit/judge.ts';

/** A deposit address, or an account that may become one. */
export interface DepositRecord {
  /** Number of the entity in `DepositState.entities`, from 1. */
  readonly entity: number;
  readonly kind: AccountKind;
  readonly fundedBy: number | null;
  /** The newest ones, oldest first. */
  readonly forwardings: readonly Forwarding[];
  /** Older forwardings, which are only counted. */
  readonly older: number;
  readonly firstMs: number;
}

/** A block that can be reverted, with the accounts that it may have changed. */
export interface NotedBlock {
  readonly hash: string;
  readonly firstOrdinal: number;
  readonly count: number;
  readonly nodes: readonly number[];
}

/** Something that a log proves about an address. */
export interface Fact {
  /** Id of the rule. */
  readonly rule: string;
  /** Id of the factory, token or other source of the log. */
  readonly by: string;
  readonly kind: string;
  readonly blockNumber: number;
  readonly txHash: string;
  readonly logIndex: number;
  /** Milliseconds since the epoch; null if not known. */
  readonly timestampMs: number | null;
  /** Further values of the event, such as the two tokens of a pool. */
  readonly values: Readonly<Record<string, string>>;
}

const KINDS: readonly AccountKind[] = ['unknown', 'account', 'contract', 'delegated'];

const out = new ByteWriter(4_096);
const reader = new ByteReader();

/** Returns the written bytes; valid until the next record is packed. The memory is shared, so that the store resolves its address once. */
const written = (): Buffer => out.bytes.subarray(0, out.length);

/** Packs a record. The bytes are valid until the next record is packed. */
export function packDeposit({ entity, kind, fundedBy, older, firstMs, forwardings }: DepositRecord): Buffer {
  out.length = 0;
  out.varint(entity);
  out.byte(KINDS.indexOf(kind));
  out.varint(fundedBy === null ? 0 : fundedBy + 1);
  out.varint(older);
  out.time(firstMs);
  for (const { out: number, in: first, timestampMs } of forwardings) {
    out.varint(number);
    out.signed(number - first);
    out.time(timestampMs);
  }
  return written();
}

/** Unpacks a record. */
export function unpackDeposit(bytes: Buffer): DepositRecord {
  reader.open(bytes);
  const entity = reader.varint();
  const kind = KINDS[reader.byte()] ?? 'unknown';
  const fundedBy = reader.varint();
  const older = reader.varint();
  const firstMs = reader.time();
  const forwardings: Forwarding[] = [];
  while (!reader.isAtEnd) {
    const number = reader.varint();
    const first = number - reader.signed();
    forwardings.push({ out: number, in: first, timestampMs: reader.time() });
  }
  return { entity, kind, fundedBy: fundedBy === 0 ? null : fundedBy - 1, older, firstMs, forwardings };
}

function writeText(text: string): void {
  const bytes = Buffer.from(text, 'utf8');
  out.varint(bytes.length);
  out.copy(bytes, 0, bytes.length);
}

const readText = (): string => reader.text(reader.varint());

/** Packs a block with its accounts. The bytes are valid until the next record is packed. */
export function packBlock({ hash, firstOrdinal, count, nodes }: NotedBlock): Buffer {
  out.length = 0;
  writeText(hash);
  out.varint(firstOrdinal);
  out.varint(count);
  for (const node of nodes) out.varint(node);
  return written();
}

/** Unpacks a block without its accounts. */
export function unpackBlock(bytes: Buffer): Omit<NotedBlock, 'nodes'> {
  reader.open(bytes);
  return { hash: readText(), firstOrdinal: reader.varint(), count: reader.varint() };
}

/** Unpacks the accounts of a block. */
export function unpackNodes(bytes: Buffer): number[] {
  unpackBlock(bytes);
  const nodes: number[] = [];
  while (!reader.isAtEnd) nodes.push(reader.varint());
  return nodes;
}

const INVALID = 0x80;
/** The value of a hex digit in lower case; `INVALID` for every other character. */
const HEX = new Uint8Array(128).fill(INVALID);
for (let value = 0; value < 16; value++) HEX[value.toString(16).charCodeAt(0)] = value;

/**
 * Writes `bytes` bytes of lower-case hex after the `0x` of a text.
 *
 * @returns false if the text is not exactly that, so that reading it back would give another text
 */
export function writeHex(text: string, bytes: number, into: Uint8Array, at: number): boolean {
  if (text.length !== 2 + 2 * bytes || text.charCodeAt(0) !== 48 || text.charCodeAt(1) !== 120) return false;
  let seen = 0;
  for (let index = 0, from = 2; index < bytes; index++, from += 2) {
    const left = text.charCodeAt(from);
    const right = text.charCodeAt(from + 1);
    const high = left < 128 ? (HEX[left] as number) : INVALID;
    const low = right < 128 ? (HEX[right] as number) : INVALID;
    seen |= high | low;
    into[at + index] = (high << 4) | low;
  }
  return (seen & INVALID) === 0;
}

const HASH_BYTES = 32;
const ADDRESS_BYTES = 20;
/** Before the hash in a key: length, address, number of the origin, position of the log. */
const ORIGIN_BYTES = 2;
const INDEX_BYTES = 4;

/** Names that values of facts have; the number in a record is the place here plus one. Append only. */
const NAMES: readonly string[] = [
  ...['token0', 'token1', 'fee', 'singleton', 'factory', 'amount'],
  ...['remoteToken', 'owner'],
  ...['creator', 'standard', 'implementation', 'beacon', 'admin', 'readAt'],
];

const TEXT = 0;
const ADDRESS = 1;

/** What the facts of one source and kind share; stored once. */
export type Origin = Pick<Fact, 'rule' | 'by' | 'kind'>;

/** Bit of a record: the text of its transaction follows, because it is no hash of 32 bytes. */
const OTHER_HASH = 1;
const HAS_TIME = 2;

/** Returns the start of the keys of the facts about an address. */
export function factsPrefix(key: Uint8Array): Buffer {
  const bytes = Buffer.allocUnsafe(key.length + 1);
  bytes[0] = key.length;
  bytes.set(key, 1);
  return bytes;
}

/** The longest keys of addresses have about 260 bytes (memos, unified addresses). */
const keyBytes = Buffer.alloc(512);

/**
 * Returns the key of a fact, which identifies its log: the same log again has the same key. Valid until the next call.
 *
 * @param origin - the number of the fact's rule, source and kind
 */
export function packFactKey(key: Uint8Array, origin: number, { txHash, logIndex }: Fact): Buffer {
  let at = key.length + 1;
  keyBytes[0] = key.length;
  keyBytes.set(key, 1);
  keyBytes[at++] = origin >> 8;
  keyBytes[at++] = origin & 0xff;
  keyBytes.writeUInt32BE(logIndex, at);
  at += INDEX_BYTES;
  if (!writeHex(txHash, HASH_BYTES, keyBytes, at))
    keyBytes.set(createHash('sha256').update(txHash).digest(), at);
  return keyBytes.subarray(0, at + HASH_BYTES);
}

function writeValue(name: string, value: string): void {
  const number = NAMES.indexOf(name) + 1;
  out.byte(number);
  if (number === 0) writeText(name);
  out.reserve(1 + ADDRESS_BYTES);
  if (writeHex(value, ADDRESS_BYTES, out.bytes, out.length + 1)) {
    out.bytes[out.length] = ADDRESS;
    out.length += 1 + ADDRESS_BYTES;
    return;
  }
  out.byte(TEXT);
  writeText(value);
}

const hashScratch = Buffer.alloc(HASH_BYTES);

/** Packs what the key of a fact does not have. The bytes are valid until the next record is packed. */
export function packFact({ blockNumber, timestampMs, txHash, values }: Fact): Buffer {
  const isHash = writeHex(txHash, HASH_BYTES, hashScratch, 0);
  out.length = 0;
  out.byte((isHash ? 0 : OTHER_HASH) | (timestampMs === null ? 0 : HAS_TIME));
  out.varint(blockNumber);
  if (timestampMs !== null) out.time(timestampMs);
  if (!isHash) writeText(txHash);
  for (const name in values) writeValue(name, values[name] as string);
  return written();
}

/** Returns the address of a key of a fact. */
export const addressOfFact = (key: Buffer): Buffer => key.subarray(1, 1 + (key[0] as number));

/** Returns the number of the origin in the key of a fact. */
export const originOfFact = (key: Buffer): number => key.readUInt16BE(1 + (key[0] as number));

/** Returns the block in the record of a fact. */
export function blockOfFact(bytes: Buffer): number {
  reader.open(bytes).byte();
  return reader.varint();
}

/** Unpacks a fact. */
export function unpackFact(key: Buffer, bytes: Buffer, { rule, by, kind }: Origin): Fact {
  const indexAt = 1 + (key[0] as number) + ORIGIN_BYTES;
  const hashAt = indexAt + INDEX_BYTES;
  reader.open(bytes);
  const flags = reader.byte();
  const blockNumber = reader.varint();
  const timestampMs = flags & HAS_TIME ? reader.time() : null;
  const txHash = flags & OTHER_HASH ? readText() : `0x${key.toString('hex', hashAt, hashAt + HASH_BYTES)}`;
  const values: Record<string, string> = {};
  while (!reader.isAtEnd) {
    const number = reader.byte();
    const name = number === 0 ? readText() : (NAMES[number - 1] ?? String(number));
    if (reader.byte() === TEXT) {
      values[name] = readText();
      continue;
    }
    const start = reader.at;
    reader.skip(ADDRESS_BYTES);
    values[name] = `0x${reader.bytes.toString('hex', start, start + ADDRESS_BYTES)}`;
  }
  return {
    ...{ rule, by, kind, blockNumber, txHash, logIndex: key.readUInt32BE(indexAt) },
    ...{ timestampMs, values },
  };
}
