/** Ids that sort by time: ULIDs (https://github.com/ulid/spec) in lower case, which also increase within a millisecond. */
import { createHash } from 'node:crypto';
import type { Clock } from './clock.ts';
import type { Random } from './random.ts';

/** Crockford's base 32, in ASCII order. */
const DIGITS = '0123456789abcdefghjkmnpqrstvwxyz';
const TIME_DIGITS = 10;
const RANDOM_DIGITS = 16;
const RANDOM_BYTES = 10;

export const ID_SHAPE = /^[0-9a-hjkmnp-tv-z]{26}$/;

function inBase32(value: bigint, digits: number): string {
  let text = '';
  for (let left = value; text.length < digits; left >>= 5n) text = DIGITS[Number(left & 31n)] + text;
  return text;
}

/** Returns a generator of ids. Each id is greater than the one before, unless the clock was set back. */
export function createIds(deps: { readonly clock: Clock; readonly random: Random }): () => string {
  let lastMs = -1;
  let last = 0n;
  return () => {
    const now = deps.clock.now();
    // One bit is kept free, so that counting up within a millisecond cannot overflow.
    const fresh = BigInt(`0x${Buffer.from(deps.random.bytes(RANDOM_BYTES)).toString('hex')}`) >> 1n;
    last = now === lastMs ? last + 1n : fresh;
    lastMs = now;
    return inBase32(BigInt(now), TIME_DIGITS) + inBase32(last, RANDOM_DIGITS);
  };
}

/**
 * Returns the id of something that has a name: always the same, so that every node makes the same one.
 *
 * @param atMs - its time, by which the id is sorted
 */
export function idOfName(atMs: number, name: string): string {
  const hash = createHash('sha256')
    .update(name)
    .digest('hex')
    .slice(0, 2 * RANDOM_BYTES);
  return inBase32(BigInt(atMs), TIME_DIGITS) + inBase32(BigInt(`0x${hash}`), RANDOM_DIGITS);
}
