/** Low balances, top-up rules, messages and monthly statements, over both kinds of live state. */
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Access, createAccess } from '../../src/accounts/access.ts';
import { billingDelivery } from '../../src/app/billing-events.ts';
import { silentLogger } from '../../src/base/log.ts';
import { systemRandom } from '../../src/base/random.ts';
import { checkBalances, TOP_UP } from '../../src/billing/balances.ts';
import { BILLING_LIMITS } from '../../src/billing/limits.ts';
import type { BillingNotice } from '../../src/billing/notices.ts';
import type { BillingPreferences, Invoice } from '../../src/billing/records.ts';
import type { Billing } from '../../src/billing/service.ts';
import { statementCsv } from '../../src/billing/statement.ts';
import { createWire } from '../../src/billing/wire/method.ts';
import { type TempFolder, tempFolder } from '../accounts/temp-folder.ts';
import { openedMonitoring } from '../monitoring/opened.ts';
import { type LiveState, overLiveStates } from '../setup/live-state.ts';
import { BANK_ACCOUNT, openedBilling } from './opened.ts';

const NONE: BillingPreferences = {
  webhookUrl: null,
  email: null,
  lowBalance: { api: null, dashboard: null },
};
/** A rule that orders one small package. */
const RULE = {
  pool: 'api',
  below: 20,
  package: 'Starter',
  quantity: 1,
  method: 'WIRE',
  currency: null,
} as const;

