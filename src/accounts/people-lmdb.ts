/**
 * The store of people on LMDB: persons by id, sessions and one-time tokens by the SHA-256 of their text, invitations by account. It is read
 * at each request without a cache, so when one process ends a session, every other process rejects it at the next request.
 */

import type { Clock } from '../base/clock.ts';
import { sweepHourly } from '../base/idle-sweep.ts';
import type { Random } from '../base/random.ts';
import {
  type LiveDatabase,
  type LiveRoot,
  type LiveStore,
  type OpenStore,
  openLiveStore,
} from '../state/live-store.ts';
import { ACCOUNT_LIMITS } from './limits.ts';
import {
  accountOfPerson,
  activeFactorOf,
  hashOf,
  type Invitation,
  isCurrent,
  type Person,
  resetEpochOf,
  roleOf,
  type SessionClient,
  type SessionRow,
  type StoredSession,
  sessionIdOfHash,
  TOKEN_SHAPE,
  type TokenPurpose,
  type TokenRow,
  withoutResets,
} from './people-records.ts';
import type { Acceptance, Addition, MemberRefusal, PeopleStore } from './people-store.ts';
import type { Role } from './roles.ts';

export const FORMAT_VERSION = 1;

/** People and their sessions, tokens, invitations and key trial; replaced registrations; and three indexes, five databases of their own. */
const DATABASES = 13;

/** Keys of expiring rows: the expiry, the kind, and the hash. */
type EndKey = [endsMs: number, kind: 'session' | 'token', hash: string];

/** Expired sessions and tokens that are removed with each new one: faster than they are created. */
const PURGE_MAX = 8;
const SECRET_BYTES = 32;
/** After the last character of an id or hash. */
const PAST = '\u007f';

/** Key of the only row of its database. */
const KEY_TRIAL = 'installation';

const NO_CLIENT: SessionClient = { from: '', userAgent: '' };

/**
 * Opens (or creates) the store file at `path`.
 *
 * @throws STORE_VERSION, STORE_CORRUPT
 */
export function openPeopleStore(options: { path: string }, deps: PeopleStoreDeps): PeopleStore {
  return new LmdbPeopleStore(options.path, deps);
}

export interface PeopleStoreDeps {
  readonly clock: Clock;
  readonly random: Random;
  /** Default: a store on this machine. */
  readonly openStore?: OpenStore;
}

const byAge = (a: Person, b: Person): number => (a.createdAt + a.id < b.createdAt + b.id ? -1 : 1);

class LmdbPeopleStore implements PeopleStore {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #store: LiveStore;
  readonly #root: LiveRoot;
  readonly #people: LiveDatabase<Person, string>;
  readonly #idByEmail: LiveDatabase<string, string>;
  /** Account and person, for people who do not have the id of their account. */
  readonly #members: LiveDatabase<true, [accountId: string, id: string]>;
  readonly #sessions: LiveDatabase<SessionRow, string>;
  readonly #sessionsOf: LiveDatabase<true, [personId: string, hash: string]>;
  readonly #tokens: LiveDatabase<TokenRow, string>;
  readonly #ends: LiveDatabase<true, EndKey>;
  readonly #invitations: LiveDatabase<Invitation, [accountId: string, id: string]>;
  /** Accounts after their only person was replaced. */
  readonly #replaced: LiveDatabase<true, string>;
  /** One row. */
  readonly #keyTrials: LiveDatabase<string, string>;
  readonly #stopSweep: () => Promise<void>;
  #isClosed = false;

  constructor(path: string, { clock, random, openStore = openLiveStore }: PeopleStoreDeps) {
    const store = openStore(path, FORMAT_VERSION, { name: 'people', maxDbs: DATABASES });
    const { root } = store;
    this.#clock = clock;
    this.#random = random;
    this.#store = store;
    this.#root = root;
    this.#people = root.openDB({ name: 'people', encoding: 'json' });
    this.#idByEmail = root.openDB({ name: 'idByEmail', encoding: 'json' });
    this.#members = root.openDB({ name: 'members', encoding: 'json' });
    this.#sessions = root.openDB({ name: 'sessions', encoding: 'json' });
    this.#sessionsOf = root.openDB({ name: 'sessionsOf', encoding: 'json' });
    this.#tokens = root.openDB({ name: 'tokens', encoding: 'json' });
    this.#ends = root.openDB({ name: 'ends', encoding: 'json' });
    this.#invitations = root.openDB({ name: 'invitations', encoding: 'json' });
    this.#replaced = root.openDB({ name: 'replaced', encoding: 'json' });
    this.#keyTrials = root.openDB({ name: 'keyTrial', encoding: 'string' });
    store.upgrade(() => this.#indexSessions());
    this.#stopSweep = sweepHourly(
      () => this.removeEnded(),
      // While Redis is away, or on a full disk: the next sweep, or the next session, removes them.
      () => {},
    );
  }

