/** The printable receipt of a paid invoice. */
import { isoTime } from '../base/clock.ts';
import { CENTS, escapeHtml, money, numberRow, own, type PrintedPage, printedPage, textRow } from './html.ts';
import { receiptNumber } from './invoice.ts';
import type { Invoice, PaymentMethod, Rate, Receipt, Seller } from './records.ts';

const BASIS_POINTS = 10_000;

/** Returns the VAT that is contained in an amount, rounded to the minor unit. */
export const containedVat = (amount: number, basisPoints: number): number =>
  Math.round((amount * basisPoints) / (BASIS_POINTS + basisPoints));

const percent = (basisPoints: number): string => `${basisPoints / CENTS} %`;

/** Returns the seller's name, address and VAT number. */
export function sellerAddress({ name, address, vatId }: Seller): string {
  const lines = [name, ...address].filter((line) => line !== null).map(own);
  const vat = vatId === null ? '' : `<br>VAT identification number: ${own(vatId)}`;
  return `<address>${lines.join('<br>')}${vat}</address>`;
}

/** Returns the rows of the tax that a price contains, if the operator charges one. */
export function vatRows(amount: number, currency: string, { vatBasisPoints }: Seller): readonly string[] {
  if (vatBasisPoints === null) return [];
  const vat = containedVat(amount, vatBasisPoints);
  return [
    numberRow('Net', money(amount - vat, currency)),
    numberRow(`VAT ${percent(vatBasisPoints)}`, money(vat, currency)),
  ];
}

/** Money that was credited, in the minor unit of the price. */
interface Paid {
  /** Ever confirmed: more or less than the price if the payer sent more or less. */
  readonly total: number;
  /** The part of it that the bank or a reorg has undone since. */
  readonly reverted: number;
  /** Credits beyond the package. */
  readonly surplusCredits: number;
}

function paidOf({ method, amount, credits, due, payments }: Invoice): Paid {
  if (method === 'CARD') return { total: amount, reverted: 0, surplusCredits: 0 };
  const price = BigInt(due.amount);
  const counted = payments.filter(({ confirmedAtMs }) => confirmedAtMs !== null);
  const sumOf = (of: typeof counted): bigint => of.reduce((sum, { value }) => sum + BigInt(value), 0n);
  // Half a minor unit is rounded up.
  const minor = (value: bigint): number => Number((2n * value * BigInt(amount) + price) / (2n * price));
  const all = sumOf(counted);
  return {
    total: minor(all),
    reverted: minor(sumOf(counted.filter(({ state }) => state !== 'CONFIRMED'))),
    surplusCredits: all > price ? Number(((all - price) * BigInt(credits)) / price) : 0,
  };
}

/** Returns what an invoice is about, as a table. */
export function itemTable(
  { package: name, quantity, credits, amount, currency, pool }: Invoice,
  paid: Paid | null = null,
): string {
  const unit = money(Math.round(amount / quantity), currency);
  const balance = pool === 'api' ? 'API' : 'dashboard';
  return `<table>
<thead><tr><th scope="col">Item</th><th scope="col" class="n">Quantity</th><th scope="col" class="n">Price</th></tr></thead>
<tbody><tr><td>Package ${own(name)}: ${credits} credits in total, for the ${balance} balance</td><td class="n">${quantity}</td><td class="n">${unit}</td></tr>${differenceRow(paid, amount, currency)}</tbody>
</table>`;
}

/** Returns the row of what was paid beside the price. */
function differenceRow(paid: Paid | null, amount: number, currency: string): string {
  if (paid === null || paid.total === amount) return '';
  const text =
    paid.total > amount
      ? `Surplus of the payment: ${paid.surplusCredits} credits`
      : 'Difference that was accepted';
  return `\n<tr><td>${text}</td><td class="n"></td><td class="n">${money(paid.total - amount, currency)}</td></tr>`;
}

const PAID_BY: Readonly<Record<PaymentMethod, string>> = {
  CARD: 'by card',
  CRYPTO: 'in cryptocurrency',
  WIRE: 'by wire',
};

/** Returns the rows of the sum: the tax if the operator charges one, the total, and what was returned since. */
function sumRows(
  { currency, refunded, dispute, method, rate }: Invoice,
  { total, reverted }: Paid,
  { seller }: Receipt,
): string {
  return [
    ...vatRows(total, currency, seller),
    numberRow(`Total, paid ${PAID_BY[method]}`, money(total, currency)),
    ...(rate === null ? [] : [rateRow(rate)]),
    ...(reverted === 0 ? [] : [numberRow('Undone since', money(-reverted, currency))]),
    ...(refunded === 0 ? [] : [numberRow('Refunded since', money(-refunded, currency))]),
    ...(dispute === 'OPEN' || dispute === 'LOST' ? [numberRow('Disputed', dispute.toLowerCase())] : []),
  ].join('\n');
}

/** Returns the row of a rate. */
export const rateRow = ({ from, to, value, source, atMs }: Rate): string =>
  numberRow(
    `Rate of ${isoTime(atMs).slice(0, 10)} (${own(source)})`,
    `1 ${escapeHtml(from)} = ${value} ${escapeHtml(to)}`,
  );

/** Returns the page of a receipt. */
export function receiptHtml(invoice: Invoice, receipt: Receipt): PrintedPage {
  const number = escapeHtml(receiptNumber(receipt));
  const paid = paidOf(invoice);
  const payments = invoice.method === 'CARD' ? invoice.references : invoice.payments.map(({ id }) => id);
  const entries = invoice.entries.map(
    ({ id, cause, credits, bookedAtMs }) =>
      `<tr><td>${isoTime(bookedAtMs)}</td><td>${cause}</td><td>${escapeHtml(id)}</td><td class="n">${credits}</td></tr>`,
  );
  return printedPage(
    `Receipt ${receiptNumber(receipt)}`,
    `${sellerAddress(receipt.seller)}
<h1>Receipt ${number}</h1>
<table>
<tbody>
${textRow('Date', isoTime(receipt.issuedAtMs).slice(0, 10))}
${textRow('Customer account', own(invoice.accountId))}
${textRow('Invoice', escapeHtml(invoice.id))}
${textRow('Payment', payments.map(escapeHtml).join('<br>'))}
</tbody>
</table>
${itemTable(invoice, paid)}
<table>
<tbody>
${sumRows(invoice, paid, receipt)}
</tbody>
</table>
<h2>Credits in the ledger</h2>
<table>
<thead><tr><th scope="col">Time (UTC)</th><th scope="col">Cause</th><th scope="col">Entry</th><th scope="col" class="n">Credits</th></tr></thead>
<tbody>
${entries.join('\n')}
</tbody>
</table>`,
  );
}
