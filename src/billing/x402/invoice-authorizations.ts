/**
 * Payment of an invoice in USDC by a signature (EIP-3009): the payer needs no gas, because the gas-paying account of the operator sends the
 * transfer. The money goes to the address of the invoice, so the watcher of that address books it like any other payment, also if another
 * sender brings the authorization into a block.
 *
 * The nonce of the authorization follows from the invoice and a part number: a payer can sign a part as often as it likes, and the contract
 * accepts it once.
 */
import { keccak_256 } from '@noble/hashes/sha3.js';
import { type Clock, isoTime } from '../../base/clock.ts';
import { AssayError } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import type { CryptoDetails } from '../crypto/details.ts';
import { stateAt } from '../invoice.ts';
import type { Invoice } from '../records.ts';
import type { Billing } from '../service.ts';
import { moneyOf } from '../transitions.ts';
import { X402_LIMITS } from './limits.ts';
import { type Authorization, type InvoicePaymentAuthorization, paymentKey, queued } from './records.ts';
import { type AuthorizationSettlement, PaymentRefused, type TokenPlace } from './settlement.ts';
import type { AuthorizedPayments } from './store.ts';
import type { Eip3009Token } from './token.ts';

/** The authorization of one part of an invoice, as the payer must sign it. */
export interface AuthorizationToSign {
  readonly part: number;
  readonly authorization: Omit<Authorization, 'signature'>;
  /** JSON text for `eth_signTypedData_v4`. */
  readonly typedData: string;
}

export interface InvoiceAuthorizationsDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly store: () => AuthorizedPayments;
  readonly settlement: AuthorizationSettlement;
  readonly billing: () => Pick<Billing, 'invoice'>;
}

/** The only token that is paid by a signature. */
const SYMBOL = 'USDC';
const SECOND_MS = 1_000;

const invalid = (field: string, text: string): AssayError =>
  new AssayError('INVALID_REQUEST', `${field}: ${text}`, { field });

/** Returns the nonce of a part of an invoice. */
export const nonceOfPart = (invoiceId: string, part: number): string =>
  `0x${Buffer.from(keccak_256(Buffer.from(`assay:${invoiceId}:${part}`))).toString('hex')}`;

/** Why the token or the chain refuses an authorization, in the words of this API, by the reason in those of x402. */
const REFUSALS: Readonly<Record<string, readonly [field: string, text: string]>> = {
  invalid_exact_evm_signature: [
    'signature',
    'must be that of authorization.from over the typed data of this authorization.',
  ],
  invalid_exact_evm_payload_undeployed_smart_wallet: [
    'signature',
    'is that of a wallet that is not deployed yet. Deploy it first, or send a transfer.',
  ],
  invalid_exact_evm_insufficient_balance: [
    'authorization.from',
    'must have the tokens: its balance is lower than authorization.value.',
  ],
  invalid_exact_evm_nonce_already_used: [
    'authorization.nonce',
    'was used or cancelled. If it moved tokens to the invoice, the invoice shows the payment; else request the typed data again.',
  ],
  invalid_exact_evm_payload_authorization_valid_before: [
    'authorization.validBefore',
    'is over, or too close. Request the typed data again.',
  ],
  invalid_exact_evm_payload_authorization_valid_after: [
    'authorization.validAfter',
    'must not be in the future; it is 0 in the typed data.',
  ],
};

/** Whether two authorizations move the same tokens under the same conditions. */
const isSameMessage = (a: Authorization, b: Authorization): boolean =>
  a.from === b.from &&
  a.to === b.to &&
  a.value === b.value &&
  a.validAfter === b.validAfter &&
  a.validBefore === b.validBefore &&
  a.nonce === b.nonce;

const isWaiting = ({ transfer: { state } }: InvoicePaymentAuthorization): boolean =>
  state === 'QUEUED' || state === 'SENT';

/** Whether an invoice has a payment of a transaction, whatever its state is. */
const hasTransaction = ({ payments }: Invoice, transaction: string): boolean =>
  payments.some(({ facts }) => facts.transaction === transaction);

interface Payable {
  readonly invoice: Invoice;
  readonly details: CryptoDetails;
  readonly token: Eip3009Token;
  /** What is still due, in the smallest unit. */
  readonly rest: bigint;
}

export class InvoiceAuthorizations {
  readonly #tokens: readonly TokenPlace[];
  readonly #deps: InvoiceAuthorizationsDeps;

  /** @param tokens - USDC on the chains that are used */
  constructor(tokens: readonly TokenPlace[], deps: InvoiceAuthorizationsDeps) {
    this.#tokens = tokens;
    this.#deps = deps;
  }

  /** Assets in which an invoice can be paid by a signature, as in its amount due. */
  currencies(): readonly string[] {
    return this.#tokens.map(({ chain }) => `${chain}:${SYMBOL}`);
  }

