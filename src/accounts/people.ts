/**
 * User accounts: registration, email verification, login and logout, password change and reset. Responses, and the work before them, are
 * the same whether or not an email address has an account, so that only its owner can find out. Work that depends on it begins after the
 * response.
 */
import { type Clock, isoTime } from '../base/clock.ts';
import { AssayError, messageOf } from '../base/errors.ts';
import type { Logger } from '../base/log.ts';
import type { Email, Mailer } from '../base/mail.ts';
import type { Random } from '../base/random.ts';
import { type Attempts, createAttempts, EMAIL_REQUESTS } from './attempts.ts';
import type { Actor, AuditAction, AuditLog } from './audit.ts';
import type { KeyStore } from './keys.ts';
import { ACCOUNT_LIMITS } from './limits.ts';
import { checkPassword, createPasswords, type DeriveKey, type Passwords } from './password.ts';
import { emailOf, type PeopleStore, type Person, withoutResets } from './people-store.ts';
import type { PlanName } from './plans.ts';

/** Prefix of the accounts of users; other accounts belong to the operator. */
const ACCOUNT_PREFIX = 'acc_';

/** Returns true if an account belongs to a user and not to the operator. */
export const isPersonal = (accountId: string): boolean => accountId.startsWith(ACCOUNT_PREFIX);

/** The data of an account that its owner may see. */
export interface AccountView {
  readonly id: string;
  readonly email: string;
  readonly emailVerified: boolean;
  readonly plan: PlanName;
  readonly createdAt: string;
}

export interface Session {
  readonly account: AccountView;
  /** ISO 8601 UTC. */
  readonly expiresAt: string;
}

export interface NewSession extends Session {
  /** Text of the session, for the cookie. */
  readonly token: string;
}

export interface ListedAccount extends AccountView {
  readonly disabled: boolean;
}

export interface People {
  /**
   * Accepts a registration; the account is created after this resolves. Rejects with FORBIDDEN if registration is closed, INVALID_REQUEST,
   * RATE_LIMITED, OVERLOADED.
   */
  register(email: string, password: string, from: string): Promise<void>;
  /** Rejects with INVALID_REQUEST if the token is used, expired or unknown. */
  verifyEmail(token: string, from: string): Promise<void>;
  /** Rejects with UNAUTHENTICATED, RATE_LIMITED. */
  login(email: string, password: string, from: string): Promise<NewSession>;
  /** Returns the session with this cookie text, or null. Synchronous, without a write. */
  session(token: string): Session | null;
  logout(token: string, from: string): Promise<void>;
  /** Ends every session of the account and starts a new one. */
  changePassword(accountId: string, current: string, wanted: string, from: string): Promise<NewSession>;
  /** Sends a reset token by email if the address has an account, after this resolves. Rejects with RATE_LIMITED, OVERLOADED. */
  forgot(email: string, from: string): Promise<void>;
  /** Rejects with INVALID_REQUEST. */
  resetPassword(token: string, password: string, from: string): Promise<void>;
  /** Returns true if an account may have the monthly free credits; false while its email address is not verified. */
  mayHaveFreeCredits(accountId: string): boolean;
  /** Creates an account on behalf of the operator; its email address counts as verified. */
  create(email: string, password: string, plan: PlanName): Promise<AccountView>;
  list(): readonly ListedAccount[];
  /** Sends an email to every enabled account; returns the number of accepted emails, and the addresses that failed. */
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
  /** Counter of failed attempts. Default: within this process, like the next one. */
  readonly attempts?: Attempts;
  /** Counter of requested emails. */
  readonly emailRequests?: Attempts;
}

/** Lines have fewer than 76 characters: longer lines are encoded, and a token would be split in the source of the email. */
const EMAILS = {
  known: `A registration was requested with this email address, which already has
an account. If it was you and you forgot your password, request a
password reset. Otherwise you can ignore this email.
`,
  confirm: (token: string) => `Your account was created. To receive free credits, confirm your email
address: send this token to POST /api/v1/auth/verify within 24 hours.

${token}
`,
  reset: (token: string) => `A password reset was requested for this account. If it was you, send
this token with the new password to POST /api/v1/auth/password/reset
within an hour. Otherwise you can ignore this email.

${token}
`,
  changed: `The password of your account was changed, and all sessions were ended.
`,
} as const;

const invalid = (field: string, expected: string): AssayError =>
  new AssayError('INVALID_REQUEST', `${field}: ${expected}.`, { field });

function checkEmail(text: string): string {
  const email = emailOf(text);
  if (email === null) throw invalid('email', 'must be an email address');
  return email;
}

const badToken = (): AssayError => invalid('token', 'is used, expired or unknown; request a new email');

