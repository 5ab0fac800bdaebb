/** Compares invoices, purchases and the ledger of credits: every payment must be booked once, and every receipt number used once. */
import type { Ledger, LedgerEntry } from '../accounts/ledger.ts';
import { balanceId, POOLS, type Pool } from '../accounts/pools.ts';
import { dueOf } from './invoice.ts';
import { BILLING_LIMITS } from './limits.ts';
import type { Payments } from './payments.ts';
import type { Invoice } from './records.ts';
import type { InvoiceStore } from './store.ts';
import { bookedCredits, moneyOf, transition } from './transitions.ts';

export interface BillingReport {
  readonly invoices: number;
  readonly settled: number;
  /** Invoices that wait for a decision of the operator. */
  readonly held: number;
  /** Entries of the ledger that were compared. */
  readonly entries: number;
  /** Receipts, which are numbered from 1. */
  readonly receipts: number;
  /** Payments that an earlier release booked, without an invoice. */
  readonly withoutInvoice: number;
  /** Sentences; empty if everything agrees. */
  readonly faults: readonly string[];
}

export interface VerifyDeps {
  readonly invoices: Pick<InvoiceStore, 'all' | 'byReference' | 'lastReceipt'>;
  readonly payments: Pick<Payments, 'purchases'> | null;
  readonly ledger: Pick<Ledger, 'usage'>;
  /** Accounts that may have bought, besides those with an invoice. */
  readonly accounts: Iterable<string>;
  /** Whether cards were never sold: without the payments of cards, a purchase of one looks like one that nothing explains. */
  readonly hadNoCards: boolean;
}

/** Reference of the adjustments that payments make. Purchases have none. */
const PAYMENT_REFERENCE =
  /^(stripe (refund|dispute|won)|invoice \S+ (refund|reversal|restored|correction))\b/;

/** Reads the entries of one balance that belong to payments, by their ids. It books nothing. */
async function paymentEntries(
  ledger: VerifyDeps['ledger'],
  balance: string,
): Promise<ReadonlyMap<string, LedgerEntry>> {
  const entries = new Map<string, LedgerEntry>();
  let cursor: string | null = null;
  do {
    const page: Awaited<ReturnType<Ledger['usage']>> = await ledger.usage(balance, {
      limit: BILLING_LIMITS.verifyEntriesPage,
      isReadOnly: true,
      ...(cursor === null ? {} : { cursor }),
    });
    for (const entry of page.history)
      if (entry.type === 'PURCHASE' || PAYMENT_REFERENCE.test(entry.reference ?? ''))
        entries.set(entry.id, entry);
    cursor = page.nextCursor;
  } while (cursor !== null);
  return entries;
}

/** Whether a balance has credits that were bought. It reads the last entry. */
async function hasPurchase(ledger: VerifyDeps['ledger'], balance: string): Promise<boolean> {
  const { totals } = await ledger.usage(balance, { limit: 1, isReadOnly: true });
  return totals.byType.PURCHASE !== 0;
}

/** Returns the faults of an invoice that is paid by card: its package is booked once. */
function cardFaults({ entries, state, credits }: Invoice, of: string): readonly string[] {
  const bought = entries.filter(({ cause }) => cause === 'PURCHASE');
  if (state === 'SETTLED' && (bought.length !== 1 || bought[0]?.credits !== credits))
    return [`${of}: is SETTLED, and its entries do not book ${credits} credits once.`];
  return state !== 'SETTLED' && entries.length > 0 ? [`${of}: is ${state} and has entries.`] : [];
}

