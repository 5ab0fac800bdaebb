/** How the codecs report without allocating: negative numbers for faults, and one shared note with the rest of what they saw. */
import type { AddressFault } from './address.ts';

/** In the order of their codes: the first is -1. Append only; codes cross threads. */
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

/** The fault that a negative answer of `writeAddressKey` stands for. */
export function addressFaultOf(code: number): AddressFault {
  return ADDRESS_FAULTS[-code - 1] ?? 'form';
}

/**
 * Reads the address text at `bytes[start, end)` (ASCII, not empty), writes its key at `out[at]`. Returns the key's length, or a
 * fault code; leaves kind and memo, or the fault's detail, in `note`.
 */
export type WriteKey = (bytes: Uint8Array, start: number, end: number, out: Uint8Array, at: number) => number;

/** What the last codec call saw. Valid until the next call on the same thread; nothing here is allocated on the hot path. */
export const note: { kind: string; memo: string | null; detail: string } = {
  kind: '',
  memo: null,
  detail: '',
};

/** Leaves the sentence's end in the note and passes the code through. */
export function fault(code: number, detail: string): number {
  note.detail = detail;
  return code;
}

/** Leaves kind and memo in the note and passes the key's length through. */
export function found(keyLength: number, kind: string, memo: string | null = null): number {
  note.kind = kind;
  note.memo = memo;
  return keyLength;
}

/** Whether the ASCII bytes from `start` begin with `prefix`, given in lower case; letter case of the bytes is ignored if so asked. */
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

/** A table from ASCII byte to digit of the alphabet; 255 for every other byte. */
export function digitTable(alphabet: string): Uint8Array {
  const table = new Uint8Array(256).fill(255);
  for (let digit = 0; digit < alphabet.length; digit++) table[alphabet.charCodeAt(digit)] = digit;
  return table;
}
