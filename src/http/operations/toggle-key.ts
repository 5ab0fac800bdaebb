/** `PATCH /keys/{id}`. */
import { Type } from 'typebox';
import { operation, principalOf } from '../operation.ts';
import { flag, idText } from '../schemas/common.ts';
import { OneKey, PermissionSchema } from '../schemas/keys.ts';
import { auditedKeys, checkGrant, checkManages, keyView, ownKey } from './support/keys.ts';

export const toggleKey = operation({
  id: 'toggleKey',
  tag: 'Account',
  method: 'PATCH',
  path: '/keys/{id}',
  principal: 'session or key',
  rateClass: 'keys',
  pathParameters: { id: idText('Id of a key of the account.') },
  body: Type.Object(
    { permission: PermissionSchema, enabled: flag('Whether the key has the permission.') },
    { title: 'ToggleKeyBody' },
  ),
  response: OneKey,
  summary: 'Toggle a permission of a key',
  description:
    'Takes effect at once. An API key cannot grant a permission that it lacks, and cannot change a key that has such a permission.',
  async run({ services, call, path, body }) {
    const principal = principalOf(call);
    const { permission, enabled } = body;
    const target = ownKey(services.access.keys, principal, path.id);
    checkManages(principal, target);
    if (enabled) checkGrant(principal, [permission]);
    return {
      key: keyView(await auditedKeys(services, principal).setPermission(target.id, permission, enabled)),
    };
  },
});
