/**
 * Fingerprints of transactions and positions, which make a second import of the same file a no-op. HalfSipHash-2-4 with 64 bits of output
 * (J.-P. Aumasson, D. J. Bernstein, "SipHash: a fast short-input PRF", 2012) with a secret of the store, so that an attacker cannot create
 * two transactions with the same fingerprint.
 */

/** Packed forms of a transaction id: a tag, then 32 bytes of hex with or without 0x, or any other text. */
const PREFIXED_HEX = 0;
const TEXT = 1;
const PLAIN_HEX = 2;

const HEX_DIGITS = 64;
/** Bytes of a packed id of hex. */
export const HEX_PACKED_BYTES = 1 + HEX_DIGITS / 2;
const PREFIX = '0x';
/** Values of the lower-case hex digits by character code. Others have the bit `NO_DIGIT`. */
const NO_DIGIT = 0x80;
const DIGITS = new Uint8Array(128).fill(NO_DIGIT);
for (const [value, digit] of [...'0123456789abcdef'].entries()) DIGITS[digit.charCodeAt(0)] = value;

/** Packs a transaction id. */
export const packTransaction = (txHash: string): Buffer =>
  packTransactionInto(txHash, Buffer.allocUnsafe(HEX_PACKED_BYTES));

/**
 * Packs a transaction id into memory of the caller if it is hex.
 *
 * @param into - `HEX_PACKED_BYTES`
 * @returns `into`, or new memory for an id of another form
 */
export function packTransactionInto(txHash: string, into: Buffer): Buffer {
  return packHex(txHash, into) ? into : Buffer.concat([Buffer.of(TEXT), Buffer.from(txHash, 'utf8')]);
}

/** Returns false if the id has another form. */
function packHex(txHash: string, packed: Buffer): boolean {
  const start = txHash.length - HEX_DIGITS;
  if (start !== 0 && !(start === PREFIX.length && txHash.startsWith(PREFIX))) return false;
  packed[0] = start === 0 ? PLAIN_HEX : PREFIXED_HEX;
  let seen = 0;
  for (let at = start, byte = 1; byte < HEX_PACKED_BYTES; at += 2, byte++) {
    const high = DIGITS[txHash.charCodeAt(at)] ?? NO_DIGIT;
    const low = DIGITS[txHash.charCodeAt(at + 1)] ?? NO_DIGIT;
    seen |= high | low;
    packed[byte] = (high << 4) | low;
  }
  return (seen & NO_DIGIT) === 0;
}

/** Unpacks a transaction id. */
export function unpackTransaction(packed: Uint8Array): string {
  const id = Buffer.from(packed.buffer, packed.byteOffset + 1, packed.length - 1);
  if (packed[0] === TEXT) return id.toString('utf8');
  return `${packed[0] === PREFIXED_HEX ? '0x' : ''}${id.toString('hex')}`;
}

/** Bytes of a packed id with this tag if the length is fixed. Null for a text. */
export const packedLength = (tag: number): number | null => (tag === TEXT ? null : HEX_PACKED_BYTES);

const rotate = (value: number, bits: number): number => (value << bits) | (value >>> (32 - bits));

/** HalfSipHash with a secret of 8 bytes. */
export class Fingerprinter {
  readonly #k0: number;
  readonly #k1: number;
  /** Output of the last `hash`, as uint32. */
  low = 0;
  high = 0;

  constructor(secret: Uint8Array) {
    const bytes = Buffer.from(secret);
    this.#k0 = bytes.readInt32LE(0);
    this.#k1 = bytes.readInt32LE(4);
  }

