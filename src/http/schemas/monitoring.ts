/** Schemas of monitoring: wallets, alerts, transactions, channels, deliveries. */
import { Type } from 'typebox';
import { ACCOUNT_LIMITS } from '../../accounts/limits.ts';
import { DELIVERY_LIMITS } from '../../monitoring/delivery/limits.ts';
import { MONITORING_LIMITS } from '../../monitoring/limits.ts';
import {
  ALERT_FREQUENCIES,
  ALERT_STATUSES,
  ALERT_THRESHOLDS,
  type Delivery,
  MONITORING_CHAINS,
  RULE_IDS,
  SEVERITIES,
} from '../../monitoring/records.ts';
import { CategorySchema, Coverage, RiskLevelSchema, SeveritySchema } from './facts.ts';
import {
  AddressText,
  amountFields,
  ChainText,
  count,
  flag,
  listOf,
  nullable,
  number,
  offsetFields,
  oneOf,
  pageFields,
  text,
} from './fields.ts';

const MonitoringChainSchema = oneOf(MONITORING_CHAINS);
const RuleIdSchema = oneOf(RULE_IDS);
export const AlertStatusSchema = oneOf(ALERT_STATUSES);
const LabelText = Type.String({ minLength: 1, maxLength: MONITORING_LIMITS.walletLabelCharsMax });
const NotesText = Type.String({ maxLength: MONITORING_LIMITS.walletNotesCharsMax });
const UrlText = Type.String({
  minLength: 1,
  maxLength: DELIVERY_LIMITS.receiverUrlCharsMax,
  description: 'https, to a public host.',
});

/** Settings that both the registration and the change of a wallet accept. */
const settings = {
  alertThreshold: Type.Optional(
    oneOf(ALERT_THRESHOLDS, 'Alerts that are sent; every alert is stored. Default all.'),
  ),
  alertFrequency: Type.Optional(
    oneOf(ALERT_FREQUENCIES, 'daily: one digest a day (UTC) instead of single messages. Default realtime.'),
  ),
  enabledRules: Type.Optional(
    Type.Array(RuleIdSchema, { maxItems: RULE_IDS.length * 2, description: 'Default: all rules.' }),
  ),
};

export const WalletBody = Type.Object(
  {
    walletAddress: AddressText,
    chain: ChainText,
    label: Type.Optional(LabelText),
    ...settings,
    customWebhookUrl: Type.Optional(UrlText),
    notes: Type.Optional(NotesText),
  },
  { title: 'WalletBody' },
);

export const WalletPatch = Type.Object(
  {
    label: Type.Optional(nullable(LabelText)),
    status: Type.Optional(oneOf(['ACTIVE', 'PAUSED'])),
    action: Type.Optional(oneOf(['restore'], 'Restores a deleted wallet with the status ACTIVE.')),
    ...settings,
    customWebhookUrl: Type.Optional(nullable(UrlText, 'Null removes it.')),
    notes: Type.Optional(nullable(NotesText)),
  },
  { title: 'WalletPatch', minProperties: 1 },
);

const wallet = {
  id: text(),
  walletAddress: text('In lower case.'),
  chain: MonitoringChainSchema,
  label: nullable(Type.String()),
  status: oneOf(['ACTIVE', 'PAUSED', 'DELETED']),
  riskScore: nullable(
    Type.Integer(),
    'Of the last screening: when it was added, after an alert, or by schedule.',
  ),
  riskLevel: nullable(RiskLevelSchema),
  assessed: Type.Boolean({
    description:
      'False if neither a label nor a transfer of the address was known: its score then has no meaning.',
  }),
  screenedAt: text('Time of the last screening, ISO 8601 UTC.'),
  coverage: nullable(Coverage, 'Of the last screening; null if an earlier version of the program made it.'),
  enabledRules: listOf(RuleIdSchema),
  customWebhookUrl: nullable(Type.String()),
  alertThreshold: oneOf(ALERT_THRESHOLDS),
  alertFrequency: oneOf(ALERT_FREQUENCIES),
  notes: nullable(Type.String()),
  createdAt: text(),
  updatedAt: text(),
  deletedAt: nullable(Type.String()),
  following: Type.Boolean({
    description:
      'False if transfers of the wallet are not seen at the moment: no node of its chain is configured, the node fails or is stuck, or the wallet is not active.',
  }),
  followedTo: nullable(
    Type.Integer({ minimum: 0 }),
    'Height of the last block that was read; null before the first.',
  ),
  reason: nullable(Type.String(), 'Why `following` is false; null if it is true.'),
};
export const MonitoredWalletSchema = Type.Object(wallet, {
  title: 'MonitoredWallet',
  description: 'A watched address.',
});
export const OneWallet = Type.Object({ wallet: MonitoredWalletSchema }, { title: 'OneWallet' });
export const WalletDetail = Type.Object(
  {
    wallet: Type.Object({ ...wallet, alertCount: count(), transactionCount: count() }),
  },
  { title: 'WalletDetail' },
);
export const WalletList = Type.Object(
  {
    wallets: listOf(MonitoredWalletSchema, 'Oldest first.'),
    ...offsetFields,
  },
  { title: 'WalletList' },
);

