/** How monitoring starts and stops: over a store that cannot be read yet, and with a chain from which it is just disconnecting. */
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AssayError } from '../../src/base/errors.ts';
import { type Logger, silentLogger } from '../../src/base/log.ts';
import type { ChainAdapter } from '../../src/chains/families/port.ts';
import type { Duty } from '../../src/monitoring/listener.ts';
import type { Monitoring, MonitoringDeps } from '../../src/monitoring/open.ts';
import type { MonitoringChain } from '../../src/monitoring/records.ts';
import { type OpenStore, openLiveStore } from '../../src/state/live-store.ts';
import { memoryFolder, type TempFolder } from '../accounts/temp-folder.ts';
import { sleep } from '../support/wait.ts';
import { openedMonitoring } from './opened.ts';

let folder: TempFolder;
beforeEach(() => {
  folder = memoryFolder();
});
afterEach(() => folder.remove());

const opened = (deps: Partial<MonitoringDeps>): Monitoring => openedMonitoring(folder.path, deps);

/** A local store that can be read once `ready` resolves. */
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
  it('starts once its store can be read, after failed attempts', async () => {
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

  it('logs nothing about counterparties if there are none to recheck', async () => {
    const logged: unknown[] = [];
    let looks = 0;
    const monitoring = opened({
      log: { ...silentLogger, info: (_: unknown, message: string) => void logged.push(message) } as Logger,
      labels: () => {
        looks++;
        return null;
      },
    });
    monitoring.start();
    await expect.poll(() => looks).toBeGreaterThan(0);
    await monitoring.close();
    expect(logged).not.toContain('counterparties rechecked');
  });

  it('reports a key that does not open the stored secrets, even on a node that sends nothing', async () => {
    const errorsOf = async (): Promise<readonly string[]> => {
      const errors: string[] = [];
      let looks = 0;
      const monitoring = opened({
        log: { ...silentLogger, error: (message: string) => void errors.push(message) } as Logger,
        labels: () => {
          looks++;
          return null;
        },
      });
      monitoring.start({ follows: true, sends: false, bills: false });
      // Labels are read after the secrets.
      await expect.poll(() => looks).toBeGreaterThan(0);
      await monitoring.close();
      return errors;
    };
    expect(await errorsOf()).toEqual([]);
    expect(await errorsOf()).toEqual([]);
    rmSync(join(folder.path, 'installation.key'));
    expect(await errorsOf()).toEqual([
      expect.stringMatching(/^The installation\.key of this node differs from the key of the first node/),
    ]);
  });

  it('closes at once while its store cannot be read', async () => {
    const monitoring = opened({ openStore: readyBy(() => new Promise(() => {})) });
    monitoring.start();
    await monitoring.close();
  });

  it('stops reading a chain that another node takes over before closing its store', async () => {
    let duty: Duty = 'MINE';
    const told: string[] = [];
    const adapter: Pick<ChainAdapter, 'subscribe' | 'head'> = {
      head: async () => ({ height: 1 }) as Awaited<ReturnType<ChainAdapter['head']>>,
      // The subscription yields nothing, and takes a while to end.
      async *subscribe(_, { signal }) {
        told.push('followed');
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        await sleep(300);
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
