/** Schemas of billing: packages, checkouts and invoices. */
import { Type } from 'typebox';
import { ACCOUNT_LIMITS } from '../../accounts/limits.ts';
import { POOLS } from '../../accounts/pools.ts';
import { BILLING_LIMITS } from '../../billing/limits.ts';
import { ORDER_METHODS } from '../../billing/methods.ts';
import {
  CURRENCIES,
  ENTRY_CAUSES,
  INVOICE_EXCEPTIONS,
  INVOICE_STATES,
  PAYMENT_METHODS,
  PAYMENT_STATES,
} from '../../billing/records.ts';
import { count, listOf, nullable, oneOf, pageFields, text, time } from './fields.ts';

const PoolSchema = oneOf(
  [...POOLS],
  'The balance that gets the credits: `api` pays for calls with a key, `dashboard` for calls with a session.',
  { title: 'CreditPool' },
);

const Price = Type.Object(
  {
    amount: count('In the minor unit of the currency: cents.'),
    currency: oneOf([...CURRENCIES], 'ISO 4217.'),
  },
  { title: 'Price' },
);

const InvoiceStateSchema = oneOf(
  [...INVOICE_STATES],
  'NEW: not paid. PROCESSING: the payment is confirmed later. SETTLED: paid, and the credits are booked. EXPIRED: not paid in time. INVALID: the payment failed. HELD: money arrived that does not match the invoice, or whose sender must be checked; the operator decides.',
  { title: 'InvoiceState' },
);

export const OfferedPackages = Type.Object(
  {
    checkout: oneOf(
      ['available', 'unavailable'],
      'Whether packages can be bought by card. `unavailable`: the operator has not configured Stripe.',
    ),
    methods: listOf(
      Type.Object({
        method: oneOf([...ORDER_METHODS]),
        currencies: listOf(Type.String(), 'Currencies or assets to pay in; the first is the default.'),
        gasless: listOf(
          Type.String(),
          'Those of them in which an invoice can be paid by a signature: the payer needs no gas.',
        ),
      }),
      'Methods of payment for `POST /billing/invoices` that the operator has configured.',
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

export const InvoiceOrderBody = Type.Object(
  {
    ...CheckoutBody.properties,
    method: oneOf(
      [...ORDER_METHODS],
      'How the invoice is paid; `GET /billing/packages` lists what is available.',
    ),
    currency: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: BILLING_LIMITS.currencyTextMax,
        description: 'Currency or asset to pay in, in any letter case. Default: the first one of the method.',
      }),
    ),
  },
  { title: 'InvoiceOrderBody' },
);

export const CheckoutPage = Type.Object(
  {
    url: text('Page of Stripe on which the package is paid. Open it in the browser of the person who pays.'),
    invoiceId: text('Invoice that the payment settles.'),
    expiresAt: time('Time until which the page accepts a payment.'),
  },
  { title: 'CheckoutPage' },
);

const WireSchema = Type.Object(
  {
    iban: text('Account of the operator, without spaces.'),
    bic: nullable(Type.String()),
    holder: text('Owner of the account.'),
    bank: nullable(Type.String()),
    reference: text('Reference of ISO 11649, without spaces. Give it with the payment, and nothing else.'),
  },
  { title: 'WireInstructions' },
);

const CryptoSchema = Type.Object(
  {
    chain: text('Chain on which it is paid.'),
    asset: text("The coin's symbol, or the contract of the token. Only this asset counts."),
    symbol: text(),
    address: text('Address to pay.'),
    amount: text('Amount due in whole coins.'),
    uri: text('URI that wallets open, and the content of the QR code.'),
    index: nullable(Type.Integer(), "Index of the address below the operator's key; null on Solana."),
    path: nullable(Type.String(), 'Path of the address; null on Solana.'),
    reference: nullable(Type.String(), 'Reference key that a payment on Solana must name; null elsewhere.'),
    confirmations: nullable(
      Type.Integer(),
      'Blocks that a payment needs, its own included; null if it needs finality.',
    ),
    finality: nullable(
      oneOf(['safe', 'finalized']),
      'Finality that a payment needs; null if it needs blocks.',
    ),
  },
  { title: 'CryptoInstructions' },
);

const PaymentSchema = Type.Object(
  {
    id: text('Unique among all invoices.'),
    state: oneOf(
      [...PAYMENT_STATES],
      'PENDING: seen. CONFIRMED: counts. HELD: waits for the operator. REVERTED: undone by the bank or by a reorg. REFUSED: returned by the operator. WRONG_ASSET: another currency or asset than that of the invoice.',
    ),
    reason: nullable(Type.String(), 'Why it does not count; else null.'),
    asset: text(),
    amount: text('In the smallest unit of the asset.'),
    value: text('The part of the amount due that it pays. It differs from `amount` if the payment was late.'),
    credits: Type.Integer({ description: 'Credits that the account has from this payment.' }),
    refunded: text('Returned by the operator, in the smallest unit of the asset.'),
    seenAt: time('First sight.'),
    confirmedAt: nullable(time()),
    facts: Type.Record(
      Type.String(),
      Type.Union([Type.String(), Type.Number(), Type.Boolean(), Type.Null()]),
      { description: 'Facts of the method, such as the hash of a transaction or the reference of the bank.' },
    ),
  },
  { title: 'InvoicePayment' },
);

