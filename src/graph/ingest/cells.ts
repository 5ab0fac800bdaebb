/** Reads single cells of a CSV of transfers byte by byte. */
import type { BulkTransfer } from '../store/run-columns.ts';

const POINT = 46;
const ZERO = 48;

/** Value of a hex digit. 16 or more for any other byte. */
export const HEX = new Uint8Array(256).fill(255);
for (let digit = 0; digit < 10; digit++) HEX[ZERO + digit] = digit;
for (let letter = 0; letter < 6; letter++) {
  HEX[65 + letter] = 10 + letter;
  HEX[97 + letter] = 10 + letter;
}

/** Parses a whole number of at most 15 digits. Returns -1 for anything else. */
export function digits(bytes: Uint8Array, start: number, end: number): number {
  if (end === start || end - start > 15) return -1;
  let value = 0;
  for (let at = start; at < end; at++) {
    const digit = (bytes[at] as number) - ZERO;
    if (digit < 0 || digit > 9) return -1;
    value = value * 10 + digit;
  }
  return value;
}

export function isText(bytes: Uint8Array, start: number, end: number, text: string): boolean {
  if (text.length !== end - start) return false;
  for (let index = text.length - 1; index >= 0; index--)
    if (bytes[start + index] !== text.charCodeAt(index)) return false;
  return true;
}

const POWERS = Array.from({ length: 10 }, (_, power) => 10 ** power);

/** Parses at most 28 digits, which fit three words. Returns false for anything else. */
export function readAmount(bytes: Uint8Array, start: number, end: number, into: BulkTransfer): boolean {
  if (end === start || end - start > 28) return false;
  if (end - start <= 15) {
    const amount = digits(bytes, start, end);
    if (amount < 0) return false;
    into.amountLow = amount >>> 0;
    into.amountMiddle = Math.floor(amount / 2 ** 32);
    into.amountHigh = 0;
    into.large = null;
    return true;
  }
  let low = 0;
  let middle = 0;
  let high = 0;
  for (let at = start; at < end; ) {
    const stop = Math.min(end, at + 9);
    const part = digits(bytes, at, stop);
    if (part < 0) return false;
    const factor = POWERS[stop - at] as number;
    // The words are multiplied in halves: a product of 16 and 30 bits is exact.
    let carry = part;
    let sum = (low & 0xffff) * factor + carry;
    carry = Math.floor(sum / 65536);
    const low0 = sum & 0xffff;
    sum = (low >>> 16) * factor + carry;
    carry = Math.floor(sum / 65536);
    low = (sum & 0xffff) * 65536 + low0;
    sum = (middle & 0xffff) * factor + carry;
    carry = Math.floor(sum / 65536);
    const middle0 = sum & 0xffff;
    sum = (middle >>> 16) * factor + carry;
    carry = Math.floor(sum / 65536);
    middle = (sum & 0xffff) * 65536 + middle0;
    high = high * factor + carry;
    at = stop;
  }
  into.amountLow = low;
  into.amountMiddle = middle;
  into.amountHigh = high;
  into.large = null;
  return true;
}

const USD_MAX_CENTS = 1e14;

/** Returns cents for a decimal with at most two places. Returns -1 for anything else, which the slow reader rounds. */
export function centsOf(bytes: Uint8Array, start: number, end: number): number {
  let point = start;
  while (point < end && bytes[point] !== POINT) point++;
  const whole = digits(bytes, start, point);
  if (whole < 0) return -1;
  const places = end - point - 1;
  if (point === end) return whole * 100 <= USD_MAX_CENTS ? whole * 100 : -1;
  if (places < 1 || places > 2) return -1;
  const fraction = digits(bytes, point + 1, end);
  if (fraction < 0) return -1;
  const cents = whole * 100 + (places === 1 ? fraction * 10 : fraction);
  return cents <= USD_MAX_CENTS ? cents : -1;
}
