/** Schemas of the management of API keys. */
import { Type } from 'typebox';
import { KEY_RECEIPTS, PERMISSIONS } from '../../accounts/keys.ts';
import { ACCOUNT_LIMITS } from '../../accounts/limits.ts';
import { count, listOf, nullable, oneOf, pageFields, text, time } from './fields.ts';

export const PermissionSchema = oneOf(PERMISSIONS);
export const KeyReceiptsSchema = oneOf(
  KEY_RECEIPTS,
  'Receipts in the responses to this key, if a request does not name a form.',
);

export const KeyView = Type.Object(
  {
    id: text(),
    name: text(),
    prefix: text('First characters of the key, for recognising it.'),
    last4: text('Last four characters of the key.'),
    permissions: listOf(PermissionSchema),
    status: oneOf(['ACTIVE', 'REVOKED']),
    receipts: KeyReceiptsSchema,
    createdAt: time(),
    lastUsedAt: nullable(time(), 'Up to a minute old.'),
    revokedAt: nullable(time()),
    createdBy: nullable(
      text(),
      'Id of the API key or the person that created this key; `session` for the first person of the account; `operator` for the command line; null for a key of an earlier release.',
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
    receipts: Type.Optional(KeyReceiptsSchema),
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
