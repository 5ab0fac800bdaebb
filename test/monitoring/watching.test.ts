/**
 * Watched wallets: lists in memory, the table of addresses, the block at which reading begins, and counterparties that are checked again.
 */
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import type { Clock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import { seededUint32, systemRandom } from '../../src/base/random.ts';
import { loadAssetFacts } from '../../src/chains/known-assets.ts';
import { CHAIN_LIMITS } from '../../src/chains/limits.ts';
import type { Transfer } from '../../src/chains/transfer.ts';
import { loadTaxonomy } from '../../src/labels/categories.ts';
import type { LabelReader } from '../../src/labels/index/reader.ts';
import { MONITORING_LIMITS } from '../../src/monitoring/limits.ts';
import { takeEvent } from '../../src/monitoring/listener.ts';
import { loadMonitoringPolicy } from '../../src/monitoring/policy.ts';
import { createProcessor } from '../../src/monitoring/processor.ts';
import type { MonitoredWallet, WalletFilter } from '../../src/monitoring/records.ts';
import type { MonitoringStore } from '../../src/monitoring/store.ts';
import { openMonitoringStore } from '../../src/monitoring/store-lmdb.ts';
import { buildWatchTable } from '../../src/monitoring/watch-table.ts';
import { loadPolicy } from '../../src/risk/policy.ts';
import { createEncryption } from '../../src/state/encryption.ts';
import { memoryFolder, type TempFolder } from '../accounts/temp-folder.ts';
import { SCAM_LABEL } from './opened.ts';

const DAY_MS = 24 * 3_600_000;
let folder: TempFolder;
let store: MonitoringStore;
let nowMs: number;
const clock: Clock = { now: () => nowMs, monotonic: () => nowMs };

beforeEach(() => {
  nowMs = Date.UTC(2026, 0, 5);
  folder = memoryFolder();
  store = openMonitoringStore(
    { path: `${folder.path}/monitoring.lmdb` },
    { clock, random: systemRandom, encryption: createEncryption(new Uint8Array(32), systemRandom) },
  );
});
afterEach(async () => {
  await store.close();
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
  enabledRules: ['SCAM-001' as const],
  customWebhookUrl: 'https://hooks.example.org/',
  alertThreshold: 'all' as const,
  alertFrequency: 'realtime' as const,
  notes: null,
  watchFromHeight: null,
  ...change,
});

describe('lists and the table of addresses', () => {
  it('are equal to a fresh read after every change', async () => {
    const next = seededUint32(7);
    const table = buildWatchTable([]);
    let generation = 0;
    const all: MonitoredWallet[] = [];
    const listed = (accountId: string, filter: WalletFilter): readonly MonitoredWallet[] =>
      store.wallets(accountId, filter, { limit: 1_000, offset: 0 }).wallets;
    for (let step = 0; step < 150; step++) {
      nowMs += 1;
      const accountId = next() % 2 ? 'a' : 'b';
      const own = all.filter((wallet) => wallet.accountId === accountId);
      const some = own[next() % (own.length + 1)];
      if (some === undefined || next() % 3 === 0) {
        const n = next() % 40;
        const label = next() % 2 ? `Desk ${n}` : null;
        try {
          all.push(await store.addWallet(draft(n, { accountId, label, chain: n % 2 ? 'ETH' : 'BSC' }), 100));
        } catch {
          // The file exists already.
        }
      } else {
        const status = (['ACTIVE', 'PAUSED', 'DELETED'] as const)[next() % 3] ?? 'ACTIVE';
        const label = `Desk ${next() % 40}`;
        all[all.indexOf(some)] = await store.changeWallet(accountId, some.id, (one) => ({
          ...one,
          status,
          label,
        }));
      }
      for (const change of store.watchChanges(generation) ?? []) table.apply(change);
      generation = store.generation();
      if (next() % 4 > 0) continue;
      for (const account of ['a', 'b']) {
        const wanted = all.filter((wallet) => wallet.accountId === account);
        expect(listed(account, { includeDeleted: true })).toEqual(wanted);
        expect(listed(account, { includeDeleted: false, search: 'desk 1' })).toEqual(
          wanted.filter(({ status, label }) => status !== 'DELETED' && label?.includes('Desk 1')),
        );
      }
      const fresh = buildWatchTable(store.watched());
      expect(table.size).toBe(fresh.size);
      expect([...table.chains].sort()).toEqual([...fresh.chains].sort());
      for (let n = 0; n < 40; n++)
        for (const chain of ['ETH', 'BSC'] as const)
          expect(new Set(table.watchers(chain, address(n)))).toEqual(
            new Set(fresh.watchers(chain, address(n))),
          );
    }
    expect(store.watchChanges(generation)).toEqual([]);
    expect(store.watchChanges(-1)).toBeNull();
    expect(store.watchChanges(generation + 1)).toBeNull();
  });
});

describe('the table of addresses', () => {
  const change = (n: number, isActive: boolean) => ({
    chain: 'ETH' as const,
    walletAddress: address(n * 7_919),
    accountId: 'a',
    walletId: `${n}`.padStart(26, '0'),
    isActive,
  });

  it('takes no more memory for wallets that were removed', () => {
    const table = buildWatchTable([]);
    const turn = (from: number, count: number): void => {
      for (let n = from; n < from + count; n++) {
        table.apply(change(n, true));
        table.apply(change(n, false));
      }
    };
    for (let n = 1; n <= 500; n++) table.apply(change(n, true));
    turn(1_000, 5_000);
    const before = process.memoryUsage().arrayBuffers;
    turn(10_000, 100_000);
    // A table of 100,000 addresses takes 4 MB.
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(500_000);
    expect(table.size).toBe(500);
    for (let n = 1; n <= 500; n++) expect(table.watchers('ETH', address(n * 7_919))).toHaveLength(1);
  });

  it('finds the wallets that are left, while thousands come and go', () => {
    const next = seededUint32(11);
    const table = buildWatchTable([]);
    const active = new Set<number>();
    for (let step = 0; step < 30_000; step++) {
      // Grows to some thousand addresses, shrinks to some hundred, and grows again.
      const isShrinking = Math.floor(step / 5_000) % 2 === 1;
      const n = next() % 20_000;
      const isActive = !isShrinking && next() % 4 > 0;
      if (isShrinking) {
        for (const one of [n, ...[...active].slice(0, 2)]) {
          table.apply(change(one, false));
          active.delete(one);
        }
        continue;
      }
      table.apply(change(n, isActive));
      if (isActive) active.add(n);
      else active.delete(n);
      if (step % 4_999 > 0) continue;
      expect(table.size).toBe(active.size);
      for (let one = 0; one < 20_000; one += 7)
        expect(table.watchers('ETH', address(one * 7_919))).toHaveLength(active.has(one) ? 1 : 0);
    }
    expect(table.size).toBe(active.size);
    for (let one = 0; one < 20_000; one++)
      expect(table.watchers('ETH', address(one * 7_919))).toHaveLength(active.has(one) ? 1 : 0);
  });
});

describe('the first height to process', () => {
  it('is after the newest block for the first wallet of a chain, and unchanged for later wallets', async () => {
    expect(store.firstHeight('ETH')).toBeNull();
    await store.addWallet(draft(1), 10, 100);
    expect(store.firstHeight('ETH')).toBe(101);
    await store.addWallet(draft(2), 10, 105);
    expect(store.firstHeight('ETH')).toBe(101);
  });

  it('ignores an earlier checkpoint if the chain was unwatched in between', async () => {
    const wallet = await store.addWallet(draft(1), 10, 100);
    await store.applyBlock('ETH', { height: 101, hash: 'b101' }, () => {});
    await store.forgetBlocks('ETH');
    expect(store.blocks('ETH')).toHaveLength(1);
    await store.changeWallet('a', wallet.id, (one) => ({ ...one, status: 'PAUSED' }));
    await store.changeWallet('a', wallet.id, (one) => ({ ...one, status: 'ACTIVE' }), { head: 200 });
    expect(store.blocks('ETH')).toEqual([]);
    expect(store.firstHeight('ETH')).toBe(201);
  });

  it('is the lowest reverted block if no processed block is left', async () => {
    await store.addWallet(draft(1), 10, 100);
    for (const height of [101, 102, 103])
      await store.applyBlock('ETH', { height, hash: `b${height}` }, () => {});
    await store.revert('ETH', -1, () => {});
    expect(store.blocks('ETH')).toEqual([]);
    expect(store.firstHeight('ETH')).toBe(101);
  });
});

describe('counterparties', () => {
  const riskPolicy = loadPolicy(loadTaxonomy().rows);
  const policy = loadMonitoringPolicy();
  let dataVersion: string;
  let listed: Set<string>;
  let lookups = 0;
  let onLookup = (): void => {};
  const recheck = (signal = new AbortController().signal) =>
    createProcessor({
      store,
      policy,
      riskPolicy,
      assets: loadAssetFacts(),
      transfers: null,
      clock,
      labels: () =>
        ({
          meta: { dataVersion },
          lookup: (key: Uint8Array) => {
            lookups++;
            onLookup();
            return listed.has(`0x${Buffer.from(key).toString('hex').slice(-40)}`) ? [SCAM_LABEL] : [];
          },
        }) as unknown as LabelReader,
    }).recheck(signal);
  /** Adds a wallet that dealt with `count` others, `daysAgo`. */
  async function dealt(count: number, daysAgo = 1): Promise<MonitoredWallet> {
    const wallet = await store.addWallet(draft(1), 10);
    await store.write((writer) => {
      for (let n = 0; n < count; n++)
        writer.noteCounterparty({
          accountId: 'a',
          walletId: wallet.id,
          address: address(1_000 + n),
          direction: 'in',
          lastSeenMs: nowMs - daysAgo * DAY_MS,
          ruleId: null,
        });
    });
    return wallet;
  }
  const titles = (): string[] =>
    store.alerts('a', {}, { limit: 100, offset: 0 }).alerts.map(({ title }) => title);
  beforeEach(() => {
    dataVersion = 'v1';
    listed = new Set();
    lookups = 0;
  });

  it('are rechecked once per version of the lists', async () => {
    await dealt(3);
    expect(await recheck()).toEqual({ counterparties: 3, alerts: 0 });
    expect(await recheck()).toEqual({ counterparties: 0, alerts: 0 });
    dataVersion = 'v2';
    listed.add(address(1_001));
    expect(await recheck()).toEqual({ counterparties: 3, alerts: 1 });
    expect(titles()).toEqual(['A list changed: The Scam']);
  });

  it('raise another alert if they leave a list and return', async () => {
    await dealt(1);
    for (const [version, isListed] of [
      ['v1', true],
      ['v2', false],
      ['v3', true],
      ['v4', true],
    ] as const) {
      dataVersion = version;
      if (isListed) listed.add(address(1_000));
      else listed.clear();
      await recheck();
    }
    expect(titles()).toHaveLength(2);
  });

  it('are removed if they are too old to be rechecked', async () => {
    await dealt(2, policy.recheckDays + 1);
    listed.add(address(1_000));
    expect(await recheck()).toEqual({ counterparties: 0, alerts: 0 });
    expect(store.counterparties({ after: null, limit: 10 }).counterparties).toEqual([]);
  });

  it('are rechecked on their last day, and not later', async () => {
    await dealt(1, policy.recheckDays);
    listed.add(address(1_000));
    nowMs += 1;
    expect(await recheck()).toEqual({ counterparties: 0, alerts: 0 });
    const [wallet] = store.wallets('a', {} as WalletFilter, { limit: 1, offset: 0 }).wallets;
    await store.write((writer) =>
      writer.noteCounterparty({
        accountId: 'a',
        walletId: wallet?.id as string,
        address: address(1_000),
        direction: 'in',
        lastSeenMs: nowMs - policy.recheckDays * DAY_MS,
        ruleId: null,
      }),
    );
    dataVersion = 'v2';
    expect(await recheck()).toEqual({ counterparties: 1, alerts: 1 });
  });

  it('raise nothing for a paused wallet or a disabled rule, and are still stored', async () => {
    const wallet = await dealt(1);
    listed.add(address(1_000));
    await store.changeWallet('a', wallet.id, (one) => ({ ...one, status: 'PAUSED' }));
    expect(await recheck()).toEqual({ counterparties: 1, alerts: 0 });
    await store.changeWallet('a', wallet.id, (one) => ({ ...one, status: 'ACTIVE' }));
    // It was on the list already at the last check.
    dataVersion = 'v2';
    expect(await recheck()).toEqual({ counterparties: 1, alerts: 0 });
    listed.clear();
    dataVersion = 'v3';
    await recheck();
    listed.add(address(1_000));
    await store.changeWallet('a', wallet.id, (one) => ({ ...one, enabledRules: ['MIXING-001'] }));
    dataVersion = 'v4';
    expect(await recheck()).toEqual({ counterparties: 1, alerts: 0 });
    expect(titles()).toEqual([]);
  });

  it('are rechecked completely despite interruptions, with no duplicate alert', async () => {
    await dealt(1_000);
    for (const n of [0, 250, 500, 999]) listed.add(address(1_000 + n));
    for (let rounds = 0; ; rounds++) {
      const stop = new AbortController();
      const looked = recheck(stop.signal);
      // Aborted after the first pages, at any step.
      for (let turns = 0; turns < 3; turns++) await new Promise((resolve) => setImmediate(resolve));
      stop.abort();
      const isWhole = await looked.then(
        () => true,
        () => false,
      );
      if (isWhole || rounds > 50) break;
    }
    await recheck();
    expect(titles()).toHaveLength(4);
    expect(store.recheckState()).toMatchObject({ dataVersion: 'v1', isDone: true });
  });

  it('are rechecked in short steps that do not block the program', async () => {
    await dealt(2_000);
    let turn = 0;
    let next = setImmediate(function count() {
      turn++;
      next = setImmediate(count);
    });
    const inTurn = new Map<number, number>();
    onLookup = () => inTurn.set(turn, (inTurn.get(turn) ?? 0) + 1);
    await recheck();
    clearImmediate(next);
    onLookup = () => {};
    expect(lookups).toBe(2_000);
    // A page has 200 counterparties.
    expect(Math.max(...inTurn.values())).toBeLessThanOrEqual(200);
  });
});

it('keeps the blocks that a reorg can revert, and no more', async () => {
  const wallet = await store.addWallet(draft(1), 10);
  const at = async (height: number): Promise<void> => {
    await store.applyBlock('ETH', { height, hash: `b${height}` }, (writer) => {
      writer.addTransaction({
        accountId: 'a',
        walletId: wallet.id,
        hash: `0x${height}`,
        position: 'value',
        blockNumber: height,
        blockHash: `b${height}`,
        timestampMs: nowMs,
        direction: 'in',
        counterparty: { address: null, entity: null },
        asset: 'ETH',
        amount: '1',
        amountUsd: null,
        riskScore: null,
        riskLevel: null,
      });
    });
  };
  await at(1);
  await at(2 + CHAIN_LIMITS.reorgBlocksMax);
  const taken: string[] = [];
  await store.revert('ETH', -1, ({ hash }) => taken.push(hash));
  expect(taken).toEqual([`0x${2 + CHAIN_LIMITS.reorgBlocksMax}`]);
});

describe('prices of a block', () => {
  const transferTo = (to: string, n: number): Transfer => ({
    chain: 'ETH',
    txHash: `0x${n}`,
    position: 'value',
    blockNumber: 1,
    timestampMs: 0,
    from: address(99),
    to,
    asset: 'ETH',
    amount: 1n,
    decimals: 18,
    valueUsd: null,
  });
  async function take(price: (transfers: Iterable<Transfer>) => AsyncIterable<Transfer>): Promise<unknown> {
    const wallet = await store.addWallet(draft(1), 10);
    const transfers = [transferTo(address(1), 1), transferTo(address(2), 2), transferTo(address(1), 3)];
    const block = {
      chain: 'ETH' as const,
      height: 1,
      hash: 'b1',
      parentHash: null,
      timestampMs: nowMs,
      transfers,
    };
    const processor = createProcessor({
      store,
      policy: loadMonitoringPolicy(),
      riskPolicy: loadPolicy(loadTaxonomy().rows),
      assets: loadAssetFacts(),
      transfers: null,
      clock,
      labels: () => null,
    });
    const deps = { processor, price, ingest: null, log: silentLogger };
    await takeEvent(
      'ETH',
      { type: 'block', block, completeness: 'COMPLETE' },
      buildWatchTable(store.watched()),
      deps,
    );
    const { transactions } = store.transactions('a', wallet.id, { limit: 10, offset: 0 });
    return transactions.map(({ hash, amountUsd }) => [hash, amountUsd]);
  }

  it('are requested only for transfers of watched wallets', async () => {
    const asked: string[] = [];
    const seen = await take(async function* (transfers) {
      for (const transfer of transfers) {
        asked.push(transfer.txHash);
        yield { ...transfer, valueUsd: 5 };
      }
    });
    expect(asked).toEqual(['0x1', '0x3']);
    expect(seen).toEqual([
      ['0x3', 5],
      ['0x1', 5],
    ]);
  });

  it('are not requested if no transfer belongs to a watched wallet', async () => {
    let asked = 0;
    const price = async function* (transfers: Iterable<Transfer>) {
      asked++;
      yield* transfers;
    };
    const block = {
      ...{ chain: 'ETH' as const, height: 1, hash: 'b1', parentHash: null, timestampMs: nowMs },
      transfers: [transferTo(address(2), 1)],
    };
    const said: number[] = [];
    await takeEvent('ETH', { type: 'block', block, completeness: 'COMPLETE' }, buildWatchTable([]), {
      processor: {
        block: async (_chain: string, { height }: { height: number }) => said.push(height),
      } as never,
      price,
      ingest: null,
      log: silentLogger,
    });
    expect([asked, said]).toEqual([0, [1]]);
  });

  it('are awaited for a bounded time, and a failure loses no transfer', async () => {
    const seen = await take(async function* (transfers) {
      for (const transfer of transfers) {
        if (transfer.txHash === '0x3') await new Promise(() => {});
        yield { ...transfer, valueUsd: 5 };
      }
    });
    expect(seen).toEqual([
      ['0x3', null],
      ['0x1', 5],
    ]);
  });

  it('are unknown if the request fails', async () => {
    // biome-ignore lint/correctness/useYield: it throws before it could yield.
    const seen = await take(async function* () {
      throw new Error('no prices today');
    });
    expect(seen).toEqual([
      ['0x3', null],
      ['0x1', null],
    ]);
  });
});

describe('a block', () => {
  const policy = loadMonitoringPolicy();
  const riskPolicy = loadPolicy(loadTaxonomy().rows);
  const processor = () =>
    createProcessor({
      store,
      policy,
      riskPolicy,
      assets: loadAssetFacts(),
      transfers: null,
      clock,
      labels: () => null,
    });
  const transfer = (from: string | null, to: string | null, n = 1): Transfer => ({
    chain: 'ETH',
    txHash: `0x${n}`,
    position: 'value',
    blockNumber: 1,
    timestampMs: 0,
    from,
    to,
    asset: 'ETH',
    amount: 1n,
    decimals: 18,
    valueUsd: 5,
  });
  const take = (height: number, ...transfers: Transfer[]) =>
    processor().block(
      'ETH',
      { chain: 'ETH', height, hash: `b${height}`, parentHash: null, timestampMs: nowMs, transfers },
      buildWatchTable(store.watched()),
    );
  const transactions = (walletId: string) =>
    store
      .transactions('a', walletId, { limit: 10, offset: 0 })
      .transactions.map(({ hash, direction, blockNumber }) => [hash, direction, blockNumber]);

  it('counts for an active wallet after the height from which it is watched', async () => {
    const wallet = await store.addWallet(draft(1, { watchFromHeight: 10 }), 10, 9);
    expect(await take(10, transfer(address(9), address(1)))).toEqual({ matched: 1, alerts: 0 });
    expect(transactions(wallet.id)).toEqual([]);
    await take(11, transfer(address(9), address(1), 2));
    expect(transactions(wallet.id)).toEqual([['0x2', 'in', 11]]);
    const table = buildWatchTable(store.watched());
    await store.changeWallet('a', wallet.id, (one) => ({ ...one, status: 'PAUSED' }));
    // The table is that of the moment before.
    await processor().block(
      'ETH',
      {
        ...{ chain: 'ETH' as const, height: 12, hash: 'b12', parentHash: null, timestampMs: nowMs },
        transfers: [transfer(address(9), address(1), 3)],
      },
      table,
    );
    expect(transactions(wallet.id)).toHaveLength(1);
  });

  it('records a transfer for both sides, once for an address that pays itself, and again after a revert', async () => {
    const one = await store.addWallet(draft(1), 10);
    const two = await store.addWallet(draft(2), 10);
    const transfers = [
      transfer(address(1), address(2), 1),
      transfer(address(1), address(1), 2),
      transfer(null, address(2), 3),
      transfer(address(2), null, 4),
    ];
    expect(await take(20, ...transfers)).toEqual({ matched: 5, alerts: 0 });
    expect(transactions(one.id).sort()).toEqual([
      ['0x1', 'out', 20],
      ['0x2', 'out', 20],
    ]);
    expect(transactions(two.id).sort()).toEqual([
      ['0x1', 'in', 20],
      ['0x3', 'in', 20],
      ['0x4', 'out', 20],
    ]);
    await processor().revert('ETH', 19);
    await take(20, transfer(address(1), address(2), 1));
    const shown = store.transactions('a', one.id, { limit: 10, offset: 0 }).transactions;
    expect(shown.filter(({ reorged }) => !reorged).map(({ hash }) => hash)).toEqual(['0x1']);
  });

  it('that is reverted leaves no dealing: its counterparty is that of the dealing before, or none', async () => {
    await store.addWallet(draft(1), 10);
    const dealings = () =>
      store
        .counterparties({ after: null, limit: 10 })
        .counterparties.map(({ address: other, lastSeenMs }) => [other, lastSeenMs - first]);
    const first = nowMs;
    await take(20, transfer(address(7), address(1), 1));
    nowMs += 1_000;
    await take(21, transfer(address(7), address(1), 2), transfer(address(8), address(1), 3));
    nowMs += 1_000;
    await take(22, transfer(address(7), address(1), 4), transfer(address(8), address(1), 5));
    expect(dealings()).toEqual([
      [address(7), 2_000],
      [address(8), 2_000],
    ]);
    await processor().revert('ETH', 20);
    expect(dealings()).toEqual([[address(7), 0]]);
    // The transfer returns in another block.
    await take(21, transfer(address(8), address(1), 3));
    expect(dealings()).toEqual([
      [address(7), 0],
      [address(8), 2_000],
    ]);
    await processor().revert('ETH', 19);
    expect(dealings()).toEqual([]);
  });

  it('that is reverted keeps its counterparty if the dealing before it may be further back', async () => {
    const wallet = await store.addWallet(draft(1), 10);
    await take(20, transfer(address(7), address(1), 1));
    const found = store.transactions('a', wallet.id, { limit: 1, offset: 0 }).transactions[0];
    if (found === undefined) throw new Error('no transaction');
    const { id: _, alertIds: __, reorged: ___, ...row } = found;
    const MANY = MONITORING_LIMITS.revertedDealingsLook;
    await store.applyBlock('ETH', { height: 21, hash: 'b21' }, (writer) => {
      for (let n = 0; n < MANY; n++)
        writer.addTransaction({
          ...row,
          hash: `0xa${n}`,
          counterparty: { address: address(9), entity: null },
        });
    });
    nowMs += 1_000;
    await take(22, transfer(address(7), address(1), 2));
    await processor().revert('ETH', 21);
    expect(store.counterparties({ after: null, limit: 10 }).counterparties).toHaveLength(1);
  });
});
