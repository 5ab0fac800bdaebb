/** The bounds of monitoring: at exactly a limit and one beyond it, and each half of a condition. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { AssayError } from '../../src/base/errors.ts';
import { createIds, ID_SHAPE } from '../../src/base/ids.ts';
import type { Logger } from '../../src/base/log.ts';
import { systemRandom } from '../../src/base/random.ts';
import { type AlertIndex, openAlertIndex } from '../../src/monitoring/alert-index.ts';
import {
  alertAnswer,
  deliveryAnswer,
  transactionAnswer,
  walletAnswer,
  walletText,
} from '../../src/monitoring/answers.ts';
import { channelsAnswer, openChannels } from '../../src/monitoring/channels.ts';
import { createDispatcher } from '../../src/monitoring/delivery/dispatcher.ts';
import { DELIVERY_LIMITS } from '../../src/monitoring/delivery/limits.ts';
import { type Message, renderMessage } from '../../src/monitoring/delivery/messages.ts';
import type { EndedAttempt, LmdbOutbox } from '../../src/monitoring/delivery/outbox-lmdb.ts';
import type { Waiting } from '../../src/monitoring/delivery/receiver-queues.ts';
import {
  ATTEMPTS_MAX,
  RETRY_WAITS_MS,
  readRetryAfter,
  retryWaitMs,
} from '../../src/monitoring/delivery/schedule.ts';
import type { Outcome } from '../../src/monitoring/delivery/senders.ts';
import { MONITORING_LIMITS } from '../../src/monitoring/limits.ts';
import { createListener, type Duty, type ListenerDeps, takeEvent } from '../../src/monitoring/listener.ts';
import { loadMonitoringPolicy } from '../../src/monitoring/policy.ts';
import type {
  Alert,
  Delivery,
  FollowReport,
  MonitoredTransaction,
  MonitoredWallet,
} from '../../src/monitoring/records.ts';
import { openRefreshQueue, type RefreshQueue } from '../../src/monitoring/refresh-queue.ts';
import { type Evidence, evaluate, ruleFor } from '../../src/monitoring/rules.ts';
import type { MonitoringChange } from '../../src/monitoring/store.ts';
import { openMonitoringStore } from '../../src/monitoring/store-lmdb.ts';
import { createStreamHub, eventOf, type StreamEvent } from '../../src/monitoring/stream.ts';
import { openTables } from '../../src/monitoring/tables.ts';
import {
  addTransfer,
  judgeVelocity,
  removeTransfer,
  type WalletBaseline,
} from '../../src/monitoring/velocity.ts';
import { createWalletLists } from '../../src/monitoring/wallet-lists.ts';
import { WatchLog } from '../../src/monitoring/watch-log.ts';
import { buildWatchTable } from '../../src/monitoring/watch-table.ts';
import { UNATTRIBUTED } from '../../src/screening/attribution.ts';
import { createEncryption } from '../../src/state/encryption.ts';
import { createEmbeddedLeases, type Leases } from '../../src/state/leases.ts';
import { type Fence, type LiveRoot, type OpenStore, openLiveStore } from '../../src/state/live-store.ts';
import { type TempFolder, tempFolder } from '../accounts/temp-folder.ts';
import { evidence } from './evidence.ts';

const START = Date.UTC(2026, 10, 21);
const policy = loadMonitoringPolicy();

const walletOf = (change: Partial<MonitoredWallet> = {}): MonitoredWallet => ({
  id: 'w1',
  accountId: 'a',
  chain: 'ETH',
  walletAddress: `0x${'A'.repeat(40)}`,
  label: null,
  status: 'ACTIVE',
  riskScore: null,
  riskLevel: null,
  enabledRules: [],
  customWebhookUrl: null,
  alertThreshold: 'all',
  alertFrequency: 'realtime',
  notes: null,
  createdAtMs: START,
  updatedAtMs: START,
  deletedAtMs: null,
  watchFromHeight: null,
  ...change,
});

const idOf = (number: number): string => String(number).padStart(26, '0');
const alertOf = (sequence: number, change: Partial<Alert> = {}): Alert => ({
  id: idOf(sequence),
  accountId: 'a',
  walletId: 'w1',
  sequence,
  ruleId: 'SCAM-001',
  ruleName: 'Scam',
  severity: 'LOW',
  status: 'NEW',
  title: 'A title',
  message: 'A message.',
  category: 'SCAM',
  riskType: 'COUNTERPARTY',
  final: false,
  reorged: false,
  transaction: null,
  wallet: { walletAddress: `0x${'A'.repeat(40)}`, chain: 'ETH', label: null },
  createdAtMs: START,
  updatedAtMs: START,
  resolvedAtMs: null,
  history: [],
  ...change,
});

describe('stores of monitoring', () => {
  let folder: TempFolder;
  let root: LiveRoot;
  let now: number;
  const clock = { now: () => now, monotonic: () => now };
  beforeEach(() => {
    folder = tempFolder();
    now = START;
    ({ root } = openLiveStore(`${folder.path}/x.mdb`, 1, { name: 'monitoring', maxDbs: 40 }));
  });
  afterEach(async () => {
    await root.close();
    folder.remove();
  });

  it('keeps the last changes of wallets, and returns none if some are gone', async () => {
    const log = new WatchLog(openTables(root), root.openDB({ name: 'meta', encoding: 'json' }));
    const kept = MONITORING_LIMITS.watchChangesKept;
    const record = (count: number) =>
      root.transaction(() => {
        for (let n = 0; n < count; n++) log.record(walletOf({ id: `w${n}` }));
      });
    expect([log.generation(), log.changesAfter(0), log.changesAfter(1), log.changesAfter(-1)]).toEqual([
      ...[0, [], null, null],
    ]);
    await record(kept);
    expect(log.changesAfter(0)).toHaveLength(kept);
    await record(1);
    expect(log.generation()).toBe(kept + 1);
    expect(log.changesAfter(0)).toBeNull();
    expect(log.changesAfter(1)).toHaveLength(kept);
    expect(log.changesAfter(kept)).toMatchObject([{ walletId: 'w0', isActive: true }]);
    expect([log.changesAfter(kept + 1), log.changesAfter(kept + 2)]).toEqual([[], null]);
    await root.transaction(() => log.record(walletOf({ status: 'PAUSED' })));
    expect(log.changesAfter(kept + 1)).toMatchObject([{ walletId: 'w1', isActive: false }]);
  });

  describe('the index of alerts', () => {
    let index: AlertIndex;
    const put = (...alerts: Alert[]) =>
      root.transaction(() => {
        for (const alert of alerts) index.put(alert);
      });
    const page = (filter = {}, limits: { limit?: number; offset?: number; upTo?: number } = {}) => {
      const { alerts, total, newest } = index.page('a', filter, { limit: 10, offset: 0, ...limits });
      return { shown: alerts.map(({ sequence }) => sequence), total, newest };
    };
    beforeEach(() => {
      index = openAlertIndex(root);
    });

    it('returns no alerts for an account without alerts', () => {
      expect(page()).toEqual({ shown: [], total: 0, newest: 0 });
      expect(index.count('a')).toBe(0);
      expect(index.byId('a', idOf(1))).toBeNull();
      expect(index.bySequence('a', 1)).toBeNull();
    });

    it('pages across chunks, newest first, with each filter alone and combined', async () => {
      // A chunk holds 512 alerts.
      await put(
        ...Array.from({ length: 514 }, (_, at) =>
          alertOf(at + 1, {
            walletId: at % 2 === 0 ? 'w1' : 'w2',
            severity: at < 512 ? 'LOW' : 'HIGH',
            status: at === 511 ? 'RESOLVED' : 'NEW',
          }),
        ),
      );
      expect(page({}, { limit: 4 })).toEqual({ shown: [514, 513, 512, 511], total: 514, newest: 514 });
      expect(page({}, { limit: 2, offset: 1 }).shown).toEqual([513, 512]);
      expect(page({}, { limit: 2, upTo: 512 })).toEqual({ shown: [512, 511], total: 512, newest: 512 });
      expect(page({}, { limit: 2, upTo: 0 })).toEqual({ shown: [], total: 0, newest: 0 });
      expect(page({ severity: 'HIGH' }).shown).toEqual([514, 513]);
      expect(page({ severity: 'HIGH', walletIds: ['w1'] }).shown).toEqual([513]);
      expect(page({ status: 'RESOLVED' }).shown).toEqual([512]);
      expect(page({ status: 'RESOLVED', severity: 'HIGH' }).shown).toEqual([]);
      expect(page({ walletIds: [] }).total).toBe(0);
      expect(page({ walletIds: ['unknown'] }).total).toBe(0);
      expect(page({ walletIds: ['unknown', 'w2'] }).total).toBe(257);
      expect(index.count('a')).toBe(514);
      expect(index.count('a', { walletId: 'w2' })).toBe(257);
      expect(index.count('b', { walletId: 'w2' })).toBe(0);
      expect(index.byId('a', 'no id')).toBeNull();
      expect(index.byId('b', idOf(1))).toBeNull();
    });

    it('updates an alert in place, and rejects one whose number is not the next', async () => {
      await put(alertOf(1), alertOf(2));
      await put(alertOf(1, { status: 'DISMISSED' }));
      expect(page({ status: 'DISMISSED' }).shown).toEqual([1]);
      expect(index.count('a')).toBe(2);
      expect(index.byId('a', idOf(1))?.status).toBe('DISMISSED');
      await expect(put(alertOf(4))).rejects.toThrow('Alert 4 of an account with 2');
    });
  });

  describe('the queue of screenings', () => {
    let queue: RefreshQueue;
    const interval = 86_400_000;
    const wallet = walletOf({ screenedAtMs: START });
    const run = (work: () => void) => root.transaction(work);
    const due = (behindAlert = 10, scheduled = 10) => queue.due('ETH', { behindAlert, scheduled });
    beforeEach(() => {
      queue = openRefreshQueue(root, { clock, intervalMs: interval });
    });

    it('returns a wallet at the end of its interval and not before, and no paused wallet', async () => {
      await run(() => queue.keep(wallet));
      now = START + interval - 1;
      expect(due()).toEqual([]);
      now = START + interval;
      expect(due()).toEqual([{ accountId: 'a', walletId: 'w1', changes: 0 }]);
      expect(queue.due('BSC', { behindAlert: 10, scheduled: 10 })).toEqual([]);
      // An existing place in the queue does not change.
      await run(() => queue.keep({ ...wallet, screenedAtMs: now }));
      expect(due()).toHaveLength(1);
      await run(() => queue.keep({ ...wallet, status: 'PAUSED' }));
      expect(due()).toEqual([]);
      await run(() => queue.keep({ ...wallet, status: 'PAUSED' }));
      const { screenedAtMs: _, ...never } = wallet;
      await run(() => queue.keep(never));
      expect(due()).toHaveLength(1);
    });

    it('returns wallets that a clock of before made due much later, up to the limit', async () => {
      now = START + 100 * interval;
      await run(() => queue.keep({ ...wallet, screenedAtMs: now }));
      now = START;
      await run(() => queue.keep({ ...wallet, id: 'w2', screenedAtMs: START - interval }));
      expect(due().map(({ walletId }) => walletId)).toEqual(['w2', 'w1']);
      expect(due(10, 1).map(({ walletId }) => walletId)).toEqual(['w2']);
    });

    it('screens after an alert first, with a delay and a gap, once for any number of alerts', async () => {
      await run(() => queue.keep({ ...wallet, id: 'w2', screenedAtMs: START - interval }));
      await run(() => queue.afterAlert({ ...wallet, status: 'PAUSED' }));
      await run(() => queue.afterAlert(wallet));
      now = START + MONITORING_LIMITS.walletRefreshDelayMs;
      await run(() => queue.afterAlert(wallet));
      const gapEnds =
        START + Math.max(MONITORING_LIMITS.walletRefreshDelayMs, MONITORING_LIMITS.walletRefreshGapMs);
      now = gapEnds - 1;
      expect(due().map(({ walletId }) => walletId)).toEqual(['w2']);
      now = gapEnds;
      expect(due()).toEqual([
        { accountId: 'a', walletId: 'w1', changes: 2 },
        { accountId: 'a', walletId: 'w2', changes: 0 },
      ]);
      expect(queue.dueCounts('ETH', 10)).toEqual({ afterAlert: 1, scheduled: 1 });
      await run(() => queue.keep({ ...wallet, id: 'w3', screenedAtMs: START - interval }));
      expect(queue.dueCounts('ETH', 10)).toEqual({ afterAlert: 1, scheduled: 2 });
      expect(queue.dueCounts('ETH', 1)).toEqual({ afterAlert: 1, scheduled: 1 });
      expect(queue.dueCounts('BSC', 10)).toEqual({ afterAlert: 0, scheduled: 0 });
      await run(() => queue.keep({ ...wallet, id: 'w3', status: 'PAUSED' }));
      expect(due(0).map(({ walletId }) => walletId)).toEqual(['w2']);
      expect(due(1, 0).map(({ walletId }) => walletId)).toEqual(['w1']);
    });

    it('completes a screening until its next time, unless an alert was raised meanwhile', async () => {
      const place = { accountId: 'a', walletId: 'w1', changes: 0 };
      await run(() => queue.done(wallet, place, START));
      expect(due()).toEqual([]);
      await run(() => queue.keep(wallet));
      await run(() => queue.done(wallet, place, START + 5));
      now = START + 5;
      expect(due(0)).toHaveLength(1);
      await run(() => queue.afterAlert(wallet));
      await run(() => queue.done(wallet, place, START + 5));
      expect(due()).toEqual([]);
      now = START + interval;
      expect(due(10, 0)).toEqual([{ ...place, changes: 1 }]);
      await run(() => queue.putOff(wallet, now + 1));
      expect(due()).toEqual([]);
      now += 1;
      expect(due(10, 0)).toHaveLength(1);
      await run(() => queue.putOff({ ...wallet, id: 'unknown' }, START));
      expect(due()).toHaveLength(1);
    });
  });

  it('signs with the previous secret until its day ends', async () => {
    const encryption = createEncryption(new Uint8Array(32), systemRandom);
    const channels = openChannels(root, { encryption, clock, random: systemRandom });
    expect(channels.signingSecrets('a')).toEqual([]);
    const first = await channels.rotateSecret('a');
    expect(first.previousUntilMs).toBeNull();
    const second = await channels.rotateSecret('a');
    expect(second.previousUntilMs).toBe(START + MONITORING_LIMITS.webhookSecretOverlapMs);
    now = START + MONITORING_LIMITS.webhookSecretOverlapMs - 1;
    expect(channels.signingSecrets('a')).toEqual([second.secret, first.secret]);
    now += 1;
    expect(channels.signingSecrets('a')).toEqual([second.secret]);
    expect(channels.channels('a')).toEqual({ email: null, slackWebhookUrl: null, telegram: null });
    await channels.setChannels('a', { email: 'e', slackWebhookUrl: null, telegram: null });
    expect(channels.channels('a').email).toBe('e');
    expect(await channels.opensHere()).toBe(true);
    const other = openChannels(root, {
      encryption: createEncryption(new Uint8Array(32).fill(1), systemRandom),
      clock,
      random: systemRandom,
    });
    expect(await other.opensHere()).toBe(false);
    await expect(other.rotateSecret('a')).rejects.toMatchObject({ code: 'NOT_READY' });
    await expect(
      other.setChannels('a', { email: null, slackWebhookUrl: null, telegram: null }),
    ).rejects.toMatchObject({ code: 'NOT_READY' });
  });

  it('reads no secrets that were moved to another account', async () => {
    const encryption = createEncryption(new Uint8Array(32), systemRandom);
    const channels = openChannels(root, { encryption, clock, random: systemRandom });
    await channels.rotateSecret('a');
    await channels.setChannels('a', { email: 'e', slackWebhookUrl: null, telegram: null });
    expect([channels.signingSecrets('a').length, channels.channels('a').email]).toEqual([1, 'e']);
    for (const [name, encoding] of [
      ['webhookSecrets', 'json'],
      ['channels', 'string'],
    ] as const) {
      const rows = root.openDB<unknown, string>({ name, encoding });
      await rows.put('b', rows.get('a'));
    }
    expect(() => channels.signingSecrets('b')).toThrow('cannot be decrypted');
    expect(() => channels.channels('b')).toThrow('cannot be decrypted');
  });
});

describe('a write under a lease', () => {
  it('rejects every write of a previous lease holder and stores nothing', async () => {
    const folder = tempFolder();
    const fences: (Fence | null)[] = [];
    /** The fifth holder of the lease is the newest. */
    const openStore: OpenStore = (path, version, options) => {
      const live = openLiveStore(path, version, options);
      const root = new Proxy<LiveRoot>(live.root, {
        get(target, name) {
          const value: unknown = Reflect.get(target, name);
          if (name !== 'childTransaction') return typeof value === 'function' ? value.bind(target) : value;
          return (work: () => unknown, fence: Fence | null = null) => {
            fences.push(fence);
            if (fence !== null && fence.token < 5)
              return Promise.reject(new AssayError('STORE_BUSY', 'taken'));
            return target.childTransaction(work, fence);
          };
        },
      });
      return { ...live, root };
    };
    const store = openMonitoringStore(
      { path: `${folder.path}/m.mdb` },
      {
        clock: { now: () => START, monotonic: () => 0 },
        random: systemRandom,
        encryption: createEncryption(new Uint8Array(32), systemRandom),
        openStore,
      },
    );
    const wallet = await store.addWallet(
      {
        ...walletOf(),
        customWebhookUrl: 'https://hooks.example.org/',
        enabledRules: ['SCAM-001'],
        alertFrequency: 'daily',
      },
      10,
    );
    const { ruleId, ruleName, severity, title, message, category, riskType, final, transaction } = alertOf(1);
    const draft = { ruleId, ruleName, severity, title, message, category, riskType, final, transaction };
    await store.write((writer) => writer.raise(wallet, draft, 'cause', null));
    await store.outbox.test(wallet);
    const waiting = () => store.outbox.queues().flatMap((queue) => store.outbox.due(queue, START).waiting);
    const [delivery] = waiting();
    if (delivery === undefined) throw new Error('Nothing waits.');
    let written = 0;
    const write = () => void written++;
    const place = { accountId: 'a', walletId: wallet.id, changes: 0 };
    const attempt = { atMs: START, durationMs: 1 };
    const outcome: Outcome = { kind: 'DELIVERED', responseStatus: 200 };
    const screening = { riskScore: 1, riskLevel: 'LOW' } as never;
    const writes: ((fence: Fence) => Promise<unknown>)[] = [
      (fence) => store.write(write, fence),
      (fence) => store.applyBlock('ETH', { height: 7, hash: 'b7' }, write, fence),
      (fence) => store.revert('ETH', 1, write, fence),
      (fence) => store.forgetBlocks('ETH', fence),
      (fence) => store.refreshed(place, screening, START + 1, fence),
      (fence) => store.putOffRefresh(place, START + 1, fence),
      (fence) => store.outbox.settle([{ waiting: delivery, attempt, outcome }], fence),
      (fence) => store.outbox.closeDays(START + 86_400_000, fence),
    ];
    fences.length = 0;
    for (const run of writes)
      await expect(run({ name: 'l', token: 4 })).rejects.toMatchObject({ code: 'STORE_BUSY' });
    expect([written, store.blocks('ETH'), waiting().length]).toEqual([0, [], 1]);
    expect(fences).toEqual(writes.map(() => ({ name: 'l', token: 4 })));
    for (const run of writes) await run({ name: 'l', token: 5 });
    expect([written > 0, waiting().map(({ id }) => id === delivery.id)]).toEqual([true, [false]]);
    await store.close();
    folder.remove();
  });
});

