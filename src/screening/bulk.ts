/**
 * POST /screen/bulk: body bytes in, JSON bytes of `data` out. A body of the common shape is scanned in place; anything else
 * (escapes, other fields, other types) is parsed with JSON.parse and gets the same answer.
 */

import { AssayError } from '../base/errors.ts';
import { type ChainId, parseChainId } from '../chains/registry.ts';
import { BATCH_ITEMS, type BulkItem, BulkItems } from './bulk-items.ts';
import { createLabelContext } from './context.ts';
import { SCREENING_LIMITS } from './limits.ts';
import { createItemVerdicts, type OracleDeps } from './oracle.ts';

export interface BulkAnswer {
  /** JSON text of `data`, UTF-8. Owned by the caller, or by a buffer pool if `release` is set. */
  readonly json: Uint8Array;
  /** Returns the memory of `json` to its pool; to be called after the bytes were copied. */
  readonly release?: () => void;
  /** Number of items with an answer; items with an error are not counted. */
  readonly answered: number;
}

export type BulkQuery = (body: Uint8Array) => BulkAnswer;

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const OPEN_ARRAY = 0x5b;
const CLOSE_ARRAY = 0x5d;
const OPEN_OBJECT = 0x7b;
const CLOSE_OBJECT = 0x7d;

/** A byte range; absent if `start` is -1. */
export interface Range {
  start: number;
  end: number;
}

/** The positions of the parts of a body. One object, which the next scan overwrites. */
interface BulkShape {
  count: number;
  readonly chain: Range;
  readonly addresses: readonly Range[];
  readonly chains: readonly Range[];
}

/** Returns an absent range. */
export const range = (): Range => ({ start: -1, end: -1 });

const newShape = (): BulkShape => ({
  count: 0,
  chain: range(),
  addresses: Array.from({ length: SCREENING_LIMITS.bulkAddressesMax }, range),
  chains: Array.from({ length: SCREENING_LIMITS.bulkAddressesMax }, range),
});

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

function is(word: Uint8Array, bytes: Uint8Array, start: number, end: number): boolean {
  if (end - start !== word.length) return false;
  for (let index = 0; index < word.length; index++) if (bytes[start + index] !== word[index]) return false;
  return true;
}

/** Reads `"…"` at `at` into `into`. Returns the offset behind it, or UNUSUAL. */
function scanString(bytes: Uint8Array, at: number, into: Range): number {
  if (bytes[at] !== QUOTE) return UNUSUAL;
  const end = stringEnd(bytes, at + 1);
  if (end === UNUSUAL) return UNUSUAL;
  into.start = at + 1;
  into.end = end;
  return end + 1;
}

const name: Range = range();

/** Reads `"name" :` at `at` into `name`. Returns the offset of the value, or UNUSUAL. */
function scanName(bytes: Uint8Array, at: number): number {
  const end = scanString(bytes, at, name);
  if (end === UNUSUAL) return UNUSUAL;
  const colon = skip(bytes, end);
  return bytes[colon] === COLON ? skip(bytes, colon + 1) : UNUSUAL;
}

/** Reads `{"address":"…","chain":"…"}` at `at`. Returns the offset behind it, or UNUSUAL. */
export function scanItem(bytes: Uint8Array, at: number, address: Range, chain: Range): number {
  let next = skip(bytes, at + 1);
  for (;;) {
    const value = scanName(bytes, next);
    if (value === UNUSUAL) return UNUSUAL;
    const isAddress = is(ADDRESS, bytes, name.start, name.end);
    if (!isAddress && !is(CHAIN, bytes, name.start, name.end)) return UNUSUAL;
    const into = isAddress ? address : chain;
    if (into.start !== -1) return UNUSUAL;
    const behind = scanString(bytes, value, into);
    if (behind === UNUSUAL) return UNUSUAL;
    next = skip(bytes, behind);
    if (bytes[next] === CLOSE_OBJECT) return address.start === -1 ? UNUSUAL : next + 1;
    if (bytes[next] !== COMMA) return UNUSUAL;
    next = skip(bytes, next + 1);
  }
}

