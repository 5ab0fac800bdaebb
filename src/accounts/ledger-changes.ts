/**
 * The changes of the ledger on LMDB: charge, booking, refund, settlement and month change. Each runs inside a transaction of the store; if
 * it throws an AssayError, it has written nothing.
 */
import type { Clock } from '../base/clock.ts';
import { AssayError } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import {
  type CreditState,
  creditsExhausted,
  type LedgerType,
  monthOf,
  monthTurn,
  renewalOf,
  spend,
} from './credits.ts';
import { otherBody } from './idempotency.ts';
import type {
  AnswerSlot,
  Booking,
  BookingResult,
  Charge,
  ChargeResult,
  LedgerEntry,
  Reservation,
  Settlement,
  StoredAnswer,
} from './ledger.ts';
import { belowZero } from './ledger-checks.ts';
import { EMPTY_HEAD, entryId, follow, type StoredEntry, sequenceOf, shownEntry } from './ledger-entry.ts';
import type { LedgerStore } from './ledger-store.ts';
import { ACCOUNT_LIMITS } from './limits.ts';
import { accountOfBalance } from './pools.ts';

/** A stored response and its time. */
interface AnswerRow {
  /** Milliseconds since the epoch. */
  readonly storedAt: number;
  readonly answer: StoredAnswer;
}

/** f64 storage time, 32 bytes of hash, then the response. */
const ANSWER_HEAD = 8 + 32;

function encodeAnswer(storedAt: number, bodyHash: Uint8Array, body: Uint8Array): Buffer {
  const bytes = Buffer.allocUnsafe(ANSWER_HEAD + body.length);
  bytes.writeDoubleLE(storedAt, 0);
  bytes.set(bodyHash, 8);
  bytes.set(body, ANSWER_HEAD);
  return bytes;
}

/** Decodes a stored response. */
export function decodeAnswer(bytes: Buffer): AnswerRow {
  return {
    storedAt: bytes.readDoubleLE(0),
    answer: {
      bodyHash: Buffer.from(bytes.subarray(8, ANSWER_HEAD)),
      body: Buffer.from(bytes.subarray(ANSWER_HEAD)),
    },
  };
}

/** Returns a key that sorts by time, so the response that expires first has the first key. */
function endingKey(storedAt: number, slot: AnswerSlot): Buffer {
  const key = Buffer.allocUnsafe(8 + slot.length);
  key.writeBigUInt64BE(BigInt(Math.max(0, Math.floor(storedAt))), 0);
  key.set(slot, 8);
  return key;
}

/** Truncates a reference that is longer than any legitimate one: references are only displayed. */
const bounded = (reference: string | null): string | null =>
  reference === null ? null : reference.slice(0, ACCOUNT_LIMITS.ledgerReferenceMax);

export interface LedgerChangesDeps {
  readonly clock: Clock;
  readonly store: LedgerStore;
  /** Free credits per month of an account; 0 if it has none (yet). */
  readonly freeCredits: (accountId: string) => number;
  /** Credits that running requests have reserved. */
  readonly heldOf: (accountId: string) => number;
}

/** Applies changes to a ledger file. */
export class LedgerChanges {
  readonly #clock: Clock;
  readonly #store: LedgerStore;
  readonly #freeCredits: (accountId: string) => number;
  readonly #heldOf: (accountId: string) => number;

  constructor(deps: LedgerChangesDeps) {
    this.#clock = deps.clock;
    this.#store = deps.store;
    this.#freeCredits = deps.freeCredits;
    this.#heldOf = deps.heldOf;
  }

