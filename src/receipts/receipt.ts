/**
 * The receipt: the facts of one answer that a signature binds. It contains integers, strings, booleans and nulls only, so that its canonical
 * text (canonical.ts) does not depend on how a language writes floats.
 */
import { createHash } from 'node:crypto';
import { type ChainId, chainOf } from '../chains/registry.ts';
import { canonicalJson } from './canonical.ts';
import type { Receipt } from './receipt-schema.ts';

/** Returns the canonical bytes of a receipt: the payload of its signature, and the input of its hash. */
export const receiptBytes = (receipt: Receipt): Buffer => Buffer.from(canonicalJson(receipt), 'utf8');

/** Returns the SHA-256 of a receipt: its leaf in a transparency log, and `receipt` of its EIP-712 form. It is salted. */
export const receiptHash = (receipt: Receipt): Buffer =>
  createHash('sha256').update(receiptBytes(receipt)).digest();

/** Characters of an account address by CAIP-10; others are percent-encoded. */
const NOT_CAIP10 = /[^-.a-zA-Z0-9]/g;

/**
 * Returns the CAIP-10 account id of an address.
 *
 * @param address - canonical
 */
export const accountIdOf = (chain: ChainId, address: string): string =>
  `${chainOf(chain).caip2}:${address.replace(NOT_CAIP10, (char) => encodeURIComponent(char))}`;

/** Members of an answer that are added after it was hashed. */
export const ADDED_LATER: ReadonlySet<string> = new Set(['receipt', 'screeningId', 'ignored']);

/**
 * Returns the part of an answer that `answerSha256` binds: `data` of the response (of `POST /namescreen/bulk`, the whole response), without
 * the members `receipt`, `screeningId` and `ignored`.
 */
export const answerOf = (data: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(data).filter(([name]) => !ADDED_LATER.has(name)));
