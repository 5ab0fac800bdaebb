/**
 * The ledger on LMDB. Entries are appended in one global sequence, so a commit writes few, full pages, whichever accounts it concerns. Each
 * entry points to its account's previous entry; an index of last entries is written later in large slices. After a crash, the entries after
 * the index are read again. All changes of one turn share one transaction, and nothing is acknowledged before it is on the disk. Several
 * processes may write: each reads, inside its transaction, the entries that the others appended, so the newest balance always decides.
 */
import type { Clock } from '../base/clock.ts';
import { isoTime } from '../base/clock.ts';
import { AssayError, messageOf } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import type { Logger } from '../base/log.ts';
import { openLiveStore } from '../state/live-store.ts';
import type { Database } from '../state/lmdb.ts';
import { isStorageFull, STORAGE_RETRY_SECONDS } from '../state/storage.ts';
import {
  creditsExhausted,
  type LedgerType,
  monthEnd,
  monthOf,
  monthTurn,
  type Standing,
  spend,
} from './credits.ts';
import { otherBody } from './idempotency.ts';
import type {
  AnswerSlot,
  Balance,
  Booked,
  Booking,
  Charge,
  Charged,
  Ledger,
  LedgerEntry,
  Reservation,
  Settlement,
  StoredAnswer,
  UsagePage,
} from './ledger.ts';
import { belowZero, checkBooking, checkSettlement, invalid } from './ledger-checks.ts';
import {
  decodeEntry,
  EMPTY_HEAD,
  encodeEntry,
  entryId,
  follow,
  type Head,
  type StoredEntry,
  sequenceOf,
  shownEntry,
  totalsSince,
} from './ledger-entry.ts';
import { checkLedger } from './ledger-verify.ts';

export const FORMAT_VERSION = 1;

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

/** The credits that an event took, and from which pools. */
interface Cost {
  readonly accountId: string;
  readonly total: number;
  readonly free: number;
  readonly granted: number;
}

interface Kept {
  /** Milliseconds since the epoch. */
  readonly keptAt: number;
  readonly answer: StoredAnswer;
}

/** Truncates a reference that is longer than any legitimate one: references are only displayed. */
const bounded = (reference: string | null): string | null =>
  reference === null ? null : reference.slice(0, LIMITS.ledgerReferenceMax);

/** f64 storage time, 32 bytes of hash, then the response. */
const KEPT_HEAD = 8 + 32;

function encodeKept(keptAt: number, bodyHash: Uint8Array, body: Uint8Array): Buffer {
  const bytes = Buffer.allocUnsafe(KEPT_HEAD + body.length);
  bytes.writeDoubleLE(keptAt, 0);
  bytes.set(bodyHash, 8);
  bytes.set(body, KEPT_HEAD);
  return bytes;
}

/** Decodes a stored response. */
export function decodeKept(bytes: Buffer): Kept {
  return {
    keptAt: bytes.readDoubleLE(0),
    answer: {
      bodyHash: Buffer.from(bytes.subarray(8, KEPT_HEAD)),
      body: Buffer.from(bytes.subarray(KEPT_HEAD)),
    },
  };
}

/** Returns a key that sorts by time, so the response that expires first has the first key. */
function endingKey(keptAt: number, slot: AnswerSlot): Buffer {
  const key = Buffer.allocUnsafe(8 + slot.length);
  key.writeBigUInt64BE(BigInt(Math.max(0, Math.floor(keptAt))), 0);
  key.set(slot, 8);
  return key;
}

/** A ledger that reads synchronously from its memory and files. */
export interface EmbeddedLedger extends Ledger {
  reserve(accountId: string, amount: number): Reservation;
  balance(accountId: string): Balance;
  storedAnswer(accountId: string, slot: AnswerSlot): StoredAnswer | null;
}

/**
 * Opens (or creates) the ledger file at `path`.
 *
 * @throws STORE_VERSION, STORE_CORRUPT
 */
