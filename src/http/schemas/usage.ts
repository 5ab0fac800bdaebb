/** Schemas of GET /usage. */
import { Type } from 'typebox';
import { LEDGER_TYPES } from '../../accounts/credits.ts';
import { PLAN_NAMES, QUOTA_METERS, RATE_CLASSES } from '../../accounts/plans.ts';
import { count, listOf, nullable, oneOf, pageFields, text } from './fields.ts';

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

/** The fields of one balance. */
const balanceFields = {
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
};

const PlanUsage = Type.Object(
  {
    name: oneOf(PLAN_NAMES),
    creditsPerMonth: count('Free credits of a month, for each balance.'),
    walletsMax: count('Wallets that can be monitored at a time.'),
    requestsPerMinute: Type.Object(
      Object.fromEntries(RATE_CLASSES.map((rateClass) => [rateClass, count()])),
      { description: 'For each key and each session, unless a key has limits of its own.' },
    ),
    quotas: listOf(
      Type.Object({
        meter: oneOf(QUOTA_METERS, 'intel counts addresses, oracle counts calls.'),
        limit: nullable(Type.Integer(), 'Units of a month; null if there is no limit.'),
        used: count('Units used this month, with keys and with sessions.'),
        resetAt: text('When the quota is renewed, ISO 8601 UTC.'),
      }),
    ),
  },
  { title: 'PlanUsage', description: 'The plan of the account, and what is used of its monthly quotas.' },
);

export const UsageRecord = Type.Object(
  {
    ...balanceFields,
    plan: PlanUsage,
    dashboard: Type.Optional(
      Type.Object(balanceFields, {
        title: 'DashboardUsage',
        description:
          'The balance that pays for calls with a session, and its ledger. Only if the request has a session.',
      }),
    ),
  },
  { title: 'UsageRecord', description: 'Balance and ledger of the account.' },
);
