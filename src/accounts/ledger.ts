/**
 * The ledger of credits as a port: append-only entries, each with the balance after it. A charge is reserved, then committed
 * (one durable entry) or released (nothing was ever charged); what was committed and failed afterwards is refunded by an entry
 * of its own. A reservation ends with the process that made it, so a crash leaves none behind.
 */
import type { Awaitable } from '../base/awaitable.ts';
import type { ChargeType, LedgerType } from './credits.ts';

/** One line of an account's ledger. */
export interface LedgerEntry {
  readonly id: string;
  /** Negative for what was taken, positive for what was added. */
  readonly amount: number;
  /** Balance after this entry. */
  readonly balance: number;
  readonly type: LedgerType;
  /** What it was for: of a charge the operation, the address and the chain. */
  readonly reference: string | null;
  /** ISO 8601 UTC with milliseconds. */
  readonly createdAt: string;
}

/** Credits that a running request holds. Ends by `commit` or `release`. */
export interface Reservation {
  readonly accountId: string;
  readonly amount: number;
}

/** An answer kept so that a request with the same Idempotency-Key is answered without being charged again. */
export interface StoredAnswer {
  /** SHA-256 of the request's body. */
  readonly bodyHash: Uint8Array;
  readonly body: Uint8Array;
}

/** Names one Idempotency-Key of one account, method and path: 32 bytes. */
export type AnswerSlot = Uint8Array;

export interface Charge {
  readonly type: ChargeType;
  /** Credits to take, at most what was reserved; 0 writes no entry. */
  readonly amount: number;
  readonly reference: string | null;
  /** Where to keep the answer, in the same transaction as the entry. */
  readonly keep?: { readonly slot: AnswerSlot; readonly bodyHash: Uint8Array };
  /** Makes the answer, once the balance after the charge is known. Pure and quick: it runs inside the transaction. */
  readonly answer: (remaining: number) => Uint8Array;
}

export interface Charged {
  /** The entry; null where nothing was taken. */
  readonly entry: LedgerEntry | null;
  /** Balance after it. */
  readonly remaining: number;
  readonly answer: Uint8Array;
  /** Whether the slot held an answer already (of another process): `answer` is that one, and nothing was charged. */
  readonly replayed: boolean;
}

/** An entry that is no charge. */
export interface Booking {
  readonly accountId: string;
  readonly type: Extract<LedgerType, 'PURCHASE' | 'GRANT' | 'ADJUSTMENT'>;
  /** Whole credits; negative for an adjustment alone. */
  readonly amount: number;
  readonly reference: string | null;
  /** Names the event behind it (of a payment, say): a second booking of the same name changes nothing. */
  readonly once?: string;
  /** Whether the balance may end below 0: a payment that is taken back after its credits were spent. */
  readonly mayOwe?: boolean;
}

export interface Booked {
  readonly entry: LedgerEntry;
  /** Whether it had been booked before: `entry` is that one. */
  readonly repeated: boolean;
}

/** What an event costs that is not over with one answer: a bulk job, say. */
export interface Settlement {
  readonly accountId: string;
  readonly type: ChargeType;
  /** Names the event, among those of all accounts. */
  readonly once: string;
  /** Credits that it costs in all, as known now. */
  readonly total: number;
  readonly reference: string | null;
}

export interface Balance {
  /** Sum of the account's entries. */
  readonly balance: number;
  /** Of it: left of this month's free credits, left of what was granted, left of what was bought. */
  readonly free: number;
  readonly granted: number;
  readonly bought: number;
  /** Held by requests that run now. */
  readonly held: number;
  /** First instant of the next month, ISO 8601 UTC. */
  readonly renewsAt: string;
}

/** Credits by type, negative where taken; a type that never occurred is 0. */
export type TypeTotals = Readonly<Record<LedgerType, number>>;

export interface UsagePage extends Balance {
  /** Newest first. */
  readonly history: readonly LedgerEntry[];
  /** Continues behind the last entry; null at the end. */
  readonly nextCursor: string | null;
  readonly totals: {
    /** Since the account began: adds up to the balance. */
    readonly byType: TypeTotals;
    /** Days (UTC) with entries, the newest first, at most `usageDaysMax`. */
    readonly byDay: readonly { readonly day: string; readonly byType: TypeTotals }[];
  };
}

export interface LedgerReport {
  readonly entries: number;
  readonly accounts: number;
  /** Sum of all balances. */
  readonly balance: number;
  /** What is wrong, in sentences, the first 100; empty where all is well. */
  readonly faults: readonly string[];
}

/** Every implementation passes test/conformance/ledger.ts. Changes are durable when their promise resolves. */
export interface Ledger {
  /** Holds credits for a request. Throws CREDITS_EXHAUSTED where fewer are left, LEDGER_UNAVAILABLE where it cannot be read. */
  reserve(accountId: string, amount: number): Awaitable<Reservation>;
  /**
   * Turns a reservation into an entry, and ends it either way. Rejects with CREDITS_EXHAUSTED where another process took the
   * credits meanwhile, LEDGER_UNAVAILABLE where it cannot be written; then nothing was charged. Behind a network, NOT_READY where
   * nobody knows: the charge is undone then, or found by a repetition under its Idempotency-Key.
   */
  commit(reservation: Reservation, charge: Charge): Promise<Charged>;
  /** Ends a reservation without a charge. A second time changes nothing. */
  release(reservation: Reservation): void;
  /** Gives back a committed charge, once; a second time resolves with the same entry. Rejects with NOT_FOUND. */
  refund(accountId: string, entryId: string): Promise<LedgerEntry>;
  /**
   * Makes what an event has cost exactly `total`: takes what is missing, gives back what is too much, each by an entry of its own,
   * which it resolves with, or with null where nothing had to change. So it may be repeated after any crash. Rejects with
   * CREDITS_EXHAUSTED where fewer are free; then nothing changed.
   */
  settle(settlement: Settlement): Promise<LedgerEntry | null>;
  /** Rejects with INVALID_REQUEST naming the field: also where the balance would end below 0. */
  book(booking: Booking): Promise<Booked>;
  /** Balance as of now: an ended month's free credits are not counted any more. Writes nothing. */
  balance(accountId: string): Awaitable<Balance>;
  /** Books what the turn of a month brought, then reads a page. Where nothing can be written it reads all the same. */
  usage(accountId: string, options: { limit: number; cursor?: string }): Promise<UsagePage>;
  /** The kept answer of a slot of the account, less than 24 hours old. */
  storedAnswer(accountId: string, slot: AnswerSlot): Awaitable<StoredAnswer | null>;
  /** Reads every entry and checks that links, pools, sums and balances agree. Safe beside running servers. */
  verify(onProgress?: (checked: number, total: number) => void): Promise<LedgerReport>;
  /** Writes what is queued and closes. */
  close(): Promise<void>;
}