export const InvoiceSchema = Type.Object(
  {
    id: text(),
    method: oneOf([...PAYMENT_METHODS], 'How it is paid.'),
    state: InvoiceStateSchema,
    exceptions: listOf(
      oneOf([...INVOICE_EXCEPTIONS]),
      'PAID_PARTIAL: less than the price has arrived. PAID_OVER: more than the price. PAID_LATE: after `expiresAt`.',
    ),
    reason: nullable(Type.String(), 'Why the invoice is INVALID or HELD; else null.'),
    package: text('Name of the package.'),
    quantity: count('Number of packages.'),
    credits: count('Credits of all packages together.'),
    pool: PoolSchema,
    price: Price,
    rate: nullable(
      Type.Object({
        from: text(),
        to: text(),
        value: text('One unit of `from` in units of `to`.'),
        source: text('Publisher of the rate.'),
        at: time('Time to which the rate applies.'),
      }),
      'The rate that converted the price or the amount due, locked until `expiresAt`; null without a conversion.',
    ),
    due: Type.Object(
      {
        asset: text('Currency or asset.'),
        amount: text('In the smallest unit of the asset.'),
        decimals: count('Decimals of that unit.'),
      },
      { title: 'AmountDue' },
    ),
    paid: nullable(
      Type.Object({
        confirmed: text(),
        pending: text('Seen, and not confirmed yet.'),
        rest: text('Still to be paid; 0 if the rest is within the tolerance.'),
      }),
      'What has arrived, in the unit of `due`; null for a card.',
    ),
    refunded: Price,
    dispute: nullable(
      oneOf(['OPEN', 'WON', 'LOST']),
      'State of a dispute at the bank of the customer; null without one.',
    ),
    createdAt: time(),
    createdBy: text('Id of the person who bought; `stripe` for a payment that began outside this service.'),
    expiresAt: time('Time until which it can be paid at the locked rate.'),
    monitorUntil: time('Time until which a late payment is looked for.'),
    settledAt: nullable(time()),
    receiptNumber: nullable(Type.String(), 'Number of the receipt; null until the invoice is settled.'),
    wire: nullable(WireSchema, 'How to pay by wire; null for every other method.'),
    crypto: nullable(CryptoSchema, 'How to pay in cryptocurrency; null for every other method.'),
    payments: listOf(PaymentSchema, 'Payments that have arrived, in the order of their first sight.'),
    refunds: listOf(
      Type.Object({
        id: text(),
        paymentId: text(),
        amount: text('In the smallest unit of the asset of the payment.'),
        reason: text(),
        at: time(),
      }),
      'What the operator has returned; of a card, see `refunded`.',
    ),
    entries: listOf(
      Type.Object({
        id: text('Id of the entry in `GET /usage`.'),
        paymentId: nullable(Type.String(), 'The payment; null in invoices of earlier versions.'),
        cause: oneOf([...ENTRY_CAUSES]),
        credits: Type.Integer({ description: 'Negative if credits were taken back.' }),
        bookedAt: time(),
      }),
      'Entries of the ledger that the payments, their refunds and disputes made, oldest first.',
    ),
    history: listOf(
      Type.Object({
        state: InvoiceStateSchema,
        exceptions: listOf(oneOf([...INVOICE_EXCEPTIONS])),
        cause: text('What happened.'),
        at: time(),
      }),
      'Changes of the state and of the exceptions, oldest first.',
    ),
  },
  { title: 'Invoice' },
);

const Threshold = nullable(
  Type.Integer({ minimum: 1, maximum: BILLING_LIMITS.agreedCreditsMax }),
  'A balance below this is reported once, until it is above again; null: never.',
);

const TopUpRuleSchema = Type.Object(
  {
    pool: oneOf([...POOLS], 'The balance.'),
    below: Type.Integer({
      minimum: 1,
      maximum: BILLING_LIMITS.agreedCreditsMax,
      description: 'Orders if fewer credits are left.',
    }),
    package: Type.String({ minLength: 1, maxLength: 64, description: 'Name of a package.' }),
    quantity: Type.Integer({ minimum: 1, maximum: BILLING_LIMITS.checkoutQuantityMax }),
    method: oneOf([...ORDER_METHODS], 'How the invoice is paid.'),
    currency: nullable(
      Type.String({ minLength: 1, maxLength: BILLING_LIMITS.currencyTextMax }),
      'Currency or asset; null: the first one of the method.',
    ),
  },
  { title: 'TopUpRule' },
);

const settingsFields = {
  webhookUrl: nullable(
    Type.String({ maxLength: 2_048 }),
    'Gets all events of billing, signed like alerts (`POST /monitoring/webhook-secret`); null: none.',
  ),
  email: nullable(
    Type.String({
      maxLength: ACCOUNT_LIMITS.emailCharsMax,
      pattern: '^[^\\s@<>,;"]+@[^\\s@<>,;"]+$',
      description: 'one email address',
    }),
    'Gets an email if a balance is low; null: none.',
  ),
  lowBalance: Type.Object({ api: Threshold, dashboard: Threshold }, { title: 'LowBalance' }),
  topUp: Type.Array(TopUpRuleSchema, {
    maxItems: POOLS.length,
    description:
      'Orders credits when a balance is low, at most one rule for each balance. The invoice still has to be paid.',
  }),
};

export const BillingSettingsBody = Type.Partial(Type.Object(settingsFields), {
  title: 'BillingSettingsBody',
});

export const BillingSettings = Type.Object(
  { settings: Type.Object(settingsFields) },
  { title: 'BillingSettings' },
);

export const InvoiceList = Type.Object(
  { invoices: listOf(InvoiceSchema, 'Newest first.'), ...pageFields },
  { title: 'InvoiceList' },
);

export const OneInvoice = Type.Object({ invoice: InvoiceSchema }, { title: 'OneInvoice' });
