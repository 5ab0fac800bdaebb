/**
 * The text of an API key: `assay_live_`, 32 random base62 characters, and 6 characters of their CRC-32, so that a scanner can distinguish a
 * leaked key from random text. Also the digest by which a process recognises a key that it has verified, without keeping its text.
 */
import type { Random } from '../base/random.ts';

export const TOKEN_PREFIX = 'assay_live_';
const SECRET_CHARS = 32;
const CHECK_CHARS = 6;
export const TOKEN_CHARS: number = TOKEN_PREFIX.length + SECRET_CHARS + CHECK_CHARS;
/** Number of four-character words that hold the secret and its check. */
const WORDS = Math.ceil((SECRET_CHARS + CHECK_CHARS) / 4);

const BASE62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** CRC-32 of ISO 3309 (reflected, polynomial 0xEDB88320), as in zlib. */
function crc32(text: string): number {
  let crc = 0xffffffff;
  for (let index = 0; index < text.length; index++) {
    crc ^= text.charCodeAt(index);
    for (let bit = 0; bit < 8; bit++) crc = (crc >>> 1) ^ (0xedb88320 & -(crc & 1));
  }
  return (crc ^ 0xffffffff) >>> 0;
}

/** 6 base62 digits hold 35 bits, so every CRC-32 fits; leading zeros are kept. */
function checkOf(secret: string): string {
  let rest = crc32(secret);
  let text = '';
  for (let digit = 0; digit < CHECK_CHARS; digit++) {
    text = (BASE62[rest % 62] as string) + text;
    rest = Math.floor(rest / 62);
  }
  return text;
}

/** Generates a new key with 190 bits of randomness. Bytes of 248 and above are discarded, so that every character is equally likely. */
export function newToken(random: Random): string {
  let secret = '';
  while (secret.length < SECRET_CHARS) {
    for (const byte of random.bytes(SECRET_CHARS)) {
      if (byte < 248 && secret.length < SECRET_CHARS) secret += BASE62[byte % 62];
    }
  }
  return TOKEN_PREFIX + secret + checkOf(secret);
}

const SHAPE = new RegExp(`^${TOKEN_PREFIX}[0-9A-Za-z]{${SECRET_CHARS + CHECK_CHARS}}$`);

/** Returns true if a text has the form and check characters of a key; rejects random text without a read of the store. */
export function isTokenShaped(text: string): boolean {
  if (text.length !== TOKEN_CHARS || !SHAPE.test(text)) return false;
  const secret = text.slice(TOKEN_PREFIX.length, TOKEN_PREFIX.length + SECRET_CHARS);
  return checkOf(secret) === text.slice(-CHECK_CHARS);
}

/** Returns the parts of a key that may be shown: its first characters and its last four. */
export const visibleParts = (token: string): { prefix: string; last4: string } => ({
  prefix: token.slice(0, TOKEN_PREFIX.length + 4),
  last4: token.slice(-4),
});

/**
 * Creates a function that writes a 128-bit digest of a token to `out[0..3]`; only this process can compute it. The digest is two lanes of
 * HalfSipHash-1-3 (Aumasson and Bernstein; 64 bits out, 64 bits of key each) side by side, and takes a fifth of the time of a SHA-256. The
 * digest never leaves the process, so an attacker cannot search for a second text with the same digest. The caller must have checked the
 * length and the prefix of the token.
 */
export function createTokenDigest(random: Random): (token: string, out: Uint32Array) => void {
  const seed = random.bytes(16);
  const view = new DataView(seed.buffer, seed.byteOffset, 16);
  const key0 = view.getInt32(0, true);
  const key1 = view.getInt32(4, true);
  const key2 = view.getInt32(8, true);
  const key3 = view.getInt32(12, true);
  const end = TOKEN_CHARS;

  return (token, out) => {
    let a0 = key0;
    let a1 = key1 ^ 0xee;
    let a2 = key0 ^ 0x6c796765;
    let a3 = key1 ^ 0x74656462;
    let b0 = key2;
    let b1 = key3 ^ 0xee;
    let b2 = key2 ^ 0x6c796765;
    let b3 = key3 ^ 0x74656462;
    // The words of the token (the last one overlaps the word before), then 3 + 3 rounds of finalisation.
    for (let step = 0; step < WORDS + 6; step++) {
      let word = 0;
      if (step < WORDS) {
        const base = step === WORDS - 1 ? end - 4 : TOKEN_PREFIX.length + (step << 2);
        word =
          token.charCodeAt(base) |
          (token.charCodeAt(base + 1) << 8) |
          (token.charCodeAt(base + 2) << 16) |
          (token.charCodeAt(base + 3) << 24);
      } else if (step === WORDS) {
        a2 ^= 0xee;
        b2 ^= 0xee;
      } else if (step === WORDS + 3) {
        out[0] = a1 ^ a3;
        out[2] = b1 ^ b3;
        a1 ^= 0xdd;
        b1 ^= 0xdd;
      }
      a3 ^= word;
      b3 ^= word;
      a0 = (a0 + a1) | 0;
      b0 = (b0 + b1) | 0;
      a1 = ((a1 << 5) | (a1 >>> 27)) ^ a0;
      b1 = ((b1 << 5) | (b1 >>> 27)) ^ b0;
      a0 = (a0 << 16) | (a0 >>> 16);
      b0 = (b0 << 16) | (b0 >>> 16);
      a2 = (a2 + a3) | 0;
      b2 = (b2 + b3) | 0;
      a3 = ((a3 << 8) | (a3 >>> 24)) ^ a2;
      b3 = ((b3 << 8) | (b3 >>> 24)) ^ b2;
      a0 = (a0 + a3) | 0;
      b0 = (b0 + b3) | 0;
      a3 = ((a3 << 7) | (a3 >>> 25)) ^ a0;
      b3 = ((b3 << 7) | (b3 >>> 25)) ^ b0;
      a2 = (a2 + a1) | 0;
      b2 = (b2 + b1) | 0;
      a1 = ((a1 << 13) | (a1 >>> 19)) ^ a2;
      b1 = ((b1 << 13) | (b1 >>> 19)) ^ b2;
      a2 = (a2 << 16) | (a2 >>> 16);
      b2 = (b2 << 16) | (b2 >>> 16);
      a0 ^= word;
      b0 ^= word;
    }
    out[1] = a1 ^ a3;
    out[3] = b1 ^ b3;
  };
}
