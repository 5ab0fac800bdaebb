/**
 * The table of all operations. Routing, validation, permissions, limits, quotas, OpenAPI, /docs and the table in the README are all
 * derived from these rows.
 */

import { type TSchema, Type } from 'typebox';
import type { ChargeType } from '../accounts/credits.ts';
import type { Permission } from '../accounts/keys.ts';
import type { QuotaMeterName, RateClass } from '../accounts/plans.ts';
import { LIMITS } from '../base/limits.ts';
import type { JobKind } from '../jobs/bulk-jobs.ts';
import {
  Done,
  ForgotBody,
  LoginBody,
  PasswordBody,
  RegisterBody,
  ResetBody,
  SessionData,
  TokenBody,
} from './schemas/auth.ts';
import {
  AddressText,
  bodyEnvelope,
  ChainText,
  chargedEnvelope,
  EntityLabelSet,
  ErrorBody,
  envelope,
  OracleVerdict,
  SanctionsCheck,
} from './schemas/common.ts';
import { JobFormatSchema, JobKindSchema, JobList, OneJob } from './schemas/jobs.ts';
import { KeyBody, KeyList, NewKey, OneKey, ToggleBody } from './schemas/keys.ts';
import { KytBody, KytResult } from './schemas/kyt.ts';
import { BulkBody, BulkResult, ScreenBody } from './schemas/labels.ts';
import {
  AlertList,
  AlertPatch,
  AlertStatusFilter,
  ChannelsAnswer,
  ChannelsBody,
  DeliveryList,
  OneAlert,
  OneDelivery,
  OneWallet,
  SeverityFilter,
  TestDeliveries,
  TransactionList,
  WalletBody,
  WalletDetail,
  WalletList,
  WalletPatch,
  WebhookSecret,
} from './schemas/monitoring.ts';
import { ClearBody, ClearedAnswer, ClearedListAnswer, NamesBody, NamesResult } from './schemas/names.ts';
import { PaymentOutcome, StripeEvent } from './schemas/payments.ts';
import { ExchangeName, ExchangeStatusData, JurisdictionFilter } from './schemas/registers.ts';
import { ScreeningBody, ScreeningResult } from './schemas/screening.ts';
import { Health, NotReady, Ready, ReadyFor } from './schemas/service.ts';
import { TraceBody, TraceResult } from './schemas/trace.ts';
import { UsageRecord } from './schemas/usage.ts';

/** Path prefix of the API version. */
export const API_BASE = '/api/v1';

/** Specification: credits of a trace, and of a trace in path mode, whatever its depth. */
export const TRACE_CREDITS = { graph: 5, path: 10 } as const;

/** Permissions for each kind of bulk job: the same as for a single request for one of its lines. One of several is enough. */
export const JOB_PERMISSIONS: Readonly<Record<JobKind, readonly Permission[]>> = {
  labels: ['intel'],
  sanctions: ['intel'],
  screening: ['screening'],
  kyt: ['kyt', 'screening'],
};

export interface Parameter {
  readonly name: string;
  readonly in: 'path' | 'query' | 'header';
  readonly required: boolean;
  readonly schema: TSchema;
  readonly about: string;
}

export type HandlerName =
  | 'health'
  | 'ready'
  | 'metrics'
  | 'openapi'
  | 'docs'
  | 'entity'
  | 'labels'
  | 'screen'
  | 'screenBulk'
  | 'sanctionsCheck'
  | 'oracle'
  | 'exchangeStatus'
  | 'screening'
  | 'kyt'
  | 'trace'
  | 'names'
  | 'clear'
  | 'clearedList'
  | 'unclear'
  | 'usage'
  | 'register'
  | 'verifyEmail'
  | 'login'
  | 'logout'
  | 'session'
  | 'changePassword'
  | 'forgotPassword'
  | 'resetPassword'
  | 'listKeys'
  | 'createKey'
  | 'toggleKey'
  | 'revokeKey'
  | 'stripeEvent'
  | 'addWallet'
  | 'listWallets'
  | 'oneWallet'
  | 'changeWallet'
  | 'removeWallet'
  | 'walletAlerts'
  | 'walletTransactions'
  | 'testWallet'
  | 'listAlerts'
  | 'moveAlert'
  | 'channels'
  | 'setChannels'
  | 'webhookSecret'
  | 'deliveries'
  | 'replayDelivery'
  | 'alertStream'
  | 'sendJob'
  | 'listJobs'
  | 'oneJob'
  | 'jobResult'
  | 'cancelJob';

