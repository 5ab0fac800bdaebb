/**
 * The interface of the ledger of credits: append-only entries, each with the balance after it. Credits for a charge are reserved, then
 * committed (one durable entry) or released (no charge). If a request fails after its charge was committed, a refund entry is written. A
 * reservation ends with its process, so a crash leaves none behind. Every `accountId` of the ledger is the id of a balance (pools.ts).
 */
import type { Awaitable } from '../base/awaitable.ts';
import type { ChargeType, LedgerType } from './credits.ts';

/** One line of an account's ledger. */
export interface LedgerEntry {
  readonly id: string;
  /** Negative if credits were taken, positive if they were added. */
  readonly amount: number;
  /** Balance after this entry. */
  readonly balance: number;
  readonly type: LedgerType;
  /** The purpose: for a charge, the operation, the address and the chain. */
  readonly reference: string | null;
  /** ISO 8601 UTC with milliseconds. */
  readonly createdAt: string;
}

/** Credits reserved for a running request. Ends with `commit` or `release`. */
export interface Reservation {
  readonly accountId: string;
  readonly amount: number;
}

/** A stored response: a repeated request with the same Idempotency-Key gets it without another charge. */
export interface StoredAnswer {
  /** SHA-256 of the request body. */
  readonly bodyHash: Uint8Array;
  readonly body: Uint8Array;
}

/** Identifies one Idempotency-Key of one account, method and path: 32 bytes. */
export type AnswerSlot = Uint8Array;

export interface Charge {
  readonly type: ChargeType;
  /** Credits to take, at most the reserved amount; 0 writes no entry. */
  readonly amount: number;
  readonly reference: string | null;
  /** Slot in which the response is stored, in the same transaction as the entry. */
  readonly keep?: { readonly slot: AnswerSlot; readonly bodyHash: Uint8Array };
  /** Builds the response from the balance after the charge. Must be pure and fast: it runs inside the transaction. */
  readonly answer: (remaining: number) => Uint8Array;
}

export interface ChargeResult {
  /** The entry; null if nothing was taken. */
  readonly entry: LedgerEntry | null;
  /** Balance after the charge. */
  readonly remaining: number;
  readonly answer: Uint8Array;
  /** True if the slot already held a response (of another process): `answer` is that response, and nothing was charged. */
  readonly replayed: boolean;
}

/** An entry that is not a charge. */
export interface Booking {
  readonly accountId: string;
  readonly type: Extract<LedgerType, 'PURCHASE' | 'GRANT' | 'ADJUSTMENT'>;
  /** Whole credits; negative only for an adjustment. */
  readonly amount: number;
  readonly reference: string | null;
  /** Name of the underlying event (for example of a payment): a second booking with the same name is a no-op. */
  readonly once?: string;
  /** If true, the balance may become negative: for a payment that is refunded after its credits were spent. */
  readonly mayOwe?: boolean;
}

export interface BookingResult {
  readonly entry: LedgerEntry;
  /** True if it was booked before: `entry` is the existing entry. */
  readonly repeated: boolean;
}

/** The cost of an event that lasts longer than one request, for example a bulk job. */
export interface Settlement {
  readonly accountId: string;
  readonly type: ChargeType;
  /** Name of the event, unique among all accounts. */
  readonly once: string;
  /** Total credits that the event costs, as known now. */
  readonly total: number;
  readonly reference: string | null;
}

export interface Balance {
  /** Sum of the account's entries. */
  readonly balance: number;
  /** Parts of the balance: remaining free credits of this month, remaining granted credits, remaining bought credits. */
  readonly free: number;
  readonly granted: number;
  readonly bought: number;
  /** Credits reserved by running requests. */
  readonly held: number;
  /** First instant of the next month, ISO 8601 UTC. */
  readonly renewsAt: string;
}

/** Credits by type, negative if taken; 0 for a type that never occurred. */
export type TypeTotals = Readonly<Record<LedgerType, number>>;

export interface UsagePage extends Balance {
  /** Newest first. */
  readonly history: readonly LedgerEntry[];
  /** Cursor for the entries after the last one; null at the end. */
  readonly nextCursor: string | null;
  readonly totals: {
    /** Since the account was created: adds up to the balance. */
    readonly byType: TypeTotals;
    /** Days (UTC) with entries, newest first, at most `usageDaysMax`. */
    readonly byDay: readonly { readonly day: string; readonly byType: TypeTotals }[];
  };
}

export interface LedgerReport {
  readonly entries: number;
  readonly accounts: number;
  /** Sum of all balances. */
  readonly balance: number;
  /** The first 100 faults, as sentences; empty if the ledger is intact. */
  readonly faults: readonly string[];
}

export interface UsageOptions {
  readonly limit: number;
  readonly cursor?: string;
  /**
   * Without a cursor: the page begins with the last entry that is not of a day (UTC) after this time, in milliseconds since the epoch. The days
   * after it are not read. Default: the page begins with the last entry.
   */
  readonly untilMs?: number;
  /** Whether nothing may be booked: the page then lacks a grant of this month that no request has booked yet. Default: false. */
  readonly isReadOnly?: boolean;
}

/** The ledger of credits. Every implementation passes test/conformance/ledger.ts. Changes are durable when their promise resolves. */
export interface Ledger {
  /** Reserves credits for a request. Throws CREDITS_EXHAUSTED if fewer are left, LEDGER_UNAVAILABLE if the ledger cannot be read. */
  reserve(accountId: string, amount: number): Awaitable<Reservation>;
  /**
   * Turns a reservation into an entry; the reservation ends in any case. Rejects with CREDITS_EXHAUSTED if another process took the credits
   * meanwhile, LEDGER_UNAVAILABLE if the ledger cannot be written; nothing is charged then. Behind a network, rejects with NOT_READY if the
   * outcome is unknown: the charge is then undone, or a repeated request finds it by its Idempotency-Key.
   */
  commit(reservation: Reservation, charge: Charge): Promise<ChargeResult>;
  /** Ends a reservation without a charge. A second call is a no-op. */
  release(reservation: Reservation): void;
  /** Refunds a committed charge, once; a second call resolves with the same entry. Rejects with NOT_FOUND. */
  refund(accountId: string, entryId: string): Promise<LedgerEntry>;
  /**
   * Sets the total cost of an event to exactly `total`: takes the missing credits or returns the excess, with one entry. It may be repeated
   * after a crash.
   *
   * @returns the entry, or null if nothing had to change
   * @throws CREDITS_EXHAUSTED if fewer credits are available; nothing is changed then
   */
  settle(settlement: Settlement): Promise<LedgerEntry | null>;
  /** Writes an entry that is not a charge. Rejects with INVALID_REQUEST naming the field, also if the balance would become negative. */
  book(booking: Booking): Promise<BookingResult>;
  /** Returns the current balance, without free credits of a past month. Writes nothing. */
  balance(accountId: string): Awaitable<Balance>;
  /** Books the entries of a month change, then reads a page. If nothing can be written, the page is read all the same. */
  usage(accountId: string, options: UsageOptions): Promise<UsagePage>;
  /** Returns the stored response of a slot of the account, if it is less than 24 hours old. */
  storedAnswer(accountId: string, slot: AnswerSlot): Awaitable<StoredAnswer | null>;
  /** Reads every entry and checks that links, pools, sums and balances agree. Safe while servers are running. */
  verify(onProgress?: (checked: number, total: number) => void): Promise<LedgerReport>;
  /** Writes queued changes and closes the ledger. */
  close(): Promise<void>;
}
