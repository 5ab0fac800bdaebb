import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { seededUint32, systemRandom } from '../../src/base/random.ts';
import { CHAIN_LIMITS } from '../../src/chains/limits.ts';
import { DELIVERY_LIMITS } from '../../src/monitoring/delivery/limits.ts';
import { MONITORING_LIMITS } from '../../src/monitoring/limits.ts';
import type { Alert, MonitoredWallet } from '../../src/monitoring/records.ts';
import type { AlertDraft, MonitoringStore } from '../../src/monitoring/store.ts';
import { openMonitoringStore } from '../../src/monitoring/store-lmdb.ts';
import { buildWatchTable } from '../../src/monitoring/watch-table.ts';
import { createEncryption } from '../../src/state/encryption.ts';
import { memoryFolder, type TempFolder } from '../accounts/temp-folder.ts';
import { type LiveState, overLiveStates } from '../setup/live-state.ts';

const encryption = createEncryption(new Uint8Array(32), systemRandom);
overLiveStates((makeState) => {
  let folder: TempFolder;
  let state: LiveState;
  let store: MonitoringStore;
  async function open(): Promise<MonitoringStore> {
    const opened = openMonitoringStore(
      { path: `${folder.path}/monitoring.lmdb` },
      { clock: systemClock, random: systemRandom, encryption, openStore: state.openStore },
    );
    await state.ready();
    return opened;
  }
  beforeEach(async () => {
    folder = memoryFolder();
    state = makeState();
    store = await open();
  });
  afterEach(async () => {
    await store.close();
    await state.close();
    folder.remove();
  });

  const address = (n: number): string => `0x${n.toString(16).padStart(40, '0')}`;
  const draft = (n: number, change: Partial<MonitoredWallet> = {}) => ({
    accountId: 'a',
    chain: 'ETH' as const,
    walletAddress: address(n),
    label: null,
    riskScore: null,
    riskLevel: null,
    enabledRules: ['SANCTIONS-001' as const],
    customWebhookUrl: 'https://hooks.example.org/',
    alertThreshold: 'all' as const,
    alertFrequency: 'realtime' as const,
    notes: null,
    watchFromHeight: null,
    ...change,
  });
  const finding: AlertDraft = {
    ruleId: 'SANCTIONS-001',
    ruleName: 'Sanctions',
    severity: 'CRITICAL',
    title: 't',
    message: 'm',
    category: 'SANCTIONED_ENTITY',
    riskType: 'COUNTERPARTY',
    transaction: null,
    final: false,
  };
  const transfer = (wallet: MonitoredWallet, hash: string, height: number) => ({
    accountId: wallet.accountId,
    walletId: wallet.id,
    hash,
    position: 'value',
    blockNumber: height,
    blockHash: `b${height}`,
    timestampMs: height * 12_000,
    direction: 'in' as const,
    counterparty: { address: address(999), entity: null },
    asset: 'ETH',
    amount: '1',
    amountUsd: 1,
    riskScore: null,
    riskLevel: null,
  });
  /** Applies a block with one alerting transfer to the wallet. */
  const block = (
    wallet: MonitoredWallet,
    height: number,
    hash = `b${height}`,
    tx = `0x${height}`,
  ): Promise<void> =>
    store.applyBlock('ETH', { height, hash }, (writer) => {
      const known = writer.transaction(wallet.id, tx, 'value');
      const stored = known
        ? { ...known, blockNumber: height, blockHash: hash, reorged: false }
        : writer.addTransaction(transfer(wallet, tx, height));
      const alert = writer.raise(wallet, finding, `tx ${tx}`, height + 2);
      writer.changeTransaction({ ...stored, alertIds: alert ? [alert.id] : stored.alertIds });
    });
  const alertsOf = (accountId = 'a'): readonly Alert[] =>
    store.alerts(accountId, {}, { limit: 100, offset: 0 }).alerts;

  describe('wallets', () => {
    it('belong to one account, once per address and chain, up to the limit of the plan', async () => {
      const wallet = await store.addWallet(draft(1), 2);
      expect(store.wallet('a', wallet.id)).toEqual(wallet);
      expect(store.wallet('b', wallet.id)).toBeNull();
      expect(store.wallet('a', '../a')).toBeNull();
      await expect(store.addWallet(draft(1), 2)).rejects.toThrow(
        /^walletAddress: this account has this address/,
      );
      await store.addWallet(draft(1, { accountId: 'b' }), 2);
      await store.addWallet(draft(1, { chain: 'BSC' }), 2);
      await expect(store.addWallet(draft(2), 2)).rejects.toThrow(/limit of 2 wallets/);
      await expect(store.changeWallet('b', wallet.id, (one) => one)).rejects.toThrow(/there is no wallet/);
    });

    it('are listed oldest first, filtered, with the full count; deleted wallets only on request', async () => {
      const added: MonitoredWallet[] = [];
      for (let n = 1; n <= 9; n++)
        added.push(
          await store.addWallet(
            draft(n, { label: n % 2 ? `Desk ${n}` : null, chain: n > 6 ? 'BSC' : 'ETH' }),
            100,
          ),
        );
      await store.changeWallet('a', added[2]?.id ?? '', (wallet) => ({
        ...wallet,
        status: 'DELETED',
        deletedAtMs: 1,
      }));
      const list = (filter: object, page = { limit: 100, offset: 0 }) =>
        store.wallets('a', { includeDeleted: false, ...filter }, page);
      expect(list({}).total).toBe(8);
      expect(list({ includeDeleted: true }).total).toBe(9);
      expect(list({ chain: 'BSC' }).wallets.map(({ walletAddress }) => walletAddress)).toEqual(
        [7, 8, 9].map(address),
      );
      expect(list({ search: 'DESK' }).total).toBe(4);
      expect(list({ search: address(4).slice(-3) }).total).toBe(1);
      expect(list({}, { limit: 3, offset: 6 })).toMatchObject({
        total: 8,
        wallets: [{ walletAddress: address(8) }, { walletAddress: address(9) }],
      });
    });

    it('are matched while active, and every change increases the generation', async () => {
      const before = store.generation();
      const wallet = await store.addWallet(draft(0xabc), 10);
      const other = await store.addWallet(draft(0xabc, { accountId: 'b' }), 10);
      expect(store.generation()).toBe(before + 2);
      expect(buildWatchTable(store.watched()).watchers('ETH', address(0xabc).replace('abc', 'ABC'))).toEqual(
        expect.arrayContaining([
          { accountId: 'a', walletId: wallet.id },
          { accountId: 'b', walletId: other.id },
        ]),
      );
      await store.changeWallet('a', wallet.id, (one) => ({ ...one, status: 'PAUSED' }));
      const table = buildWatchTable(store.watched());
      expect(table.watchers('ETH', address(0xabc))).toEqual([{ accountId: 'b', walletId: other.id }]);
      expect(table.watchers('BSC', address(0xabc))).toEqual([]);
      expect(table.watchers('ETH', 'not an address')).toEqual([]);
    });
  });

  describe('a block', () => {
    it('is written once, with its transactions, alerts, messages and checkpoint', async () => {
      const wallet = await store.addWallet(draft(1), 10);
      await block(wallet, 10);
      await block(wallet, 10);
      expect(store.counts('a', wallet.id)).toEqual({ alertCount: 1, transactionCount: 1 });
      expect(store.blocks('ETH')).toEqual([{ height: 10, hash: 'b10' }]);
      expect(store.outbox.list('a', {}, { limit: 10 }).deliveries).toHaveLength(1);
    });

    it('stores nothing if its write fails', async () => {
      const wallet = await store.addWallet(draft(1), 10);
      await expect(
        store.applyBlock('ETH', { height: 10, hash: 'b10' }, (writer) => {
          writer.addTransaction(transfer(wallet, '0x1', 10));
          writer.raise(wallet, finding, 'x', 12);
          throw new Error('stop');
        }),
      ).rejects.toThrow('stop');
      expect(store.counts('a', wallet.id)).toEqual({ alertCount: 0, transactionCount: 0 });
      expect(store.blocks('ETH')).toEqual([]);
      expect(store.outbox.waitingCount()).toBe(0);
    });

    it('lists transactions by cursor, each once, although one is added', async () => {
      const wallet = await store.addWallet(draft(1), 10);
      for (let height = 10; height < 15; height++) await block(wallet, height, `b${height}`, `0x${height}`);
      const read: string[] = [];
      let cursor: string | null = null;
      do {
        const next = cursor === null ? {} : { cursor };
        const page: ReturnType<typeof store.transactions> = store.transactions('a', wallet.id, {
          limit: 2,
          offset: 0,
          ...next,
        });
        read.push(...page.transactions.map(({ hash }) => hash));
        expect(page.total).toBe(cursor === null ? 5 : 6);
        if (cursor === null) await block(wallet, 15, 'b15', '0x15');
        cursor = page.nextCursor;
      } while (cursor !== null);
      expect(read).toEqual(['0x14', '0x13', '0x12', '0x11', '0x10']);
      expect(store.transactions('a', wallet.id, { limit: 6, offset: 0 }).nextCursor).toBeNull();
      expect(store.transactions('a', wallet.id, { limit: 9, offset: 0, cursor: '1' })).toEqual({
        transactions: [],
        total: 6,
        nextCursor: null,
      });
    });

    it('cancels the many waiting messages of a wallet that is paused in several transactions', async () => {
      const wallet = await store.addWallet(draft(1), 10);
      const other = await store.addWallet(draft(2), 10);
      const waiting = DELIVERY_LIMITS.deliveriesCancelledAtOnce + 5;
      await store.applyBlock('ETH', { height: 10, hash: 'b10' }, (writer) => {
        for (let n = 0; n < waiting; n++) writer.raise(wallet, finding, `x${n}`, null);
        writer.raise(other, finding, 'y', null);
      });
      const cancel = store.outbox.cancelWallet.bind(store.outbox);
      const cancelled: number[] = [];
      const spy = vi.spyOn(store.outbox, 'cancelWallet').mockImplementation((...of) => {
        const count = cancel(...of);
        cancelled.push(count);
        return count;
      });
      await store.changeWallet('a', wallet.id, (one) => ({ ...one, label: 'x' }));
      await expect(
        store.changeWallet('a', wallet.id, () => {
          throw new Error('not now');
        }),
      ).rejects.toThrow('not now');
      expect(cancelled).toEqual([]);
      await store.changeWallet('a', wallet.id, (one) => ({ ...one, status: 'PAUSED' }));
      spy.mockRestore();
      expect(Math.max(...cancelled)).toBe(DELIVERY_LIMITS.deliveriesCancelledAtOnce);
      expect(store.outbox.waitingCount()).toBe(1);
      expect(store.outbox.list('a', { status: 'CANCELLED' }, { limit: 1_000 }).deliveries).toHaveLength(
        waiting,
      );
    });

    it('loses its transactions after their retention, the oldest first, and keeps its alerts', async () => {
      const at = (height: number): number => height * 1_000;
      const add = (wallet: MonitoredWallet, height: number) =>
        store.applyBlock('ETH', { height, hash: `b${height}` }, (writer) => {
          writer.addTransaction({ ...transfer(wallet, `0x${height}`, height), timestampMs: at(height) });
          writer.raise(wallet, finding, `x${height}`, height + 2);
        });
      const wallet = await store.addWallet(draft(1), 10);
      const other = await store.addWallet(draft(2), 10);
      for (let height = 10; height < 16; height++) await add(height === 12 ? other : wallet, height);
      const list = (of: MonitoredWallet, limit = 9, cursor?: string) => {
        const page = store.transactions('a', of.id, { limit, offset: 0, ...(cursor && { cursor }) });
        return { ...page, transactions: page.transactions.map(({ hash }) => hash) };
      };
      expect(await store.deleteTransactionsBefore(at(10), 10)).toEqual([]);
      expect(await store.deleteTransactionsBefore(at(14), 2)).toHaveLength(2);
      expect((await store.deleteTransactionsBefore(at(14), 2)).length).toBeLessThanOrEqual(2);
      while ((await store.deleteTransactionsBefore(at(14), 2)).length === 2);
      expect(list(wallet)).toEqual({ transactions: ['0x15', '0x14'], total: 2, nextCursor: null });
      expect(list(wallet, 1)).toEqual({ transactions: ['0x15'], total: 2, nextCursor: '5' });
      expect(list(wallet, 1, '5')).toEqual({ transactions: ['0x14'], total: 2, nextCursor: null });
      expect(list(wallet, 1, '4')).toEqual({ transactions: [], total: 2, nextCursor: null });
      expect(list(other)).toEqual({ transactions: [], total: 0, nextCursor: null });
      expect(store.counts('a', wallet.id)).toEqual({ alertCount: 5, transactionCount: 2 });
      expect(store.counts('a', other.id)).toEqual({ alertCount: 1, transactionCount: 0 });
      // A transfer of the same hash is a new one now, and the numbers go on.
      await add(wallet, 16);
      await add(other, 17);
      expect([list(wallet).transactions, list(other).transactions]).toEqual([
        ['0x16', '0x15', '0x14'],
        ['0x17'],
      ]);
      await store.revert('ETH', 9, () => {});
      expect(list(wallet).total).toBe(3);
    });

    it('survives a restart', async () => {
      const wallet = await store.addWallet(draft(1), 10);
      await block(wallet, 10);
      await store.close();
      store = await open();
      expect(store.wallet('a', wallet.id)).toEqual(wallet);
      expect(store.blocks('ETH')).toEqual([{ height: 10, hash: 'b10' }]);
      expect(alertsOf()).toHaveLength(1);
    });

    it('makes alerts final after enough confirmations, and notifies the receiver', async () => {
      const wallet = await store.addWallet(draft(1), 10);
      await block(wallet, 10);
      await store.applyBlock('ETH', { height: 11, hash: 'b11' }, () => {});
      expect(alertsOf()[0]).toMatchObject({ final: false });
      await store.applyBlock('ETH', { height: 12, hash: 'b12' }, () => {});
      expect(alertsOf()[0]).toMatchObject({ final: true, history: [{ kind: 'CREATED' }, { kind: 'FINAL' }] });
      const events = store.outbox.list('a', {}, { limit: 10 }).deliveries.map(({ event }) => event);
      expect(events).toEqual(['alert.updated', 'alert.created']);
    });

    it('marks its transactions and alerts when reverted; the same transfer in another block reinstates them once', async () => {
      const wallet = await store.addWallet(draft(1), 10);
      await block(wallet, 10, 'b10', '0xa');
      await block(wallet, 11, 'b11', '0xb');
      const taken: string[] = [];
      await store.revert('ETH', 10, ({ hash }) => taken.push(hash));
      expect(taken).toEqual(['0xb']);
      expect(store.blocks('ETH')).toEqual([{ height: 10, hash: 'b10' }]);
      expect(alertsOf()).toMatchObject([{ reorged: true, final: false }, { reorged: false }]);
      await block(wallet, 11, 'c11', '0xc');
      await block(wallet, 12, 'c12', '0xb');
      expect(store.counts('a', wallet.id)).toEqual({ alertCount: 3, transactionCount: 3 });
      expect(alertsOf().map(({ reorged }) => reorged)).toEqual([false, false, false]);
      const { transactions } = store.transactions('a', wallet.id, { limit: 10, offset: 0 });
      expect(transactions.map(({ hash, blockNumber, reorged }) => [hash, blockNumber, reorged])).toEqual([
        ['0xc', 11, false],
        ['0xb', 12, false],
        ['0xa', 10, false],
      ]);
      // A revived transfer becomes final with its new block, not with the old one.
      for (let height = 13; height <= 14; height++)
        await store.applyBlock('ETH', { height, hash: `c${height}` }, () => {});
      expect(alertsOf().every(({ final }) => final)).toBe(true);
    });

    it('keeps only as many blocks as a reorg may revert', async () => {
      await store.applyBlock('ETH', { height: 1, hash: 'b1' }, () => {});
      await store.applyBlock('ETH', { height: 1 + CHAIN_LIMITS.reorgBlocksMax, hash: 'far' }, () => {});
      expect(store.blocks('ETH')).toEqual([{ height: 1 + CHAIN_LIMITS.reorgBlocksMax, hash: 'far' }]);
    });

    it('lists the deliveries of a wallet, of an alert, and of both', async () => {
      const [one, other] = [await store.addWallet(draft(1), 10), await store.addWallet(draft(2), 10)];
      await block(one, 10);
      await block(one, 11);
      await store.write((writer) => void writer.raise(other, finding, 'list', null));
      const listed = (filter: object) =>
        store.outbox.list('a', filter, { limit: 10 }).deliveries.map(({ alertId }) => alertId);
      const [third, second, first] = alertsOf().map(({ id }) => id);
      expect(listed({})).toEqual([third, second, first]);
      expect(listed({ walletId: one.id })).toEqual([second, first]);
      expect(listed({ alertId: first })).toEqual([first]);
      expect(listed({ alertId: third, walletId: one.id })).toEqual([]);
      expect(listed({ alertId: second, status: 'DELIVERED' })).toEqual([]);
    });

    it('sends nothing for a paused or deleted wallet', async () => {
      const wallet = await store.addWallet(draft(1), 10);
      await block(wallet, 10);
      await store.changeWallet('a', wallet.id, (one) => ({ ...one, status: 'PAUSED' }));
      expect(store.outbox.list('a', {}, { limit: 10 }).deliveries).toMatchObject([{ status: 'CANCELLED' }]);
      await store.applyBlock('ETH', { height: 12, hash: 'b12' }, () => {});
      expect(alertsOf()[0]).toMatchObject({ final: true });
      expect(store.outbox.list('a', {}, { limit: 10 }).deliveries).toHaveLength(1);
    });
  });

  describe('alerts', () => {
    it('are counted and paged like a filter over all of them, across chunks, with stable pages', async () => {
      const next = seededUint32(7);
      const wallets = [
        await store.addWallet(draft(1), 10),
        await store.addWallet(draft(2), 10),
        await store.addWallet(draft(3), 10),
      ];
      const severities = ['LOW', 'MEDIUM', 'HIGH', 'CRITICAL'] as const;
      await store.write((writer) => {
        for (let i = 0; i < 1_300; i++) {
          const wallet = wallets[next() % 3] as MonitoredWallet;
          writer.raise(
            { ...wallet, customWebhookUrl: null },
            { ...finding, severity: severities[next() % 4] ?? 'LOW' },
            `c${i}`,
            null,
          );
        }
      });
      const all: Alert[] = [];
      for (let offset = 0; offset < 1_300; offset += 100)
        all.push(...store.alerts('a', {}, { limit: 100, offset }).alerts);
      for (const { id } of all.slice(0, 40))
        await store.changeAlert('a', id, { status: 'INVESTIGATING' }, 'key');
      expect(all.map(({ sequence }) => sequence)).toEqual(Array.from({ length: 1_300 }, (_, i) => 1_300 - i));
      const moved = new Set(all.slice(0, 40).map(({ id }) => id));
      const walletIds = [wallets[0]?.id ?? '', wallets[2]?.id ?? ''];
      for (const filter of [
        {},
        { severity: 'HIGH' as const },
        { status: 'INVESTIGATING' as const },
        { walletIds },
        { walletIds, severity: 'LOW' as const, status: 'NEW' as const },
      ]) {
        const expected = all.filter(
          (alert) =>
            (filter.severity === undefined || alert.severity === filter.severity) &&
            (filter.status === undefined || (filter.status === 'INVESTIGATING') === moved.has(alert.id)) &&
            (filter.walletIds === undefined || filter.walletIds.includes(alert.walletId)),
        );
        const page = store.alerts('a', filter, { limit: 30, offset: 20 });
        expect(page.total).toBe(expected.length);
        expect(page.alerts.map(({ id }) => id)).toEqual(expected.slice(20, 50).map(({ id }) => id));
      }
      const first = store.alerts('a', {}, { limit: 10, offset: 0 });
      await store.write((writer) => void writer.raise(wallets[0] as MonitoredWallet, finding, 'new', null));
      const second = store.alerts('a', {}, { limit: 10, offset: 10, upTo: first.newest });
      expect(second.alerts.map(({ id }) => id)).toEqual(all.slice(10, 20).map(({ id }) => id));
      expect(store.alerts('b', {}, { limit: 10, offset: 0 })).toMatchObject({ alerts: [], total: 0 });
    });

    it('have a limited number of notes, and can be resolved beyond it', async () => {
      const wallet = await store.addWallet(draft(1), 10);
      await block(wallet, 10);
      const id = alertsOf()[0]?.id ?? '';
      for (let n = 1; n <= MONITORING_LIMITS.alertNotesMax; n++)
        await store.changeAlert('a', id, { note: `note ${n}` }, 'key');
      const more = { status: 'RESOLVED', note: 'one more' } as const;
      await expect(store.changeAlert('a', id, more, 'key')).rejects.toMatchObject({
        ...{ code: 'INVALID_REQUEST', field: 'note' },
        message: expect.stringContaining(`${MONITORING_LIMITS.alertNotesMax} notes, the maximum`),
      });
      expect(alertsOf()[0]?.status).toBe('NEW');
      expect((await store.changeAlert('a', id, { status: 'RESOLVED' }, 'key')).status).toBe('RESOLVED');
    });

    it('have one event for each part of a change, the note with the first', async () => {
      const wallet = await store.addWallet(draft(1), 10);
      await block(wallet, 10);
      const id = alertsOf()[0]?.id ?? '';
      const change = { status: 'INVESTIGATING', assignee: 'ann', note: 'why' } as const;
      await store.changeAlert('a', id, change, 'key');
      const eventsOf = () =>
        alertsOf()[0]
          ?.history.slice(1)
          .map(({ kind, note }) => [kind, note]);
      const first = [
        ['STATUS', 'why'],
        ['ASSIGNEE', undefined],
      ];
      expect(eventsOf()).toEqual(first);
      await store.changeAlert('a', id, { status: 'INVESTIGATING', assignee: 'ann' }, 'key');
      expect(eventsOf()).toEqual(first);
      await store.changeAlert('a', id, { assignee: null, note: 'left' }, 'key');
      await store.changeAlert('a', id, { assignee: null, note: 'again' }, 'key');
      expect(eventsOf()).toEqual([...first, ['ASSIGNEE', 'left'], ['NOTE', 'again']]);
      expect(alertsOf()[0]?.assignee ?? null).toBeNull();
    });

    it('are raised once per cause', async () => {
      const wallet = await store.addWallet(draft(1), 10);
      await store.write((writer) => {
        expect(writer.raise(wallet, finding, 'cause', null)).not.toBeNull();
        expect(writer.raise(wallet, finding, 'cause', null)).toBeNull();
        expect(writer.raise(wallet, finding, 'other', null)).not.toBeNull();
      });
      expect(alertsOf()).toHaveLength(2);
    });

    it('keep every status change with the user who made it', async () => {
      const wallet = await store.addWallet(draft(1), 10);
      await store.write((writer) => void writer.raise(wallet, finding, 'cause', null));
      const id = alertsOf()[0]?.id ?? '';
      expect((await store.changeAlert('a', id, { status: 'RESOLVED' }, 'key-1')).resolvedAtMs).not.toBeNull();
      expect((await store.changeAlert('a', id, { status: 'NEW' }, 'key-2')).resolvedAtMs).toBeNull();
      expect((await store.changeAlert('a', id, { status: 'NEW' }, 'key-2')).history).toMatchObject([
        { kind: 'CREATED', by: null },
        { kind: 'STATUS', status: 'RESOLVED', by: 'key-1' },
        { kind: 'STATUS', status: 'NEW', by: 'key-2' },
      ]);
      await expect(store.changeAlert('b', id, { status: 'NEW' }, 'key')).rejects.toThrow(/there is no alert/);
    });

    it('reach listeners once they are durable, like wallets', async () => {
      const told: string[] = [];
      store.onChange((change) => told.push(change.kind));
      const wallet = await store.addWallet(draft(1), 10);
      await block(wallet, 10);
      await store.revert('ETH', 9, () => {});
      expect(told).toEqual(['wallet.created', 'alert.created', 'alert.updated']);
      const { changes, first, last } = store.changes('a', 1, 10);
      expect(changes.map(({ number, kind }) => [number, kind])).toEqual([
        [2, 'alert.created'],
        [3, 'alert.updated'],
      ]);
      expect([first, last]).toEqual([1, 3]);
      expect(store.changes('b', 0, 10)).toEqual({ changes: [], first: 0, last: 0 });
    });
  });
});