/** Reads the array at `at`. Returns the offset behind it, or UNUSUAL, also if it is empty or has too many items. */
function scanAddresses(bytes: Uint8Array, at: number, shape: BulkShape): number {
  let next = skip(bytes, at + 1);
  for (;;) {
    const address = shape.addresses[shape.count];
    const chain = shape.chains[shape.count];
    if (address === undefined || chain === undefined) return UNUSUAL;
    address.start = -1;
    chain.start = -1;
    const behind =
      bytes[next] === OPEN_OBJECT ? scanItem(bytes, next, address, chain) : scanString(bytes, next, address);
    if (behind === UNUSUAL) return UNUSUAL;
    shape.count++;
    next = skip(bytes, behind);
    if (bytes[next] === CLOSE_ARRAY) return next + 1;
    if (bytes[next] !== COMMA) return UNUSUAL;
    next = skip(bytes, next + 1);
  }
}

/** Returns true if the body has the common shape; `shape` then has the positions of its parts. */
function scanBody(bytes: Uint8Array, shape: BulkShape): boolean {
  shape.count = 0;
  shape.chain.start = -1;
  let next = skip(bytes, 0);
  if (bytes[next] !== OPEN_OBJECT) return false;
  next = skip(bytes, next + 1);
  for (;;) {
    const value = scanName(bytes, next);
    if (value === UNUSUAL) return false;
    let behind = UNUSUAL;
    if (is(ADDRESSES, bytes, name.start, name.end)) {
      if (shape.count > 0 || bytes[value] !== OPEN_ARRAY) return false;
      behind = scanAddresses(bytes, value, shape);
    } else if (is(CHAIN, bytes, name.start, name.end) && shape.chain.start === -1) {
      behind = scanString(bytes, value, shape.chain);
    }
    if (behind === UNUSUAL) return false;
    next = skip(bytes, behind);
    if (bytes[next] === CLOSE_OBJECT) return shape.count > 0 && skip(bytes, next + 1) === bytes.length;
    if (bytes[next] !== COMMA) return false;
    next = skip(bytes, next + 1);
  }
}

const invalid = (field: string, expected: string): AssayError =>
  new AssayError('INVALID_REQUEST', `${field}: must be ${expected}.`, { field });

