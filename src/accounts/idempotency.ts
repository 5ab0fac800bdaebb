/**
 * Idempotency-Key: a repeated request with the same key gets the response of the first one, and is charged once. Responses are stored in
 * the ledger, in the transaction of their charge; this module handles repetitions while the first request is still running.
 */

import { createHash } from 'node:crypto';
import { AssayError } from '../base/errors.ts';
import type { AnswerSlot, StoredAnswer } from './ledger.ts';
import { ACCOUNT_LIMITS } from './limits.ts';

const FIELD = 'Idempotency-Key';
const PRINTABLE = /^[\x21-\x7e]+$/;

/**
 * Returns the slot of a key, for one account, method and path.
 *
 * @throws INVALID_REQUEST if the key is invalid
 */
export function answerSlot(accountId: string, method: string, path: string, key: string): AnswerSlot {
  if (key.length > ACCOUNT_LIMITS.idempotencyKeyTextMax || !PRINTABLE.test(key)) {
    throw new AssayError(
      'INVALID_REQUEST',
      `${FIELD}: must have 1 to ${ACCOUNT_LIMITS.idempotencyKeyTextMax} printable ASCII characters without spaces.`,
      { field: FIELD },
    );
  }
  // None of the parts can contain a line break.
  return createHash('sha256').update(`${accountId}\n${method}\n${path}\n${key}`).digest();
}

/**
 * Returns the canonical JSON text of a parsed value (RFC 8785): without white space, the fields of each object sorted by their UTF-16
 * units, and numbers and strings as JavaScript writes them.
 *
 * @param value - result of JSON.parse, nested at most `jsonDepthMax` levels (src/http/limits.ts)
 */
export function canonicalJson(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  const fields = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${fields.map(([name, inner]) => `${JSON.stringify(name)}:${canonicalJson(inner)}`).join(',')}}`;
}

/** Returns the SHA-256 of a request body, the same for any order of fields and any white space. */
export const hashBody = (value: unknown): Uint8Array => hashBytes(Buffer.from(canonicalJson(value)));

/** Returns the SHA-256 of the bytes of a request body, with which release 0.2 and earlier stored responses. */
export const hashBytes = (body: Uint8Array): Uint8Array => createHash('sha256').update(body).digest();

/** Returns the 400 error for a key that was used with another body. */
export const otherBody = (): AssayError =>
  new AssayError(
    'INVALID_REQUEST',
    `${FIELD}: was already used with a different request body within the last 24 hours.`,
    {
      field: FIELD,
    },
  );

/** The response to a request with an Idempotency-Key. */
export interface IdempotentAnswer {
  readonly body: Uint8Array;
  /** True if the response is that of an earlier request. */
  readonly replayed: boolean;
}

export interface Idempotency {
  /**
   * Runs `work`, which looks up a stored response first and stores its own in the slot. If another request with the same slot is running,
   * its response is returned instead; if it fails, all requests that wait for it fail as well, and nothing is stored. Rejects with
   * INVALID_REQUEST if the body differs.
   */
  run(
    slot: AnswerSlot,
    bodyHash: Uint8Array,
    work: () => Promise<IdempotentAnswer>,
  ): Promise<IdempotentAnswer>;
}

interface Running {
  readonly bodyHash: string;
  readonly answer: Promise<IdempotentAnswer>;
}

const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');

/**
 * Returns a stored response as the response of this request.
 *
 * @param bodyHashes - the hashes that the body of this request has: of its canonical form and, for responses of an earlier release,
 * of its bytes
 * @throws INVALID_REQUEST if the body differs
 */
export function replayed(stored: StoredAnswer, ...bodyHashes: readonly Uint8Array[]): IdempotentAnswer {
  if (!bodyHashes.some((hash) => hex(hash) === hex(stored.bodyHash))) throw otherBody();
  return { body: stored.body, replayed: true };
}

/** Creates the table of running requests with an Idempotency-Key. */
export function createIdempotency(): Idempotency {
  /** Limited by the number of unfinished requests. */
  const running = new Map<string, Running>();

  return {
    async run(slot, bodyHash, work) {
      const place = hex(slot);
      const hash = hex(bodyHash);
      const first = running.get(place);
      if (first !== undefined) {
        if (first.bodyHash !== hash) throw otherBody();
        return { body: (await first.answer).body, replayed: true };
      }
      const answer = work();
      running.set(place, { bodyHash: hash, answer });
      try {
        return await answer;
      } finally {
        running.delete(place);
      }
    },
  };
}