describe('lists of wallets', () => {
  const world = () => {
    const rows = new Map<string, MonitoredWallet[]>();
    let generation = 0;
    let reads = 0;
    const lists = createWalletLists({
      generation: () => generation,
      changes: () => [],
      readAll: (accountId) => {
        reads++;
        return rows.get(accountId) ?? [];
      },
      read: () => null,
    });
    return { rows, lists, step: () => generation++, reads: () => reads };
  };
  const all = { includeDeleted: true };
  const page = { limit: 10, offset: 0 };

  it('filter by chain, status, deletion and text, and return the full count', () => {
    const { rows, lists } = world();
    rows.set('a', [
      walletOf({ id: '1', label: 'Cold' }),
      walletOf({ id: '2', chain: 'BSC' }),
      walletOf({ id: '3', status: 'DELETED' }),
      walletOf({ id: '4', status: 'PAUSED', walletAddress: '0xbeef' }),
    ]);
    const ids = (filter: object, of = page) =>
      lists.list('a', { ...all, ...filter }, of).wallets.map(({ id }) => id);
    expect(ids({})).toEqual(['1', '2', '3', '4']);
    expect(ids({ includeDeleted: false })).toEqual(['1', '2', '4']);
    expect(ids({ chain: 'BSC' })).toEqual(['2']);
    expect(ids({ status: 'PAUSED' })).toEqual(['4']);
    expect(ids({ search: 'cOLD' })).toEqual(['1']);
    expect(ids({ search: 'BEEF' })).toEqual(['4']);
    expect(ids({}, { limit: 2, offset: 1 })).toEqual(['2', '3']);
    expect(lists.list('a', all, { limit: 1, offset: 3 })).toMatchObject({ total: 4, wallets: [{ id: '4' }] });
  });

  it('evict the least recently used account when too many wallets are cached', () => {
    const { rows, lists, reads } = world();
    const half = Array.from({ length: MONITORING_LIMITS.listedWalletsHeld / 2 }, (_, at) =>
      walletOf({ id: idOf(at) }),
    );
    for (const account of ['a', 'b']) rows.set(account, half);
    rows.set('c', [walletOf()]);
    const list = (account: string) => lists.list(account, all, page);
    list('a');
    list('b');
    list('a');
    expect(reads()).toBe(2);
    list('c');
    list('a');
    expect(reads()).toBe(3);
    list('b');
    expect(reads()).toBe(4);
  });
});

