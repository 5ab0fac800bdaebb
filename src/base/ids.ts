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

/** Half of the random part: 8 digits, 40 bits, which a number holds exactly. */
const HALF_DIGITS = RANDOM_DIGITS / 2;
const HALF = 2 ** 40;
const HALF_BYTES = RANDOM_BYTES / 2;
/** Random bytes are drawn for this many milliseconds at a time: one call of the generator costs as much as several ids. */
const DRAWN_AT_ONCE = 64;

function inBase32(value: number, digits: number): string {
  let text = '';
  for (let left = value; text.length < digits; left = Math.floor(left / 32)) text = DIGITS[left % 32] + text;
  return text;
}

/** Returns a generator of ids. Each id is greater than the one before, unless the clock was set back. */
export function createIds(deps: { readonly clock: Clock; readonly random: Random }): () => string {
  let lastMs = -1;
  let time = '';
  let high = 0;
  let low = 0;
  let highText = '';
  let drawn = Buffer.alloc(0);
  let drawnAt = 0;
  return () => {
    const now = deps.clock.now();
    if (now === lastMs) {
      low += 1;
      if (low === HALF) {
        low = 0;
        high += 1;
        highText = inBase32(high, HALF_DIGITS);
      }
    } else {
      if (drawnAt === drawn.length) {
        drawn = Buffer.from(deps.random.bytes(DRAWN_AT_ONCE * RANDOM_BYTES));
        drawnAt = 0;
      }
      // One bit is kept free, so that counting up within a millisecond cannot overflow.
      high = Math.floor(drawn.readUIntBE(drawnAt, HALF_BYTES) / 2);
      low = drawn.readUIntBE(drawnAt + HALF_BYTES, HALF_BYTES);
      drawnAt += RANDOM_BYTES;
      time = inBase32(now, TIME_DIGITS);
      highText = inBase32(high, HALF_DIGITS);
      lastMs = now;
    }
    return time + highText + inBase32(low, HALF_DIGITS);
  };
}

/**
 * Returns the id of something that has a name: always the same, so that every node makes the same one.
 *
 * @param atMs - its time, by which the id is sorted
 */
export function idOfName(atMs: number, name: string): string {
  const hash = createHash('sha256').update(name).digest();
  const high = hash.readUIntBE(0, HALF_BYTES);
  const low = hash.readUIntBE(HALF_BYTES, HALF_BYTES);
  return inBase32(atMs, TIME_DIGITS) + inBase32(high, HALF_DIGITS) + inBase32(low, HALF_DIGITS);
}
