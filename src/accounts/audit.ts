/**
 * The audit log: who did what to which object, when, and from where. It is append-only. The hash of each entry includes the hash of the
 * previous one, so a changed, removed or inserted entry breaks the chain at that place. A change is logged before the response is sent; if
 * it cannot be logged, the response is an error.
 */
import { createHash } from 'node:crypto';
import { type Clock, isoTime } from '../base/clock.ts';
import { AssayError, messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import { sleep } from '../base/retry.ts';
import { type LiveDatabase, type OpenStore, openLiveStore } from '../state/live-store.ts';
import { type KeyStore, LOCAL_ACCOUNT } from './keys.ts';
import type { Ledger } from './ledger.ts';
import { ACCOUNT_LIMITS } from './limits.ts';
import { accountOfBalance, poolOf } from './pools.ts';

export const FORMAT_VERSION = 1;

export type AuditAction =
  | 'account.create'
  | 'account.disable'
  | 'account.enable'
  | 'account.verify'
  | 'operator.grant'
  | 'operator.revoke'
  | 'session.create'
  | 'session.refuse'
  | 'session.end'
  | 'person.invite'
  | 'person.withdraw'
  | 'person.join'
  | 'person.create'
  | 'person.role'
  | 'person.remove'
  | 'totp.enable'
  | 'totp.disable'
  | 'totp.renew'
  | 'totp.recovery'
  | 'totp.refuse'
  | 'totp.lock'
  | 'password.change'
  | 'password.reset'
  | 'key.create'
  | 'key.permission'
  | 'key.revoke'
  | 'plan.set'
  | 'credits.book'
  | 'lists.attest'
  | 'label.report'
  | 'label.decide'
  | 'label.dispute'
  | 'label.undispute'
  | 'alert.change'
  | 'case.create'
  | 'case.change'
  | 'case.event'
  | 'case.file'
  | 'case.export'
  | 'case.delete'
  | 'screening.delete'
  | 'billing.checkout'
  | 'billing.order'
  | 'billing.authorize'
  | 'billing.import'
  | 'billing.rate'
  | 'billing.refund'
  | 'billing.release'
  | 'billing.refuse'
  | 'billing.cancel'
  | 'billing.settings'
  | 'billing.agree'
  | 'key.receipts'
  | 'receipt.erase'
  | 'receipt.rotate-key';

/** The actor of an event, and its origin. */
export interface Actor {
  /** A person (the first of an account has its id), a key (`key_…`), `operator` or `stripe`. */
  readonly who: string;
  /** The client's address, or `command line`. */
  readonly from: string;
}

/** An operator at the command line. */
export const OPERATOR: Actor = { who: 'operator', from: 'command line' };

export interface AuditEvent extends Actor {
  readonly action: AuditAction;
  /** The affected account. */
  readonly accountId: string;
  /** The changed object: id of a key, a person, an invitation or a ledger entry; null if it is the account itself. */
  readonly subject: string | null;
  /** A few words of detail; never a secret. */
  readonly detail: string | null;
}

export interface AuditEntry extends AuditEvent {
  readonly sequence: number;
  /** ISO 8601 UTC with milliseconds. */
  readonly at: string;
  /** Hash of the previous entry; 64 zeros for the first. */
  readonly before: string;
  /** SHA-256 of all other fields, hex. */
  readonly hash: string;
}

/** An entry with its number among those of its account. `sequence` counts all accounts, so an account must not see it. */
export interface AccountEntry extends Omit<AuditEntry, 'sequence' | 'before' | 'hash'> {
  /** From 1. */
  readonly number: number;
}

export interface AuditReport {
  readonly entries: number;
  /** Hash of the last entry. A copy of it kept elsewhere can later prove whether the whole log was rewritten. */
  readonly head: string;
  /** The first 100 faults, as sentences; empty if the log is intact. */
  readonly faults: readonly string[];
}

export interface AuditLog {
  /** Appends an entry. Durable when it resolves. */
  write(event: AuditEvent): Promise<AuditEntry>;
  /** Returns the latest entries, newest first. */
  newest(limit: number): readonly AuditEntry[];
  /**
   * Returns entries about an account, newest first.
   *
   * @param before - only entries with a lower number; null for the newest
   * @returns the entries, and the number to continue before; null if no entry follows
   * @throws NOT_READY while the log of an older version of the program is upgraded
   */
  page(
    accountId: string,
    limit: number,
    before: number | null,
  ): { readonly entries: readonly AccountEntry[]; readonly next: number | null };
  /** Reads every entry and checks the chain. Safe while servers are running. */
  verify(): Promise<AuditReport>;
  close(): Promise<void>;
}

const FIRST_BEFORE = '0'.repeat(64);
const FAULTS_MAX = 100;
/** Number of entries checked before the event loop gets a turn. */
const VERIFY_SLICE = 2_000;

/** Hashes every field in a fixed order, as a JSON array, so that no two entries produce the same text. */
function hashOf(entry: Omit<AuditEntry, 'hash'>): string {
  const { sequence, at, who, from, action, accountId, subject, detail, before } = entry;
  return createHash('sha256')
    .update(JSON.stringify([sequence, at, who, from, action, accountId, subject, detail, before]))
    .digest('hex');
}

/** Entries that one transaction numbers: about 300 KB of a write set, and milliseconds of the event loop. */
const NUMBERED_AT_ONCE = 5_000;
/** Pause after a failed step, which a full disk or a short outage of Redis explains. */
const NUMBERING_RETRY_MS = 1_000;

const cut = (text: string): string => text.slice(0, ACCOUNT_LIMITS.auditTextMax);

/**
 * Opens (or creates) the log file at `path`.
 *
 * @throws STORE_VERSION, STORE_CORRUPT
 */
export function openAuditLog(
  options: { path: string },
  deps: {
    readonly clock: Clock;
    /** Default: a store on this machine. */
    readonly openStore?: OpenStore;
  },
): AuditLog {
  const { openStore = openLiveStore } = deps;
  const { root, meta, upgrade } = openStore(options.path, FORMAT_VERSION, { name: 'audit' });
  const entries: LiveDatabase<AuditEntry, number> = root.openDB({ name: 'entries', encoding: 'json' });
  /** Sequences of the entries of each account, by their numbers. */
  const byAccount: LiveDatabase<number, [accountId: string, number: number]> = root.openDB({
    name: 'byAccount',
    encoding: 'json',
  });

  const lastNumber = (accountId: string): number => {
    const range = {
      start: [accountId, Number.MAX_SAFE_INTEGER] as [string, number],
      reverse: true,
      limit: 1,
    };
    const [key] = [...byAccount.getKeys({ ...range, end: [accountId, 0] })];
    return key?.[1] ?? 0;
  };

  /** Numbers the entries of each account. Earlier versions wrote entries without numbers, also while this version runs on another node. */
  function numberEntries(): void {
    const numbered = meta.get('numbered') ?? 0;
    const end = Math.min(meta.get('entries') ?? 0, numbered + NUMBERED_AT_ONCE);
    if (end === numbered) return;
    const last = new Map<string, number>();
    for (let sequence = numbered + 1; sequence <= end; sequence++) {
      const accountId = entries.get(sequence)?.accountId;
      if (accountId === undefined) continue;
      const number = (last.get(accountId) ?? lastNumber(accountId)) + 1;
      last.set(accountId, number);
      byAccount.putSync([accountId, number], sequence);
    }
    meta.putSync('numbered', end);
  }
  const unnumbered = (): number => (meta.get('entries') ?? 0) - (meta.get('numbered') ?? 0);
  upgrade(numberEntries);
  const closed = new AbortController();
  /** Numbers the rest of a long log of an earlier version, in steps: one transaction of all would be too large to replicate. */
  async function numberRest(): Promise<void> {
    for (let isLeft = true; isLeft && !closed.signal.aborted; )
      try {
        isLeft = unnumbered() > 0;
        if (isLeft) await root.transaction(numberEntries);
      } catch {
        await sleep(NUMBERING_RETRY_MS, closed.signal, { unref: true });
      }
  }
  const numbering = numberRest();

  return {
    write: (event) =>
      root.transaction(() => {
        const count = meta.get('entries') ?? 0;
        const last = count === 0 ? undefined : entries.get(count);
        const unhashed = {
          ...event,
          who: cut(event.who),
          from: cut(event.from),
          detail: event.detail === null ? null : cut(event.detail),
          sequence: count + 1,
          at: isoTime(deps.clock.now()),
          before: last?.hash ?? FIRST_BEFORE,
        };
        const entry: AuditEntry = { ...unhashed, hash: hashOf(unhashed) };
        entries.putSync(entry.sequence, entry);
        meta.putSync('entries', entry.sequence);
        numberEntries();
        return entry;
      }),

    newest(limit) {
      root.resetReadTxn();
      return [...entries.getRange({ reverse: true, limit })].map(({ value }) => value);
    },

    page(accountId, limit, before) {
      root.resetReadTxn();
      if (unnumbered() > NUMBERED_AT_ONCE)
        throw new AssayError('NOT_READY', 'The audit log is being upgraded.', { retryAfterSeconds: 5 });
      const found: AccountEntry[] = [];
      const start: [string, number] = [accountId, (before ?? Number.MAX_SAFE_INTEGER) - 1];
      const rows = byAccount.getRange({ start, end: [accountId, 0], reverse: true, limit });
      let last = 1;
      for (const { key, value } of rows) {
        last = key[1];
        const entry = entries.get(value);
        if (entry?.accountId !== accountId) continue;
        const { sequence: _, before: _before, hash: _hash, ...shown } = entry;
        found.push({ ...shown, number: last });
      }
      return { entries: found, next: last > 1 ? last : null };
    },

    async verify() {
      root.resetReadTxn();
      const count = meta.get('entries') ?? 0;
      const faults: string[] = [];
      const fault = (text: string): void => {
        if (faults.length < FAULTS_MAX) faults.push(text);
      };
      let before = FIRST_BEFORE;
      for (let sequence = 1; sequence <= count; sequence++) {
        if (sequence % VERIFY_SLICE === 0) await new Promise((resolve) => setImmediate(resolve));
        const entry = entries.get(sequence);
        if (entry === undefined) {
          fault(`Entry ${sequence} is missing.`);
          continue;
        }
        if (entry.sequence !== sequence || entry.hash !== hashOf(entry))
          fault(`Entry ${sequence} was changed.`);
        if (entry.before !== before) fault(`Entry ${sequence} does not follow the entry before it.`);
        before = entry.hash;
      }
      return { entries: count, head: before, faults };
    },

    async close() {
      closed.abort();
      await numbering;
      await root.close();
    },
  };
}

/**
 * Returns the `createdBy` of keys that an actor creates. The first person of an account, who has its id, is `session`, as in releases with
 * one person for each account.
 */
export const creatorOf = ({ who }: Pick<Actor, 'who'>, accountId: string): string =>
  who === accountId ? 'session' : who;

/** Wraps the store of keys so that every change is logged, and each new key records its creator. */
export function auditKeys(keys: KeyStore, log: () => AuditLog, actor: Actor): KeyStore {
  return {
    verify: (token) => keys.verify(token),
    generation: () => keys.generation(),
    get: (id) => keys.get(id),
    list: (accountId) => keys.list(accountId),
    active: (accountId) => keys.active(accountId),
    shown: (accountId, revokedMax) => keys.shown(accountId, revokedMax),
    descendants: (id) => keys.descendants(id),
    planOf: (accountId) => keys.planOf(accountId),
    isDisabled: (accountId) => keys.isDisabled(accountId),
    isOperator: (accountId) => keys.isOperator(accountId),
    addAccount: (accountId, plan) => keys.addAccount(accountId, plan),
    close: () => keys.close(),
    async create(key) {
      const created = await keys.create({
        createdBy: creatorOf(actor, key.accountId ?? LOCAL_ACCOUNT),
        ...key,
      });
      const { id, accountId, permissions } = created.record;
      const detail = permissions.join(',');
      await log().write({ ...actor, action: 'key.create', accountId, subject: id, detail });
      return created;
    },
    async revoke(id) {
      const record = await keys.revoke(id);
      const { accountId } = record;
      await log().write({ ...actor, action: 'key.revoke', accountId, subject: id, detail: null });
      return record;
    },
    async revokeWithDescendants(id) {
      const revoked = await keys.revokeWithDescendants(id);
      for (const record of revoked) {
        const detail = record.id === id ? null : `descendant of ${id}`;
        const { accountId } = record;
        await log().write({ ...actor, action: 'key.revoke', accountId, subject: record.id, detail });
      }
      return revoked;
    },
    async setPermission(id, permission, enabled) {
      const record = await keys.setPermission(id, permission, enabled);
      const { accountId } = record;
      const detail = `${permission} ${enabled ? 'on' : 'off'}`;
      await log().write({ ...actor, action: 'key.permission', accountId, subject: id, detail });
      return record;
    },
    async setReceipts(id, receipts) {
      const record = await keys.setReceipts(id, receipts);
      const { accountId } = record;
      await log().write({ ...actor, action: 'key.receipts', accountId, subject: id, detail: receipts });
      return record;
    },
    async setPlan(accountId, plan) {
      await keys.setPlan(accountId, plan);
      await log().write({ ...actor, action: 'plan.set', accountId, subject: null, detail: plan });
    },
    async setDisabled(accountId, disabled) {
      await keys.setDisabled(accountId, disabled);
      const action = disabled ? 'account.disable' : 'account.enable';
      await log().write({ ...actor, action, accountId, subject: null, detail: null });
    },
    async setOperator(accountId, operator) {
      const event = { ...actor, accountId, subject: null, detail: null };
      // Logged first: a right that is granted but not in the log would be worse than a logged one that was not granted.
      if (operator && keys.planOf(accountId) !== null)
        await log().write({ ...event, action: 'operator.grant' });
      await keys.setOperator(accountId, operator);
      if (!operator) await log().write({ ...event, action: 'operator.revoke' });
    },
  };
}

/** Pauses before further attempts to log a booking that is already in the ledger. */
const BOOKED_PAUSES_MS = [250, 1_000] as const;
/** Number of latest entries that are searched for an entry that may have been written despite an error. */
const LOOKED_THROUGH = 100;

/**
 * Wraps the ledger so that every booking is logged; charges and repeated bookings are not. A booking cannot be undone because its entry is
 * missing in the audit log: if the entry cannot be written, the booking is written to the program's log, and the error says that the
 * credits are booked.
 *
 * @returns a ledger of which `book` rejects with LEDGER_UNAVAILABLE then
 */
export function auditBookings(
  ledger: Ledger,
  log: () => AuditLog,
  actor: Actor,
  deps: { readonly log: Logger; readonly pausesMs?: readonly number[] },
): Ledger {
  const { pausesMs = BOOKED_PAUSES_MS } = deps;

  async function write(event: AuditEvent): Promise<void> {
    for (let attempt = 0; ; attempt++) {
      try {
        const isThere = ({ action, subject }: AuditEntry): boolean =>
          action === event.action && subject === event.subject;
        if (attempt === 0 || !log().newest(LOOKED_THROUGH).some(isThere)) await log().write(event);
        return;
      } catch (error) {
        const pauseMs = pausesMs[attempt];
        if (pauseMs === undefined) throw error;
        await sleep(pauseMs);
      }
    }
  }

  return {
    reserve: (accountId, amount) => ledger.reserve(accountId, amount),
    commit: (reservation, charge) => ledger.commit(reservation, charge),
    release: (reservation) => ledger.release(reservation),
    refund: (accountId, id) => ledger.refund(accountId, id),
    settle: (settlement) => ledger.settle(settlement),
    balance: (accountId) => ledger.balance(accountId),
    usage: (accountId, page) => ledger.usage(accountId, page),
    storedAnswer: (accountId, slot) => ledger.storedAnswer(accountId, slot),
    verify: (onProgress) => ledger.verify(onProgress),
    close: () => ledger.close(),
    async book(booking) {
      const booked = await ledger.book(booking);
      if (booked.repeated) return booked;
      const { type, amount, reference } = booking;
      const accountId = accountOfBalance(booking.accountId);
      const pool = poolOf(booking.accountId);
      const parts = [
        type,
        amount,
        ...(pool === 'api' ? [] : [pool]),
        ...(reference === null ? [] : [reference]),
      ];
      const detail = parts.join(' ');
      const { id } = booked.entry;
      const event: AuditEvent = { ...actor, action: 'credits.book', accountId, subject: id, detail };
      try {
        await write(event);
      } catch (cause) {
        deps.log.error({ ...event, err: cause }, 'booking is missing in the audit log');
        throw new AssayError(
          'LEDGER_UNAVAILABLE',
          `The credits are booked (entry ${id}), but the audit log could not be written: ${messageOf(cause).replace(/\.$/, '')}. Do not book them again.`,
          { cause },
        );
      }
      return booked;
    },
  };
}

/**
 * Requires an audit log without faults.
 *
 * @throws STORE_CORRUPT with the first fault
 */
export function expectSound(report: AuditReport): void {
  const [first] = report.faults;
  if (first !== undefined) throw new AssayError('STORE_CORRUPT', `The audit log is damaged: ${first}`);
}
