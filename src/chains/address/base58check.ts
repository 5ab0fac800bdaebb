/** Base58check: base58 with four bytes of double SHA-256 after the payload. */
import { sha256 } from '@noble/hashes/sha2.js';
import { DECODED_END, decodeBase58, decoded, NOT_BASE58 } from './base58.ts';
import { CHARACTERS, CHECKSUM, fault, LENGTH } from './fault.ts';
import { doubleSha256Head, ONE_BLOCK_MAX } from './sha256.ts';

const CHECKSUM_BYTES = 4;

/**
 * Decodes a text and verifies its checksum.
 *
 * @returns the length of the payload (including version bytes), which starts at `payloadStart(length)` in `decoded`; or a fault code
 */
export function decodeBase58Check(src: Uint8Array, start: number, end: number, digits: Uint8Array): number {
  const total = decodeBase58(src, start, end, digits);
  if (total === NOT_BASE58)
    return fault(CHARACTERS, 'contains a character that is not in the base58 alphabet');
  const length = total - CHECKSUM_BYTES;
  if (length < 1) return fault(LENGTH, total < 0 ? 'is too long' : 'is too short');
  const from = payloadStart(length);
  const head = length <= ONE_BLOCK_MAX ? doubleSha256Head(decoded, from, length) : longHead(from, length);
  const at = DECODED_END - CHECKSUM_BYTES;
  const written =
    ((decoded[at] as number) << 24) |
    ((decoded[at + 1] as number) << 16) |
    ((decoded[at + 2] as number) << 8) |
    (decoded[at + 3] as number);
  return head === written ? length : fault(CHECKSUM, 'has a wrong checksum');
}

/** Returns the offset in `decoded` at which a payload of that length starts. */
export const payloadStart = (length: number): number => DECODED_END - CHECKSUM_BYTES - length;

function longHead(from: number, length: number): number {
  const twice = sha256(sha256(decoded.subarray(from, from + length)));
  return new DataView(twice.buffer, twice.byteOffset).getInt32(0);
}
