/**
 * Finds the texts of bulk bodies in the common shape without parsing them: addresses and chains in any order, no other fields, no escapes, only
 * printable ASCII. The work is done by a WebAssembly kernel that the build assembles (scripts/kernels), or without it by the same steps here.
 */
import {
  BACKSLASH,
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
} from '../base/json-bytes.ts';
import { type KernelMemory, loadKernel } from '../base/kernel.ts';
import { SCREENING_LIMITS } from './limits.ts';

/** Numbers of an item in `places`: start and end of its address, start and end of its chain. An absent text starts at -1. */
export const PLACE_NUMBERS = 4;
const CHAIN_AT = 2;
const NUMBERS = SCREENING_LIMITS.bulkAddressesMax * PLACE_NUMBERS;

/** Where the kernel leaves its results and finds a body, in bytes of its only page. */
export const SCAN_MEMORY = {
  places: 0,
  /** Start and end of the chain beside the addresses. */
  chain: NUMBERS * 4,
  source: 2048,
  /** The kernel reads sixteen bytes at a time, also at the end of a body: longer bodies are scanned without it. */
  sourceMax: 65_536 - 2048 - 32,
} as const;

/** The positions of the parts of a body, which the next scan overwrites. */
export interface BulkPlaces {
  /** Number of items, 1 or more. */
  readonly count: number;
  /** The chain beside the addresses; it starts at -1 if there is none. */
  readonly chain: { readonly start: number; readonly end: number };
  /** PLACE_NUMBERS for each item. */
  readonly places: Int32Array;
}

/** Returns the places of the texts of a body; null of a body in any other shape, valid or not. */
export type BulkScanner = (body: Uint8Array) => BulkPlaces | null;

const ABSENT = -1;
export const UNUSUAL = -1;

/** Returns the offset of the next byte that is not white space. */
function skip(bytes: Uint8Array, from: number): number {
  let at = from;
  while (bytes[at] === 0x20 || bytes[at] === 0x0a || bytes[at] === 0x0d || bytes[at] === 0x09) at++;
  return at;
}

/**
 * Returns the offset of the closing quote; UNUSUAL if there are escapes or anything but printable ASCII. `from` is behind the
 * opening quote.
 */
function stringEnd(bytes: Uint8Array, from: number): number {
  let at = from;
  for (;;) {
    const byte = bytes[at];
    if (byte === QUOTE) return at;
    if (byte === undefined || byte < 0x20 || byte > 0x7e || byte === BACKSLASH) return UNUSUAL;
    at++;
  }
}

const ADDRESSES = Buffer.from('addresses');
const ADDRESS = Buffer.from('address');
const CHAIN = Buffer.from('chain');

/** Returns whether `bytes[start, end)` is the word. */
function is(word: Uint8Array, bytes: Uint8Array, start: number, end: number): boolean {
  if (end - start !== word.length) return false;
  for (let index = 0; index < word.length; index++) if (bytes[start + index] !== word[index]) return false;
  return true;
}

/** Reads `"…"` at `at` and stores its place. Returns the offset behind it, or UNUSUAL. */
function scanString(bytes: Uint8Array, at: number, places: Int32Array, place: number): number {
  if (bytes[at] !== QUOTE) return UNUSUAL;
  const end = stringEnd(bytes, at + 1);
  if (end === UNUSUAL) return UNUSUAL;
  places[place] = at + 1;
  places[place + 1] = end;
  return end + 1;
}

const name = new Int32Array(2);
const isNamed = (word: Uint8Array, bytes: Uint8Array): boolean =>
  is(word, bytes, name[0] as number, name[1] as number);

/** Reads `"name" :` at `at` into `name`. Returns the offset of the value, or UNUSUAL. */
function scanName(bytes: Uint8Array, at: number): number {
  const end = scanString(bytes, at, name, 0);
  if (end === UNUSUAL) return UNUSUAL;
  const colon = skip(bytes, end);
  return bytes[colon] === COLON ? skip(bytes, colon + 1) : UNUSUAL;
}

/**
 * Reads `{"address":"…","chain":"…"}` at `at`.
 *
 * @param places - receives the PLACE_NUMBERS of the item from `place` on
 * @returns the offset behind it, or UNUSUAL
 */
export function scanItem(bytes: Uint8Array, at: number, places: Int32Array, place: number): number {
  places[place] = ABSENT;
  places[place + CHAIN_AT] = ABSENT;
  let next = skip(bytes, at + 1);
  for (;;) {
    const value = scanName(bytes, next);
    if (value === UNUSUAL) return UNUSUAL;
    const isAddress = isNamed(ADDRESS, bytes);
    if (!isAddress && !isNamed(CHAIN, bytes)) return UNUSUAL;
    const into = isAddress ? place : place + CHAIN_AT;
    if (places[into] !== ABSENT) return UNUSUAL;
    const behind = scanString(bytes, value, places, into);
    if (behind === UNUSUAL) return UNUSUAL;
    next = skip(bytes, behind);
    if (bytes[next] === CLOSE_OBJECT) return places[place] === ABSENT ? UNUSUAL : next + 1;
    if (bytes[next] !== COMMA) return UNUSUAL;
    next = skip(bytes, next + 1);
  }
}