describe('the table of watched addresses', () => {
  const address = (number: number) => `0x${number.toString(16).padStart(40, '0')}`;
  const of = (number: number, walletId = idOf(number), accountId = 'a') => ({
    chain: 'ETH' as const,
    walletAddress: address(number),
    accountId,
    walletId,
  });

  it('finds each of thousands of addresses after every resize, in any letter case, and no others', () => {
    const table = buildWatchTable(Array.from({ length: 3_000 }, (_, at) => of(at)));
    expect(table.size).toBe(3_000);
    for (const number of [0, 1_023, 1_024, 2_047, 2_048, 2_999])
      expect(table.watchers('ETH', address(number).toUpperCase().replace('0X', '0x'))).toEqual([
        { accountId: 'a', walletId: idOf(number) },
      ]);
    expect(table.watchers('ETH', address(3_000))).toEqual([]);
    expect(table.watchers('BSC', address(1))).toEqual([]);
    for (const wrong of ['0x', `${address(1)}0`, `0x${'0'.repeat(39)}g`, `0x${'0'.repeat(38)}g1`])
      expect(table.watchers('ETH', wrong)).toEqual([]);
  });

  it('removes wallets of one address from both ends and the middle, and reuses their slots', () => {
    for (const removed of [1, 2, 3]) {
      const table = buildWatchTable([of(7, idOf(1)), of(7, idOf(2), 'b'), of(7, idOf(3))]);
      table.apply({ ...of(7, idOf(removed)), isActive: false });
      table.apply({ ...of(7, idOf(removed)), isActive: false });
      table.apply({ ...of(8, idOf(1)), isActive: false });
      expect(table.size).toBe(2);
      expect(table.watchers('ETH', address(7)).map(({ walletId }) => Number(walletId))).toEqual(
        [1, 2, 3].filter((id) => id !== removed),
      );
      table.apply({ ...of(9, idOf(9), 'c'), isActive: true });
      table.apply({ ...of(9, idOf(9), 'c'), isActive: true });
      expect(table.watchers('ETH', address(9))).toEqual([{ accountId: 'c', walletId: idOf(9) }]);
      expect(table.size).toBe(3);
    }
    const table = buildWatchTable([of(1)]);
    expect([...table.chains]).toEqual(['ETH']);
    table.apply({ ...of(1), isActive: false });
    table.apply({ ...of(1), chain: 'BSC', isActive: false });
    expect([...table.chains]).toEqual([]);
  });
});

describe('velocity', () => {
  const day = 86_400_000;
  const { historyDays, warmUpDays, countMin, coldCount, coldVolumeUsd, volumeMinUsd } = policy.velocity;
  const judge = (past: WalletBaseline, today: number) => judgeVelocity(past, today * day, policy.velocity);
  const one = (sinceDay: number, count: number, usd: number): WalletBaseline => ({
    sinceDay,
    days: [{ day: 100, count, usd }],
  });

  it('uses fixed limits during the warm-up, inclusive of the limit', () => {
    const cold = 100 - warmUpDays + 1;
    expect(judge(one(cold, coldCount - 1, 0), 100)).toBeNull();
    expect(judge(one(cold, coldCount, 0), 100)).toMatchObject({
      measure: 'count',
      usual: null,
      zScore: null,
    });
    expect(judge(one(cold, 1, coldVolumeUsd - 0.01), 100)).toBeNull();
    expect(judge(one(cold, 1, coldVolumeUsd), 100)).toMatchObject({
      measure: 'volume',
      usual: null,
      zScore: null,
    });
    expect(judge(one(cold - 1, coldCount, 0), 100)).toMatchObject({ usual: 0 });
    expect(judge(one(cold, coldCount, 0), 101)).toBeNull();
  });

  it('alerts from exactly the minimum count and volume of a wallet with a baseline', () => {
    expect(judge(one(0, countMin, 0), 100)).toMatchObject({ measure: 'count', value: countMin });
    expect(judge(one(0, countMin - 1, 0), 100)).toBeNull();
    expect(judge(one(0, 1, volumeMinUsd), 100)).toMatchObject({ measure: 'volume', value: volumeMinUsd });
    expect(judge(one(0, 1, volumeMinUsd - 1), 100)).toBeNull();
  });

  it('requires the z-score, and reports the stronger of two measures', () => {
    const regular = (count: number, usd: number, now: { count: number; usd: number }): WalletBaseline => ({
      sinceDay: 0,
      days: [
        ...Array.from({ length: historyDays }, (_, at) => ({ day: 100 - historyDays + at, count, usd })),
        { day: 100, ...now },
      ],
    });
    // A mean of 100 a day with its floor of √100: four deviations are 40 transfers.
    expect(judge(regular(100, 0, { count: 140, usd: 0 }), 100)).toMatchObject({
      measure: 'count',
      usual: 100,
      zScore: 4,
    });
    expect(judge(regular(100, 0, { count: 139, usd: 0 }), 100)).toBeNull();
    // The floor of the volume is a quarter of the mean: twice the mean is a z-score of 4.
    expect(judge(regular(1, 10_000, { count: 1, usd: 20_000 }), 100)).toMatchObject({
      measure: 'volume',
      zScore: 4,
    });
    expect(judge(regular(1, 10_000, { count: 1, usd: 19_999 }), 100)).toBeNull();
    expect(judge(regular(100, 10_000, { count: 200, usd: 30_000 }), 100)).toMatchObject({
      measure: 'count',
      zScore: 10,
    });
    expect(judge(regular(100, 10_000, { count: 150, usd: 30_000 }), 100)).toMatchObject({
      measure: 'volume',
      zScore: 8,
    });
  });

  it('compares only with the days of its history', () => {
    const past: WalletBaseline = {
      sinceDay: 0,
      days: [
        { day: 100 - historyDays - 1, count: 1_000, usd: 0 },
        { day: 100, count: countMin, usd: 0 },
      ],
    };
    expect(judge(past, 100)).toMatchObject({ measure: 'count', usual: 0 });
    const inside = { ...past, days: [{ day: 100 - historyDays, count: 1_000, usd: 0 }, past.days[1]!] };
    expect(judge(inside, 100)).toBeNull();
  });

  it('adds and reverts transfers without a price, and keeps the days of the baseline', () => {
    const at = 100 * day;
    const past = addTransfer(
      { sinceDay: 0, days: [{ day: 100 - historyDays, count: 1, usd: 1 }] },
      { timestampMs: at, usd: null },
      policy.velocity,
    );
    expect(past.days).toEqual([
      { day: 100 - historyDays, count: 1, usd: 1 },
      { day: 100, count: 1, usd: 0 },
    ]);
    expect(addTransfer(past, { timestampMs: at + day, usd: 2 }, policy.velocity).days[0]).toEqual({
      day: 100,
      count: 1,
      usd: 0,
    });
    expect(removeTransfer(past, { timestampMs: at, usd: null }).days).toHaveLength(1);
    expect(
      removeTransfer({ sinceDay: 0, days: [{ day: 100, count: 2, usd: 1 }] }, { timestampMs: at, usd: 5 })
        .days,
    ).toEqual([{ day: 100, count: 1, usd: 0 }]);
  });
});

