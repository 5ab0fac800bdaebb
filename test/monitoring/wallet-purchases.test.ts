/**
 * A bought wallet and its charge, in both stores: after an interruption at any step, the next start or the repeated request completes the
 * purchase, and a purchase that fails leaves nothing.
 */
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { answerSlot, hashBody } from '../../src/accounts/idempotency.ts';
import type { Ledger } from '../../src/accounts/ledger.ts';
import { openLedger } from '../../src/accounts/ledger-lmdb.ts';
import { walletBilling } from '../../src/app/wallet-billing.ts';
import { systemClock } from '../../src/base/clock.ts';
import { AssayError } from '../../src/base/errors.ts';
import { silentLogger } from '../../src/base/log.ts';
import type { Monitoring, MonitoringDeps } from '../../src/monitoring/open.ts';
import type { PendingWallet, WalletCharge } from '../../src/monitoring/records.ts';
import { createWalletPurchases, type WalletBilling } from '../../src/monitoring/wallet-purchases.ts';
import { accountsAt } from '../accounts/redis/world.ts';
import { memoryFolder } from '../accounts/temp-folder.ts';
import { replicatedState } from '../setup/live-state.ts';
import { hasRedis, type RedisServer, startRedis } from '../setup/redis.ts';
import { openedMonitoring } from './opened.ts';

const ACCOUNT = 'a';
const address = (n: number): string => `0x${n.toString(16).padStart(40, '0')}`;
const SLOT = answerSlot(ACCOUNT, 'POST', '/monitoring/wallets', 'key-1');
const BODY_HASH = hashBody(Buffer.from('{}'));
const hex = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex');
const WITH_KEY: WalletCharge = {
  type: 'SCREENING',
  amount: 1,
  reference: 'monitoring/wallets',
  keep: { slot: hex(SLOT), bodyHash: hex(BODY_HASH) },
  ignored: null,
};
const WITHOUT_KEY: WalletCharge = { ...WITH_KEY, keep: null };
const DUTIES = { follows: false, sends: false, bills: true };
const present = (): void => {};

interface Opened {
  readonly ledger: Ledger;
  readonly billing: WalletBilling;
  readonly monitoring: Monitoring;
  close(): Promise<void>;
}

interface PurchaseWorld {
  /** Opens the stores as a process does; the one before must be closed. */
  open(deps?: Partial<MonitoringDeps>): Promise<Opened>;
  dispose(): Promise<void>;
}

function embeddedWorld(): PurchaseWorld {
  const folder = memoryFolder();
  return {
    async open(deps = {}) {
      const ledger = openLedger(
        { path: join(folder.path, 'ledger.mdb') },
        { clock: systemClock, log: silentLogger, freeCredits: () => 10 },
      );
      const billing = walletBilling(() => ledger);
      const monitoring = openedMonitoring(folder.path, { billing, ...deps });
      return {
        ledger,
        billing,
        monitoring,
        async close() {
          await monitoring.close();
          await ledger.close();
        },
      };
    },
    dispose: async () => folder.remove(),
  };
}

function redisWorld(url: string, name: string): PurchaseWorld {
  const folders: ReturnType<typeof memoryFolder>[] = [];
  const accounts = accountsAt(url);
  return {
    async open(deps = {}) {
      const folder = memoryFolder();
      folders.push(folder);
      const node = accounts.node();
      const state = replicatedState({ url }, name);
      const billing = walletBilling(() => node.ledger);
      const monitoring = openedMonitoring(folder.path, { billing, openStore: state.openStore, ...deps });
      await state.ready();
      return {
        ledger: node.ledger,
        billing,
        monitoring,
        async close() {
          await monitoring.close();
          await node.close();
          await state.close();
        },
      };
    },
    async dispose() {
      for (const folder of folders) folder.remove();
    },
  };
}

