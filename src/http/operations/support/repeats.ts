/** Parts of the operations that change something without a charge, and may be repeated with an Idempotency-Key. */
import { Type } from 'typebox';
import type { AuditLog } from '../../../accounts/audit.ts';
import { answerSlot, hashBody } from '../../../accounts/idempotency.ts';
import type { RepeatKey } from '../../../state/repeats.ts';
import type { Call } from '../../operation.ts';

/** The header of requests that may be repeated. */
export const repeatHeader = {
  'Idempotency-Key': Type.String({
    default: '',
    description:
      'Printable ASCII, at most 255 characters. For 24 hours, a request with the same key and body gets the same response, with `Idempotency-Replayed: true`, and changes nothing; another body is rejected with 400.',
  }),
};

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

/**
 * Returns the Idempotency-Key of a request in its stored form; null without one.
 *
 * @throws INVALID_REQUEST
 */
export function repeatKeyOf(call: Call, accountId: string, key: string, body: unknown): RepeatKey | null {
  if (key === '') return null;
  const { method, path } = call.exchange;
  return { slot: hex(answerSlot(accountId, method, path, key)), bodyHash: hex(hashBody(body)) };
}

/** Audit entries that are searched for the entry of a repeated request. */
const LOOKED_THROUGH = 100;

/**
 * Logs a change. If the log could not be written after the first of two equal requests, the second one writes it; equal requests at the same time
 * may each write it.
 */
export async function logOnce(
  log: AuditLog,
  change: Parameters<AuditLog['write']>[0],
  isRepeated: boolean,
): Promise<void> {
  const { action, subject, detail } = change;
  const isLogged =
    isRepeated &&
    log
      .newest(LOOKED_THROUGH)
      .some((entry) => entry.action === action && entry.subject === subject && entry.detail === detail);
  if (!isLogged) await log.write(change);
}
