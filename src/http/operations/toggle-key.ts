/** `PATCH /keys/{id}`. */
import { Type } from 'typebox';
import type { KeyRecord } from '../../accounts/keys.ts';
import { AssayError } from '../../base/errors.ts';
import { operation, principalOf } from '../operation.ts';
import { flag, idText } from '../schemas/fields.ts';
import { KeyReceiptsSchema, OneKey, PermissionSchema } from '../schemas/keys.ts';
import { auditedKeys, checkGrant, checkManages, keyView, ownKey } from './support/keys.ts';

const refuse = (field: string, message: string): AssayError =>
  new AssayError('INVALID_REQUEST', `${field}: ${message}`, { field });

export const toggleKey = operation({
  id: 'toggleKey',
  sdk: 'keys.toggle',
  tag: 'Account',
  method: 'PATCH',
  path: '/keys/{id}',
  principal: 'session or key',
  role: 'owner',
  rateClass: 'keys',
  pathParameters: { id: idText('Id of a key of the account.') },
  body: Type.Object(
    {
      permission: Type.Optional(PermissionSchema),
      enabled: Type.Optional(flag('Whether the key has the permission. Required with `permission`.')),
      receipts: Type.Optional(KeyReceiptsSchema),
    },
    { title: 'ToggleKeyBody' },
  ),
  response: OneKey,
  examples: [
    { summary: 'Switch a permission off', body: { permission: 'kyt', enabled: false } },
    { summary: 'Sign all responses', body: { receipts: 'jws' } },
  ],
  summary: 'Change a key',
  description:
    'Switches a permission on or off, or sets the form of receipts. Takes effect at once. An API key cannot grant a permission that it lacks, and cannot change a key that has such a permission.',
  async run({ services, call, path, body }) {
    const principal = principalOf(call);
    const { permission, enabled, receipts } = body;
    if ((permission === undefined) !== (enabled === undefined))
      throw refuse('enabled', 'is required together with `permission`.');
    if (permission === undefined && receipts === undefined)
      throw refuse('permission', 'give `permission` with `enabled`, or `receipts`.');
    const target = ownKey(services.access.keys, principal, path.id);
    checkManages(principal, target);
    if (permission !== undefined && enabled === true) checkGrant(principal, [permission]);
    const keys = auditedKeys(services, principal);
    let changed: KeyRecord = target;
    if (permission !== undefined && enabled !== undefined)
      changed = await keys.setPermission(target.id, permission, enabled);
    if (receipts !== undefined) changed = await keys.setReceipts(target.id, receipts);
    return { key: keyView(changed) };
  },
});