/** Authentication of an operation that does not need a permission: a session, a session or an API key, none, or a signed body. */
export type Visitor = 'session' | 'session or key' | 'anyone' | 'signature';

export interface Route {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Relative to the mount point; `{name}` matches a whole segment. */
  readonly path: string;
  /**
   * Mount point: under the version prefix (`api`), at the root (`root`), or both (probes: the specification and orchestrators
   * expect different paths).
   */
  readonly stands: 'api' | 'root' | 'both';
  readonly handler: HandlerName;
  /**
   * Permission that the key needs; if several are listed, one is enough. `any`: any valid key is enough. Null: no key is needed,
   * and then no other requirement applies.
   */
  readonly permission: Permission | readonly Permission[] | 'any' | null;
  /** Authentication instead of a key with a permission; null if only a key is required. */
  readonly visitor: Visitor | null;
  readonly rateClass: RateClass | null;
  /** Units of the monthly quota: one per request, or one per address of the body. */
  readonly quota: { readonly meter: QuotaMeterName; readonly per: 'request' | 'address' } | null;
  /** Credits of a successful request; if they depend on the body, the minimum. Such an operation honours Idempotency-Key. */
  readonly credits: number;
  /** Type of the charge in the ledger. */
  readonly chargeType: ChargeType;
  readonly parameters: readonly Parameter[];
  readonly body: TSchema | null;
  /** Media types of a body that is not JSON and may exceed the usual size limit. */
  readonly upload?: readonly string[];
  /** Text for the table of operations if `quota` and `credits` cannot express the charge, because it depends on the body. */
  readonly takes?: { readonly quota: string; readonly credits: string };
  /** Schema of a 200 response, or the media type of a response that is not JSON. */
  readonly answer: TSchema | string;
  /** Responses other than 200 and the errors that follow from the other columns. */
  readonly otherAnswers: Readonly<
    Record<number, { readonly about: string; readonly schema: TSchema | null }>
  >;
  readonly summary: string;
  readonly description: string;
}

const addressInPath: Parameter = {
  name: 'address',
  in: 'path',
  required: true,
  schema: AddressText,
  about: 'The address.',
};

const chainInPath: Parameter = {
  name: 'chain',
  in: 'path',
  required: true,
  schema: ChainText,
  about: 'Chain of the address.',
};

const keyIdInPath: Parameter = {
  name: 'id',
  in: 'path',
  required: true,
  schema: Type.String({ minLength: 1, maxLength: 64 }),
  about: 'Id of a key of the own account.',
};

/** Defaults of most rows: no key, no limit, no body. */
const open = {
  permission: null,
  visitor: null,
  rateClass: null,
  quota: null,
  credits: 0,
  chargeType: 'DEDUCTION',
  parameters: [],
  body: null,
  otherAnswers: {},
} as const;

const walletIdInPath: Parameter = { ...keyIdInPath, about: 'Id of a wallet of the own account.' };
const alertIdInPath: Parameter = { ...keyIdInPath, about: 'Id of an alert of the own account.' };
const deliveryIdInPath: Parameter = { ...keyIdInPath, about: 'Id of a delivery of the own account.' };

const inQuery = (name: string, schema: TSchema, about: string): Parameter => ({
  name,
  in: 'query',
  required: false,
  schema,
  about,
});

/** Parameters of paged lists such as alerts and transactions. */
const paging = (limitMax: number, limitDefault: number): Parameter[] => [
  inQuery('limit', Type.Integer({ minimum: 1, maximum: limitMax }), `Default ${limitDefault}.`),
  inQuery('offset', Type.Integer({ minimum: 0 }), 'Default 0.'),
];

const alertFilters: Parameter[] = [
  inQuery('status', AlertStatusFilter, 'Only alerts in this state.'),
  inQuery('severity', SeverityFilter, 'Only alerts of this severity.'),
  ...paging(LIMITS.monitoringPageMax, 50),
  inQuery(
    'upTo',
    Type.Integer({ minimum: 0 }),
    'Only alerts up to this sequence: `newest` of the first page.',
  ),
];

const jobIdInPath: Parameter = { ...keyIdInPath, about: 'Id of a job of the own account.' };

/** Common fields of the bulk job operations. */
const jobs = {
  ...open,
  stands: 'api',
  permission: ['intel', 'screening', 'kyt'],
  rateClass: 'intel',
} as const;
const jobErrors = {
  404: { about: 'There is no job of this id in the account.', schema: ErrorBody },
} as const;

