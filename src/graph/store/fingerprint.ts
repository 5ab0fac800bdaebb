/**
 * Fingerprints of transactions and positions, which make a second import of the same file a no-op. HalfSipHash-2-4 with 64 bits of output
 * (J.-P. Aumasson, D. J. Bernstein, "SipHash: a fast short-input PRF", 2012) with a secret of the store, so that an attacker cannot create
 * two transactions with the same fingerprint.
 */

/** Packed forms of a transaction id: a tag, then 32 bytes of hex with or without 0x, or any other text. */
const PREFIXED_HEX = 0;
const TEXT = 1;
const PLAIN_HEX = 2;

const HEX_64 = /^(?:0x)?[0-9a-f]{64}$/;

/** Packs a transaction id. */
export function packTransaction(txHash: string): Buffer {
  if (!HEX_64.test(txHash)) return Buffer.concat([Buffer.of(TEXT), Buffer.from(txHash, 'utf8')]);
  const isPrefixed = txHash.length === 66;
  const packed = Buffer.allocUnsafe(33);
  packed[0] = isPrefixed ? PREFIXED_HEX : PLAIN_HEX;
  packed.write(isPrefixed ? txHash.slice(2) : txHash, 1, 'hex');
  return packed;
}

/** Unpacks a transaction id. */
export function unpackTransaction(packed: Uint8Array): string {
  const id = Buffer.from(packed.buffer, packed.byteOffset + 1, packed.length - 1);
  if (packed[0] === TEXT) return id.toString('utf8');
  return `${packed[0] === PREFIXED_HEX ? '0x' : ''}${id.toString('hex')}`;
}

/** Bytes of a packed id with this tag if the length is fixed. Null for a text. */
export const packedLength = (tag: number): number | null => (tag === TEXT ? null : 33);

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

/** Key of a transaction: 64 bits of keyed hash, and 32 bits of the id itself, against accidental collisions. */
export function transactionKey(packed: Uint8Array, fingerprint: Fingerprinter): Buffer {
  fingerprint.hash(packed, 0, packed.length);
  const key = Buffer.alloc(FINGERPRINT_BYTES);
  key.writeUInt32BE(fingerprint.high, 0);
  key.writeUInt32BE(fingerprint.low, 4);
  key.set(packed.subarray(Math.max(0, packed.length - 4)), 8);
  return key;
}