describe('the severity of a finding', () => {
  const scam = {
    ...UNATTRIBUTED,
    category: 'SCAM' as const,
    entity: { name: 'S', category: 'SCAM' as const, threatLevel: 'HIGH' as const },
    isRisky: true,
  };
  const found = (change: Partial<Evidence>) =>
    evaluate(evidence(change), ['SANCTIONS-001', 'SCAM-001', 'VELOCITY-001'], policy);
  const severity = (change: Partial<Evidence>) => found(change)[0]?.finding.severity;

  it('is lower below the small value and higher from the large value', () => {
    const of = (amountUsd: number | null) => severity({ counterparty: scam, amountUsd });
    expect(
      [policy.smallUsd - 0.01, policy.smallUsd, policy.largeUsd - 0.01, policy.largeUsd, null].map(of),
    ).toEqual(['MEDIUM', 'HIGH', 'HIGH', 'CRITICAL', 'HIGH']);
    expect(severity({ counterparty: { ...scam, entity: null } as never })).toBe('MEDIUM');
    expect(
      severity({ counterparty: { ...scam, entity: { ...scam.entity, threatLevel: 'NONE' } } as never }),
    ).toBe('LOW');
  });

  it('counts two hops from exactly the minimum share, by the largest share', () => {
    const behind = (share: number, name = 'S') => ({
      attribution: { ...scam, entity: { ...scam.entity, name } },
      share,
    });
    expect(found({ behind: [behind(policy.indirectShareMin - 0.001)] })).toEqual([]);
    expect(severity({ behind: [behind(policy.indirectShareMin)] })).toBe('MEDIUM');
    const [both] = found({ behind: [behind(0.2, 'Less'), behind(0.5, 'More')] });
    expect(both?.finding.title).toBe('Two hops from More');
    expect(found({ direction: 'out', behind: [behind(0.5)] })[0]?.finding.message).toContain(
      '50 % of what it sent on was to S (scam)',
    );
    const derived = { ...UNATTRIBUTED, entity: { ...scam.entity, name: 'D' }, isRisky: false };
    for (const [counterparty, what] of [
      [UNATTRIBUTED, 'is not labelled'],
      [derived, 'has only a derived label'],
    ] as const)
      expect(found({ counterparty, behind: [behind(0.5)] })[0]?.finding.message).toBe(
        `The counterparty ${what}, but 50 % of what it received was from S (scam).`,
      );
    const sanctioned = { ...UNATTRIBUTED, sanctioned: true };
    expect(severity({ behind: [{ attribution: sanctioned, share: 0.5 }] })).toBe('HIGH');
    expect(severity({ counterparty: sanctioned, amountUsd: 1 })).toBe('CRITICAL');
  });

  it('is HIGH for an unusual day from a z-score of 10', () => {
    const velocity = (zScore: number | null, measure: 'count' | 'volume' = 'count') => ({
      measure,
      value: 30,
      usual: zScore === null ? null : 2,
      zScore,
    });
    expect([9.9, 10, null].map((zScore) => severity({ velocity: velocity(zScore) }))).toEqual([
      'MEDIUM',
      'HIGH',
      'MEDIUM',
    ]);
    const [count] = found({ velocity: velocity(10) });
    expect(count).toMatchObject({ basis: 'BEHAVIOUR', finding: { title: 'Unusually many transfers' } });
    expect(count?.finding.message).toBe('30 transfers today; 2 transfers a day is usual (z-score 10.0).');
    expect(found({ velocity: velocity(null, 'volume') })[0]?.finding).toMatchObject({
      title: 'Unusually high value',
      message: 'USD 30.00 today. The wallet has not been watched for long enough to know what is usual.',
    });
  });

  it('is LOW for a forged transfer, and reports poisoning if nothing else applies', () => {
    expect(found({ counterparty: scam, spoof: 'UNKNOWN_TOKEN' })).toMatchObject([
      { basis: 'SPOOFED', finding: { severity: 'LOW' } },
    ]);
    const imitation = { address: '0x1', imitates: '0x2' };
    expect(found({ imitation })).toMatchObject([{ ruleId: 'SCAM-001', basis: 'POISONING' }]);
    expect(found({ counterparty: scam, imitation })).toMatchObject([{ basis: 'TRANSFER' }]);
    expect(evaluate(evidence({ imitation }), ['SANCTIONS-001'], policy)).toEqual([]);
  });

  it('follows the kind of the sanctions entry', () => {
    const message = (change: Partial<Evidence>) => found(change)[0]?.finding.message ?? '';
    const listed = { ...UNATTRIBUTED, sanctioned: true };
    expect(message({ counterparty: listed })).toContain('on a sanctions list in force.');
    expect(message({ counterparty: { ...listed, until: null } as never })).toContain('attributed to a party');
    expect(message({ clusterSanctioned: true })).toContain('The address itself is not listed.');
    const entry = { list: 'OFAC', entityName: 'X' };
    expect(message({ suspectedOwner: entry as never })).toContain('is attributed to X');
    expect(
      message({ suspectedOwner: { ...entry, attribution: { source: 'src', confidence: 0.5 } } as never }),
    ).toContain('attributed by src, confidence 0.5 to X');
    expect(ruleFor(UNATTRIBUTED, policy)).toBeNull();
    expect(ruleFor({ ...UNATTRIBUTED, category: 'EXCHANGE', isRisky: true } as never, policy)).toBe(
      'HIGHRISK-001',
    );
    expect(ruleFor({ ...UNATTRIBUTED, category: 'EXCHANGE', isRisky: false } as never, policy)).toBeNull();
  });
});

