/**
 * User accounts: registration, email verification, login and logout, password change and reset. Responses, and the work before them, are
 * the same whether or not an email address has an account, so that only its owner can find out. Work that depends on it begins after the
 * response. members.ts has the people of an account, second-factor.ts the codes at login.
 */
import { type Clock, isoTime } from '../base/clock.ts';
import { AssayError, messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { Mailer } from '../base/mail.ts';
import type { Random } from '../base/random.ts';
import type { Encryption } from '../state/encryption.ts';
import { type Attempts, CODE_ATTEMPTS, createAttempts, EMAIL_REQUESTS } from './attempts.ts';
import type { Actor, AuditAction, AuditLog } from './audit.ts';
import { type Credentials, invalid, requirePassword } from './credentials.ts';
import { EMAILS, type PublicUrl } from './emails.ts';
import type { KeyStore } from './keys.ts';
import { ACCOUNT_LIMITS } from './limits.ts';
import { createMembers, type Members } from './members.ts';
import { checkPassword, createPasswords, type DeriveKey } from './password.ts';
import {
  accountOfPerson,
  activeFactorOf,
  emailOf,
  type Person,
  roleOf,
  type SessionClient,
  sessionIdOf,
  withoutFactor,
  withoutResets,
} from './people-records.ts';
import type { PeopleStore } from './people-store.ts';
import { PeopleTasks } from './people-tasks.ts';
import type { PlanName } from './plans.ts';
import { includesRole, type Role } from './roles.ts';
import { createSecondFactor, type SecondFactor } from './second-factor.ts';
import { type KeyProblem, SecondFactorKey } from './second-factor-key.ts';
import { type OwnSession, SessionUses, sessionsView } from './session-list.ts';

/** Prefix of the accounts of users; other accounts belong to the operator. */
const ACCOUNT_PREFIX = 'acc_';

/** Returns true if an account belongs to a user and not to the operator. */
export const isPersonal = (accountId: string): boolean => accountId.startsWith(ACCOUNT_PREFIX);

/** The data of an account that its people may see. */
export interface AccountView {
  readonly id: string;
  /** Email address of the person. */
  readonly email: string;
  readonly emailVerified: boolean;
  readonly plan: PlanName;
  readonly createdAt: string;
}

/** The person of a session. */
export interface SessionPerson {
  readonly id: string;
  readonly role: Role;
  /** Whether a login asks for a code. */
  readonly secondFactor: boolean;
}

export interface Session {
  readonly id: string;
  readonly account: AccountView;
  readonly person: SessionPerson;
  /** Whether the person may read the state of the whole installation: an owner or analyst of an operator account. */
  readonly operator: boolean;
  /** ISO 8601 UTC. */
  readonly expiresAt: string;
}

export interface NewSession extends Session {
  /** Text of the session, for the cookie. */
  readonly token: string;
}

export interface ListedAccount extends AccountView {
  readonly disabled: boolean;
  readonly person: SessionPerson;
}

/** What a login gives beside the password. */
export interface LoginExtras {
  /** Code of the second factor. */
  readonly code?: string | undefined;
  readonly userAgent?: string;
}

export interface People {
  /**
   * Accepts a registration; the account is created after this resolves. Rejects with FORBIDDEN if registration is closed, INVALID_REQUEST,
   * RATE_LIMITED, OVERLOADED.
   */
  register(email: string, password: string, from: string): Promise<void>;
  /** Sends the confirmation email again if the address has an unconfirmed account, after this resolves. Rejects like `forgot`. */
  resendConfirmation(email: string, from: string): Promise<void>;
  /** Rejects with INVALID_REQUEST if the token is used, expired or unknown. */
  verifyEmail(token: string, from: string): Promise<void>;
  /** Rejects with UNAUTHENTICATED, SECOND_FACTOR_REQUIRED, RATE_LIMITED, OVERLOADED. */
  login(email: string, password: string, from: string, extras?: LoginExtras): Promise<NewSession>;
  /** Accepts an invitation, and begins a session. Rejects with INVALID_REQUEST, OVERLOADED. */
  acceptInvitation(token: string, password: string, client: SessionClient): Promise<NewSession>;
  /** Returns the session with this cookie text, or null. Synchronous; the time of its use is written later. */
  session(token: string): Session | null;
  logout(token: string, from: string): Promise<void>;
  /** Returns the sessions of a person, newest first. */
  sessions(personId: string, currentId: string): readonly OwnSession[];
  /** Ends a session of a person. Rejects with NOT_FOUND. */
  endSession(personId: string, sessionId: string, from: string): Promise<void>;
  /** Ends all sessions of a person except one; returns how many. */
  endOtherSessions(personId: string, currentId: string, from: string): Promise<number>;
  /**
   * Ends every session of the person and starts a new one.
   *
   * @throws INVALID_REQUEST naming `currentPassword` or `newPassword`; RATE_LIMITED, OVERLOADED
   */
  changePassword(
    personId: string,
    current: string,
    wanted: string,
    from: string,
    userAgent?: string,
  ): Promise<NewSession>;
  /** Sends a reset token by email if the address has an account, after this resolves. Rejects with RATE_LIMITED, OVERLOADED. */
  forgot(email: string, from: string): Promise<void>;
  /**
   * Sets a password. If the address was not confirmed before, the keys and the second factor of the registration end: whoever registered it
   * may be somebody else. Rejects with INVALID_REQUEST, OVERLOADED.
   */
  resetPassword(token: string, password: string, from: string): Promise<void>;
  /**
   * Returns true if an account may have the monthly free credits; false while its email address is not verified, and after an invitation
   * to the address replaced its registration.
   */
  mayHaveFreeCredits(accountId: string): boolean;
  /** Creates an account on behalf of the operator; its email address counts as verified. */
  create(email: string, password: string, plan: PlanName): Promise<AccountView>;
  list(): readonly ListedAccount[];
  /** Returns the person with an email address; null if absent. */
  byEmail(email: string): Person | null;
  /** The people of an account. */
  readonly members: Members;
  readonly secondFactor: SecondFactor;
  /** Whether this node has the encryption key of second factors: `check` when the process starts. */
  readonly secondFactorKey: { check(): Promise<void>; problem(): KeyProblem | null };
  /** True if anybody may register. */
  readonly isOpen: boolean;
  /** Sends an email to every person of an enabled account; returns the number of accepted emails, and the addresses that failed. */
  notify(
    subject: string,
    text: string,
  ): Promise<{ readonly sent: number; readonly failed: readonly string[] }>;
  /** Resolves when the work of all accepted requests is completed. Call it before the store is closed. */
  settled(): Promise<void>;
}

export interface PeopleOptions {
  readonly registration: 'open' | 'closed';
}

export interface PeopleDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Logger;
  readonly store: PeopleStore;
  readonly keys: KeyStore;
  readonly audit: () => AuditLog;
  readonly derive: DeriveKey;
  /** Null if no email can be sent. */
  readonly mailer: Mailer | null;
  /** Encrypts the secrets of second factors. */
  readonly encryption: () => Encryption;
  /** URL of the links in emails. Default: not known. */
  readonly publicUrl?: PublicUrl;
  /** Counter of failed attempts. Default: within this process, like the next one. */
  readonly attempts?: Attempts;
  /** Counter of wrong codes of authenticator apps in the longer window. */
  readonly codeAttempts?: Attempts;
  /** Counter of requested emails. */
  readonly emailRequests?: Attempts;
  /** True if other nodes use the same store. Default: false. */
  readonly isShared?: boolean;
}

