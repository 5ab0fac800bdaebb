/** Compares payments by a signed authorization with the ledger: each that arrived bought its credits once, and each answer was charged once. */
import { PAY_PER_CALL_ACCOUNT } from '../../accounts/keys.ts';
import type { Ledger, LedgerEntry } from '../../accounts/ledger.ts';
import { BILLING_LIMITS } from '../limits.ts';
import type { InvoiceStore } from '../store.ts';
import type { CallPayment, DeletedCalls, InvoicePaymentAuthorization } from './records.ts';
import { type AuthorizedPayments, digestWith, NO_DIGEST } from './store.ts';

export interface AuthorizedReport {
  /** Payments of calls, whatever became of them. */
  readonly calls: number;
  /** Calls that were paid and are not answered: their clients may still ask. */
  readonly unanswered: number;
  /** Their credits: the balance of the account. */
  readonly unansweredCredits: number;
  /** Purchases of calls whose records were deleted after their retention. */
  readonly deleted: number;
  /** Payments of invoices by a signature, whatever became of them. */
  readonly invoices: number;
  /** Sentences; empty if everything agrees. */
  readonly faults: readonly string[];
}

async function entriesOf(ledger: Pick<Ledger, 'usage'>): Promise<ReadonlyMap<string, LedgerEntry>> {
  const entries = new Map<string, LedgerEntry>();
  let cursor: string | null = null;
  do {
    const page: Awaited<ReturnType<Ledger['usage']>> = await ledger.usage(PAY_PER_CALL_ACCOUNT, {
      limit: BILLING_LIMITS.verifyEntriesPage,
      ...(cursor === null ? {} : { cursor }),
    });
    for (const entry of page.history) entries.set(entry.id, entry);
    cursor = page.nextCursor;
  } while (cursor !== null);
  return entries;
}

function faultsOf(payment: CallPayment, entries: ReadonlyMap<string, LedgerEntry>): readonly string[] {
  const { key, transfer, purchase, served, credits } = payment;
  const faults: string[] = [];
  const of = `payment ${key}`;
  if (served !== null && transfer.state !== 'SETTLED')
    faults.push(
      `${of}: its request was answered, and the payment is ${transfer.state}: a reorg has removed it.`,
    );
  if (purchase !== null) {
    const entry = entries.get(purchase);
    if (entry?.type !== 'PURCHASE' || entry.amount !== credits)
      faults.push(`${of}: its purchase ${purchase} of ${credits} credits is not in the ledger.`);
  }
  if (served?.entryId) {
    const entry = entries.get(served.entryId);
    if (entry?.amount !== -credits)
      faults.push(`${of}: the charge ${served.entryId} of ${credits} credits is not in the ledger.`);
  }
  return faults;
}

/** A transfer that no reorg can remove any more must be among the payments of its invoice. */
function invoiceFaults(
  { key, accountId, invoiceId, part, transfer }: InvoicePaymentAuthorization,
  invoices: Pick<InvoiceStore, 'get'>,
): readonly string[] {
  const { state, isFinal, arrival } = transfer;
  if (state !== 'SETTLED' || !isFinal || arrival === null) return [];
  const payments = invoices.get(accountId, invoiceId)?.payments ?? [];
  if (payments.some(({ facts }) => facts.transaction === arrival.transaction)) return [];
  return [
    `payment ${key}: part ${part} of invoice ${invoiceId} of ${accountId} arrived in ${arrival.transaction}, which is not among the payments of the invoice.`,
  ];
}

/** Purchases without a record must be exactly those whose records were deleted. */
function unnamedFaults(unnamed: readonly string[], { purchases, digest }: DeletedCalls): readonly string[] {
  if (unnamed.length === purchases) {
    if (unnamed.reduce(digestWith, NO_DIGEST) === digest) return [];
    return [
      `ledger of ${PAY_PER_CALL_ACCOUNT}: ${purchases} purchases have no payment, and they are not those of the payments that were deleted after their retention.`,
    ];
  }
  if (purchases === 0)
    return unnamed.map((id) => `ledger entry ${id} of ${PAY_PER_CALL_ACCOUNT}: is of no payment.`);
  return [
    `ledger of ${PAY_PER_CALL_ACCOUNT}: ${unnamed.length} purchases have no payment, and ${purchases} payments were deleted after their retention.`,
  ];
}

/** Compares everything. Safe while servers are running: a payment that is being answered at this moment may be reported. */
export async function verifyAuthorized(
  store: Pick<AuthorizedPayments, 'all' | 'deletedCalls'>,
  ledger: Pick<Ledger, 'usage'>,
  invoices: Pick<InvoiceStore, 'get'>,
): Promise<AuthorizedReport> {
  const entries = await entriesOf(ledger);
  const faults: string[] = [];
  const named = new Set<string>();
  let calls = 0;
  let ofInvoices = 0;
  let unanswered = 0;
  let unansweredCredits = 0;
  for (const payment of store.all()) {
    if (payment.kind === 'invoice') {
      ofInvoices++;
      faults.push(...invoiceFaults(payment, invoices));
      continue;
    }
    calls++;
    faults.push(...faultsOf(payment, entries));
    for (const id of [payment.purchase, payment.served?.entryId ?? null]) {
      if (id === null) continue;
      if (named.has(id)) faults.push(`ledger entry ${id}: is that of several payments.`);
      named.add(id);
    }
    if (payment.purchase === null || payment.served !== null) continue;
    unanswered++;
    unansweredCredits += payment.credits;
  }
  const balance = [...entries.values()].reduce((sum, { amount }) => sum + amount, 0);
  if (balance !== unansweredCredits)
    faults.push(
      `ledger of ${PAY_PER_CALL_ACCOUNT}: its balance is ${balance} credits, and payments that are not answered have ${unansweredCredits}.`,
    );
  for (const { reference } of entries.values()) {
    const reversed = /^x402 reversal (\S+)$/.exec(reference ?? '')?.[1];
    if (reversed !== undefined) named.add(reversed);
  }
  const bought = [...entries.values()].filter(({ type }) => type === 'PURCHASE').map(({ id }) => id);
  const deleted = store.deletedCalls();
  faults.push(
    ...unnamedFaults(
      bought.filter((id) => !named.has(id)),
      deleted,
    ),
  );
  return {
    ...{ calls, unanswered, unansweredCredits, deleted: deleted.purchases, invoices: ofInvoices },
    faults,
  };
}
