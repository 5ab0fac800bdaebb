/**
 * Idempotency-Key: a request that is sent again with the same key is answered with the answer of the first, and charged once.
 * Answers are kept in the ledger, in the transaction of their charge; here is what happens while the first still runs.
 */
import { createHash } from 'node:crypto';
import { AssayError } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import type { AnswerSlot, StoredAnswer } from './ledger.ts';

const FIELD = 'Idempotency-Key';
const PRINTABLE = /^[\x21-\x7e]+$/;

/** The place of one key of one account, method and path. Throws INVALID_REQUEST where the key is none. */
export function answerSlot(accountId: string, method: string, path: string, key: string): AnswerSlot {
  if (key.length > LIMITS.idempotencyKeyTextMax || !PRINTABLE.test(key)) {
    throw new AssayError(
      'INVALID_REQUEST',
      `${FIELD} must have 1 to ${LIMITS.idempotencyKeyTextMax} printable ASCII characters without spaces.`,
      { field: FIELD },
    );
  }
  // None of the parts can hold a line break.
  return createHash('sha256').update(`${accountId}\n${method}\n${path}\n${key}`).digest();
}

export const hashBody = (body: Uint8Array): Uint8Array => createHash('sha256').update(body).digest();

/** The 400 of a key that came with another body. */
export const otherBody = (): AssayError =>
  new AssayError('INVALID_REQUEST', `${FIELD}: was used with another body within the last 24 hours.`, {
    field: FIELD,
  });

/** What a request with a key is answered with. */
export interface IdempotentAnswer {
  readonly body: Uint8Array;
  /** Whether the answer is that of an earlier request. */
  readonly replayed: boolean;
}

export interface Idempotency {
  /**
   * Runs `work`, which looks for a kept answer first and keeps its own in the slot, unless the slot is being worked for: then that
   * answer is given, and whoever waits shares a failure as well, which is not kept. Rejects with INVALID_REQUEST for another body.
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

/** A kept answer as the answer of this request. Throws INVALID_REQUEST for another body. */
export function replayed(kept: StoredAnswer, bodyHash: Uint8Array): IdempotentAnswer {
  if (hex(kept.bodyHash) !== hex(bodyHash)) throw otherBody();
  return { body: kept.body, replayed: true };
}

export function createIdempotency(): Idempotency {
  /** Bounded by the requests that are not answered yet. */
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
