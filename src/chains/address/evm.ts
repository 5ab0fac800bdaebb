/** EVM addresses: 0x (or 0X) and 40 hex digits, with the checksum of EIP-55 if letters of both cases occur. */
import type { BatchForm } from './batch-form.ts';
import { CHARACTERS, CHECKSUM, FORM, fault, LENGTH, PREFIX, parsed, startsWith } from './fault.ts';
import { digest, keccak256Block } from './keccak.ts';

const KEY_BYTE = 1;
const ACCOUNT = 1;
const TEXT_LENGTH = 42;
const KEY_LENGTH = 22;

const LOWER = 0x10;
const UPPER = 0x20;
const INVALID = 0x80;

/** The value of a hex digit with a bit for its letter case. */
const HEX = new Uint8Array(256).fill(INVALID);
for (let value = 0; value < 16; value++) {
  const digit = value.toString(16);
  HEX[digit.charCodeAt(0)] = value < 10 ? value : value | LOWER;
  if (value >= 10) HEX[digit.toUpperCase().charCodeAt(0)] = value | UPPER;
}

/** Batches are read by the kernel, which has its own check of the letter case. */
export const evmBatch: BatchForm = { type: 'evm', keyByte: KEY_BYTE, kind: ACCOUNT };

const lowered = new Uint8Array(40);

/** See `WriteKey`. Text in a single letter case is accepted without a checksum, as EIP-55 specifies. */
export function writeEvmKey(
  bytes: Uint8Array,
  start: number,
  end: number,
  out: Uint8Array,
  at: number,
): number {
  // 'x' in either case: both differ by one bit.
  if (end - start < 2 || bytes[start] !== 48 || ((bytes[start + 1] as number) | 0x20) !== 120)
    return evmPrefixFault(bytes, start, end);
  if (end - start !== TEXT_LENGTH) return fault(LENGTH, 'must have 40 hex digits after 0x');
  out[at] = KEY_BYTE;
  out[at + 1] = ACCOUNT;
  let seen = 0;
  for (let from = start + 2, to = at + 2; from < end; from += 2, to++) {
    const high = HEX[bytes[from] as number] as number;
    const low = HEX[bytes[from + 1] as number] as number;
    seen |= high | low;
    out[to] = (high << 4) | (low & 15);
  }
  if (seen & INVALID) return fault(CHARACTERS, 'contains a character that is not a hex digit');
  if ((seen & (LOWER | UPPER)) === (LOWER | UPPER) && !caseMatches(bytes, start + 2)) {
    return fault(CHECKSUM, 'has a wrong checksum: the letter case does not match EIP-55');
  }
  return parsed(KEY_LENGTH, 'evm');
}

function evmPrefixFault(bytes: Uint8Array, start: number, end: number): number {
  const length = end - start;
  if (length === 40) return fault(PREFIX, 'must begin with 0x');
  if (startsWith(bytes, start, end, 'xe', true)) return fault(FORM, 'must be in hex, not in the ICAP form');
  return fault(PREFIX, 'must begin with 0x');
}

function caseMatches(bytes: Uint8Array, start: number): boolean {
  for (let i = 0; i < 40; i++) {
    const byte = bytes[start + i] as number;
    lowered[i] = byte >= 65 && byte <= 70 ? byte + 32 : byte;
  }
  keccak256Block(lowered, 0, 40);
  for (let i = 0; i < 40; i++) {
    if ((lowered[i] as number) < 97) continue;
    const isUpper = (bytes[start + i] as number) < 97;
    if (isUpper !== digestAsksUpper(i)) return false;
  }
  return true;
}

const digestAsksUpper = (digit: number): boolean =>
  ((digest[digit >> 1] as number) & (digit & 1 ? 0x08 : 0x80)) !== 0;

/** Formats an EVM payload as EIP-55 text; null if it is not an account. */
export const formatEvmKey = (kindByte: number, payload: Uint8Array): string | null =>
  kindByte === ACCOUNT && payload.length === 20 ? formatEvm(payload) : null;

/** The text of the next address alone, as bytes: adding up its characters takes three times as long. */
const formatted = Buffer.from('0x'.padEnd(42, '0'), 'latin1');

/** Returns the EIP-55 text of 20 bytes. */
export function formatEvm(payload: Uint8Array): string {
  const hex = Buffer.from(payload).toString('hex');
  for (let i = 0; i < 40; i++) lowered[i] = hex.charCodeAt(i);
  keccak256Block(lowered, 0, 40);
  for (let i = 0; i < 40; i++) {
    const byte = hex.charCodeAt(i);
    // Letters only: those of hexadecimal are above the digits.
    formatted[2 + i] = byte > 96 && digestAsksUpper(i) ? byte - 32 : byte;
  }
  return formatted.toString('latin1');
}
