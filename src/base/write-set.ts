/**
 * Write sets: what a transaction wrote, as bytes that go to Redis and come back to every node. One is a run of (length of the field
 * u32, length of the value u32, field, value), big-endian, where a length of 0xFFFFFFFF says that the record was removed. A field is
 * the length of the name of the database (u8), the name, and the key as LMDB holds it.
 */
import { AssayError } from './errors.ts';

/** LMDB's own limit of a key is 1,978 bytes: a field holds a name beside it. */
const KEY_BYTES_MAX = 1_900;
const NAME_BYTES_MAX = 63;
const HEAD_BYTES = 8;
const REMOVED = 0xffff_ffff;

/** One record; `value` is null where it was removed. */
export interface Write {
  readonly database: string;
  /** As LMDB holds it. */
  readonly key: Buffer;
  readonly value: Buffer | null;
}

export interface WriteSet {
  /** From 1, without gaps. */
  readonly version: number;
  /** Names this write set among all of its store, and those of a history that was lost. */
  readonly id: string;
  /** Id of the one before it; empty of the first. */
  readonly before: string;
  readonly writes: readonly Write[];
}

export function fieldOf(database: string, key: Buffer): Buffer {
  const name = Buffer.from(database);
  if (name.length > NAME_BYTES_MAX || key.length > KEY_BYTES_MAX)
    throw new AssayError('INTERNAL', `A key of ${key.length} bytes is too long for the store ${database}.`);
  return Buffer.concat([Buffer.from([name.length]), name, key]);
}

export function partsOfField(field: Buffer): Pick<Write, 'database' | 'key'> {
  const end = 1 + (field[0] ?? 0);
  return { database: field.toString('utf8', 1, end), key: field.subarray(end) };
}

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

/** Throws STORE_CORRUPT where the bytes are none of ours. */
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
