/**
 * Charged operations of the pipeline: gate → work → commit. The response is created inside the commit, so it is never sent before
 * its charge is on disk. If any step fails before the commit, nothing is charged.
 */
import {
  answerSlot,
  createIdempotency,
  hashBody,
  hashBytes,
  type IdempotentAnswer,
  replayed,
} from '../../accounts/idempotency.ts';
import type { AnswerSlot } from '../../accounts/ledger.ts';
import { balanceId } from '../../accounts/pools.ts';
import { type PooledJson, takeJson } from '../../base/buffer-pool.ts';
import { AssayError, messageOf } from '../../base/errors.ts';
import type { Logger } from '../../base/log.ts';
import type { HttpDeps } from '../ports.ts';
import type { Route } from '../routes.ts';
import type { Admitter } from './admit.ts';
import { type Call, ClientGone } from './call.ts';
import { chargedEnvelope, creditsMember, withIgnored } from './envelope.ts';
import { parseJson } from './json-body.ts';
import type { ChargedResponse, ChargedWork, Purchase, PurchaseWork } from './work.ts';

/** Header line of a response that was stored for an earlier request. */
export const REPLAYED = '\r\nIdempotency-Replayed: true';

/** Returns the ledger reference of a charge: the operation, then its subjects. */
export const referenceOf = ({ path }: Pick<Route, 'path'>, subjects: readonly string[]): string =>
  [path.slice(1), ...subjects].filter((part) => part !== '').join(' ');

/** Slot of the response, and the body that it answers. */
export interface KeptAnswer {
  readonly slot: AnswerSlot;
  readonly bodyHash: Uint8Array;
  readonly bytes: Uint8Array;
}

/** Returns a response that is whole. */
export const wholeResponse = ({ body, replayed }: IdempotentAnswer): ChargedResponse => ({
  body,
  replayed,
  data: null,
});

export interface ChargingDeps extends Pick<HttpDeps, 'access' | 'log'> {
  readonly admitter: Admitter;
}

/** The steps of charged operations. */
export class Charging {
  readonly #access: HttpDeps['access'];
  readonly #log: Logger;
  readonly #admitter: Admitter;
  readonly #idempotency = createIdempotency();

  constructor({ access, log, admitter }: ChargingDeps) {
    this.#access = access;
    this.#log = log;
    this.#admitter = admitter;
  }

  /**
   * Reads the Idempotency-Key of an authenticated request while its headers can be read.
   *
   * @throws INVALID_REQUEST
   */
  prepare(call: Call): void {
    const { exchange, caller, payer } = call;
    // The payment takes the place of the key.
    if (payer !== null) return;
    const key = exchange.optionalHeader('idempotency-key');
    if (key === null || caller === null) return;
    call.answerSlot = answerSlot(caller.accountId, exchange.method, exchange.path, key);
  }

