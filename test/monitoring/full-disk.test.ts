/** If the disk becomes full while a webhook is delivered, its receiver gets it once, and its record is written later. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { createIds } from '../../src/base/ids.ts';
import { silentLogger } from '../../src/base/log.ts';
import { createOutboundAgent } from '../../src/base/outbound.ts';
import { systemRandom } from '../../src/base/random.ts';
import { openChannels } from '../../src/monitoring/channels.ts';
import { createDispatcher } from '../../src/monitoring/delivery/dispatcher.ts';
import { openOutbox } from '../../src/monitoring/delivery/outbox-lmdb.ts';
import { createSenders } from '../../src/monitoring/delivery/senders.ts';
import type { Alert, MonitoredWallet } from '../../src/monitoring/records.ts';
import { createEncryption } from '../../src/state/encryption.ts';
import { openLiveStore } from '../../src/state/live-store.ts';
import { openEnvironment } from '../../src/state/lmdb.ts';
import { smallDisk, smallDiskRefusal } from '../setup/small-disk.ts';
import { sleep } from '../support/wait.ts';

const refusal = smallDiskRefusal('tmpfs');
const WALLET = '0x52908400098527886E0F7030069857D2E4169EE7';

describe.skipIf(refusal !== null)(
  `deliveries on a full disk${refusal === null ? '' : ` (${refusal})`}`,
  () => {
    it('are sent once, and recorded when there is room', async () => {
      const disk = smallDisk('tmpfs', 8);
      const path = join(disk.path, 'monitoring.lmdb');
      const { root } = openLiveStore(path, 1, { maxDbs: 20 });
      const clock = systemClock;
      const newId = createIds({ clock, random: systemRandom });
      const encryption = createEncryption(systemRandom.bytes(32), systemRandom);
      const channels = openChannels(root, { encryption, clock, random: systemRandom });
      const alerts = new Map<string, Alert>();
      const readAlert = (_: string, id: string): Alert | null => alerts.get(id) ?? null;
      const outbox = openOutbox(root, { channels, clock, random: systemRandom, newId, readAlert });
      let received = 0;
      let release = async (): Promise<void> => {};
      const receiver = createServer((request, response) => {
        request.resume();
        request.on('end', () => {
          received++;
          if (received === 1) {
            // A reader holds the pages of the store, so that no commit finds a free one in its file.
            const reader = openEnvironment(path, { readOnly: true });
            const reading = reader.useReadTransaction();
            disk.fill();
            release = async () => {
              reading.done();
              await reader.close();
              disk.free();
            };
          }
          response.writeHead(200).end();
        });
      });
      await new Promise<void>((resolve) => receiver.listen(0, '127.0.0.1', resolve));
      const policy = { trustedHosts: new Set(['127.0.0.1']) };
      const timeouts = { connectMs: 1_000, headersMs: 5_000, stallMs: 5_000 };
      const agent = createOutboundAgent({ policy, timeouts });
      const telegramApi = 'http://127.0.0.1:9';
      const senders = createSenders({
        channels,
        agent: () => agent,
        policy,
        mailer: null,
        clock,
        telegramApi,
      });
      const dispatcher = createDispatcher({ outbox, senders, clock, log: silentLogger });
      try {
        const wallet: MonitoredWallet = {
          ...{
            id: newId(),
            accountId: 'a',
            chain: 'ETH',
            walletAddress: WALLET,
            label: 'T',
            status: 'ACTIVE',
          },
          ...{ riskScore: 0, riskLevel: 'LOW', enabledRules: ['MIXING-001'], alertThreshold: 'all' },
          ...{ alertFrequency: 'realtime', notes: null, deletedAtMs: null, watchFromHeight: null },
          createdAtMs: clock.now(),
          updatedAtMs: clock.now(),
          customWebhookUrl: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`,
        };
        const alert: Alert = {
          ...{ id: newId(), accountId: 'a', walletId: wallet.id, sequence: 1, ruleId: 'MIXING-001' },
          ...{
            ruleName: 'Mixing service',
            severity: 'HIGH',
            status: 'NEW',
            title: 'Mixer',
            message: 'Mixer',
          },
          ...{ category: 'MIXER', riskType: 'COUNTERPARTY', final: false, reorged: false, transaction: null },
          wallet: { walletAddress: WALLET, chain: 'ETH', label: 'T' },
          createdAtMs: clock.now(),
          updatedAtMs: clock.now(),
          resolvedAtMs: null,
          history: [],
        };
        alerts.set(alert.id, alert);
        await root.transaction(() => outbox.enqueue('alert.created', alert, wallet));
        dispatcher.start();
        outbox.wake();
        await expect.poll(() => received).toBe(1);
        // Several rounds of the dispatcher, each of which would send it again.
        await sleep(3_000);
        expect(received).toBe(1);
        const status = (): unknown => outbox.list('a', {}, { limit: 10 }).deliveries.map((one) => one.status);
        expect(status()).toEqual(['PENDING']);
        await release();
        await expect.poll(status).toEqual(['DELIVERED']);
        expect(received).toBe(1);
      } finally {
        await dispatcher.stop();
        await agent.destroy();
        receiver.close();
        await root.close();
        disk.remove();
      }
    });
  },
);
