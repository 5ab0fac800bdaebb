/** `DELETE /keys/{id}`. */
import { Type } from 'typebox';
import { operation, principalOf } from '../operation.ts';
import { idText } from '../schemas/fields.ts';
import { RevokedKey } from '../schemas/keys.ts';
import { auditedKeys, keyView, ownKey } from './support/keys.ts';

export const revokeKey = operation({
  id: 'revokeKey',
  sdk: 'keys.revoke',
  tag: 'Account',
  method: 'DELETE',
  path: '/keys/{id}',
  principal: 'session',
  role: 'owner',
  rateClass: 'keys',
  pathParameters: { id: idText('Id of a key of the account.') },
  query: {
    descendants: Type.Boolean({
      default: false,
      description: 'Also revoke the keys that this key created, and those that they created. Default false.',
    }),
  },
  response: RevokedKey,
  summary: 'Revoke an API key',
  description:
    'Permanent, and at once in every thread and process. Keys that the key created remain active, and the response lists them; `descendants=true` revokes them in the same step, also if the key itself was revoked before.',
  async run({ services, call, path, query }) {
    const principal = principalOf(call);
    const { id } = ownKey(services.access.keys, principal, path.id);
    const keys = auditedKeys(services, principal);
    const [key, ...revoked] = query.descendants
      ? await keys.revokeWithDescendants(id)
      : ([await keys.revoke(id)] as const);
    const active = keys.descendants(id).filter(({ status }) => status === 'ACTIVE');
    return {
      key: keyView(key),
      revokedDescendants: revoked.map(keyView),
      activeDescendants: active.map(keyView),
    };
  },
});
