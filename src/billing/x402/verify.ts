/** Compares payments by a signed authorization with the ledger: each that arrived bought its credits once, and each answer was charged once. */
import { PAY_PER_CALL_ACCOUNT } from '../../accounts/keys.ts';
import type { Ledger, LedgerEntry } from '../../accounts/ledger.ts';
import { BILLING_LIMITS } from '../limits.ts';
import type { CallPayment } from './records.ts';
import type { AuthorizedPayments } from './store.ts';

export interface AuthorizedReport {
  /** Payments of calls, whatever became of them. */
  readonly calls: number;
  /** Calls that were paid and are not answered: their clients may still ask. */
  readonly unanswered: number;
  /** Their credits: the balance of the account. */
  readonly unansweredCredits: number;
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

/** Compares everything. Safe while servers are running: a payment that is being answered at this moment may be reported. */
export async function verifyAuthorized(
  store: Pick<AuthorizedPayments, 'all'>,
  ledger: Pick<Ledger, 'usage'>,
): Promise<AuthorizedReport> {
  const entries = await entriesOf(ledger);
  const faults: string[] = [];
  const named = new Set<string>();
  let calls = 0;
  let unanswered = 0;
  let unansweredCredits = 0;
  for (const payment of store.all()) {
    if (payment.kind !== 'call') continue;
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
  for (const { id, type } of entries.values())
    if (type === 'PURCHASE' && !named.has(id))
      faults.push(`ledger entry ${id} of ${PAY_PER_CALL_ACCOUNT}: is of no payment.`);
  return { calls, unanswered, unansweredCredits, faults };
}