function checkEmail(text: string): string {
  const email = emailOf(text);
  if (email === null) throw invalid('email', 'must be an email address');
  return email;
}

const badToken = (): AssayError => invalid('token', 'is used, expired or unknown; request a new email');

/** Whether a person registered an account, and has not confirmed its address. Others were added by the owner of an account, or the operator. */
const isUnconfirmed = ({ emailVerified, accountId }: Person): boolean =>
  !emailVerified && accountId === undefined;

/** Returns the subject of an entry of the audit log: the person, unless the account has the same id. */
const subjectOf = ({ id, accountId }: Person): string | null => (accountId === undefined ? null : id);

/** Creates the service of user accounts over their store. */
export function createPeople(options: PeopleOptions, deps: PeopleDeps): People {
  return new PeopleService(options, deps);
}

/** User accounts over their store. */
class PeopleService implements People {
  readonly isOpen: boolean;
  readonly members: Members;
  readonly secondFactor: SecondFactor;
  readonly secondFactorKey: SecondFactorKey;
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #log: Logger;
  readonly #store: PeopleStore;
  readonly #keys: KeyStore;
  readonly #mailer: Mailer | null;
  readonly #publicUrl: PublicUrl;
  readonly #credentials: Credentials;
  readonly #emailRequests: Attempts;
  readonly #tasks: PeopleTasks;
  readonly #uses: SessionUses;

