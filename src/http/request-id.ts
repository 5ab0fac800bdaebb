/** The id of a request: the client's own where it is sane, else a new one. It names the request in answers and logs. */
import { LIMITS } from '../base/limits.ts';
import type { Random } from '../base/random.ts';

const SANE = /^[0-9A-Za-z._:-]+$/;

/** Ids are unique without a random number each: 64 random bits of the process, then a counter. */
export function createRequestIds(random: Random): (clientSent: string) => string {
  const prefix = Buffer.from(random.bytes(8)).toString('hex');
  let counter = 0;
  return (clientSent) => {
    const usable = clientSent !== '' && clientSent.length <= LIMITS.requestIdTextMax && SANE.test(clientSent);
    return usable ? clientSent : `${prefix}-${(counter++).toString(36)}`;
  };
}