  hash(bytes: Uint8Array, start: number, end: number): void {
    let v0 = this.#k0;
    let v1 = this.#k1 ^ 0xee;
    let v2 = 0x6c796765 ^ this.#k0;
    let v3 = 0x74656462 ^ this.#k1;
    const length = end - start;
    const words = length >> 2;
    let at = start;
    for (let index = 0; index <= words; index++) {
      let word: number;
      if (index < words) {
        word =
          (bytes[at] as number) |
          ((bytes[at + 1] as number) << 8) |
          ((bytes[at + 2] as number) << 16) |
          ((bytes[at + 3] as number) << 24);
        at += 4;
      } else {
        word = length << 24;
        for (let rest = 0; at + rest < end; rest++) word |= (bytes[at + rest] as number) << (8 * rest);
      }
      v3 ^= word;
      for (let round = 0; round < 2; round++) {
        v0 = (v0 + v1) | 0;
        v1 = rotate(v1, 5) ^ v0;
        v0 = rotate(v0, 16);
        v2 = (v2 + v3) | 0;
        v3 = rotate(v3, 8) ^ v2;
        v0 = (v0 + v3) | 0;
        v3 = rotate(v3, 7) ^ v0;
        v2 = (v2 + v1) | 0;
        v1 = rotate(v1, 13) ^ v2;
        v2 = rotate(v2, 16);
      }
      v0 ^= word;
    }
    v2 ^= 0xee;
    for (let half = 0; half < 2; half++) {
      for (let round = 0; round < 4; round++) {
        v0 = (v0 + v1) | 0;
        v1 = rotate(v1, 5) ^ v0;
        v0 = rotate(v0, 16);
        v2 = (v2 + v3) | 0;
        v3 = rotate(v3, 8) ^ v2;
        v0 = (v0 + v3) | 0;
        v3 = rotate(v3, 7) ^ v0;
        v2 = (v2 + v1) | 0;
        v1 = rotate(v1, 13) ^ v2;
        v2 = rotate(v2, 16);
      }
      if (half === 0) {
        this.low = (v1 ^ v3) >>> 0;
        v1 ^= 0xdd;
      } else this.high = (v1 ^ v3) >>> 0;
    }
  }
}

/** Prefixes of numbered positions that are stored as a code. Never reordered. */
const POSITION_WORDS = ['', 'log', 'out', 'in', 'trace', 'value', 'internal', 'fee'] as const;
const NUMBERED = /^(log|out|in|trace|value|internal|fee):(0|[1-9]\d{0,8})$/;
/** Code of the position `value`. */
export const VALUE_CODE = 1;

/** Encodes a position of a common form as a whole number below 2^35. Returns null for any other text. */
export function positionCode(position: string): number | null {
  if (position === 'value') return VALUE_CODE;
  const numbered = NUMBERED.exec(position);
  if (!numbered) return null;
  const word = POSITION_WORDS.indexOf(numbered[1] as (typeof POSITION_WORDS)[number]);
  return Number(numbered[2]) * 8 + word + 8;
}

/** Returns the position of a code from `positionCode`. */
export function positionText(code: number): string {
  if (code === VALUE_CODE) return 'value';
  return `${POSITION_WORDS[code % 8]}:${Math.floor(code / 8) - 1}`;
}

/** The greatest mark of a common form is below 2^35. */
export const PLAIN_MARK_MAX = 2 ** 35;
/** Marks from here on are fingerprints. */
export const HASHED_MARK = 2 ** 47;

/** A position as 48 bits: exact for the common forms, and a fingerprint of 46 bits behind `HASHED_MARK` for others. */
export function positionMark(position: string, fingerprint: Fingerprinter): number {
  const code = positionCode(position);
  if (code !== null) return code;
  const bytes = Buffer.from(position, 'utf8');
  fingerprint.hash(bytes, 0, bytes.length);
  return HASHED_MARK + (fingerprint.high & 0x3fff) * 2 ** 32 + fingerprint.low;
}

export const FINGERPRINT_BYTES = 12;

/**
 * Key of a transaction: 64 bits of keyed hash, and 32 bits of the id itself, against accidental collisions.
 *
 * @param key - receives the key
 */
export function transactionKey(
  packed: Uint8Array,
  fingerprint: Fingerprinter,
  key = Buffer.allocUnsafe(FINGERPRINT_BYTES),
): Buffer {
  fingerprint.hash(packed, 0, packed.length);
  key.writeUInt32BE(fingerprint.high, 0);
  key.writeUInt32BE(fingerprint.low, 4);
  const last = Math.max(0, packed.length - 4);
  for (let at = 0; at < 4; at++) key[8 + at] = packed[last + at] ?? 0;
  return key;
}