describe.each(['one machine', 'Redis'])('purchases of wallets: %s', (kind) => {
  const isShared = kind === 'Redis';
  if (isShared && !hasRedis) return;
  let redis: RedisServer | null = null;
  let worlds = 0;
  let world: PurchaseWorld;
  let opened: Opened;

  beforeAll(async () => {
    if (isShared) redis = await startRedis();
  });
  afterAll(() => redis?.stop());
  beforeEach(async () => {
    world = redis === null ? embeddedWorld() : redisWorld(redis.url, `purchases${worlds++}`);
    opened = await world.open();
  });
  afterEach(async () => {
    await opened.close();
    await world.dispose();
  });

  const buy = (charge: WalletCharge, n = 1) =>
    opened.monitoring.service.buy(ACCOUNT, { walletAddress: address(n), chain: 'ETH' }, charge, present);
  const wallets = () =>
    opened.monitoring.service.store.wallets(ACCOUNT, { includeDeleted: true }, { limit: 100, offset: 0 })
      .wallets;
  const entries = async (): Promise<string[]> =>
    (await opened.ledger.usage(ACCOUNT, { limit: 100 })).history
      .filter(({ type }) => type !== 'GRANT')
      .map(({ type, amount }) => `${type} ${amount}`);
  const reopen = async (deps?: Partial<MonitoringDeps>): Promise<void> => {
    await opened.close();
    opened = await world.open(deps);
  };
  // biome-ignore lint/suspicious/noExplicitAny: JSON of the program, read without a schema.
  const read = (bytes: Uint8Array): any => JSON.parse(Buffer.from(bytes).toString());

  /** Leaves a purchase as a process does that was killed before it watched the wallet. */
  async function interrupt(
    charge: WalletCharge,
    after: 'staged' | 'charged' | 'answered',
    chain: 'ETH' | 'BSC' = 'ETH',
  ): Promise<PendingWallet> {
    const { store } = opened.monitoring.service;
    const row = store.pending.prepare(
      {
        accountId: ACCOUNT,
        chain,
        walletAddress: address(1),
        label: null,
        riskScore: 1,
        riskLevel: 'LOW',
        enabledRules: [],
        customWebhookUrl: null,
        alertThreshold: 'all',
        alertFrequency: 'realtime',
        notes: null,
        watchFromHeight: null,
      },
      charge,
      ({ id }) => JSON.stringify({ wallet: { id } }),
    );
    await store.pending.stage(row, 10);
    if (after === 'charged') await opened.billing.charge({ ...row, charge: { ...charge, keep: null } });
    if (after === 'answered') await opened.billing.charge(row);
    return row;
  }

  it('stages a wallet once, also for a request that is repeated at the same time', async () => {
    const first = await interrupt(WITH_KEY, 'staged');
    const { pending } = opened.monitoring.service.store;
    const again = await pending.stage({ ...first, wallet: { ...first.wallet, id: 'wal_other' } }, 10);
    expect(again.wallet.id).toBe(first.wallet.id);
    expect(pending.list(10)).toHaveLength(1);
  });

  it('charges once, and the response has the balance after the charge', async () => {
    const { body, replayed } = await buy(WITH_KEY);
    const [wallet] = wallets();
    expect(read(body)).toMatchObject({
      success: true,
      data: { wallet: { id: wallet?.id } },
      credits: { remaining: 9 },
    });
    expect(replayed).toBe(false);
    expect(await entries()).toEqual(['SCREENING -1']);
    expect(opened.monitoring.service.store.pending.list(10)).toEqual([]);
    const stored = await opened.ledger.storedAnswer(ACCOUNT, SLOT);
    expect(hex(stored?.body ?? Buffer.of())).toBe(hex(body));
    await expect(buy(WITHOUT_KEY)).rejects.toThrow(/has this address on this chain already/);
    expect(await entries()).toEqual(['SCREENING -1']);
  });

  it('keeps the address of its chain free for no other request while it is staged', async () => {
    const { store } = opened.monitoring.service;
    const first = await interrupt(WITHOUT_KEY, 'staged');
    await expect(interrupt(WITHOUT_KEY, 'staged')).rejects.toThrow(/has this address on this chain already/);
    await expect(interrupt(WITH_KEY, 'staged')).rejects.toThrow(/has this address on this chain already/);
    const other = await interrupt(WITHOUT_KEY, 'staged', 'BSC');
    expect(
      store.pending
        .list(10)
        .map(({ wallet }) => wallet.id)
        .sort(),
    ).toEqual([first.wallet.id, other.wallet.id].sort());
    expect(store.pending.at(ACCOUNT, 'BSC', address(1))?.wallet.id).toBe(other.wallet.id);
    expect(store.pending.at(ACCOUNT, 'ETH', address(2))).toBeNull();
  });

  it.each(['staged', 'charged', 'answered'] as const)(
    'interrupted when %s: the next start completes the purchase',
    async (after) => {
      const row = await interrupt(WITH_KEY, after);
      await reopen();
      expect(wallets()).toEqual([]);
      opened.monitoring.start(DUTIES);
      await expect.poll(() => wallets().map(({ id }) => id)).toEqual([row.wallet.id]);
      expect(await entries()).toEqual(['SCREENING -1']);
      expect([...opened.monitoring.service.store.watched()].map(({ walletId }) => walletId)).toEqual([
        row.wallet.id,
      ]);
      const stored = await opened.ledger.storedAnswer(ACCOUNT, SLOT);
      expect(read(stored?.body ?? Buffer.of())).toMatchObject({ data: { wallet: { id: row.wallet.id } } });
    },
  );

  it.each(['staged', 'charged', 'answered'] as const)(
    'interrupted when %s: the repeated request gets the wallet of the first one',
    async (after) => {
      const row = await interrupt(WITH_KEY, after);
      await reopen();
      const { body, replayed } = await buy(WITH_KEY);
      expect(read(body).data.wallet.id).toBe(row.wallet.id);
      expect(replayed).toBe(after === 'answered');
      expect(wallets().map(({ id }) => id)).toEqual([row.wallet.id]);
      expect(await entries()).toEqual(['SCREENING -1']);
    },
  );

  it('an interrupted purchase without the credits for it is undone, and its address is free', async () => {
    await interrupt(WITHOUT_KEY, 'staged');
    await opened.ledger.book({ accountId: ACCOUNT, type: 'ADJUSTMENT', amount: -10, reference: null });
    await reopen();
    opened.monitoring.start(DUTIES);
    await expect.poll(() => opened.monitoring.service.store.pending.list(10)).toEqual([]);
    expect(wallets()).toEqual([]);
    await expect(buy(WITHOUT_KEY)).rejects.toMatchObject({ code: 'CREDITS_EXHAUSTED' });
    expect(wallets()).toEqual([]);
    await opened.ledger.book({ accountId: ACCOUNT, type: 'PURCHASE', amount: 1, reference: null });
    await buy(WITHOUT_KEY);
    expect(wallets()).toHaveLength(1);
  });

  it('an interrupted purchase that cannot be charged for now is kept, and completed later', async () => {
    const row = await interrupt(WITH_KEY, 'staged');
    let attempts = 0;
    const charge: WalletBilling['charge'] = async (of) => {
      if (++attempts <= 2) throw new AssayError('LEDGER_UNAVAILABLE', 'The ledger cannot be written.');
      return opened.billing.charge(of);
    };
    await reopen({ billing: { charge, refund: (of) => opened.billing.refund(of) } });
    opened.monitoring.start(DUTIES);
    await expect.poll(() => wallets().map(({ id }) => id)).toEqual([row.wallet.id]);
    expect([attempts, await entries()]).toEqual([3, ['SCREENING -1']]);
  });

  it('an abandoned purchase is refunded by the next start, or by the next request for the address', async () => {
    for (const next of ['start', 'request']) {
      const row = await interrupt(WITHOUT_KEY, 'charged');
      const before = (await opened.ledger.balance(ACCOUNT)).balance;
      await opened.monitoring.service.store.pending.abandon(row);
      expect(await opened.monitoring.service.store.pending.activate(row)).toBeNull();
      await reopen();
      if (next === 'start') opened.monitoring.start(DUTIES);
      else await buy(WITHOUT_KEY);
      await expect.poll(() => opened.monitoring.service.store.pending.list(10)).toEqual([]);
      expect(wallets()).toHaveLength(next === 'start' ? 0 : 1);
      expect((await opened.ledger.balance(ACCOUNT)).balance).toBe(before + (next === 'start' ? 1 : 0));
    }
  });

  it('a charge that fails leaves neither wallet nor charge', async () => {
    const fault = new AssayError('LEDGER_UNAVAILABLE', 'The ledger cannot be written.');
    const { billing } = opened;
    await reopen({ billing: { ...billing, charge: () => Promise.reject(fault), refund: async () => {} } });
    await expect(buy(WITH_KEY)).rejects.toBe(fault);
    expect([wallets(), opened.monitoring.service.store.pending.list(10)]).toEqual([[], []]);
    await reopen();
    expect(read((await buy(WITH_KEY)).body).credits).toEqual({ remaining: 9 });
  });

  it('an unknown outcome is undone without an Idempotency-Key, and left to the repeated request with one', async () => {
    let isSilent = true;
    const through: WalletBilling = {
      async charge(row) {
        const answer = await opened.billing.charge(row);
        if (isSilent) throw new AssayError('NOT_READY', 'No answer.');
        return answer;
      },
      refund: (row) => opened.billing.refund(row),
    };
    await reopen({ billing: through });
    await expect(buy(WITHOUT_KEY)).rejects.toMatchObject({ code: 'NOT_READY' });
    expect([wallets(), await entries()]).toEqual([[], ['REFUND 1', 'SCREENING -1']]);
    await expect(buy(WITH_KEY)).rejects.toMatchObject({ code: 'NOT_READY' });
    expect(wallets()).toEqual([]);
    isSilent = false;
    await buy(WITH_KEY);
    expect(wallets()).toHaveLength(1);
    expect(await entries()).toEqual(['SCREENING -1', 'REFUND 1', 'SCREENING -1']);
  });

  it('a charged wallet that cannot be stored yet is answered, and watched later', async () => {
    const { pending } = opened.monitoring.service.store;
    const activate = pending.activate;
    let faults = 2;
    Object.assign(pending, {
      activate: (row: PendingWallet) =>
        faults-- > 0 ? Promise.reject(new AssayError('STORAGE_FULL', 'No room.')) : activate(row),
    });
    const { body } = await buy(WITHOUT_KEY);
    expect(wallets()).toEqual([]);
    opened.monitoring.start(DUTIES);
    await expect.poll(() => wallets().map(({ id }) => id)).toEqual([read(body).data.wallet.id]);
    expect(await entries()).toEqual(['SCREENING -1']);
  });

  it('stores nothing for a client that has gone', async () => {
    const gone = (): never => {
      throw new AssayError('INTERNAL', 'gone');
    };
    const draft = { walletAddress: address(1), chain: 'ETH' };
    await expect(opened.monitoring.service.buy(ACCOUNT, draft, WITHOUT_KEY, gone)).rejects.toThrow('gone');
    expect([await entries(), opened.monitoring.service.store.pending.list(10)]).toEqual([[], []]);
  });

  it('pending wallets count towards the limit of the plan', async () => {
    await reopen({ walletsMax: () => 1 });
    await interrupt(WITH_KEY, 'staged');
    await expect(buy(WITHOUT_KEY, 2)).rejects.toThrow(/limit of 1 wallets/);
    await buy(WITH_KEY);
    expect(wallets()).toHaveLength(1);
  });

  it('a row of another process is left alone until it is old', async () => {
    const row = await interrupt(WITH_KEY, 'staged');
    let nowMs = row.wallet.createdAtMs;
    const { pending } = opened.monitoring.service.store;
    const purchases = createWalletPurchases(
      { graceMs: 30_000 },
      {
        pending,
        billing: opened.billing,
        clock: { now: () => nowMs, monotonic: () => nowMs },
        log: silentLogger,
        onWallets: () => {},
      },
    );
    const end = new AbortController();
    const finishing = purchases.finish(end.signal);
    nowMs += 29_999;
    await new Promise((resolve) => setTimeout(resolve, 1_200));
    expect(pending.list(10)).toHaveLength(1);
    nowMs += 1;
    await expect.poll(() => wallets()).toHaveLength(1);
    end.abort();
    await finishing;
  });
});
