/** Monitoring operations. Every id is looked up together with the account of the key, so an id of another account is not found. */
import { isoTime } from '../../base/clock.ts';
import { AssayError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import {
  alertAnswer,
  deliveryAnswer,
  transactionAnswer,
  walletAnswer,
  walletText,
} from '../../monitoring/answers.ts';
import { channelsAnswer } from '../../monitoring/channels.ts';
import type { AccountChannels, AlertStatus, Delivery, MonitoredWallet } from '../../monitoring/records.ts';
import { ALERT_STATUSES, SEVERITIES } from '../../monitoring/records.ts';
import {
  type AlertQuery,
  type MonitoringService,
  parseMonitoringChain,
  type WalletChange,
  type WalletDraft,
} from '../../monitoring/service.ts';
import type { Page } from '../../monitoring/store.ts';
import type { StreamEvent } from '../../monitoring/stream.ts';
import { type Call, callerOf } from '../pipeline/call.ts';
import { jsonBytes } from '../pipeline/json-body.ts';
import { decodeParameter, oneOf, PAGE_DEFAULT, pageOf, queryValue, wholeNumber } from '../pipeline/query.ts';
import type { Work } from '../pipeline/work.ts';
import type { HttpDeps } from '../ports.ts';

type Deps = Pick<HttpDeps, 'useCases' | 'access'>;

const accountOf = (call: Call): string => callerOf(call).accountId;
const idOf = (call: Call): string => decodeParameter(call.exchange.params[0] ?? '', 'id');

const refuse = (field: string, message: string): AssayError =>
  new AssayError('INVALID_REQUEST', `${field}: ${message}`, { field });

const monitoringPage = (query: string): Page => pageOf(query, LIMITS.monitoringPageMax);

/** Returns a query parameter that must be one of `words`; undefined if it is absent. */
function wordOf<T extends string>(query: string, name: string, words: readonly T[]): T | undefined {
  const text = queryValue(query, name);
  return text === undefined ? undefined : oneOf(name, text, words);
}

function flag(query: string, name: string): boolean {
  const text = queryValue(query, name);
  if (text === undefined || text === 'false') return false;
  if (text === 'true') return true;
  throw refuse(name, 'must be true or false.');
}

/** Returns an object with the property, or an empty one if the value is undefined. */
const given = <K extends string, V>(key: K, value: V | undefined): Partial<Record<K, V>> =>
  value === undefined ? {} : ({ [key]: value } as Partial<Record<K, V>>);

const serviceOf = (deps: Deps): MonitoringService => deps.useCases.monitoring();

/** Handles `POST /monitoring/wallets`. */
export function addWalletWork(deps: Deps): Work {
  return {
    kind: 'task',
    answer: async (call, body) => {
      const said = body as WalletDraft;
      const wallet = await serviceOf(deps).register(accountOf(call), {
        walletAddress: said.walletAddress,
        chain: said.chain,
        ...given('label', said.label),
        ...given('alertThreshold', said.alertThreshold),
        ...given('alertFrequency', said.alertFrequency),
        ...given('enabledRules', said.enabledRules),
        ...given('customWebhookUrl', said.customWebhookUrl),
        ...given('notes', said.notes),
      });
      return jsonBytes({ wallet: walletAnswer(wallet) });
    },
  };
}

/** Handles `GET /monitoring/wallets`. */
export function listWalletsWork(deps: Deps): Work {
  return {
    kind: 'query',
    answer: async (call) => {
      const query = call.exchange.query();
      const chain = queryValue(query, 'chain');
      const page: Page = {
        limit: wholeNumber(query, 'limit', LIMITS.walletsPageMax, 1, LIMITS.walletsPageMax),
        offset: wholeNumber(query, 'offset', 0, 0, Number.MAX_SAFE_INTEGER),
      };
      const status = wordOf(query, 'status', ['ACTIVE', 'PAUSED', 'DELETED'] as const);
      const filter = {
        // A filter by DELETED implies that deleted wallets are included.
        includeDeleted: flag(query, 'includeDeleted') || status === 'DELETED',
        ...given('chain', chain === undefined ? undefined : parseMonitoringChain(chain)),
        ...given('status', status),
        ...given('search', queryValue(query, 'search')),
      };
      const { wallets, total } = serviceOf(deps).store.wallets(accountOf(call), filter, page);
      const { limit, offset } = page;
      const rows = wallets.map(walletText).join(',');
      return Buffer.from(`{"wallets":[${rows}],"total":${total},"limit":${limit},"offset":${offset}}`);
    },
  };
}

function detail(deps: Deps, wallet: MonitoredWallet): Uint8Array {
  const counts = serviceOf(deps).store.counts(wallet.accountId, wallet.id);
  return jsonBytes({ wallet: { ...walletAnswer(wallet), ...counts } });
}

/** Handles `GET /monitoring/wallets/{id}`. */
export function oneWalletWork(deps: Deps): Work {
  return {
    kind: 'query',
    answer: async (call) => detail(deps, serviceOf(deps).wallet(accountOf(call), idOf(call))),
  };
}

/** Handles `PATCH /monitoring/wallets/{id}`. */
export function changeWalletWork(deps: Deps): Work {
  return {
    kind: 'task',
    answer: async (call, body) => {
      const said = body as WalletChange;
      const wallet = await serviceOf(deps).change(accountOf(call), idOf(call), {
        ...given('label', said.label),
        ...given('status', said.status),
        ...given('action', said.action),
        ...given('alertThreshold', said.alertThreshold),
        ...given('alertFrequency', said.alertFrequency),
        ...given('enabledRules', said.enabledRules),
        ...given('customWebhookUrl', said.customWebhookUrl),
        ...given('notes', said.notes),
      });
      return detail(deps, wallet);
    },
  };
}

/** Handles `DELETE /monitoring/wallets/{id}`. */
export function removeWalletWork(deps: Deps): Work {
  return {
    kind: 'query',
    answer: async (call) => detail(deps, await serviceOf(deps).remove(accountOf(call), idOf(call))),
  };
}

function alertsAnswer(deps: Deps, call: Call, query: string, filter: AlertQuery): Uint8Array {
  const page = monitoringPage(query);
  const upTo = queryValue(query, 'upTo');
  const { alerts, total, newest } = serviceOf(deps).alerts(
    accountOf(call),
    {
      ...filter,
      ...given('status', wordOf(query, 'status', ALERT_STATUSES)),
      ...given('severity', wordOf(query, 'severity', SEVERITIES)),
      ...given(
        'upTo',
        upTo === undefined ? undefined : wholeNumber(query, 'upTo', 0, 0, Number.MAX_SAFE_INTEGER),
      ),
    },
    page,
  );
  return jsonBytes({ alerts: alerts.map(alertAnswer), total, ...page, newest });
}

/** Handles `GET /monitoring/alerts`. */
export function listAlertsWork(deps: Deps): Work {
  return {
    kind: 'query',
    answer: async (call) => {
      const query = call.exchange.query();
      const addresses = queryList(query, 'walletAddress');
      return alertsAnswer(deps, call, query, {
        ...given('walletId', queryValue(query, 'walletId')),
        ...given('walletAddresses', addresses),
      });
    },
  };
}

/**
 * Parses a comma-separated query parameter. A single query value may be no longer than an address, but a list of addresses is
 * longer.
 */
function queryList(query: string, name: string): readonly string[] | undefined {
  const raw = query.split('&').find((pair) => pair.startsWith(`${name}=`));
  if (raw === undefined) return undefined;
  const parts = raw
    .slice(name.length + 1)
    .replaceAll(/%2c/gi, ',')
    .split(',');
  if (parts.length > LIMITS.alertAddressesMax)
    throw refuse(name, `at most ${LIMITS.alertAddressesMax} addresses, ${parts.length} were given.`);
  return parts.map((part) => decodeParameter(part, name).trim());
}

/** Handles `GET /monitoring/wallets/{id}/alerts`. */
export function walletAlertsWork(deps: Deps): Work {
  return {
    kind: 'query',
    answer: async (call) => {
      const query = call.exchange.query();
      const { id } = serviceOf(deps).wallet(accountOf(call), idOf(call));
      return alertsAnswer(deps, call, query, { walletId: id });
    },
  };
}

/** Handles `PATCH /monitoring/alerts/{id}`. */
export function moveAlertWork(deps: Deps): Work {
  return {
    kind: 'task',
    answer: async (call, body) => {
      const { status } = body as { status: AlertStatus };
      const alert = await serviceOf(deps).moveAlert(accountOf(call), idOf(call), status, callerOf(call).id);
      return jsonBytes({ alert: alertAnswer(alert) });
    },
  };
}

/** Handles `GET /monitoring/wallets/{id}/transactions`. */
export function walletTransactionsWork(deps: Deps): Work {
  return {
    kind: 'query',
    answer: async (call) => {
      const page = monitoringPage(call.exchange.query());
      const { store } = serviceOf(deps);
      const wallet = serviceOf(deps).wallet(accountOf(call), idOf(call));
      const head = store.blocks(wallet.chain).at(-1)?.height ?? null;
      const { transactions, total } = store.transactions(wallet.accountId, wallet.id, page);
      const shown = transactions.map((transaction) => transactionAnswer(transaction, head));
      return jsonBytes({ transactions: shown, total, ...page });
    },
  };
}

/** Handles `GET /monitoring/channels`. */
export function channelsWork(deps: Deps): Work {
  return {
    kind: 'query',
    answer: async (call) =>
      jsonBytes({ channels: channelsAnswer(serviceOf(deps).store.channels.channels(accountOf(call))) }),
  };
}

/** Handles `PUT /monitoring/channels`. */
export function setChannelsWork(deps: Deps): Work {
  return {
    kind: 'task',
    answer: async (call, body) => {
      const account = accountOf(call);
      const before = serviceOf(deps).store.channels.channels(account);
      const { email, slackWebhookUrl, telegram } = body as Partial<AccountChannels>;
      // Omitted channels keep their value: a secret is shown masked, so a client cannot send it back.
      const channels = await serviceOf(deps).setChannels(account, {
        email: email === undefined ? before.email : email,
        slackWebhookUrl: slackWebhookUrl === undefined ? before.slackWebhookUrl : slackWebhookUrl,
        telegram: telegram === undefined ? before.telegram : telegram,
      });
      return jsonBytes({ channels: channelsAnswer(channels) });
    },
  };
}

/** Handles `POST /monitoring/webhook-secret`. */
export function webhookSecretWork(deps: Deps): Work {
  return {
    kind: 'query',
    answer: async (call) => {
      const { secret, previousUntilMs } = await serviceOf(deps).store.channels.rotateSecret(accountOf(call));
      call.lines += '\r\nCache-Control: no-store';
      return jsonBytes({
        secret,
        previousUntil: previousUntilMs === null ? null : isoTime(previousUntilMs),
      });
    },
  };
}

const DELIVERY_STATUSES = [
  'PENDING',
  'DELIVERED',
  'FAILED',
  'CANCELLED',
] as const satisfies readonly Delivery['status'][];

/** Handles `GET /monitoring/deliveries`. */
export function deliveriesWork(deps: Deps): Work {
  return {
    kind: 'query',
    answer: async (call) => {
      const query = call.exchange.query();
      const filter = {
        ...given('status', wordOf(query, 'status', DELIVERY_STATUSES)),
        ...given('walletId', queryValue(query, 'walletId')),
        ...given('alertId', queryValue(query, 'alertId')),
      };
      const page = {
        limit: wholeNumber(query, 'limit', PAGE_DEFAULT, 1, LIMITS.deliveriesPageMax),
        ...given('cursor', queryValue(query, 'cursor')),
      };
      const { deliveries, nextCursor } = serviceOf(deps).store.outbox.list(accountOf(call), filter, page);
      return jsonBytes({ deliveries: deliveries.map(deliveryAnswer), nextCursor });
    },
  };
}

/** Handles `POST /monitoring/deliveries/{id}/replay`. */
export function replayDeliveryWork(deps: Deps): Work {
  return {
    kind: 'query',
    answer: async (call) => {
      const delivery = await serviceOf(deps).store.outbox.replay(accountOf(call), idOf(call));
      return jsonBytes({ delivery: deliveryAnswer(delivery) });
    },
  };
}

/** Handles `POST /monitoring/wallets/{id}/test`. */
export function testWalletWork(deps: Deps): Work {
  return {
    kind: 'query',
    answer: async (call) => {
      const wallet = serviceOf(deps).wallet(accountOf(call), idOf(call));
      const deliveries = await serviceOf(deps).store.outbox.test(wallet);
      return jsonBytes({ deliveries: deliveries.map(deliveryAnswer) });
    },
  };
}

/** Handles `GET /monitoring/stream`. */
export function alertStreamWork(deps: Deps): Work {
  return {
    kind: 'stream',
    follow: (call, open) => {
      const { exchange } = call;
      const { id: keyId, accountId: account } = callerOf(call);
      const query = exchange.query();
      const asked = queryValue(query, 'lastEventId') ?? exchange.header('last-event-id');
      const after = asked === '' ? null : Number(asked);
      if (after !== null && !(/^\d{1,15}$/.test(asked) && Number.isSafeInteger(after)))
        throw refuse('lastEventId', 'must be the id of an event of this stream.');
      const { streams } = serviceOf(deps);
      streams.requireRoom(account);
      const stream = open();
      // A stream outlives the check of its key, so the key is checked again for each event: a revoked key gets no more events.
      const { keys } = deps.access;
      const mayRead = (): boolean => {
        const key = keys.get(keyId);
        return (
          key?.status === 'ACTIVE' && key.permissions.includes('monitoring') && !keys.isDisabled(account)
        );
      };
      const guarded = {
        send(event: StreamEvent): boolean {
          if (mayRead()) return stream.send(event);
          stream.close('The key of this stream is not valid any more.');
          return false;
        },
        get waitingBytes() {
          return stream.waitingBytes;
        },
        close: (reason: string) => stream.close(reason),
      };
      stream.onEnd(streams.subscribe(account, after, guarded));
    },
  };
}
