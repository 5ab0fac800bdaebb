/**
 * Stripe's API: creates the page on which a customer pays by card. Card data never reaches this program. The package is loaded at the
 * first checkout, because most installations sell nothing. https://docs.stripe.com/api/checkout/sessions/create
 */
import type Stripe from 'stripe';
import { AssayError } from '../base/errors.ts';
import { BILLING_LIMITS } from './limits.ts';
import type { Invoice } from './records.ts';

export interface StripeOptions {
  readonly secretKey: string;
  /** Base URL of the API: Stripe's own, or a stand-in of a test on this machine. */
  readonly apiUrl: string;
  /** Time for one request. Default: that of the limits. */
  readonly timeoutMs?: number;
}

export interface CheckoutRequest {
  readonly invoice: Invoice;
  /** Pages to which the customer returns. */
  readonly successUrl: string;
  readonly cancelUrl: string;
}

/** A page on which an invoice can be paid. */
export interface Checkout {
  /** Id of the session (`cs_…`). */
  readonly session: string;
  readonly url: string;
}

export interface CardCheckouts {
  /**
   * Creates a checkout page. A repetition with the same invoice returns the same page.
   *
   * @throws PAYMENT_PROVIDER_UNAVAILABLE if Stripe cannot be reached or is overloaded; PAYMENT_PROVIDER_ERROR if it rejects the request
   */
  create(request: CheckoutRequest): Promise<Checkout>;
}

const MS_PER_SECOND = 1_000;

/**
 * Returns the metadata of a checkout. Stripe returns them with the event of the payment, which is compared with the invoice: they are also
 * what an operator sees at Stripe.
 */
export const metadataOf = ({ id, accountId, package: name, quantity, credits, pool }: Invoice) => ({
  invoice: id,
  account: accountId,
  package: name,
  quantity: String(quantity),
  credits: String(credits),
  pool,
});

/** Converts an error of the package. Its message may contain parts of the request, so only Stripe's code and request id are kept. */
function providerError(error: unknown, { errors }: typeof Stripe): unknown {
  if (!(error instanceof errors.StripeError)) return error;
  const { statusCode, code, requestId } = error;
  const status = statusCode ?? 0;
  const isTemporary = status === 0 || status === 409 || status === 429 || status >= 500;
  const facts = [
    status === 0 ? 'no response' : `status ${status}`,
    ...(code === undefined ? [] : [`code ${code}`]),
    ...(requestId === undefined ? [] : [`request ${requestId}`]),
  ].join(', ');
  return isTemporary
    ? new AssayError(
        'PAYMENT_PROVIDER_UNAVAILABLE',
        `The payment provider did not create a checkout (${facts}). Nothing was charged; try again later.`,
        { cause: error },
      )
    : new AssayError(
        'PAYMENT_PROVIDER_ERROR',
        `The payment provider rejected the checkout (${facts}). Nothing was charged; ask the operator of this service.`,
        { cause: error },
      );
}

class StripeCheckouts implements CardCheckouts {
  readonly #options: StripeOptions;
  #loading: Promise<{ readonly stripe: Stripe; readonly Package: typeof Stripe }> | null = null;

  constructor(options: StripeOptions) {
    this.#options = options;
  }

  async create(request: CheckoutRequest): Promise<Checkout> {
    this.#loading ??= this.#load();
    const { stripe, Package } = await this.#loading;
    try {
      return await this.#createSession(stripe, request);
    } catch (error) {
      throw providerError(error, Package);
    }
  }

  async #load() {
    const { default: Package } = await import('stripe');
    const { secretKey, apiUrl, timeoutMs = BILLING_LIMITS.stripeTimeoutMs } = this.#options;
    const { protocol, hostname, port } = new URL(apiUrl);
    const isPlain = protocol === 'http:';
    const stripe = new Package(secretKey, {
      protocol: isPlain ? 'http' : 'https',
      host: hostname,
      port: port === '' ? (isPlain ? '80' : '443') : port,
      timeout: timeoutMs,
      maxNetworkRetries: BILLING_LIMITS.stripeRetries,
      telemetry: false,
    });
    return { stripe, Package };
  }

  async #createSession(
    stripe: Stripe,
    { invoice, successUrl, cancelUrl }: CheckoutRequest,
  ): Promise<Checkout> {
    const metadata = metadataOf(invoice);
    const { id, url } = await stripe.checkout.sessions.create(
      {
        mode: 'payment',
        client_reference_id: invoice.accountId,
        line_items: [
          {
            quantity: 1,
            price_data: {
              currency: invoice.currency.toLowerCase(),
              unit_amount: invoice.amount,
              product_data: {
                name: `${invoice.package}: ${invoice.credits} credits`,
              },
            },
          },
        ],
        metadata,
        payment_intent_data: { metadata },
        success_url: successUrl,
        cancel_url: cancelUrl,
        expires_at: Math.floor(invoice.expiresAtMs / MS_PER_SECOND),
        // The amount is compared with the price, so it must be in the currency of the price.
        adaptive_pricing: { enabled: false },
      },
      { idempotencyKey: `assay-${invoice.id}` },
    );
    if (url === null)
      throw new AssayError(
        'PAYMENT_PROVIDER_ERROR',
        'The payment provider created a checkout without a page. Nothing was charged; ask the operator of this service.',
      );
    return { session: id, url };
  }
}

/** Creates the client of Stripe's API. Nothing is loaded or requested before the first checkout. */
export const createCardCheckouts = (options: StripeOptions): CardCheckouts => new StripeCheckouts(options);
