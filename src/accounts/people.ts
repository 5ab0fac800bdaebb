/**
 * What people can do: register, prove their mail address, log in and out, change and reset their password. Whether an address has
 * an account is told to nobody who does not own it: the answers, and the work behind them, are the same either way.
 */
import { type Clock, isoTime } from '../base/clock.ts';
import { AssayError, messageOf } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';
import type { Logger } from '../base/log.ts';
import type { Letter, Mailer } from '../base/mail.ts';
import type { Random } from '../base/random.ts';
import { type Attempts, createAttempts } from './attempts.ts';
import type { Actor, AuditAction, AuditLog } from './audit.ts';
import type { KeyStore } from './keys.ts';
import { checkPassword, createPasswords, type DeriveKey } from './password.ts';
import { emailOf, type PeopleStore, type Person } from './people-store.ts';
import type { PlanName } from './plans.ts';

/** How every account of a person begins; other accounts are the operator's own. */
const ACCOUNT_PREFIX = 'acc_';

export const isPersonal = (accountId: string): boolean => accountId.startsWith(ACCOUNT_PREFIX);

/** What a person may see of the own account. */
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
  /** Rejects with FORBIDDEN where registration is closed, INVALID_REQUEST. */
  register(email: string, password: string, from: string): Promise<void>;
  /** Rejects with INVALID_REQUEST where the token is used up, too old, or none. */
  verifyEmail(token: string, from: string): Promise<void>;
  /** Rejects with UNAUTHENTICATED, RATE_LIMITED. */
  login(email: string, password: string, from: string): Promise<BegunSession>;
  /** The session of a cookie's text, or null. Synchronous, without a write. */
  session(token: string): Session | null;
  logout(token: string, from: string): Promise<void>;
  /** Ends every session of the account and begins a new one. */
  changePassword(accountId: string, current: string, wanted: string, from: string): Promise<BegunSession>;
  /** Sends a token by mail where the address has an account. */
  forgot(email: string, from: string): Promise<void>;
  /** Rejects with INVALID_REQUEST. */
  resetPassword(token: string, password: string, from: string): Promise<void>;
  /** Whether an account may have the month's free credits: one of an unproven mail address may not. */
  mayHaveFreeCredits(accountId: string): boolean;
  /** The operator's: an account whose mail address counts as proven. */
  create(email: string, password: string, plan: PlanName): Promise<AccountView>;
  list(): readonly ListedAccount[];
  /** Mails every account that is not disabled; returns how many letters were taken, and who could not be reached. */
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
  /** Null: no mail can be sent. */
  readonly mailer: Mailer | null;
  /** Failed attempts that are counted. Default: of this process. */
  readonly attempts?: Attempts;
}

/** Lines of less than 76 characters: longer ones are encoded, and a token would be cut in two for who reads the source. */
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

export function createPeople(options: PeopleOptions, deps: PeopleDeps): People {
  const { clock, random, log, store, keys, mailer } = deps;
  const passwords = createPasswords(deps);
  const { attempts = createAttempts(deps) } = deps;
  /** Letters on their way; more of them than this and further ones are dropped, with a line in the log. */
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

  /** Sends without making the caller wait: how long a letter takes would tell whether one was sent. */
  function post(letter: Letter): void {
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
      // Counted as attempts: nobody's letter box is filled by strangers.
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
      // Whoever has read the letter owns the mail address.
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
