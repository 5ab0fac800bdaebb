/** `GET /keys`. */

import { HTTP_LIMITS } from '../limits.ts';
import { accountOf, operation, principalOf } from '../operation.ts';
import { KeyList } from '../schemas/keys.ts';
import { keyView } from './support/keys.ts';

export const listKeys = operation({
  id: 'listKeys',
  tag: 'Account',
  method: 'GET',
  path: '/keys',
  principal: 'session',
  rateClass: 'keys',
  response: KeyList,
  summary: 'API keys',
  description: `All keys of the account; of the revoked keys the newest ${HTTP_LIMITS.keysPerAccountMax}.`,
  async run({ services: { access }, call }) {
    const all = access.keys.list(accountOf(principalOf(call)));
    const revoked = all.filter((key) => key.status === 'REVOKED').slice(-HTTP_LIMITS.keysPerAccountMax);
    const listed = all.filter((key) => key.status === 'ACTIVE' || revoked.includes(key));
    return { keys: listed.map(keyView) };
  },
});
