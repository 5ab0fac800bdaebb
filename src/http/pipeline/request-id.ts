/** Request ids: the client's own if it is valid, else a new one. The id identifies the request in responses and logs. */
import type { Random } from '../../base/random.ts';
import { HTTP_LIMITS } from '../limits.ts';

const BASE = 36;
/** All pairs of digits. */
const LAST_DIGITS = Array.from({ length: BASE ** 2 }, (_, n) => n.toString(BASE).padStart(2, '0'));

const SANE = /^[0-9A-Za-z._:-]+$/;

/**
 * Returns a function that gives each request its id. To save a random number per request, an id consists of 64 random bits of the
 * process and a counter.
 */
export function createRequestIds(random: Random): (clientSent: string) => string {
  const prefix = Buffer.from(random.bytes(8)).toString('hex');
  let counter = 0;
  // The digits of a number change from the right: only the last two are added to each id.
  let start = '';
  const nextId = (): string => {
    const last = counter % LAST_DIGITS.length;
    if (last === 0) {
      const before = Math.floor(counter / LAST_DIGITS.length);
      start = `${prefix}-${before === 0 ? '' : before.toString(BASE)}`;
    }
    return counter++ < BASE ? start + last.toString(BASE) : start + (LAST_DIGITS[last] as string);
  };
  return (clientSent) => {
    const usable =
      clientSent !== '' && clientSent.length <= HTTP_LIMITS.requestIdTextMax && SANE.test(clientSent);
    return usable ? clientSent : nextId();
  };
}