/** Common fields of the monitoring operations. */
const monitoring = { ...open, stands: 'api', permission: 'monitoring', rateClass: 'monitoring' } as const;

export const ROUTES: readonly Route[] = [
  {
    ...open,
    method: 'GET',
    path: '/health',
    stands: 'both',
    handler: 'health',
    answer: Health,
    summary: 'Liveness',
    description: 'Answers while the process lives. Says nothing about its data; that is /ready.',
  },
  {
    ...open,
    method: 'GET',
    path: '/ready',
    stands: 'both',
    handler: 'ready',
    parameters: [
      {
        name: 'for',
        in: 'query',
        required: false,
        schema: ReadyFor,
        about: '`writes`: answers 503 as well if writes are refused, as on a full disk. Default `reads`.',
      },
    ],
    answer: Ready,
    otherAnswers: { 503: { about: 'Not ready, with the reasons.', schema: NotReady } },
    summary: 'Readiness',
    description: 'The label snapshot that answers, and publication and last check of each sanctions list.',
  },
  {
    ...open,
    method: 'GET',
    path: '/metrics',
    stands: 'both',
    handler: 'metrics',
    answer: 'text/plain',
    summary: 'Metrics',
    description: 'Counts and durations in the text format of Prometheus.',
  },
  {
    ...open,
    method: 'GET',
    path: '/openapi.json',
    stands: 'root',
    handler: 'openapi',
    answer: 'application/json',
    summary: 'This interface as OpenAPI 3.1',
    description: 'Made from the schemas that validate requests.',
  },
  {
    ...open,
    method: 'GET',
    path: '/docs',
    stands: 'root',
    handler: 'docs',
    answer: 'text/html',
    summary: 'This interface for people',
    description: 'The same as a page.',
  },
  {
    ...open,
    method: 'GET',
    path: '/entity/{address}',
    stands: 'api',
    handler: 'entity',
    permission: 'entity',
    rateClass: 'entity',
    parameters: [
      addressInPath,
      { name: 'chain', in: 'query', required: false, schema: ChainText, about: 'Default ETH.' },
    ],
    answer: envelope(EntityLabelSet),
    summary: 'Labels of an address',
    description: 'Entity, category, threat level and sanctions status of an address.',
  },
  {
    ...open,
    method: 'GET',
    path: '/exchange-status',
    stands: 'api',
    handler: 'exchangeStatus',
    permission: 'entity',
    rateClass: 'exchange-status',
    parameters: [
      { name: 'name', in: 'query', required: true, schema: ExchangeName, about: 'The exchange.' },
      {
        name: 'jurisdiction',
        in: 'query',
        required: false,
        schema: JurisdictionFilter,
        about: 'Only registrations that hold there.',
      },
    ],
    answer: envelope(ExchangeStatusData),
    otherAnswers: {
      404: { about: 'No exchange of that name is known; the error lists the nearest.', schema: ErrorBody },
    },
    summary: 'Registrations of an exchange',
    description:
      'Registrations and warnings of regulatory registers, their history, and which registers were read.',
  },
  {
    ...open,
    method: 'GET',
    path: '/address/{chain}/{address}/labels',
    stands: 'api',
    handler: 'labels',
    permission: 'intel',
    rateClass: 'intel',
    quota: { meter: 'intel', per: 'request' },
    parameters: [
      chainInPath,
      addressInPath,
      {
        name: 'If-None-Match',
        in: 'header',
        required: false,
        schema: AddressText,
        about: 'ETag of an earlier answer; 304 where it still holds, which costs no quota.',
      },
    ],
    answer: envelope(EntityLabelSet),
    otherAnswers: { 304: { about: 'The earlier answer still holds.', schema: null } },
    summary: 'Raw labels, cacheable',
    description: 'The same data as POST /screen, with ETag and Cache-Control.',
  },
  {
    ...open,
    method: 'POST',
    path: '/screen',
    stands: 'api',
    handler: 'screen',
    permission: 'intel',
    rateClass: 'intel',
    quota: { meter: 'intel', per: 'request' },
    body: ScreenBody,
    answer: bodyEnvelope(EntityLabelSet),
    summary: 'Raw labels of one address',
    description: 'Labels only, with no derived score.',
  },
  {
    ...open,
    method: 'POST',
    path: '/screen/bulk',
    stands: 'api',
    handler: 'screenBulk',
    permission: 'intel',
    rateClass: 'intel',
    quota: { meter: 'intel', per: 'address' },
    body: BulkBody,
    answer: bodyEnvelope(BulkResult),
    summary: 'Raw labels of up to 100 addresses',
    description:
      'In the order of the request. A bad address is answered with its error in its place and does not fail the rest.',
  },
  {
    ...open,
    method: 'GET',
    path: '/sanctions/check',
    stands: 'api',
    handler: 'sanctionsCheck',
    permission: 'intel',
    rateClass: 'sanctions',
    quota: { meter: 'intel', per: 'request' },
    parameters: [
      { name: 'address', in: 'query', required: true, schema: AddressText, about: 'The address.' },
      { name: 'chain', in: 'query', required: true, schema: ChainText, about: 'Chain of the address.' },
    ],
    answer: envelope(SanctionsCheck),
    summary: 'Sanctions check',
    description: 'The lists of the US, the EU, the UN, the UK and Switzerland, each with its freshness.',
  },
  {
    ...open,
    method: 'GET',
    path: '/oracle/address/{chain}/{address}',
    stands: 'api',
    handler: 'oracle',
    permission: 'oracle',
    rateClass: 'oracle',
    quota: { meter: 'oracle', per: 'request' },
    parameters: [chainInPath, addressInPath],
    answer: envelope(OracleVerdict),
    summary: 'Verdict before a transaction',
    description:
      'safe, warning or danger, with score and reasons: those of `POST /screening` on the same stored data, exposure included.',
  },
  {
    ...open,
    method: 'POST',
    path: '/screening',
    stands: 'api',
    handler: 'screening',
    permission: 'screening',
    rateClass: 'screening',
    credits: 1,
    chargeType: 'SCREENING',
    body: ScreeningBody,
    answer: chargedEnvelope(ScreeningResult),
    summary: 'Screen an address',
    description:
      'Score with breakdown, sanctions, labels, counterparties, exposure and legal interpretation.',
  },
  {
    ...open,
    method: 'POST',
    path: '/kyt',
    stands: 'api',
    handler: 'kyt',
    permission: ['kyt', 'screening'],
    rateClass: 'kyt',
    credits: 1,
    body: KytBody,
    answer: chargedEnvelope(KytResult),
    summary: 'Check a transfer',
    description:
      'BLOCK, REVIEW or ALLOW for a sender and a receiver, or for one address, with the flags that say why. Names ending in .eth are resolved.',
  },
  {
    ...open,
    method: 'POST',
    path: '/trace',
    stands: 'api',
    handler: 'trace',
    permission: 'screening',
    rateClass: 'trace',
    credits: TRACE_CREDITS.graph,
    body: TraceBody,
    answer: chargedEnvelope(TraceResult),
    summary: 'Trace funds',
    description: `Where money came from and went, up to three hops; with targetAddress the paths to it, at ${TRACE_CREDITS.path} credits. Nothing is charged where no transfer of the address is known.`,
  },
  {
    ...open,
    method: 'GET',
    path: '/usage',
    stands: 'api',
    handler: 'usage',
    permission: 'any',
    parameters: [
      {
        name: 'limit',
        in: 'query',
        required: false,
        schema: Type.Integer({ minimum: 1, maximum: LIMITS.usagePageMax, default: 50 }),
        about: 'Entries a page.',
      },
      {
        name: 'cursor',
        in: 'query',
        required: false,
        schema: Type.String({ minLength: 1, maxLength: 32 }),
        about: 'The `nextCursor` of an earlier answer.',
      },
    ],
    answer: envelope(UsageRecord),
    summary: 'Balance and ledger',
    description: 'Every entry with the balance after it, newest first, and totals by type and day.',
  },
  {
    ...open,
    method: 'POST',
    path: '/namescreen/bulk',
    stands: 'api',
    handler: 'names',
    permission: 'screening',
    rateClass: 'names',
    credits: 1,
    body: NamesBody,
    answer: NamesResult,
    summary: 'Screen up to 50 names, 1 credit each',
    description:
      'Sanctions lists, politically exposed persons and adverse media, with the reasons for every match. The answer stands in no envelope. One bad name refuses the request, naming its position.',
  },
  {
    ...open,
    method: 'POST',
    path: '/namescreen/cleared',
    stands: 'api',
    handler: 'clear',
    permission: 'screening',
    rateClass: 'names',
    body: ClearBody,
    answer: bodyEnvelope(ClearedAnswer),
    summary: 'Clear a match of a name',
    description:
      'The match is answered with `cleared: true` from now on, as long as the entity does not change. Only what is among the matches of the name can be cleared.',
  },
  {
    ...open,
    method: 'GET',
    path: '/namescreen/cleared',
    stands: 'api',
    handler: 'clearedList',
    permission: 'screening',
    rateClass: 'names',
    parameters: [
      {
        name: 'name',
        in: 'query',
        required: false,
        schema: Type.String(),
        about: 'Those of one name alone.',
      },
      {
        name: 'limit',
        in: 'query',
        required: false,
        schema: Type.Integer({ minimum: 1, maximum: LIMITS.clearedPageMax }),
        about: `Default ${LIMITS.clearedPageDefault}.`,
      },
      {
        name: 'cursor',
        in: 'query',
        required: false,
        schema: Type.String(),
        about: 'nextCursor of the page before.',
      },
    ],
    answer: envelope(ClearedListAnswer),
    summary: 'Matches this account has cleared',
    description: 'In order of their ids.',
  },
  {
    ...open,
    method: 'DELETE',
    path: '/namescreen/cleared/{id}',
    stands: 'api',
    handler: 'unclear',
    permission: 'screening',
    rateClass: 'names',
    parameters: [
      { name: 'id', in: 'path', required: true, schema: Type.String(), about: 'Id of the cleared match.' },
    ],
    answer: envelope(ClearedAnswer),
    summary: 'Take a cleared match back',
    description: 'Answers what it was.',
  },
  {
    ...open,
    method: 'POST',
    path: '/auth/register',
    stands: 'api',
    handler: 'register',
    visitor: 'anyone',
    rateClass: 'keys',
    body: RegisterBody,
    answer: bodyEnvelope(Done),
    summary: 'Register',
    description:
      'Closed unless the installation opens it. Sends a letter with a token; the answer is the same whether the address has an account or not.',
  },
  {
    ...open,
    method: 'POST',
    path: '/auth/verify',
    stands: 'api',
    handler: 'verifyEmail',
    visitor: 'anyone',
    rateClass: 'keys',
    body: TokenBody,
    answer: bodyEnvelope(Done),
    summary: 'Confirm a mail address',
    description: 'With the token of the letter. Free credits come with it.',
  },
  {
    ...open,
    method: 'POST',
    path: '/auth/login',
    stands: 'api',
    handler: 'login',
    visitor: 'anyone',
    rateClass: 'keys',
    body: LoginBody,
    answer: bodyEnvelope(SessionData),
    summary: 'Log in',
    description:
      'Begins a session of 12 hours, by a cookie that no script can read. Attempts are limited per account and per address.',
  },
  {
    ...open,
    method: 'POST',
    path: '/auth/logout',
    stands: 'api',
    handler: 'logout',
    visitor: 'session',
    rateClass: 'keys',
    answer: envelope(Done),
    summary: 'Log out',
    description: 'Ends the session at once, in every process.',
  },
  {
    ...open,
    method: 'GET',
    path: '/auth/session',
    stands: 'api',
    handler: 'session',
    visitor: 'session',
    rateClass: 'keys',
    answer: envelope(SessionData),
    summary: 'The session',
    description: 'Whose it is, and when it ends.',
  },
  {
    ...open,
    method: 'POST',
    path: '/auth/password',
    stands: 'api',
    handler: 'changePassword',
    visitor: 'session',
    rateClass: 'keys',
    body: PasswordBody,
    answer: bodyEnvelope(SessionData),
    summary: 'Change the password',
    description: 'Ends all sessions of the account and begins a new one.',
  },
  {
    ...open,
    method: 'POST',
    path: '/auth/password/forgot',
    stands: 'api',
    handler: 'forgotPassword',
    visitor: 'anyone',
    rateClass: 'keys',
    body: ForgotBody,
    answer: bodyEnvelope(Done),
    summary: 'Ask for a new password',
    description: 'Sends a letter where the address has an account; the answer is the same where it has none.',
  },
  {
    ...open,
    method: 'POST',
    path: '/auth/password/reset',
    stands: 'api',
    handler: 'resetPassword',
    visitor: 'anyone',
    rateClass: 'keys',
    body: ResetBody,
    answer: bodyEnvelope(Done),
    summary: 'Set a new password',
    description: 'With the token of the letter, once and within an hour. Ends all sessions of the account.',
  },
  {
    ...open,
    method: 'GET',
    path: '/keys',
    stands: 'api',
    handler: 'listKeys',
    visitor: 'session',
    rateClass: 'keys',
    answer: envelope(KeyList),
    summary: 'API keys',
    description: 'All keys of the account; of the revoked ones the newest 200.',
  },
  {
    ...open,
    method: 'POST',
    path: '/keys',
    stands: 'api',
    handler: 'createKey',
    visitor: 'session or key',
    rateClass: 'keys',
    body: KeyBody,
    answer: bodyEnvelope(NewKey),
    summary: 'Create an API key',
    description: 'The full key is shown this once. An API key cannot grant a permission that it lacks.',
  },
  {
    ...open,
    method: 'PATCH',
    path: '/keys/{id}',
    stands: 'api',
    handler: 'toggleKey',
    visitor: 'session or key',
    rateClass: 'keys',
    parameters: [keyIdInPath],
    body: ToggleBody,
    answer: bodyEnvelope(OneKey),
    summary: 'Toggle a permission of a key',
    description: 'Counts at once. An API key cannot grant a permission that it lacks.',
  },
  {
    ...open,
    method: 'DELETE',
    path: '/keys/{id}',
    stands: 'api',
    handler: 'revokeKey',
    visitor: 'session',
    rateClass: 'keys',
    parameters: [keyIdInPath],
    answer: envelope(OneKey),
    summary: 'Revoke an API key',
    description: 'For good, and at once in every thread and process.',
  },
  {
    ...open,
    method: 'POST',
    path: '/payments/stripe',
    stands: 'api',
    handler: 'stripeEvent',
    visitor: 'signature',
    rateClass: null,
    body: StripeEvent,
    answer: bodyEnvelope(PaymentOutcome),
    summary: 'Payment webhook',
    description:
      'Events as Stripe signs them: a paid checkout books its package once, a refund or a dispute takes it back.',
  },
  {
    ...monitoring,
    method: 'POST',
    path: '/monitoring/wallets',
    handler: 'addWallet',
    credits: 1,
    chargeType: 'SCREENING',
    body: WalletBody,
    answer: chargedEnvelope(OneWallet),
    summary: 'Watch a wallet',
    description: 'Screens the address, and raises alerts for its transfers from the newest block on.',
  },
  {
    ...monitoring,
    method: 'GET',
    path: '/monitoring/wallets',
    handler: 'listWallets',
    parameters: [
      inQuery('includeDeleted', Type.Boolean(), 'Default false.'),
      inQuery('chain', ChainText, 'Only wallets on this chain.'),
      inQuery('status', Type.String(), 'ACTIVE, PAUSED or DELETED.'),
      inQuery('search', Type.String(), 'Part of the label or of the address.'),
      ...paging(LIMITS.walletsPageMax, LIMITS.walletsPageMax),
    ],
    answer: envelope(WalletList),
    summary: 'Watched wallets',
    description: 'The wallets of the account, oldest first.',
  },
  {
    ...monitoring,
    method: 'GET',
    path: '/monitoring/wallets/{id}',
    handler: 'oneWallet',
    parameters: [walletIdInPath],
    answer: envelope(WalletDetail),
    summary: 'One watched wallet',
    description: 'With the counts of its alerts and transactions.',
  },
  {
    ...monitoring,
    method: 'PATCH',
    path: '/monitoring/wallets/{id}',
    handler: 'changeWallet',
    parameters: [walletIdInPath],
    body: WalletPatch,
    answer: bodyEnvelope(WalletDetail),
    summary: 'Change, pause, resume or restore a wallet',
    description:
      'Pausing stops at once; what comes meanwhile is not made up for. Null removes a text or the URL.',
  },
  {
    ...monitoring,
    method: 'DELETE',
    path: '/monitoring/wallets/{id}',
    handler: 'removeWallet',
    parameters: [walletIdInPath],
    answer: envelope(WalletDetail),
    summary: 'Delete a wallet softly',
    description: 'Stops watching; alerts and transactions stay, and the wallet can be restored.',
  },
  {
    ...monitoring,
    method: 'GET',
    path: '/monitoring/wallets/{id}/alerts',
    handler: 'walletAlerts',
    parameters: [walletIdInPath, ...alertFilters],
    answer: envelope(AlertList),
    summary: 'Alerts of a wallet',
    description: 'Newest first.',
  },
  {
    ...monitoring,
    method: 'GET',
    path: '/monitoring/wallets/{id}/transactions',
    handler: 'walletTransactions',
    parameters: [walletIdInPath, ...paging(LIMITS.monitoringPageMax, 50)],
    answer: envelope(TransactionList),
    summary: 'Monitored transactions of a wallet',
    description: 'Newest first.',
  },
  {
    ...monitoring,
    method: 'POST',
    path: '/monitoring/wallets/{id}/test',
    handler: 'testWallet',
    parameters: [walletIdInPath],
    answer: envelope(TestDeliveries),
    summary: 'Send a test message',
    description: 'To the webhook of the wallet and every channel of the account.',
  },
  {
    ...monitoring,
    method: 'GET',
    path: '/monitoring/alerts',
    handler: 'listAlerts',
    parameters: [
      inQuery('walletId', Type.String(), 'Only alerts of this wallet.'),
      inQuery(
        'walletAddress',
        Type.String(),
        'Only alerts of wallets at this address, or at several with commas.',
      ),
      ...alertFilters,
    ],
    answer: envelope(AlertList),
    summary: 'Alerts',
    description: 'Of all wallets of the account, newest first.',
  },
  {
    ...monitoring,
    method: 'PATCH',
    path: '/monitoring/alerts/{id}',
    handler: 'moveAlert',
    parameters: [alertIdInPath],
    body: AlertPatch,
    answer: bodyEnvelope(OneAlert),
    summary: 'Set the status of an alert',
    description: 'Between any two of the four states; every move is kept in its history.',
  },
  {
    ...monitoring,
    method: 'GET',
    path: '/monitoring/channels',
    handler: 'channels',
    answer: envelope(ChannelsAnswer),
    summary: 'Channels of the account',
    description: 'Mail, Slack and Telegram, with their secrets masked.',
  },
  {
    ...monitoring,
    method: 'PUT',
    path: '/monitoring/channels',
    handler: 'setChannels',
    body: ChannelsBody,
    answer: bodyEnvelope(ChannelsAnswer),
    summary: 'Set channels of the account',
    description: 'Null removes a channel; what is left out stays.',
  },
  {
    ...monitoring,
    method: 'POST',
    path: '/monitoring/webhook-secret',
    handler: 'webhookSecret',
    answer: envelope(WebhookSecret),
    summary: 'Issue or rotate the webhook secret',
    description: 'Webhooks are signed as Standard Webhooks says. The secret is shown once.',
  },
  {
    ...monitoring,
    method: 'GET',
    path: '/monitoring/deliveries',
    handler: 'deliveries',
    parameters: [
      inQuery('status', Type.String(), 'PENDING, DELIVERED, FAILED or CANCELLED.'),
      inQuery('walletId', Type.String(), 'Only those of this wallet.'),
      inQuery('alertId', Type.String(), 'Only those of this alert.'),
      inQuery('limit', Type.Integer({ minimum: 1, maximum: LIMITS.deliveriesPageMax }), 'Default 50.'),
      inQuery('cursor', Type.String(), 'Where the page before ended.'),
    ],
    answer: envelope(DeliveryList),
    summary: 'Delivery log',
    description:
      'Every message and every attempt, newest first, kept for 30 days. A page of a filter may be short though more follow: go on while nextCursor is set.',
  },
  {
    ...monitoring,
    method: 'POST',
    path: '/monitoring/deliveries/{id}/replay',
    handler: 'replayDelivery',
    parameters: [deliveryIdInPath],
    answer: envelope(OneDelivery),
    summary: 'Send a message again',
    description: 'The same message under the same webhook-id, from the first wait on.',
  },
  {
    ...monitoring,
    method: 'GET',
    path: '/monitoring/stream',
    handler: 'alertStream',
    parameters: [
      inQuery(
        'lastEventId',
        Type.Integer({ minimum: 0 }),
        'Resumes behind this id, as the header Last-Event-ID does.',
      ),
    ],
    answer: 'text/event-stream',
    otherAnswers: { 101: { about: 'A WebSocket, where the request asks for one.', schema: null } },
    summary: 'Alerts and wallet changes as they come',
    description:
      'Server-sent events, or a WebSocket of JSON messages {id, event, data}. A reader that does not keep up is dropped with a reason, and can resume.',
  },
  {
    ...jobs,
    method: 'POST',
    path: '/jobs',
    handler: 'sendJob',
    parameters: [
      { ...inQuery('kind', JobKindSchema, 'What is asked of every line.'), required: true },
      inQuery('format', JobFormatSchema, 'Default: by the Content-Type.'),
      inQuery('chain', ChainText, 'Of lines that name none.'),
      inQuery(
        'verdict',
        Type.Boolean(),
        'Only with `kind=labels`: adds the verdict of the oracle to each label set, as `verdict: true` of `POST /screen/bulk` does. Default: false.',
      ),
    ],
    upload: ['application/x-ndjson', 'text/csv'],
    takes: { quota: 'intel, one a line (labels, sanctions)', credits: '1 a line (screening, kyt)' },
    answer: envelope(OneJob),
    otherAnswers: {
      402: {
        about: 'The quota or the credits do not suffice for all lines; nothing was taken.',
        schema: ErrorBody,
      },
    },
    summary: 'Begin a bulk job',
    description: `A body of up to ${LIMITS.jobBytesMax} bytes, one address or request a line: NDJSON (a string, or an object with the fields of the single operation) or CSV (a head line that names \`address\` and perhaps \`chain\`, or addresses alone). A line costs what its question costs by itself (labels and sanctions a unit of the intel quota, screening and kyt a credit), is paid when the job begins, and is given back where the line is answered with an error. An upload that is silent for ${LIMITS.uploadSilenceMs / 1_000} seconds is given up, and one that has brought less than ${LIMITS.uploadBytesPerSecondMin} bytes a second after ${LIMITS.uploadGraceMs / 1_000} seconds. An account keeps ${LIMITS.jobBytesPerAccount} bytes of bodies and results at most: delete jobs whose results were fetched.`,
  },
  {
    ...jobs,
    method: 'GET',
    path: '/jobs',
    handler: 'listJobs',
    parameters: paging(LIMITS.jobsPageMax, 50),
    answer: envelope(JobList),
    summary: 'List bulk jobs',
    description: 'Newest first; of the kinds that the key may ask for.',
  },
  {
    ...jobs,
    method: 'GET',
    path: '/jobs/{id}',
    handler: 'oneJob',
    parameters: [jobIdInPath],
    answer: envelope(OneJob),
    otherAnswers: jobErrors,
    summary: 'A bulk job with its progress',
    description: 'State, lines answered, rate and time left.',
  },
  {
    ...jobs,
    method: 'GET',
    path: '/jobs/{id}/result',
    handler: 'jobResult',
    parameters: [
      jobIdInPath,
      { name: 'Range', in: 'header', required: false, schema: Type.String(), about: 'One range of bytes.' },
      {
        name: 'If-Range',
        in: 'header',
        required: false,
        schema: Type.String(),
        about: 'ETag of an earlier answer; where it holds no longer the whole result is answered.',
      },
    ],
    answer: 'application/x-ndjson',
    otherAnswers: {
      ...jobErrors,
      206: { about: 'The range of bytes that was asked for.', schema: null },
    },
    summary: 'Result of a bulk job',
    description:
      'A line for every line of the input, in its order; an item that failed is `{address, error, line}` in its place. Of a job that runs: the whole lines from the first on that are there so far (`X-Result-Complete: false`).',
  },
  {
    ...jobs,
    method: 'DELETE',
    path: '/jobs/{id}',
    handler: 'cancelJob',
    parameters: [jobIdInPath],
    answer: envelope(OneJob),
    otherAnswers: jobErrors,
    summary: 'Stop a bulk job, or remove one that has ended',
    description: 'What was answered stays and is paid for; the rest is given back.',
  },
];

