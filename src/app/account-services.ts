/** Creates the services of accounts and of the state that nodes share. Each is opened at its first use. */
import { join } from 'node:path';
import { type Access, createAccess } from '../accounts/access.ts';
import { auditKeys, OPERATOR } from '../accounts/audit.ts';
import { LOCAL_ACCOUNT } from '../accounts/keys.ts';
import { type Plan, readPlans } from '../accounts/plans.ts';
import { openReportStore, type ReportStore } from '../attribution/reports.ts';
import { type Clock, isoTime } from '../base/clock.ts';
import { AssayError } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { createMailer } from '../base/mail.ts';
import type { OpenedOnce } from '../base/opened-once.ts';
import type { Random } from '../base/random.ts';
import { sleep } from '../base/retry.ts';
import { type ScryptRequest, scryptOnLibuv } from '../base/scrypt.ts';
import type { CryptoPayments } from '../billing/crypto/crypto-payments.ts';
import type { Billing } from '../billing/service.ts';
import type { AuthorizedPayments } from '../billing/x402/store.ts';
import type { CaseStore } from '../cases/store.ts';
import { openCaseStore } from '../cases/store-lmdb.ts';
import type { FillReport, FillRequest, NewerReport, NewerRequest, RestoreReport } from '../cli/services.ts';
import type { Config } from '../config/config.ts';
import type { Degradation } from '../http/ports.ts';
import { type ClearedStore, openClearedStore } from '../names/cleared.ts';
import type { LogStore } from '../receipts/log/store.ts';
import { openLogStore } from '../receipts/log/store-lmdb.ts';
import type { ReceiptStore } from '../receipts/store.ts';
import { openReceiptStore } from '../receipts/store-lmdb.ts';
import type { SavedStore } from '../saved-screenings/store.ts';
import { openSavedStore } from '../saved-screenings/store-lmdb.ts';
import { type Encryption, installationKeyPath, openEncryption } from '../state/encryption.ts';
import { openRedis, type RedisStore } from '../state/redis.ts';
import type { Installation } from '../state/redis-installation.ts';
import { REPLICA_LIMITS } from '../state/replica/limits.ts';
import { hasAuthorizedPayments, openAuthorizedPayments } from './authorized-services.ts';
import { billingOf } from './billing-services.ts';
import { type EmailLinks, emailLinksOf } from './email-links.ts';
import { openShared, type Shared } from './node-services.ts';

/** Interval at which startup retries to read the keys until the key store is ready. */
const FIRST_KEY_RETRY_MS = 50;

/** Returns the folder of keys, people, quotas and credits. */
export const accountsFolderOf = (dataDir: string): string => join(dataDir, 'accounts');

export interface AccountServicesDeps extends Pick<OpenedOnce, 'once'> {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  /** Creates payments in cryptocurrency; null if no key is configured. */
  readonly cryptoPayments: ((of: Pick<AccountServices, 'billing' | 'shared'>) => CryptoPayments) | null;
}

/** Accounts, and the Redis behind them if one is configured. */
export class AccountServices {
  readonly #config: Config;
  readonly #deps: AccountServicesDeps;
  /** Set by `enter`; null before, and on a standalone machine. */
  #installation: Installation | null = null;
  /** Returns the Redis of the settings. Null on a standalone machine. */
  readonly redis: (() => RedisStore) | null;
  /** State that nodes share: in Redis, or in files of this machine. */
  readonly shared: () => Shared;
  readonly access: () => Access;
  /** Matches of names that accounts have cleared. */
  readonly cleared: () => ClearedStore;
  /** Reports of accounts on labels. */
  readonly labelReports: () => ReportStore;
  readonly caseStore: () => CaseStore;
  readonly savedStore: () => SavedStore;
  readonly billing: () => Billing;
  /** Payments in cryptocurrency; null if no key is configured. */
  readonly cryptoPayments: () => CryptoPayments | null;
  /** Payments by a signed authorization; null if none are accepted. */
  readonly authorizedPayments: () => AuthorizedPayments | null;
  /** The transparency log of receipts. */
  readonly logStore: () => LogStore;
  readonly receiptStore: () => ReceiptStore;
  /** Derives passwords: on the worker pool if there is one. Tasks that wait behind a login there are never oracle requests. */
  derive: (request: ScryptRequest) => Promise<Uint8Array> = scryptOnLibuv;
  #links: EmailLinks;
  /** Set by `openStores`. */
  #opened: Access | null = null;
  /** When the problem of the links was found; null if absent. */
  #linksSince: string | null = null;