describe('answers', () => {
  it('contain only stored facts of a wallet, and are identical each time', () => {
    const wallet = walletOf();
    expect(walletAnswer(wallet)).toMatchObject({
      walletAddress: `0x${'a'.repeat(40)}`,
      assessed: false,
      coverage: null,
      screenedAt: '2026-11-21T00:00:00.000Z',
      deletedAt: null,
    });
    expect(
      walletAnswer({ ...wallet, assessed: true, screenedAtMs: START + 1, deletedAtMs: START + 2 }),
    ).toMatchObject({
      assessed: true,
      screenedAt: '2026-11-21T00:00:00.001Z',
      deletedAt: '2026-11-21T00:00:00.002Z',
    });
    expect(walletText(wallet)).toBe(JSON.stringify(walletAnswer(wallet)));
    expect(walletText(wallet)).toBe(walletText(wallet));
  });

  const transaction = {
    hash: '0xh',
    blockNumber: 10,
    timestampMs: START,
    direction: 'in',
    counterparty: { address: '0xAB', entity: null },
    asset: 'ETH',
    amount: '1',
    amountUsd: null,
    alertIds: [],
    reorged: false,
  } as unknown as MonitoredTransaction;

  it('count confirmations including the block itself, and none for a reverted block', () => {
    const confirmations = (head: number | null, change: Partial<MonitoredTransaction> = {}) =>
      transactionAnswer({ ...transaction, ...change }, head).confirmations;
    expect([null, 9, 8, 10, 11].map((head) => confirmations(head))).toEqual([null, 0, 0, 1, 2]);
    expect(confirmations(11, { reorged: true })).toBe(0);
    expect(transactionAnswer(transaction, 1)).toMatchObject({
      spoofable: false,
      counterparty: { address: '0xab', entity: null, category: null },
    });
    const party = { address: null, entity: { name: 'N', category: 'SCAM' as const, threatLevel: 'HIGH' } };
    expect(transactionAnswer({ ...transaction, spoofable: true, counterparty: party }, 1)).toMatchObject({
      spoofable: true,
      counterparty: { address: null, category: 'SCAM' },
    });
  });

  it('show the decimals of an asset, also if it has none, and null if they are unknown', () => {
    for (const [stored, decimals] of [
      [6, 6],
      [0, 0],
      [null, null],
      [undefined, null],
    ] as const) {
      const of = { ...transaction, decimals: stored } as MonitoredTransaction;
      expect(alertAnswer(alertOf(1, { transaction: of })).transaction?.decimals).toBe(decimals);
      expect(transactionAnswer(of, 1).decimals).toBe(decimals);
    }
  });

  it('show an alert with its transaction, or without one', () => {
    expect(alertAnswer(alertOf(1))).toMatchObject({ transaction: null, resolvedAt: null });
    expect(alertAnswer(alertOf(1, { transaction, resolvedAtMs: START })).transaction).toMatchObject({
      counterparty: { address: '0xab' },
    });
    const delivery = {
      attempts: [{ atMs: START, durationMs: 1, responseStatus: 200, error: null }],
      createdAtMs: START,
      nextAttemptAtMs: null,
    };
    expect(deliveryAnswer(delivery as unknown as Delivery)).toMatchObject({
      attempts: [{ at: '2026-11-21T00:00:00.000Z', durationMs: 1 }],
      nextAttemptAt: null,
    });
    expect(deliveryAnswer({ ...delivery, nextAttemptAtMs: START } as unknown as Delivery).nextAttemptAt).toBe(
      '2026-11-21T00:00:00.000Z',
    );
  });

  it('mask the secrets of a channel', () => {
    expect(channelsAnswer({ email: 'e', slackWebhookUrl: null, telegram: null })).toEqual({
      email: 'e',
      slackWebhookUrl: null,
      telegram: null,
    });
    expect(
      channelsAnswer({
        email: null,
        slackWebhookUrl: 'https://hooks.example.org/services/0abcdef',
        telegram: { botToken: '1234567:89012345', chatId: '9' },
      }),
    ).toEqual({
      email: null,
      slackWebhookUrl: 'https://hooks.example.org/…cdef',
      telegram: { botToken: '…2345', chatId: '9' },
    });
  });

  it.each([
    ['1:a', 'https://h.example/s', '…', 'https://h.example/…'],
    ['1234567:8901234', 'https://h.example/0123456?890123', '…', 'https://h.example/…'],
    ['1234567:89012345', 'https://h.example/0123456?8901234', '…2345', 'https://h.example/…'],
    ['1234567:89012345', 'https://h.example/0123456?890123456', '…2345', 'https://h.example/…3456'],
  ])('hide a short secret as a whole: %s, %s', (botToken, slackWebhookUrl, token, url) => {
    const shown = channelsAnswer({ email: null, slackWebhookUrl, telegram: { botToken, chatId: '9' } });
    expect([shown.telegram?.botToken, shown.slackWebhookUrl]).toEqual([token, url]);
  });

  it('are truncated for a chat at its maximum length', () => {
    const message = (title: string, change: object = {}): Message => ({
      event: 'alert.created',
      alert: { ...alertAnswer(alertOf(1)), title, ...change },
    });
    const text = (title: string) =>
      JSON.parse(renderMessage('telegram', message(title), START)).text as string;
    const rest = text('').length;
    expect(text('x'.repeat(2_800 - rest))).not.toContain('…');
    expect(text('x'.repeat(2_801 - rest))).toHaveLength(2_800);
    expect(text('x'.repeat(2_801 - rest)).endsWith('…')).toBe(true);
    const letter = (of: Message) =>
      JSON.parse(renderMessage('email', of, START)) as { subject: string; text: string };
    expect(letter(message('T')).subject).toBe('Assay: LOW alert SCAM-001, T');
    expect(letter({ ...message('T'), event: 'alert.updated' } as Message)).toMatchObject({
      subject: 'Assay: update: LOW alert SCAM-001, T',
      text: expect.stringContaining('An alert has changed:'),
    });
    expect(letter(message('T')).text).not.toContain('An alert has changed');
    expect(letter(message('T')).text).toContain('not final yet');
    expect(letter(message('T', { final: true })).text).toContain('NEW, final');
    expect(letter(message('T', { reorged: true })).text).toContain('reverted');
    const moved = alertAnswer(alertOf(1, { transaction })).transaction!;
    expect(letter(message('T', { transaction: moved })).text).toContain('1 ETH\n');
    expect(letter(message('T', { transaction: { ...moved, amountUsd: 0 } })).text).toContain(
      '1 ETH (USD 0.00)',
    );
    const labelled = alertAnswer(alertOf(1, { wallet: { ...alertOf(1).wallet, label: 'Cold' } }));
    expect(letter({ event: 'alert.created', alert: labelled }).text).toContain('Wallet: Cold, 0x');
    const digest = (more: number): Message => ({
      event: 'digest',
      digest: { day: '2026-11-21', alerts: [labelled], more },
    });
    expect(letter(digest(0))).toMatchObject({
      subject: 'Assay: 1 alerts on 2026-11-21',
      text: expect.not.stringContaining('more'),
    });
    expect(letter(digest(2))).toMatchObject({
      subject: 'Assay: 3 alerts on 2026-11-21',
      text: expect.stringContaining('and 2 more.'),
    });
    const test: Message = { event: 'test', test: { walletId: 'w', walletAddress: '0x1', chain: 'ETH' } };
    const types = [digest(0), test, message('T')].map((of) =>
      JSON.parse(renderMessage('webhook', of, START)),
    );
    expect(types.map(({ type }) => type)).toEqual(['alert.digest', 'alert.test', 'alert.created']);
    expect(types.map(({ data }) => Object.keys(data)[0])).toEqual(['digest', 'test', 'alert']);
  });
});

describe('the schedule of attempts', () => {
  it('has a delay after each attempt except the last', () => {
    expect(retryWaitMs(1, null, 0)).toBe(5_000);
    expect(retryWaitMs(1, null, 1)).toBe(5_500);
    expect(retryWaitMs(1, 4_999, 0)).toBe(5_000);
    expect(retryWaitMs(1, 6_000, 0)).toBe(6_000);
    expect(retryWaitMs(1, DELIVERY_LIMITS.retryAfterMaxMs + 1, 0)).toBe(DELIVERY_LIMITS.retryAfterMaxMs);
    expect(retryWaitMs(RETRY_WAITS_MS.length, null, 0)).toBe(RETRY_WAITS_MS.at(-1));
    expect(retryWaitMs(ATTEMPTS_MAX, null, 0)).toBeNull();
  });

  it('accepts up to nine digits of seconds, and treats a past date as now', () => {
    expect(readRetryAfter(undefined, 0)).toBeNull();
    expect(readRetryAfter(' 0 ', 0)).toBe(0);
    expect(readRetryAfter('999999999', 0)).toBe(999_999_999_000);
    expect(readRetryAfter('9999999999', 0)).toBeNull();
    expect(readRetryAfter('Sat, 21 Nov 2026 00:00:00 GMT', START - 1)).toBe(1);
    expect(readRetryAfter('Sat, 21 Nov 2026 00:00:00 GMT', START + 1)).toBe(0);
    expect(readRetryAfter('2026-11-21', 0)).toBeNull();
  });
});

describe('ids', () => {
  it('increase within a millisecond, and are random in the next', () => {
    let now = START;
    const newId = createIds({ clock: { now: () => now, monotonic: () => 0 }, random: systemRandom });
    const [first, second] = [newId(), newId()];
    expect(second > first).toBe(true);
    expect(first.slice(0, 24)).toBe(second.slice(0, 24));
    expect(first).toMatch(ID_SHAPE);
    now += 1;
    const third = newId();
    expect(third > second).toBe(true);
    expect(third.slice(10, 22)).not.toBe(second.slice(10, 22));
  });
});