/** Creates the service of user accounts over their store. */
export function createPeople(options: PeopleOptions, deps: PeopleDeps): People {
  return new PeopleService(options, deps);
}

/** User accounts over their store. */
class PeopleService implements People {
  readonly #registration: PeopleOptions['registration'];
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #log: Logger;
  readonly #store: PeopleStore;
  readonly #keys: KeyStore;
  readonly #audit: () => AuditLog;
  readonly #mailer: Mailer | null;
  readonly #passwords: Passwords;
  readonly #attempts: Attempts;
  readonly #emailRequests: Attempts;
  /** Work of requests that have their response. */
  readonly #afterAnswer = new Set<Promise<void>>();
  /** Emails in progress; if there are too many, further ones are dropped, with a line in the log. */
  #sending = 0;

  constructor({ registration }: PeopleOptions, deps: PeopleDeps) {
    this.#registration = registration;
    this.#clock = deps.clock;
    this.#random = deps.random;
    this.#log = deps.log;
    this.#store = deps.store;
    this.#keys = deps.keys;
    this.#audit = deps.audit;
    this.#mailer = deps.mailer;
    this.#passwords = createPasswords(deps);
    this.#attempts = deps.attempts ?? createAttempts(deps);
    this.#emailRequests = deps.emailRequests ?? createAttempts(deps, EMAIL_REQUESTS);
  }

