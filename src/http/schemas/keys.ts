/** Schemas of the management of API keys. */
import { Type } from 'typebox';
import { PERMISSIONS } from '../../accounts/keys.ts';
import { LIMITS } from '../../base/limits.ts';
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
  },
  { title: 'KeyView', description: 'An API key without its secret.' },
);

export const KeyBody = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: LIMITS.keyNameMax, description: 'Purpose of the key.' }),
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
export const NewKey = Type.Object(
  { key: KeyView, apiKey: text('The full key, shown only once.') },
  { title: 'NewKey' },
);
