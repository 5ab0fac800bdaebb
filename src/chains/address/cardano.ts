/** Cardano addresses: Shelley (CIP-19, bech32) by the type in their header, and Byron (base58 of CBOR with CRC-32). */
import { base58, bech32 } from '@scure/base';
import { BITCOIN_DIGITS, DECODED_END, decodeBase58, decoded, NOT_BASE58 } from './base58.ts';
import { BECH32, decodeBech32, unpacked, unpackWords } from './bech32.ts';
import {
  CHARACTERS,
  CHECKSUM,
  FORM,
  fault,
  LENGTH,
  NETWORK,
  PREFIX,
  parsed,
  startsWith,
  VERSION,
  type WriteKey,
} from './fault.ts';

const ADA = 13;

interface ShelleyRow {
  /** Upper four bits of the first byte. The kind byte of the key is 16 + type. */
  readonly type: number;
  readonly kind: string;
  readonly hrp: 'addr' | 'stake';
  /** Size of header and hashes; a pointer has three numbers in addition. */
  readonly bytes: number;
}

const SHELLEY: readonly ShelleyRow[] = [
  { type: 0, kind: 'base', hrp: 'addr', bytes: 57 },
  { type: 1, kind: 'base_script', hrp: 'addr', bytes: 57 },
  { type: 2, kind: 'base_stake_script', hrp: 'addr', bytes: 57 },
  { type: 3, kind: 'base_script_stake_script', hrp: 'addr', bytes: 57 },
  { type: 4, kind: 'pointer', hrp: 'addr', bytes: 29 },
  { type: 5, kind: 'pointer_script', hrp: 'addr', bytes: 29 },
  { type: 6, kind: 'enterprise', hrp: 'addr', bytes: 29 },
  { type: 7, kind: 'enterprise_script', hrp: 'addr', bytes: 29 },
  { type: 14, kind: 'reward', hrp: 'stake', bytes: 29 },
  { type: 15, kind: 'reward_script', hrp: 'stake', bytes: 29 },
];
const BYRON = 1;
const SHELLEY_KIND = 16;
const POINTER_TYPES = [4, 5];
/** A pointer is slot, transaction and certificate index, each with at most ten groups of seven bits. */
const POINTER_BYTES_MAX = 30;
const MAINNET = 1;

/** Writes the key of a Shelley or Byron address. See `WriteKey`. */
export const writeAdaKey: WriteKey = (bytes, start, end, out, at) => {
  if (
    startsWith(bytes, start, end, 'addr_test1', true) ||
    startsWith(bytes, start, end, 'stake_test1', true)
  ) {
    return fault(NETWORK, 'belongs to a test network');
  }
  if (startsWith(bytes, start, end, 'addr1', true)) return writeShelley('addr', bytes, start, end, out, at);
  if (startsWith(bytes, start, end, 'stake1', true)) return writeShelley('stake', bytes, start, end, out, at);
  return writeByron(bytes, start, end, out, at);
};

function writeShelley(
  hrp: 'addr' | 'stake',
  bytes: Uint8Array,
  start: number,
  end: number,
  out: Uint8Array,
  at: number,
): number {
  const count = decodeBech32(bytes, start, end, hrp.length, BECH32);
  if (count < 0) return count;
  const length = unpackWords(0, count);
  if (length < 0) return length;
  const header = unpacked[0] as number;
  const row = SHELLEY.find((each) => each.type === header >> 4);
  if (row === undefined) return fault(VERSION, 'has an unknown address type');
  if (row.hrp !== hrp) return fault(PREFIX, 'has a prefix that does not fit its type');
  if ((header & 15) !== MAINNET) return fault(NETWORK, 'belongs to a test network');
  if (POINTER_TYPES.includes(row.type)) {
    if (!isPointer(row.bytes, length)) return fault(FORM, 'has a malformed pointer');
  } else if (length !== row.bytes) return fault(LENGTH, 'has a payload of the wrong length');
  return parsed(put(SHELLEY_KIND + row.type, unpacked, 0, length, out, at), row.kind);
}

/** Returns whether `unpacked[from, to)` is three numbers with seven bits per byte, most significant first. */
function isPointer(from: number, to: number): boolean {
  if (to - from > POINTER_BYTES_MAX) return false;
  let numbers = 0;
  for (let i = from; i < to; i++) if ((unpacked[i] as number) < 128) numbers++;
  return numbers === 3 && (unpacked[to - 1] as number) < 128;
}

function put(
  kindByte: number,
  source: Uint8Array,
  from: number,
  length: number,
  out: Uint8Array,
  at: number,
): number {
  out[at] = ADA;
  out[at + 1] = kindByte;
  for (let i = 0; i < length; i++) out[at + 2 + i] = source[from + i] as number;
  return length + 2;
}

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value;
});

/** CRC-32 of ISO 3309, as in zip. */
function crc32(bytes: Uint8Array, from: number, to: number): number {
  let crc = 0xffffffff;
  for (let i = from; i < to; i++) {
    crc = (crc >>> 8) ^ (CRC_TABLE[(crc ^ (bytes[i] as number)) & 255] as number);
  }
  return (crc ^ 0xffffffff) >>> 0;
}

