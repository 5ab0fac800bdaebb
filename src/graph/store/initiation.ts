/**
 * How a transaction was started, in one byte at the end of a log record. If the byte is missing, the source does not give this information,
 * or the record is older than the field.
 */
import type { Transfer } from '../../chains/transfer.ts';
import type { StoredInitiation } from '../transfers.ts';

/** No byte is written. */
export const UNKNOWN_INITIATION = 0;

export const SENDER_IS_FROM = 1;
export const SENDER_IS_TO = 2;
export const SENDER_IS_OTHER = 3;
const SENDER_MASK = 3;
const CALLS_ASSET_SHIFT = 2;
const DECODES_SHIFT = 4;
const NO = 1;
const YES = 2;

const answerCode = (answer: boolean | null): number => (answer === null ? 0 : answer ? YES : NO);
const answerOf = (code: number): boolean | null => (code === YES ? true : code === NO ? false : null);

/** Packs the information about the start of a transaction. `sender` is one of the codes above. */
export const packInitiation = (sender: number, callsAsset: boolean | null, decodes: boolean | null): number =>
  sender | (answerCode(callsAsset) << CALLS_ASSET_SHIFT) | (answerCode(decodes) << DECODES_SHIFT);

/** Returns the byte of a transfer: 0 if its source does not say how the transaction was started. */
export function initiationCode({
  initiation,
  from,
  to,
}: Pick<Transfer, 'initiation' | 'from' | 'to'>): number {
  if (!initiation) return UNKNOWN_INITIATION;
  const { sender, callsAsset, decodes } = initiation;
  const code = sender === from ? SENDER_IS_FROM : sender === to ? SENDER_IS_TO : SENDER_IS_OTHER;
  return packInitiation(code, callsAsset, decodes);
}

/** Reads the byte of a record. Returns null if nothing is known. */
export function initiationIn(code: number): StoredInitiation | null {
  const sender = code & SENDER_MASK;
  if (sender === 0) return null;
  return {
    sender: sender === SENDER_IS_FROM ? 'FROM' : sender === SENDER_IS_TO ? 'TO' : 'OTHER',
    callsAsset: answerOf((code >> CALLS_ASSET_SHIFT) & 3),
    decodes: answerOf((code >> DECODES_SHIFT) & 3),
  };
}
