/** `DELETE /keys/{id}`. */
import { operation, principalOf } from '../operation.ts';
import { idText } from '../schemas/common.ts';
import { OneKey } from '../schemas/keys.ts';
import { auditedKeys, keyView, ownKey } from './support/keys.ts';

export const revokeKey = operation({
  id: 'revokeKey',
  tag: 'Account',
  method: 'DELETE',
  path: '/keys/{id}',
  principal: 'session',
  rateClass: 'keys',
  pathParameters: { id: idText('Id of a key of the account.') },
  response: OneKey,
  summary: 'Revoke an API key',
  description: 'Permanent, and at once in every thread and process.',
  async run({ services, call, path }) {
    const principal = principalOf(call);
    const { id } = ownKey(services.access.keys, principal, path.id);
    return { key: keyView(await auditedKeys(services, principal).revoke(id)) };
  },
});
