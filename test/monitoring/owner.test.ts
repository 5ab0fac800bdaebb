/** Alerts about counterparties of a designated owner: from the day of the designation on, but not about earlier transfers. */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Clock } from '../../src/base/clock.ts';
import { systemRandom } from '../../src/base/random.ts';
import { loadAssetFacts } from '../../src/chains/known-assets.ts';
import type { Transfer } from '../../src/chains/transfer.ts';
import type { LabelReader } from '../../src/labels/index/reader.ts';
import { loadMonitoringPolicy } from '../../src/monitoring/policy.ts';
import { createProcessor } from '../../src/monitoring/processor.ts';
import type { MonitoringStore } from '../../src/monitoring/store.ts';
import { openMonitoringStore } from '../../src/monitoring/store-lmdb.ts';
import { buildWatchTable } from '../../src/monitoring/watch-table.ts';
import { createEncryption } from '../../src/state/encryption.ts';
import { memoryFolder, type TempFolder } from '../accounts/temp-folder.ts';
import { createOwnerWorld, HTX, type OwnerWorld } from '../screening/owner-world.ts';
import { policy as riskPolicy } from '../screening/world.ts';

const WATCHED = `0x${'1'.padStart(40, '0')}`;
const OWNED = `0x${'a1'.padStart(40, '0')}`;
const OWNED_TOO = `0x${'a3'.padStart(40, '0')}`;
const UNSURE = `0x${'a2'.padStart(40, '0')}`;
const DAY_MS = 86_400_000;

let world: OwnerWorld;
let folder: TempFolder;
let store: MonitoringStore;
let reader: LabelReader;
let heights = 100;
const nowMs = Date.parse('2026-06-20T12:00:00Z');
const clock: Clock = { now: () => nowMs, monotonic: () => nowMs };

beforeEach(async () => {
  world = await createOwnerWorld();
  await world.importOwn('own', [
    `${OWNED},ETH,htx,HTX,EXCHANGE,0.9`,
    `${OWNED_TOO},ETH,htx,HTX,EXCHANGE,0.9`,
    `${UNSURE},ETH,htx,HTX,EXCHANGE,0.5`,
  ]);
  folder = memoryFolder();
  store = openMonitoringStore(
    { path: `${folder.path}/monitoring.lmdb` },
    { clock, random: systemRandom, encryption: createEncryption(new Uint8Array(32), systemRandom) },
  );
  await store.addWallet(
    {
      accountId: 'a',
      chain: 'ETH',
      walletAddress: WATCHED,
      label: null,
      riskScore: null,
      riskLevel: null,
      enabledRules: ['SANCTIONS-001'],
      customWebhookUrl: null,
      alertThreshold: 'all',
      alertFrequency: 'realtime',
      notes: null,
      watchFromHeight: null,
    },
    10,
  );
});
afterEach(async () => {
  await store.close();
  folder.remove();
  await world.close();
});

const processor = () =>
  createProcessor({
    store,
    policy: loadMonitoringPolicy(),
    riskPolicy,
    assets: loadAssetFacts(),
    transfers: null,
    clock,
    labels: () => reader,
  });

/** Applies a block of one transfer from `from`, and returns the alerts so far. */
async function received(from: string, date: string) {
  const height = heights++;
  const timestampMs = Date.parse(date);
  const transfer: Transfer = {
    chain: 'ETH',
    txHash: `0x${height.toString(16).padStart(64, '0')}`,
    position: 'value',
    blockNumber: height,
    timestampMs,
    from,
    to: WATCHED,
    asset: 'ETH',
    amount: 10n ** 18n,
    decimals: 18,
    valueUsd: 2_000,
  };
  const block = {
    chain: 'ETH' as const,
    height,
    hash: `b${height}`,
    parentHash: `b${height - 1}`,
    timestampMs,
    transfers: [transfer],
  };
  await processor().block('ETH', block, buildWatchTable(store.watched()));
  return alerts();
}