  constructor(config: Config, deps: AccountServicesDeps) {
    this.#config = config;
    this.#deps = deps;
    const { once, clock, random, log } = deps;
    const { dataDir, redis } = config;
    this.#links = emailLinksOf(config, null);
    this.redis =
      redis === null
        ? null
        : once<RedisStore>(
            () => openRedis(redis.place, { log }, { replicas: redis.replicas }),
            (service) => service.close(),
          );
    this.shared = once<Shared>(
      () => openShared(this.#sharedRedis(), { clock, random, log }),
      () => {},
    );
    this.access = once<Access>(
      () => this.#createAccess(),
      (service) => service.close(),
    );
    this.cleared = once<ClearedStore>(
      () =>
        openClearedStore(
          { path: join(accountsFolderOf(dataDir), 'cleared-names.lmdb') },
          { clock, openStore: this.shared().openStore },
        ),
      (service) => service.close(),
    );
    this.labelReports = once<ReportStore>(
      () =>
        openReportStore(
          { path: join(accountsFolderOf(dataDir), 'label-reports.mdb') },
          { clock, random, openStore: this.shared().openStore },
        ),
      (service) => service.close(),
    );
    this.caseStore = once<CaseStore>(
      () =>
        openCaseStore({ path: join(dataDir, 'cases.mdb') }, { clock, openStore: this.shared().openStore }),
      (service) => service.close(),
    );
    this.savedStore = once<SavedStore>(
      () =>
        openSavedStore(
          { path: join(dataDir, 'screenings.mdb') },
          { clock, openStore: this.shared().openStore },
        ),
      (service) => service.close(),
    );
    this.billing = once<Billing>(
      () =>
        billingOf(config, {
          ...{ clock, random, log, access: this.access() },
          openStore: this.shared().openStore,
          publicUrl: () => this.publicUrl,
          cryptoPayments: this.cryptoPayments,
        }),
      (service) => service.close(),
    );
    this.cryptoPayments = once<CryptoPayments | null>(
      () => deps.cryptoPayments?.(this) ?? null,
      (service) => service?.close(),
    );
    this.authorizedPayments = once<AuthorizedPayments | null>(
      () => (hasAuthorizedPayments(config) ? openAuthorizedPayments(config, this.shared) : null),
      (service) => service?.close(),
    );
    this.logStore = once<LogStore>(
      () => openLogStore({ path: join(dataDir, 'log.mdb') }, { openStore: this.shared().openStore }),
      (service) => service.close(),
    );
    this.receiptStore = once<ReceiptStore>(
      () =>
        openReceiptStore(
          { path: join(dataDir, 'receipts.mdb') },
          {
            clock,
            encryption: once(
              () => this.openEncryption(),
              () => {},
            ),
            openStore: this.shared().openStore,
          },
        ),
      (service) => service.close(),
    );
  }

  #sharedRedis(): { readonly redis: RedisStore; readonly installation: Installation } | null {
    if (this.redis === null) return null;
    if (this.#installation === null)
      throw new Error('A shared store was opened before its installation was known.');
    return { redis: this.redis(), installation: this.#installation };
  }

  #createAccess(): Access {
    const { clock, random, log } = this.#deps;
    const { dataDir, registration, mail } = this.#config;
    return createAccess(
      {
        folder: accountsFolderOf(dataDir),
        registration,
        localPlan: 'SELF_HOSTED',
        isShared: this.#config.acceptors > 1,
      },
      {
        clock,
        random,
        log,
        redis: this.redis?.() ?? null,
        openStore: this.shared().openStore,
        derive: (request) => this.derive(request),
        mailer: mail === null ? null : createMailer(mail),
        publicUrl: () => this.publicUrl,
        encryption: () => this.openEncryption(),
      },
    );
  }

  /** URL of this service in links, such as those of emails. Null if no host is known. */
  get publicUrl(): string | null {
    return this.#links.url;
  }

  /** Notes the URL at which this process serves people, for the links of emails. If nobody else can open it, that is logged. */
  servesAt(url: string): void {
    this.#links = emailLinksOf(this.#config, url);
    const { problem } = this.#links;
    if (problem === null) return;
    this.#linksSince = isoTime(this.#deps.clock.now());
    this.#deps.log.warn({ reason: problem }, 'links of emails do not work');
  }

  /** Returns what people of this node cannot use, although the node is ready. Opens nothing. */
  degradations(): readonly Degradation[] {
    const key = this.#opened?.people().secondFactorKey.problem() ?? null;
    return [
      ...(key === null ? [] : [{ kind: 'SECOND_FACTOR', path: null, ...key } as const]),
      ...(this.#links.problem === null || this.#linksSince === null
        ? []
        : [
            {
              kind: 'EMAIL_LINKS',
              path: null,
              reason: this.#links.problem,
              since: this.#linksSince,
            } as const,
          ]),
    ];
  }

  /** Opens the key that encrypts secrets at rest; nodes that share their state derive it from their common secret. */
  openEncryption(): Encryption {
    const { dataDir, snapshots } = this.#config;
    const clusterSecret = this.redis === null ? null : snapshots.secret;
    const { scope } = this.shared();
    const { random } = this.#deps;
    return openEncryption({ path: installationKeyPath(dataDir), clusterSecret, scope }, { random });
  }

  /**
   * Checks that Redis can be reached and does not lose data, if one is configured.
   *
   * @throws INVALID_CONFIG
   */
  async checkRedis(): Promise<void> {
    await this.redis?.().checkReachable('ASSAY_REDIS_URL');
    if (this.#config.redis !== null && !this.#config.redis.mayLose) await this.redis?.().checkDurability();
  }

  /**
   * Determines the installation that Redis contains. Rejects if Redis is empty, contains another installation than this folder, or does
   * not contain the standalone data of this machine yet.
   */
  async enter(): Promise<void> {
    if (this.redis === null || this.#installation !== null) return;
    const { clock, random, log } = this.#deps;
    const { enterInstallation } = await import('./redis-installation.ts');
    const of = { redis: this.redis(), clock, random, log };
    this.#installation = await enterInstallation({ dataDir: this.#config.dataDir }, of);
  }

  /**
   * Waits until the data of other nodes can be read; returns at once on a standalone machine.
   *
   * @param openOthers - opens other shared stores that must be ready, too
   * @throws NOT_READY
   */
  async ready(openOthers: () => void = () => {}): Promise<void> {
    if (this.redis === null) return;
    await this.enter();
    this.openStores();
    openOthers();
    await this.shared().ready();
  }

  /** Opens the stores of accounts now: if the disk is full later, their first use could not write. */
  openStores(): void {
    const accounts = this.access();
    this.#opened = accounts;
    accounts.audit();
    accounts.people();
    this.billing().open();
    this.cryptoPayments()?.store();
    this.cleared();
    this.labelReports();
    this.caseStore();
    this.savedStore();
    this.logStore();
    this.receiptStore();
  }

  /** Returns the dependencies of commands that run on an empty Redis. */
  async #redisToFill() {
    if (this.redis === null)
      throw new AssayError('INVALID_CONFIG', 'ASSAY_REDIS_URL is not set.', { field: 'ASSAY_REDIS_URL' });
    await this.checkRedis();
    const { clock, random, log } = this.#deps;
    return { redis: this.redis(), clock, random, log };
  }

  async fillRedis(request: FillRequest): Promise<FillReport> {
    const of = await this.#redisToFill();
    const fill = await import('./redis-fill.ts');
    return fill.fillRedis({ ...request, dataDir: this.#config.dataDir }, of);
  }

  async foundInstallation(): Promise<string> {
    const of = await this.#redisToFill();
    const start = await import('./redis-installation.ts');
    return (await start.foundInstallation({ dataDir: this.#config.dataDir }, of)).id;
  }

  async restoreRedis(request: FillRequest & { readonly isCheck: boolean }): Promise<RestoreReport> {
    const of = await this.#redisToFill();
    const restore = await import('./redis-restore.ts');
    return restore.restoreRedis({ ...request, dataDir: this.#config.dataDir }, of);
  }

  async newerStates(request: NewerRequest): Promise<NewerReport> {
    const of = await this.#redisToFill();
    const newer = await import('./redis-newer.ts');
    return newer.newerStates({ ...request, dataDir: this.#config.dataDir }, of);
  }

  /**
   * Creates the first key if no key exists. Waits until the data of other nodes is current: a busy node may lag for a moment at startup.
   *
   * @returns the key, or null if there was one
   */
  async createFirstKey(): Promise<string | null> {
    const { keys, audit } = this.access();
    if ((await this.#whenCurrent(() => keys.list())).length > 0) return null;
    try {
      return (await auditKeys(keys, audit, OPERATOR).create({ name: 'first key', isFirst: true })).apiKey;
    } catch (error) {
      // Another node started at the same moment and created the key first.
      if (error instanceof AssayError && error.field === 'isFirst') return null;
      throw error;
    }
  }

  /** Returns the plan of the operator's own account; null if absent. Waits like `createFirstKey`. */
  async localPlan(): Promise<Plan | null> {
    const { keys } = this.access();
    const name = await this.#whenCurrent(() => keys.planOf(LOCAL_ACCOUNT));
    return name === null ? null : readPlans()[name];
  }

  /** Tests the encryption key of second factors. Waits like `createFirstKey`. */
  async checkSecondFactorKey(): Promise<void> {
    const { secondFactorKey } = this.access().people();
    await this.#whenCurrent(() => secondFactorKey.check());
  }

  /** Repeats a read of a store until the data of other nodes is current. */
  async #whenCurrent<T>(read: () => T | Promise<T>): Promise<T> {
    const { clock } = this.#deps;
    const untilMs = clock.monotonic() + REPLICA_LIMITS.replicaReadyMs;
    for (;;) {
      try {
        return await read();
      } catch (error) {
        const mayPass = error instanceof AssayError && error.code === 'NOT_READY';
        if (!mayPass || clock.monotonic() > untilMs) throw error;
        await sleep(FIRST_KEY_RETRY_MS);
      }
    }
  }
}