  /** Returns the state of an account after the entries of a month change. */
  due(accountId: string, state: CreditState): CreditState {
    const turns = monthTurn(state, monthOf(this.#clock.now()), this.#freeCredits(accountId));
    return turns.at(-1)?.after ?? state;
  }

  /** Returns the 402 error of an account with the state `state`, of which running requests hold `held`. */
  shortage(
    accountId: string,
    needed: number,
    { balance, month }: Pick<CreditState, 'balance' | 'month'>,
    held: number,
  ): AssayError {
    const available = Math.max(0, balance - held);
    return creditsExhausted({
      needed,
      available,
      held: Math.max(0, balance - available),
      freeCredits: this.#freeCredits(accountId),
      renewsAt: renewalOf(month, this.#clock.now()),
    });
  }

  /** Returns the stored response of a slot, unless it has expired. */
  storedAnswer(slot: AnswerSlot): StoredAnswer | null {
    const row = this.#readAnswer(slot);
    return row !== null && this.#isLive(row) ? row.answer : null;
  }

  /** Returns true if the entries of a month change are due. */
  isMonthDue(accountId: string): boolean {
    const head = this.#store.headOf(accountId);
    return monthTurn(head, monthOf(this.#clock.now()), this.#freeCredits(accountId)).length > 0;
  }

  /** Writes the entries of a month change, if any are due. */
  settleMonth(accountId: string): void {
    const head = this.#store.pendingHead(accountId);
    const turns = monthTurn(head, monthOf(this.#clock.now()), this.#freeCredits(accountId));
    for (const { type, amount, after } of turns) this.#append(accountId, type, amount, after, null);
  }

  /**
   * Writes a charge and its stored response, or returns the response that its slot already holds.
   *
   * @throws CREDITS_EXHAUSTED, INVALID_REQUEST if the slot holds the response to another body
   */
  charge({ accountId }: Reservation, charge: Charge): ChargeResult {
    if (charge.keep !== undefined) {
      const stored = this.storedAnswer(charge.keep.slot);
      if (stored !== null) {
        if (!charge.keep.bodyHash.every((byte, at) => byte === stored.bodyHash[at])) throw otherBody();
        const remaining = this.due(accountId, this.#store.pendingHead(accountId)).balance;
        return { entry: null, remaining, answer: stored.body, replayed: true };
      }
    }
    this.settleMonth(accountId);
    const head = this.#store.pendingHead(accountId);
    if (charge.amount > 0 && head.balance < charge.amount)
      throw this.shortage(accountId, charge.amount, head, 0);
    // Rendered before anything is written: if the response cannot be built, nothing is charged.
    const answer = charge.answer(head.balance - charge.amount);
    const entry =
      charge.amount === 0
        ? null
        : this.#append(
            accountId,
            charge.type,
            -charge.amount,
            spend(head, charge.amount),
            bounded(charge.reference),
          );
    if (charge.keep !== undefined) this.#storeAnswer(accountId, charge.keep, answer);
    return {
      entry: entry === null ? null : shownEntry(entry),
      remaining: head.balance - charge.amount,
      answer,
      replayed: false,
    };
  }

  /** Writes a booking, unless its event was booked before. Throws INVALID_REQUEST if the balance would become negative. */
  book(booking: Booking): BookingResult {
    const { accountId, type, amount, reference } = booking;
    const { once } = this.#store;
    const before = booking.once === undefined ? undefined : once.get(booking.once);
    if (before !== undefined) return { entry: shownEntry(this.#store.readEntry(before)), repeated: true };
    this.settleMonth(accountId);
    const head = this.#store.pendingHead(accountId);
    if (amount < 0 && head.balance + amount < 0 && booking.mayOwe !== true) throw belowZero(head.balance);
    const after: CreditState =
      amount < 0
        ? spend(head, -amount)
        : {
            balance: head.balance + amount,
            free: head.free,
            granted: head.granted + (type === 'GRANT' ? amount : 0),
            month: head.month,
          };
    const entry = this.#append(accountId, type, amount, after, bounded(reference));
    if (booking.once !== undefined) once.putSync(booking.once, entry.sequence);
    return { entry: shownEntry(entry), repeated: false };
  }

  /** Refunds a charge once. Throws NOT_FOUND. */
  refund(accountId: string, id: string): LedgerEntry {
    const store = this.#store;
    const sequence = sequenceOf(id);
    const unknown = (): AssayError =>
      new AssayError('NOT_FOUND', `The account has no charge '${id}'.`, { field: 'id' });
    if (sequence === null || sequence < 1 || sequence > store.lastPending) throw unknown();
    const charge = store.readEntry(sequence);
    const isCharge = charge.type === 'SCREENING' || charge.type === 'DEDUCTION';
    if (charge.accountId !== accountId || !isCharge) throw unknown();
    const event = `refund:${entryId(sequence)}`;
    const before = store.once.get(event);
    if (before !== undefined) return shownEntry(store.readEntry(before));
    this.settleMonth(accountId);
    const head = store.pendingHead(accountId);
    const earlier = charge.before === 0 ? EMPTY_HEAD : store.readEntry(charge.before);
    // Free credits are returned as free ones, even in a later month: they expire with that month.
    const after: CreditState = {
      balance: head.balance - charge.amount,
      free: head.free + Math.max(0, earlier.free - charge.free),
      granted: head.granted + Math.max(0, earlier.granted - charge.granted),
      month: head.month,
    };
    const entry = this.#append(accountId, 'REFUND', -charge.amount, after, charge.reference);
    store.once.putSync(event, entry.sequence);
    return shownEntry(entry);
  }

  /**
   * Sets the total cost of an event. Bought credits are returned first, free ones last: credits that would expire with the month count as
   * spent. Throws CREDITS_EXHAUSTED.
   */
  settle({ accountId, type, once: event, total, reference }: Settlement): LedgerEntry | null {
    const { costs } = this.#store;
    const cost = costs.get(event) ?? { accountId, total: 0, free: 0, granted: 0 };
    if (cost.accountId !== accountId)
      throw new AssayError('INTERNAL', `The event '${event}' belongs to another account.`);
    const missing = total - cost.total;
    if (missing === 0) return null;
    this.settleMonth(accountId);
    const head = this.#store.pendingHead(accountId);
    const held = this.#heldOf(accountId);
    if (missing > 0 && head.balance - held < missing) throw this.shortage(accountId, missing, head, held);
    const back = Math.max(0, -missing);
    const granted = Math.min(cost.granted, Math.max(0, back - (cost.total - cost.free - cost.granted)));
    const free = Math.max(0, back - (cost.total - cost.free));
    const after: CreditState =
      missing > 0
        ? spend(head, missing)
        : {
            balance: head.balance + back,
            free: head.free + free,
            granted: head.granted + granted,
            month: head.month,
          };
    costs.putSync(event, {
      accountId,
      total,
      free: cost.free + head.free - after.free,
      granted: cost.granted + head.granted - after.granted,
    });
    const entryType = missing > 0 ? type : 'REFUND';
    return shownEntry(this.#append(accountId, entryType, -missing, after, bounded(reference)));
  }

  #append(
    accountId: string,
    type: LedgerType,
    amount: number,
    after: CreditState,
    reference: string | null,
  ): StoredEntry {
    const store = this.#store;
    const sequence = store.lastPending + 1;
    const at = this.#clock.now();
    const head = store.pendingHead(accountId);
    const entry = follow(head, { sequence, accountId, at, type, amount, after, reference });
    store.append(entry);
    return entry;
  }

  /** If the clock moves backwards, keep replaying the stored response: replaying too long is better than charging twice. */
  #isLive(row: AnswerRow): boolean {
    return this.#clock.now() - row.storedAt < LIMITS.idempotencyMs;
  }

  #readAnswer(slot: AnswerSlot): AnswerRow | null {
    const bytes = this.#store.answers.get(Buffer.from(slot));
    return bytes === undefined ? null : decodeAnswer(bytes);
  }

  /** Removes stored responses that have expired, at most `limit`; returns their number. */
  removeAnswers(limit: number): number {
    const { answers, endings } = this.#store;
    const expired = this.#expired(limit);
    for (const key of expired) {
      endings.removeSync(key);
      answers.removeSync(Buffer.from(key.subarray(8)));
    }
    return expired.length;
  }

  /** Whether a stored response has expired. */
  hasExpiredAnswers(): boolean {
    return this.#expired(1).length > 0;
  }

  /** Returns the keys of the first responses that have expired. */
  #expired(limit: number): Buffer[] {
    const before = this.#clock.now() - LIMITS.idempotencyMs;
    return [...this.#store.endings.getRange({ limit })]
      .map(({ key }) => key)
      .filter((key) => Number(key.readBigUInt64BE(0)) <= before);
  }

  /** Stores a response, and removes a few that have expired. */
  #storeAnswer(accountId: string, { slot, bodyHash }: NonNullable<Charge['keep']>, body: Uint8Array): void {
    const { answers, endings } = this.#store;
    const now = this.#clock.now();
    this.removeAnswers(ACCOUNT_LIMITS.idempotencyPurgeMax);
    const old = this.#readAnswer(slot);
    if (old !== null) endings.removeSync(endingKey(old.storedAt, slot));
    answers.putSync(Buffer.from(slot), encodeAnswer(now, bodyHash, body));
    // The value is the account, because the slot does not contain it, and a transfer of the ledger needs it.
    endings.putSync(endingKey(now, slot), Buffer.from(accountOfBalance(accountId)));
  }
}
