/** Schemas of the management of API keys. */
import { Type } from 'typebox';
import { PERMISSIONS } from '../../accounts/keys.ts';
import { LIMITS } from '../../base/limits.ts';
import { flag, listOf, nullable, oneOf, text } from './common.ts';

const PermissionSchema = oneOf(PERMISSIONS);

export const KeyView = Type.Object(
  {
    id: text(),
    name: text(),
    prefix: text('First characters of the key, for recognising it.'),
    last4: text('Last four characters of the key.'),
    permissions: listOf(PermissionSchema),
    status: oneOf(['ACTIVE', 'REVOKED']),
    createdAt: text(),
    lastUsedAt: nullable(Type.String(), 'Up to a minute old.'),
    revokedAt: nullable(Type.String()),
  },
  { description: 'What is known of an API key. The key itself is known to its owner alone.' },
);

export const KeyBody = Type.Object({
  name: Type.String({ minLength: 1, maxLength: LIMITS.keyNameMax, description: 'What the key is for.' }),
  permissions: Type.Optional(
    Type.Array(PermissionSchema, {
      maxItems: PERMISSIONS.length,
      description: 'All six where left out; those of the caller where an API key asks.',
    }),
  ),
});

export const ToggleBody = Type.Object({
  permission: PermissionSchema,
  enabled: flag('Whether the key is to have it.'),
});

export const KeyList = Type.Object({ keys: listOf(KeyView, 'Oldest first.') });
export const OneKey = Type.Object({ key: KeyView });
export const NewKey = Type.Object({ key: KeyView, apiKey: text('The full key, shown this once.') });
