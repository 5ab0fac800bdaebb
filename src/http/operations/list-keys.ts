/** `GET /keys`. */

import { invalidCursor } from '../../base/paging.ts';
import { HTTP_LIMITS } from '../limits.ts';
import { accountOf, operation, principalOf } from '../operation.ts';
import { pageQuery } from '../schemas/fields.ts';
import { KeyList } from '../schemas/keys.ts';
import { keyView } from './support/keys.ts';
import { pageEnd } from './support/paging.ts';

/** All that are listed fit on one page unless the client asks for less. */
const KEYS_MAX = 2 * HTTP_LIMITS.keysPerAccountMax;

export const listKeys = operation({
  id: 'listKeys',
  sdk: 'keys.list',
  tag: 'Account',
  method: 'GET',
  path: '/keys',
  principal: 'session',
  rateClass: 'keys',
  query: pageQuery(KEYS_MAX, KEYS_MAX),
  response: KeyList,
  summary: 'API keys',
  description: `All keys of the account; of the revoked keys the newest ${HTTP_LIMITS.keysPerAccountMax}.`,
  async run({ services: { access }, call, query: { limit, cursor } }) {
    const listed = access.keys.shown(accountOf(principalOf(call)), HTTP_LIMITS.keysPerAccountMax);
    const before = cursor === undefined ? -1 : listed.findIndex(({ id }) => id === cursor);
    if (cursor !== undefined && before < 0) throw invalidCursor();
    const keys = listed.slice(before + 1, before + 1 + limit).map(keyView);
    const hasMore = listed.length > before + 1 + keys.length;
    const nextCursor = hasMore ? (keys.at(-1)?.id ?? null) : null;
    return { keys, total: listed.length, ...pageEnd({ limit }, { nextCursor }) };
  },
});
