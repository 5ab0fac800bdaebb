/** Base58 decoding with limbs, a hot path of every bulk job. */
import { digitTable } from './fault.ts';

export const BITCOIN_DIGITS = digitTable('123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz');
export const RIPPLE_DIGITS = digitTable('rpshnaf39wBUDNEGHJKLM4PQRST7VWXYZ2bcdeCg65jkm8oFqi1tuvAxyz');

/** Size for the longest text: 512 base58 characters are 375 bytes. */
export const DECODED_END = 384;
/** The decoded bytes, which end at DECODED_END: numbers grow to the left. Valid until the next call on the same thread. */
export const decoded = new Uint8Array(DECODED_END);

export const NOT_BASE58 = -1;
export const TOO_LONG = -2;

const TEXT_MAX = 512;
/** Characters per multiplication: 58^5 times a 22-bit limb is less than 2^53. */
const GROUP = 5;
const POWERS = Float64Array.of(1, 58, 58 ** 2, 58 ** 3, 58 ** 4, 58 ** 5);
const LIMB_BITS = 22;
const LIMB = 2 ** LIMB_BITS;
const limbs = new Float64Array(Math.ceil((DECODED_END * 8) / LIMB_BITS) + 2);

/**
 * Decodes `src[start, end)` (ASCII) into `decoded`. Each leading zero digit is a zero byte.
 *
 * @returns the number of bytes, or NOT_BASE58 or TOO_LONG
 */
export function decodeBase58(src: Uint8Array, start: number, end: number, digits: Uint8Array): number {
  if (end - start > TEXT_MAX) return TOO_LONG;
  let first = start;
  while (first < end && digits[src[first] as number] === 0) first++;
  let used = 0;
  for (let i = first; i < end; ) {
    const stop = Math.min(end, i + GROUP);
    const power = POWERS[stop - i] as number;
    let carry = 0;
    for (; i < stop; i++) {
      const digit = digits[src[i] as number] as number;
      if (digit === 255) return NOT_BASE58;
      carry = carry * 58 + digit;
    }
    for (let limb = 0; limb < used; limb++) {
      const product = (limbs[limb] as number) * power + carry;
      carry = Math.floor(product / LIMB);
      limbs[limb] = product - carry * LIMB;
    }
    while (carry > 0) {
      const rest = Math.floor(carry / LIMB);
      limbs[used++] = carry - rest * LIMB;
      carry = rest;
    }
  }
  let at = DECODED_END;
  let pending = 0;
  let bits = 0;
  for (let limb = 0; limb < used; limb++) {
    pending += (limbs[limb] as number) * (1 << bits);
    bits += LIMB_BITS;
    while (bits >= 8) {
      decoded[--at] = pending & 255;
      pending >>>= 8;
      bits -= 8;
    }
  }
  if (bits > 0) decoded[--at] = pending;
  while (at < DECODED_END && decoded[at] === 0) at++;
  for (let zeros = first - start; zeros > 0; zeros--) {
    if (at === 0) return TOO_LONG;
    decoded[--at] = 0;
  }
  return DECODED_END - at;
}