const EntitySchema = nullable(
  Type.Object({ name: text(), category: CategorySchema, threatLevel: text() }),
  'Null if no label names the address.',
);

export const AlertSchema = Type.Object(
  {
    id: text(),
    sequence: count('Grows by one with every alert of the account.'),
    walletId: text(),
    wallet: Type.Object({
      walletAddress: text(),
      chain: MonitoringChainSchema,
      label: nullable(Type.String()),
    }),
    status: AlertStatusSchema,
    severity: SeveritySchema,
    ruleId: RuleIdSchema,
    ruleName: text(),
    title: text(),
    message: text(),
    category: nullable(CategorySchema),
    riskType: oneOf(['COUNTERPARTY', 'INDIRECT', 'BEHAVIOUR', 'LIST_CHANGE']),
    final: flag('The block is deep enough that no reorg is expected.'),
    reorged: flag('The block left the chain.'),
    transaction: nullable(
      Type.Object({
        hash: text(),
        blockNumber: count(),
        direction: oneOf(['in', 'out']),
        counterparty: Type.Object({ address: nullable(Type.String()), entity: EntitySchema }),
        asset: text(),
        ...amountFields,
        amountUsd: nullable(Type.Number()),
        timestamp: text(),
      }),
      'Null if the alert is about a change of a list.',
    ),
    createdAt: text(),
    updatedAt: text(),
    resolvedAt: nullable(Type.String()),
    assignee: nullable(Type.String()),
    history: listOf(
      Type.Object({
        at: text(),
        kind: oneOf(['CREATED', 'STATUS', 'ASSIGNEE', 'NOTE', 'FINAL', 'REORGED']),
        status: AlertStatusSchema,
        by: nullable(Type.String(), 'Id of the key that made the change.'),
        note: nullable(Type.String()),
        assignee: Type.Optional(nullable(Type.String(), 'The new assignee; only of ASSIGNEE.')),
      }),
    ),
  },
  { title: 'Alert', description: 'A finding of a rule.' },
);
/** A text of one line, without control characters. */
const LINE = '^[^\\u0000-\\u001f\\u007f-\\u009f\\u2028\\u2029]+$';
export const AlertPatch = Type.Object(
  {
    status: Type.Optional(AlertStatusSchema),
    assignee: Type.Optional(
      nullable(
        Type.String({
          minLength: 1,
          maxLength: MONITORING_LIMITS.alertAssigneeCharsMax,
          pattern: LINE,
          description: 'one line: an id, an email address or a name',
        }),
        'Null removes it.',
      ),
    ),
    note: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: MONITORING_LIMITS.alertNoteCharsMax,
        description: `Added to the history. An alert has at most ${MONITORING_LIMITS.alertNotesMax} notes.`,
      }),
    ),
  },
  {
    title: 'AlertPatch',
    minProperties: 1,
    examples: [{ status: 'INVESTIGATING', note: 'The sender is a customer; documents requested.' }],
  },
);
export const OneAlert = Type.Object({ alert: AlertSchema }, { title: 'OneAlert' });
export const AlertList = Type.Object(
  {
    alerts: listOf(AlertSchema, 'Newest first.'),
    ...offsetFields,
    newest: count(
      'Sequence that this page begins at or below; `upTo` with it keeps further pages from shifting.',
    ),
    notFollowed: listOf(
      Type.Object({
        chain: MonitoringChainSchema,
        followedTo: nullable(Type.Integer({ minimum: 0 }), 'Height of the last block that was read.'),
        reason: nullable(Type.String()),
      }),
      'Chains of active wallets that are not followed at the moment: no alert is raised for them.',
    ),
  },
  { title: 'AlertList' },
);