overLiveStates((makeState, name) => {
  let now: number;
  let state: LiveState;
  let folder: TempFolder;
  let access: Access;
  let billing: Billing;
  const clock = { now: () => now, monotonic: () => now };

  beforeEach(async () => {
    now = Date.UTC(2026, 10, 23, 12);
    folder = tempFolder();
    state = makeState();
    access = createAccess(
      { folder: join(folder.path, 'accounts') },
      { clock, random: systemRandom, log: silentLogger, freeCredits: () => 0 },
    );
    await access.keys.addAccount('acc_1', 'FREE');
    billing = openedBilling(folder.path, access, {
      ...{ clock, openStore: state.openStore },
      methods: ({ invoices }) => [
        createWire({ account: BANK_ACCOUNT, toleranceBasisPoints: 50 }, { clock, invoices }),
      ],
    });
    billing.open();
    await state.ready();
  });
  afterEach(async () => {
    await billing.close();
    await state.close();
    await access.close();
    folder.remove();
  });

  const book = (type: 'GRANT' | 'ADJUSTMENT', amount: number) =>
    access.ledger().book({ accountId: 'acc_1', type, amount, reference: 'test' });
  const sweep = async () => {
    now += BILLING_LIMITS.balanceCheckMs;
    const sent: BillingNotice[] = [];
    await billing.sweep(async (notice) => void sent.push(notice));
    return sent;
  };

  it('reports a low balance once, by webhook and email, until it is above again', async () => {
    await book('GRANT', 60);
    await billing.setPreferences('acc_1', {
      ...{ webhookUrl: 'https://example.org/hook', email: 'a@example.org' },
      lowBalance: { api: 50, dashboard: null },
    });
    expect(await sweep()).toEqual([]);
    await book('ADJUSTMENT', -20);
    expect(await sweep()).toEqual([
      expect.objectContaining({
        ...{ type: 'balance.low', webhookUrl: 'https://example.org/hook', email: 'a@example.org' },
        data: expect.objectContaining({ pool: 'api', balance: 40, threshold: 50 }),
        lines: [expect.stringContaining('40 credits left, fewer than 50'), expect.any(String)],
      }),
    ]);
    expect(await sweep()).toEqual([]);
    await book('GRANT', 60);
    await sweep();
    await book('ADJUSTMENT', -60);
    expect(await sweep()).toHaveLength(1);
  });

  it('orders by a rule once, and again a day later only if the invoice is not paid', async () => {
    const rule = { ...RULE, quantity: 2 };
    await expect(
      billing.setPreferences('acc_1', { ...NONE, topUp: [{ ...rule, package: 'Gold' }] }),
    ).rejects.toMatchObject({ field: 'package' });
    await expect(billing.setPreferences('acc_1', { ...NONE, topUp: [rule, rule] })).rejects.toMatchObject({
      field: 'topUp',
    });
    await billing.setPreferences('acc_1', { ...NONE, topUp: [rule] });
    await sweep();
    await sweep();
    const list = () => billing.invoices('acc_1', {}, { limit: 10 }).invoices;
    expect(list()).toMatchObject([{ createdBy: TOP_UP, credits: 200, state: 'NEW', method: 'WIRE' }]);
    // It expires unpaid: then the next one follows.
    now += BILLING_LIMITS.wireMs;
    await sweep();
    expect(list()).toMatchObject([{ state: 'NEW' }, { state: 'EXPIRED' }]);
    await book('GRANT', 20);
    now += BILLING_LIMITS.wireMs;
    await sweep();
    expect(list()).toHaveLength(2);
  });

  it('orders once if two nodes see the low balance at the same time', async () => {
    await billing.setPreferences('acc_1', { ...NONE, topUp: [RULE] });
    const other = openedBilling(join(folder.path, name === 'LMDB' ? '' : 'other'), access, {
      ...{ clock, openStore: state.openStore },
      methods: ({ invoices }) => [
        createWire({ account: BANK_ACCOUNT, toleranceBasisPoints: 50 }, { clock, invoices }),
      ],
    });
    other.open();
    await other.store().ready();
    try {
      now += BILLING_LIMITS.balanceCheckMs;
      await Promise.all([billing, other].map((one) => one.sweep()));
      for (const one of [billing, other])
        await expect.poll(() => one.invoices('acc_1', {}, { limit: 10 }).invoices).toHaveLength(1);
    } finally {
      await other.close();
    }
  });

  it('stores one delivery for each receiver in the outbox of alerts, whoever hands it over', async () => {
    const monitoring = openedMonitoring(folder.path);
    try {
      await billing.setPreferences('acc_1', { ...NONE, webhookUrl: 'https://example.org/hook' });
      const { id } = await billing.order(
        { accountId: 'acc_1', personId: 'per_ann' },
        { package: 'Starter', method: 'WIRE' },
      );
      const deliver = billingDelivery(() => monitoring.service);
      // Two nodes see the same event.
      await billing.sweep(async (notice) => {
        await deliver(notice);
        await deliver(notice);
      });
      const { outbox } = monitoring.service.store;
      const { deliveries } = outbox.list('acc_1', {}, { limit: 10 });
      expect(deliveries).toMatchObject([
        { channel: 'webhook', event: 'billing', target: 'https://example.org/hook', status: 'PENDING' },
      ]);
      const [waiting] = outbox
        .queues()
        .flatMap((queue) => outbox.due(queue, Number.MAX_SAFE_INTEGER).waiting);
      expect(JSON.parse(outbox.load(waiting!)!.body)).toMatchObject({
        type: 'invoice.created',
        data: { invoice: { id, state: 'NEW', due: { amount: '19900' } } },
      });
    } finally {
      await monitoring.close();
    }
  });

  it('a statement of a month starts with the balance before it, and its rows add up to the balance after it', async () => {
    now = Date.UTC(2026, 9, 31, 23, 59);
    await book('GRANT', 100);
    now = Date.UTC(2026, 10, 1);
    const ledger = access.ledger();
    for (let count = 0; count < 3; count++) {
      const answer = () => Buffer.from('{}');
      await ledger.commit(await ledger.reserve('acc_1', 5), {
        ...{ type: 'SCREENING', amount: 5, reference: 'screening', answer },
      });
    }
    await book('ADJUSTMENT', -10);
    now = Date.UTC(2026, 11, 1);
    await book('GRANT', 1_000);
    const statement = await billing.statement('acc_1', 'api', '2026-11');
    expect(statement).toMatchObject({ opening: 100, closing: 75 });
    expect(statement.rows.map(({ type, count, credits }) => [type, count, credits])).toEqual([
      ['SCREENING', 3, -15],
      ['ADJUSTMENT', 1, -10],
    ]);
    expect(statementCsv(statement).trim().split('\r\n').at(-1)).toBe('2026-11,api,CLOSING,,,,,75');
    expect((await billing.printedStatement('acc_1', 'api', '2026-11')).html).toContain('75 credits');
    expect(await billing.statement('acc_1', 'api', '2026-10')).toMatchObject({ opening: 0, closing: 100 });
    expect(await billing.statement('acc_1', 'api', '2026-12')).toMatchObject({ opening: 75, closing: 1_075 });
    await expect(billing.statement('acc_1', 'api', '2026-13')).rejects.toMatchObject({ field: 'month' });
  });
});

