/**
 * The second factor of a person: codes of an authenticator app (TOTP), and recovery codes for a lost app. A code is accepted once, also by
 * several processes, because the store notes its use in the transaction that accepts it.
 */
import { type Clock, isoTime } from '../base/clock.ts';
import { AssayError } from '../base/errors.ts';
import type { Random } from '../base/random.ts';
import type { Encryption } from '../state/encryption.ts';
import type { Actor } from './audit.ts';
import { type Credentials, invalid, requirePassword } from './credentials.ts';
import { EMAILS } from './emails.ts';
import { ACCOUNT_LIMITS } from './limits.ts';
import {
  accountOfPerson,
  activeFactorOf,
  hashOf,
  type Person,
  type SecondFactorRow,
  withoutFactor,
} from './people-records.ts';
import type { PeopleStore } from './people-store.ts';
import type { PeopleTasks } from './people-tasks.ts';
import { contextOf, type SecondFactorKey } from './second-factor-key.ts';
import { acceptedStep, base32, TOTP_SECRET_BYTES, totpUri } from './totp.ts';

/** Shown by authenticator apps beside the email address. */
const ISSUER = 'Assay';

/** Characters of a recovery code between two hyphens. */
const RECOVERY_GROUP = 4;

export interface Enrolment {
  /** The secret in base32, for apps that cannot read the QR code. */
  readonly secret: string;
  /** `otpauth://totp/…`, the text of the QR code. */
  readonly uri: string;
}

export interface SecondFactor {
  /**
   * Creates a secret, which counts after `confirm`.
   *
   * @throws INVALID_REQUEST if the password is wrong, or a second factor is enabled; RATE_LIMITED, OVERLOADED; NOT_READY if this node has
   * another encryption key
   */
  enrol(personId: string, password: string, from: string): Promise<Enrolment>;
  /**
   * Enables the second factor with a first code.
   *
   * @returns the recovery codes, which are shown once
   * @throws INVALID_REQUEST naming `code`
   */
  confirm(personId: string, code: string, from: string): Promise<readonly string[]>;
  /** Replaces all recovery codes. Throws INVALID_REQUEST naming `password` or `code`, RATE_LIMITED, OVERLOADED. */
  renew(personId: string, password: string, code: string, from: string): Promise<readonly string[]>;
  /** Disables the second factor. Throws INVALID_REQUEST naming `password` or `code`, RATE_LIMITED, OVERLOADED. */
  disable(personId: string, password: string, code: string, from: string): Promise<void>;
  /** Disables the second factor of a person who has lost it, on behalf of `actor`. Throws NOT_FOUND if there is no such factor. */
  discard(person: Person, actor: Actor): Promise<void>;
  /**
   * Consumes a code or recovery code of a person at login; returns false if it is wrong or was used.
   *
   * @throws RATE_LIMITED after too many wrong codes; NOT_READY for a code of the app if this node has another encryption key
   */
  consume(person: Person, code: string, from: string): Promise<boolean>;
}

export interface SecondFactorDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly store: PeopleStore;
  readonly tasks: PeopleTasks;
  readonly credentials: Credentials;
  /** Opened at the first use. */
  readonly encryption: () => Encryption;
  /** Whether the encryption is that of the stored secrets. */
  readonly key: SecondFactorKey;
}

const wrongCode = (): AssayError => invalid('code', 'is wrong, was used before, or is not valid any more');
const notEnabled = (): AssayError => invalid('code', 'no second factor is enabled');

/** Removes the separators that people type. */
const normalised = (code: string): string => code.replace(/[\s-]/g, '').toUpperCase();

/** Whether a code is one of the app, and not a recovery code. */
const isOfApp = (code: string): boolean => /^\d+$/.test(normalised(code));

/** Creates the service of second factors. */
export const createSecondFactor = (deps: SecondFactorDeps): SecondFactor => new SecondFactorService(deps);

class SecondFactorService implements SecondFactor {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #store: PeopleStore;
  readonly #tasks: PeopleTasks;
  readonly #credentials: Credentials;
  readonly #encryption: () => Encryption;
  readonly #key: SecondFactorKey;

