/** SHA-256 (FIPS 180-4) for the short messages of checksums, without allocations per call. */
import { compress } from './sha256-compress.ts';

/** Longest message that fits one block: 64 bytes minus the end mark and the length. */
export const ONE_BLOCK_MAX = 55;

const state = new Int32Array(8);
const words = new Int32Array(16);
const LENGTH_WORD = 15;
const DIGEST_WORDS = 8;

function begin(): void {
  state[0] = 0x6a09e667;
  state[1] = 0xbb67ae85;
  state[2] = 0x3c6ef372;
  state[3] = 0xa54ff53a;
  state[4] = 0x510e527f;
  state[5] = 0x9b05688c;
  state[6] = 0x1f83d9ab;
  state[7] = 0x5be0cd19;
}

/** Computes the digest of `bytes[from, from + length)`, at most ONE_BLOCK_MAX bytes, into `state`. */
function hashBlock(bytes: Uint8Array, from: number, length: number): void {
  const whole = length >> 2;
  let at = from;
  for (let word = 0; word < whole; word++, at += 4) {
    words[word] =
      ((bytes[at] as number) << 24) |
      ((bytes[at + 1] as number) << 16) |
      ((bytes[at + 2] as number) << 8) |
      (bytes[at + 3] as number);
  }
  // The remaining bytes, the end mark, then zeros.
  const left = length & 3;
  let last = 0;
  for (let byte = 0; byte < left; byte++) last = (last << 8) | (bytes[at + byte] as number);
  words[whole] = ((last << 8) | 0x80) << (24 - 8 * left);
  // By loops: for so few words, a call costs more than the work.
  for (let word = whole + 1; word < LENGTH_WORD; word++) words[word] = 0;
  words[LENGTH_WORD] = length * 8;
  begin();
  compress(state, words);
}

/**
 * Returns the first four bytes of SHA-256(SHA-256(message)), the Base58Check checksum, as a signed 32-bit big-endian number. The
 * message is `bytes[from, from + length)`, at most ONE_BLOCK_MAX bytes. Not re-entrant, which is safe on a single thread.
 */
export function doubleSha256Head(bytes: Uint8Array, from: number, length: number): number {
  hashBlock(bytes, from, length);
  for (let word = 0; word < DIGEST_WORDS; word++) words[word] = state[word] as number;
  words[DIGEST_WORDS] = 0x80000000;
  for (let word = DIGEST_WORDS + 1; word < LENGTH_WORD; word++) words[word] = 0;
  words[LENGTH_WORD] = 256;
  begin();
  compress(state, words);
  return state[0] as number;
}

/**
 * Writes the first `count` bytes (at most 32) of the SHA-256 of `bytes[from, from + length)`, at most ONE_BLOCK_MAX bytes, to `out`.
 */
export function writeSha256(
  bytes: Uint8Array,
  from: number,
  length: number,
  out: Uint8Array,
  at: number,
  count: number,
): void {
  hashBlock(bytes, from, length);
  for (let index = 0; index < count; index++) {
    out[at + index] = (state[index >> 2] as number) >>> (24 - 8 * (index & 3));
  }
}
