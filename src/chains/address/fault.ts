/** Results of the codecs without allocations: negative numbers for faults, and a shared note with the details. */
import type { AddressFault } from './address.ts';

/** In the order of their codes, starting at -1. Append only: codes cross threads. */
export const ADDRESS_FAULTS = [
  'checksum',
  'length',
  'prefix',
  'characters',
  'network',
  'chain',
  'version',
  'form',
] as const satisfies readonly AddressFault[];

export const CHECKSUM = -1;
export const LENGTH = -2;
export const PREFIX = -3;
export const CHARACTERS = -4;
export const NETWORK = -5;
export const VERSION = -7;
export const FORM = -8;

/** Returns the fault of a negative result of `writeAddressKey`. */
export function addressFaultOf(code: number): AddressFault {
  return ADDRESS_FAULTS[-code - 1] ?? 'form';
}

/**
 * Parses the address text at `bytes[start, end)` (ASCII, not empty) and writes its key to `out[at]`. Sets kind and memo, or the detail
 * of the fault, in `note`.
 *
 * @returns the length of the key, or a fault code
 */
export type WriteKey = (bytes: Uint8Array, start: number, end: number, out: Uint8Array, at: number) => number;

/** Details of the last codec call. Valid until the next call on the same thread; nothing here is allocated on the hot path. */
export const note: { kind: string; memo: string | null; detail: string } = {
  kind: '',
  memo: null,
  detail: '',
};

/** Sets the end of the error sentence in `note` and returns the code. */
export function fault(code: number, detail: string): number {
  note.detail = detail;
  return code;
}

/** Sets kind and memo in `note` and returns the length of the key. */
export function parsed(keyLength: number, kind: string, memo: string | null = null): number {
  note.kind = kind;
  note.memo = memo;
  return keyLength;
}

/** Returns whether the ASCII bytes at `start` begin with `prefix` (lower case), optionally ignoring the letter case of the bytes. */
export function startsWith(
  bytes: Uint8Array,
  start: number,
  end: number,
  prefix: string,
  ignoreCase = false,
): boolean {
  if (end - start < prefix.length) return false;
  for (let i = 0; i < prefix.length; i++) {
    let byte = bytes[start + i] as number;
    if (ignoreCase && byte >= 65 && byte <= 90) byte += 32;
    if (byte !== prefix.charCodeAt(i)) return false;
  }
  return true;
}

/** Creates a table from ASCII bytes to digits of the alphabet; 255 for every other byte. */
export function digitTable(alphabet: string): Uint8Array {
  const table = new Uint8Array(256).fill(255);
  for (let digit = 0; digit < alphabet.length; digit++) table[alphabet.charCodeAt(digit)] = digit;
  return table;
}