/** Returns the absolute patterns of a route. */
export function patternsOf(route: Route): readonly string[] {
  const places = { api: [API_BASE], root: [''], both: ['', API_BASE] } as const;
  return places[route.stands].map((base) => `${base}${route.path}`);
}

/** Returns the permissions of which an operation requires one; empty if it requires none. */
export const permissionsOf = ({ permission }: Pick<Route, 'permission'>): readonly Permission[] => {
  if (permission === null || permission === 'any') return [];
  return typeof permission === 'string' ? [permission] : permission;
};

/** Describes the required authentication in a few words. */
export function admissionOf(route: Route): string {
  const { permission, visitor } = route;
  if (visitor !== null) return visitor === 'anyone' ? 'no key' : visitor;
  if (permission === null) return 'no key';
  return permission === 'any' ? 'any key' : permissionsOf(route).join(' or ');
}

/** Returns the README's table of operations, in Markdown. */
export function routesMarkdown(): string {
  const rows = ROUTES.map((route) => {
    const place = route.stands === 'api' ? `${API_BASE}${route.path}` : route.path;
    const cells = [
      `\`${route.method} ${place}\``,
      route.summary,
      admissionOf(route),
      route.rateClass ?? 'none',
      route.takes?.quota ??
        (route.quota
          ? `${route.quota.meter}, one ${route.quota.per === 'address' ? 'an address' : 'a request'}`
          : 'none'),
      route.takes?.credits ?? String(route.credits),
    ];
    return `| ${cells.join(' | ')} |`;
  });
  const head = '| Operation | What it answers | Permission | Rate limit | Quota | Credits |';
  return [head, '|---|---|---|---|---|---|', ...rows].join('\n');
}