const alerts = () =>
  store.alerts('a', {}, { limit: 10, offset: 0 }).alerts.map(({ severity, title, riskType, message }) => ({
    severity,
    title,
    riskType,
    message,
  }));

describe('monitoring', () => {
  it('raises a CRITICAL alert from the day of the designation on', async () => {
    await world.importUk('2026-08-22', [HTX]);
    reader = (await world.build()).labels.current;
    expect(await received(OWNED, '2026-05-25T23:59:59Z')).toEqual([]);
    expect(await received(OWNED, '2026-05-26T00:00:00Z')).toMatchObject([
      { severity: 'CRITICAL', title: 'Received from HTX', message: expect.stringContaining('designates') },
    ]);
  });

  it('raises a HIGH alert about an address whose owner is uncertain', async () => {
    await world.importUk('2026-08-22', [HTX]);
    reader = (await world.build()).labels.current;
    expect(await received(UNSURE, '2026-05-25T12:00:00Z')).toEqual([]);
    expect(await received(UNSURE, '2026-05-27T12:00:00Z')).toMatchObject([
      { severity: 'HIGH', title: 'Received from an address that may belong to HUOBI GLOBAL S.A.' },
    ]);
  });

  it('raises a HIGH alert about the cluster of a listed address, while its entry is in force', async () => {
    const none = (await world.build()).labels.current as LabelReader;
    const entry = (matchType: string, delistedAt: string | null) =>
      ({ list: 'OFAC_SDN', matchType, delistedAt, listedAt: '2020-01-01' }) as never;
    const severitiesFor = async (...sanctions: never[]): Promise<string[]> => {
      const before = alerts().length;
      const label = {
        entity: { id: 'x', name: 'X', category: 'EXCHANGE', jurisdiction: null, url: null },
        ...{ scope: 'EVM', category: 'EXCHANGE', threatLevel: 'LOW', source: 'test' },
        ...{ sourceUrl: null, tags: [], confidence: 0.1, verified: true, synthetic: false },
        ...{ class: 'published', firstSeen: null, lastSeen: null, sanctions },
      };
      reader = { meta: none.meta, lookup: () => [label] } as unknown as LabelReader;
      const after = await received(OWNED, '2026-06-19T12:00:00Z');
      return after.slice(0, after.length - before).map(({ title }) => title);
    };
    expect(await severitiesFor()).toEqual([]);
    expect(await severitiesFor(entry('CLUSTER', '2026-01-01'))).toEqual([]);
    expect(await severitiesFor(entry('DIRECT', '2026-01-01'))).toEqual([]);
    const [title] = await severitiesFor(entry('CLUSTER', '2026-01-01'), entry('CLUSTER', null));
    expect(title).toBe('Received from the cluster of a sanctioned address');
    expect(alerts()[0]).toMatchObject({ severity: 'HIGH', riskType: 'INDIRECT' });
  });

  it('says that a list changed only of those whose dealings lasted until the designation', async () => {
    await world.importUk('2026-04-01', []);
    reader = (await world.build()).labels.current;
    const [wallet] = store.wallets('a', { includeDeleted: false }, { limit: 1, offset: 0 }).wallets;
    const note = (address: string, daysAgo: number): Promise<unknown> =>
      store.write((writer) =>
        writer.noteCounterparty({
          accountId: 'a',
          walletId: wallet?.id ?? '',
          address,
          direction: 'in',
          lastSeenMs: nowMs - daysAgo * DAY_MS,
          ruleId: null,
        }),
      );
    await note(OWNED, 60);
    await note(OWNED_TOO, 10);
    const recheck = () => processor().recheck(new AbortController().signal);
    expect(await recheck()).toEqual({ counterparties: 2, alerts: 0 });
    await world.importUk('2026-08-22', [HTX]);
    reader = (await world.build()).labels.current;
    expect(await recheck()).toEqual({ counterparties: 2, alerts: 1 });
    expect(alerts()).toMatchObject([{ title: 'A list changed: HTX', riskType: 'LIST_CHANGE' }]);
    expect(alerts()[0]?.message).toContain('until 2026-06-10');
  });
});
