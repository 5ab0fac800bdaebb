/**
 * The ledger in Redis: each read or change of an account is one Lua script. A reservation is a hold that expires, so that a dead node frees
 * its credits. If the reply of a charge is lost, it is unknown whether the charge was made. With an Idempotency-Key, a repeated request
 * finds it; without one, it is undone as soon as Redis replies again.
 */
import { isoTime } from '../../base/clock.ts';
import { AssayError } from '../../base/errors.ts';
import { LIMITS } from '../../base/limits.ts';
import type { Logger } from '../../base/log.ts';
import { invalidCursor } from '../../base/paging.ts';
import { creditsExhausted, LEDGER_TYPES, monthEnd, monthOf, renewalOf } from '../credits.ts';
import { otherBody } from '../idempotency.ts';
import type {
  AnswerSlot,
  Balance,
  Booking,
  BookingResult,
  Charge,
  ChargeResult,
  Ledger,
  LedgerEntry,
  LedgerReport,
  Reservation,
  Settlement,
  StoredAnswer,
  UsageOptions,
  UsagePage,
} from '../ledger.ts';
import { belowZero, checkBooking, checkSettlement } from '../ledger-checks.ts';
import { dayOf, daysOfRuns, EMPTY_HEAD, totalsSince } from '../ledger-entry.ts';
import { ACCOUNT_LIMITS } from '../limits.ts';
import { OUTCOME } from './account-lua.ts';
import {
  type AccountSteps,
  accountEntryId,
  accountEntryIdOf,
  bytesAt,
  entryNamed,
  listAt,
  numberAt,
  type Reply,
  readEntry,
  shownAccountEntry,
} from './account-steps.ts';
import { joined, partsOf } from './answer-parts.ts';
import { checkAccounts } from './ledger-verify.ts';
import { type Hold, PendingSteps } from './pending-steps.ts';

export interface RedisLedgerDeps {
  readonly steps: AccountSteps;
  readonly log: Logger;
  /** Free credits per month of an account; 0 if it has none (yet). */
  readonly freeCredits: (accountId: string) => number;
}

/** The ledger, with the functions that the gate needs to reserve credits in its own step. */
export interface RedisLedger extends Ledger {
  /** Registers a hold that the gate placed with a nonce, at the server's time. */
  addHold(accountId: string, amount: number, nonce: string, serverMs: number): Reservation;
  /** Releases a hold that may or may not have been placed. */
  releaseUncertain(accountId: string, amount: number, nonce: string): void;
  /** Returns the 402 error of an account with `balance`, of which requests hold `holding`. */
  shortage(accountId: string, needed: number, balance: number, holding: number, serverMs: number): AssayError;
}

/** Replaces an error that asks the client to try again. */
function undecided(error: unknown): unknown {
  if (!(error instanceof AssayError) || error.code !== 'NOT_READY') return error;
  return new AssayError(
    'NOT_READY',
    `It is unknown whether the credits were booked. Check the entries of the account before you retry. ${error.message}`,
    { cause: error },
  );
}

/** Returns a reference as the log has it, cut and in UTF-8. */
const storedReference = (reference: string | null): string | null =>
  reference === null ? null : Buffer.from(reference.slice(0, ACCOUNT_LIMITS.ledgerReferenceMax)).toString();

/** Encodes a reference for a step: whether there is one, and its text. */
const referenceArgs = (reference: string | null): readonly [string, string] =>
  reference === null ? ['', ''] : ['1', storedReference(reference) ?? ''];

const kindOf = (type: (typeof LEDGER_TYPES)[number]): number => LEDGER_TYPES.indexOf(type);

/** Returns the entry of a charge by the reply of its commit, which has only what the node does not know; null for none. */
function chargedEntry({ type, amount, reference }: Charge, nonce: string, reply: Reply): LedgerEntry | null {
  const [remaining, sequence, at] = [numberAt(reply, 2), numberAt(reply, 3), numberAt(reply, 4)];
  if (sequence === 0) return null;
  return {
    id: accountEntryIdOf(sequence, nonce),
    amount: -amount,
    balance: remaining,
    type,
    reference: storedReference(reference),
    createdAt: isoTime(at),
  };
}

/** Creates the ledger over Redis. */
export function createRedisLedger(deps: RedisLedgerDeps): RedisLedger {
  return new LedgerOnRedis(deps);
}

/** Reservations of this process, and the steps that change accounts. */
class LedgerOnRedis implements RedisLedger {
  readonly #steps: AccountSteps;
  readonly #freeCredits: (accountId: string) => number;
  /** Reservations of this process that have not ended. */
  readonly #holds = new Map<Reservation, Hold>();
  readonly #pending: PendingSteps;
  #isClosed = false;

  constructor(deps: RedisLedgerDeps) {
    this.#steps = deps.steps;
    this.#freeCredits = deps.freeCredits;
    this.#pending = new PendingSteps(deps);
  }

  addHold(accountId: string, amount: number, nonce: string, since: number): Reservation {
    const reservation: Reservation = { accountId, amount };
    this.#holds.set(reservation, { accountId, amount, nonce, since });
    return reservation;
  }

