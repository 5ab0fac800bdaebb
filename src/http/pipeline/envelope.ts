/** The envelope of JSON responses: `{"success":true,"data":…}`, with the credits left and the list of unknown fields. */
import { HTTP_LIMITS } from '../limits.ts';

/** Bytes before the data. */
export const ENVELOPE_START = Buffer.from('{"success":true,"data":');

const CLOSE_BRACE = 0x7d;

/** Maximum length of the end of the envelope: the list of unknown fields, with every character escaped. */
export const ENVELOPE_END_BYTES_MAX = HTTP_LIMITS.bodyFieldsMax * (64 * 6 + 3) + 32;

/** Formats the list of unknown fields as the last member of an object. */
const ignoredMember = (ignored: readonly string[]): string => `,"ignored":${JSON.stringify(ignored)}`;

/**
 * Writes the end of the envelope.
 *
 * @returns the offset after it
 */
export function writeEnvelopeEnd(out: Buffer, offset: number, ignored: readonly string[] | null): number {
  if (ignored !== null) return offset + out.write(`${ignoredMember(ignored)}}`, offset);
  out[offset] = CLOSE_BRACE;
  return offset + 1;
}

/** Returns the member of a charged envelope that follows `data`: the balance after the charge. */
export const creditsMember = (remaining: number): Uint8Array =>
  Buffer.from(`,"credits":{"remaining":${remaining}}`);

/** Returns the envelope of a charged response, with the balance after the charge. */
export function chargedEnvelope(
  data: Uint8Array,
  remaining: number,
  ignored: readonly string[] | null,
): Uint8Array {
  const rest = ignored === null ? '' : ignoredMember(ignored);
  return Buffer.concat([ENVELOPE_START, data, creditsMember(remaining), Buffer.from(`${rest}}`)]);
}

/** Appends the list of unknown fields to a response that is an object without an envelope. */
export function withIgnored(data: Uint8Array, ignored: readonly string[] | null): Uint8Array {
  if (ignored === null) return data;
  return Buffer.concat([data.subarray(0, -1), Buffer.from(`${ignoredMember(ignored)}}`)]);
}
