/** Watched wallets, their alerts, and the delivery of messages. */
import { type AlertStreamOptions, type StreamEvent, streamEvents } from '../alert-stream.ts';
import type { ApiPromise, PagePromise } from '../core/api-promise.ts';
import type { CallOptions, ChargedOptions } from '../core/connection.ts';
import { Resource, segment } from '../core/resource.ts';
import { RETRIES } from '../generated/retries.ts';
import type { Body, Data, QueryOf } from '../types.ts';
import { type UnwrapOptions, unwrap, type WebhookEvent, type WebhookHeaders } from '../webhooks.ts';

type WalletList = Data<'listWallets'>;
type WalletAlerts = Data<'walletAlerts'>;
type Transactions = Data<'walletTransactions'>;
type AlertList = Data<'listAlerts'>;
type DeliveryList = Data<'deliveries'>;

const WALLETS = '/monitoring/wallets';
const walletPath = (id: string): string => `${WALLETS}/${segment(id)}`;

export class Wallets extends Resource {
  /** Watches a wallet. It is screened at once, which costs 1 credit. */
  create(body: Body<'addWallet'>, options?: ChargedOptions): ApiPromise<Data<'addWallet'>> {
    return this.connection.json({ method: 'POST', path: WALLETS, body, options, retry: RETRIES.addWallet });
  }

  list(
    query: QueryOf<'listWallets'> = {},
    options?: CallOptions,
  ): PagePromise<WalletList, WalletList['wallets'][number]> {
    return this.connection.list({ method: 'GET', path: WALLETS, query, options }, 'wallets');
  }

  get(id: string, options?: CallOptions): ApiPromise<Data<'oneWallet'>> {
    return this.connection.json({ method: 'GET', path: walletPath(id), options });
  }

  /** Changes the settings of a wallet. */
  update(id: string, body: Body<'changeWallet'>, options?: CallOptions): ApiPromise<Data<'changeWallet'>> {
    return this.connection.json({ method: 'PATCH', path: walletPath(id), body, options });
  }

  /** Ends the watch of a wallet. */
  remove(id: string, options?: CallOptions): ApiPromise<Data<'removeWallet'>> {
    return this.connection.json({ method: 'DELETE', path: walletPath(id), options });
  }

  /** Lists the alerts of a wallet. */
  alerts(
    id: string,
    query: QueryOf<'walletAlerts'> = {},
    options?: CallOptions,
  ): PagePromise<WalletAlerts, WalletAlerts['alerts'][number]> {
    return this.connection.list(
      { method: 'GET', path: `${walletPath(id)}/alerts`, query, options },
      'alerts',
    );
  }

  /** Lists the transactions of a wallet. */
  transactions(
    id: string,
    query: QueryOf<'walletTransactions'> = {},
    options?: CallOptions,
  ): PagePromise<Transactions, Transactions['transactions'][number]> {
    const path = `${walletPath(id)}/transactions`;
    return this.connection.list({ method: 'GET', path, query, options }, 'transactions');
  }

  /** Sends a test message to all channels of a wallet. */
  test(id: string, options?: CallOptions): ApiPromise<Data<'testWallet'>> {
    return this.connection.json({ method: 'POST', path: `${walletPath(id)}/test`, options });
  }
}

export class Alerts extends Resource {
  /**
   * Lists the alerts of all wallets, the newest first.
   *
   * @example
   * for await (const alert of assay.alerts.list({ status: 'NEW' })) console.log(alert.title);
   */
  list(
    query: QueryOf<'listAlerts'> = {},
    options?: CallOptions,
  ): PagePromise<AlertList, AlertList['alerts'][number]> {
    return this.connection.list({ method: 'GET', path: '/monitoring/alerts', query, options }, 'alerts');
  }

  /** Sets the status of an alert. */
  setStatus(id: string, body: Body<'moveAlert'>, options?: CallOptions): ApiPromise<Data<'moveAlert'>> {
    const path = `/monitoring/alerts/${segment(id)}`;
    return this.connection.json({ method: 'PATCH', path, body, options });
  }

  /**
   * Follows alerts and changes of wallets as they happen. A broken connection is resumed after the last event.
   *
   * @param options - `lastEventId`: the `id` of an event of this stream, after which it resumes; `signal` ends the iteration
   * @throws ApiError if the server refuses the stream; ConnectionError if it cannot be reached for about a minute
   * @example
   * for await (const { id, event, data } of assay.alerts.stream({ lastEventId })) await store(id, data);
   */
  stream(options: AlertStreamOptions = {}): AsyncGenerator<StreamEvent, void, undefined> {
    return streamEvents(this.connection, '/monitoring/stream', options);
  }
}

export class Channels extends Resource {
  /** Returns the channels of the account. */
  get(options?: CallOptions): ApiPromise<Data<'channels'>> {
    return this.connection.json({ method: 'GET', path: '/monitoring/channels', options });
  }

  /** Sets the channels of the account. */
  set(body: Body<'setChannels'>, options?: CallOptions): ApiPromise<Data<'setChannels'>> {
    return this.connection.json({ method: 'PUT', path: '/monitoring/channels', body, options });
  }
}

export class Webhooks extends Resource {
  /** Issues the secret of webhooks, or replaces it. The response is the only one that has it. */
  rotateSecret(options?: CallOptions): ApiPromise<Data<'webhookSecret'>> {
    return this.connection.json({ method: 'POST', path: '/monitoring/webhook-secret', options });
  }

  /**
   * Verifies a webhook that this server has received, and returns its event. See `unwrap`.
   *
   * @throws WebhookSignatureError
   */
  unwrap(
    rawBody: string | Uint8Array,
    headers: WebhookHeaders,
    options: UnwrapOptions,
  ): Promise<WebhookEvent> {
    return unwrap(rawBody, headers, options);
  }
}

export class Deliveries extends Resource {
  /** Lists the messages of the last 30 days and their attempts. */
  list(
    query: QueryOf<'deliveries'> = {},
    options?: CallOptions,
  ): PagePromise<DeliveryList, DeliveryList['deliveries'][number]> {
    return this.connection.list(
      { method: 'GET', path: '/monitoring/deliveries', query, options },
      'deliveries',
    );
  }

  /** Sends a message again, under the same webhook-id. */
  replay(id: string, options?: ChargedOptions): ApiPromise<Data<'replayDelivery'>> {
    const path = `/monitoring/deliveries/${segment(id)}/replay`;
    return this.connection.json({ method: 'POST', path, options, retry: RETRIES.replayDelivery });
  }
}