  constructor({ registration }: PeopleOptions, deps: PeopleDeps) {
    const { clock, random, store } = deps;
    this.isOpen = registration === 'open';
    this.#clock = clock;
    this.#random = random;
    this.#log = deps.log;
    this.#store = store;
    this.#keys = deps.keys;
    this.#mailer = deps.mailer;
    this.#publicUrl = deps.publicUrl ?? (() => null);
    const passwords = createPasswords(deps);
    this.#credentials = {
      passwords,
      attempts: deps.attempts ?? createAttempts(deps),
      codeAttempts: deps.codeAttempts ?? createAttempts(deps, CODE_ATTEMPTS),
    };
    this.#emailRequests = deps.emailRequests ?? createAttempts(deps, EMAIL_REQUESTS);
    this.#tasks = new PeopleTasks(deps);
    this.#uses = new SessionUses(deps);
    const shared = { clock, random, store, tasks: this.#tasks };
    const { encryption, isShared = false } = deps;
    this.secondFactorKey = new SecondFactorKey({ ...shared, log: deps.log, encryption, isShared });
    this.secondFactor = createSecondFactor({
      ...shared,
      credentials: this.#credentials,
      encryption,
      key: this.secondFactorKey,
    });
    this.members = createMembers({
      ...shared,
      credentials: this.#credentials,
      keys: deps.keys,
      emailRequests: this.#emailRequests,
      publicUrl: this.#publicUrl,
      isOpen: this.isOpen,
      secondFactor: this.secondFactor,
    });
  }

