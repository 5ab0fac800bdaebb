/** How monitoring begins and ends: over a store that cannot be read yet, and with a chain that is just being left. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { AssayError } from '../../src/base/errors.ts';
import { type OpenStore, openLiveStore } from '../../src/base/live-store.ts';
import { silentLogger } from '../../src/base/log.ts';
import { systemRandom } from '../../src/base/random.ts';
import type { ChainAdapter } from '../../src/chains/adapters/port.ts';
import { loadTaxonomy } from '../../src/labels/categories.ts';
import type { Duty } from '../../src/monitoring/listener.ts';
import { type Monitoring, type MonitoringDeps, openMonitoring } from '../../src/monitoring/open.ts';
import type { MonitoringChain } from '../../src/monitoring/records.ts';
import { loadPolicy } from '../../src/risk/policy.ts';
import { type TempFolder, tempFolder } from '../accounts/temp-folder.ts';

let folder: TempFolder;
beforeEach(() => {
  folder = tempFolder();
});
afterEach(() => folder.remove());

const opened = (deps: Partial<MonitoringDeps>): Monitoring =>
  openMonitoring(
    { dataDir: folder.path, receivers: { trustedHosts: new Set(['127.0.0.1']) } },
    {
      clock: systemClock,
      random: systemRandom,
      log: silentLogger,
      mailer: null,
      riskPolicy: loadPolicy(loadTaxonomy().rows),
      labels: () => null,
      transfers: null,
      adapter: async () => null,
      ingest: null,
      price: async function* (transfers) {
        yield* transfers;
      },
      screen: async () => Buffer.from(JSON.stringify({ riskScore: 42, riskLevel: 'MEDIUM' })),
      walletsMax: () => 5_000,
      ...deps,
    },
  );

/** A store of this machine that can be read when `ready` says so. */
const readyBy =
  (ready: () => Promise<void>): OpenStore =>
  (...store) => ({ ...openLiveStore(...store), ready });

const watch = (monitoring: Monitoring) =>
  monitoring.service.register('a', {
    chain: 'ETH',
    walletAddress: `0x${'1'.repeat(40)}`,
    customWebhookUrl: 'http://127.0.0.1:9/',
  });

describe('monitoring', () => {
  it('begins once its store can be read, though the first tries failed', async () => {
    let tries = 0;
    let looks = 0;
    const monitoring = opened({
      openStore: readyBy(async () => {
        if (tries++ === 0) throw new AssayError('NOT_READY', 'Redis is away.');
      }),
      dutyOf: () => {
        looks++;
        return new Map();
      },
    });
    monitoring.start();
    await expect.poll(() => looks).toBeGreaterThan(0);
    expect(tries).toBe(2);
    await monitoring.close();
  });

  it('is closed at once while its store cannot be read', async () => {
    const monitoring = opened({ openStore: readyBy(() => new Promise(() => {})) });
    monitoring.start();
    await monitoring.close();
  });

  it('ends what it reads of a chain that another node takes over before its store is closed', async () => {
    let duty: Duty = 'MINE';
    const told: string[] = [];
    const adapter: Pick<ChainAdapter, 'subscribe' | 'head'> = {
      head: async () => ({ height: 1 }) as Awaited<ReturnType<ChainAdapter['head']>>,
      // Nothing comes, and the node takes its time to be left.
      async *subscribe(_, { signal }) {
        told.push('followed');
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        await new Promise((resolve) => setTimeout(resolve, 300));
        told.push('left');
      },
    };
    const monitoring = opened({
      adapter: async () => adapter as ChainAdapter,
      dutyOf: (chains) => new Map(chains.map((chain: MonitoringChain) => [chain, duty])),
    });
    monitoring.start();
    await watch(monitoring);
    await expect.poll(() => told).toEqual(['followed']);
    duty = 'OTHERS';
    monitoring.listener.nudge();
    await monitoring.close();
    expect(told).toEqual(['followed', 'left']);
  });
});
