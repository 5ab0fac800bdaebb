/** Watches the balances of accounts that ask for it: reports a low one once, and orders credits by the account's rule. */
import type { Ledger } from '../accounts/ledger.ts';
import { balanceId, POOLS, type Pool } from '../accounts/pools.ts';
import type { Clock } from '../base/clock.ts';
import { messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { BILLING_LIMITS } from './limits.ts';
import type { Invoice, TopUpRule } from './records.ts';
import type { InvoiceOrder } from './service.ts';
import type { InvoiceStore } from './store.ts';

/** Creator of invoices that a rule has ordered. */
export const TOP_UP = 'top-up';

export interface BalanceDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly invoices: () => InvoiceStore;
  readonly ledger: () => Pick<Ledger, 'balance'>;
  /** Orders, unless `isInstead` is true for one of the newest invoices: it is then returned. Another node may order at the same time. */
  readonly order: (
    accountId: string,
    order: InvoiceOrder,
    isInstead: (invoice: Invoice) => boolean,
  ) => Promise<Invoice>;
}

/** Whether an invoice of a rule still waits for its payment, or was made so recently that another one would be too many. */
function blocksTopUp(invoice: Invoice, pool: Pool, nowMs: number): boolean {
  if (invoice.createdBy !== TOP_UP || invoice.pool !== pool) return false;
  if (invoice.state === 'SETTLED') return false;
  const isOpen = invoice.state === 'PROCESSING' || invoice.state === 'HELD' || invoice.expiresAtMs > nowMs;
  return isOpen || invoice.createdAtMs > nowMs - BILLING_LIMITS.topUpIntervalMs;
}

async function topUp(
  accountId: string,
  rule: TopUpRule,
  { clock, log, invoices, ledger, order }: BalanceDeps,
): Promise<void> {
  const { pool, package: name, quantity, method, currency } = rule;
  const isInstead = (invoice: Invoice): boolean => blocksTopUp(invoice, pool, clock.now());
  const { invoices: newest } = invoices().list(accountId, {}, { limit: BILLING_LIMITS.invoicePageMax });
  if (newest.some(isInstead)) return;
  // After the invoices: the credits of one that is settled are in it.
  const { balance } = await ledger().balance(balanceId(accountId, pool));
  if (balance >= rule.below) return;
  try {
    const wanted = { package: name, quantity, method, pool, ...(currency === null ? {} : { currency }) };
    const { id } = await order(accountId, wanted, isInstead);
    log.info({ accountId, pool, invoice: id, balance }, 'top-up ordered');
  } catch (error) {
    log.warn({ accountId, pool, error: messageOf(error) }, 'top-up failed');
  }
}

/**
 * Checks the balances of all accounts that have set a threshold or a rule. A low balance is reported once, on whichever node, until it is no
 * longer low.
 */
export async function checkBalances(deps: BalanceDeps): Promise<void> {
  const { invoices, ledger } = deps;
  for (const { accountId, preferences } of invoices().watchedAccounts()) {
    for (const pool of POOLS) {
      const threshold = preferences.lowBalance[pool];
      const rule = preferences.topUp?.find((one) => one.pool === pool);
      if (threshold === null && rule === undefined) continue;
      const { balance } = await ledger().balance(balanceId(accountId, pool));
      const isLow = threshold !== null && balance < threshold;
      await invoices().noteBalance(
        { accountId, pool, isLow },
        { type: 'balance.low', invoiceId: null, data: { pool, balance, threshold } },
      );
      if (rule !== undefined && balance < rule.below) await topUp(accountId, rule, deps);
    }
  }
}
