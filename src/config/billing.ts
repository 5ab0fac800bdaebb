/** Settings: payments by card, and the operator's details on receipts. */
import {
  addressLines,
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
  receiptPrefix: setting(
    'ASSAY_RECEIPT_PREFIX',
    'R-',
    receiptPrefix,
    'Text before the numbers of receipts, which count from 1 without gaps.',
  ),
} as const;
