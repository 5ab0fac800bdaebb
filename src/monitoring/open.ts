/** Assembles monitoring: store, listener, dispatcher and the service for the API. Opened on first use. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { Mailer } from '../base/mail.ts';
import { createOpenedOnce } from '../base/opened-once.ts';
import { createOutboundAgent, type OutboundPolicy } from '../base/outbound.ts';
import { type Random, systemJitter } from '../base/random.ts';
import { type Retention, startRetention } from '../base/retention.ts';
import { sleep } from '../base/retry.ts';
import type { ChainId } from '../chains/registry.ts';
import { installationKeyPath, openEncryption } from '../state/encryption.ts';
import { createEmbeddedLeases, type HeldLease, type Leases, underLease } from '../state/leases.ts';
import type { OpenStore } from '../state/live-store.ts';
import { createDispatcher } from './delivery/dispatcher.ts';
import { DELIVERY_LIMITS } from './delivery/limits.ts';
import { createSenders } from './delivery/senders.ts';
import { MONITORING_LIMITS } from './limits.ts';
import { createListener, type Listener, type ListenerDeps } from './listener.ts';
import { createOwnListings } from './own-listings.ts';
import { loadMonitoringPolicy } from './policy.ts';
import { createProcessor, type Processor, type ProcessorDeps } from './processor.ts';
import { createRefresher } from './refresher.ts';
import { createMonitoring, type MonitoringService, type MonitoringServiceDeps } from './service.ts';
import type { BlockRef } from './store.ts';
import { openMonitoringStore } from './store-lmdb.ts';
import { createWalletPurchases, type WalletBilling } from './wallet-purchases.ts';

export interface MonitoringOptions {
  /** Folder of all state. */
  readonly dataDir: string;
  /** Receivers that webhooks and chats may be sent to. */
  readonly receivers: OutboundPolicy;
  /**
   * Secret from which nodes that share the state derive the encryption key of its secrets. If null or omitted, each node has its
   * own key.
   */
  readonly clusterSecret?: string | null;
  /** Scope of the installation, for the key of its secrets. */
  readonly scope?: string;
  /** Time between two scheduled screenings of a wallet; default: one day. */
  readonly refreshIntervalMs?: number;
  /** Days for which the transactions of wallets are kept; null (default): nothing is deleted. */
  readonly transactionRetentionDays?: number | null;
  /** True if other processes serve the same wallets. Default: false. */
  readonly isShared?: boolean;
}

export interface MonitoringDeps
  extends Pick<ProcessorDeps, 'riskPolicy' | 'assets' | 'labels' | 'transfers'>,
    Pick<ListenerDeps, 'adapter' | 'ingest' | 'price' | 'dutyOf' | 'onFailing' | 'addresses'>,
    Pick<MonitoringServiceDeps, 'screen' | 'walletsMax'> {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly mailer: Mailer | null;
  /** Charges wallets. */
  readonly billing: WalletBilling;
  /** Leases for work that only one of several nodes may do. Default: this node holds them all. */
  readonly leases?: Leases;
  /** Opens the state. Default: on this machine. */
  readonly openStore?: OpenStore;
}

/** Monitoring tasks of a node in addition to serving requests. */
export interface MonitoringDuties {
  /** Follows chains, and rechecks counterparties when lists change. */
  readonly follows: boolean;
  /** Sends waiting deliveries. */
  readonly sends: boolean;
  /** Completes interrupted purchases of wallets. */
  readonly bills: boolean;
}

export interface Monitoring {
  readonly service: MonitoringService;
  readonly listener: Listener;
  readonly processor: Processor;
  /** Does its duties from the moment the store can be read until `close`; default: all of them. */
  start(duties?: MonitoringDuties): void;
  /** New labels are in force: rechecks the counterparties of the wallets. Returns at once. */
  listsChanged(): void;
  /** Returns a sentence that says why this node does not do what it was started for; null if it does. */
  problem(): string | null;
  close(): Promise<void>;
}