describe('streams', () => {
  const world = (first = 1, last = 3) => {
    const listeners: ((change: { accountId: string }) => void)[] = [];
    const state = { first, last };
    const hub = createStreamHub<MonitoringChange>({
      render: eventOf,
      store: {
        onChange: (listener: (change: { accountId: string }) => void) => void listeners.push(listener),
        changes: (_: string, after: number, limit: number) => ({
          first: state.first,
          last: state.last,
          changes: Array.from(
            { length: Math.max(0, state.last - Math.max(after, state.first - 1)) },
            (_, at) => ({
              number: Math.max(after, state.first - 1) + 1 + at,
              kind: 'wallet',
              wallet: walletOf(),
            }),
          ).slice(0, limit),
        }),
      } as never,
    });
    const sink = () => {
      const sent: StreamEvent[] = [];
      const state = { sent, waitingBytes: 0, accepts: true, closed: null as string | null };
      return Object.assign(state, {
        send: (event: StreamEvent) => state.accepts && sent.push(event) > 0,
        close: (reason: string) => {
          state.closed = reason;
        },
      });
    };
    return {
      hub,
      state,
      sink,
      change() {
        for (const listener of listeners) listener({ accountId: 'a' });
      },
    };
  };
  const ids = (of: { sent: StreamEvent[] }) =>
    of.sent.map(({ id, event }) => (event === 'missed' ? 'missed' : id));

  it('start with the next change, or after the id that is resumed from', () => {
    const { hub, state, sink, change } = world();
    const [fresh, resumed, ahead] = [sink(), sink(), sink()];
    hub.subscribe('a', null, fresh);
    hub.subscribe('a', 1, resumed);
    hub.subscribe('a', 99, ahead);
    state.last = 4;
    change();
    expect([ids(fresh), ids(resumed), ids(ahead)]).toEqual([['4'], ['2', '3', '4'], ['4']]);
    expect(hub.size).toBe(3);
    hub.close('The server stops.');
    expect([hub.size, fresh.closed]).toEqual([0, 'The server stops.']);
  });

  it('report the range of missing changes, and only if some are missing', () => {
    const { hub, sink } = world(5, 6);
    const [missing, exact] = [sink(), sink()];
    hub.subscribe('a', 2, missing);
    hub.subscribe('a', 4, exact);
    expect([ids(missing), ids(exact)]).toEqual([
      ['missed', '5', '6'],
      ['5', '6'],
    ]);
    expect(JSON.parse(missing.sent[0]!.data)).toEqual({ from: 3, to: 4 });
  });

  it('drop a client that disconnected or whose buffer is too large', () => {
    const { hub, sink } = world(2, 3);
    const [gone, missedGone, slow, full] = [sink(), sink(), sink(), sink()];
    gone.accepts = false;
    missedGone.accepts = false;
    hub.subscribe('a', 2, gone);
    hub.subscribe('a', 0, missedGone);
    expect(hub.size).toBe(0);
    full.waitingBytes = MONITORING_LIMITS.streamBufferBytesMax;
    hub.subscribe('a', 1, full);
    expect([hub.size, ids(full)]).toEqual([1, ['2', '3']]);
    slow.waitingBytes = MONITORING_LIMITS.streamBufferBytesMax + 1;
    const end = hub.subscribe('a', 1, slow);
    expect([hub.size, ids(slow)]).toEqual([1, ['2']]);
    expect(slow.closed).toContain('too slowly');
    end();
    expect(hub.size).toBe(1);
  });

  it('are limited per account', () => {
    const { hub, sink } = world();
    const ends = Array.from({ length: MONITORING_LIMITS.streamsPerAccountMax - 1 }, () =>
      hub.subscribe('a', null, sink()),
    );
    hub.requireRoom('a');
    hub.subscribe('a', null, sink());
    expect(() => hub.requireRoom('a')).toThrow('the maximum');
    hub.requireRoom('b');
    ends[0]!();
    hub.requireRoom('a');
  });

  it('leave their places if their readers may not read any more', () => {
    const { hub, sink } = world();
    let mayRead = true;
    for (let count = 0; count < MONITORING_LIMITS.streamsPerAccountMax; count++)
      hub.subscribe('a', null, {
        ...sink(),
        send: () => true,
        ...(count < 2 ? { mayRead: () => mayRead } : {}),
      });
    hub.subscribe('b', null, { ...sink(), mayRead: () => false });
    expect(() => hub.requireRoom('a')).toThrow('the maximum');
    mayRead = false;
    hub.requireRoom('a');
    expect(hub.size).toBe(MONITORING_LIMITS.streamsPerAccountMax - 2 + 1);
  });

  it('end soon after their readers may not read any more, without a change', () => {
    vi.useFakeTimers();
    try {
      const { hub, sink } = world();
      let mayRead = true;
      const ended = sink();
      const leave = hub.subscribe('a', null, sink());
      hub.subscribe('a', null, { ...ended, mayRead: () => mayRead });
      vi.advanceTimersByTime(MONITORING_LIMITS.streamCheckMs);
      expect(hub.size).toBe(2);
      mayRead = false;
      vi.advanceTimersByTime(MONITORING_LIMITS.streamCheckMs);
      expect(hub.size).toBe(1);
      leave();
      // Nothing is checked without streams, and again with the next one.
      expect(vi.getTimerCount()).toBe(0);
      hub.subscribe('b', null, { ...ended, mayRead: () => mayRead });
      vi.advanceTimersByTime(MONITORING_LIMITS.streamCheckMs);
      expect([hub.size, vi.getTimerCount()]).toEqual([0, 0]);
    } finally {
      vi.useRealTimers();
    }
  });

  it('send more than one page of changes', () => {
    const { hub, sink } = world(1, MONITORING_LIMITS.streamBacklogPage);
    const reader = sink();
    hub.subscribe('a', 0, reader);
    expect(reader.sent).toHaveLength(MONITORING_LIMITS.streamBacklogPage);
    const more = world(1, 2 * MONITORING_LIMITS.streamBacklogPage + 1);
    const second = more.sink();
    more.hub.subscribe('a', 0, second);
    expect(second.sent).toHaveLength(2 * MONITORING_LIMITS.streamBacklogPage + 1);
  });
});

