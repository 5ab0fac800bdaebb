/**
 * Pay per call: a request without a key is answered after its price was paid (x402 version 2, scheme `exact`, EIP-3009). The money arrives
 * first; then it buys credits of the account `pay-per-call`, and the request is charged to them like any other. So a request that fails
 * leaves its credits, and the same payment is presented again.
 */
import { createHash } from 'node:crypto';
import type { Actor } from '../../accounts/audit.ts';
import type { CreditPackage } from '../../accounts/credits.ts';
import { PAY_PER_CALL_ACCOUNT } from '../../accounts/keys.ts';
import type { AnswerSlot, Ledger } from '../../accounts/ledger.ts';
import type { Clock } from '../../base/clock.ts';
import { AssayError, messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import { type ChainId, chainOf } from '../../chains/registry.ts';
import { X402_LIMITS } from './limits.ts';
import { priceOfCredits } from './prices.ts';
import { type AuthorizedPayment, type CallPayment, paymentKey, queued } from './records.ts';
import { type AuthorizationSettlement, PaymentRefused, type TokenPlace } from './settlement.ts';
import type { AuthorizedPayments } from './store.ts';
import type { Eip3009Token } from './token.ts';
import {
  decodePayment,
  IDENTIFIER,
  IDENTIFIER_EXTENSION,
  isAccepted,
  PAYMENT_SIGNATURE,
  type PaymentRequired,
  type PaymentRequirements,
  type SentPayment,
  type SettleResponse,
  VERSION,
} from './wire.ts';

/** Actor of the purchases in the audit log. */
export const PAYER_ACTOR: Actor = { who: 'payments', from: 'x402' };

/** A request that can be paid. */
export interface PayableRequest {
  /** Id of the operation. */
  readonly operation: string;
  readonly description: string;
  readonly url: string;
  readonly credits: number;
  /** SHA-256 of the method, the path, the query and the body, hex. */
  readonly hash: string;
  /** The client's address, or its network. */
  readonly client: string;
}

/** Thrown instead of an answer: the client must pay, or its payment is not taken. */
export class PaymentNeeded extends AssayError {
  /** How to pay; null if the client need not pay again. */
  readonly required: PaymentRequired | null;
  /** Outcome of the payment; null if there was none, or if it was not stored. */
  readonly response: SettleResponse | null;

  constructor(
    code: 'PAYMENT_REQUIRED' | 'PAYMENT_PENDING',
    message: string,
    of: { readonly required: PaymentRequired | null; readonly response: SettleResponse | null },
  ) {
    super(code, message, code === 'PAYMENT_PENDING' ? { retryAfterSeconds: X402_LIMITS.retrySeconds } : {});
    this.required = of.required;
    this.response = of.response;
  }
}

/** A stored payment of a request. */
export interface TakenPayment {
  readonly key: string;
  /** Where the answer is stored: the same for all requests with the payment, or with its identifier. */
  readonly slot: AnswerSlot;
}

export interface PayPerCallDeps {
  readonly clock: Clock;
  readonly log: Logger;
  readonly store: () => AuthorizedPayments;
  readonly settlement: AuthorizationSettlement;
  readonly packages: readonly CreditPackage[];
  readonly ledger: (actor: Actor) => Pick<Ledger, 'book' | 'storedAnswer'>;
}

export interface PayPerCallOptions {
  /** Address that is paid, as it is shown. */
  readonly payTo: string;
  readonly tokens: readonly TokenPlace[];
}

const NO_PAYMENT = 'Payment required';
const NO_MATCH = 'No matching payment requirements';
const USED = 'invalid_exact_evm_nonce_already_used';
/** Interval at which purchases are booked, and answers resolved, that a stopped process has left. */
const SWEEP_MS = 10_000;

const sha256 = (text: string): Buffer => createHash('sha256').update(text).digest();

/** Whether a stored payment leaves its identifier to a new one: it took nothing. */
const isVoid = (payment: AuthorizedPayment | null): boolean =>
  payment === null || payment.transfer.state === 'FAILED';

export class PayPerCall {
  readonly #options: PayPerCallOptions;
  readonly #deps: PayPerCallDeps;
  #timer: NodeJS.Timeout | null = null;
  #sweeping: Promise<void> = Promise.resolve();

  constructor(options: PayPerCallOptions, deps: PayPerCallDeps) {
    this.#options = options;
    this.#deps = deps;
  }

  /** Returns the content of PAYMENT-REQUIRED. A chain without a node that answers is left out. */
  async required(
    { credits, url, description }: PayableRequest,
    error = NO_PAYMENT,
  ): Promise<PaymentRequired> {
    const amount = String(priceOfCredits(this.#deps.packages, credits));
    const accepts: PaymentRequirements[] = [];
    for (const { chain, asset } of this.#options.tokens) {
      const token = this.#deps.settlement.token(chain);
      if (token === null) continue;
      try {
        accepts.push(this.#requirements(chain, asset, amount, await token.domain()));
      } catch (problem) {
        this.#deps.log.warn({ chain, error: messageOf(problem) }, 'payments on a chain are not offered');
      }
    }
    if (accepts.length === 0)
      throw new AssayError(
        'PAYMENT_UNAVAILABLE',
        'No chain for payments can be reached. Nothing was taken.',
        {
          retryAfterSeconds: 60,
        },
      );
    return {
      ...{ x402Version: VERSION, error, accepts },
      resource: { url, description, mimeType: 'application/json' },
      extensions: { [IDENTIFIER]: IDENTIFIER_EXTENSION },
    };
  }

  #requirements(
    chain: ChainId,
    asset: string,
    amount: string,
    { name, version }: { readonly name: string; readonly version: string },
  ): PaymentRequirements {
    return {
      ...{ scheme: 'exact', network: chainOf(chain).caip2, amount, asset, payTo: this.#options.payTo },
      maxTimeoutSeconds: X402_LIMITS.validSeconds,
      extra: { name, version, assetTransferMethod: 'eip3009', paymentFlow: 'upfront' },
    };
  }

  /**
   * Checks the payment of a request and stores it. It may be one that is stored already: the same authorization, or another one with the
   * same identifier, which is then not used.
   *
   * @param header - PAYMENT-SIGNATURE; empty if absent
   * @throws PaymentNeeded; INVALID_REQUEST, FORBIDDEN, PAYMENT_UNAVAILABLE and the errors of the node. Nothing was taken then.
   */
  async take(header: string, request: PayableRequest): Promise<TakenPayment> {
    if (header === '') {
      const required = await this.required(request);
      throw new PaymentNeeded(
        'PAYMENT_REQUIRED',
        'This request needs an API key, or a payment as the header PAYMENT-REQUIRED says.',
        {
          ...{ required, response: null },
        },
      );
    }
    const sent = decodePayment(header);
    try {
      return await this.#take(sent, request);
    } catch (error) {
      if (error instanceof PaymentRefused) throw await this.#refusal(request, error.reason, null);
      if (!(error instanceof AssayError && error.code.startsWith('CHAIN_'))) throw error;
      this.#deps.log.warn({ operation: request.operation, error: error.message }, 'payment not checked');
      throw new AssayError(
        'PAYMENT_UNAVAILABLE',
        'The chain of the payment cannot be reached. Nothing was taken.',
        {
          ...{ retryAfterSeconds: X402_LIMITS.retrySeconds, cause: error },
        },
      );
    }
  }

  async #refusal(
    request: PayableRequest,
    reason: string,
    payment: CallPayment | null,
  ): Promise<PaymentNeeded> {
    const { log } = this.#deps;
    log.info(
      { operation: request.operation, reason, payment: payment?.key ?? null },
      'payment of a call refused',
    );
    const required = await this.required(request, reason);
    const response = payment === null ? null : this.#responseOf(payment, reason);
    return new PaymentNeeded(
      'PAYMENT_REQUIRED',
      `${PAYMENT_SIGNATURE}: the payment was not taken (${reason}).`,
      {
        ...{ required, response },
      },
    );
  }

  async #take(sent: SentPayment, request: PayableRequest): Promise<TakenPayment> {
    const { settlement, store } = this.#deps;
    store().requireCurrent();
    const { authorization, accepted, identifier } = sent;
    const chain = settlement.chainOfNetwork(accepted.network);
    const token = chain === null ? null : settlement.token(chain);
    if (chain === null || token === null || accepted.asset !== token.asset)
      throw new PaymentRefused(NO_MATCH);
    const key = paymentKey(chain, token.asset, authorization);
    // The identifier first: a payment that is stored must not be checked as a new one.
    const ofIdentifier = identifier === null ? null : store().byIdentifier(authorization.from, identifier);
    const known = ofIdentifier !== null && !isVoid(ofIdentifier) ? ofIdentifier : store().get(key);
    if (known !== null) return this.#again(known, sent, token, request);
    return this.#new(key, sent, token, request);
  }

  /** A payment that is stored: the client must be the one that sent it, and ask for the same. */
  async #again(
    known: AuthorizedPayment,
    sent: SentPayment,
    token: Eip3009Token,
    request: PayableRequest,
  ): Promise<TakenPayment> {
    const { settlement, store } = this.#deps;
    // The key of an authorization is public once it is on the chain: its identifier, or the client's address, is not.
    if (known.kind !== 'call' || known.identifier !== sent.identifier) throw new PaymentRefused(USED);
    if (known.identifier === null && known.client !== clientHash(request.client))
      throw new PaymentRefused(USED);
    await settlement.checkSignature(token, sent.authorization);
    requireSame(known, request);
    const { transfer } = known;
    if (transfer.state !== 'FAILED') return takenOf(known, request.hash);
    const isSameKey = known.key === paymentKey(token.node.chain, token.asset, sent.authorization);
    if (!isSameKey || !transfer.mayRetry) throw await this.#refusal(request, transfer.reason ?? USED, known);
    // It was never sent, for a reason of this service.
    this.#requireMatching(sent, await this.required(request));
    const { sinceHeight } = await settlement.check(token, sent.authorization, clientHash(request.client));
    const stored = await store().change(known.key, (now) =>
      now !== null && now.kind === 'call' && now.transfer.mayRetry
        ? { ...now, transfer: queued(sinceHeight) }
        : now,
    );
    return takenOf(stored as CallPayment, request.hash);
  }

  #requireMatching(sent: SentPayment, { accepts }: PaymentRequired): void {
    const wanted = accepts.find((one) => isAccepted(sent, one));
    if (wanted === undefined) throw new PaymentRefused(NO_MATCH);
    const { authorization } = sent;
    if (authorization.to !== wanted.payTo.toLowerCase())
      throw new PaymentRefused('invalid_exact_evm_recipient_mismatch');
    if (authorization.value !== wanted.amount)
      throw new PaymentRefused('invalid_exact_evm_payload_authorization_value_mismatch');
  }

  async #new(
    key: string,
    sent: SentPayment,
    token: Eip3009Token,
    request: PayableRequest,
  ): Promise<TakenPayment> {
    const { clock, settlement, store } = this.#deps;
    this.#requireMatching(sent, await this.required(request));
    const client = clientHash(request.client);
    const { authorization, sinceHeight } = await settlement.check(token, sent.authorization, client);
    const { identifier } = sent;
    const { operation, credits, hash } = request;
    const payment: CallPayment = {
      ...{ kind: 'call', key, chain: token.node.chain, asset: token.asset, authorization },
      ...{ createdAtMs: clock.now(), transfer: queued(sinceHeight), credits, identifier, client, operation },
      request: { operation, hash },
      ...{ purchase: null, bookings: 0, servingAtMs: null, served: null },
    };
    let winner: AuthorizedPayment = payment;
    await store().change(key, (stored, { find }) => {
      // Another request of this moment may have stored it, or its identifier.
      const other = stored ?? (identifier === null ? null : find(authorization.from, identifier));
      winner = isVoid(other) && stored === null ? payment : (other ?? payment);
      return winner === payment ? payment : stored;
    });
    return winner === payment ? takenOf(payment) : this.#again(winner, sent, token, request);
  }

  /**
   * Waits until the payment has arrived, books its credits, and reserves it for this request.
   *
   * @throws PaymentNeeded if it has not arrived (yet), or another request is being answered with it
   */
  async settle({ key }: TakenPayment, request: PayableRequest): Promise<void> {
    const { clock, settlement, store } = this.#deps;
    const payment = await settlement.wait(key);
    if (payment === null || payment.kind !== 'call')
      throw new AssayError('INTERNAL', 'A stored payment is missing.');
    if (payment.transfer.state === 'FAILED') {
      if (payment.transfer.mayRetry)
        throw new AssayError(
          'PAYMENT_UNAVAILABLE',
          'The payment cannot be sent at the moment. Nothing was taken.',
          {
            retryAfterSeconds: 60,
          },
        );
      throw await this.#refusal(request, payment.transfer.reason ?? USED, payment);
    }
    if (payment.transfer.state !== 'SETTLED')
      throw this.#pending(payment, 'The payment is not confirmed yet.');
    await this.#book(payment);
    const nowMs = clock.now();
    let isReserved = false;
    const stored = await store().change(key, (now) => {
      isReserved = false;
      if (now === null || now.kind !== 'call' || now.transfer.state !== 'SETTLED') return now;
      requireSame(now, request);
      // Its answer is stored, and is returned without a charge.
      isReserved =
        now.served !== null || now.servingAtMs === null || now.servingAtMs < nowMs - X402_LIMITS.servingMs;
      if (!isReserved || now.served !== null) return now;
      return { ...now, servingAtMs: nowMs, request: { operation: request.operation, hash: request.hash } };
    });
    if (!isReserved) throw this.#pending(payment, 'Another request with the payment is being answered.');
    if (stored?.kind === 'call' && stored.served !== null) await this.#requireStored(stored);
  }

  /** @throws PaymentNeeded if the answer is not kept any more: the payment is used up */
  async #requireStored(payment: CallPayment): Promise<void> {
    const answer = await this.#deps
      .ledger(PAYER_ACTOR)
      .storedAnswer(PAY_PER_CALL_ACCOUNT, takenOf(payment).slot);
    if (answer !== null) return;
    throw new PaymentNeeded(
      'PAYMENT_REQUIRED',
      'The answer that was paid is not kept any more: answers are kept for 24 hours.',
      {
        ...{ required: null, response: this.#responseOf(payment, USED) },
      },
    );
  }

  #pending(payment: CallPayment, text: string): PaymentNeeded {
    return new PaymentNeeded(
      'PAYMENT_PENDING',
      `${text} Send the same request with the same payment again.`,
      {
        ...{ required: null, response: this.#responseOf(payment, 'settlement_pending') },
      },
    );
  }

  /** Books the credits of a payment, once. */
  async #book(payment: CallPayment): Promise<void> {
    if (payment.purchase !== null) return;
    const { key, bookings, credits, transfer, chain } = payment;
    const { entry } = await this.#deps.ledger(PAYER_ACTOR).book({
      ...{ accountId: PAY_PER_CALL_ACCOUNT, type: 'PURCHASE', amount: credits },
      reference: `x402 ${chain} ${transfer.arrival?.transaction ?? ''}`,
      once: `x402 ${key} ${bookings}`,
    });
    await this.#recordBooking(payment, entry.id);
  }

  /** Takes the credits of a payment back that a reorg has removed before it was used. */
  async #takeBack(payment: CallPayment): Promise<void> {
    const { key, bookings, credits, purchase } = payment;
    await this.#deps.ledger(PAYER_ACTOR).book({
      ...{ accountId: PAY_PER_CALL_ACCOUNT, type: 'ADJUSTMENT', amount: -credits, mayOwe: true },
      reference: `x402 reversal ${purchase}`,
      once: `x402 ${key} ${bookings}`,
    });
    await this.#recordBooking(payment, null);
  }

  /** Stores the entry that was booked, null if it was taken back, unless another node has stored a booking since. */
  async #recordBooking({ key, bookings }: CallPayment, purchase: CallPayment['purchase']): Promise<void> {
    await this.#deps
      .store()
      .change(key, (now) =>
        now === null || now.kind !== 'call' || now.bookings !== bookings
          ? now
          : { ...now, purchase, bookings: bookings + 1 },
      );
  }

  /**
   * Stores that the request of a payment was answered.
   *
   * @param entryId - ledger entry of the charge; null if the answer was stored before
   */
  async served({ key }: TakenPayment, entryId: string | null): Promise<void> {
    const atMs = this.#deps.clock.now();
    await this.#deps
      .store()
      .change(key, (now) =>
        now === null || now.kind !== 'call' || now.served !== null
          ? now
          : { ...now, servingAtMs: null, served: { entryId, atMs } },
      );
  }

  /**
   * Stores that the request of a payment was not answered: the payment can be presented again.
   *
   * @param isFree - also for another request of the operation, because this one can never succeed
   */
  async unserved({ key }: TakenPayment, isFree: boolean): Promise<void> {
    await this.#deps
      .store()
      .change(key, (now) =>
        now === null || now.kind !== 'call' || now.served !== null
          ? now
          : { ...now, servingAtMs: null, request: isFree ? null : now.request },
      );
  }

  /** Returns the content of PAYMENT-RESPONSE for a payment that has arrived. */
  responseOf({ key }: TakenPayment): SettleResponse | null {
    const payment = this.#deps.store().get(key);
    return payment?.kind === 'call' ? this.#responseOf(payment, null) : null;
  }

  #responseOf({ authorization, chain, transfer }: CallPayment, reason: string | null): SettleResponse {
    const transaction = transfer.arrival?.transaction ?? transfer.sending?.attempts.at(-1)?.hash ?? '';
    return {
      success: reason === null,
      ...(reason === null ? { amount: authorization.value } : { errorReason: reason }),
      ...{ payer: authorization.from, transaction, network: chainOf(chain).caip2 },
    };
  }

  /** Completes what a stopped process, or a reorg, has left. Repeating it is a no-op, on any number of nodes. */
  async sweep(): Promise<void> {
    const { clock, store } = this.#deps;
    for (const payment of store().unserved()) {
      if (payment.kind !== 'call') continue;
      if (payment.transfer.state === 'SETTLED' && payment.purchase === null) await this.#book(payment);
      if (payment.transfer.state === 'FAILED' && payment.purchase !== null && payment.served === null)
        await this.#takeBack(payment);
      const { servingAtMs } = payment;
      if (
        servingAtMs === null ||
        payment.served !== null ||
        servingAtMs > clock.now() - X402_LIMITS.servingMs
      )
        continue;
      const taken = takenOf(payment);
      const answer = await this.#deps.ledger(PAYER_ACTOR).storedAnswer(PAY_PER_CALL_ACCOUNT, taken.slot);
      const isUnknown = answer === null && servingAtMs < clock.now() - X402_LIMITS.answerMs;
      // Unknown counts as answered: the ledger shows which it was, and an answer is never given twice.
      if (answer !== null || isUnknown) await this.served(taken, null);
      else await this.unserved(taken, false);
    }
  }

  /** Sweeps at intervals until `stop`. */
  start(): void {
    const sweep = (): void => {
      this.#sweeping = this.#sweeping
        .then(() => this.sweep())
        .catch((error: unknown) => {
          this.#deps.log.error({ error: messageOf(error) }, 'sweep of payments of calls failed');
        });
    };
    this.#timer = setInterval(sweep, SWEEP_MS);
    this.#timer.unref();
    sweep();
  }

  async stop(): Promise<void> {
    if (this.#timer !== null) clearInterval(this.#timer);
    this.#timer = null;
    await this.#sweeping;
  }
}

/** Hash under which the address of a client is stored. */
const clientHash = (client: string): string => sha256(`x402 client ${client}`).toString('hex');

/** Returns a stored payment with the slot of its answer. */
export const takenOf = ({ key, request }: CallPayment, hash = request?.hash ?? ''): TakenPayment => ({
  key,
  slot: sha256(`x402\n${key}\n${hash}`),
});

/** @throws INVALID_REQUEST if a payment is for another request */
function requireSame({ operation, request, credits }: CallPayment, wanted: PayableRequest): void {
  const isSame =
    operation === wanted.operation &&
    credits === wanted.credits &&
    (request === null || request.hash === wanted.hash);
  if (isSame) return;
  throw new AssayError(
    'INVALID_REQUEST',
    `${PAYMENT_SIGNATURE}: the payment, or its identifier, is that of another request. Pay again, with another identifier.`,
    { field: PAYMENT_SIGNATURE },
  );
}
