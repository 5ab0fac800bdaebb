/** The client: one object with all resources. */
import { Bulk } from './bulk.ts';
import type { ApiPromise } from './core/api-promise.ts';
import { type Call, type ClientOptions, Connection } from './core/connection.ts';
import { Auth, Keys, People, Usage } from './resources/accounts.ts';
import { Billing } from './resources/billing.ts';
import { Cases } from './resources/cases.ts';
import { Jobs } from './resources/jobs.ts';
import { Entity, Exchanges, Labels, Oracle, Sanctions } from './resources/labels.ts';
import { Alerts, Channels, Deliveries, Wallets, Webhooks } from './resources/monitoring.ts';
import { Names } from './resources/names.ts';
import { Operator } from './resources/operator.ts';
import { Receipts } from './resources/receipts.ts';
import { Kyt, SavedScreenings, Screening, Trace, Transactions } from './resources/screening.ts';
import { Service } from './resources/service.ts';

/**
 * A client of one Assay server. It holds no connection and need not be closed.
 *
 * @example
 * const assay = new Assay({ apiKey: 'assay_live_…', baseUrl: 'https://assay.example.org' });
 * const { verdict } = await assay.oracle.check({ chain: 'ETH', address });
 */
export class Assay {
  readonly #connection: Connection;
  readonly screening: Screening;
  readonly kyt: Kyt;
  readonly trace: Trace;
  readonly transactions: Transactions;
  readonly savedScreenings: SavedScreenings;
  readonly receipts: Receipts;
  readonly oracle: Oracle;
  readonly entity: Entity;
  readonly labels: Labels;
  readonly sanctions: Sanctions;
  readonly exchanges: Exchanges;
  readonly names: Names;
  readonly usage: Usage;
  readonly billing: Billing;
  readonly keys: Keys;
  readonly auth: Auth;
  readonly people: People;
  readonly wallets: Wallets;
  readonly alerts: Alerts;
  readonly channels: Channels;
  readonly webhooks: Webhooks;
  readonly deliveries: Deliveries;
  readonly cases: Cases;
  readonly jobs: Jobs;
  readonly service: Service;
  readonly operator: Operator;
  readonly bulk: Bulk;

  /**
   * @param options - `apiKey` and `baseUrl` are read from the environment (`ASSAY_API_KEY`, `ASSAY_BASE_URL`) if they are missing
   * @throws AssayError if an option is not valid
   */
  constructor(options: ClientOptions = {}) {
    const connection = new Connection(options);
    this.#connection = connection;
    this.screening = new Screening(connection);
    this.kyt = new Kyt(connection);
    this.trace = new Trace(connection);
    this.transactions = new Transactions(connection);
    this.savedScreenings = new SavedScreenings(connection);
    this.receipts = new Receipts(connection);
    this.oracle = new Oracle(connection);
    this.entity = new Entity(connection);
    this.labels = new Labels(connection);
    this.sanctions = new Sanctions(connection);
    this.exchanges = new Exchanges(connection);
    this.names = new Names(connection);
    this.usage = new Usage(connection);
    this.billing = new Billing(connection);
    this.keys = new Keys(connection);
    this.auth = new Auth(connection);
    this.people = new People(connection);
    this.wallets = new Wallets(connection);
    this.alerts = new Alerts(connection);
    this.channels = new Channels(connection);
    this.webhooks = new Webhooks(connection);
    this.deliveries = new Deliveries(connection);
    this.cases = new Cases(connection);
    this.jobs = new Jobs(connection);
    this.service = new Service(connection);
    this.operator = new Operator(connection);
    this.bulk = new Bulk(connection);
  }

  /** Text of the session, to continue it with `new Assay({ session })`; undefined before a login and in browsers. */
  get session(): string | undefined {
    return this.#connection.session;
  }

  /**
   * Calls an operation that this version of the client has no method for.
   *
   * @example
   * const data = await assay.request<{ id: string }>({ method: 'POST', path: '/new-operation', body: {} });
   */
  request<T = unknown>(call: Call): ApiPromise<T> {
    return this.#connection.object<T>(call);
  }
}