  releaseUncertain(accountId: string, amount: number, nonce: string): void {
    if (amount > 0) this.#pending.add({ operation: 'release', accountId, amount, nonce, since: 0 });
  }

  shortage(
    accountId: string,
    needed: number,
    balance: number,
    holding: number,
    serverMs: number,
  ): AssayError {
    const available = Math.max(0, balance - holding);
    return creditsExhausted({
      needed,
      available,
      held: Math.max(0, balance - available),
      freeCredits: this.#freeCredits(accountId),
      renewsAt: monthEnd(monthOf(serverMs)),
    });
  }

  async reserve(accountId: string, amount: number): Promise<Reservation> {
    const nonce = this.#steps.nonce();
    // The same arguments as the gate, for credits only.
    const args = [null, null, null, null, null, null, amount, nonce, ACCOUNT_LIMITS.ledgerHoldMs];
    try {
      const reply = await this.#steps.run('admit', accountId, [...args, this.#freeCredits(accountId), null], {
        mark: nonce,
      });
      const serverMs = numberAt(reply, 1);
      if (numberAt(reply, 0) === OUTCOME.creditsExhausted)
        throw this.shortage(accountId, amount, numberAt(reply, 8), numberAt(reply, 9), serverMs);
      return this.addHold(accountId, amount, nonce, serverMs);
    } catch (error) {
      if (error instanceof AssayError && error.code === 'NOT_READY')
        this.releaseUncertain(accountId, amount, nonce);
      throw error;
    }
  }

  async commit(reservation: Reservation, charge: Charge): Promise<ChargeResult> {
    const hold = this.#holds.get(reservation);
    if (hold === undefined) throw new AssayError('INTERNAL', 'The reservation has already ended.');
    if (!Number.isInteger(charge.amount) || charge.amount < 0 || charge.amount > reservation.amount)
      throw new AssayError('INTERNAL', 'The charge exceeds the reserved credits.');
    const { accountId, amount: holding, nonce, since } = hold;
    const { keep } = charge;
    let parts: readonly Buffer[];
    try {
      // Sixteen digits that begin with 8 are an integer that a double holds exactly.
      parts = partsOf(charge.answer, Number(`8${this.#steps.nonce().slice(1)}`));
    } catch (error) {
      // If the response cannot be built, nothing is charged.
      this.release(reservation);
      throw error;
    }
    this.#holds.delete(reservation);
    const args = [
      ...[nonce, holding, charge.amount, kindOf(charge.type), ...referenceArgs(charge.reference)],
      ...[this.#freeCredits(accountId), since],
      ...(keep === undefined ? [null] : [LIMITS.idempotencyMs, keep.bodyHash, ...parts]),
    ];
    let reply: Reply;
    try {
      const keys = { mark: nonce, ...(keep === undefined ? {} : { slot: keep.slot }) };
      reply = await this.#change('commit', accountId, args, keys);
    } catch (error) {
      // With a stored response, a repeated request finds the charge; a charge without one would never get a response, so it is undone.
      const operation = keep === undefined && charge.amount > 0 ? 'undo' : 'release';
      if (holding > 0) this.#pending.add({ ...hold, operation });
      throw error;
    }
    const [outcome, serverMs, remaining] = [numberAt(reply, 0), numberAt(reply, 1), numberAt(reply, 2)];
    if (outcome === OUTCOME.otherBody) throw otherBody();
    if (outcome === OUTCOME.creditsExhausted)
      throw this.shortage(accountId, charge.amount, remaining, 0, serverMs);
    if (outcome === OUTCOME.voided)
      throw new AssayError('NOT_READY', 'The charge arrived too late and was not made. Retry the request.', {
        retryAfterSeconds: 1,
      });
    const isKept = outcome === OUTCOME.kept;
    return {
      entry: isKept ? null : chargedEntry(charge, nonce, reply),
      remaining,
      answer: isKept ? bytesAt(reply, 3) : joined(parts, remaining),
      replayed: isKept,
    };
  }

  release(reservation: Reservation): void {
    const hold = this.#holds.get(reservation);
    if (hold === undefined) return;
    this.#holds.delete(reservation);
    if (hold.amount === 0) return;
    this.#steps
      .run('release', hold.accountId, [hold.nonce, hold.amount, null])
      .catch(() => this.releaseUncertain(hold.accountId, hold.amount, hold.nonce));
  }

  async refund(accountId: string, id: string): Promise<LedgerEntry> {
    const unknown = (): AssayError =>
      new AssayError('NOT_FOUND', `The account has no charge '${id}'.`, { field: 'id' });
    const named = entryNamed(id);
    if (named === null) throw unknown();
    const args = [this.#steps.nonce(), named.sequence, named.nonce, this.#freeCredits(accountId)];
    const reply = await this.#change('refund', accountId, args);
    if (numberAt(reply, 0) === OUTCOME.unknown) throw unknown();
    return shownAccountEntry(readEntry(listAt(reply, 1)));
  }

  async settle(settlement: Settlement): Promise<LedgerEntry | null> {
    checkSettlement(settlement);
    const { accountId, type, once, total, reference } = settlement;
    const args = [
      this.#steps.nonce(),
      kindOf(type),
      total,
      ...referenceArgs(reference),
      this.#freeCredits(accountId),
    ];
    const reply = await this.#change('settle', accountId, [...args, once]);
    const [outcome, serverMs, missing, balance, holding] = reply.map(Number) as [
      number,
      number,
      number,
      number,
      number,
    ];
    if (outcome === OUTCOME.creditsExhausted)
      throw this.shortage(accountId, missing, balance, holding, serverMs);
    return outcome === OUTCOME.repeated ? null : shownAccountEntry(readEntry(listAt(reply, 1)));
  }

  async book(booking: Booking): Promise<BookingResult> {
    checkBooking(booking);
    const { accountId, type, amount, reference, once, mayOwe } = booking;
    const nonce = this.#steps.nonce();
    const args = [nonce, kindOf(type), amount, ...referenceArgs(reference), this.#freeCredits(accountId)];
    const rest = [once ?? null, mayOwe === true ? '1' : null, ACCOUNT_LIMITS.ledgerMarkMs];
    const reply = await this.#change('book', accountId, [...args, ...rest], { mark: `book:${nonce}` }).catch(
      (error: unknown) => {
        // A caller that repeats a booking without a name would book twice.
        throw once === undefined ? undecided(error) : error;
      },
    );
    const outcome = numberAt(reply, 0);
    if (outcome === OUTCOME.belowZero) throw belowZero(numberAt(reply, 1));
    return {
      entry: shownAccountEntry(readEntry(listAt(reply, 1))),
      repeated: outcome === OUTCOME.repeated,
    };
  }

  async balance(accountId: string): Promise<Balance> {
    return this.#balanceOf(await this.#steps.run('balance', accountId, [this.#freeCredits(accountId)]));
  }

  async usage(accountId: string, { limit, cursor, untilMs }: UsageOptions): Promise<UsagePage> {
    const from = cursor === undefined ? null : entryNamed(cursor);
    if (cursor !== undefined && from === null) throw invalidCursor();
    const reply = await this.#steps.run('usage', accountId, [
      ...[this.#steps.nonce(), this.#freeCredits(accountId), limit],
      ...[from?.sequence ?? null, from?.nonce ?? null, ACCOUNT_LIMITS.usageDaysMax],
      untilMs === undefined ? null : dayOf(untilMs),
    ]);
    if (numberAt(reply, 0) === OUTCOME.unknown) throw invalidCursor();
    const history = listAt(reply, 2).map((row) => readEntry(row as Reply));
    const next = history.length > limit ? history[limit] : undefined;
    const days = listAt(reply, 3).map((row) => readEntry(row as Reply).stored);
    return {
      ...this.#balanceOf(listAt(reply, 1)),
      history: history.slice(0, limit).map(shownAccountEntry),
      nextCursor: next === undefined ? null : accountEntryId(next),
      totals: {
        byType: totalsSince((days[0] ?? EMPTY_HEAD).sums, EMPTY_HEAD.sums),
        byDay: daysOfRuns(
          days.slice(0, ACCOUNT_LIMITS.usageDaysMax).map((last, at) => ({
            day: isoTime(last.at).slice(0, 10),
            byType: totalsSince(last.sums, (days[at + 1] ?? EMPTY_HEAD).sums),
          })),
        ),
      },
    };
  }

  async storedAnswer(accountId: string, slot: AnswerSlot): Promise<StoredAnswer | null> {
    const reply = await this.#steps.run('kept', accountId, [LIMITS.idempotencyMs], { slot });
    if (numberAt(reply, 0) === OUTCOME.unknown) return null;
    return { bodyHash: bytesAt(reply, 1), body: bytesAt(reply, 2) };
  }

  verify(onProgress?: (checked: number, total: number) => void): Promise<LedgerReport> {
    return checkAccounts(this.#steps.redis, onProgress ?? (() => {}));
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#pending.stopRetrying();
    const left = [...this.#holds.values()].filter(({ amount }) => amount > 0);
    this.#holds.clear();
    // Holds that cannot be released now expire.
    await Promise.allSettled(
      left.map(({ accountId, nonce, amount }) =>
        this.#steps.run('release', accountId, [nonce, amount, null]),
      ),
    );
    await this.#pending.close();
  }

  /** Runs a step that changes an account. */
  async #change(...step: Parameters<AccountSteps['run']>): Promise<Reply> {
    if (this.#isClosed) throw new AssayError('LEDGER_UNAVAILABLE', 'The ledger is closed.');
    return this.#steps.runSafely(...step);
  }

  /** Decodes a reply of balance, free, granted, held, the server's time and the month of the free credits. */
  #balanceOf(reply: Reply): Balance {
    const [balance, free, granted, holding, serverMs, month] = reply.map(Number) as [
      number,
      number,
      number,
      number,
      number,
      number,
    ];
    return {
      balance,
      free,
      granted,
      bought: balance - free - granted,
      held: holding,
      renewsAt: renewalOf(month, serverMs),
    };
  }
}