  /**
   * Returns the authorization that pays what is still due, for a payer to sign.
   *
   * @param payer - address, any letter case
   * @throws NOT_FOUND; INVALID_REQUEST if the invoice cannot be paid so; PAYMENT_UNAVAILABLE if the chain cannot be reached
   */
  async toSign(accountId: string, id: string, payer: string): Promise<AuthorizationToSign> {
    const from = payer.toLowerCase();
    const payable = this.#payable(accountId, id);
    this.#requireNoneOpen(payable.invoice, this.#deps.store().ofInvoice(id));
    return this.#reached(payable, async () => {
      const { invoice, details, token, rest } = payable;
      const part = await this.#nextPart(payable, from);
      const authorization = {
        ...{ from, to: details.address.toLowerCase(), value: String(rest), validAfter: '0' },
        validBefore: String(validBeforeOf(invoice)),
        nonce: nonceOfPart(id, part),
      };
      return { part, authorization, typedData: JSON.stringify(await token.typedData(authorization)) };
    });
  }

  /**
   * Stores a signed authorization, which the gas-paying account then sends. Repeating it is a no-op.
   *
   * @returns the stored payment
   * @throws NOT_FOUND; INVALID_REQUEST naming the field; FORBIDDEN if the payer is sanctioned; PAYMENT_UNAVAILABLE. Nothing was taken then.
   */
  async pay(
    accountId: string,
    id: string,
    authorization: Authorization,
  ): Promise<InvoicePaymentAuthorization> {
    const { store } = this.#deps;
    store().requireCurrent();
    const known = this.#known(accountId, id, authorization);
    if (known !== null) return known;
    const payable = this.#payable(accountId, id);
    return this.#reached(payable, () => this.#pay(payable, authorization));
  }

  /** Returns the signed authorizations of an invoice, oldest first. Throws NOT_FOUND. */
  list(accountId: string, id: string): readonly InvoicePaymentAuthorization[] {
    this.#deps.billing().invoice(accountId, id);
    return this.#deps.store().ofInvoice(id).slice(-X402_LIMITS.shownMax);
  }

  /** Returns the stored payment of an authorization that is presented again, unless it failed. Throws NOT_FOUND. */
  #known(accountId: string, id: string, authorization: Authorization): InvoicePaymentAuthorization | null {
    const { billing, store } = this.#deps;
    billing().invoice(accountId, id);
    const known = store()
      .ofInvoice(id)
      .find((one) => isSameMessage(one.authorization, authorization));
    return known === undefined || known.transfer.state === 'FAILED' ? null : known;
  }

  /** Returns an invoice that can be paid by a signature now. Throws INVALID_REQUEST, NOT_FOUND. */
  #payable(accountId: string, id: string): Payable {
    const { billing, clock, settlement } = this.#deps;
    const invoice = billing().invoice(accountId, id);
    const details = invoice.details.crypto;
    if (details === undefined || details.symbol !== SYMBOL)
      throw invalid(
        'id',
        `only invoices in USDC are paid by a signature (this one is in ${invoice.due.asset}).`,
      );
    const { chain } = details;
    const isOffered = this.#tokens.some(
      (one) => one.chain === chain && one.asset.toLowerCase() === details.asset.toLowerCase(),
    );
    const token = settlement.token(chain);
    if (!isOffered || token === null)
      throw invalid(
        'id',
        `the operator of this service pays no gas on ${chain}. Send a transfer to the address of the invoice.`,
      );
    const nowMs = clock.now();
    const state = stateAt(invoice, nowMs);
    const isOver = invoice.expiresAtMs - nowMs < X402_LIMITS.marginSeconds * SECOND_MS;
    if (isOver && (state === 'NEW' || state === 'EXPIRED' || state === 'PROCESSING'))
      throw invalid(
        'id',
        `the invoice can be paid by a signature until shortly before ${isoTime(invoice.expiresAtMs)}. Create another one.`,
      );
    if (state !== 'NEW' && state !== 'PROCESSING')
      throw invalid('id', `the invoice must be NEW or PROCESSING (it is ${state}).`);
    const { rest } = moneyOf(invoice);
    if (rest === 0n) throw invalid('id', 'nothing is due any more: the invoice waits for confirmations.');
    return { invoice, details, token, rest };
  }

  /** Refuses while an authorization of the invoice may still pay it: what is due is known only afterwards. */
  #requireNoneOpen(invoice: Invoice, stored: readonly InvoicePaymentAuthorization[]): void {
    for (const one of stored) {
      const { part, transfer } = one;
      if (isWaiting(one))
        throw invalid('id', `part ${part} is being sent. Wait until it is SETTLED or FAILED.`);
      const { arrival } = transfer;
      if (arrival !== null && !hasTransaction(invoice, arrival.transaction))
        throw invalid('id', `part ${part} has arrived, and is not recorded yet. Try again in a few seconds.`);
    }
  }

  /** Returns the first part that a payer has not used. */
  async #nextPart({ invoice, details, token }: Payable, from: string): Promise<number> {
    for (let part = 1; part <= X402_LIMITS.partsMax; part++) {
      const nonce = nonceOfPart(invoice.id, part);
      if (!(await token.isUsed(from, nonce))) return part;
      // Perhaps by the payer itself, in a block that the watcher has not read.
      const transaction = await token.recentUse({ from, nonce });
      if (transaction !== null && !hasTransaction(invoice, transaction))
        throw invalid(
          'id',
          `part ${part} was paid in the transaction ${transaction}, which is not recorded yet. Try again in a few seconds.`,
        );
    }
    throw invalid(
      'payer',
      `has used ${X402_LIMITS.partsMax} parts of the invoice, the maximum. Send ${details.symbol} to its address.`,
    );
  }

  /** Compares an authorization with the invoice. Throws INVALID_REQUEST naming the field. */
  #partOf({ invoice, details, rest }: Payable, authorization: Authorization): number {
    const { to, value, validBefore, nonce } = authorization;
    const parts = Array.from({ length: X402_LIMITS.partsMax }, (_, at) => at + 1);
    const part = parts.find((one) => nonceOfPart(invoice.id, one) === nonce);
    if (part === undefined)
      throw invalid('authorization.nonce', 'must be that of the typed data of this invoice.');
    if (to !== details.address.toLowerCase())
      throw invalid('authorization.to', `must be ${details.address}, the address of the invoice.`);
    if (BigInt(value) !== rest)
      throw invalid('authorization.value', `must be ${rest}, what is still due (got ${value}).`);
    if (BigInt(validBefore) > BigInt(validBeforeOf(invoice)))
      throw invalid(
        'authorization.validBefore',
        `must be at most ${validBeforeOf(invoice)}, when the invoice expires.`,
      );
    return part;
  }

  async #pay(payable: Payable, sent: Authorization): Promise<InvoicePaymentAuthorization> {
    const { clock, log, settlement, store } = this.#deps;
    const { invoice, token } = payable;
    const { id, accountId } = invoice;
    this.#requireNoneOpen(invoice, store().ofInvoice(id));
    const part = this.#partOf(payable, sent);
    const { authorization, sinceHeight } = await settlement.check(token, sent, accountId);
    const { chain } = token.node;
    const key = paymentKey(chain, token.asset, authorization);
    const payment: InvoicePaymentAuthorization = {
      ...{ kind: 'invoice', key, chain, asset: token.asset, authorization, accountId, invoiceId: id, part },
      ...{ createdAtMs: clock.now(), transfer: queued(sinceHeight) },
    };
    const stored = await store().change(key, (before, { ofInvoice }) => {
      const own = ofInvoice(id);
      // Another request of this moment, also at another node, may have stored one.
      const same = own.find((one) => one.key === key);
      if (same !== undefined && isWaiting(same) && isSameMessage(same.authorization, authorization))
        return before;
      this.#requireNoneOpen(invoice, own);
      return payment;
    });
    log.info({ accountId, invoice: id, part, payment: key }, 'invoice is paid by a signature');
    return stored as InvoicePaymentAuthorization;
  }

  /** Translates refusals and the errors of the node. */
  async #reached<T>({ invoice, token }: Payable, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      if (error instanceof PaymentRefused) {
        const [field, text] = REFUSALS[error.reason] ?? [
          'authorization',
          `the token refuses the transfer (${error.reason}).`,
        ];
        throw invalid(field, text);
      }
      if (!(error instanceof AssayError && error.code.startsWith('CHAIN_'))) throw error;
      this.#deps.log.warn({ invoice: invoice.id, error: error.message }, 'authorization not checked');
      throw new AssayError(
        'PAYMENT_UNAVAILABLE',
        `No node of ${token.node.chain} can be reached. Nothing was taken.`,
        { retryAfterSeconds: X402_LIMITS.retrySeconds, cause: error },
      );
    }
  }
}

/** Until when an authorization is valid: no block after the expiry of the invoice can contain it. Seconds since 1970. */
const validBeforeOf = ({ expiresAtMs }: Invoice): number => Math.floor(expiresAtMs / SECOND_MS);

/** Returns a payment by a signature in the form of the API. */
export function authorizationAnswer({
  part,
  authorization: { from, value, validBefore },
  transfer: { state, reason, arrival, sending },
  createdAtMs,
}: InvoicePaymentAuthorization) {
  return {
    ...{ part, state, reason, payer: from, amount: value },
    transaction: arrival?.transaction ?? sending?.attempts.at(-1)?.hash ?? null,
    validBefore: isoTime(Number(validBefore) * SECOND_MS),
    createdAt: isoTime(createdAtMs),
  };
}
