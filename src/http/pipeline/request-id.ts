/** Request ids: the client's own if it is valid, else a new one. The id identifies the request in responses and logs. */
import type { Random } from '../../base/random.ts';
import { HTTP_LIMITS } from '../limits.ts';

const SANE = /^[0-9A-Za-z._:-]+$/;

/**
 * Returns a function that gives each request its id. To save a random number per request, an id consists of 64 random bits of the
 * process and a counter.
 */
export function createRequestIds(random: Random): (clientSent: string) => string {
  const prefix = Buffer.from(random.bytes(8)).toString('hex');
  let counter = 0;
  return (clientSent) => {
    const usable =
      clientSent !== '' && clientSent.length <= HTTP_LIMITS.requestIdTextMax && SANE.test(clientSent);
    return usable ? clientSent : `${prefix}-${(counter++).toString(36)}`;
  };
}
