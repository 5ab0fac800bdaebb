/** Monitoring put together: the store, what fills it, what sends from it, and what people ask of it. Opened when first used. */
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Clock } from '../base/clock.ts';
import { LIMITS } from '../base/limits.ts';
import type { Logger } from '../base/log.ts';
import type { Mailer } from '../base/mail.ts';
import { createOutboundAgent, type OutboundPolicy } from '../base/outbound.ts';
import type { Random } from '../base/random.ts';
import { openSeal } from '../base/seal.ts';
import { createCourier } from './delivery/courier.ts';
import { createSenders } from './delivery/senders.ts';
import { createListener, type Listener, type ListenerDeps } from './listener.ts';
import { loadMonitoringPolicy } from './policy.ts';
import { createProcessor, type Processor, type ProcessorDeps } from './processor.ts';
import { createMonitoring, type MonitoringService, type MonitoringServiceDeps } from './service.ts';
import { openMonitoringStore } from './store.ts';

export interface MonitoringOptions {
  /** Folder of all state. */
  readonly dataDir: string;
  /** Whom webhooks and chats may be sent to. */
  readonly receivers: OutboundPolicy;
}

export interface MonitoringDeps
  extends Pick<ProcessorDeps, 'riskPolicy' | 'labels' | 'transfers'>,
    Pick<ListenerDeps, 'adapter' | 'ingest' | 'price'>,
    Pick<MonitoringServiceDeps, 'screen' | 'walletsMax'> {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly mailer: Mailer | null;
}

export interface Monitoring {
  readonly service: MonitoringService;
  readonly listener: Listener;
  readonly processor: Processor;
  /** Follows chains and sends what waits, until `close`. */
  start(): void;
  close(): Promise<void>;
}

const TELEGRAM_API = 'https://api.telegram.org';

const storePath = (dataDir: string): string => join(dataDir, 'monitoring', 'monitoring.lmdb');

/** Whether this installation ever watched anything. */
export const hasMonitoring = (dataDir: string): boolean => existsSync(storePath(dataDir));

/** Throws STORE_VERSION, STORE_CORRUPT, INVALID_FILE. */
export function openMonitoring(options: MonitoringOptions, deps: MonitoringDeps): Monitoring {
  const { dataDir, receivers } = options;
  const { clock, random, log } = deps;
  const seal = openSeal({ path: join(dataDir, 'installation.key') }, { random });
  const store = openMonitoringStore({ path: storePath(dataDir) }, { clock, random, seal });
  const policy = loadMonitoringPolicy();
  const processor = createProcessor({ ...deps, store, policy });
  const listener = createListener({ ...deps, store, processor });
  const agent = createOutboundAgent({
    policy: receivers,
    timeouts: {
      connectMs: LIMITS.deliveryTimeoutMs,
      headersMs: LIMITS.deliveryTimeoutMs,
      stallMs: LIMITS.deliveryTimeoutMs,
    },
  });
  const senders = createSenders({
    channels: store.channels,
    agent,
    policy: receivers,
    mailer: deps.mailer,
    clock,
    telegramApi: TELEGRAM_API,
  });
  const courier = createCourier({ outbox: store.outbox, senders, clock, log });
  const service = createMonitoring({ ...deps, store, policy: receivers, onWallets: listener.nudge });
  return {
    service,
    listener,
    processor,
    start() {
      listener.start();
      courier.start();
    },
    async close() {
      await listener.stop();
      await courier.stop();
      await agent.destroy();
      await store.close();
    },
  };
}