/** Wait before a failed start is retried: Redis is usually unavailable for seconds, but may need an operator. */
const START_RETRY_MS = 1_000;
const DAY_MS = 86_400_000;
const TELEGRAM_API = 'https://api.telegram.org';

const storePath = (dataDir: string): string => join(dataDir, 'monitoring', 'monitoring.lmdb');

/** Whether this installation has ever watched a wallet. */
export const hasMonitoring = (dataDir: string): boolean => existsSync(storePath(dataDir));

/** Returns the newest block of a chain; null if its node is slow or down, because that must not prevent adding a wallet. */
async function readHead(
  chain: ChainId,
  { adapter: adapterOf, log }: Pick<MonitoringDeps, 'adapter' | 'log'>,
): Promise<BlockRef | null> {
  try {
    const adapter = await adapterOf(chain);
    if (adapter === null) return null;
    const { height, hash } = await adapter.head({
      signal: AbortSignal.timeout(MONITORING_LIMITS.headBudgetMs),
      budgetMs: MONITORING_LIMITS.headBudgetMs,
    });
    return { height, hash };
  } catch (error) {
    log.warn({ chain, error: messageOf(error) }, 'reading newest block failed');
    return null;
  }
}

/**
 * Opens monitoring.
 *
 * @throws STORE_VERSION, STORE_CORRUPT, INVALID_FILE
 */
