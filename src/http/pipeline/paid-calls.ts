/**
 * Requests that are paid one by one: price → payment → charge. The payment has arrived before the work begins. Whatever fails after that
 * leaves the payment usable for the same request.
 */
import { createHash } from 'node:crypto';
import { canonicalJson, createIdempotency, hashBody } from '../../accounts/idempotency.ts';
import { AssayError, clientError } from '../../base/errors.ts';
import {
  type PayableRequest,
  PaymentNeeded,
  type PayPerCall,
  type TakenPayment,
} from '../../billing/x402/pay-per-call.ts';
import { encodeHeader, PAYMENT_REQUIRED, PAYMENT_RESPONSE } from '../../billing/x402/wire.ts';
import type { Route } from '../routes.ts';
import type { Admitter } from './admit.ts';
import type { Call, Payer } from './call.ts';
import type { Charging } from './charging.ts';
import { REPLAYED, wholeResponse } from './charging.ts';
import { parseJson } from './json-body.ts';
import type { ChargedResponse, ChargedWork } from './work.ts';

export interface PaidCallsDeps {
  readonly payPerCall: () => PayPerCall | null;
  readonly admitter: Admitter;
  readonly charging: Charging;
}

/** Whether a body asks to keep the answer in the account of the caller. */
const asksToSave = (body: unknown): boolean =>
  typeof body === 'object' && body !== null && 'save' in body && body.save === true;

/** Whether a request can never succeed as it is: its payment is then good for another one. */
function isInvalid(error: unknown): boolean {
  const known = clientError(error);
  return known !== null && (known.status === 400 || known.status === 403 || known.status === 404);
}

/** A request of a client that pays for it. */
interface PaidRequest<Body> {
  readonly call: Call;
  readonly payer: Payer;
  readonly route: Route;
  readonly bytes: Uint8Array;
  /** Validates the parsed body. */
  readonly read: (value: unknown) => Body;
  readonly work: ChargedWork<Body>;
}

export class PaidCalls {
  readonly #deps: PaidCallsDeps;
  /** Requests with the same payment at the same time get one answer. */
  readonly #running = createIdempotency();

  constructor(deps: PaidCallsDeps) {
    this.#deps = deps;
  }

  get isOn(): boolean {
    return this.#deps.payPerCall() !== null;
  }

  /**
   * Answers a request that is paid.
   *
   * @throws PaymentNeeded and the errors of the steps
   */
  async respond<Body>(paid: PaidRequest<Body>): Promise<ChargedResponse> {
    const service = this.#deps.payPerCall();
    if (service === null)
      throw new AssayError(
        'UNAUTHENTICATED',
        'The Authorization header is missing. It must be: Bearer <API key>.',
      );
    try {
      return await this.#respond(paid, service);
    } catch (error) {
      const { call } = paid;
      if (error instanceof PaymentNeeded) {
        if (error.required !== null)
          call.extraHead += `\r\n${PAYMENT_REQUIRED}: ${encodeHeader(error.required)}`;
        if (error.response !== null)
          call.extraHead += `\r\n${PAYMENT_RESPONSE}: ${encodeHeader(error.response)}`;
      }
      throw error;
    }
  }

  async #respond<Body>(
    { call, payer, route, bytes, read, work }: PaidRequest<Body>,
    service: PayPerCall,
  ): Promise<ChargedResponse> {
    const { method, path, query, client, url, payment } = payer;
    const facts = { operation: route.id, description: route.summary, url, client };
    // Counted before anything is asked of a chain.
    await this.#deps.admitter.admitted(call, route);
    call.subject = null;
    // A client that asks for the price: that of the smallest body.
    if (bytes.length === 0 && payment === '')
      await service.take('', { ...facts, credits: route.credits, hash: '' });
    const value = parseJson(bytes);
    const bodyHash = hashBody(value);
    const hash = createHash('sha256')
      .update(`${method}\n${path}\n${query}\n${canonicalJson(value)}`)
      .digest('hex');
    const body = read(value);
    if (asksToSave(body))
      throw new AssayError(
        'INVALID_REQUEST',
        'save: must be left out without an API key: answers are saved in an account.',
        {
          field: 'save',
        },
      );
    const credits = work.cost?.(body) ?? route.credits;
    const request: PayableRequest = { ...facts, credits, hash };
    const taken = await service.take(payment, request);
    const response = await this.#running.run(taken.slot, bodyHash, async () => {
      await service.settle(taken, request);
      return this.#answer(call, route, body, work, { taken, bodyHash, bytes, service });
    });
    this.#addResponse(call, service, taken);
    if (response.replayed) call.lines += REPLAYED;
    return wholeResponse(response);
  }

  /** Adds PAYMENT-RESPONSE to every response of the call, errors included: the client sees that its payment has arrived. */
  #addResponse(call: Call, service: PayPerCall, taken: TakenPayment): void {
    const response = service.responseOf(taken);
    if (response !== null) call.extraHead += `\r\n${PAYMENT_RESPONSE}: ${encodeHeader(response)}`;
  }

  async #answer<Body>(
    call: Call,
    route: Route,
    body: Body,
    work: ChargedWork<Body>,
    {
      taken,
      bodyHash,
      bytes,
      service,
    }: {
      readonly taken: TakenPayment;
      readonly bodyHash: Uint8Array;
      readonly bytes: Uint8Array;
      readonly service: PayPerCall;
    },
  ) {
    try {
      const done = await this.#deps.charging.charge(call, route, body, work, {
        slot: taken.slot,
        bodyHash,
        bytes,
      });
      const entryId = call.chargedEntry;
      // The answer is stored under the payment, so it is not refunded if it cannot be sent.
      call.chargedEntry = null;
      if (call.credits === 0 && !done.replayed) await service.unserved(taken, true);
      else await service.served(taken, entryId);
      return done;
    } catch (error) {
      await service.unserved(taken, isInvalid(error));
      this.#addResponse(call, service, taken);
      throw error;
    }
  }
}
