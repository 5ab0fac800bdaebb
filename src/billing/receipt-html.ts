/**
 * The printable receipt of a paid invoice. All texts of people are escaped, and the policy of the page forbids scripts and every source:
 * it needs neither.
 */
import { createHash } from 'node:crypto';
import { isoTime } from '../base/clock.ts';
import { receiptNumber } from './invoice.ts';
import type { Invoice, Receipt } from './records.ts';

const ESCAPES: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
  '`': '&#96;',
};

const escapeHtml = (text: string): string => text.replace(/[&<>"'`]/g, (char) => ESCAPES[char] ?? '');

/** A text of a person, isolated in its direction. */
const own = (text: string): string => `<bdi>${escapeHtml(text)}</bdi>`;

const STYLE = `body{font:14px/1.5 system-ui,sans-serif;max-width:44rem;margin:2rem auto;padding:0 1rem;color:#111;background:#fff}
h1{font-size:1.4rem;margin:2rem 0 1rem}address{font-style:normal}
table{border-collapse:collapse;width:100%;margin:1rem 0}th,td{border-bottom:1px solid #bbb;padding:.4rem .5rem;text-align:left;vertical-align:top;overflow-wrap:anywhere}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}tfoot th{border-bottom:0}
@media print{body{margin:0;max-width:none}tr{break-inside:avoid}}`;

const POLICY = `default-src 'none'; style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'; sandbox; frame-ancestors 'none'`;

const CENTS = 100;
const BASIS_POINTS = 10_000;

/** Returns an amount with its currency, such as `1,299.00 USD`. */
function money(amount: number, currency: string): string {
  const cents = Math.abs(amount);
  const whole = Math.floor(cents / CENTS).toLocaleString('en-US');
  return `${amount < 0 ? '−' : ''}${whole}.${String(cents % CENTS).padStart(2, '0')} ${currency}`;
}

/** Returns the VAT that is contained in an amount, rounded to the minor unit. */
export const containedVat = (amount: number, basisPoints: number): number =>
  Math.round((amount * basisPoints) / (BASIS_POINTS + basisPoints));

const percent = (basisPoints: number): string => `${basisPoints / CENTS} %`;

const row = (label: string, value: string): string =>
  `<tr><th scope="row">${label}</th><td class="n">${value}</td></tr>`;

/** Returns the rows of the sum: the tax if the operator charges one, the total, and what was returned since. */
function sumRows({ amount, currency, refunded, dispute }: Invoice, { seller }: Receipt): string {
  const { vatBasisPoints } = seller;
  const vat = vatBasisPoints === null ? null : containedVat(amount, vatBasisPoints);
  return [
    ...(vat === null || vatBasisPoints === null
      ? []
      : [
          row('Net', money(amount - vat, currency)),
          row(`VAT ${percent(vatBasisPoints)}`, money(vat, currency)),
        ]),
    row('Total, paid by card', money(amount, currency)),
    ...(refunded === 0 ? [] : [row('Refunded since', money(-refunded, currency))]),
    ...(dispute === 'OPEN' || dispute === 'LOST' ? [row('Disputed', dispute.toLowerCase())] : []),
  ].join('\n');
}

/** Returns the page of a receipt, and the policy of its response. */
export function receiptHtml(
  invoice: Invoice,
  receipt: Receipt,
): { readonly html: string; readonly policy: string } {
  const { seller } = receipt;
  const number = escapeHtml(receiptNumber(receipt));
  const sellerLines = [seller.name, ...seller.address].filter((line) => line !== null).map(own);
  const vatId = seller.vatId === null ? '' : `<br>VAT identification number: ${own(seller.vatId)}`;
  const unit = money(Math.round(invoice.amount / invoice.quantity), invoice.currency);
  const balance = invoice.pool === 'api' ? 'API' : 'dashboard';
  const entries = invoice.entries.map(
    ({ id, cause, credits, bookedAtMs }) =>
      `<tr><td>${isoTime(bookedAtMs)}</td><td>${cause}</td><td>${escapeHtml(id)}</td><td class="n">${credits}</td></tr>`,
  );
  const html = `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Receipt ${number}</title><style>${STYLE}</style></head>
<body>
<address>${sellerLines.join('<br>')}${vatId}</address>
<h1>Receipt ${number}</h1>
<table>
<tbody>
<tr><th scope="row">Date</th><td>${isoTime(receipt.issuedAtMs).slice(0, 10)}</td></tr>
<tr><th scope="row">Customer account</th><td>${own(invoice.accountId)}</td></tr>
<tr><th scope="row">Invoice</th><td>${escapeHtml(invoice.id)}</td></tr>
<tr><th scope="row">Payment</th><td>${invoice.references.map(escapeHtml).join('<br>')}</td></tr>
</tbody>
</table>
<table>
<thead><tr><th scope="col">Item</th><th scope="col" class="n">Quantity</th><th scope="col" class="n">Price</th></tr></thead>
<tbody><tr><td>Package ${own(invoice.package)}: ${invoice.credits} credits in total, for the ${balance} balance</td><td class="n">${invoice.quantity}</td><td class="n">${unit}</td></tr></tbody>
</table>
<table>
<tbody>
${sumRows(invoice, receipt)}
</tbody>
</table>
<h2>Credits in the ledger</h2>
<table>
<thead><tr><th scope="col">Time (UTC)</th><th scope="col">Cause</th><th scope="col">Entry</th><th scope="col" class="n">Credits</th></tr></thead>
<tbody>
${entries.join('\n')}
</tbody>
</table>
</body>
</html>
`;
  return { html, policy: POLICY };
}