/** Returns the faults of an invoice with payments: the entries of each add up to its credits, and those follow from what has arrived. */
function paymentFaults(invoice: Invoice, of: string): readonly string[] {
  const faults: string[] = [];
  const { payments, entries, state, receipt } = invoice;
  for (const { id, credits } of payments) {
    const booked = bookedCredits(invoice, id);
    if (booked !== credits)
      faults.push(`${of}: payment ${id} gives ${credits} credits, and its entries add up to ${booked}.`);
  }
  const known = new Set(payments.map(({ id }) => id));
  for (const { id, paymentId } of entries)
    if (paymentId === undefined || !known.has(paymentId)) faults.push(`${of}: entry ${id} has no payment.`);
  const { confirmed } = moneyOf(invoice);
  if (state === 'SETTLED' && (receipt === null || confirmed === 0n))
    faults.push(`${of}: is SETTLED without a ${receipt === null ? 'receipt' : 'payment'}.`);
  if (receipt === null && entries.length > 0) faults.push(`${of}: has entries and was never settled.`);
  const refunded = new Map<string, bigint>();
  for (const { paymentId, amount } of invoice.refunds)
    refunded.set(paymentId, (refunded.get(paymentId) ?? 0n) + BigInt(amount));
  for (const payment of payments)
    if (BigInt(payment.refunded) !== (refunded.get(payment.id) ?? 0n))
      faults.push(`${of}: payment ${payment.id} has refunds that do not add up.`);
  return [...faults, ...derivationFaults(invoice, of)];
}

/**
 * Returns the faults of the facts from which credits follow: they are derived again from what has arrived, so a record that was changed
 * afterwards does not agree with its entries.
 */
function derivationFaults(invoice: Invoice, of: string): readonly string[] {
  const { payments, due, references, method, expiresAtMs, settledAtMs, createdAtMs } = invoice;
  const faults: string[] = [];
  const again = transition(invoice, { kind: 'expire' }, settledAtMs ?? createdAtMs);
  for (const [index, { id, credits, amount, value, asset, state, seenAtMs }] of payments.entries()) {
    const derived = again.payments[index]?.credits;
    if (derived !== credits)
      faults.push(`${of}: payment ${id} of ${value} gives ${derived} credits, and ${credits} are recorded.`);
    const counts = asset === due.asset && state !== 'WRONG_ASSET' && state !== 'REVERTED';
    // Later payments count at the rate of their day.
    if (counts && seenAtMs < expiresAtMs && amount !== value)
      faults.push(`${of}: payment ${id} has arrived with ${amount}, and counts as ${value}.`);
    if (!references.includes(id)) faults.push(`${of}: payment ${id} is not among its references.`);
  }
  const price = dueOf(invoice);
  if (method === 'WIRE' && (due.asset !== price.asset || due.amount !== price.amount))
    faults.push(`${of}: costs ${price.amount} ${price.asset}, and ${due.amount} ${due.asset} are due.`);
  return faults;
}

/** Returns payments that are on several invoices. */
function sharedPayments(all: readonly Invoice[]): readonly string[] {
  const owners = new Map<string, string>();
  const faults: string[] = [];
  for (const invoice of all)
    for (const { id } of invoice.payments) {
      const owner = owners.get(id);
      if (owner !== undefined) faults.push(`payment ${id}: is on the invoices ${owner} and ${invoice.id}.`);
      owners.set(id, invoice.id);
    }
  return faults;
}

/** Returns the faults of the entries of one invoice. */
function entryFaults(invoice: Invoice, entries: ReadonlyMap<string, LedgerEntry>): readonly string[] {
  const faults: string[] = [];
  const of = `invoice ${invoice.id} of ${invoice.accountId}`;
  faults.push(...(invoice.method === 'CARD' ? cardFaults(invoice, of) : paymentFaults(invoice, of)));
  for (const { id, credits } of invoice.entries) {
    const amount = entries.get(id)?.amount;
    if (amount !== credits)
      faults.push(
        `${of}: entry ${id} of ${credits} credits is ${amount === undefined ? 'not in the ledger' : `${amount} in the ledger`}.`,
      );
  }
  return faults;
}