export function openMonitoring(options: MonitoringOptions, deps: MonitoringDeps): Monitoring {
  const { dataDir, receivers, clusterSecret = null, scope = '' } = options;
  const { refreshIntervalMs = DAY_MS, isShared = false, transactionRetentionDays = null } = options;
  const { clock, random, log, leases = createEmbeddedLeases() } = deps;
  const encryption = openEncryption({ path: installationKeyPath(dataDir), clusterSecret, scope }, { random });
  const store = openMonitoringStore({ path: storePath(dataDir) }, { ...deps, encryption, refreshIntervalMs });
  const policy = loadMonitoringPolicy();
  const processor = createProcessor({ ...deps, store, policy });
  const listener = createListener({ ...deps, leases, store, processor });
  const listings = createOwnListings({ ...deps, store, policy });
  const refresher = createRefresher(
    { intervalMs: refreshIntervalMs },
    { ...deps, leases, store, listings, jitter: systemJitter },
  );
  const opened = createOpenedOnce();
  const agent = opened.once(
    () =>
      createOutboundAgent({
        policy: receivers,
        timeouts: {
          connectMs: DELIVERY_LIMITS.deliveryTimeoutMs,
          headersMs: DELIVERY_LIMITS.deliveryTimeoutMs,
          stallMs: DELIVERY_LIMITS.deliveryTimeoutMs,
        },
        // Many receivers share a host such as Slack's. An attempt never waits for a connection of another receiver, which would also use
        // up its timeout; the dispatcher limits the attempts.
        connections: DELIVERY_LIMITS.deliveriesInFlightMax,
      }),
    (made) => made.destroy(),
  );
  const senders = createSenders({
    channels: store.channels,
    agent,
    policy: receivers,
    mailer: deps.mailer,
    clock,
    telegramApi: TELEGRAM_API,
  });
  const stranger = `The installation.key of this node differs from the key of the first node that shares its state, so webhook and chat secrets cannot be decrypted and this node sends no alerts. Copy ${installationKeyPath(dataDir)} of that node to this node and restart it.`;
  /** Null before this node was started to send, and while it can. */
  let sendingProblem: string | null = null;
  const dispatcher = createDispatcher({
    ...{ outbox: store.outbox, senders, clock, log, leases },
    async obstacle() {
      sendingProblem = (await store.channels.opensHere()) ? null : stranger;
      return sendingProblem;
    },
  });
  const onWallets = (): void => listener.nudge();
  const purchases = createWalletPurchases(
    { graceMs: isShared ? MONITORING_LIMITS.pendingWalletMs : 0 },
    { pending: store.pending, billing: deps.billing, clock, log, onWallets },
  );
  const service = createMonitoring({
    ...deps,
    store,
    policy: receivers,
    head: (chain) => readHead(chain, deps),
    following: (chain) => listener.following(chain),
    ownRuleOf: (chain, address) => listings.ruleOf(chain, address),
    purchases,
    onWallets,
  });
  const stopped = new AbortController();
  let rechecking: Promise<void> | null = null;
  let refreshing: Promise<void> | null = null;
  let finishing: Promise<void> | null = null;
  let retention: Retention | null = null;
  let isRecheckWanted = false;
  let wake: (() => void) | null = null;

  /** Rechecks while this node holds the lease, one run at a time. If labels change during a run, another run follows. */
  async function recheck(lease: HeldLease, signal: AbortSignal): Promise<void> {
    // Lists may have changed while no node held the lease.
    isRecheckWanted = true;
    signal.addEventListener('abort', () => wake?.(), { once: true });
    while (!signal.aborted) {
      if (!isRecheckWanted)
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      if (!isRecheckWanted || signal.aborted) continue;
      isRecheckWanted = false;
      try {
        const counts = await processor.recheck(signal, lease.fence);
        if (counts.counterparties > 0) log.info(counts, 'counterparties rechecked');
      } catch (error) {
        // Progress is stored: the next change, or the next start, continues from there.
        if (!signal.aborted) log.error({ error: messageOf(error) }, 'rechecking counterparties failed');
      }
    }
  }
  function listsChanged(): void {
    isRecheckWanted = true;
    wake?.();
  }

  let starting: Promise<void> | null = null;
  /** Waits until the store can be read and has the present layout, however long Redis is unavailable, or until monitoring is closed. */
  async function untilReadable(sends: boolean): Promise<void> {
    const closed = new Promise<void>((resolve) => {
      stopped.signal.addEventListener('abort', () => resolve(), { once: true });
    });
    for (let isTold = false; !stopped.signal.aborted; isTold = true) {
      try {
        await Promise.race([store.ready().then(() => store.upgrade()), closed]);
        if (!stopped.signal.aborted && !(await store.channels.opensHere()) && !sends) log.error(stranger);
        return;
      } catch (error) {
        if (!isTold) log.error({ error: messageOf(error) }, 'monitoring cannot start yet');
        await sleep(START_RETRY_MS, stopped.signal);
      }
    }
  }
  /** Starts deleting transactions past their retention. */
  const deleteTransactions = (): Retention | null =>
    transactionRetentionDays === null
      ? null
      : startRetention(
          {
            days: transactionRetentionDays,
            what: 'monitored transactions',
            atOnce: MONITORING_LIMITS.retentionDeletedAtOnce,
          },
          {
            deleteBefore: (beforeMs, limit) => store.deleteTransactionsBefore(beforeMs, limit),
            clock,
            log,
            // Not in the audit log: a wallet may have any number of them, and their end follows from the setting.
            onDeleted: async () => {},
          },
        );
  async function begin({ follows, sends, bills }: MonitoringDuties): Promise<void> {
    await untilReadable(sends);
    if (stopped.signal.aborted) return;
    if (bills) finishing = purchases.finish(stopped.signal);
    if (sends) dispatcher.start();
    if (!follows) return;
    retention = deleteTransactions();
    listener.start();
    refreshing = refresher.run(stopped.signal);
    const leased = { store: 'monitoring', name: 'recheck', work: recheck };
    rechecking = underLease(leased, stopped.signal, { leases, log });
  }

  return {
    service,
    listener,
    processor,
    listsChanged,
    problem: () => sendingProblem,
    start(duties = { follows: true, sends: true, bills: true }) {
      starting = begin(duties).catch((error: unknown) =>
        log.error({ error: messageOf(error) }, 'starting monitoring failed'),
      );
    },
    async close() {
      stopped.abort();
      await starting;
      await retention?.stop();
      await rechecking;
      await refreshing;
      await finishing;
      await listener.stop();
      await dispatcher.stop();
      await opened.closeAll();
      await store.close();
    },
  };
}