/** The places of a scan in progress. */
class Places implements BulkPlaces {
  count = 0;
  readonly chain = { start: ABSENT, end: ABSENT };
  readonly places: Int32Array;

  constructor(places: Int32Array) {
    this.places = places;
  }

  /** Returns the places of a body of `count` items, or null of an unusual one. */
  result(count: number, chainStart: number, chainEnd: number): BulkPlaces | null {
    if (count === UNUSUAL) return null;
    this.count = count;
    this.chain.start = chainStart;
    this.chain.end = chainEnd;
    return this;
  }
}

/** Scans bodies without the kernel. */
class PlainScanner {
  readonly #places = new Int32Array(NUMBERS);
  readonly #chain = new Int32Array(2);
  readonly #found = new Places(this.#places);
  #count = 0;

  scan(bytes: Uint8Array): BulkPlaces | null {
    this.#count = 0;
    this.#chain[0] = ABSENT;
    const isUsual = this.#scanBody(bytes);
    const count = isUsual ? this.#count : UNUSUAL;
    return this.#found.result(count, this.#chain[0] as number, this.#chain[1] as number);
  }

  #scanBody(bytes: Uint8Array): boolean {
    let next = skip(bytes, 0);
    if (bytes[next] !== OPEN_OBJECT) return false;
    next = skip(bytes, next + 1);
    for (;;) {
      const value = scanName(bytes, next);
      if (value === UNUSUAL) return false;
      let behind = UNUSUAL;
      if (isNamed(ADDRESSES, bytes)) {
        if (this.#count > 0 || bytes[value] !== OPEN_ARRAY) return false;
        behind = this.#scanAddresses(bytes, value);
      } else if (isNamed(CHAIN, bytes) && this.#chain[0] === ABSENT) {
        behind = scanString(bytes, value, this.#chain, 0);
      }
      if (behind === UNUSUAL) return false;
      next = skip(bytes, behind);
      if (bytes[next] === CLOSE_OBJECT) return this.#count > 0 && skip(bytes, next + 1) === bytes.length;
      if (bytes[next] !== COMMA) return false;
      next = skip(bytes, next + 1);
    }
  }

  /** Reads the array at `at`. Returns the offset behind it, or UNUSUAL, also if it is empty or has too many items. */
  #scanAddresses(bytes: Uint8Array, at: number): number {
    const places = this.#places;
    let next = skip(bytes, at + 1);
    for (;;) {
      if (this.#count === SCREENING_LIMITS.bulkAddressesMax) return UNUSUAL;
      const place = this.#count * PLACE_NUMBERS;
      places[place + CHAIN_AT] = ABSENT;
      const behind =
        bytes[next] === OPEN_OBJECT
          ? scanItem(bytes, next, places, place)
          : scanString(bytes, next, places, place);
      if (behind === UNUSUAL) return UNUSUAL;
      this.#count++;
      next = skip(bytes, behind);
      if (bytes[next] === CLOSE_ARRAY) return next + 1;
      if (bytes[next] !== COMMA) return UNUSUAL;
      next = skip(bytes, next + 1);
    }
  }
}

interface Kernel extends KernelMemory {
  /** Returns the number of items of the body that ends at a place of the memory, or UNUSUAL. */
  readonly scan: (end: number) => number;
}

/** Returns a scanner that works without the kernel. */
export function createPlainScanner(): BulkScanner {
  const plain = new PlainScanner();
  return (body) => plain.scan(body);
}

/** Returns the scanner of one thread: it needs 64 KiB. */
export function createBulkScanner(): BulkScanner {
  const plain = createPlainScanner();
  const kernel = loadKernel<Kernel>('bulk-scan');
  if (kernel === null) return plain;
  const { scan } = kernel;
  const memory = new Uint8Array(kernel.memory.buffer);
  const found = new Places(new Int32Array(memory.buffer, SCAN_MEMORY.places, NUMBERS));
  const chain = new Int32Array(memory.buffer, SCAN_MEMORY.chain, 2);
  return (body) => {
    if (body.length > SCAN_MEMORY.sourceMax) return plain(body);
    memory.set(body, SCAN_MEMORY.source);
    const end = SCAN_MEMORY.source + body.length;
    memory[end] = 0;
    return found.result(scan(end), chain[0] as number, chain[1] as number);
  };
}