/** Returns the faults of the numbers of receipts. */
function receiptFaults(numbers: readonly number[], last: number): readonly string[] {
  const sorted = numbers.toSorted((a, b) => a - b);
  const faults = sorted.flatMap((number, index) =>
    number === index + 1 ? [] : [`receipt number ${index + 1}: expected, but ${number} follows.`],
  );
  if (sorted.length !== last)
    faults.push(`receipts: ${sorted.length} exist, and the last number is ${last}.`);
  return faults.slice(0, 1);
}

/** Whether the reference of an adjustment names an invoice, or a payment of one. */
function isOfInvoice(reference: string, invoices: VerifyDeps['invoices']): boolean {
  const words = reference.split(' ');
  return words[0] === 'invoice' || invoices.byReference(words.at(-1) ?? '') !== null;
}

/** Compares everything. Safe while servers are running: a payment that is being booked at this moment may be reported. */
export async function verifyBilling({
  invoices,
  payments,
  ledger,
  accounts,
  hadNoCards,
}: VerifyDeps): Promise<BillingReport> {
  const all = [...invoices.all()];
  const faults: string[] = [...sharedPayments(all)];
  const settled = all.filter(({ state }) => state === 'SETTLED');
  const byBalance = new Map<string, Invoice[]>();
  for (const invoice of all) {
    const balance = balanceId(invoice.accountId, invoice.pool);
    byBalance.set(balance, [...(byBalance.get(balance) ?? []), invoice]);
  }
  let withoutInvoice = 0;
  /** Payments without an invoice, by balance: of earlier releases, or interrupted before their invoice was settled. */
  const unsettled = new Map<string, number>();
  for (const { payment, purchase } of payments?.purchases() ?? []) {
    const { accountId, pool = 'api' }: { accountId: string; pool?: Pool } = purchase;
    const balance = balanceId(accountId, pool);
    if (!byBalance.has(balance)) byBalance.set(balance, []);
    const invoice = invoices.byReference(payment);
    if (invoice !== null) continue;
    unsettled.set(balance, (unsettled.get(balance) ?? 0) + 1);
    if (purchase.session === undefined) withoutInvoice++;
    else faults.push(`payment ${payment} of ${accountId}: is recorded, and no invoice is settled by it.`);
  }
  for (const accountId of new Set(accounts))
    for (const pool of POOLS) {
      const balance = balanceId(accountId, pool);
      if (!byBalance.has(balance) && (await hasPurchase(ledger, balance))) byBalance.set(balance, []);
    }
  let compared = 0;
  for (const [balance, own] of byBalance) {
    const entries = await paymentEntries(ledger, balance);
    compared += entries.size;
    for (const invoice of own) faults.push(...entryFaults(invoice, entries));
    const listed = new Set(own.flatMap((invoice) => invoice.entries.map(({ id }) => id)));
    for (const { id, reference, amount } of entries.values())
      if (!listed.has(id) && reference !== null && isOfInvoice(reference, invoices))
        faults.push(`ledger entry ${id} of ${balance} (${reference}, ${amount} credits): is on no invoice.`);
    const bought = [...entries.values()].filter(({ id, type }) => type === 'PURCHASE' && !listed.has(id));
    if ((payments !== null || hadNoCards) && bought.length > (unsettled.get(balance) ?? 0))
      faults.push(
        `ledger of ${balance}: ${bought.length} purchases are on no invoice (${bought.map(({ id }) => id).join(', ')}), and ${unsettled.get(balance) ?? 0} payments explain them.`,
      );
  }
  const numbers = all.flatMap(({ receipt }) => (receipt === null ? [] : [receipt.number]));
  faults.push(...receiptFaults(numbers, invoices.lastReceipt()));
  return {
    invoices: all.length,
    settled: settled.length,
    held: all.filter(({ state }) => state === 'HELD').length,
    entries: compared,
    receipts: numbers.length,
    withoutInvoice,
    faults,
  };
}
