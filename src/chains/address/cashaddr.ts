/** Cashaddr of Bitcoin Cash (CHIP "cashaddr", with the token-aware types of CashTokens and 32-byte script hashes). */
import { bech32 } from '@scure/base';
import { BECH32_DIGITS, hasMixedCase, unpacked, unpackWords, words } from './bech32.ts';
import { CHARACTERS, CHECKSUM, fault, LENGTH, parsed, startsWith, VERSION } from './fault.ts';

const PREFIX_TEXT = 'bitcoincash:';
const CHECKSUM_WORDS = 8;

/** The generator of the 40-bit checksum as upper and lower 20 bits, because it exceeds 32-bit arithmetic. */
const GENERATOR_HIGH = Int32Array.of(0x98f2b, 0x79b76, 0xf33e5, 0xae2ea, 0x1e4f4);
const GENERATOR_LOW = Int32Array.of(0xc8e61, 0xd99e2, 0xfb3c4, 0xbe2a8, 0x3e470);

interface CashaddrRow {
  readonly version: number;
  readonly hashBytes: number;
  readonly kindByte: number;
  readonly kind: string;
}

/** A version byte has four bits of type and three bits of size. The token-aware types name the same account. */
const VERSIONS: readonly CashaddrRow[] = [
  { version: 0x00, hashBytes: 20, kindByte: 1, kind: 'p2pkh' },
  { version: 0x08, hashBytes: 20, kindByte: 2, kind: 'p2sh' },
  { version: 0x0b, hashBytes: 32, kindByte: 6, kind: 'p2sh32' },
  { version: 0x10, hashBytes: 20, kindByte: 1, kind: 'p2pkh' },
  { version: 0x18, hashBytes: 20, kindByte: 2, kind: 'p2sh' },
  { version: 0x1b, hashBytes: 32, kindByte: 6, kind: 'p2sh32' },
];

/** Lengths of the part after the colon: 21 or 33 bytes in five-bit words, plus the checksum. */
const PAYLOAD_CHARS = [42, 61];

/** Returns whether a text is meant as cashaddr: it has the prefix, or the length of a payload, which no base58 address has. */
export function isCashaddrPayload(bytes: Uint8Array, start: number, end: number): boolean {
  return PAYLOAD_CHARS.includes(end - start) || startsWith(bytes, start, end, PREFIX_TEXT, true);
}

let high = 0;
let low = 0;

function absorb(word: number): void {
  const top = high >>> 15;
  high = ((high & 0x7fff) << 5) | (low >>> 15);
  low = ((low & 0x7fff) << 5) ^ word;
  for (let bit = 0; bit < 5; bit++) {
    if (((top >>> bit) & 1) === 0) continue;
    high ^= GENERATOR_HIGH[bit] as number;
    low ^= GENERATOR_LOW[bit] as number;
  }
}

function absorbPrefix(): void {
  high = 0;
  low = 1;
  for (let i = 0; i < PREFIX_TEXT.length - 1; i++) absorb(PREFIX_TEXT.charCodeAt(i) & 31);
  absorb(0);
}

/** See `WriteKey`. The prefix is optional, and letters may be all upper case. */
export function writeCashaddrKey(
  keyByte: number,
  bytes: Uint8Array,
  start: number,
  end: number,
  out: Uint8Array,
  at: number,
): number {
  if (hasMixedCase(bytes, start, end)) return fault(CHARACTERS, 'mixes upper and lower case');
  const data = startsWith(bytes, start, end, PREFIX_TEXT, true) ? start + PREFIX_TEXT.length : start;
  const count = end - data - CHECKSUM_WORDS;
  if (!PAYLOAD_CHARS.includes(end - data))
    return fault(LENGTH, 'must have 42 or 61 characters after the prefix');
  absorbPrefix();
  for (let i = data; i < end; i++) {
    const byte = bytes[i] as number;
    const word = BECH32_DIGITS[byte >= 65 && byte <= 90 ? byte + 32 : byte] as number;
    if (word === 255) return fault(CHARACTERS, 'contains a character that is not in the cashaddr alphabet');
    if (i - data < count) words[i - data] = word;
    absorb(word);
  }
  if (high !== 0 || low !== 1) return fault(CHECKSUM, 'has a wrong checksum');
  const length = unpackWords(0, count);
  if (length < 0) return length;
  const row = VERSIONS.find((each) => each.version === unpacked[0]);
  if (row === undefined) return fault(VERSION, 'has an unknown cashaddr version');
  if (length !== row.hashBytes + 1) return fault(LENGTH, 'has a hash of the wrong length');
  out[at] = keyByte;
  out[at + 1] = row.kindByte;
  for (let i = 1; i < length; i++) out[at + 1 + i] = unpacked[i] as number;
  return parsed(length + 1, row.kind);
}

/** Returns the text with its prefix, in lower case; null for a kind that cashaddr does not have. */
export function formatCashaddr(kindByte: number, hash: Uint8Array): string | null {
  const row = VERSIONS.find((each) => each.kindByte === kindByte);
  if (row === undefined) return null;
  const data = bech32.toWords(Uint8Array.of(row.version, ...hash));
  absorbPrefix();
  for (const word of data) absorb(word);
  for (let i = 0; i < CHECKSUM_WORDS; i++) absorb(0);
  low ^= 1;
  const checksum = Array.from({ length: CHECKSUM_WORDS }, (_, i) => {
    const shift = 5 * (CHECKSUM_WORDS - 1 - i);
    return (shift >= 20 ? high >>> (shift - 20) : low >>> shift) & 31;
  });
  return PREFIX_TEXT + [...data, ...checksum].map((word) => CHARSET.charAt(word)).join('');
}

const CHARSET = 'qpzry9x8gf2tvdw0s3jn54khce6mua7l';
