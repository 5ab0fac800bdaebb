/** API keys of an account. Every id is looked up together with its account, so a key of another account is not found. */
import { auditKeys } from '../../../accounts/audit.ts';
import type { KeyRecord, KeyStore, Permission } from '../../../accounts/keys.ts';
import { AssayError } from '../../../base/errors.ts';
import { accountOf, type Principal, type Services } from '../../operation.ts';

/** Returns the record without the fields that belong to the account. */
export function keyView({ accountId: _, plan: _plan, rateLimits: _limits, ...view }: KeyRecord) {
  return view;
}

/**
 * Returns a key of the account.
 *
 * @throws NOT_FOUND if the account has no key of this id
 */
export function ownKey(keys: Pick<KeyStore, 'get'>, principal: Principal, id: string): KeyRecord {
  const record = keys.get(id);
  if (record !== null && record.accountId === accountOf(principal)) return record;
  throw new AssayError('NOT_FOUND', 'There is no key with this id.', { field: 'id' });
}

/**
 * Checks that an API key grants only permissions that it has itself.
 *
 * @throws FORBIDDEN
 */
export function checkGrant({ key }: Principal, wanted: readonly Permission[]): void {
  const lacking = key === null ? [] : wanted.filter((one) => !key.permissions.includes(one));
  if (lacking.length === 0) return;
  throw new AssayError('FORBIDDEN', `This API key lacks ${lacking.join(', ')} and cannot grant it.`, {
    field: 'permission',
  });
}

/**
 * Checks that an API key changes only keys with permissions that it has, too: otherwise a weak key could switch off a stronger one.
 *
 * @throws FORBIDDEN
 */
export function checkManages({ key }: Principal, target: KeyRecord): void {
  const lacking = key === null ? [] : target.permissions.filter((one) => !key.permissions.includes(one));
  if (lacking.length === 0) return;
  throw new AssayError(
    'FORBIDDEN',
    `This API key lacks ${lacking.join(', ')}, which the key ${target.id} has. It can change only keys whose permissions it has, too.`,
    { field: 'id' },
  );
}

/** Returns the key store; its changes are recorded in the audit log. */
export const auditedKeys = ({ access }: Pick<Services, 'access'>, { actor }: Principal): KeyStore =>
  auditKeys(access.keys, () => access.audit(), actor);
