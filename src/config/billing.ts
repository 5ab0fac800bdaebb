/** Settings: payments by card and by wire, and the operator's details on receipts. */
import {
  addressLines,
  optionalBic,
  optionalCountry,
  optionalIban,
  optionalLine,
  optionalPercent,
  optionalSecret,
  optionalStripeKey,
  receiptPrefix,
  stripeApiUrl,
} from './readers.ts';
import { setting } from './setting.ts';

export const billingSettings = {
  stripeKey: setting(
    'ASSAY_STRIPE_KEY',
    '',
    optionalStripeKey,
    'Secret or restricted key of Stripe (sk_… or rk_…, with permission to write Checkout Sessions). Without it, no credits are sold by card. Needs ASSAY_STRIPE_SECRET, and ASSAY_PUBLIC_HOST if the server listens on all addresses.',
  ),
  stripeSecret: setting(
    'ASSAY_STRIPE_SECRET',
    '',
    optionalSecret,
    'Signing secret of the Stripe webhook (whsec_…). Without it, POST /payments/stripe returns 404.',
  ),
  stripeUrl: setting(
    'ASSAY_STRIPE_URL',
    'https://api.stripe.com',
    stripeApiUrl,
    'Base URL of the API of Stripe. Another one than the default must be on this machine: for tests.',
  ),
  sellerName: setting('ASSAY_SELLER_NAME', '', optionalLine, 'Name of the operator on receipts.'),
  sellerAddress: setting(
    'ASSAY_SELLER_ADDRESS',
    '',
    addressLines,
    'Address of the operator on receipts; `|` separates its lines.',
  ),
  sellerVatId: setting(
    'ASSAY_SELLER_VAT_ID',
    '',
    optionalLine,
    'VAT identification number of the operator on receipts.',
  ),
  vatPercent: setting(
    'ASSAY_VAT_PERCENT',
    '',
    optionalPercent,
    'VAT that the prices contain, such as 8.1: receipts show it. Empty: receipts show no VAT.',
  ),
  sellerIban: setting(
    'ASSAY_SELLER_IBAN',
    '',
    optionalIban,
    'Account for payments by wire. Without it, no credits are sold by wire. Needs ASSAY_SELLER_NAME, the owner of the account. A Swiss QR-IBAN is refused: invoices have references of ISO 11649.',
  ),
  sellerBic: setting('ASSAY_SELLER_BIC', '', optionalBic, 'BIC of the bank of ASSAY_SELLER_IBAN.'),
  sellerBank: setting('ASSAY_SELLER_BANK', '', optionalLine, 'Name of the bank of ASSAY_SELLER_IBAN.'),
  sellerStreet: setting(
    'ASSAY_SELLER_STREET',
    '',
    optionalLine,
    'Street and number of the owner of the account, for the Swiss QR code.',
  ),
  sellerPostcode: setting(
    'ASSAY_SELLER_POSTCODE',
    '',
    optionalLine,
    'Postcode of the owner of the account. Invoices have a Swiss QR code if it, ASSAY_SELLER_TOWN and ASSAY_SELLER_COUNTRY are set, and the account is Swiss.',
  ),
  sellerTown: setting('ASSAY_SELLER_TOWN', '', optionalLine, 'Town of the owner of the account.'),
  sellerCountry: setting(
    'ASSAY_SELLER_COUNTRY',
    '',
    optionalCountry,
    'Country of the owner of the account: two letters, such as CH.',
  ),
  paymentTolerance: setting(
    'ASSAY_PAYMENT_TOLERANCE_PERCENT',
    '0.5',
    optionalPercent,
    'A payment by wire or in cryptocurrency may be short by this and still pays its invoice: senders subtract fees. Empty: by nothing.',
  ),
  receiptPrefix: setting(
    'ASSAY_RECEIPT_PREFIX',
    'R-',
    receiptPrefix,
    'Text before the numbers of receipts, which count from 1 without gaps.',
  ),
} as const;
