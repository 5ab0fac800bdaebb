/**
 * Monero addresses: base58 in blocks of eight bytes; a network byte, spend and view key, and four bytes of Keccak-256.
 */
import { keccak_256 } from '@noble/hashes/sha3.js';
import { base58xmr } from '@scure/base';
import { BITCOIN_DIGITS } from './base58.ts';
import {
  CHARACTERS,
  CHECKSUM,
  FORM,
  fault,
  LENGTH,
  NETWORK,
  PREFIX,
  parsed,
  type WriteKey,
} from './fault.ts';
import { digest, keccak256Block } from './keccak.ts';

const XMR = 16;
const STANDARD = 1;
const SUBADDRESS = 2;
const STANDARD_TAG = 18;
const INTEGRATED_TAG = 19;
const SUBADDRESS_TAG = 42;
const TEST_TAGS = [53, 54, 63, 24, 25, 36];
const KEYS_BYTES = 64;
const PAYMENT_ID_BYTES = 8;
const CHECKSUM_BYTES = 4;
/** Number of characters of a block by its number of bytes, 0 to 8. */
const BLOCK_CHARS = [0, 2, 3, 5, 6, 7, 9, 10, 11];
const PLAIN_CHARS = 95;
const INTEGRATED_CHARS = 106;

const raw = new Uint8Array(80);

/** Decodes the block of `size` bytes at `src[at]` into `raw[to]`. Returns 0 or a fault code. */
function readBlock(src: Uint8Array, at: number, to: number, size: number): number {
  let high = 0;
  let low = 0;
  for (let i = 0; i < (BLOCK_CHARS[size] as number); i++) {
    const digit = BITCOIN_DIGITS[src[at + i] as number] as number;
    if (digit === 255) return fault(CHARACTERS, 'contains a character that is not in the base58 alphabet');
    const product = low * 58 + digit;
    low = product % 2 ** 32;
    high = high * 58 + Math.floor(product / 2 ** 32);
  }
  const overflows = size === 8 ? high >= 2 ** 32 : high * 2 ** 32 + low >= 256 ** size;
  if (overflows) return fault(FORM, 'has a block that does not fit eight bytes');
  for (let i = size - 1; i >= 0; i--) {
    raw[to + i] = low % 256;
    low = Math.floor(low / 256) + (high % 256) * 2 ** 24;
    high = Math.floor(high / 256);
  }
  return 0;
}

/** See `WriteKey`. An integrated address is its standard account with the payment id as memo. */
export const writeXmrKey: WriteKey = (bytes, start, end, out, at) => {
  const chars = end - start;
  if (chars !== PLAIN_CHARS && chars !== INTEGRATED_CHARS)
    return fault(LENGTH, 'must have 95 or 106 characters');
  const blocks = Math.floor(chars / 11);
  for (let block = 0; block <= blocks; block++) {
    const code = readBlock(bytes, start + 11 * block, 8 * block, block < blocks ? 8 : 5);
    if (code < 0) return code;
  }
  const body = 8 * blocks + 5 - CHECKSUM_BYTES;
  keccak256Block(raw, 0, body);
  for (let i = 0; i < CHECKSUM_BYTES; i++) {
    if (raw[body + i] !== digest[i]) return fault(CHECKSUM, 'has a wrong checksum');
  }
  const tag = raw[0] as number;
  if (TEST_TAGS.includes(tag)) return fault(NETWORK, 'belongs to a test network');
  if ((tag === INTEGRATED_TAG) !== (chars === INTEGRATED_CHARS)) {
    return fault(LENGTH, 'has a length that does not fit its kind');
  }
  if (tag === INTEGRATED_TAG) {
    const id = raw.subarray(1 + KEYS_BYTES, 1 + KEYS_BYTES + PAYMENT_ID_BYTES);
    return parsed(put(STANDARD, out, at), 'integrated', Buffer.from(id).toString('hex'));
  }
  if (tag === STANDARD_TAG) return parsed(put(STANDARD, out, at), 'standard');
  if (tag === SUBADDRESS_TAG) return parsed(put(SUBADDRESS, out, at), 'subaddress');
  return fault(PREFIX, 'must begin with 4 or 8');
};

function put(kindByte: number, out: Uint8Array, at: number): number {
  out[at] = XMR;
  out[at + 1] = kindByte;
  for (let i = 0; i < KEYS_BYTES; i++) out[at + 2 + i] = raw[1 + i] as number;
  return KEYS_BYTES + 2;
}

/** Formats a Monero payload as a standard address or a subaddress; null for an unknown kind. */
export function formatXmr(kindByte: number, payload: Uint8Array): string | null {
  if (kindByte !== STANDARD && kindByte !== SUBADDRESS) return null;
  const body = Uint8Array.of(kindByte === STANDARD ? STANDARD_TAG : SUBADDRESS_TAG, ...payload);
  return base58xmr.encode(Uint8Array.of(...body, ...keccak_256(body).subarray(0, CHECKSUM_BYTES)));
}
