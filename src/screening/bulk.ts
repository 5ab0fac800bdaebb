/**
 * POST /screen/bulk: body bytes in, JSON bytes of `data` out. A body of the common shape is scanned in place; anything else
 * (escapes, other fields, other types) is parsed with JSON.parse and gets the same answer.
 */

import type { PooledJson } from '../base/buffer-pool.ts';
import { AssayError } from '../base/errors.ts';
import { CLOSE_ARRAY, COMMA } from '../base/json-bytes.ts';
import { type ChainId, parseChainId } from '../chains/registry.ts';
import { BATCH_ITEMS, type BulkItem, BulkItems } from './bulk-items.ts';
import { type BulkPlaces, type BulkScanner, createBulkScanner, PLACE_NUMBERS } from './bulk-scan.ts';
import { createLabelContext } from './context.ts';
import { SCREENING_LIMITS } from './limits.ts';
import { createItemVerdicts, type OracleDeps } from './oracle.ts';

/** The JSON text of `data`. With the option `asView`, the next query overwrites it. */
export interface BulkAnswer extends PooledJson {
  /** Number of items with an answer; items with an error are not counted. */
  readonly answered: number;
}

export type BulkQuery = (body: Uint8Array) => BulkAnswer;

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

/** Scans the bodies of this thread. */
let scanner: BulkScanner | null = null;

function scanned(body: Uint8Array): BulkPlaces | null {
  scanner ??= createBulkScanner();
  return scanner(body);
}

/** Returns the number of addresses of a body in the common shape, which has known fields only; null of any other body. */
export const countUsualAddresses = (body: Uint8Array): number | null => scanned(body)?.count ?? null;

/**
 * Returns the number of addresses in a body, without parsing any of them.
 *
 * @throws the same errors as the query for an invalid body.
 */
export function countBulkAddresses(body: Uint8Array): number {
  return countUsualAddresses(body) ?? parseBody(body).items.length;
}

export interface BulkQueryOptions {
  /** False parses every body with JSON.parse. The scan is compared with this. */
  readonly scan?: boolean;
  /** Returns the JSON text as a view that the next query overwrites, for a caller that copies it before. Default: a copy. */
  readonly asView?: boolean;
}

/**
 * Returns the bulk query of one thread. The query throws INVALID_JSON, INVALID_REQUEST, and UNKNOWN_CHAIN for the chain beside
 * the addresses.
 */
export function createBulk(
  deps: OracleDeps,
  { scan = true, asView = false }: BulkQueryOptions = {},
): BulkQuery {
  const contextNow = createLabelContext(deps);
  const verdictOf = createItemVerdicts(deps);
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

  /** Fills `items` from the scanned places, without copying the texts. */
  function takeScanned(bytes: Buffer, { count, chain, places }: BulkPlaces): void {
    const textOf = (start: number, end: number): string => bytes.toString('latin1', start, end);
    const shared = sharedChain(chain.start === -1 ? null : textOf(chain.start, chain.end));
    // Most items name the same chain: its bytes are compared with the last ones, and only a new chain is converted to text.
    let lastStart = 0;
    let lastLength = -1;
    let last: ChainId | AssayError = shared;
    for (let index = 0, at = 0; index < count; index++, at += PLACE_NUMBERS) {
      const item = items[index] as BulkItem;
      item.start = places[at] as number;
      item.end = places[at + 1] as number;
      const start = places[at + 2] as number;
      if (start === -1) {
        item.chain = shared;
        continue;
      }
      const length = (places[at + 3] as number) - start;
      let isSame = length === lastLength;
      for (let byte = 0; isSame && byte < length; byte++)
        isSame = bytes[start + byte] === bytes[lastStart + byte];
      if (!isSame) {
        lastStart = start;
        lastLength = length;
        last = chainOf(textOf(start, start + length));
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
    const found = scan ? scanned(raw) : null;
    if (found !== null) {
      takeScanned(raw, found);
      count = found.count;
    } else {
      const parsed = parseBody(raw);
      bytes = takeParsed(parsed);
      count = parsed.items.length;
      verdict = parsed.verdict;
    }
    const context = contextNow();
    const { reader, sanctionsAsOf, coverage, staleReason } = context;
    // If lists are stale, `reasons` beside the items says so.
    const shownWith = { reader, dataAsOf: sanctionsAsOf, isStale: false };
    writer.clear();
    writer.fieldsOf = verdict ? (chain, address) => verdictOf(context, chain, address) : null;
    writer.append('{"results":[');
    for (let from = 0; from < count; from += BATCH_ITEMS) {
      const to = Math.min(count, from + BATCH_ITEMS);
      const last = to === count ? CLOSE_ARRAY : COMMA;
      writer.write(shownWith, bytes, items, from, to, COMMA, last);
    }
    // Fields that are equal for all items are written once, not for each item.
    const shared = {
      coverage,
      reasons: staleReason ? [staleReason] : [],
      dataVersion: reader.meta.dataVersion,
    };
    writer.append(`,${JSON.stringify(shared).slice(1)}`);
    const json = writer.out.subarray(0, writer.length);
    return { json: asView ? json : Uint8Array.prototype.slice.call(json), answered: writer.answered };
  };
}
