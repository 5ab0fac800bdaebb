/**
 * The store of user accounts on LMDB: users by account id, sessions and one-time tokens by the SHA-256 of their text. It is read at each
 * request without a cache, so when one process ends a session, every other process rejects it at the next request.
 */
import { createHash } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import type { Random } from '../base/random.ts';
import { type LiveDatabase, type OpenStore, openLiveStore } from '../state/live-store.ts';
import { ACCOUNT_LIMITS } from './limits.ts';

export const FORMAT_VERSION = 1;

/** The owner of an account. */
export interface Person {
  /** Id of the account. */
  readonly id: string;
  /** Lower case. */
  readonly email: string;
  readonly emailVerified: boolean;
  /** In the format of password.ts. */
  readonly password: string;
  /** ISO 8601 UTC with milliseconds. */
  readonly createdAt: string;
  /** Incremented to end all sessions at once. */
  readonly sessionEpoch: number;
}

export interface SessionRow {
  readonly accountId: string;
  /** Milliseconds since the epoch, both. */
  readonly createdMs: number;
  readonly endsMs: number;
  /** The user's `sessionEpoch` when the session began. */
  readonly epoch: number;
}

export type TokenPurpose = 'verify' | 'reset';

interface TokenRow {
  readonly accountId: string;
  readonly purpose: TokenPurpose;
  readonly endsMs: number;
  /** Absent in stores of an earlier version. */
  readonly createdMs?: number;
}

/**
 * Returns true if a session or token has not expired. If its creation lies further in the future than its lifetime, because the clock was
 * set back, it counts as expired: none lives longer than twice its lifetime.
 */
function isCurrent(of: { readonly createdMs?: number; readonly endsMs: number }, nowMs: number): boolean {
  const { createdMs = Number.NEGATIVE_INFINITY, endsMs } = of;
  return nowMs < endsMs && createdMs - nowMs < endsMs - createdMs;
}

/** Keys of expiring rows: the expiry, the kind, and the hash. */
type EndKey = [endsMs: number, kind: 'session' | 'token', hash: string];

/** Expired sessions and tokens that are removed with each new one: faster than they are created. */
const PURGE_MAX = 8;
const SECRET_BYTES = 32;

export interface PeopleStore {
  get(accountId: string): Person | null;
  byEmail(email: string): Person | null;
  /** Oldest first. */
  list(): readonly Person[];
  /** Returns false if the email address already belongs to a user; nothing is changed then. */
  add(person: Person): Promise<boolean>;
  /** Changes a user inside a transaction; returns null if the user does not exist. */
  change(accountId: string, change: (person: Person) => Person): Promise<Person | null>;
  /** Starts a session; returns its text, which only its owner knows. */
  begin(person: Person, lifeMs: number): Promise<{ readonly token: string; readonly session: SessionRow }>;
  /** Returns the session with this text, unless it has ended. */
  session(token: string): SessionRow | null;
  end(token: string): Promise<void>;
  /** Creates a one-time token; returns its text. */
  issue(accountId: string, purpose: TokenPurpose, lifeMs: number): Promise<string>;
  /** Consumes a token; returns the account for which it was issued, or null. */
  redeem(token: string, purpose: TokenPurpose): Promise<string | null>;
  close(): Promise<void>;
}

const TOKEN_SHAPE = /^[0-9A-Za-z_-]{43}$/;

/** Secrets are looked up by their hash, so the time of a lookup does not reveal how much of a guess is right. */
const hashOf = (token: string): string => createHash('sha256').update(token).digest('hex');

/**
 * Opens (or creates) the store file at `path`.
 *
 * @throws STORE_VERSION, STORE_CORRUPT
 */