describe('the dispatcher', () => {
  const DELIVERED: Outcome = { kind: 'DELIVERED', responseStatus: 200 };
  const RETRY: Outcome = { kind: 'RETRY', responseStatus: 500, error: 'no', retryAfterMs: null };

  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });

  /** A dispatcher over a stored in memory. Its receivers answer when the test says so. */
  function world(leases?: Leases) {
    const stored: Waiting[] = [];
    const under = new Map<string, (outcome: Outcome | Error) => void>();
    const sent: string[] = [];
    const settled: string[] = [];
    const logged: string[] = [];
    const faults = { settle: [] as Error[], closeDays: [] as Error[], load: [] as string[] };
    const state = { obstacle: null as string | null, days: 0, most: 0, fences: [] as (Fence | null)[] };
    let woken: (queues: ReadonlySet<string>) => void = () => {};
    const outbox = {
      queues: () => new Set(stored.map(({ queue }) => queue)) as never,
      onWake: (listener: typeof woken) => {
        woken = listener;
      },
      due: (queue: string, nowMs: number) => {
        const own = stored.filter((one) => one.queue === queue);
        return {
          waiting: own.filter(({ dueMs }) => dueMs <= nowMs),
          nextDueMs: own.find(({ dueMs }) => dueMs > nowMs)?.dueMs ?? null,
        };
      },
      load: ({ id, queue }: Waiting) => {
        if (faults.load.includes(id)) {
          stored.splice(0, stored.length, ...stored.filter((one) => one.id !== id));
          return null;
        }
        return { id, channel: queue.split('/').at(-2) } as never;
      },
      async settle(ended: readonly EndedAttempt[], fence: Fence | null) {
        state.fences.push(fence);
        const fault = faults.settle.shift();
        if (fault !== undefined) throw fault;
        for (const { waiting, outcome } of ended) {
          settled.push(`${waiting.id} ${outcome.kind}`);
          stored.splice(0, stored.length, ...stored.filter(({ id }) => id !== waiting.id));
        }
        return ended.map(() => null);
      },
      purgeAll: async () => {},
      async closeDays(_nowMs: number, fence: Fence | null) {
        state.fences.push(fence);
        state.days++;
        const fault = faults.closeDays.shift();
        if (fault !== undefined) throw fault;
        return 0;
      },
    } as unknown as LmdbOutbox;
    const send = (delivery: Delivery): Promise<Outcome> => {
      sent.push(delivery.id);
      state.most = Math.max(state.most, under.size + 1);
      return new Promise((resolve, reject) => {
        under.set(delivery.id, (outcome) => {
          under.delete(delivery.id);
          if (outcome instanceof Error) reject(outcome);
          else resolve(outcome);
        });
      });
    };
    const note = (_fields: object, text: string): void => void logged.push(text);
    const dispatcher = createDispatcher({
      outbox,
      senders: { webhook: send, email: send, slack: send, telegram: send },
      clock: { now: () => Date.now(), monotonic: () => performance.now() },
      log: { debug() {}, info: note, warn: note, error: note } as unknown as Logger,
      obstacle: async () => state.obstacle,
      ...(leases === undefined ? {} : { leases }),
    });
    const put = (queue: string, id: string, change: Partial<Waiting> = {}): void => {
      const known = { accountId: 'a', walletId: null, isFirst: true, dueMs: Date.now() };
      stored.push({ queue, id, ...known, ...change });
    };
    const turns = () => vi.advanceTimersByTimeAsync(0);
    const end = async (id: string, outcome: Outcome | Error = DELIVERED): Promise<void> => {
      under.get(id)?.(outcome);
      await turns();
    };
    const endAll = async (outcome: Outcome = DELIVERED): Promise<void> => {
      while (under.size > 0) {
        for (const finish of [...under.values()]) finish(outcome);
        await turns();
      }
    };
    const wake = (...queues: string[]) => woken(new Set(queues));
    return { dispatcher, put, sent, settled, logged, faults, state, under, turns, end, endAll, wake };
  }
  const hook = (of: number | string) => `a/webhook/${of}`;

  it('has stopped only when the attempts that were begun have ended', async () => {
    const { dispatcher, put, under, turns, end } = world();
    put(hook(1), 'd0');
    const done = dispatcher.runDue();
    await turns();
    let isStopped = false;
    const stopped = dispatcher.stop().then(() => {
      isStopped = true;
    });
    await turns();
    expect([[...under.keys()], isStopped]).toEqual([['d0'], false]);
    await end('d0');
    await Promise.all([stopped, done]);
    expect(isStopped).toBe(true);
  });

  it('sends four deliveries to a receiver at once, and one at a time while it fails', async () => {
    const { dispatcher, put, under, turns, end, endAll } = world();
    for (let at = 0; at < 9; at++) put(hook(1), `d${at}`);
    const done = dispatcher.runDue();
    await turns();
    expect([...under.keys()]).toEqual(['d0', 'd1', 'd2', 'd3']);
    await end('d1');
    expect([...under.keys()]).toEqual(['d0', 'd2', 'd3', 'd4']);
    for (const id of ['d0', 'd2', 'd3']) await end(id, RETRY);
    expect([...under.keys()]).toEqual(['d4']);
    await end('d4', RETRY);
    expect([...under.keys()]).toEqual(['d5']);
    await end('d5');
    expect([...under.keys()]).toEqual(['d6', 'd7', 'd8']);
    await endAll();
    await done;
  });

  it('sends first attempts of a wallet in order, without delaying other deliveries', async () => {
    const { dispatcher, put, under, turns, end, endAll } = world();
    put(hook(1), 'first', { walletId: 'w1' });
    put(hook(1), 'second', { walletId: 'w1' });
    put(hook(1), 'again', { walletId: 'w1', isFirst: false });
    put(hook(1), 'other', { walletId: 'w2' });
    put(hook(2), 'elsewhere', { walletId: 'w1' });
    const done = dispatcher.runDue();
    await turns();
    expect([...under.keys()]).toEqual(['first', 'again', 'other', 'elsewhere']);
    await end('again');
    expect([...under.keys()]).not.toContain('second');
    await end('first');
    expect([...under.keys()]).toContain('second');
    await endAll();
    await done;
  });

  it('bounds attempts in flight, with emails separately, and reserves half for working receivers', async () => {
    const { dispatcher, put, under, turns, endAll, state } = world();
    for (let at = 0; at < 20; at++) put(`a/email/${at}`, `letter${at}`);
    put(hook(0), 'hook');
    let done = dispatcher.runDue();
    await turns();
    expect(under.size).toBe(DELIVERY_LIMITS.alertEmailsInFlightMax + 1);
    await endAll();
    await done;
    expect(state.most).toBe(DELIVERY_LIMITS.alertEmailsInFlightMax + 1);
    const half = DELIVERY_LIMITS.deliveriesInFlightMax / 2;
    for (let at = 0; at < half + 10; at++) put(hook(at), `dead${at}`);
    done = dispatcher.runDue();
    await turns();
    expect(under.size).toBe(half + 10);
    await endAll(RETRY);
    await done;
    for (let at = 0; at < half + 10; at++) put(hook(at), `again${at}`);
    // Three of each, so that the limit is reached within a receiver.
    for (let at = 0; at < half; at++)
      for (const each of ['a', 'b', 'c']) put(hook(`well${at}`), `well${at}${each}`);
    done = dispatcher.runDue();
    await turns();
    const dead = [...under.keys()].filter((id) => id.startsWith('again'));
    expect([dead.length, under.size]).toEqual([half, DELIVERY_LIMITS.deliveriesInFlightMax]);
    await endAll();
    await done;
  });

  it('gives a freed slot to the next receiver at the next check', async () => {
    const { dispatcher, put, sent, end, endAll } = world();
    for (let at = 0; at <= DELIVERY_LIMITS.deliveriesInFlightMax; at++) put(hook(at), `d${at}`);
    dispatcher.start();
    await vi.advanceTimersByTimeAsync(250);
    expect(sent).toHaveLength(DELIVERY_LIMITS.deliveriesInFlightMax);
    await end('d0');
    await vi.advanceTimersByTimeAsync(250);
    expect(sent.at(-1)).toBe(`d${DELIVERY_LIMITS.deliveriesInFlightMax}`);
    await endAll();
    await Promise.all([dispatcher.stop(), vi.advanceTimersByTimeAsync(1_000)]);
  });

  it('skips cancelled deliveries, and retries by the schedule if a secret cannot be decrypted', async () => {
    const { dispatcher, put, sent, settled, logged, faults, turns, end } = world();
    put(hook(1), 'gone');
    put(hook(2), 'sealed');
    faults.load.push('gone');
    const done = dispatcher.runDue();
    await turns();
    await end('sealed', new AssayError('STORE_CORRUPT', 'does not open'));
    await done;
    expect([sent, settled, logged]).toEqual([['sealed'], ['sealed RETRY'], []]);
  });

  it('keeps a delivery whose attempt throws, and logs it once until an attempt succeeds', async () => {
    const { dispatcher, put, settled, logged, under, turns, end } = world();
    put(hook(1), 'd');
    const done = dispatcher.runDue();
    for (const error of [new Error('broken'), new AssayError('INTERNAL', 'broken')]) {
      await turns();
      await end('d', error);
      // It is not sent again at once.
      expect(under.size).toBe(0);
      await vi.advanceTimersByTimeAsync(250);
    }
    expect([settled, logged]).toEqual([[], ['delivery attempt failed']]);
    await turns();
    put(hook(1), 'e');
    await end('d');
    await turns();
    expect(settled).toEqual(['d DELIVERED']);
    await end('e', new Error('broken'));
    expect(logged).toHaveLength(2);
    await vi.advanceTimersByTimeAsync(250);
    await end('e');
    await done;
  });

  it('sends at once when woken, when a delivery becomes due, and within five seconds of a write by another node', async () => {
    const { dispatcher, put, sent, wake, end } = world();
    dispatcher.start();
    await vi.advanceTimersByTimeAsync(0);
    put(hook(1), 'woken');
    put(hook(1), 'later', { dueMs: Date.now() + 1_000 });
    wake(hook(1));
    expect(sent).toEqual(['woken']);
    await end('woken');
    await vi.advanceTimersByTimeAsync(999);
    expect(sent).toEqual(['woken']);
    await vi.advanceTimersByTimeAsync(251);
    expect(sent).toEqual(['woken', 'later']);
    await end('later');
    put(hook(2), 'silent');
    await vi.advanceTimersByTimeAsync(3_000);
    expect(sent).not.toContain('silent');
    await vi.advanceTimersByTimeAsync(1_000);
    expect(sent).toContain('silent');
    const stopping = dispatcher.stop();
    let isStopped = false;
    void stopping.then(() => (isStopped = true));
    await vi.advanceTimersByTimeAsync(1_000);
    expect(isStopped).toBe(false);
    put(hook(3), 'too late');
    wake(hook(3));
    await end('silent');
    await stopping;
    expect(sent).not.toContain('too late');
  });

  it('sends nothing while an obstacle exists', async () => {
    const { dispatcher, put, sent, state, wake, endAll } = world();
    state.obstacle = 'The secrets do not open here.';
    dispatcher.start();
    put(hook(1), 'd');
    await vi.advanceTimersByTimeAsync(2_000);
    wake(hook(1));
    expect([sent, state.days]).toEqual([[], 0]);
    state.obstacle = null;
    await vi.advanceTimersByTimeAsync(500);
    expect(sent).toEqual(['d']);
    state.obstacle = 'The secrets do not open here.';
    await vi.advanceTimersByTimeAsync(250);
    await endAll();
    await vi.advanceTimersByTimeAsync(250);
    put(hook(1), 'e');
    wake(hook(1));
    await vi.advanceTimersByTimeAsync(6_000);
    expect(sent).toEqual(['d']);
    await Promise.all([dispatcher.stop(), vi.advanceTimersByTimeAsync(1_000)]);
  });

  it('sends nothing after its lease has expired by the clock', async () => {
    const embedded = createEmbeddedLeases();
    const lease = { isHeld: true };
    const fence = { name: 'delivery', token: 7 };
    const { dispatcher, put, sent, state, wake, endAll } = world({
      ...embedded,
      async take(store, name) {
        const taken = await embedded.take(store, name);
        return taken && { ...taken, fence, isHeld: () => lease.isHeld };
      },
    });
    dispatcher.start();
    await vi.advanceTimersByTimeAsync(0);
    lease.isHeld = false;
    put(hook(1), 'd');
    wake(hook(1));
    await vi.advanceTimersByTimeAsync(6_000);
    expect(sent).toEqual([]);
    lease.isHeld = true;
    await vi.advanceTimersByTimeAsync(250);
    expect(sent).toEqual(['d']);
    await endAll();
    await Promise.all([dispatcher.stop(), vi.advanceTimersByTimeAsync(1_000)]);
    // Both digests and attempts.
    expect(new Set(state.fences)).toEqual(new Set([fence]));
    expect(state.fences.length).toBeGreaterThan(state.days);
  });

  it('records a sent delivery when the disk has space again, and does not send it twice', async () => {
    const { dispatcher, put, sent, settled, faults, logged, wake, end } = world();
    dispatcher.start();
    await vi.advanceTimersByTimeAsync(0);
    const full = new AssayError('STORAGE_FULL', 'The disk is full.');
    faults.settle.push(full, full);
    put(hook(1), 'd');
    wake(hook(1));
    await end('d');
    await vi.advanceTimersByTimeAsync(1_999);
    expect(settled).toEqual([]);
    // Outcomes are stored at the end of a turn, which the simulated clock counts as a millisecond: three attempts to store.
    await vi.advanceTimersByTimeAsync(1 + 3);
    expect([sent, settled, logged]).toEqual([['d'], ['d DELIVERED'], []]);
    faults.settle.push(full, full, full);
    put(hook(1), 'e');
    wake(hook(1));
    await end('e');
    await Promise.all([dispatcher.stop(), vi.advanceTimersByTimeAsync(5_000)]);
    expect(logged).toEqual(['delivery attempt failed']);
  });

  it('logs a failure of the daily digests once until they succeed', async () => {
    const { dispatcher, logged, faults, state } = world();
    const fault = new Error('torn');
    faults.closeDays.push(fault, fault, fault);
    dispatcher.start();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(logged).toEqual(['creating daily digests failed']);
    expect(state.days).toBe(5);
    faults.closeDays.push(fault);
    await vi.advanceTimersByTimeAsync(500);
    expect(logged).toHaveLength(2);
    await Promise.all([dispatcher.stop(), vi.advanceTimersByTimeAsync(1_000)]);
  });
});