  constructor(deps: SecondFactorDeps) {
    this.#clock = deps.clock;
    this.#random = deps.random;
    this.#store = deps.store;
    this.#tasks = deps.tasks;
    this.#credentials = deps.credentials;
    this.#encryption = deps.encryption;
    this.#key = deps.key;
  }

  async enrol(personId: string, password: string, from: string): Promise<Enrolment> {
    const person = await requirePassword(
      this.#credentials,
      this.#store.get(personId),
      password,
      'password',
      from,
    );
    await this.#key.requireForSecret();
    const secret = this.#random.bytes(TOTP_SECRET_BYTES);
    const row: SecondFactorRow = {
      secret: this.#encryption().encrypt(Buffer.from(secret).toString('base64'), contextOf(personId)),
      confirmedAt: null,
      lastStep: -1,
      recovery: [],
    };
    const changed = await this.#store.change(personId, (now) =>
      activeFactorOf(now) === null ? { ...now, secondFactor: row } : now,
    );
    if (changed?.secondFactor?.secret !== row.secret)
      throw invalid('password', 'a second factor is enabled; disable it first');
    return { secret: base32(secret), uri: totpUri(secret, ISSUER, person.email) };
  }

  async confirm(personId: string, code: string, from: string): Promise<readonly string[]> {
    const person = this.#store.get(personId);
    const noSecret = (): AssayError =>
      invalid('code', 'there is no new secret to confirm; begin with POST /auth/totp');
    if (person?.secondFactor === undefined || person.secondFactor.confirmedAt !== null) throw noSecret();
    this.#key.require();
    // Encrypted with a key that was lost since.
    if (!this.#key.decryptsSecretOf(person)) throw noSecret();
    const { shown, hashes } = this.#newRecoveryCodes();
    const confirmedAt = isoTime(this.#clock.now());
    const isDone = await this.#counted(person, from, () =>
      this.#acceptCode(person, from, code, (row) =>
        row.confirmedAt === null ? { ...row, confirmedAt, recovery: hashes } : null,
      ),
    );
    if (!isDone) {
      await this.#audit(person, from, 'totp.refuse');
      throw wrongCode();
    }
    await this.#audit(person, from, 'totp.enable');
    return shown;
  }

  async renew(personId: string, password: string, code: string, from: string): Promise<readonly string[]> {
    const person = await this.#requireBoth(personId, password, code, from);
    const { shown, hashes } = this.#newRecoveryCodes();
    await this.#store.change(personId, (now) =>
      now.secondFactor === undefined
        ? now
        : { ...now, secondFactor: { ...now.secondFactor, recovery: hashes } },
    );
    await this.#audit(person, from, 'totp.renew');
    return shown;
  }

  async disable(personId: string, password: string, code: string, from: string): Promise<void> {
    const person = await this.#requireBoth(personId, password, code, from);
    await this.#store.change(personId, withoutFactor);
    await this.#audit(person, from, 'totp.disable');
    this.#tasks.send(person.email, EMAILS.factorOff);
  }

  async discard(person: Person, actor: Actor): Promise<void> {
    let hadOne = false;
    await this.#store.change(person.id, (now) => {
      hadOne = activeFactorOf(now) !== null;
      return withoutFactor(now);
    });
    if (!hadOne) throw new AssayError('NOT_FOUND', 'The person has no second factor.', { field: 'id' });
    await this.#tasks.writeAudit(actor, 'totp.disable', accountOfPerson(person), person.id);
    this.#tasks.send(person.email, EMAILS.factorOff);
  }

  async consume(person: Person, code: string, from: string): Promise<boolean> {
    if (!isOfApp(code)) return this.#consumeRecovery(person, code, from);
    this.#key.require();
    const confirmed = (row: SecondFactorRow): SecondFactorRow | null =>
      row.confirmedAt === null ? null : row;
    return this.#counted(person, from, () => this.#acceptCode(person, from, code, confirmed));
  }

  /** A right code is accepted whatever was counted: it cannot be guessed, and somebody else may be guessing codes. Wrong ones count. */
  async #consumeRecovery(person: Person, code: string, from: string): Promise<boolean> {
    if (!(await this.#acceptRecovery(person.id, code))) return this.#counted(person, from, async () => false);
    await this.#audit(person, from, 'totp.recovery');
    return true;
  }

  /** Requires the password and a code, which is consumed. */
  async #requireBoth(personId: string, password: string, code: string, from: string): Promise<Person> {
    const person = await requirePassword(
      this.#credentials,
      this.#store.get(personId),
      password,
      'password',
      from,
    );
    if (activeFactorOf(person) === null) throw notEnabled();
    if (!(await this.consume(person, code, from))) {
      await this.#audit(person, from, 'totp.refuse');
      throw wrongCode();
    }
    return person;
  }

  /** Counts an attempt like a failed password, in a count of its own: the owner of the password may be an attacker. */
  async #counted(person: Person, from: string, attempt: () => Promise<boolean>): Promise<boolean> {
    const { attempts } = this.#credentials;
    // No email address contains a space.
    const account = `code ${person.email}`;
    await attempts.begin(account, from);
    const isRight = await attempt();
    if (isRight) await attempts.succeeded(account, from);
    return isRight;
  }

  /**
   * Accepts a code of the app like `#accept`, and counts it in the longer window. Recovery codes are not counted there: they cannot be
   * guessed, and are the way in for a person whose codes somebody else guesses.
   */
  async #acceptCode(
    person: Person,
    from: string,
    code: string,
    change: (row: SecondFactorRow) => SecondFactorRow | null,
  ): Promise<boolean> {
    const { codeAttempts } = this.#credentials;
    const left = await codeAttempts.begin(person.email, from);
    const isRight = await this.#accept(person.id, code, change);
    if (isRight) await codeAttempts.succeeded(person.email, from);
    else if (left === 0) await this.#locked(person, from);
    return isRight;
  }

  /** Tells a person that no code is accepted until the longer window ends. */
  async #locked(person: Person, from: string): Promise<void> {
    const detail = `${ACCOUNT_LIMITS.codesPerAccountMax} wrong codes`;
    const [account, actor] = [accountOfPerson(person), { who: 'unknown', from }];
    await this.#tasks.writeAudit(actor, 'totp.lock', account, person.id, detail);
    this.#tasks.send(person.email, EMAILS.codesLocked);
  }

  /**
   * Accepts a code of the app, and notes its step.
   *
   * @param change - returns the row to store, or null if the code cannot be accepted in its state
   */
  async #accept(
    personId: string,
    code: string,
    change: (row: SecondFactorRow) => SecondFactorRow | null,
  ): Promise<boolean> {
    let isAccepted = false;
    await this.#store.change(personId, (person) => {
      isAccepted = false;
      const { secondFactor: row } = person;
      if (row === undefined) return person;
      const secret = Buffer.from(this.#encryption().decrypt(row.secret, contextOf(personId)), 'base64');
      const step = acceptedStep(secret, normalised(code), this.#clock.now(), row.lastStep);
      const changed = step === null ? null : change(row);
      if (step === null || changed === null) return person;
      isAccepted = true;
      return { ...person, secondFactor: { ...changed, lastStep: step } };
    });
    return isAccepted;
  }

  async #acceptRecovery(personId: string, code: string): Promise<boolean> {
    const hash = hashOf(normalised(code));
    let isAccepted = false;
    await this.#store.change(personId, (person) => {
      const row = activeFactorOf(person);
      isAccepted = row?.recovery.includes(hash) ?? false;
      if (row === null || !isAccepted) return person;
      const recovery = row.recovery.filter((one) => one !== hash);
      return { ...person, secondFactor: { ...row, recovery } };
    });
    return isAccepted;
  }

  #newRecoveryCodes(): { readonly shown: readonly string[]; readonly hashes: readonly string[] } {
    const codes = Array.from({ length: ACCOUNT_LIMITS.recoveryCodes }, () =>
      base32(this.#random.bytes(ACCOUNT_LIMITS.recoveryCodeBytes)),
    );
    const groups = new RegExp(`.{${RECOVERY_GROUP}}(?=.)`, 'g');
    return { shown: codes.map((code) => code.replace(groups, '$&-')), hashes: codes.map(hashOf) };
  }

  #audit(
    person: Person,
    from: string,
    action: 'totp.enable' | 'totp.disable' | 'totp.renew' | 'totp.recovery' | 'totp.refuse',
  ): Promise<unknown> {
    return this.#tasks.writeAudit({ who: person.id, from }, action, accountOfPerson(person), person.id);
  }
}
