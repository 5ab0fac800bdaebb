/**
 * Converts address keys of any length to slots of 24 bytes, and computes the two hashes of a slot that the directory and the
 * filter share.
 */
import { hash } from 'node:crypto';
import { ONE_BLOCK_MAX, writeSha256 } from '../../chains/address/sha256.ts';

/**
 * A slot is six little-endian words: chain byte, kind byte, then 22 bytes of payload.
 *
 * Payloads of 20 bytes (EVM, hash160) are kept whole, padded with two zero bytes. Payloads of 22 bytes are also kept whole
 * unless they end in two zero bytes. Every other payload (SOL 32, TON 33, ADA 57, ZEC unified, …) becomes the first 22 bytes
 * of its SHA-256. Different keys cannot get the same slot by accident or design: whole payloads differ from each other, and a
 * hash that equals another slot of the same chain and kind takes a second preimage on 176 bits. Prefixes would not be
 * sufficient: two Cardano base addresses with one payment key share their first 28 bytes.
 */
export const SLOT_BYTES = 24;
export const SLOT_WORDS = 6;

const WHOLE_PAYLOAD = 20;
const FULL_PAYLOAD = 22;

/** Converts the key in `keys[offset, offset + length)` to its slot in `words[at, at + 6)`. The key has at least two bytes. */
export function writeSlot(
  keys: Uint8Array,
  offset: number,
  length: number,
  words: Int32Array,
  at: number,
): void {
  const payload = length - 2;
  if (payload === WHOLE_PAYLOAD) {
    words[at] = wordAt(keys, offset);
    words[at + 1] = wordAt(keys, offset + 4);
    words[at + 2] = wordAt(keys, offset + 8);
    words[at + 3] = wordAt(keys, offset + 12);
    words[at + 4] = wordAt(keys, offset + 16);
    words[at + 5] = (keys[offset + 20] as number) | ((keys[offset + 21] as number) << 8);
    return;
  }
  if (
    payload === FULL_PAYLOAD &&
    ((keys[offset + length - 1] as number) | (keys[offset + length - 2] as number)) !== 0
  ) {
    for (let word = 0; word < SLOT_WORDS; word++) words[at + word] = wordAt(keys, offset + 4 * word);
    return;
  }
  const digest =
    payload <= ONE_BLOCK_MAX ? shortDigest(keys, offset + 2, payload) : longDigest(keys, offset + 2, payload);
  words[at] =
    (keys[offset] as number) |
    ((keys[offset + 1] as number) << 8) |
    ((digest[0] as number) << 16) |
    ((digest[1] as number) << 24);
  for (let word = 1; word < SLOT_WORDS; word++) words[at + word] = wordAt(digest, 4 * word - 2);
}

const digestScratch = new Uint8Array(FULL_PAYLOAD);

/** For SOL, P2TR, P2WSH, TON, …: a call of OpenSSL costs three times as much as one block of the own implementation. */
function shortDigest(keys: Uint8Array, from: number, length: number): Uint8Array {
  writeSha256(keys, from, length, digestScratch, 0, FULL_PAYLOAD);
  return digestScratch;
}

const longDigest = (keys: Uint8Array, from: number, length: number): Uint8Array =>
  hash('sha256', keys.subarray(from, from + length), 'buffer');

/** Reads four bytes as a little-endian word, at any alignment. */
export function wordAt(bytes: Uint8Array, offset: number): number {
  return (
    (bytes[offset] as number) |
    ((bytes[offset + 1] as number) << 8) |
    ((bytes[offset + 2] as number) << 16) |
    ((bytes[offset + 3] as number) << 24)
  );
}

/**
 * Hashes a slot for its place: the top bits select the bucket of the directory, the whole
 * word the segment of the filter, so that records in bucket order also build the filter
 * in order. One multiply-xorshift per word, with constants of the murmur3 finaliser.
 */
export function placeHash(a: number, b: number, c: number, d: number, e: number, f: number): number {
  let hashed = Math.imul(a ^ 0x9e3779b9, 0x85ebca6b);
  hashed = Math.imul(hashed ^ (hashed >>> 15) ^ b, 0xc2b2ae35);
  hashed = Math.imul(hashed ^ (hashed >>> 13) ^ c, 0x85ebca6b);
  hashed = Math.imul(hashed ^ (hashed >>> 15) ^ d, 0xc2b2ae35);
  hashed = Math.imul(hashed ^ (hashed >>> 13) ^ e, 0x85ebca6b);
  hashed = Math.imul(hashed ^ (hashed >>> 15) ^ f, 0xc2b2ae35);
  hashed = Math.imul(hashed ^ (hashed >>> 16), 0x85ebca6b);
  return hashed ^ (hashed >>> 13);
}

/** Hashes a slot independently of `placeHash`, for the positions inside the filter's segments and for the fingerprint. */
export function filterHash(a: number, b: number, c: number, d: number, e: number, f: number): number {
  let hashed = Math.imul(f ^ 0x243f6a88, 0xcc9e2d51);
  hashed = Math.imul(hashed ^ (hashed >>> 16) ^ e, 0x1b873593);
  hashed = Math.imul(hashed ^ (hashed >>> 14) ^ d, 0xcc9e2d51);
  hashed = Math.imul(hashed ^ (hashed >>> 16) ^ c, 0x1b873593);
  hashed = Math.imul(hashed ^ (hashed >>> 14) ^ b, 0xcc9e2d51);
  hashed = Math.imul(hashed ^ (hashed >>> 16) ^ a, 0x1b873593);
  hashed = Math.imul(hashed ^ (hashed >>> 15), 0xcc9e2d51);
  return hashed ^ (hashed >>> 16);
}
