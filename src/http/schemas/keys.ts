/** Schemas of the management of API keys. */
import { Type } from 'typebox';
import { PERMISSIONS } from '../../accounts/keys.ts';
import { ACCOUNT_LIMITS } from '../../accounts/limits.ts';
import { count, listOf, nullable, oneOf, pageFields, text, time } from './common.ts';

export const PermissionSchema = oneOf(PERMISSIONS);

export const KeyView = Type.Object(
  {
    id: text(),
    name: text(),
    prefix: text('First characters of the key, for recognising it.'),
    last4: text('Last four characters of the key.'),
    permissions: listOf(PermissionSchema),
    status: oneOf(['ACTIVE', 'REVOKED']),
    createdAt: time(),
    lastUsedAt: nullable(time(), 'Up to a minute old.'),
    revokedAt: nullable(time()),
    createdBy: nullable(
      text(),
      'Id of the API key that created this key; `session` or `operator` if a person did; null for a key of an earlier release.',
    ),
  },
  { title: 'KeyView', description: 'An API key without its secret.' },
);

export const KeyBody = Type.Object(
  {
    name: Type.String({
      minLength: 1,
      maxLength: ACCOUNT_LIMITS.keyNameMax,
      description: 'Purpose of the key.',
    }),
    permissions: Type.Optional(
      Type.Array(PermissionSchema, {
        minItems: 1,
        maxItems: PERMISSIONS.length,
        description: 'Default: all permissions, or those of the API key that sends the request.',
      }),
    ),
  },
  { title: 'KeyBody' },
);

export const KeyList = Type.Object(
  { keys: listOf(KeyView, 'Oldest first.'), total: count(), ...pageFields },
  { title: 'KeyList' },
);
export const OneKey = Type.Object({ key: KeyView }, { title: 'OneKey' });
export const RevokedKey = Type.Object(
  {
    key: KeyView,
    revokedDescendants: listOf(KeyView, 'Keys that descend from the key and were revoked with it.'),
    activeDescendants: listOf(
      KeyView,
      'Keys that the key created, or that these created, and that are still active.',
    ),
  },
  { title: 'RevokedKey' },
);
export const NewKey = Type.Object(
  { key: KeyView, apiKey: text('The full key, shown only once.') },
  { title: 'NewKey' },
);
