/**
 * Write sets: the writes of a transaction as bytes that are sent to Redis and to every node. A write set is a sequence of (length of the
 * field u32, length of the value u32, field, value), big-endian; a value length of 0xFFFFFFFF means that the record was removed. A field is
 * the length of the database name (u8), the name, and the key as LMDB holds it.
 */
import { AssayError } from '../base/errors.ts';

/** LMDB limits a key to 1,978 bytes, and a field also holds a database name. */
const KEY_BYTES_MAX = 1_900;
const NAME_BYTES_MAX = 63;
const HEAD_BYTES = 8;
const REMOVED = 0xffff_ffff;

/** One write; `value` is null if the record was removed. */
export interface Write {
  readonly database: string;
  /** The key as LMDB holds it. */
  readonly key: Buffer;
  readonly value: Buffer | null;
}

export interface WriteSet {
  /** From 1, without gaps. */
  readonly version: number;
  /** Unique among all write sets of the store, including those of a lost history. */
  readonly id: string;
  /** Id of the previous write set; empty for the first. */
  readonly before: string;
  readonly writes: readonly Write[];
}

/**
 * Returns the field of a record: the database name and the key as one key.
 *
 * @throws INTERNAL if the name or the key is too long
 */
export function fieldOf(database: string, key: Buffer): Buffer {
  const name = Buffer.from(database);
  if (name.length > NAME_BYTES_MAX || key.length > KEY_BYTES_MAX)
    throw new AssayError('INTERNAL', `A key of ${key.length} bytes is too long for the store ${database}.`);
  return Buffer.concat([Buffer.from([name.length]), name, key]);
}

/** Splits a field into the database name and the key. */
export function partsOfField(field: Buffer): Pick<Write, 'database' | 'key'> {
  const end = 1 + (field[0] ?? 0);
  return { database: field.toString('utf8', 1, end), key: field.subarray(end) };
}

/** Encodes writes as a write set. */
export function encodeWrites(writes: readonly Write[]): Buffer {
  const parts: Buffer[] = [];
  for (const { database, key, value } of writes) {
    const field = fieldOf(database, key);
    const head = Buffer.alloc(HEAD_BYTES);
    head.writeUInt32BE(field.length, 0);
    head.writeUInt32BE(value === null ? REMOVED : value.length, 4);
    parts.push(head, field);
    if (value !== null) parts.push(value);
  }
  return Buffer.concat(parts);
}

/**
 * Decodes a write set.
 *
 * @throws STORE_CORRUPT if the bytes are not a write set
 */
export function decodeWrites(bytes: Buffer): Write[] {
  const writes: Write[] = [];
  let at = 0;
  while (at < bytes.length) {
    if (at + HEAD_BYTES > bytes.length) throw broken();
    const fieldBytes = bytes.readUInt32BE(at);
    const valueBytes = bytes.readUInt32BE(at + 4);
    const valueAt = at + HEAD_BYTES + fieldBytes;
    const end = valueBytes === REMOVED ? valueAt : valueAt + valueBytes;
    if (end > bytes.length) throw broken();
    writes.push({
      ...partsOfField(bytes.subarray(at + HEAD_BYTES, valueAt)),
      value: valueBytes === REMOVED ? null : bytes.subarray(valueAt, end),
    });
    at = end;
  }
  return writes;
}

const broken = (): AssayError =>
  new AssayError('STORE_CORRUPT', 'Redis holds a write set that this version of Assay cannot read.');