  async register(emailText: string, password: string, from: string): Promise<void> {
    if (!this.isOpen)
      throw new AssayError(
        'FORBIDDEN',
        'Registration is closed. Ask the operator of this service for an account.',
      );
    const email = checkEmail(emailText);
    checkPassword(password, 'password');
    await this.#emailRequests.begin(`register ${email}`, from);
    const hash = await this.#credentials.passwords.hash(password, 'password');
    this.#tasks.runAfterAnswer('registration', async () => {
      const person = await this.#addPerson(email, hash, 'FREE', false);
      if (person === null) {
        this.#tasks.send(email, EMAILS.known);
        return;
      }
      await this.#audit({ who: person.id, from }, 'account.create', person);
      await this.#sendConfirmation(person);
    });
  }

  async resendConfirmation(emailText: string, from: string): Promise<void> {
    const email = checkEmail(emailText);
    await this.#emailRequests.begin(`confirm ${email}`, from);
    this.#tasks.runAfterAnswer('confirmation', async () => {
      const person = this.#store.byEmail(email);
      if (person === null || person.emailVerified || this.#isDisabled(person)) return;
      await this.#sendConfirmation(person);
    });
  }

  async verifyEmail(token: string, from: string): Promise<void> {
    const id = await this.#store.redeem(token, 'verify');
    const person =
      id === null ? null : await this.#store.change(id, (one) => ({ ...one, emailVerified: true }));
    if (person === null) throw badToken();
    await this.#audit({ who: person.id, from }, 'account.verify', person);
  }

  async login(
    emailText: string,
    password: string,
    from: string,
    { code, userAgent = '' }: LoginExtras = {},
  ): Promise<NewSession> {
    const email = emailOf(emailText) ?? '';
    const { attempts, passwords } = this.#credentials;
    await attempts.begin(email, from);
    // The client may log in as soon as its registration was accepted.
    await this.#tasks.settled();
    const person = email === '' ? null : this.#store.byEmail(email);
    const matches = await passwords.matches(password, person?.password ?? null);
    if (person === null || !matches || this.#isDisabled(person)) {
      this.#tasks.runAfterAnswer('login', async () => {
        if (person !== null) await this.#audit({ who: 'unknown', from }, 'session.refuse', person);
      });
      throw new AssayError('UNAUTHENTICATED', 'The email address or the password is wrong.');
    }
    await attempts.succeeded(email, from);
    await this.#requireCode(person, code, from);
    const session = await this.#beginSession(person, { from, userAgent });
    await this.#audit({ who: person.id, from }, 'session.create', person);
    return session;
  }

  async acceptInvitation(token: string, password: string, client: SessionClient): Promise<NewSession> {
    const person = await this.members.accept(token, password, client.from);
    return this.#beginSession(person, client);
  }

  session(token: string): Session | null {
    const session = this.#store.session(token);
    const person = session === null ? null : this.#store.get(session.accountId);
    if (session === null || person === null || this.#isDisabled(person)) return null;
    this.#uses.note(token, session);
    return this.#sessionOf(token, person, session.endsMs);
  }

  async logout(token: string, from: string): Promise<void> {
    const session = this.#store.session(token);
    const person = session === null ? null : this.#store.get(session.accountId);
    if (person === null) return;
    await this.#store.end(token);
    await this.#audit({ who: person.id, from }, 'session.end', person);
  }

  sessions(personId: string, currentId: string): readonly OwnSession[] {
    return sessionsView(this.#store.sessionsOf(personId), currentId);
  }

  async endSession(personId: string, sessionId: string, from: string): Promise<void> {
    const person = this.#store.get(personId);
    if (person === null || !(await this.#store.endSession(personId, sessionId)))
      throw new AssayError('NOT_FOUND', 'id: you have no session of this id.', { field: 'id' });
    await this.#audit({ who: personId, from }, 'session.end', person, sessionId);
  }

  async endOtherSessions(personId: string, currentId: string, from: string): Promise<number> {
    const person = this.#store.get(personId);
    const ended = await this.#store.endSessions(personId, currentId);
    if (person !== null) await this.#audit({ who: personId, from }, 'session.end', person, `${ended} others`);
    return ended;
  }

  async changePassword(
    personId: string,
    current: string,
    wanted: string,
    from: string,
    userAgent = '',
  ): Promise<NewSession> {
    checkPassword(wanted, 'newPassword');
    await requirePassword(this.#credentials, this.#store.get(personId), current, 'currentPassword', from);
    const hash = await this.#credentials.passwords.hash(wanted, 'newPassword');
    const changed = await this.#setPassword(personId, hash, false);
    await this.#audit({ who: personId, from }, 'password.change', changed);
    return this.#beginSession(changed, { from, userAgent });
  }

  async forgot(emailText: string, from: string): Promise<void> {
    const email = checkEmail(emailText);
    await this.#emailRequests.begin(`reset ${email}`, from);
    this.#tasks.runAfterAnswer('password reset', async () => {
      const person = this.#store.byEmail(email);
      if (person === null || this.#isDisabled(person)) return;
      const token = await this.#store.issue(person.id, 'reset', ACCOUNT_LIMITS.resetTokenMs);
      this.#tasks.send(email, EMAILS.reset(this.#publicUrl(), token));
    });
  }

  async resetPassword(token: string, password: string, from: string): Promise<void> {
    checkPassword(password, 'password');
    if (!this.#store.isRedeemable(token, 'reset')) throw badToken();
    // Before the token is consumed: a request that is refused because too many passwords are being derived can be repeated.
    const hash = await this.#credentials.passwords.hash(password, 'password');
    const id = await this.#store.redeem(token, 'reset');
    if (id === null) throw badToken();
    // The token came by email, so its user owns the email address.
    const before = this.#store.get(id);
    const person = await this.#setPassword(id, hash, true);
    await this.#audit({ who: id, from }, 'password.reset', person);
    if (before !== null && isUnconfirmed(before)) await this.#revokeKeys(person, from);
    this.#tasks.send(person.email, EMAILS.changed);
  }

  mayHaveFreeCredits(accountId: string): boolean {
    if (!isPersonal(accountId)) return true;
    const first = this.#store.get(accountId);
    // Accounts of keys that the operator creates have no people, and the first person of others has left. If a registration that was
    // never confirmed was replaced, its account and its keys stay.
    return first === null ? !this.#store.isReplaced(accountId) : first.emailVerified;
  }

  async create(emailText: string, password: string, plan: PlanName): Promise<AccountView> {
    const email = checkEmail(emailText);
    const hash = await this.#credentials.passwords.hash(password, 'password');
    const person = await this.#addPerson(email, hash, plan, true);
    if (person === null) throw invalid('email', 'already has an account');
    const operator: Actor = { who: 'operator', from: 'command line' };
    await this.#audit(operator, 'account.create', person, plan);
    return this.#viewOf(person);
  }

  list(): readonly ListedAccount[] {
    return this.#store.list().map((person) => ({
      ...this.#viewOf(person),
      disabled: this.#isDisabled(person),
      person: this.#personOf(person),
    }));
  }

  byEmail(emailText: string): Person | null {
    const email = emailOf(emailText);
    return email === null ? null : this.#store.byEmail(email);
  }

  async notify(
    subject: string,
    text: string,
  ): Promise<{ readonly sent: number; readonly failed: readonly string[] }> {
    const mailer = this.#mailer;
    if (mailer === null)
      throw new AssayError('INVALID_CONFIG', 'ASSAY_SMTP_URL is not set: emails cannot be sent.', {
        field: 'ASSAY_SMTP_URL',
      });
    const failed: string[] = [];
    let sent = 0;
    for (const person of this.#store.list()) {
      if (this.#isDisabled(person)) continue;
      try {
        await mailer.send({ to: person.email, subject, text });
        sent++;
      } catch (error) {
        this.#log.error({ reason: messageOf(error) }, 'email not sent');
        failed.push(person.email);
      }
    }
    return { sent, failed };
  }

  async settled(): Promise<void> {
    await Promise.all([this.#tasks.settled(), this.#uses.settled()]);
  }

  /**
   * Revokes the keys of a registration that was never confirmed, when the owner of its email address sets a password: somebody else may have
   * registered the address and created them.
   */
  async #revokeKeys(person: Person, from: string): Promise<void> {
    const done = new Set<string>();
    const actor = { who: person.id, from };
    for (const { id } of this.#keys.active(person.id)) {
      if (done.has(id)) continue;
      // With those that it creates at this moment.
      for (const { id: revoked } of await this.#keys.revokeWithDescendants(id)) {
        done.add(revoked);
        await this.#tasks.writeAudit(actor, 'key.revoke', person.id, revoked, 'password reset');
      }
    }
  }

  /** Requires a code of the second factor, if the person has one. */
  async #requireCode(person: Person, code: string | undefined, from: string): Promise<void> {
    if (activeFactorOf(person) === null) return;
    if (code === undefined)
      throw new AssayError(
        'SECOND_FACTOR_REQUIRED',
        'code: is required, because the account has a second factor: a code of the authenticator app, or a recovery code.',
        { field: 'code' },
      );
    if (await this.secondFactor.consume(person, code, from)) return;
    await this.#audit({ who: 'unknown', from }, 'session.refuse', person, 'second factor');
    throw new AssayError('UNAUTHENTICATED', 'code: is wrong, was used before, or is not valid any more.', {
      field: 'code',
    });
  }

  #audit(actor: Actor, action: AuditAction, person: Person, detail: string | null = null): Promise<unknown> {
    return this.#tasks.writeAudit(actor, action, accountOfPerson(person), subjectOf(person), detail);
  }

  #isDisabled(person: Person): boolean {
    return this.#keys.isDisabled(accountOfPerson(person));
  }

  #viewOf(person: Person): AccountView {
    const { email, emailVerified, createdAt } = person;
    const id = accountOfPerson(person);
    return { id, email, emailVerified, plan: this.#keys.planOf(id) ?? 'FREE', createdAt };
  }

  #personOf(person: Person): SessionPerson {
    return { id: person.id, role: roleOf(person), secondFactor: activeFactorOf(person) !== null };
  }

  #sessionOf(token: string, person: Person, endsMs: number): Session {
    return {
      id: sessionIdOf(token),
      account: this.#viewOf(person),
      person: this.#personOf(person),
      operator: this.#keys.isOperator(accountOfPerson(person)) && includesRole(roleOf(person), 'analyst'),
      expiresAt: isoTime(endsMs),
    };
  }

  async #sendConfirmation(person: Person): Promise<void> {
    const token = await this.#store.issue(person.id, 'verify', ACCOUNT_LIMITS.verifyTokenMs);
    this.#tasks.send(person.email, EMAILS.confirm(this.#publicUrl(), token));
  }

  async #addPerson(
    email: string,
    passwordHash: string,
    plan: PlanName,
    emailVerified: boolean,
  ): Promise<Person | null> {
    const person: Person = {
      id: `${ACCOUNT_PREFIX}${Buffer.from(this.#random.bytes(12)).toString('hex')}`,
      email,
      emailVerified,
      password: passwordHash,
      createdAt: isoTime(this.#clock.now()),
      sessionEpoch: 0,
    };
    if (!(await this.#store.add(person))) return null;
    await this.#keys.addAccount(person.id, plan);
    return person;
  }

  async #beginSession(person: Person, client: SessionClient): Promise<NewSession> {
    const { token, session } = await this.#store.begin(person, ACCOUNT_LIMITS.sessionMs, client);
    return { token, ...this.#sessionOf(token, person, session.endsMs) };
  }

  async #setPassword(personId: string, hash: string, emailVerified: boolean): Promise<Person> {
    const changed = await this.#store.change(personId, (person) => ({
      // Somebody else may have registered an address that was not confirmed, and have set up a code.
      ...withoutResets(emailVerified && isUnconfirmed(person) ? withoutFactor(person) : person),
      password: hash,
      emailVerified: person.emailVerified || emailVerified,
      sessionEpoch: person.sessionEpoch + 1,
    }));
    if (changed === null) throw new AssayError('NOT_FOUND', 'The account does not exist.');
    return changed;
  }
}
