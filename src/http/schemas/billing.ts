/** Schemas of billing: packages, checkouts and invoices. */
import { Type } from 'typebox';
import { POOLS } from '../../accounts/pools.ts';
import { BILLING_LIMITS } from '../../billing/limits.ts';
import { CURRENCY, ENTRY_CAUSES, INVOICE_METHODS, INVOICE_STATES } from '../../billing/records.ts';
import { count, listOf, nullable, oneOf, pageFields, text, time } from './common.ts';

const PoolSchema = oneOf(
  [...POOLS],
  'The balance that gets the credits: `api` pays for calls with a key, `dashboard` for calls with a session.',
  { title: 'CreditPool' },
);

const Price = Type.Object(
  {
    amount: count('In the minor unit of the currency: cents.'),
    currency: oneOf([CURRENCY], 'ISO 4217.'),
  },
  { title: 'Price' },
);

const InvoiceStateSchema = oneOf(
  [...INVOICE_STATES],
  'NEW: not paid. PROCESSING: the payment is confirmed later. SETTLED: paid, and the credits are booked. EXPIRED: not paid in time. INVALID: the payment failed. HELD: money arrived that does not match the invoice; the operator decides.',
  { title: 'InvoiceState' },
);

export const OfferedPackages = Type.Object(
  {
    checkout: oneOf(
      ['available', 'unavailable'],
      'Whether packages can be bought by card. `unavailable`: the operator has not configured Stripe.',
    ),
    packages: listOf(
      Type.Object(
        {
          name: text(),
          kind: oneOf(
            ['FREE', 'PREPAID', 'CUSTOM'],
            'FREE: granted each month, expires with it. PREPAID: bought once, never expires. CUSTOM: by agreement with the operator.',
          ),
          credits: nullable(
            Type.Integer({ minimum: 0 }),
            'Null for a custom package that is not agreed yet.',
          ),
          price: nullable(Price, 'Null like `credits`.'),
          pricePerCredit: nullable(Price, 'Rounded to the minor unit; null like `credits`.'),
          pools: listOf(PoolSchema, 'Balances that it can be bought for; empty if it cannot be bought.'),
        },
        { title: 'CreditPackage' },
      ),
    ),
  },
  { title: 'CreditPackages' },
);

export const CheckoutBody = Type.Object(
  {
    package: Type.String({
      minLength: 1,
      maxLength: 64,
      description: 'Name of a package, in any letter case.',
    }),
    pool: Type.Optional(oneOf([...POOLS], 'The balance that gets the credits. Default `api`.')),
    quantity: Type.Optional(
      Type.Integer({
        minimum: 1,
        maximum: BILLING_LIMITS.checkoutQuantityMax,
        description: 'Number of packages. Default 1; a custom package is bought once.',
      }),
    ),
  },
  { title: 'CheckoutBody' },
);

export const CheckoutPage = Type.Object(
  {
    url: text('Page of Stripe on which the package is paid. Open it in the browser of the person who pays.'),
    invoiceId: text('Invoice that the payment settles.'),
    expiresAt: time('Time until which the page accepts a payment.'),
  },
  { title: 'CheckoutPage' },
);

export const InvoiceSchema = Type.Object(
  {
    id: text(),
    method: oneOf([...INVOICE_METHODS], 'How it is paid.'),
    state: InvoiceStateSchema,
    reason: nullable(Type.String(), 'Why the invoice is INVALID or HELD; else null.'),
    package: text('Name of the package.'),
    quantity: count('Number of packages.'),
    credits: count('Credits of all packages together.'),
    pool: PoolSchema,
    price: Price,
    refunded: Price,
    dispute: nullable(
      oneOf(['OPEN', 'WON', 'LOST']),
      'State of a dispute at the bank of the customer; null without one.',
    ),
    createdAt: time(),
    createdBy: text('Id of the person who bought; `stripe` for a payment that began outside this service.'),
    expiresAt: time('Time until which it can be paid.'),
    settledAt: nullable(time()),
    receiptNumber: nullable(Type.String(), 'Number of the receipt; null until the invoice is settled.'),
    entries: listOf(
      Type.Object({
        id: text('Id of the entry in `GET /usage`.'),
        cause: oneOf([...ENTRY_CAUSES]),
        credits: Type.Integer({ description: 'Negative if credits were taken back.' }),
        bookedAt: time(),
      }),
      'Entries of the ledger that the payment, its refunds and disputes made, oldest first.',
    ),
  },
  { title: 'Invoice' },
);

export const InvoiceList = Type.Object(
  { invoices: listOf(InvoiceSchema, 'Newest first.'), ...pageFields },
  { title: 'InvoiceList' },
);

export const OneInvoice = Type.Object({ invoice: InvoiceSchema }, { title: 'OneInvoice' });
