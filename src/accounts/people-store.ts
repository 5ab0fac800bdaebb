/**
 * The store of people on LMDB: people by the id of their account, sessions and one-time tokens by the SHA-256 of their text. It is
 * read at each request and nothing is cached, so what one process ends is over in every other one at its next request.
 */
import { createHash } from 'node:crypto';
import type { Clock } from '../base/clock.ts';
import { LIMITS } from '../base/limits.ts';
import { type LiveDatabase, type OpenStore, openLiveStore } from '../base/live-store.ts';
import type { Random } from '../base/random.ts';

export const FORMAT_VERSION = 1;

/** Who owns an account. */
export interface Person {
  /** Id of the account. */
  readonly id: string;
  /** Lower case. */
  readonly email: string;
  readonly emailVerified: boolean;
  /** As password.ts writes it. */
  readonly password: string;
  /** ISO 8601 UTC with milliseconds. */
  readonly createdAt: string;
  /** Counted up to end all sessions at once. */
  readonly sessionEpoch: number;
}

export interface SessionRow {
  readonly accountId: string;
  /** Milliseconds since the epoch, both. */
  readonly createdMs: number;
  readonly endsMs: number;
  /** `sessionEpoch` of its person when it began. */
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
 * Whether a session or a token has not ended. One that was made further ahead than it lasts, because the clock was set back since, has:
 * none lasts longer than twice its time.
 */
function isCurrent(of: { readonly createdMs?: number; readonly endsMs: number }, nowMs: number): boolean {
  const { createdMs = Number.NEGATIVE_INFINITY, endsMs } = of;
  return nowMs < endsMs && createdMs - nowMs < endsMs - createdMs;
}

/** Keys of what ends by itself: when, of which kind, and its hash. */
type EndKey = [endsMs: number, kind: 'session' | 'token', hash: string];

/** Ended sessions and tokens that are removed with each new one: faster than they come. */
const PURGE_MAX = 8;
const SECRET_BYTES = 32;

export interface PeopleStore {
  get(accountId: string): Person | null;
  byEmail(email: string): Person | null;
  /** Oldest first. */
  list(): readonly Person[];
  /** False where the address belongs to a person already; then nothing changed. */
  add(person: Person): Promise<boolean>;
  /** Changes a person inside a transaction; null where there is none. */
  change(accountId: string, change: (person: Person) => Person): Promise<Person | null>;
  /** Begins a session; returns its text, which is known to its owner alone. */
  begin(person: Person, lifeMs: number): Promise<{ readonly token: string; readonly session: SessionRow }>;
  /** The session of a text, unless it ended. */
  session(token: string): SessionRow | null;
  end(token: string): Promise<void>;
  /** Makes a one-time token; returns its text. */
  issue(accountId: string, purpose: TokenPurpose, lifeMs: number): Promise<string>;
  /** Uses a token up; the account it was issued for, or null. */
  redeem(token: string, purpose: TokenPurpose): Promise<string | null>;
  close(): Promise<void>;
}

const TOKEN_SHAPE = /^[0-9A-Za-z_-]{43}$/;

/** Secrets are looked up by their hash, so the time of a look-up tells nothing of how much of a wrong one is right. */
const hashOf = (token: string): string => createHash('sha256').update(token).digest('hex');

/** Opens (or makes) the store at `path`, a file. Throws STORE_VERSION, STORE_CORRUPT. */
export function openPeopleStore(
  options: { path: string },
  deps: {
    readonly clock: Clock;
    readonly random: Random;
    /** Default: on this machine. */
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

  /** Before each read: of what other processes and nodes wrote. Throws NOT_READY where that is not known. */
  function look(): void {
    store.requireCurrent();
    root.resetReadTxn();
  }

  const newSecret = (): string => Buffer.from(random.bytes(SECRET_BYTES)).toString('base64url');

  /** Inside a transaction. */
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
      const found = [...people.getRange()].map(({ value }) => value);
      return found.sort((a, b) => (a.createdAt + a.id < b.createdAt + b.id ? -1 : 1));
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

/** Lower case, without spaces around it; null where it has not the form of an address. */
export function emailOf(text: string): string | null {
  const email = text.trim().toLowerCase();
  if (email.length > LIMITS.emailCharsMax) return null;
  return /^[^\s@<>"',;:\\()[\]\p{Cc}]+@[0-9a-z](?:[0-9a-z.-]*[0-9a-z])?$/u.test(email) ? email : null;
}