  /**
   * Reserves the credits for the body, works, charges, and resolves with the response. If it rejects, nothing was charged.
   *
   * @param read - validates the parsed body
   * @throws CREDITS_EXHAUSTED and the errors of the steps
   */
  async respond<Body>(
    call: Call,
    route: Route,
    bytes: Uint8Array,
    read: (value: unknown) => Body,
    work: ChargedWork<Body> | PurchaseWork<Body>,
  ): Promise<ChargedResponse> {
    const value = parseJson(bytes);
    const slot = call.answerSlot;
    // Before `read`, which removes unknown fields: two bodies that differ in one are different.
    const bodyHash = slot === null ? null : hashBody(value);
    const body = read(value);
    if (slot === null || bodyHash === null) return this.charge(call, route, body, work, undefined);
    const response = await this.#idempotency.run(slot, bodyHash, () =>
      this.charge(call, route, body, work, { slot, bodyHash, bytes }),
    );
    // A request that waited for the response of another one with the same key counts as a request too.
    if (!call.isCounted) await this.#admitter.admitted(call, route);
    if (response.replayed) call.lines += REPLAYED;
    return wholeResponse(response);
  }

  /**
   * Carries out a purchase. If an equal request on another node has made it meanwhile, this one is refused, because what it adds is there
   * already: it then gets the response of the other.
   */
  async #purchase(
    call: Call,
    purchase: () => Promise<IdempotentAnswer>,
    keep: KeptAnswer | undefined,
  ): Promise<ChargedResponse> {
    try {
      return wholeResponse(await purchase());
    } catch (error) {
      const isRefused = error instanceof AssayError && error.code === 'INVALID_REQUEST';
      if (!isRefused || keep === undefined || call.caller === null) throw error;
      const payer = balanceId(call.caller.accountId, call.pool);
      const stored = await this.#access.ledger().storedAnswer(payer, keep.slot);
      if (stored === null) throw error;
      return wholeResponse(replayed(stored, keep.bodyHash, hashBytes(keep.bytes)));
    }
  }

  /** Refunds the charge of a request if its response could not be sent. */
  refund(call: Call): void {
    const { caller, chargedEntry } = call;
    if (caller === null || chargedEntry === null) return;
    call.chargedEntry = null;
    this.#access
      .ledger()
      .refund(balanceId(caller.accountId, call.pool), chargedEntry)
      .catch((error: unknown) =>
        this.#log.error(
          { requestId: call.requestId, entry: chargedEntry, reason: messageOf(error), err: error },
          'refund of a charge failed',
        ),
      );
  }

  /**
   * Gate → work → commit. The reservation is released in every case.
   *
   * @param keep - the response is whole, and stored here; undefined if nothing stores it
   */
  async charge<Body>(
    call: Call,
    route: Route,
    body: Body,
    work: ChargedWork<Body> | PurchaseWork<Body>,
    keep: KeptAnswer | undefined,
  ): Promise<ChargedResponse> {
    call.credits = ('cost' in work ? work.cost?.(body) : undefined) ?? route.credits;
    const { storedAnswer, reservation } = await this.#admitter.admitted(call, route, {
      slot: keep?.slot ?? null,
      credits: call.credits,
    });
    if (storedAnswer !== null && keep !== undefined)
      return wholeResponse(replayed(storedAnswer, keep.bodyHash, hashBytes(keep.bytes)));
    if (reservation === null)
      throw new AssayError('INTERNAL', 'A charged request was admitted without a reservation of credits.');
    const ledger = this.#access.ledger();
    const requireClient = (): void => {
      if (keep === undefined && call.exchange.isGone) throw new ClientGone();
    };
    const { chargeType: type } = route;
    const reference = referenceOf(route, work.subjects?.(body) ?? []);
    /** Returns the charge for work that books it itself. */
    const purchase = (): Purchase => ({
      ...{ type, amount: call.credits, pool: call.pool, reference, ignored: call.ignored },
      keep: keep ?? null,
      beginCharge() {
        requireClient();
        ledger.release(reservation);
      },
    });
    let pooled: PooledJson | null = null;
    try {
      if ('purchase' in work)
        return await this.#purchase(call, () => work.purchase(call, body, purchase()), keep);
      const result = await work.answer(call, body);
      pooled = result.release === undefined ? null : result;
      const stored = work.store === undefined ? null : work.store(call, body, result, purchase());
      if (stored !== null) return wholeResponse(await stored);
      requireClient();
      const isInParts = pooled !== null && keep === undefined && !work.bare;
      const data = isInParts ? result.json : takeJson(result);
      const done = await ledger.commit(reservation, {
        type,
        amount: call.credits,
        reference,
        answer(remaining) {
          if (work.bare) return withIgnored(data, call.ignored);
          // The balance of payers is that of many.
          const shown = call.payer === null ? remaining : 0;
          return isInParts ? creditsMember(shown) : chargedEnvelope(data, shown, call.ignored);
        },
        // A payment that was worth nothing is good for another request, so its answer is not kept in its place.
        ...(keep === undefined || (call.payer !== null && call.credits === 0)
          ? {}
          : { keep: { slot: keep.slot, bodyHash: keep.bodyHash } }),
      });
      call.chargedEntry = done.entry?.id ?? null;
      const response = { body: done.answer, replayed: done.replayed, data: isInParts ? pooled : null };
      if (isInParts) pooled = null;
      return response;
    } finally {
      pooled?.release?.();
      ledger.release(reservation);
    }
  }
}
