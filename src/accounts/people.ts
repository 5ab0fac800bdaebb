/**
 * User accounts: registration, email verification, login and logout, password change and reset. Responses, and the work behind them, are
 * the same whether or not an email address has an account, so that only its owner can find out.
 */
import { type Clock, isoTime } from '../base/clock.ts';
import { AssayError, messageOf } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import type { Logger } from '../base/log.ts';
import type { Email, Mailer } from '../base/mail.ts';
import type { Random } from '../base/random.ts';
import { type Attempts, createAttempts } from './attempts.ts';
import type { Actor, AuditAction, AuditLog } from './audit.ts';
import type { KeyStore } from './keys.ts';
import { checkPassword, createPasswords, type DeriveKey } from './password.ts';
import { emailOf, type PeopleStore, type Person } from './people-store.ts';
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

export interface BegunSession extends Session {
  /** Text of the session, for the cookie. */
  readonly token: string;
}

export interface ListedAccount extends AccountView {
  readonly disabled: boolean;
}

export interface People {
  /** Rejects with FORBIDDEN if registration is closed, INVALID_REQUEST. */
  register(email: string, password: string, from: string): Promise<void>;
  /** Rejects with INVALID_REQUEST if the token is used, expired or unknown. */
  verifyEmail(token: string, from: string): Promise<void>;
  /** Rejects with UNAUTHENTICATED, RATE_LIMITED. */
  login(email: string, password: string, from: string): Promise<BegunSession>;
  /** Returns the session with this cookie text, or null. Synchronous, without a write. */
  session(token: string): Session | null;
  logout(token: string, from: string): Promise<void>;
  /** Ends every session of the account and starts a new one. */
  changePassword(accountId: string, current: string, wanted: string, from: string): Promise<BegunSession>;
  /** Sends a reset token by email if the address has an account. */
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
  /** Counter of failed attempts. Default: within this process. */
  readonly attempts?: Attempts;
}

/** Lines have fewer than 76 characters: longer lines are encoded, and a token would be split in the source of the email. */
const LETTERS = {
  known: `Somebody tried to register with this mail address, which has an account
already. If it was you and you forgot your password, ask for a new one.
Otherwise nothing needs to be done.
`,
  confirm: (token: string) => `Your account is there. Free credits come with a confirmed mail address:
send this token to POST /api/v1/auth/verify within 24 hours.

${token}
`,
  reset: (token: string) => `Somebody asked for a new password of this account. If it was you, send
this token with the new password to POST /api/v1/auth/password/reset
within an hour. Otherwise nothing needs to be done.

${token}
`,
  changed: `The password of your account was changed, and all its sessions were
ended.
`,
} as const;

const invalid = (field: string, expected: string): AssayError =>
  new AssayError('INVALID_REQUEST', `${field}: ${expected}.`, { field });

function checkEmail(text: string): string {
  const email = emailOf(text);
  if (email === null) throw invalid('email', 'has not the form of a mail address');
  return email;
}

const badToken = (): AssayError => invalid('token', 'is not valid any more; ask for a new letter');