export function openPeopleStore(
  options: { path: string },
  deps: {
    readonly clock: Clock;
    readonly random: Random;
    /** Default: a store on this machine. */
    readonly openStore?: OpenStore;
  },
): PeopleStore {
  const { clock, random, openStore = openLiveStore } = deps;
  const store = openStore(options.path, FORMAT_VERSION, { name: 'people' });
  const { root } = store;
  const people: LiveDatabase<Person, string> = root.openDB({ name: 'people', encoding: 'json' });
  const idByEmail: LiveDatabase<string, string> = root.openDB({ name: 'idByEmail', encoding: 'json' });
  const sessions: LiveDatabase<SessionRow, string> = root.openDB({ name: 'sessions', encoding: 'json' });
  const tokens: LiveDatabase<TokenRow, string> = root.openDB({ name: 'tokens', encoding: 'json' });
  const ends: LiveDatabase<true, EndKey> = root.openDB({ name: 'ends', encoding: 'json' });

  /** Called before each read, to see the writes of other processes and nodes. Throws NOT_READY if the store is not current. */
  function look(): void {
    store.requireCurrent();
    root.resetReadTxn();
  }

  const newSecret = (): string => Buffer.from(random.bytes(SECRET_BYTES)).toString('base64url');

  /** Must run inside a transaction. */
  function purge(): void {
    const ended = [...ends.getKeys({ end: [clock.now(), 'session', ''], limit: PURGE_MAX })];
    for (const key of ended) {
      const [, kind, hash] = key;
      if (kind === 'session') sessions.removeSync(hash);
      else tokens.removeSync(hash);
      ends.removeSync(key);
    }
  }

  return {
    get(accountId) {
      look();
      return people.get(accountId) ?? null;
    },
    byEmail(email) {
      look();
      const id = idByEmail.get(email);
      return id === undefined ? null : (people.get(id) ?? null);
    },
    list() {
      look();
      const all = [...people.getRange()].map(({ value }) => value);
      return all.sort((a, b) => (a.createdAt + a.id < b.createdAt + b.id ? -1 : 1));
    },
    add: (person) =>
      root.transaction(() => {
        if (idByEmail.get(person.email) !== undefined) return false;
        people.putSync(person.id, person);
        idByEmail.putSync(person.email, person.id);
        return true;
      }),
    change: (accountId, change) =>
      root.transaction(() => {
        const person = people.get(accountId);
        if (person === undefined) return null;
        const changed = change(person);
        people.putSync(accountId, changed);
        return changed;
      }),
    async begin(person, lifeMs) {
      const token = newSecret();
      const createdMs = clock.now();
      const session: SessionRow = {
        accountId: person.id,
        createdMs,
        endsMs: createdMs + lifeMs,
        epoch: person.sessionEpoch,
      };
      const hash = hashOf(token);
      await root.transaction(() => {
        purge();
        sessions.putSync(hash, session);
        ends.putSync([session.endsMs, 'session', hash], true);
      });
      return { token, session };
    },
    session(token) {
      if (!TOKEN_SHAPE.test(token)) return null;
      look();
      const session = sessions.get(hashOf(token));
      if (session === undefined || !isCurrent(session, clock.now())) return null;
      const person = people.get(session.accountId);
      return person?.sessionEpoch === session.epoch ? session : null;
    },
    async end(token) {
      await sessions.remove(hashOf(token));
    },
    async issue(accountId, purpose, lifeMs) {
      const token = newSecret();
      const hash = hashOf(token);
      const createdMs = clock.now();
      const endsMs = createdMs + lifeMs;
      await root.transaction(() => {
        purge();
        tokens.putSync(hash, { accountId, purpose, createdMs, endsMs });
        ends.putSync([endsMs, 'token', hash], true);
      });
      return token;
    },
    async redeem(token, purpose) {
      if (!TOKEN_SHAPE.test(token)) return null;
      const hash = hashOf(token);
      return root.transaction(() => {
        const row = tokens.get(hash);
        if (row === undefined || row.purpose !== purpose || !isCurrent(row, clock.now())) return null;
        tokens.removeSync(hash);
        return row.accountId;
      });
    },
    async close() {
      await root.close();
    },
  };
}

/** Normalises an email address to lower case without surrounding spaces; returns null if the text is not an email address. */
export function emailOf(text: string): string | null {
  const email = text.trim().toLowerCase();
  if (email.length > ACCOUNT_LIMITS.emailCharsMax) return null;
  return /^[^\s@<>"',;:\\()[\]\p{Cc}]+@[0-9a-z](?:[0-9a-z.-]*[0-9a-z])?$/u.test(email) ? email : null;
}
