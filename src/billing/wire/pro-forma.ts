/** The pro-forma invoice of a payment by wire, as a page to print, with the codes that banking apps scan. */
import { isoTime } from '../../base/clock.ts';
import { inGroups } from '../../base/iban.ts';
import { escapeHtml, money, numberRow, own, type PrintedPage, printedPage, textRow } from '../html.ts';
import { itemTable, rateRow, sellerAddress, vatRows } from '../receipt-html.ts';
import type { Invoice, Seller } from '../records.ts';
import { moneyOf } from '../transitions.ts';
import type { WireDetails } from './details.ts';
import { epcText, qrSvg, swissText } from './qr.ts';

/** Returns the codes for an amount, with their captions. */
function codes(wire: WireDetails, amount: bigint, currency: string): readonly string[] {
  const swiss = swissText(wire, { amount, currency });
  const epc = epcText(wire, { amount, currency });
  const figure = (text: string, caption: string, isSwiss: boolean): string =>
    `<figure>${qrSvg(text, caption, isSwiss)}<figcaption>${caption}</figcaption></figure>`;
  return [
    ...(epc === null ? [] : [figure(epc, 'SEPA credit transfer (EPC QR)', false)]),
    ...(swiss === null ? [] : [figure(swiss, 'Swiss QR code', true)]),
  ];
}

/**
 * Returns the page of an invoice by wire. If a part is paid, the codes are for the rest.
 *
 * @param seller - details of the operator now: a pro-forma invoice is not a receipt
 */
export function proFormaHtml(invoice: Invoice, wire: WireDetails, seller: Seller): PrintedPage {
  const { amount, currency, rate, state } = invoice;
  const { confirmed, rest } = moneyOf(invoice);
  const isOpen = rest > 0n && (state === 'NEW' || state === 'EXPIRED');
  const paid = confirmed === 0n ? [] : [numberRow('Paid so far', money(Number(confirmed), currency))];
  const due = money(Number(rest), currency);
  const payment = [
    textRow('Account owner', own(wire.holder)),
    textRow('IBAN', inGroups(escapeHtml(wire.iban))),
    ...(wire.bic === null ? [] : [textRow('BIC', escapeHtml(wire.bic))]),
    ...(wire.bank === null ? [] : [textRow('Bank', own(wire.bank))]),
    textRow('Reference', `<strong>${inGroups(wire.reference)}</strong>`),
    textRow('Amount', due),
  ];
  return printedPage(
    `Pro-forma invoice ${wire.reference}`,
    `${sellerAddress(seller)}
<h1>Pro-forma invoice</h1>
<table>
<tbody>
${textRow('Date', isoTime(invoice.createdAtMs).slice(0, 10))}
${textRow('Payable until', isoTime(invoice.expiresAtMs).slice(0, 10))}
${textRow('Customer account', own(invoice.accountId))}
${textRow('Invoice', escapeHtml(invoice.id))}
${textRow('State', [state, ...invoice.exceptions].join(', '))}
</tbody>
</table>
${itemTable(invoice)}
<table>
<tbody>
${[...vatRows(amount, currency, seller), numberRow('Total', money(amount, currency)), ...(rate === null ? [] : [rateRow(rate)]), ...paid, numberRow('To be paid', due)].join('\n')}
</tbody>
</table>
${isOpen ? `<h2>Payment by wire</h2>\n<table>\n<tbody>\n${payment.join('\n')}\n</tbody>\n</table>\n<p>Give the reference in its own field: the payment is then matched without delay. The sender pays all fees of the transfer.</p>\n${codes(wire, rest, currency).join('\n')}` : '<p>Nothing is to be paid.</p>'}
<p>This is not a receipt. A receipt with its number is issued when the payment has arrived.</p>`,
  );
}