/** Creates the service of user accounts over their store. */
export function createPeople(options: PeopleOptions, deps: PeopleDeps): People {
  const { clock, random, log, store, keys, mailer } = deps;
  const passwords = createPasswords(deps);
  const { attempts = createAttempts(deps) } = deps;
  /** Emails in progress; if there are too many, further ones are dropped, with a line in the log. */
  let sending = 0;

  const audited = (
    actor: Actor,
    action: AuditAction,
    accountId: string,
    detail: string | null = null,
  ): Promise<unknown> => deps.audit().write({ ...actor, action, accountId, subject: null, detail });

  const viewOf = ({ id, email, emailVerified, createdAt }: Person): AccountView => ({
    id,
    email,
    emailVerified,
    plan: keys.planOf(id) ?? 'FREE',
    createdAt,
  });

  /** Sends without waiting: the time of sending would reveal whether an email was sent. */
  function post(letter: Email): void {
    const obstacle =
      mailer === null
        ? 'ASSAY_SMTP_URL is not set'
        : sending >= LIMITS.lettersInFlightMax
          ? 'too many are on their way'
          : null;
    if (mailer === null || obstacle !== null) {
      log.warn(`a letter was not sent: ${obstacle}`);
      return;
    }
    sending++;
    mailer
      .send(letter)
      .catch((error: unknown) => log.error(`a letter was not sent: ${messageOf(error)}`))
      .finally(() => {
        sending--;
      });
  }

  async function addPerson(email: string, password: string, plan: PlanName, emailVerified: boolean) {
    const person: Person = {
      id: `${ACCOUNT_PREFIX}${Buffer.from(random.bytes(12)).toString('hex')}`,
      email,
      emailVerified,
      password: await passwords.hash(password, 'password'),
      createdAt: isoTime(clock.now()),
      sessionEpoch: 0,
    };
    if (!(await store.add(person))) return null;
    await keys.addAccount(person.id, plan);
    return person;
  }

  async function begin(person: Person): Promise<BegunSession> {
    const { token, session } = await store.begin(person, LIMITS.sessionMs);
    return { token, account: viewOf(person), expiresAt: isoTime(session.endsMs) };
  }

  async function setPassword(accountId: string, password: string, emailVerified: boolean): Promise<Person> {
    const hash = await passwords.hash(password, 'password');
    const changed = await store.change(accountId, (person) => ({
      ...person,
      password: hash,
      emailVerified: person.emailVerified || emailVerified,
      sessionEpoch: person.sessionEpoch + 1,
    }));
    if (changed === null) throw new AssayError('NOT_FOUND', 'There is no such account.');
    return changed;
  }

  return {
    async register(emailText, password, from) {
      if (options.registration === 'closed')
        throw new AssayError(
          'FORBIDDEN',
          'Registration is closed; the operator makes accounts with: assay accounts create.',
        );
      const email = checkEmail(emailText);
      const person = await addPerson(email, password, 'FREE', false);
      if (person === null) {
        post({
          to: email,
          subject: 'You have an account already',
          text: LETTERS.known,
        });
        return;
      }
      await audited({ who: person.id, from }, 'account.create', person.id);
      const token = await store.issue(person.id, 'verify', LIMITS.verifyTokenMs);
      post({
        to: email,
        subject: 'Confirm your mail address',
        text: LETTERS.confirm(token),
      });
    },

    async verifyEmail(token, from) {
      const accountId = await store.redeem(token, 'verify');
      if (accountId === null) throw badToken();
      await store.change(accountId, (person) => ({ ...person, emailVerified: true }));
      await audited({ who: accountId, from }, 'account.verify', accountId);
    },

    async login(emailText, password, from) {
      const email = emailOf(emailText) ?? '';
      await attempts.begin(email, from);
      const person = email === '' ? null : store.byEmail(email);
      const matches = await passwords.matches(password, person?.password ?? null);
      if (person === null || !matches || keys.isDisabled(person.id)) {
        if (person !== null) await audited({ who: 'unknown', from }, 'session.refuse', person.id);
        throw new AssayError('UNAUTHENTICATED', 'The mail address or the password is wrong.');
      }
      await attempts.succeeded(email, from);
      const begun = await begin(person);
      await audited({ who: person.id, from }, 'session.create', person.id);
      return begun;
    },

    session(token) {
      const session = store.session(token);
      if (session === null || keys.isDisabled(session.accountId)) return null;
      const person = store.get(session.accountId);
      return person === null ? null : { account: viewOf(person), expiresAt: isoTime(session.endsMs) };
    },

    async logout(token, from) {
      const session = store.session(token);
      if (session === null) return;
      await store.end(token);
      await audited({ who: session.accountId, from }, 'session.end', session.accountId);
    },

    async changePassword(accountId, current, wanted, from) {
      checkPassword(wanted, 'newPassword');
      const person = store.get(accountId);
      await attempts.begin(person?.email ?? '', from);
      if (person === null || !(await passwords.matches(current, person.password)))
        throw invalid('currentPassword', 'is wrong');
      await attempts.succeeded(person.email, from);
      const changed = await setPassword(accountId, wanted, false);
      await audited({ who: accountId, from }, 'password.change', accountId);
      return begin(changed);
    },

    async forgot(emailText, from) {
      const email = checkEmail(emailText);
      // Counted as attempts, so that third parties cannot flood the inbox of an address.
      await attempts.begin(`letter ${email}`, from);
      const person = store.byEmail(email);
      if (person === null || keys.isDisabled(person.id)) return;
      const token = await store.issue(person.id, 'reset', LIMITS.resetTokenMs);
      post({
        to: email,
        subject: 'A new password',
        text: LETTERS.reset(token),
      });
    },

    async resetPassword(token, password, from) {
      checkPassword(password, 'password');
      const accountId = await store.redeem(token, 'reset');
      if (accountId === null) throw badToken();
      // The token came by email, so its user owns the email address.
      const person = await setPassword(accountId, password, true);
      await audited({ who: accountId, from }, 'password.reset', accountId);
      post({
        to: person.email,
        subject: 'Your password was changed',
        text: LETTERS.changed,
      });
    },

    mayHaveFreeCredits(accountId) {
      if (!isPersonal(accountId)) return true;
      return store.get(accountId)?.emailVerified ?? true;
    },

    async create(emailText, password, plan) {
      const email = checkEmail(emailText);
      const person = await addPerson(email, password, plan, true);
      if (person === null) throw invalid('email', 'has an account already');
      await audited({ who: 'operator', from: 'command line' }, 'account.create', person.id, plan);
      return viewOf(person);
    },

    list: () => store.list().map((person) => ({ ...viewOf(person), disabled: keys.isDisabled(person.id) })),

    async notify(subject, text) {
      if (mailer === null)
        throw new AssayError('INVALID_CONFIG', 'ASSAY_SMTP_URL is not set: no mail can be sent.', {
          field: 'ASSAY_SMTP_URL',
        });
      const failed: string[] = [];
      let sent = 0;
      for (const person of store.list()) {
        if (keys.isDisabled(person.id)) continue;
        try {
          await mailer.send({ to: person.email, subject, text });
          sent++;
        } catch (error) {
          log.error(`a letter was not sent: ${messageOf(error)}`);
          failed.push(person.email);
        }
      }
      return { sent, failed };
    },
  };
}
