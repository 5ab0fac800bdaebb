/**
 * The ledger on LMDB. Entries are appended in one global sequence, so a commit writes few, full pages, whichever accounts it concerns. Each
 * entry points to its account's previous entry; an index of last entries is written later in large slices. After a crash, the entries after
 * the index are read again. All changes of one turn share one transaction, and nothing is acknowledged before it is on the disk. Several
 * processes may write: each reads, inside its transaction, the entries that the others appended, so the newest balance always decides.
 */
import type { Clock } from '../base/clock.ts';
import { AssayError, messageOf } from '../base/errors.ts';
import { sweepHourly } from '../base/idle-sweep.ts';
import type { Logger } from '../base/log.ts';
import { invalidCursor } from '../base/paging.ts';
import { isStorageFull, STORAGE_RETRY_SECONDS } from '../state/storage.ts';
import { type CreditState, renewalOf } from './credits.ts';
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
} from './ledger.ts';
import { LedgerChanges } from './ledger-changes.ts';
import { checkBooking, checkSettlement } from './ledger-checks.ts';
import { sequenceOf } from './ledger-entry.ts';
import { LedgerPages } from './ledger-pages.ts';
import { LedgerStore } from './ledger-store.ts';
import { ACCOUNT_LIMITS } from './limits.ts';

export interface LedgerDeps {
  readonly clock: Clock;
  readonly log: Logger;
  /** Free credits per month of an account; 0 if it has none (yet). */
  readonly freeCredits: (accountId: string) => number;
}

/** A change that waits for its transaction. `apply` runs inside the transaction; if it throws an AssayError, it has written nothing. */
interface Change {
  readonly apply: () => unknown;
  /** For a charge: the reservation of its credits. */
  readonly reservation: Reservation | null;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: unknown) => void;
  outcome: { readonly result: unknown } | { readonly error: unknown } | null;
}

/** A ledger that reads synchronously from its memory and files. */
export interface EmbeddedLedger extends Ledger {
  reserve(accountId: string, amount: number): Reservation;
  balance(accountId: string): Balance;
  storedAnswer(accountId: string, slot: AnswerSlot): StoredAnswer | null;
  /** Removes all stored responses that have expired, some with each commit. The ledger does so every hour. */
  removeExpiredAnswers(): Promise<void>;
}

/**
 * Opens (or creates) the ledger file at `path`.
 *
 * @throws STORE_VERSION, STORE_CORRUPT
 */
export function openLedger(options: { path: string }, deps: LedgerDeps): EmbeddedLedger {
  return new LmdbLedger(options.path, deps);
}

function unavailable(cause: unknown): AssayError {
  const isFull = isStorageFull(cause);
  return new AssayError(
    isFull ? 'STORAGE_FULL' : 'LEDGER_UNAVAILABLE',
    `The ledger cannot be written: ${messageOf(cause).replace(/\.$/, '')}.`,
    { cause, ...(isFull ? { retryAfterSeconds: STORAGE_RETRY_SECONDS } : {}) },
  );
}

/** Credits reserved by running requests of this process. */
class Reservations {
  readonly #heldByAccount = new Map<string, number>();
  readonly #open = new WeakSet<Reservation>();

  heldOf(accountId: string): number {
    return this.#heldByAccount.get(accountId) ?? 0;
  }

  isOpen(reservation: Reservation): boolean {
    return this.#open.has(reservation);
  }

  /** @param held - the result of `heldOf` for the account */
  add(accountId: string, amount: number, held: number): Reservation {
    const reservation: Reservation = { accountId, amount };
    this.#open.add(reservation);
    if (amount > 0) this.#heldByAccount.set(accountId, held + amount);
    return reservation;
  }

  release(reservation: Reservation): void {
    if (!this.#open.delete(reservation)) return;
    const left = this.heldOf(reservation.accountId) - reservation.amount;
    if (left > 0) this.#heldByAccount.set(reservation.accountId, left);
    else this.#heldByAccount.delete(reservation.accountId);
  }
}

/** Reservations, and the queue of changes: one transaction at a time, with all changes that arrived while the previous one was written. */
class LmdbLedger implements EmbeddedLedger {
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #store: LedgerStore;
  readonly #changes: LedgerChanges;
  readonly #pages: LedgerPages;
  readonly #reservations = new Reservations();
  readonly #queue: Change[] = [];
  /** The changes of the current transaction. */
  #batch: readonly Change[] = [];
  #writing: Promise<void> | null = null;
  #isClosed = false;
  readonly #stopSweep: () => Promise<void>;

