/**
 * Charged operations of the pipeline: gate → work → commit. The response is created inside the commit, so it is never sent before
 * its charge is on disk. If any step fails before the commit, nothing is charged.
 */
import type { Admission, Asked } from '../accounts/gate.ts';
import {
  answerSlot,
  createIdempotency,
  hashBody,
  type IdempotentAnswer,
  replayed,
} from '../accounts/idempotency.ts';
import type { Charge } from '../accounts/ledger.ts';
import { AssayError, messageOf } from '../base/errors.ts';
import type { Call } from './call.ts';
import type { HttpDeps } from './ports.ts';
import type { Route } from './routes.ts';

/** Work of an operation that costs credits. `Body` is the type of its validated request body. */
export interface ChargedWork<Body> {
  /** Credits for this body, reserved before the work begins. Default: the credits of the route. */
  readonly cost?: (body: Body) => number;
  /** Parts of the ledger reference after the operation: the addresses and the chain. Empty parts are left out. */
  readonly subjects?: (body: Body) => readonly string[];
  /** The result of the work is the whole response, an object without an envelope. */
  readonly bare?: true;
  /** Does the work and returns the JSON text of `data`. It may lower `call.credits` if the work turns out to be worth less. */
  readonly answer: (call: Call, body: Body) => Promise<Uint8Array>;
}

export interface Charging {
  /**
   * Reads the Idempotency-Key of an authenticated request while its headers can be read.
   *
   * @throws INVALID_REQUEST
   */
  prepare(call: Call): void;
  /**
   * Reserves the credits for the body, works, charges, and resolves with the whole response. If it rejects, nothing was charged.
   *
   * @param readBody - parses and validates the body
   * @throws CREDITS_EXHAUSTED and the errors of the steps
   */
  answer<Body>(
    call: Call,
    route: Route,
    bytes: Uint8Array,
    readBody: (bytes: Uint8Array) => Body,
    work: ChargedWork<Body>,
  ): Promise<Uint8Array>;
  /** Refunds the charge of a request if its response could not be sent. */
  refund(call: Call): void;
}

/** Header line of a response that was stored for an earlier request. */
export const REPLAYED = '\r\nIdempotency-Replayed: true';

/** Returns the ledger reference of a charge: the operation, then its subjects. */
export const referenceOf = ({ path }: Pick<Route, 'path'>, subjects: readonly string[]): string =>
  [path.slice(1), ...subjects].filter((part) => part !== '').join(' ');

/** Puts `data` into the envelope, with the balance after the charge. */
function envelopeOf(data: Uint8Array, remaining: number, ignored: readonly string[] | null): Uint8Array {
  const rest = ignored === null ? '' : `,"ignored":${JSON.stringify(ignored)}`;
  return Buffer.concat([
    Buffer.from('{"success":true,"data":'),
    data,
    Buffer.from(`,"credits":{"remaining":${remaining}}${rest}}`),
  ]);
}

/** A response without an envelope. Unknown fields of the body are appended as `ignored`. */
function bareOf(data: Uint8Array, ignored: readonly string[] | null): Uint8Array {
  if (ignored === null) return data;
  return Buffer.concat([data.subarray(0, -1), Buffer.from(`,"ignored":${JSON.stringify(ignored)}}`)]);
}

export interface ChargingDeps extends Pick<HttpDeps, 'access' | 'log'> {
  /** Admits the request at the gate, which counts it; throws the error that refuses it. */
  readonly admit: (call: Call, route: Route, wants: Pick<Asked, 'slot' | 'credits'>) => Promise<Admission>;
}

/** Creates the charging steps of the pipeline. */
export function createCharging({ access, log, admit }: ChargingDeps): Charging {
  const idempotency = createIdempotency();

  /** Gate → work → commit. The reservation is released in every case. */
  async function charged<Body>(
    call: Call,
    route: Route,
    body: Body,
    work: ChargedWork<Body>,
    keep: Charge['keep'],
  ): Promise<IdempotentAnswer> {
    call.credits = work.cost?.(body) ?? route.credits;
    const { kept, reservation } = await admit(call, route, {
      slot: keep?.slot ?? null,
      credits: call.credits,
    });
    if (kept !== null && keep !== undefined) return replayed(kept, keep.bodyHash);
    if (reservation === null)
      throw new AssayError('INTERNAL', 'A charged operation was let in without credits.');
    const ledger = access.ledger();
    try {
      const data = await work.answer(call, body);
      if (keep === undefined && call.exchange.isGone)
        throw new AssayError('INTERNAL', 'The client went away before it was answered; nothing was charged.');
      const done = await ledger.commit(reservation, {
        type: route.chargeType,
        amount: call.credits,
        reference: referenceOf(route, work.subjects?.(body) ?? []),
        answer: (remaining) =>
          work.bare ? bareOf(data, call.ignored) : envelopeOf(data, remaining, call.ignored),
        ...(keep === undefined ? {} : { keep }),
      });
      call.chargedEntry = done.entry?.id ?? null;
      return { body: done.answer, replayed: done.replayed };
    } finally {
      ledger.release(reservation);
    }
  }

  return {
    prepare(call) {
      const { exchange, caller } = call;
      const key = exchange.header('idempotency-key');
      if (key === '' || caller === null) return;
      call.answerSlot = answerSlot(caller.accountId, exchange.method, exchange.path, key);
    },

    async answer(call, route, bytes, readBody, work) {
      const body = readBody(bytes);
      const slot = call.answerSlot;
      if (slot === null) return (await charged(call, route, body, work, undefined)).body;
      const bodyHash = hashBody(bytes);
      const answer = await idempotency.run(slot, bodyHash, () =>
        charged(call, route, body, work, { slot, bodyHash }),
      );
      // A request that waited for the response of another one with the same key counts as a request too.
      if (!call.isCounted) await admit(call, route, { slot: null, credits: null });
      if (answer.replayed) call.lines += REPLAYED;
      return answer.body;
    },

    refund(call) {
      const { caller, chargedEntry } = call;
      if (caller === null || chargedEntry === null) return;
      call.chargedEntry = null;
      access
        .ledger()
        .refund(caller.accountId, chargedEntry)
        .catch((error: unknown) =>
          log.error(
            { requestId: call.requestId, entry: chargedEntry, err: error },
            `a charge was not refunded: ${messageOf(error)}`,
          ),
        );
    },
  };
}
