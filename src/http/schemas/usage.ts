/** Schemas of GET /usage. */
import { Type } from 'typebox';
import { LEDGER_TYPES } from '../../accounts/credits.ts';
import { count, listOf, nullable, oneOf, pageFields, text } from './common.ts';

const LedgerTypeSchema = oneOf(LEDGER_TYPES, 'Type of the entry.');

export const UsageEntry = Type.Object(
  {
    id: text(),
    amount: Type.Integer({ description: 'Negative for a deduction, positive for credits added.' }),
    balance: Type.Integer({ description: 'Balance after the entry.' }),
    type: LedgerTypeSchema,
    reference: nullable(Type.String(), 'Of a charge: the operation, the address and the chain.'),
    createdAt: text('ISO 8601 UTC.'),
  },
  { title: 'UsageEntry', description: 'One entry of the ledger.' },
);

const ByType = Type.Object(Object.fromEntries(LEDGER_TYPES.map((type) => [type, Type.Integer()])), {
  title: 'CreditsByType',
  description: 'Credits by type, negative if deducted.',
});

export const UsageRecord = Type.Object(
  {
    balance: Type.Integer({ description: 'Credits now.' }),
    history: listOf(UsageEntry, 'Newest first.'),
    ...pageFields,
    totals: Type.Object({
      byType: ByType,
      byDay: listOf(
        Type.Object({ day: text('UTC.'), byType: ByType }),
        'Days with entries, the newest first, at most 31.',
      ),
    }),
    credits: Type.Object(
      {
        free: count('Left of this month’s free credits.'),
        granted: count('Left of what was granted; does not expire.'),
        bought: Type.Integer({ description: 'Left of what was bought; does not expire.' }),
        held: count('Held by requests that run now.'),
        renewsAt: text('When free credits are renewed.'),
      },
      { description: 'Parts of the balance.' },
    ),
  },
  { title: 'UsageRecord', description: 'Balance and ledger of the account.' },
);
