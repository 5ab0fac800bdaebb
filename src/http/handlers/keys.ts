/** API keys of an account. Every id is looked up together with its account, so a key of another account is not found. */
import { auditKeys } from '../../accounts/audit.ts';
import { type KeyRecord, type KeyStore, PERMISSIONS, type Permission } from '../../accounts/keys.ts';
import { AssayError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Principal } from '../pipeline/principal.ts';
import type { Work } from '../pipeline/work.ts';
import type { HttpDeps } from '../ports.ts';
import { accountOf, visitOf } from './auth.ts';

type Deps = Pick<HttpDeps, 'access'>;

const bytesOf = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));

/** The record without the fields that belong to the account. */
function shown({ accountId: _, plan: _plan, rateLimits: _limits, ...view }: KeyRecord): object {
  return view;
}

/**
 * Returns the key that the path names.
 *
 * @throws NOT_FOUND if the account has no key of this id
 */
function ownKey(keys: KeyStore, visit: Principal): KeyRecord {
  const [id = ''] = visit.params;
  const record = keys.get(id);
  if (record !== null && record.accountId === accountOf(visit)) return record;
  throw new AssayError('NOT_FOUND', 'There is no key of this id.', { field: 'id' });
}

/**
 * Checks that an API key grants only permissions that it has itself.
 *
 * @throws FORBIDDEN
 */
function checkGrant(visit: Principal, wanted: readonly Permission[]): void {
  const lacking = visit.key === null ? [] : wanted.filter((one) => !visit.key?.permissions.includes(one));
  if (lacking.length === 0) return;
  throw new AssayError('FORBIDDEN', `This API key lacks ${lacking.join(', ')} and cannot grant it.`, {
    field: 'permission',
  });
}

const changing = ({ access }: Deps, visit: Principal): KeyStore =>
  auditKeys(access.keys, () => access.audit(), visit.actor);

/** Handles `GET /keys`. */
export function listKeysWork({ access }: Deps): Work {
  return {
    kind: 'query',
    answer: async (call) => {
      const all = access.keys.list(accountOf(visitOf(call)));
      const revoked = all.filter((key) => key.status === 'REVOKED').slice(-LIMITS.keysPerAccountMax);
      const listed = all.filter((key) => key.status === 'ACTIVE' || revoked.includes(key));
      return bytesOf({ keys: listed.map(shown) });
    },
  };
}

/** Handles `POST /keys`. */
export function createKeyWork(deps: Deps): Work {
  return {
    kind: 'task',
    answer: async (call, body) => {
      const visit = visitOf(call);
      const accountId = accountOf(visit);
      const { name, permissions } = body as { name: string; permissions?: readonly Permission[] };
      const wanted = permissions ?? visit.key?.permissions ?? PERMISSIONS;
      checkGrant(visit, wanted);
      const active = deps.access.keys.list(accountId).filter((key) => key.status === 'ACTIVE');
      if (active.length >= LIMITS.keysPerAccountMax)
        throw new AssayError(
          'INVALID_REQUEST',
          `name: the account has ${active.length} active keys, and ${LIMITS.keysPerAccountMax} is the most.`,
          { field: 'name' },
        );
      const created = await changing(deps, visit).create({
        name,
        accountId,
        permissions: wanted,
        // Rate limits set for one key also apply to the keys that it creates.
        rateLimits: visit.key?.rateLimits ?? {},
      });
      call.lines += '\r\nCache-Control: no-store';
      return bytesOf({ key: shown(created.record), apiKey: created.apiKey });
    },
  };
}

/** Handles `PATCH /keys/{id}`. */
export function toggleKeyWork(deps: Deps): Work {
  return {
    kind: 'task',
    answer: async (call, body) => {
      const visit = visitOf(call);
      const { permission, enabled } = body as { permission: Permission; enabled: boolean };
      const { id } = ownKey(deps.access.keys, visit);
      if (enabled) checkGrant(visit, [permission]);
      return bytesOf({ key: shown(await changing(deps, visit).setPermission(id, permission, enabled)) });
    },
  };
}

/** Handles `DELETE /keys/{id}`. */
export function revokeKeyWork(deps: Deps): Work {
  return {
    kind: 'query',
    answer: async (call) => {
      const visit = visitOf(call);
      const { id } = ownKey(deps.access.keys, visit);
      return bytesOf({ key: shown(await changing(deps, visit).revoke(id)) });
    },
  };
}
