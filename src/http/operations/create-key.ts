/** `POST /keys`. */
import { PERMISSIONS } from '../../accounts/keys.ts';
import { AssayError } from '../../base/errors.ts';
import { HTTP_LIMITS } from '../limits.ts';
import { accountOf, NO_STORE, operation, principalOf } from '../operation.ts';
import { KeyBody, NewKey } from '../schemas/keys.ts';
import { auditedKeys, checkGrant, keyView } from './support/keys.ts';

export const createKey = operation({
  id: 'createKey',
  sdk: 'keys.create',
  tag: 'Account',
  method: 'POST',
  path: '/keys',
  principal: 'session or key',
  role: 'owner',
  rateClass: 'keys',
  body: KeyBody,
  response: NewKey,
  responseHeaders: ['Cache-Control'],
  summary: 'Create an API key',
  description: 'The full key is shown only once. An API key cannot grant a permission that it lacks.',
  async run({ services, call, body }) {
    const principal = principalOf(call);
    const accountId = accountOf(principal);
    const permissions = body.permissions ?? principal.key?.permissions ?? PERMISSIONS;
    checkGrant(principal, permissions);
    const active = services.access.keys.active(accountId);
    if (active.length >= HTTP_LIMITS.keysPerAccountMax)
      throw new AssayError(
        'INVALID_REQUEST',
        `name: the account has ${active.length} active keys, and ${HTTP_LIMITS.keysPerAccountMax} is the most.`,
        { field: 'name' },
      );
    const created = await auditedKeys(services, principal).create({
      name: body.name,
      accountId,
      permissions,
      receipts: body.receipts ?? 'none',
      // Rate limits set for one key also apply to the keys that it creates.
      rateLimits: principal.key?.rateLimits ?? {},
    });
    call.lines += NO_STORE;
    return { key: keyView(created.record), apiKey: created.apiKey };
  },
});
