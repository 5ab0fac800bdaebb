/**
 * The part of the pipeline that credits pass through: gate → work → commit, with the answer made inside the commit. Nothing is
 * sent before its charge is on the disk, and whatever fails before is not charged.
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

/** What an operation that costs credits does. */
export interface ChargedWork {
  /** Credits that this body asks for; the route's where left out. Reserved before the work begins. */
  readonly cost?: (body: unknown) => number;
  /** What the work answers is the whole answer, an object, that stands in no envelope. */
  readonly bare?: true;
  /** May lower `call.credits` to what the work was worth in the end. JSON text of `data`. */
  readonly answer: (call: Call, body: unknown) => Promise<Uint8Array>;
}

export interface Charging {
  /** Takes the Idempotency-Key of an admitted request while its headers can be read. Throws INVALID_REQUEST. */
  prepare(call: Call): void;
  /**
   * Takes what the body asks for, works, charges, and resolves with the whole answer; `readBody` parses and checks the body. Rejects
   * with what the steps throw, CREDITS_EXHAUSTED among it; then nothing was charged.
   */
  answer(
    call: Call,
    route: Route,
    bytes: Uint8Array,
    readBody: (bytes: Uint8Array) => unknown,
    work: ChargedWork,
  ): Promise<Uint8Array>;
  /** Gives back what a request was charged whose answer could not be sent after all. */
  refund(call: Call): void;
}

/** Header line of an answer that an earlier request got. */
export const REPLAYED = '\r\nIdempotency-Replayed: true';

const text = (value: unknown): string => (typeof value === 'string' ? value : '');

/** The operation, what it was about, and the chain. */
export function referenceOf(route: Route, body: unknown): string {
  const { address, walletAddress, from, to, chain } = body as Readonly<Record<string, unknown>>;
  const subjects = [text(address) || text(walletAddress), text(from), text(to)];
  return [route.path.slice(1), ...subjects, text(chain).toUpperCase()]
    .filter((part) => part !== '')
    .join(' ');
}

/** The envelope around `data`, with the balance after the charge. */
function envelopeOf(data: Uint8Array, remaining: number, ignored: readonly string[] | null): Uint8Array {
  const rest = ignored === null ? '' : `,"ignored":${JSON.stringify(ignored)}`;
  return Buffer.concat([
    Buffer.from('{"success":true,"data":'),
    data,
    Buffer.from(`,"credits":{"remaining":${remaining}}${rest}}`),
  ]);
}

/** An answer without an envelope, with the fields nobody knew at its end. */
function bareOf(data: Uint8Array, ignored: readonly string[] | null): Uint8Array {
  if (ignored === null) return data;
  return Buffer.concat([data.subarray(0, -1), Buffer.from(`,"ignored":${JSON.stringify(ignored)}}`)]);
}

export interface ChargingDeps extends Pick<HttpDeps, 'access' | 'log'> {
  /** The gate, which counts the request and throws what refuses it. */
  readonly admit: (call: Call, route: Route, wants: Pick<Asked, 'slot' | 'credits'>) => Promise<Admission>;
}

export function createCharging({ access, log, admit }: ChargingDeps): Charging {
  const idempotency = createIdempotency();

  /** Gate → work → commit. Ends the reservation either way. */
  async function charged(
    call: Call,
    route: Route,
    body: unknown,
    work: ChargedWork,
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
        reference: referenceOf(route, body),
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
      // One that waited for another's answer is a request all the same.
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
