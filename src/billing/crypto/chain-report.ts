/** Compares the recorded payments of invoices with their chains, and the money at an address with the payments. */
import { AssayError, messageOf } from '../../base/errors.ts';
import type { Call, ChainAdapter } from '../../chains/families/port.ts';
import { type ChainId, chainOf } from '../../chains/registry.ts';
import type { Invoice, InvoicePayment } from '../records.ts';
import { CRYPTO_LIMITS } from './limits.ts';

export interface ChainReport {
  /** Payments that were found on their chain as recorded. */
  readonly payments: number;
  /** Addresses with a compared balance. */
  readonly addresses: number;
  /** Comparisons that were not possible, with the reason. */
  readonly skipped: readonly string[];
  /** Sentences; empty if everything agrees. */
  readonly faults: readonly string[];
}

interface Findings {
  payments: number;
  addresses: number;
  readonly skipped: string[];
  readonly faults: string[];
}

const call = (): Call => ({
  signal: new AbortController().signal,
  budgetMs: CRYPTO_LIMITS.requestBudgetMs,
});

/** Payments with money that the chain must have. */
const isOnChain = ({ state, facts }: InvoicePayment): boolean =>
  ['CONFIRMED', 'HELD', 'REFUSED', 'WRONG_ASSET'].includes(state) && typeof facts.height === 'number';

/** Compares one payment with the block that is recorded. */
async function comparePayment(
  adapter: ChainAdapter,
  invoice: Invoice,
  payment: InvoicePayment,
  findings: Findings,
) {
  const { height, blockHash, transaction, position, asset } = payment.facts;
  const of = `invoice ${invoice.id}: payment ${payment.id}`;
  // A slot of Solana has no recorded hash, and the method reads transactions by key.
  if (adapter.chain === 'SOL') {
    const key = invoice.details.crypto?.reference ?? '';
    const transfers =
      (await adapter.transfersNaming?.(key, CRYPTO_LIMITS.referenceTransactionsMax, call())) ?? [];
    const found = transfers.find((one) => one.txHash === transaction && one.position === position);
    if (found?.amount === BigInt(payment.amount)) findings.payments++;
    else findings.faults.push(`${of} of ${payment.amount} is not on the chain.`);
    return;
  }
  const { block } = await adapter.block(Number(height), call());
  if (block === null || block.hash !== blockHash) {
    findings.faults.push(`${of} is recorded in block ${String(blockHash)}, which is not on the chain.`);
    return;
  }
  const output = block.transactions
    ?.find(({ txid }) => txid === transaction)
    ?.outputs.find(({ n }) => `out:${n}` === position);
  const transfer = block.transfers.find((one) => one.txHash === transaction && one.position === position);
  const amount = output?.value ?? (transfer?.asset === asset ? transfer?.amount : undefined);
  if (amount === BigInt(payment.amount)) findings.payments++;
  else
    findings.faults.push(
      `${of} of ${payment.amount} is ${amount === undefined ? 'not in its block' : `${amount} in its block`}.`,
    );
}

/** Compares the balance of an address with the payments: it may be lower, because the operator moves the money. */
async function compareBalance(adapter: ChainAdapter, invoice: Invoice, findings: Findings): Promise<void> {
  const details = invoice.details.crypto;
  const { symbol } = chainOf(adapter.chain);
  if (details === undefined || adapter.chain === 'SOL' || details.asset !== symbol) return;
  const { balance, completeness, note } = await adapter.balance(details.address, call());
  if (balance === null || completeness !== 'COMPLETE') {
    findings.skipped.push(`balance of ${details.address}: ${note ?? completeness}`);
    return;
  }
  findings.addresses++;
  const recorded = invoice.payments
    .filter(({ state }) => state !== 'REVERTED')
    .reduce((sum, { amount }) => sum + BigInt(amount), 0n);
  if (balance > recorded)
    findings.faults.push(
      `invoice ${invoice.id}: ${details.address} has ${balance}, and the recorded payments are ${recorded}.`,
    );
}

/** Compares the invoices with their chains. A chain that cannot be read is reported as skipped. */
export async function compareWithChains(
  invoices: Iterable<Invoice>,
  adapterOf: (chain: ChainId) => Promise<ChainAdapter | null>,
): Promise<ChainReport> {
  const findings: Findings = { payments: 0, addresses: 0, skipped: [], faults: [] };
  for (const invoice of invoices) {
    const details = invoice.details.crypto;
    if (details === undefined) continue;
    try {
      for (const payment of invoice.payments.filter(isOnChain)) {
        const adapter = await adapterOf(payment.facts.chain as ChainId);
        if (adapter === null)
          findings.skipped.push(`payment ${payment.id}: no node of ${String(payment.facts.chain)}`);
        else await comparePayment(adapter, invoice, payment, findings);
      }
      const adapter = await adapterOf(details.chain);
      if (adapter !== null) await compareBalance(adapter, invoice, findings);
    } catch (error) {
      if (!(error instanceof AssayError)) throw error;
      findings.skipped.push(`invoice ${invoice.id}: ${messageOf(error)}`);
    }
  }
  return findings;
}