describe('a check of balances', () => {
  const NOW = Date.UTC(2026, 10, 23, 12);
  const RULE = {
    pool: 'api',
    below: 20,
    package: 'Starter',
    quantity: 2,
    method: 'WIRE',
    currency: null,
  } as const;

  /** Checks the balances of one account, and returns what was noted and ordered. */
  async function check(
    preferences: BillingPreferences,
    /** Each time it is read; the last one stays. */
    balance: number | readonly number[],
    invoices: readonly Partial<Invoice>[] = [],
    order: () => Promise<{ id: string }> = async () => ({ id: 'in_1' }),
  ) {
    const balances = [balance].flat();
    const noted: unknown[] = [];
    const ordered: unknown[] = [];
    const warnings: unknown[] = [];
    await checkBalances({
      clock: { now: () => NOW, monotonic: () => 0 },
      log: { ...silentLogger, warn: (fields: unknown) => void warnings.push(fields) } as typeof silentLogger,
      ledger: () =>
        ({
          balance: async () => ({ balance: balances.length > 1 ? balances.shift() : balances[0] }),
        }) as never,
      invoices: () =>
        ({
          watchedAccounts: () => [{ accountId: 'a', preferences }],
          noteBalance: async ({ pool, isLow }: { pool: string; isLow: boolean }) =>
            void noted.push([pool, isLow]),
          list: () => ({ invoices, nextCursor: null }),
        }) as never,
      order: (async (_: string, wanted: unknown) => {
        ordered.push(wanted);
        return order();
      }) as never,
    });
    return { noted, ordered, warnings };
  }
  const low = (api: number | null, dashboard: number | null = null): BillingPreferences => ({
    ...NONE,
    lowBalance: { api, dashboard },
  });
  const ruled: BillingPreferences = { ...NONE, topUp: [RULE] };

  it('calls a balance low below its threshold, also if that is zero, and looks at no other', async () => {
    expect((await check(low(50), 49)).noted).toEqual([['api', true]]);
    expect((await check(low(50), 50)).noted).toEqual([['api', false]]);
    expect((await check(low(0), -1)).noted).toEqual([['api', true]]);
    expect((await check(low(50, 10), 20)).noted).toEqual([
      ['api', true],
      ['dashboard', false],
    ]);
    expect((await check(low(null), 0)).noted).toEqual([]);
    // A rule without a threshold never makes it low.
    expect((await check(ruled, -1)).noted).toEqual([['api', false]]);
  });

  it('orders below the limit of the rule of the balance, in its currency', async () => {
    const wanted = { package: 'Starter', quantity: 2, method: 'WIRE', pool: 'api' };
    expect((await check(ruled, 19)).ordered).toEqual([wanted]);
    expect((await check(ruled, 20)).ordered).toEqual([]);
    const inEuro: BillingPreferences = { ...NONE, topUp: [{ ...RULE, pool: 'dashboard', currency: 'EUR' }] };
    expect((await check(inEuro, 0)).ordered).toEqual([{ ...wanted, pool: 'dashboard', currency: 'EUR' }]);
  });

  it('orders nothing while an invoice of the rule may be paid, and a day after an unpaid one again', async () => {
    const DAY = BILLING_LIMITS.topUpIntervalMs;
    const unpaid = {
      ...{ createdBy: TOP_UP, pool: 'api', state: 'EXPIRED' },
      ...{ createdAtMs: NOW - DAY, expiresAtMs: NOW },
    } as const;
    for (const [invoice, orders] of [
      [unpaid, 1],
      [{ ...unpaid, createdAtMs: NOW - DAY + 1 }, 0],
      [{ ...unpaid, state: 'NEW', expiresAtMs: NOW + 1 }, 0],
      [{ ...unpaid, state: 'PROCESSING' }, 0],
      [{ ...unpaid, state: 'HELD' }, 0],
      // A paid one, that of another balance, and that of a person block nothing.
      [{ ...unpaid, state: 'SETTLED', createdAtMs: NOW, expiresAtMs: NOW + 1 }, 1],
      [{ ...unpaid, state: 'PROCESSING', pool: 'dashboard' }, 1],
      [{ ...unpaid, state: 'PROCESSING', createdBy: 'person' }, 1],
    ] as const)
      expect(
        (await check(ruled, 0, [invoice as Partial<Invoice>])).ordered,
        JSON.stringify(invoice),
      ).toHaveLength(orders);
  });

  it('orders nothing if the credits of a paid invoice were booked meanwhile', async () => {
    const paid = {
      createdBy: TOP_UP,
      pool: 'api',
      state: 'SETTLED',
      createdAtMs: NOW,
      expiresAtMs: NOW,
    } as const;
    expect((await check(ruled, [0, 200], [paid])).ordered).toEqual([]);
  });

  it('goes on if an order fails, and says why', async () => {
    const both: BillingPreferences = { ...NONE, topUp: [RULE, { ...RULE, pool: 'dashboard' }] };
    const { ordered, warnings } = await check(both, 0, [], async () => {
      throw new Error('no rate');
    });
    expect(ordered).toHaveLength(2);
    expect(warnings).toMatchObject([
      { accountId: 'a', pool: 'api', error: 'no rate' },
      { pool: 'dashboard', error: 'no rate' },
    ]);
  });
});
