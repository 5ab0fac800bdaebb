/** Bech32 (BIP 173) and Bech32m (BIP 350), without their length limit: the codec of each chain limits the length. */
import { CHARACTERS, CHECKSUM, digitTable, FORM, fault, LENGTH } from './fault.ts';

export const BECH32_DIGITS = digitTable('qpzry9x8gf2tvdw0s3jn54khce6mua7l');

/** Checksum constants of the two variants. */
export const BECH32 = 1;
export const BECH32M = 0x2bc830a3;

const CHECKSUM_WORDS = 6;
const WORDS_MAX = 512;

/** The five-bit words of the last text, and the bytes of the last `unpackWords`. Valid until the next call on the same thread. */
export const words = new Uint8Array(WORDS_MAX);
export const unpacked = new Uint8Array((WORDS_MAX * 5) >> 3);

/** Returns whether ASCII letters of both cases occur. */
export function hasMixedCase(bytes: Uint8Array, start: number, end: number): boolean {
  let hasUpper = false;
  let hasLower = false;
  for (let i = start; i < end; i++) {
    const byte = bytes[i] as number;
    if (byte >= 65 && byte <= 90) hasUpper = true;
    else if (byte >= 97 && byte <= 122) hasLower = true;
  }
  return hasUpper && hasLower;
}

function step(checksum: number, word: number): number {
  const top = checksum >>> 25;
  let next = ((checksum & 0x1ffffff) << 5) ^ word;
  if (top & 1) next ^= 0x3b6a57b2;
  if (top & 2) next ^= 0x26508e6d;
  if (top & 4) next ^= 0x1ea119fa;
  if (top & 8) next ^= 0x3d4233dd;
  if (top & 16) next ^= 0x2a1462b3;
  return next;
}

/** Returns the bits that a step of the checksum adds for each value of the five highest bits. */
export const bech32Steps = (): Int32Array => Int32Array.from({ length: 32 }, (_, top) => step(top << 25, 0));

/** Returns the checksum after a prefix in lower case. */
export function bech32State(hrp: string): number {
  const codes = [...Buffer.from(hrp, 'latin1')];
  return [...codes.map((code) => code >> 5), 0, ...codes.map((code) => code & 31)].reduce(step, 1);
}

/**
 * Decodes a text after its prefix (`hrpLength` bytes) has already been recognized; the checksum must be that of `constant`.
 *
 * @returns the number of `words` without the checksum, or a fault code
 */
export function decodeBech32(
  bytes: Uint8Array,
  start: number,
  end: number,
  hrpLength: number,
  constant: number,
): number {
  const data = start + hrpLength + 1;
  if (bytes[data - 1] !== 49) return fault(FORM, "has no '1' behind its prefix");
  const count = end - data - CHECKSUM_WORDS;
  if (count < 1) return fault(LENGTH, 'is too short');
  if (count > WORDS_MAX) return fault(LENGTH, 'is too long');
  if (hasMixedCase(bytes, start, end)) return fault(CHARACTERS, 'mixes upper and lower case');
  let checksum = 1;
  for (let i = start; i < data - 1; i++) checksum = step(checksum, lower(bytes[i] as number) >> 5);
  checksum = step(checksum, 0);
  for (let i = start; i < data - 1; i++) checksum = step(checksum, lower(bytes[i] as number) & 31);
  for (let i = data; i < end; i++) {
    const word = BECH32_DIGITS[lower(bytes[i] as number)] as number;
    if (word === 255) return fault(CHARACTERS, 'contains a character that is not in the bech32 alphabet');
    if (i - data < count) words[i - data] = word;
    checksum = step(checksum, word);
  }
  if (checksum === constant) return count;
  if (checksum === BECH32 || checksum === BECH32M) {
    return fault(
      CHECKSUM,
      constant === BECH32
        ? 'needs the bech32 checksum, not bech32m'
        : 'needs the bech32m checksum, not bech32',
    );
  }
  return fault(CHECKSUM, 'has a wrong checksum');
}

const lower = (byte: number): number => (byte >= 65 && byte <= 90 ? byte + 32 : byte);

/**
 * Packs `words[from, count)` into `unpacked`.
 *
 * @returns the number of bytes, or a fault code if the padding is invalid
 */
export function unpackWords(from: number, count: number): number {
  let pending = 0;
  let bits = 0;
  let length = 0;
  for (let i = from; i < count; i++) {
    pending = ((pending << 5) | (words[i] as number)) & 0xfff;
    bits += 5;
    if (bits >= 8) {
      bits -= 8;
      unpacked[length++] = (pending >> bits) & 255;
    }
  }
  if (bits > 4 || (pending & ((1 << bits) - 1)) !== 0)
    return fault(FORM, 'has padding bits that are not zero');
  return length;
}