  get(id: string): Person | null {
    this.#look();
    return this.#people.get(id) ?? null;
  }

  byEmail(email: string): Person | null {
    this.#look();
    const id = this.#idByEmail.get(email);
    return id === undefined ? null : (this.#people.get(id) ?? null);
  }

  unconfirmed(email: string): Person | null {
    this.#look();
    return this.#unconfirmed(email);
  }

  list(): readonly Person[] {
    this.#look();
    return [...this.#people.getRange()].map(({ value }) => value).sort(byAge);
  }

  members(accountId: string): readonly Person[] {
    this.#look();
    return this.#membersOf(accountId);
  }

  add(person: Person): Promise<boolean> {
    return this.#root.transaction(() => this.#put(person));
  }

  addMember(accountId: string, person: Person, peopleMax: number): Promise<Addition> {
    return this.#root.transaction((): Addition => {
      const present = this.#membersOf(accountId).length + this.#invitationsOf(accountId).length;
      if (present >= peopleMax) return 'full';
      return this.#put(person) ? 'added' : 'taken';
    });
  }

  change(id: string, change: (person: Person) => Person): Promise<Person | null> {
    return this.#root.transaction(() => {
      const person = this.#people.get(id);
      if (person === undefined) return null;
      const changed = change(person);
      this.#people.putSync(id, changed);
      return changed;
    });
  }

  setRole(accountId: string, id: string, role: Role, isConfirmed: boolean): Promise<Person | MemberRefusal> {
    return this.#root.transaction(() => {
      const person = this.#member(accountId, id);
      if (person === null) return 'unknown';
      if (!isConfirmed && (role === 'owner' || roleOf(person) === 'owner')) return 'unconfirmed';
      if (role !== 'owner' && this.#isLastOwner(person)) return 'last owner';
      // Only owners invite: the invitations of a former one end with the role.
      if (role !== 'owner') this.#dropInvitations(accountId, ({ invitedBy }) => invitedBy === id);
      const changed: Person = { ...person, role };
      this.#people.putSync(id, changed);
      return changed;
    });
  }

  remove(accountId: string, id: string, isConfirmed: boolean): Promise<Person | MemberRefusal> {
    return this.#root.transaction(() => {
      const person = this.#member(accountId, id);
      if (person === null) return 'unknown';
      if (!isConfirmed && roleOf(person) === 'owner') return 'unconfirmed';
      if (this.#isLastOwner(person)) return 'last owner';
      this.#drop(person);
      return person;
    });
  }

  async begin(
    person: Person,
    lifeMs: number,
    { from, userAgent }: SessionClient = NO_CLIENT,
  ): Promise<{ readonly token: string; readonly session: SessionRow }> {
    const token = this.#newSecret();
    const createdMs = this.#clock.now();
    const session: SessionRow = {
      accountId: person.id,
      createdMs,
      endsMs: createdMs + lifeMs,
      epoch: person.sessionEpoch,
      ...(from === '' ? {} : { from }),
      ...(userAgent === '' ? {} : { userAgent: userAgent.slice(0, ACCOUNT_LIMITS.userAgentMax) }),
    };
    const hash = hashOf(token);
    await this.#root.transaction(() => {
      this.#purge();
      this.#makeRoom(person.id);
      this.#sessions.putSync(hash, session);
      this.#sessionsOf.putSync([person.id, hash], true);
      this.#ends.putSync([session.endsMs, 'session', hash], true);
    });
    return { token, session };
  }

  session(token: string): SessionRow | null {
    if (!TOKEN_SHAPE.test(token)) return null;
    this.#look();
    return this.#live(hashOf(token));
  }

  async end(token: string): Promise<void> {
    const hash = hashOf(token);
    await this.#root.transaction(() => {
      const session = this.#sessions.get(hash);
      if (session !== undefined) this.#removeSession(hash, session.accountId);
    });
  }

  sessionsOf(id: string): readonly StoredSession[] {
    this.#look();
    return this.#hashesOf(id)
      .flatMap((hash) => {
        const session = this.#live(hash);
        return session === null ? [] : [{ ...session, id: sessionIdOfHash(hash) }];
      })
      .sort((a, b) => b.createdMs - a.createdMs || (a.id < b.id ? -1 : 1));
  }

  endSession(id: string, sessionId: string): Promise<boolean> {
    return this.#root.transaction(() => {
      const hash = this.#hashesOf(id).find((one) => sessionIdOfHash(one) === sessionId);
      if (hash === undefined || this.#live(hash) === null) return false;
      this.#removeSession(hash, id);
      return true;
    });
  }

  endSessions(id: string, exceptId: string | null): Promise<number> {
    return this.#root.transaction(() => {
      let ended = 0;
      for (const hash of this.#hashesOf(id)) {
        if (sessionIdOfHash(hash) === exceptId) continue;
        if (this.#live(hash) !== null) ended++;
        this.#removeSession(hash, id);
      }
      return ended;
    });
  }

  async noteUse(token: string): Promise<void> {
    const hash = hashOf(token);
    const usedMs = this.#clock.now();
    await this.#root.transaction(() => {
      const session = this.#sessions.get(hash);
      if (session !== undefined) this.#sessions.putSync(hash, { ...session, usedMs });
    });
  }

  async issue(id: string, purpose: TokenPurpose, lifeMs: number): Promise<string> {
    const token = this.#newSecret();
    const hash = hashOf(token);
    const createdMs = this.#clock.now();
    const endsMs = createdMs + lifeMs;
    await this.#root.transaction(() => {
      this.#purge();
      const resetEpoch = purpose === 'reset' ? this.#endResets(id) : 0;
      this.#tokens.putSync(hash, { accountId: id, purpose, createdMs, endsMs, resetEpoch });
      this.#ends.putSync([endsMs, 'token', hash], true);
    });
    return token;
  }

  async redeem(token: string, purpose: TokenPurpose): Promise<string | null> {
    if (!TOKEN_SHAPE.test(token)) return null;
    const hash = hashOf(token);
    return this.#root.transaction(() => {
      const row = this.#redeemable(hash, purpose);
      if (row === null) return null;
      this.#tokens.removeSync(hash);
      if (purpose === 'reset') this.#endResets(row.accountId);
      return row.accountId;
    });
  }

  isRedeemable(token: string, purpose: TokenPurpose): boolean {
    if (!TOKEN_SHAPE.test(token)) return false;
    this.#look();
    return this.#redeemable(hashOf(token), purpose) !== null;
  }

  async invite(invitation: Invitation, peopleMax: number): Promise<string | null> {
    const { accountId, id, email, createdMs, endsMs } = invitation;
    const token = this.#newSecret();
    const hash = hashOf(token);
    return this.#root.transaction(() => {
      this.#purge();
      const others = this.#invitationsOf(accountId).filter((one) => one.email !== email);
      if (this.#membersOf(accountId).length + others.length >= peopleMax) return null;
      this.#dropInvitations(accountId, (one) => one.email === email);
      this.#invitations.putSync([accountId, id], invitation);
      this.#tokens.putSync(hash, { accountId, purpose: 'invite', createdMs, endsMs, invitation: id });
      this.#ends.putSync([endsMs, 'token', hash], true);
      return token;
    });
  }

  invitations(accountId: string): readonly Invitation[] {
    this.#look();
    return this.#invitationsOf(accountId);
  }

  invitation(token: string): Invitation | null {
    if (!TOKEN_SHAPE.test(token)) return null;
    this.#look();
    return this.#invitationOf(hashOf(token));
  }

  setInvitedRole(accountId: string, id: string, role: Role): Promise<Invitation | null> {
    return this.#root.transaction(() => {
      const invitation = this.#invitationsOf(accountId).find((one) => one.id === id);
      if (invitation === undefined) return null;
      const changed: Invitation = { ...invitation, role };
      this.#invitations.putSync([accountId, id], changed);
      return changed;
    });
  }

  withdraw(accountId: string, id: string): Promise<Invitation | null> {
    return this.#root.transaction(() => {
      const invitation = this.#invitations.get([accountId, id]);
      if (invitation === undefined) return null;
      this.#invitations.removeSync([accountId, id]);
      return isCurrent(invitation, this.#clock.now()) ? invitation : null;
    });
  }

  async accept(token: string, make: (invitation: Invitation) => Person): Promise<Acceptance> {
    if (!TOKEN_SHAPE.test(token)) return 'unknown';
    const hash = hashOf(token);
    return this.#root.transaction((): Acceptance => {
      const invitation = this.#invitationOf(hash);
      if (invitation === null) return 'unknown';
      const person = make(invitation);
      const replaced = this.#unconfirmed(invitation.email);
      if (replaced !== null) {
        this.#drop(replaced);
        this.#replaced.putSync(accountOfPerson(replaced), true);
      }
      if (!this.#put(person)) return 'taken';
      this.#tokens.removeSync(hash);
      this.#invitations.removeSync([invitation.accountId, invitation.id]);
      return { person, invitation, replaced };
    });
  }

  isReplaced(accountId: string): boolean {
    this.#look();
    return this.#replaced.get(accountId) ?? false;
  }

  keyTrial(): string | null {
    this.#look();
    return this.#keyTrials.get(KEY_TRIAL) ?? null;
  }

  async setKeyTrial(
    choose: (present: string | null, people: readonly Person[]) => string | null,
  ): Promise<void> {
    await this.#root.transaction(() => {
      const people = [...this.#people.getRange()].map(({ value }) => value);
      const present = this.#keyTrials.get(KEY_TRIAL) ?? null;
      const text = choose(
        present,
        people.filter((person) => activeFactorOf(person) !== null),
      );
      if (text !== null) this.#keyTrials.putSync(KEY_TRIAL, text);
    });
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    await this.#stopSweep();
    await this.#root.close();
  }

  /** Called before each read, to see the writes of other processes and nodes. Throws NOT_READY if the store is not current. */
  #look(): void {
    this.#store.requireCurrent();
    this.#root.resetReadTxn();
  }

  #newSecret(): string {
    return Buffer.from(this.#random.bytes(SECRET_BYTES)).toString('base64url');
  }

  #membersOf(accountId: string): Person[] {
    const range = { start: [accountId, ''], end: [accountId, PAST] } as {
      start: [string, string];
      end: [string, string];
    };
    const ids = [accountId, ...[...this.#members.getKeys(range)].map(([, id]) => id)];
    return ids.flatMap((id) => this.#people.get(id) ?? []).sort(byAge);
  }

  #member(accountId: string, id: string): Person | null {
    const person = this.#people.get(id);
    return person !== undefined && accountOfPerson(person) === accountId ? person : null;
  }

  #isLastOwner(person: Person): boolean {
    if (roleOf(person) !== 'owner') return false;
    return this.#membersOf(accountOfPerson(person)).filter((one) => roleOf(one) === 'owner').length === 1;
  }

  /** Adds a person, unless the email address belongs to another one. Must run inside a transaction, like all methods below that write. */
  #put(person: Person): boolean {
    if (this.#idByEmail.get(person.email) !== undefined) return false;
    this.#people.putSync(person.id, person);
    this.#idByEmail.putSync(person.email, person.id);
    if (person.accountId !== undefined) this.#members.putSync([person.accountId, person.id], true);
    return true;
  }

  /** Removes a person with their sessions, and the invitations that they sent. */
  #drop(person: Person): void {
    const { id, email } = person;
    const accountId = accountOfPerson(person);
    this.#dropInvitations(accountId, ({ invitedBy }) => invitedBy === id);
    for (const hash of this.#hashesOf(id)) this.#removeSession(hash, id);
    this.#people.removeSync(id);
    this.#members.removeSync([accountId, id]);
    this.#idByEmail.removeSync(email);
  }

  #unconfirmed(email: string): Person | null {
    const id = this.#idByEmail.get(email);
    const person = id === undefined ? undefined : this.#people.get(id);
    // People with an account of somebody else were added by its owner or by the operator.
    if (person === undefined || person.emailVerified || person.accountId !== undefined) return null;
    return this.#membersOf(person.id).length === 1 ? person : null;
  }

  #hashesOf(id: string): string[] {
    return [
      ...this.#sessionsOf.getKeys({
        start: [id, ''] as [string, string],
        end: [id, PAST] as [string, string],
      }),
    ].map(([, hash]) => hash);
  }

  /** Returns a session, unless it has ended. */
  #live(hash: string): SessionRow | null {
    const session = this.#sessions.get(hash);
    if (session === undefined || !isCurrent(session, this.#clock.now())) return null;
    return this.#people.get(session.accountId)?.sessionEpoch === session.epoch ? session : null;
  }

  #removeSession(hash: string, id: string): void {
    this.#sessions.removeSync(hash);
    this.#sessionsOf.removeSync([id, hash]);
  }

  async removeEnded(): Promise<void> {
    for (;;) {
      if (this.#isClosed) return;
      this.#look();
      if (this.#ended(1).length === 0) return;
      await this.#root.transaction(() => this.#purge(ACCOUNT_LIMITS.endedSweptAtOnce));
    }
  }

  /** Returns the keys of the first sessions and tokens that have ended. */
  #ended(limit: number): EndKey[] {
    const end: EndKey = [this.#clock.now(), 'session', ''];
    return [...this.#ends.getKeys({ end, limit })];
  }

  #purge(limit = PURGE_MAX): void {
    for (const key of this.#ended(limit)) {
      const [, kind, hash] = key;
      if (kind === 'session') this.#removeSession(hash, this.#sessions.get(hash)?.accountId ?? '');
      else this.#removeToken(hash);
      this.#ends.removeSync(key);
    }
  }

  /** Removes a token that has expired, and with it the invitation, which names an address of somebody who never joined. */
  #removeToken(hash: string): void {
    const row = this.#tokens.get(hash);
    if (row?.invitation !== undefined) this.#invitations.removeSync([row.accountId, row.invitation]);
    this.#tokens.removeSync(hash);
  }

  /** Ends the oldest sessions of a person who has too many. */
  #makeRoom(id: string): void {
    const hashes = this.#hashesOf(id);
    if (hashes.length < ACCOUNT_LIMITS.sessionsPerPersonMax) return;
    const age = (hash: string): number => this.#sessions.get(hash)?.createdMs ?? 0;
    const oldest = hashes.sort((a, b) => age(a) - age(b));
    for (const hash of oldest.slice(0, hashes.length - ACCOUNT_LIMITS.sessionsPerPersonMax + 1))
      this.#removeSession(hash, id);
  }

  /** Ends all reset tokens of a person; returns the epoch of the next one. */
  #endResets(id: string): number {
    const person = this.#people.get(id);
    if (person === undefined) return 0;
    const changed = withoutResets(person);
    this.#people.putSync(id, changed);
    return resetEpochOf(changed);
  }

  /** Returns a token that can be redeemed now; null if it is used, expired, unknown, or older than a reset. */
  #redeemable(hash: string, purpose: TokenPurpose): TokenRow | null {
    const row = this.#tokens.get(hash);
    if (row === undefined || row.purpose !== purpose || !isCurrent(row, this.#clock.now())) return null;
    const isOutdated =
      purpose === 'reset' && resetEpochOf(row) !== resetEpochOf(this.#people.get(row.accountId));
    return isOutdated ? null : row;
  }

  #invitationOf(hash: string): Invitation | null {
    const row = this.#tokens.get(hash);
    if (row?.purpose !== 'invite' || row.invitation === undefined) return null;
    const invitation = this.#invitations.get([row.accountId, row.invitation]);
    return invitation !== undefined && isCurrent(invitation, this.#clock.now()) ? invitation : null;
  }

  #allInvitationsOf(accountId: string): Invitation[] {
    const [start, end] = [
      [accountId, ''],
      [accountId, PAST],
    ] as [[string, string], [string, string]];
    return [...this.#invitations.getRange({ start, end })].map(({ value }) => value);
  }

  #invitationsOf(accountId: string): Invitation[] {
    return this.#allInvitationsOf(accountId)
      .filter((one) => isCurrent(one, this.#clock.now()))
      .sort((a, b) => a.createdMs - b.createdMs || (a.id < b.id ? -1 : 1));
  }

  /** Removes expired invitations of an account, and those that `isDropped` selects. Their tokens end with them. */
  #dropInvitations(accountId: string, isDropped: (invitation: Invitation) => boolean): void {
    const now = this.#clock.now();
    for (const one of this.#allInvitationsOf(accountId))
      if (isDropped(one) || !isCurrent(one, now)) this.#invitations.removeSync([accountId, one.id]);
  }

  /** Adds the sessions of an earlier version, which had no index by person. */
  #indexSessions(): void {
    const { meta } = this.#store;
    if (meta.get('sessionsOf') !== undefined) return;
    for (const { key, value } of this.#sessions.getRange())
      this.#sessionsOf.putSync([value.accountId, key], true);
    meta.putSync('sessionsOf', 1);
  }
}