export const TransactionList = Type.Object(
  {
    transactions: listOf(
      Type.Object({
        id: text(),
        walletId: text(),
        hash: text(),
        blockNumber: count(),
        timestamp: text(),
        direction: oneOf(['in', 'out']),
        counterparty: Type.Object({
          address: nullable(Type.String()),
          entity: EntitySchema,
          category: nullable(CategorySchema),
        }),
        asset: text(),
        ...amountFields,
        amountUsd: nullable(Type.Number()),
        riskScore: nullable(Type.Integer(), 'Of the counterparty; null if it has no label.'),
        riskLevel: nullable(RiskLevelSchema),
        spoofable: flag('The transfer can be forged: its alerts are at most LOW.'),
        alertIds: listOf(Type.String()),
        reorged: flag(),
        confirmations: nullable(Type.Integer({ minimum: 0 })),
      }),
      'Newest first.',
    ),
    ...offsetFields,
  },
  { title: 'TransactionList' },
);

export const ChannelsBody = Type.Object(
  {
    email: Type.Optional(
      nullable(
        Type.String({
          maxLength: ACCOUNT_LIMITS.emailCharsMax,
          pattern: '^[^\\s@<>,;"]+@[^\\s@<>,;"]+$',
          description: 'one email address, such as compliance@example.org',
        }),
      ),
    ),
    slackWebhookUrl: Type.Optional(nullable(UrlText, 'An incoming webhook of Slack.')),
    telegram: Type.Optional(
      nullable(
        Type.Object({
          botToken: Type.String({
            pattern: '^\\d{1,20}:[A-Za-z0-9_-]{1,100}$',
            description: 'the token of a bot as BotFather shows it: digits, a colon, then the secret',
          }),
          chatId: Type.String({
            pattern: '^(-?\\d{1,20}|@[A-Za-z0-9_]{1,64})$',
            description: 'the number of a chat, or @ and the name of a channel',
          }),
        }),
      ),
    ),
  },
  { title: 'ChannelsBody' },
);
export const ChannelsAnswer = Type.Object(
  {
    channels: Type.Object({
      email: nullable(Type.String()),
      slackWebhookUrl: nullable(Type.String(), 'Masked.'),
      telegram: nullable(Type.Object({ botToken: text('Masked.'), chatId: text() })),
    }),
  },
  { title: 'ChannelsAnswer' },
);
export const WebhookSecret = Type.Object(
  {
    secret: text('whsec_…, shown only once.'),
    previousUntil: nullable(Type.String(), 'Until then, messages are also signed with the previous secret.'),
  },
  { title: 'WebhookSecret' },
);

export const DELIVERY_STATUSES = [
  'PENDING',
  'DELIVERED',
  'FAILED',
  'CANCELLED',
] as const satisfies readonly Delivery['status'][];

export const DeliverySchema = Type.Object(
  {
    id: text('The webhook-id of every attempt.'),
    walletId: nullable(Type.String()),
    alertId: nullable(Type.String()),
    channel: oneOf(['webhook', 'email', 'slack', 'telegram']),
    event: oneOf(['alert.created', 'alert.updated', 'digest', 'test', 'billing']),
    target: text(),
    status: oneOf(DELIVERY_STATUSES),
    attempts: listOf(
      Type.Object({
        at: text(),
        durationMs: number(),
        responseStatus: nullable(Type.Integer()),
        error: nullable(Type.String()),
      }),
    ),
    createdAt: text(),
    nextAttemptAt: nullable(Type.String()),
  },
  { title: 'Delivery' },
);
export const DeliveryList = Type.Object(
  {
    deliveries: listOf(DeliverySchema, 'Newest first.'),
    ...pageFields,
  },
  { title: 'DeliveryList' },
);
export const OneDelivery = Type.Object({ delivery: DeliverySchema }, { title: 'OneDelivery' });
export const TestDeliveries = Type.Object(
  { deliveries: listOf(DeliverySchema) },
  { title: 'TestDeliveries' },
);
export const SeverityFilter = oneOf(SEVERITIES, 'Only alerts of this severity.');
export const AlertStatusFilter = oneOf(ALERT_STATUSES, 'Only alerts in this state.');