describe('the listener', () => {
  beforeEach(() => {
    vi.useFakeTimers();
  });
  afterEach(() => {
    vi.useRealTimers();
  });
  const blockOf = (height: number) => ({
    type: 'block' as const,
    completeness: 'COMPLETE' as const,
    block: {
      chain: 'ETH' as const,
      height,
      hash: `b${height}`,
      parentHash: null,
      timestampMs: START + height,
      transfers: [],
    },
  });
  type Event = Parameters<typeof takeEvent>[1];

  /** A listener of ETH over a store in memory; each subscription yields the next entry of `scripts`, and then an end or a fault. */
  function world({
    hasAdapter = true,
    duties = null as ReadonlyMap<string, Duty> | null,
    leases = createEmbeddedLeases(),
  } = {}) {
    const watched = [
      { chain: 'ETH' as const, walletAddress: walletOf().walletAddress, accountId: 'a', walletId: idOf(1) },
    ];
    const scripts: (Event | Error | 'wait')[][] = [];
    const said: string[] = [];
    const state = {
      generation: 1,
      blocks: [] as { height: number; hash: string }[],
      duties,
      changes: null as null | object[],
      reads: 0,
      fences: [] as (Fence | null)[],
      report: null as FollowReport | null,
    };
    const note = (_fields: object, text: string): void => void said.push(text);
    const deps = {
      store: {
        generation: () => state.generation,
        watchChanges: () => state.changes,
        watched: () => {
          state.reads++;
          return watched;
        },
        blocks: () => state.blocks,
        firstHeight: () => 40,
        isWatched: (chain: string) => chain === 'ETH',
        followReport: () => state.report,
        reportFollowing: async (chain: string, report: FollowReport, fence: Fence) => {
          said.push(`report ${chain} ${report.following} ${fence.token}`);
          state.report = report;
        },
        forgetBlocks: async (chain: string) => void said.push(`forget ${chain}`),
      },
      processor: {
        async block(
          _chain: string,
          block: { height: number; hash: string },
          _table: object,
          fence: Fence | null,
        ) {
          state.fences.push(fence);
          await Promise.resolve();
          said.push(`block ${block.height}`);
          state.blocks = [...state.blocks, block];
        },
        async revert(_chain: string, height: number, fence: Fence | null) {
          state.fences.push(fence);
          await Promise.resolve();
          said.push(`back ${height}`);
        },
      },
      adapter: async () =>
        hasAdapter
          ? {
              async *subscribe(from: { fromHeight: number | null }, { signal }: { signal: AbortSignal }) {
                said.push(`from ${from.fromHeight}`);
                for (const one of scripts.shift() ?? []) {
                  if (one instanceof Error) throw one;
                  if (one === 'wait')
                    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));
                  else yield one;
                  if (!signal.aborted) continue;
                  await Promise.resolve();
                  said.push('left');
                }
              },
            }
          : null,
      ingest: {
        async apply(_chain: string, event: Event) {
          await Promise.resolve();
          said.push(`ingest ${event.type}`);
        },
      },
      price: async function* (transfers: Iterable<never>) {
        yield* transfers;
      },
      clock: { now: () => Date.now(), monotonic: () => performance.now() },
      log: { debug() {}, info: note, warn: note, error: note },
      leases,
      ...(duties === null ? {} : { dutyOf: () => state.duties }),
    } as unknown as ListenerDeps;
    const listener = createListener(deps);
    const turns = () => vi.advanceTimersByTimeAsync(0);
    return { listener, deps, scripts, said, state, watched, turns };
  }

  it('follows after its last block, or from the first height if it has none', async () => {
    const { listener, scripts, said, turns } = world();
    scripts.push([blockOf(40), blockOf(41)], ['wait']);
    listener.nudge();
    expect(listener.states()).toMatchObject([{ chain: 'ETH', state: 'STANDBY', height: null }]);
    listener.start();
    await turns();
    expect(said).toEqual(['from 40', 'ingest block', 'block 40', 'ingest block', 'block 41']);
    expect(listener.states()).toEqual([
      {
        chain: 'ETH',
        state: 'FOLLOWING',
        height: 41,
        headHeight: null,
        blockTimeMs: START + 41,
        processedAtMs: Date.now(),
        lastError: null,
      },
    ]);
    expect(listener.watched).toBe(1);
    await vi.advanceTimersByTimeAsync(500);
    expect(said.at(-1)).toBe('from 42');
    await listener.stop();
    expect(said.at(-1)).toBe('left');
    said.length = 0;
    listener.nudge();
    await vi.advanceTimersByTimeAsync(60_000);
    expect(said).toEqual([]);
  });

  it('doubles the back-off after each failure up to 30 s, and resets it after a block', async () => {
    const { listener, scripts, said, turns } = world();
    const fault = new Error('no route');
    for (let at = 0; at < 8; at++) scripts.push([fault]);
    scripts.push([blockOf(40), fault], [fault], ['wait']);
    const waits: number[] = [];
    let last = Date.now();
    listener.start();
    await turns();
    expect(listener.states()[0]).toMatchObject({ state: 'WAITING', lastError: 'no route', height: null });
    for (let at = 0; at < 10; at++) {
      const before = said.filter((word) => word.startsWith('from')).length;
      while (said.filter((word) => word.startsWith('from')).length === before)
        await vi.advanceTimersByTimeAsync(250);
      waits.push(Date.now() - last);
      last = Date.now();
    }
    expect(waits).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 500, 1_000]);
    await listener.stop();
  });

  it('reverts all blocks if a reorg is too deep', async () => {
    const { listener, scripts, said, turns } = world();
    scripts.push(
      [new AssayError('CHAIN_REORG_TOO_DEEP', 'too deep')],
      [new AssayError('CHAIN_TIMEOUT', 'late')],
      ['wait'],
    );
    listener.start();
    await turns();
    expect(said).toContain('back -1');
    said.length = 0;
    await vi.advanceTimersByTimeAsync(500);
    expect(said).toEqual(['from 40', 'following chain interrupted']);
    await listener.stop();
  });

  it('reverts blocks to the ancestor, or below the lowest dropped block', async () => {
    const { deps, said } = world();
    const table = buildWatchTable([]);
    const reorg = (ancestor: number | null, ...dropped: number[]): Event => ({
      type: 'reorg',
      ancestor: ancestor === null ? null : { height: ancestor, hash: 'a' },
      dropped: dropped.map((height) => ({ height, hash: `b${height}` })),
    });
    expect(await takeEvent('ETH', reorg(7, 9, 8), table, deps)).toEqual({ height: 7, blockTimeMs: null });
    expect(await takeEvent('ETH', reorg(null, 9, 8), table, deps)).toEqual({
      height: null,
      blockTimeMs: null,
    });
    expect(said.filter((word) => /^(back|ingest)/.test(word))).toEqual([
      ...['ingest reorg', 'back 7'],
      ...['ingest reorg', 'back 7'],
    ]);
    expect(await takeEvent('ETH', reorg(0, 5), table, deps)).toEqual({ height: 0, blockTimeMs: null });
    expect(said.at(-2)).toBe('back 0');
    const wrote = takeEvent('ETH', blockOf(8), table, deps);
    expect(said).not.toContain('block 8');
    expect(await wrote).toEqual({ height: 8, blockTimeMs: START + 8 });
    expect(said.slice(-2)).toEqual(['ingest block', 'block 8']);
  });

  it('removes the checkpoint of an unwatched chain, but not of one that another node follows', async () => {
    const { listener, scripts, said, state, watched, turns } = world({ duties: new Map([['ETH', 'MINE']]) });
    scripts.push([blockOf(0), 'wait'], ['wait']);
    listener.start();
    await turns();
    listener.nudge();
    // Nothing changed, so the wallets are not read again.
    expect(state.reads).toBe(1);
    state.duties = new Map([['ETH', 'OTHERS']]);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(listener.states()).toMatchObject([{ state: 'STANDBY', height: 0, lastError: null }]);
    state.duties = new Map();
    await vi.advanceTimersByTimeAsync(1_000);
    expect(listener.states()).toMatchObject([
      { state: 'UNREACHABLE', height: 0, lastError: 'No node is configured for ETH.' },
    ]);
    expect(said).not.toContain('forget ETH');
    state.duties = new Map([['ETH', 'MINE']]);
    await vi.advanceTimersByTimeAsync(1_000);
    expect(said.at(-1)).toBe('from 1');
    // The generation advanced by more than one step, so all wallets are read.
    watched.length = 0;
    state.generation = 5;
    state.duties = new Map();
    listener.nudge();
    await turns();
    expect([said.at(-1), listener.states(), listener.watched]).toEqual(['forget ETH', [], 0]);
    // One step: only the change is read.
    state.generation = 6;
    state.changes = [{ ...walletOf(), accountId: 'a', walletId: idOf(2), isActive: true }];
    listener.nudge();
    expect(listener.watched).toBe(1);
    await listener.stop();
  });

  it('processes nothing after its lease has expired by the clock', async () => {
    const embedded = createEmbeddedLeases();
    const lease = { isHeld: false };
    const fence = { name: 'listener:ETH', token: 7 };
    const { listener, scripts, said, state } = world({
      leases: {
        ...embedded,
        async take(store, name) {
          const taken = await embedded.take(store, name);
          return taken && { ...taken, fence, isHeld: () => lease.isHeld };
        },
      },
    });
    const reorg: Event = { type: 'reorg', ancestor: null, dropped: [{ height: 40, hash: 'b40' }] };
    scripts.push([blockOf(40)], [blockOf(40), reorg, new AssayError('CHAIN_REORG_TOO_DEEP', 'x')], ['wait']);
    listener.start();
    await vi.advanceTimersByTimeAsync(400);
    expect(said).toEqual(['from 40']);
    lease.isHeld = true;
    await vi.advanceTimersByTimeAsync(1_000);
    expect(said.filter((word) => /^(block |back)/.test(word))).toEqual(['block 40', 'back 39', 'back -1']);
    expect(state.fences).toEqual([fence, fence, fence]);
    await listener.stop();
  });

  it('reports a chain without a node as unreachable', async () => {
    const { listener, said, turns } = world({ hasAdapter: false });
    listener.start();
    await turns();
    expect(listener.states()).toMatchObject([
      { state: 'UNREACHABLE', height: null, lastError: 'No node is configured for ETH.' },
    ]);
    expect(said).toEqual([]);
    await listener.stop();
  });
});