  constructor(path: string, { clock, log, freeCredits }: LedgerDeps) {
    this.#clock = clock;
    this.#log = log;
    // The balance already contains charges of this process that are not committed yet: release their reservations, so that these
    // credits are not counted twice.
    this.#store = new LedgerStore(path, { onOwnCommitRead: () => this.#releaseBatch() });
    this.#pages = new LedgerPages(this.#store);
    this.#changes = new LedgerChanges({
      clock,
      store: this.#store,
      freeCredits,
      heldOf: (accountId) => this.#reservations.heldOf(accountId),
    });
    this.#stopSweep = sweepHourly(
      () => this.removeExpiredAnswers(),
      (error) => log.warn({ reason: messageOf(error) }, 'expired responses of the ledger not removed'),
    );
  }

  async removeExpiredAnswers(): Promise<void> {
    for (;;) {
      if (this.#isClosed) return;
      this.#store.refresh();
      if (!this.#changes.hasExpiredAnswers()) return;
      await this.#enqueue(() => this.#changes.removeAnswers(ACCOUNT_LIMITS.endedSweptAtOnce));
    }
  }

  reserve(accountId: string, amount: number): Reservation {
    this.#store.refresh();
    const state = this.#changes.due(accountId, this.#store.headOf(accountId));
    const held = this.#reservations.heldOf(accountId);
    if (amount > 0 && state.balance - held < amount)
      throw this.#changes.shortage(accountId, amount, state, held);
    return this.#reservations.add(accountId, amount, held);
  }

  async commit(reservation: Reservation, charge: Charge): Promise<ChargeResult> {
    if (!this.#reservations.isOpen(reservation))
      throw new AssayError('INTERNAL', 'The reservation has already ended.');
    if (!Number.isInteger(charge.amount) || charge.amount < 0 || charge.amount > reservation.amount)
      throw new AssayError('INTERNAL', 'The charge exceeds the reserved credits.');
    try {
      return await this.#enqueue(() => this.#changes.charge(reservation, charge), reservation);
    } catch (error) {
      // Only a month change would have been written, and every read computes that itself.
      if (charge.amount > 0 || charge.keep !== undefined || !isStorageFull(error)) throw error;
      const { accountId } = reservation;
      const remaining = this.#changes.due(accountId, this.#store.headOf(accountId)).balance;
      return { entry: null, remaining, answer: charge.answer(remaining), replayed: false };
    } finally {
      this.#reservations.release(reservation);
    }
  }

  release(reservation: Reservation): void {
    this.#reservations.release(reservation);
  }

  async refund(accountId: string, id: string): Promise<LedgerEntry> {
    return this.#enqueue(() => this.#changes.refund(accountId, id));
  }

  async settle(settlement: Settlement): Promise<LedgerEntry | null> {
    checkSettlement(settlement);
    return this.#enqueue(() => this.#changes.settle(settlement));
  }

  async book(booking: Booking): Promise<BookingResult> {
    checkBooking(booking);
    return this.#enqueue(() => this.#changes.book(booking));
  }

  balance(accountId: string): Balance {
    this.#store.refresh();
    return this.#balanceOf(accountId, this.#changes.due(accountId, this.#store.headOf(accountId)));
  }

  async usage(accountId: string, options: UsageOptions): Promise<UsagePage> {
    const { isReadOnly = false } = options;
    this.#store.refresh();
    if (!isReadOnly && this.#changes.isMonthDue(accountId)) {
      // Without the booking, the page lacks the entry of this month's grant, but its balance includes it.
      await this.#enqueue(() => this.#changes.settleMonth(accountId)).catch((error: unknown) =>
        this.#log.warn({ account: accountId, reason: messageOf(error) }, 'ledger month change not booked'),
      );
      this.#store.refresh();
    }
    return this.#page(accountId, options);
  }

  storedAnswer(_accountId: string, slot: AnswerSlot): StoredAnswer | null {
    this.#store.refresh();
    return this.#changes.storedAnswer(slot);
  }

  verify(onProgress?: (checked: number, total: number) => void): Promise<LedgerReport> {
    return this.#store.verify(onProgress ?? (() => {}));
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#stopSweep();
    await this.#writing;
    try {
      await this.#store.writeWholeIndex();
    } catch (error) {
      // Nothing is lost: the next start reads the entries after the index again.
      this.#log.warn({ reason: messageOf(error) }, 'ledger index not written');
    }
    await this.#store.close();
  }

  #enqueue<T>(apply: () => T, reservation: Reservation | null = null): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (this.#isClosed) return reject(new AssayError('LEDGER_UNAVAILABLE', 'The ledger is closed.'));
      if (this.#queue.length >= ACCOUNT_LIMITS.ledgerQueueMax)
        return reject(
          new AssayError('OVERLOADED', 'Too many charges are waiting for the disk.', {
            retryAfterSeconds: 1,
          }),
        );
      const take = resolve as (result: unknown) => void;
      this.#queue.push({ apply, reservation, resolve: take, reject, outcome: null });
      this.#writing ??= this.#drain();
    });
  }

  async #drain(): Promise<void> {
    while (this.#queue.length > 0) await this.#writeBatch();
    // In the same step as the last check of the queue: the next change starts a new drain.
    this.#writing = null;
  }

  async #writeBatch(): Promise<void> {
    const batch: Change[] = [];
    let failure: AssayError | null = null;
    try {
      await this.#store.transaction(() => this.#applyAll(batch));
    } catch (error) {
      failure = unavailable(error);
      // The queued changes would fail as well, but each batch is tried: a full disk may have space again.
      if (batch.length === 0) batch.push(...this.#queue.splice(0));
    }
    if (failure === null) this.#store.settle();
    else {
      this.#log.error({ err: failure, changes: batch.length }, 'ledger write failed');
      this.#reload();
      this.#store.rollBack();
    }
    for (const { outcome, resolve, reject } of batch) {
      if (
        outcome !== null &&
        'error' in outcome &&
        outcome.error instanceof AssayError &&
        !isStorageFull(outcome.error)
      )
        reject(outcome.error);
      else if (failure !== null || outcome === null || 'error' in outcome)
        reject(failure ?? unavailable(outcome));
      else resolve(outcome.result);
    }
  }

  /** Must run inside a transaction. Moves queued changes to `batch`, and applies them. */
  #applyAll(batch: Change[]): void {
    this.#batch = batch;
    this.#store.begin();
    batch.push(...this.#queue.splice(0, ACCOUNT_LIMITS.ledgerBatchMax));
    for (const change of batch) {
      try {
        change.outcome = { result: change.apply() };
      } catch (error) {
        change.outcome = { error };
        // Any error other than a rejection comes from LMDB, and its transaction is lost: skip the rest.
        if (!(error instanceof AssayError) || isStorageFull(error)) break;
      }
    }
    this.#store.finish();
  }

  #reload(): void {
    this.#pages.clear();
    try {
      this.#store.reload();
    } catch (error) {
      this.#log.error({ err: error }, 'ledger reload failed');
    }
  }

  #releaseBatch(): void {
    for (const { reservation } of this.#batch)
      if (reservation !== null) this.#reservations.release(reservation);
  }

  #balanceOf(accountId: string, { balance, free, granted, month }: CreditState): Balance {
    return {
      balance,
      free,
      granted,
      bought: balance - free - granted,
      held: this.#reservations.heldOf(accountId),
      renewsAt: renewalOf(month, this.#clock.now()),
    };
  }

  #page(accountId: string, { limit, cursor, untilMs }: UsageOptions): UsagePage {
    const head = this.#store.headOf(accountId);
    const state = this.#changes.due(accountId, head);
    const from = (sequence: number) => ({
      ...this.#pages.from(sequence, limit),
      totals: this.#pages.totals(accountId, head),
    });
    const page =
      cursor !== undefined
        ? from(this.#sequenceOfCursor(accountId, cursor))
        : untilMs !== undefined
          ? from(this.#pages.lastUntil(head, untilMs))
          : this.#pages.first(accountId, head, limit);
    const { history, nextCursor, totals } = page;
    return { ...this.#balanceOf(accountId, state), history, nextCursor, totals };
  }

  /** Returns the sequence of a cursor. A cursor of another account is rejected like an unknown one. */
  #sequenceOfCursor(accountId: string, cursor: string): number {
    const sequence = sequenceOf(cursor);
    const isOwn =
      sequence !== null &&
      sequence >= 1 &&
      sequence <= this.#store.applied &&
      this.#store.readEntry(sequence).accountId === accountId;
    if (!isOwn) throw invalidCursor();
    return sequence;
  }
}