export function openLedger(options: { path: string }, deps: LedgerDeps): EmbeddedLedger {
  const { clock, log } = deps;
  const { root, meta } = openLiveStore(options.path, FORMAT_VERSION);
  const entries: Database<Buffer, number> = root.openDB({
    name: 'entries',
    encoding: 'binary',
    keyEncoding: 'uint32',
  });
  /** Account → sequence of its last entry, at least as of `indexedThrough`. */
  const index: Database<number, string> = root.openDB({ name: 'index', encoding: 'json' });
  /** Name of an event → sequence of its entry. */
  const once: Database<number, string> = root.openDB({ name: 'once', encoding: 'json' });
  /** Name of an event that may be settled again → its cost so far. */
  const costs: Database<Cost, string> = root.openDB({ name: 'costs', encoding: 'json' });
  const answers: Database<Buffer, Buffer> = root.openDB({
    name: 'answers',
    encoding: 'binary',
    keyEncoding: 'binary',
  });
  const endings: Database<Buffer, Buffer> = root.openDB({
    name: 'endings',
    encoding: 'binary',
    keyEncoding: 'binary',
  });

  /** Accounts as of `applied`. An account that is missing here has no entry after `indexedThrough`. */
  const heads = new Map<string, Head>();
  /** Accounts with entries after the index. */
  let unindexed = new Set<string>();
  /** A write of the index in slices that is in progress. */
  let indexing: { readonly accounts: readonly string[]; at: number; readonly through: number } | null = null;
  /** All entries up to this sequence are in `heads` or in the index. */
  let applied = 0;
  let indexedThrough = 0;
  /** Credits reserved by running requests. */
  const held = new Map<string, number>();
  const open = new WeakSet<Reservation>();

  const readEntry = (sequence: number): StoredEntry => decodeEntry(sequence, entries.getBinaryFast(sequence));

  /**
   * Adds a committed entry to `heads`, unless a later entry of its account is there: a commit resolves some time after it is on the disk,
   * and `catchUp` may have read it before, together with later entries of other processes.
   */
  function takeOver(entry: StoredEntry): void {
    const { accountId } = entry;
    if (entry.sequence > (heads.get(accountId)?.sequence ?? 0)) heads.set(accountId, entry);
    unindexed.add(accountId);
  }

  /** Reads the entries after `applied`: those of other processes, or at startup those after the index. */
  function catchUp(): void {
    const last = meta.get('last') ?? 0;
    for (let sequence = applied + 1; sequence <= last; sequence++) takeOver(readEntry(sequence));
    if (last > applied) applied = last;
    // The balance already contains charges of this process whose commit has not resolved yet: release their reservations, so that these
    // credits are not counted twice.
    if (over.size > 0 && applied >= lastInside) releaseAll(inside);
  }

  /** Rebuilds the state in memory from the store. */
  function reload(): void {
    root.resetReadTxn();
    heads.clear();
    unindexed = new Set();
    indexing = null;
    indexedThrough = meta.get('indexedThrough') ?? 0;
    applied = indexedThrough;
    catchUp();
  }

  /** Whether this turn of the event loop has read the entries of other processes. */
  let looked = false;
  function look(): void {
    if (looked) return;
    looked = true;
    setImmediate(() => {
      looked = false;
    });
    root.resetReadTxn();
    catchUp();
  }

  function headOf(accountId: string): Head {
    const known = heads.get(accountId);
    if (known !== undefined) return known;
    const sequence = index.get(accountId);
    const head = sequence === undefined ? EMPTY_HEAD : readEntry(sequence);
    heads.set(accountId, head);
    return head;
  }

  /** Returns the account state after the entries of a month change. */
  function dueStanding(accountId: string, standing: Standing): Standing {
    const turns = monthTurn(standing, monthOf(clock.now()), deps.freeCredits(accountId));
    return turns.at(-1)?.after ?? standing;
  }

  // Everything up to `drain` runs inside a transaction: its own heads shadow the committed ones until it is on the disk.

  let over = new Map<string, StoredEntry>();
  let lastInside = 0;
  /** The changes of the current transaction. */
  let inside: readonly Change[] = [];

  const insideHead = (accountId: string): Head => over.get(accountId) ?? headOf(accountId);

  function append(
    accountId: string,
    type: LedgerType,
    amount: number,
    after: Standing,
    reference: string | null,
  ): StoredEntry {
    const sequence = lastInside + 1;
    const at = clock.now();
    const entry = follow(insideHead(accountId), { sequence, accountId, at, type, amount, after, reference });
    entries.putSync(sequence, encodeEntry(entry), { append: true });
    lastInside = sequence;
    over.set(accountId, entry);
    return entry;
  }

  function settleMonth(accountId: string): void {
    const turns = monthTurn(insideHead(accountId), monthOf(clock.now()), deps.freeCredits(accountId));
    for (const { type, amount, after } of turns) append(accountId, type, amount, after, null);
  }

  function shortage(accountId: string, needed: number, balance: number, heldNow: number): AssayError {
    const available = Math.max(0, balance - heldNow);
    return creditsExhausted({
      accountId,
      needed,
      available,
      held: Math.max(0, balance - available),
      freeCredits: deps.freeCredits(accountId),
      renewsAt: monthEnd(monthOf(clock.now())),
    });
  }

  /** If the clock moves backwards, keep replaying the stored response: replaying too long is better than charging twice. */
  const isLive = (kept: Kept): boolean => clock.now() - kept.keptAt < LIMITS.idempotencyMs;

  function readKept(slot: AnswerSlot): Kept | null {
    const bytes = answers.get(Buffer.from(slot));
    return bytes === undefined ? null : decodeKept(bytes);
  }

  function keepAnswer(
    accountId: string,
    { slot, bodyHash }: NonNullable<Charge['keep']>,
    body: Uint8Array,
  ): void {
    const now = clock.now();
    for (const { key } of [...endings.getRange({ limit: LIMITS.idempotencyPurgeMax })]) {
      if (Number(key.readBigUInt64BE(0)) > now - LIMITS.idempotencyMs) break;
      endings.removeSync(key);
      answers.removeSync(Buffer.from(key.subarray(8)));
    }
    const old = readKept(slot);
    if (old !== null) endings.removeSync(endingKey(old.keptAt, slot));
    answers.putSync(Buffer.from(slot), encodeKept(now, bodyHash, body));
    // The value is the account, because the slot does not contain it, and a transfer of the ledger needs it.
    endings.putSync(endingKey(now, slot), Buffer.from(accountId));
  }

  function applyCharge({ accountId }: Reservation, charge: Charge): Charged {
    if (charge.keep !== undefined) {
      const kept = readKept(charge.keep.slot);
      if (kept !== null && isLive(kept)) {
        if (!charge.keep.bodyHash.every((byte, at) => byte === kept.answer.bodyHash[at])) throw otherBody();
        const remaining = dueStanding(accountId, insideHead(accountId)).balance;
        return { entry: null, remaining, answer: kept.answer.body, replayed: true };
      }
    }
    settleMonth(accountId);
    const head = insideHead(accountId);
    if (charge.amount > 0 && head.balance < charge.amount)
      throw shortage(accountId, charge.amount, head.balance, 0);
    // Rendered before anything is written: if the response cannot be built, nothing is charged.
    const answer = charge.answer(head.balance - charge.amount);
    const entry =
      charge.amount === 0
        ? null
        : append(
            accountId,
            charge.type,
            -charge.amount,
            spend(head, charge.amount),
            bounded(charge.reference),
          );
    if (charge.keep !== undefined) keepAnswer(accountId, charge.keep, answer);
    return {
      entry: entry === null ? null : shownEntry(entry),
      remaining: head.balance - charge.amount,
      answer,
      replayed: false,
    };
  }

  function booked(booking: Booking): Booked {
    const { accountId, type, amount, reference } = booking;
    const before = booking.once === undefined ? undefined : once.get(booking.once);
    if (before !== undefined) return { entry: shownEntry(readEntry(before)), repeated: true };
    settleMonth(accountId);
    const head = insideHead(accountId);
    if (amount < 0 && head.balance + amount < 0 && booking.mayOwe !== true) throw belowZero(head.balance);
    const after: Standing =
      amount < 0
        ? spend(head, -amount)
        : {
            balance: head.balance + amount,
            free: head.free,
            granted: head.granted + (type === 'GRANT' ? amount : 0),
            month: head.month,
          };
    const entry = append(accountId, type, amount, after, bounded(reference));
    if (booking.once !== undefined) once.putSync(booking.once, entry.sequence);
    return { entry: shownEntry(entry), repeated: false };
  }

  function refunded(accountId: string, id: string): LedgerEntry {
    const sequence = sequenceOf(id);
    const unknown = (): AssayError =>
      new AssayError('NOT_FOUND', `The account has no charge '${id}'.`, { field: 'id' });
    if (sequence === null || sequence < 1 || sequence > lastInside) throw unknown();
    const charge = readEntry(sequence);
    const isCharge = charge.type === 'SCREENING' || charge.type === 'DEDUCTION';
    if (charge.accountId !== accountId || !isCharge) throw unknown();
    const event = `refund:${entryId(sequence)}`;
    const before = once.get(event);
    if (before !== undefined) return shownEntry(readEntry(before));
    settleMonth(accountId);
    const head = insideHead(accountId);
    const earlier = charge.before === 0 ? EMPTY_HEAD : readEntry(charge.before);
    // Free credits are returned as free ones, even in a later month: they expire with that month.
    const after: Standing = {
      balance: head.balance - charge.amount,
      free: head.free + Math.max(0, earlier.free - charge.free),
      granted: head.granted + Math.max(0, earlier.granted - charge.granted),
      month: head.month,
    };
    const entry = append(accountId, 'REFUND', -charge.amount, after, charge.reference);
    once.putSync(event, entry.sequence);
    return shownEntry(entry);
  }

  /** Bought credits are returned first, free ones last: credits that would expire with the month count as spent. */
  function settled({ accountId, type, once: event, total, reference }: Settlement): LedgerEntry | null {
    const cost = costs.get(event) ?? { accountId, total: 0, free: 0, granted: 0 };
    if (cost.accountId !== accountId)
      throw new AssayError('INTERNAL', `The event '${event}' belongs to another account.`);
    const missing = total - cost.total;
    if (missing === 0) return null;
    settleMonth(accountId);
    const head = insideHead(accountId);
    const heldNow = held.get(accountId) ?? 0;
    if (missing > 0 && head.balance - heldNow < missing)
      throw shortage(accountId, missing, head.balance, heldNow);
    const back = Math.max(0, -missing);
    const granted = Math.min(cost.granted, Math.max(0, back - (cost.total - cost.free - cost.granted)));
    const free = Math.max(0, back - (cost.total - cost.free));
    const after: Standing =
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
    return shownEntry(append(accountId, missing > 0 ? type : 'REFUND', -missing, after, bounded(reference)));
  }

  /** Writes the next slice of the index if it lags far behind, or all of it. */
  function writeIndex(all: boolean): void {
    const isFull = heads.size > LIMITS.ledgerHeadsMax;
    const lags = lastInside - indexedThrough > LIMITS.ledgerIndexLagMax || isFull;
    // Until all slices are written, their accounts are known only in memory, so none may be evicted.
    if (isFull && unindexed.size === 0 && indexing === null) evictNext = true;
    if (indexing === null && unindexed.size > 0 && (lags || all)) {
      indexing = { accounts: [...unindexed].sort(), at: 0, through: applied };
      unindexed = new Set();
    }
    if (indexing === null) return;
    const { accounts, through } = indexing;
    const end = all ? accounts.length : Math.min(accounts.length, indexing.at + LIMITS.ledgerIndexSliceMax);
    for (; indexing.at < end; indexing.at++) {
      const accountId = accounts[indexing.at] as string;
      const head = heads.get(accountId);
      if (head !== undefined && head.sequence > 0) index.putSync(accountId, head.sequence);
    }
    if (end < accounts.length) return;
    indexing = null;
    indexedThrough = Math.max(indexedThrough, through, meta.get('indexedThrough') ?? 0);
    meta.putSync('indexedThrough', indexedThrough);
    evictNext = heads.size > LIMITS.ledgerHeadsMax;
  }

  /** Whether indexed accounts may be evicted after the transaction is on the disk. */
  let evictNext = false;

  // The queue: one transaction at a time, with all changes that arrived while the previous one was being written.

  const queue: Change[] = [];
  let writing: Promise<void> | null = null;
  let closed = false;

  function enqueue<T>(apply: () => T, reservation: Reservation | null = null): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      if (closed) return reject(new AssayError('LEDGER_UNAVAILABLE', 'The ledger is closed.'));
      if (queue.length >= LIMITS.ledgerQueueMax)
        return reject(
          new AssayError('OVERLOADED', 'Too many charges are waiting for the disk.', {
            retryAfterSeconds: 1,
          }),
        );
      const take = resolve as (result: unknown) => void;
      queue.push({ apply, reservation, resolve: take, reject, outcome: null });
      writing ??= drain();
    });
  }

  async function drain(): Promise<void> {
    while (queue.length > 0) await writeBatch();
    // In the same step as the last check of the queue: the next change starts a new drain.
    writing = null;
  }

  function applyAll(batch: Change[]): void {
    over = new Map();
    inside = batch;
    catchUp();
    lastInside = applied;
    batch.push(...queue.splice(0, LIMITS.ledgerBatchMax));
    for (const change of batch) {
      try {
        change.outcome = { result: change.apply() };
      } catch (error) {
        change.outcome = { error };
        // Any error other than a rejection comes from LMDB, and its transaction is lost: skip the rest.
        if (!(error instanceof AssayError) || isStorageFull(error)) break;
      }
    }
    writeIndex(false);
    if (lastInside > applied) meta.putSync('last', lastInside);
  }

  function unavailable(cause: unknown): AssayError {
    const isFull = isStorageFull(cause);
    return new AssayError(
      isFull ? 'STORAGE_FULL' : 'LEDGER_UNAVAILABLE',
      `The ledger cannot be written: ${messageOf(cause).replace(/\.$/, '')}.`,
      { cause, ...(isFull ? { retryAfterSeconds: STORAGE_RETRY_SECONDS } : {}) },
    );
  }

  async function writeBatch(): Promise<void> {
    const batch: Change[] = [];
    let failure: AssayError | null = null;
    try {
      await root.transaction(() => applyAll(batch));
    } catch (error) {
      failure = unavailable(error);
      // The queued changes would fail as well, but each batch is tried: a full disk may have space again.
      if (batch.length === 0) batch.push(...queue.splice(0));
    }
    if (failure === null) {
      for (const entry of over.values()) takeOver(entry);
      applied = Math.max(applied, lastInside);
      root.resetReadTxn();
      if (evictNext) evict();
    } else {
      log.error({ err: failure, changes: batch.length }, 'ledger write failed');
      tryReload();
    }
    over = new Map();
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

  function tryReload(): void {
    try {
      reload();
    } catch (error) {
      log.error({ err: error }, 'ledger reload failed');
    }
  }

  function evict(): void {
    evictNext = false;
    for (const accountId of heads.keys()) if (!unindexed.has(accountId)) heads.delete(accountId);
  }

  function release(reservation: Reservation): void {
    if (!open.delete(reservation)) return;
    const left = (held.get(reservation.accountId) ?? 0) - reservation.amount;
    if (left > 0) held.set(reservation.accountId, left);
    else held.delete(reservation.accountId);
  }

  function releaseAll(changes: readonly Change[]): void {
    for (const { reservation } of changes) if (reservation !== null) release(reservation);
  }

  function balanceOf(accountId: string, standing: Standing): Balance {
    const { balance, free, granted } = standing;
    return {
      balance,
      free,
      granted,
      bought: balance - free - granted,
      held: held.get(accountId) ?? 0,
      renewsAt: monthEnd(monthOf(clock.now())),
    };
  }

  function page(accountId: string, limit: number, cursor: string | undefined): UsagePage {
    const head = headOf(accountId);
    const standing = dueStanding(accountId, head);
    const history: LedgerEntry[] = [];
    let next = cursor === undefined ? head.sequence : cursorOf(accountId, cursor);
    while (next > 0 && history.length < limit) {
      const entry = readEntry(next);
      history.push(shownEntry(entry));
      next = entry.before;
    }
    const byDay: { day: string; byType: UsagePage['totals']['byType'] }[] = [];
    for (let last = head; last.sequence > 0 && byDay.length < LIMITS.usageDaysMax; ) {
      const before: Head = last.dayBefore === 0 ? EMPTY_HEAD : readEntry(last.dayBefore);
      byDay.push({ day: isoTime(last.at).slice(0, 10), byType: totalsSince(last.sums, before.sums) });
      last = before;
    }
    return {
      ...balanceOf(accountId, standing),
      history,
      nextCursor: next > 0 ? entryId(next) : null,
      totals: { byType: totalsSince(head.sums, EMPTY_HEAD.sums), byDay },
    };
  }

  /** Returns the sequence of a cursor. A cursor of another account is rejected like an unknown one. */
  function cursorOf(accountId: string, cursor: string): number {
    const sequence = sequenceOf(cursor);
    const isOwn =
      sequence !== null &&
      sequence >= 1 &&
      sequence <= applied &&
      readEntry(sequence).accountId === accountId;
    if (!isOwn) throw invalid('cursor', 'a nextCursor returned by this endpoint');
    return sequence;
  }

  reload();

  return {
    reserve(accountId, amount) {
      look();
      const standing = dueStanding(accountId, headOf(accountId));
      const heldNow = held.get(accountId) ?? 0;
      if (amount > 0 && standing.balance - heldNow < amount)
        throw shortage(accountId, amount, standing.balance, heldNow);
      const reservation: Reservation = { accountId, amount };
      open.add(reservation);
      if (amount > 0) held.set(accountId, heldNow + amount);
      return reservation;
    },

    async commit(reservation, charge) {
      if (!open.has(reservation)) throw new AssayError('INTERNAL', 'The reservation has already ended.');
      if (!Number.isInteger(charge.amount) || charge.amount < 0 || charge.amount > reservation.amount)
        throw new AssayError('INTERNAL', 'The charge exceeds the reserved credits.');
      try {
        return await enqueue(() => applyCharge(reservation, charge), reservation);
      } catch (error) {
        // Only a month change would have been written, and every read computes that itself.
        if (charge.amount > 0 || charge.keep !== undefined || !isStorageFull(error)) throw error;
        const remaining = dueStanding(reservation.accountId, headOf(reservation.accountId)).balance;
        return { entry: null, remaining, answer: charge.answer(remaining), replayed: false };
      } finally {
        release(reservation);
      }
    },

    release,

    async refund(accountId, id) {
      return enqueue(() => refunded(accountId, id));
    },

    async settle(settlement) {
      checkSettlement(settlement);
      return enqueue(() => settled(settlement));
    },

    async book(booking) {
      checkBooking(booking);
      return enqueue(() => booked(booking));
    },

    balance(accountId) {
      look();
      return balanceOf(accountId, dueStanding(accountId, headOf(accountId)));
    },

    async usage(accountId, { limit, cursor }) {
      look();
      const turns = monthTurn(headOf(accountId), monthOf(clock.now()), deps.freeCredits(accountId));
      if (turns.length > 0) {
        // Without the booking, the page lacks the entry of this month's grant, but its balance includes it.
        await enqueue(() => settleMonth(accountId)).catch((error: unknown) =>
          log.warn({ account: accountId, reason: messageOf(error) }, 'ledger month change not booked'),
        );
        look();
      }
      return page(accountId, limit, cursor);
    },

    storedAnswer(_accountId, slot) {
      look();
      const kept = readKept(slot);
      return kept !== null && isLive(kept) ? kept.answer : null;
    },

    verify(onProgress) {
      return checkLedger(
        {
          last: () => {
            root.resetReadTxn();
            return meta.get('last') ?? 0;
          },
          read: readEntry,
          indexed: () => ({
            through: meta.get('indexedThrough') ?? 0,
            rows: index.getRange(),
          }),
          extraEntry: (last) => entries.get(last + 1) !== undefined,
        },
        onProgress ?? (() => {}),
      );
    },

    async close() {
      if (closed) return;
      closed = true;
      await writing;
      try {
        await root.transaction(() => {
          catchUp();
          lastInside = applied;
          writeIndex(true);
          if (indexing === null && unindexed.size > 0) writeIndex(true);
        });
      } catch (error) {
        // Nothing is lost: the next start reads the entries after the index again.
        log.warn({ reason: messageOf(error) }, 'ledger index not written');
      }
      await root.close();
    },
  };
}