  async register(emailText: string, password: string, from: string): Promise<void> {
    if (this.#registration === 'closed')
      throw new AssayError(
        'FORBIDDEN',
        'Registration is closed. Ask the operator of this service for an account.',
      );
    const email = checkEmail(emailText);
    checkPassword(password, 'password');
    await this.#emailRequests.begin(`register ${email}`, from);
    const hash = await this.#passwords.hash(password, 'password');
    this.#runAfterAnswer('registration', async () => {
      const person = await this.#addPerson(email, hash, 'FREE', false);
      if (person === null) {
        this.#send({ to: email, subject: 'You already have an account', text: EMAILS.known });
        return;
      }
      await this.#writeAudit({ who: person.id, from }, 'account.create', person.id);
      const token = await this.#store.issue(person.id, 'verify', ACCOUNT_LIMITS.verifyTokenMs);
      this.#send({ to: email, subject: 'Confirm your email address', text: EMAILS.confirm(token) });
    });
  }

  async verifyEmail(token: string, from: string): Promise<void> {
    const accountId = await this.#store.redeem(token, 'verify');
    if (accountId === null) throw badToken();
    await this.#store.change(accountId, (person) => ({ ...person, emailVerified: true }));
    await this.#writeAudit({ who: accountId, from }, 'account.verify', accountId);
  }

  async login(emailText: string, password: string, from: string): Promise<NewSession> {
    const email = emailOf(emailText) ?? '';
    await this.#attempts.begin(email, from);
    // The client may log in as soon as its registration was accepted.
    await this.settled();
    const person = email === '' ? null : this.#store.byEmail(email);
    const matches = await this.#passwords.matches(password, person?.password ?? null);
    if (person === null || !matches || this.#keys.isDisabled(person.id)) {
      this.#runAfterAnswer('login', async () => {
        if (person !== null) await this.#writeAudit({ who: 'unknown', from }, 'session.refuse', person.id);
      });
      throw new AssayError('UNAUTHENTICATED', 'The email address or the password is wrong.');
    }
    await this.#attempts.succeeded(email, from);
    const session = await this.#beginSession(person);
    await this.#writeAudit({ who: person.id, from }, 'session.create', person.id);
    return session;
  }

  session(token: string): Session | null {
    const session = this.#store.session(token);
    if (session === null || this.#keys.isDisabled(session.accountId)) return null;
    const person = this.#store.get(session.accountId);
    return person === null ? null : { account: this.#viewOf(person), expiresAt: isoTime(session.endsMs) };
  }

  async logout(token: string, from: string): Promise<void> {
    const session = this.#store.session(token);
    if (session === null) return;
    await this.#store.end(token);
    await this.#writeAudit({ who: session.accountId, from }, 'session.end', session.accountId);
  }

  async changePassword(
    accountId: string,
    current: string,
    wanted: string,
    from: string,
  ): Promise<NewSession> {
    checkPassword(wanted, 'newPassword');
    const person = this.#store.get(accountId);
    await this.#attempts.begin(person?.email ?? '', from);
    if (person === null || !(await this.#passwords.matches(current, person.password)))
      throw invalid('currentPassword', 'is wrong');
    await this.#attempts.succeeded(person.email, from);
    const changed = await this.#setPassword(accountId, wanted, false);
    await this.#writeAudit({ who: accountId, from }, 'password.change', accountId);
    return this.#beginSession(changed);
  }

  async forgot(emailText: string, from: string): Promise<void> {
    const email = checkEmail(emailText);
    await this.#emailRequests.begin(`reset ${email}`, from);
    this.#runAfterAnswer('password reset', async () => {
      const person = this.#store.byEmail(email);
      if (person === null || this.#keys.isDisabled(person.id)) return;
      const token = await this.#store.issue(person.id, 'reset', ACCOUNT_LIMITS.resetTokenMs);
      this.#send({ to: email, subject: 'Reset your password', text: EMAILS.reset(token) });
    });
  }

  async resetPassword(token: string, password: string, from: string): Promise<void> {
    checkPassword(password, 'password');
    const accountId = await this.#store.redeem(token, 'reset');
    if (accountId === null) throw badToken();
    // The token came by email, so its user owns the email address.
    const person = await this.#setPassword(accountId, password, true);
    await this.#writeAudit({ who: accountId, from }, 'password.reset', accountId);
    this.#send({ to: person.email, subject: 'Your password was changed', text: EMAILS.changed });
  }

  mayHaveFreeCredits(accountId: string): boolean {
    if (!isPersonal(accountId)) return true;
    return this.#store.get(accountId)?.emailVerified ?? true;
  }

  async create(emailText: string, password: string, plan: PlanName): Promise<AccountView> {
    const email = checkEmail(emailText);
    const hash = await this.#passwords.hash(password, 'password');
    const person = await this.#addPerson(email, hash, plan, true);
    if (person === null) throw invalid('email', 'already has an account');
    await this.#writeAudit({ who: 'operator', from: 'command line' }, 'account.create', person.id, plan);
    return this.#viewOf(person);
  }

  list(): readonly ListedAccount[] {
    return this.#store
      .list()
      .map((person) => ({ ...this.#viewOf(person), disabled: this.#keys.isDisabled(person.id) }));
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
      if (this.#keys.isDisabled(person.id)) continue;
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
    await Promise.all(this.#afterAnswer);
  }

  /**
   * Runs work whose duration depends on whether an address has an account, after the response of the current request. A failure is logged:
   * the client asks again if no email arrives.
   *
   * @throws OVERLOADED if too much such work is in progress
   */
  #runAfterAnswer(request: string, work: () => Promise<void>): void {
    if (this.#afterAnswer.size >= ACCOUNT_LIMITS.requestsAfterAnswerMax)
      throw new AssayError('OVERLOADED', 'Too many requests for emails are being processed.', {
        retryAfterSeconds: 2,
      });
    const running = new Promise<void>((resolve) => setImmediate(resolve))
      .then(work)
      .catch((error: unknown) => this.#log.error({ request, reason: messageOf(error) }, 'request failed'))
      .finally(() => this.#afterAnswer.delete(running));
    this.#afterAnswer.add(running);
  }

  #writeAudit(
    actor: Actor,
    action: AuditAction,
    accountId: string,
    detail: string | null = null,
  ): Promise<unknown> {
    return this.#audit().write({ ...actor, action, accountId, subject: null, detail });
  }

  #viewOf({ id, email, emailVerified, createdAt }: Person): AccountView {
    return { id, email, emailVerified, plan: this.#keys.planOf(id) ?? 'FREE', createdAt };
  }

  /** Sends without waiting: the time of sending would reveal whether an email was sent. */
  #send(email: Email): void {
    const mailer = this.#mailer;
    if (mailer === null) {
      this.#log.warn({ reason: 'ASSAY_SMTP_URL is not set' }, 'email not sent');
      return;
    }
    if (this.#sending >= ACCOUNT_LIMITS.emailsInFlightMax) {
      this.#log.warn({ reason: 'too many emails are being sent' }, 'email not sent');
      return;
    }
    this.#sending++;
    mailer
      .send(email)
      .catch((error: unknown) => this.#log.error({ reason: messageOf(error) }, 'email not sent'))
      .finally(() => {
        this.#sending--;
      });
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

  async #beginSession(person: Person): Promise<NewSession> {
    const { token, session } = await this.#store.begin(person, ACCOUNT_LIMITS.sessionMs);
    return { token, account: this.#viewOf(person), expiresAt: isoTime(session.endsMs) };
  }

  async #setPassword(accountId: string, password: string, emailVerified: boolean): Promise<Person> {
    const hash = await this.#passwords.hash(password, 'password');
    const changed = await this.#store.change(accountId, (person) => ({
      ...withoutResets(person),
      password: hash,
      emailVerified: person.emailVerified || emailVerified,
      sessionEpoch: person.sessionEpoch + 1,
    }));
    if (changed === null) throw new AssayError('NOT_FOUND', 'The account does not exist.');
    return changed;
  }
}