let cborValue = 0;
/** The length or number of the last head; a function, because the compiler assumes that calls do not change the variable. */
const cborNumber = (): number => cborValue;
/**
 * Returns the offset of the body of a CBOR item of `major`, after a length or number in its shortest form; -1 if there is no such item.
 */
function readCborHead(major: number, at: number): number {
  const head = decoded[at];
  if (at >= DECODED_END || head === undefined || head >> 5 !== major) return -1;
  const short = head & 31;
  if (short < 24) {
    cborValue = short;
    return at + 1;
  }
  const size = short === 24 ? 1 : short === 25 ? 2 : short === 26 ? 4 : 0;
  if (size === 0 || at + 1 + size > DECODED_END) return -1;
  cborValue = 0;
  for (let i = 1; i <= size; i++) cborValue = cborValue * 256 + (decoded[at + i] as number);
  const least = size === 1 ? 24 : size === 2 ? 256 : 65_536;
  return cborValue < least ? -1 : at + 1 + size;
}

const CBOR_UINT = 0;
const CBOR_BYTES = 2;
const CBOR_MAP = 5;
const ROOT_BYTES = 28;
/** Attributes of a Byron address: 1 is the encrypted derivation path, 2 the magic number of a test network. */
const NETWORK_MAGIC = 2;

/** Parses [tag 24 of bytes [root hash, {attributes}, type], CRC-32 of those bytes]; every number in its shortest form. */
function writeByron(bytes: Uint8Array, start: number, end: number, out: Uint8Array, at: number): number {
  const total = decodeBase58(bytes, start, end, BITCOIN_DIGITS);
  if (total === NOT_BASE58)
    return fault(CHARACTERS, 'contains a character that is not in the base58 or bech32 alphabet');
  if (total < 0) return fault(LENGTH, 'is too long');
  const from = DECODED_END - total;
  if (decoded[from] !== 0x82 || decoded[from + 1] !== 0xd8 || decoded[from + 2] !== 24) {
    return fault(PREFIX, 'must begin with addr1 or stake1, or be a Byron address');
  }
  const inner = readCborHead(CBOR_BYTES, from + 3);
  const innerEnd = inner + cborNumber();
  if (inner < 0 || innerEnd >= DECODED_END) return fault(FORM, 'is a malformed Byron address');
  if (readCborHead(CBOR_UINT, innerEnd) !== DECODED_END) return fault(FORM, 'is a malformed Byron address');
  if (cborNumber() !== crc32(decoded, inner, innerEnd)) return fault(CHECKSUM, 'has a wrong checksum');
  const code = checkByronBody(inner, innerEnd);
  if (code < 0) return code;
  return parsed(put(BYRON, decoded, inner, innerEnd - inner, out, at), 'byron');
}

function checkByronBody(from: number, to: number): number {
  const malformed = 'is a malformed Byron address';
  if (decoded[from] !== 0x83) return fault(FORM, malformed);
  const root = readCborHead(CBOR_BYTES, from + 1);
  if (root < 0 || cborNumber() !== ROOT_BYTES) return fault(FORM, malformed);
  let at = readCborHead(CBOR_MAP, root + ROOT_BYTES);
  if (at < 0) return fault(FORM, malformed);
  for (let left = cborNumber(); left > 0; left--) {
    const body = readCborHead(CBOR_UINT, at);
    if (body < 0) return fault(FORM, malformed);
    if (cborNumber() === NETWORK_MAGIC) return fault(NETWORK, 'belongs to a test network');
    const value = readCborHead(CBOR_BYTES, body);
    if (value < 0 || value + cborNumber() > to) return fault(FORM, malformed);
    at = value + cborNumber();
  }
  return readCborHead(CBOR_UINT, at) === to ? 0 : fault(FORM, malformed);
}

/** Formats a Cardano payload in bech32, or in base58 if it is a Byron address; null for an unknown kind. */
export function formatAda(kindByte: number, payload: Uint8Array): string | null {
  if (kindByte === BYRON) return formatByron(payload);
  const row = SHELLEY.find((each) => SHELLEY_KIND + each.type === kindByte);
  return row === undefined ? null : bech32.encode(row.hrp, bech32.toWords(payload), false);
}

function cborHead(major: number, value: number): number[] {
  if (value < 24) return [(major << 5) | value];
  const size = value < 256 ? 1 : value < 65_536 ? 2 : 4;
  const bytes = Array.from({ length: size }, (_, i) => Math.floor(value / 256 ** (size - 1 - i)) % 256);
  return [(major << 5) | (size === 1 ? 24 : size === 2 ? 25 : 26), ...bytes];
}

function formatByron(payload: Uint8Array): string {
  const crc = cborHead(CBOR_UINT, crc32(payload, 0, payload.length));
  return base58.encode(
    Uint8Array.of(0x82, 0xd8, 24, ...cborHead(CBOR_BYTES, payload.length), ...payload, ...crc),
  );
}