interface ParsedBody {
  /** True if each item must have its verdict. */
  readonly verdict: boolean;
  readonly chain: string | null;
  readonly items: readonly { readonly address: string; readonly chain: string | null }[];
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function optionalText(value: unknown, field: string): string | null {
  if (value === undefined) return null;
  if (typeof value === 'string') return value;
  throw invalid(field, 'a string');
}

/**
 * Parses a body of any shape.
 *
 * @throws INVALID_JSON; INVALID_REQUEST naming the field.
 */
function parseBody(bytes: Uint8Array): ParsedBody {
  let body: unknown;
  try {
    body = JSON.parse(Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('utf8'));
  } catch (cause) {
    throw new AssayError('INVALID_JSON', 'The request body is not valid JSON.', { field: 'body', cause });
  }
  if (!isObject(body)) throw invalid('body', 'a JSON object');
  const { addresses, chain, verdict } = body;
  if (verdict !== undefined && typeof verdict !== 'boolean') throw invalid('verdict', 'true or false');
  const bound = `an array of 1 to ${SCREENING_LIMITS.bulkAddressesMax} addresses`;
  if (
    !Array.isArray(addresses) ||
    addresses.length < 1 ||
    addresses.length > SCREENING_LIMITS.bulkAddressesMax
  )
    throw invalid('addresses', bound);
  const items = addresses.map((item: unknown, index) => {
    if (typeof item === 'string') return { address: item, chain: null };
    const field = `addresses[${index}]`;
    if (!isObject(item)) throw invalid(field, 'a string or an object with the field address');
    if (typeof item.address !== 'string') throw invalid(`${field}.address`, 'a string');
    return { address: item.address, chain: optionalText(item.chain, `${field}.chain`) };
  });
  return { chain: optionalText(chain, 'chain'), items, verdict: verdict === true };
}

const counting = newShape();

/** Returns the number of addresses of a body in the common shape, which has known fields only; null of any other body. */
export const countUsualAddresses = (body: Uint8Array): number | null =>
  scanBody(body, counting) ? counting.count : null;

/**
 * Returns the number of addresses in a body, without parsing any of them.
 *
 * @throws the same errors as the query for an invalid body.
 */
export function countBulkAddresses(body: Uint8Array): number {
  return countUsualAddresses(body) ?? parseBody(body).items.length;
}

const CLOSE_RESULTS = 0x5d;

export interface BulkQueryOptions {
  /** False parses every body with JSON.parse. The scan is compared with this. */
  readonly scan?: boolean;
}

function isSameText(bytes: Uint8Array, a: Range, b: Range): boolean {
  const length = a.end - a.start;
  if (length !== b.end - b.start) return false;
  for (let at = 0; at < length; at++) if (bytes[a.start + at] !== bytes[b.start + at]) return false;
  return true;
}

/**
 * Returns the bulk query of one thread. The query throws INVALID_JSON, INVALID_REQUEST, and UNKNOWN_CHAIN for the chain beside
 * the addresses.
 */
export function createBulk(deps: OracleDeps, { scan = true }: BulkQueryOptions = {}): BulkQuery {
  const contextNow = createLabelContext(deps);
  const verdictOf = createItemVerdicts(deps);
  const shape = newShape();
  const writer = new BulkItems();
  const missing = new AssayError(
    'INVALID_REQUEST',
    'chain: is required, for this address or for the whole request.',
    {
      field: 'chain',
    },
  );
  const items: BulkItem[] = Array.from({ length: SCREENING_LIMITS.bulkAddressesMax }, () => ({
    start: 0,
    end: 0,
    chain: missing,
  }));
  /** Chains by the text in requests, only valid ones. */
  const chains = new Map<string, ChainId>();

  function chainOf(text: string): ChainId | AssayError {
    const known = chains.get(text);
    if (known !== undefined) return known;
    try {
      const chain = parseChainId(text);
      // Bounded: the keys are only letter cases of 36 short names.
      chains.set(text, chain);
      return chain;
    } catch (error) {
      if (error instanceof AssayError) return error;
      throw error;
    }
  }

  /** Returns the chain beside the addresses. If it is invalid, the whole request fails. */
  function sharedChain(text: string | null): ChainId | AssayError {
    if (text === null) return missing;
    const chain = chainOf(text);
    if (typeof chain !== 'string') throw chain;
    return chain;
  }

  /** Fills `items` from the scanned shape, without copying the texts. */
  function takeScanned(bytes: Buffer): void {
    const textOf = ({ start, end }: Range): string | null =>
      start === -1 ? null : bytes.toString('latin1', start, end);
    const shared = sharedChain(textOf(shape.chain));
    // Most items name the same chain: its bytes are compared with the last ones, and only a new chain is converted to text.
    let lastRange: Range | null = null;
    let last: ChainId | AssayError = shared;
    for (let index = 0; index < shape.count; index++) {
      const item = items[index] as BulkItem;
      const address = shape.addresses[index] as Range;
      item.start = address.start;
      item.end = address.end;
      const range = shape.chains[index] as Range;
      if (range.start === -1) {
        item.chain = shared;
        continue;
      }
      if (lastRange === null || !isSameText(bytes, range, lastRange)) {
        lastRange = range;
        last = chainOf(textOf(range) as string);
      }
      item.chain = last;
    }
  }

  /** Fills `items` from parsed texts. Returns the buffer that contains them. */
  function takeParsed(body: ParsedBody): Buffer {
    const shared = sharedChain(body.chain);
    let length = 0;
    for (const [index, { address, chain }] of body.items.entries()) {
      const item = items[index] as BulkItem;
      item.start = length;
      length += Buffer.byteLength(address);
      item.end = length;
      item.chain = chain === null ? shared : chainOf(chain);
    }
    return Buffer.from(body.items.map(({ address }) => address).join(''), 'utf8');
  }

  return (body) => {
    const raw = Buffer.from(body.buffer, body.byteOffset, body.length);
    let bytes = raw;
    let count: number;
    let verdict = false;
    if (scan && scanBody(raw, shape)) {
      takeScanned(raw);
      count = shape.count;
    } else {
      const parsed = parseBody(raw);
      bytes = takeParsed(parsed);
      count = parsed.items.length;
      verdict = parsed.verdict;
    }
    const context = contextNow();
    const { reader, freshness, coverage, staleReason } = context;
    writer.clear();
    writer.fieldsOf = verdict ? (chain, address) => verdictOf(context, chain, address) : null;
    writer.append('{"results":[');
    for (let from = 0; from < count; from += BATCH_ITEMS) {
      const to = Math.min(count, from + BATCH_ITEMS);
      const last = to === count ? CLOSE_RESULTS : COMMA;
      writer.write({ reader, dataAsOf: freshness.asOf }, bytes, items, from, to, COMMA, last);
    }
    // Fields that are equal for all items are written once, not for each item.
    const shared = {
      coverage,
      reasons: staleReason ? [staleReason] : [],
      dataVersion: reader.meta.dataVersion,
    };
    writer.append(`,${JSON.stringify(shared).slice(1)}`);
    return { json: Uint8Array.prototype.slice.call(writer.out, 0, writer.length), answered: writer.answered };
  };
}
