/**
 * The people of an account: invitations, roles and removal. An account always keeps an owner. Who becomes an owner or ceases to be one is
 * confirmed by the password of the owner who does it (`own`), so that a stolen session cannot take an account over. Whether an email address has an account
 * elsewhere is found out after the response of an invitation, which is the same in both cases.
 */
import { type Clock, isoTime } from '../base/clock.ts';
import { AssayError } from '../base/errors.ts';
import type { Random } from '../base/random.ts';
import type { Attempts } from './attempts.ts';
import { type Actor, creatorOf, OPERATOR } from './audit.ts';
import { type Credentials, invalid, requirePassword } from './credentials.ts';
import { EMAILS, type PublicUrl } from './emails.ts';
import type { KeyStore } from './keys.ts';
import { ACCOUNT_LIMITS } from './limits.ts';
import {
  accountOfPerson,
  activeFactorOf,
  emailOf,
  type Invitation,
  PERSON_PREFIX,
  type Person,
  roleOf,
} from './people-records.ts';
import type { MemberRefusal, PeopleStore } from './people-store.ts';
import type { PeopleTasks } from './people-tasks.ts';
import type { Role } from './roles.ts';
import type { SecondFactor } from './second-factor.ts';

/** A person of an account, or a pending invitation to it. */
export interface MemberView {
  readonly id: string;
  readonly email: string;
  readonly role: Role;
  readonly status: 'ACTIVE' | 'INVITED';
  readonly emailVerified: boolean;
  /** Whether a login asks for a code. */
  readonly secondFactor: boolean;
  readonly createdAt: string;
  /** Id of the person who invited; null for an active person. */
  readonly invitedBy: string | null;
  /** When the invitation expires; null for an active person. */
  readonly expiresAt: string | null;
}

export interface Members {
  /** Returns the people of an account, and then the pending invitations to it, each oldest first. */
  list(accountId: string): readonly MemberView[];
  /**
   * Invites by email. A further invitation of the same address replaces the first.
   *
   * @param own - password of the person who invites, for the role owner
   * @throws INVALID_REQUEST, also without a mail server; RATE_LIMITED, OVERLOADED; FORBIDDEN if anybody may register and the person who invites has not confirmed their
   * own address
   */
  invite(actor: Actor, accountId: string, email: string, role: Role, own?: string): Promise<MemberView>;
  /**
   * Adds the person of an invitation.
   *
   * @throws INVALID_REQUEST naming `token` or `password`; OVERLOADED
   */
  accept(token: string, password: string, from: string): Promise<Person>;
  /**
   * Adds a person with a password, without an email.
   *
   * @param own - password of the person who adds, for the role owner
   * @throws INVALID_REQUEST, also if the address has an account anywhere in the installation; RATE_LIMITED, OVERLOADED
   */
  add(
    actor: Actor,
    accountId: string,
    email: string,
    role: Role,
    password: string,
    own?: string,
  ): Promise<MemberView>;
  /**
   * Changes the role of a person or an invitation.
   *
   * @param own - password of the person who does it, if the person is or becomes an owner
   * @throws NOT_FOUND; INVALID_REQUEST for the last owner, and naming `currentPassword`; RATE_LIMITED, OVERLOADED
   */
  setRole(actor: Actor, accountId: string, id: string, role: Role, own?: string): Promise<MemberView>;
  /**
   * Removes a person with all their sessions, or withdraws an invitation. The keys that the person created stay; the audit log names them.
   *
   * @param own - password of the person who does it, if the person is an owner
   * @throws NOT_FOUND; INVALID_REQUEST for the last owner, and naming `currentPassword`; RATE_LIMITED, OVERLOADED
   */
  remove(actor: Actor, accountId: string, id: string, own?: string): Promise<MemberView>;
  /** Ends all sessions of a person of the account; returns how many. Throws NOT_FOUND. */
  endSessions(actor: Actor, accountId: string, id: string): Promise<number>;
  /**
   * Disables the second factor of another person of the account, who has lost it.
   *
   * @param own - password of the person who does it
   * @throws NOT_FOUND; INVALID_REQUEST for the own id, and naming `currentPassword`; RATE_LIMITED, OVERLOADED
   */
  discardFactor(actor: Actor, accountId: string, id: string, own: string): Promise<void>;
}

export interface MembersDeps {
  readonly clock: Clock;
  readonly random: Random;
  readonly store: PeopleStore;
  readonly tasks: PeopleTasks;
  readonly credentials: Credentials;
  readonly keys: Pick<KeyStore, 'list'>;
  readonly emailRequests: Attempts;
  readonly publicUrl: PublicUrl;
  /** True if anybody may register: then only people with a confirmed address may invite, so that nobody sends emails unseen. */
  readonly isOpen: boolean;
  readonly secondFactor: Pick<SecondFactor, 'discard'>;
}

/** Prefix of the ids of invitations. */
const INVITATION_PREFIX = 'inv_';
const ID_BYTES = 12;

const unknownPerson = (): AssayError =>
  new AssayError('NOT_FOUND', 'id: the account has no person or invitation of this id.', { field: 'id' });

const lastOwner = (field: 'id' | 'role'): AssayError =>
  invalid(field, 'is the last owner of the account; make somebody else an owner first');

const tooMany = (): AssayError =>
  invalid(
    'email',
    `the account has the maximum of ${ACCOUNT_LIMITS.peoplePerAccountMax} people and invitations`,
  );

const noEmails = (): AssayError =>
  invalid(
    'email',
    'gets no invitation, because this server has no mail server; add the person with a password (POST /people), or let the operator set ASSAY_SMTP_URL',
  );

const unconfirmed = (): AssayError =>
  invalid(
    'currentPassword',
    'must be your own password, because this makes a person an owner, or changes or removes one',
  );

/** Ids of keys in the audit log: more would not fit into its text. */
const KEYS_NAMED_MAX = 5;

const viewOf = (person: Person): MemberView => ({
  id: person.id,
  email: person.email,
  role: roleOf(person),
  status: 'ACTIVE',
  emailVerified: person.emailVerified,
  secondFactor: activeFactorOf(person) !== null,
  createdAt: person.createdAt,
  invitedBy: null,
  expiresAt: null,
});

const invitedView = ({ id, email, role, invitedBy, createdMs, endsMs }: Invitation): MemberView => ({
  id,
  email,
  role,
  status: 'INVITED',
  emailVerified: false,
  secondFactor: false,
  createdAt: isoTime(createdMs),
  invitedBy,
  expiresAt: isoTime(endsMs),
});

/** Creates the service of the people of accounts. */
export const createMembers = (deps: MembersDeps): Members => new MembersService(deps);

class MembersService implements Members {
  readonly #clock: Clock;
  readonly #random: Random;
  readonly #store: PeopleStore;
  readonly #tasks: PeopleTasks;
  readonly #credentials: Credentials;
  readonly #keys: Pick<KeyStore, 'list'>;
  readonly #emailRequests: Attempts;
  readonly #publicUrl: PublicUrl;
  readonly #isOpen: boolean;
  readonly #secondFactor: Pick<SecondFactor, 'discard'>;

  constructor(deps: MembersDeps) {
    this.#clock = deps.clock;
    this.#random = deps.random;
    this.#store = deps.store;
    this.#tasks = deps.tasks;
    this.#credentials = deps.credentials;
    this.#keys = deps.keys;
    this.#emailRequests = deps.emailRequests;
    this.#publicUrl = deps.publicUrl;
    this.#isOpen = deps.isOpen;
    this.#secondFactor = deps.secondFactor;
  }

  list(accountId: string): readonly MemberView[] {
    return [
      ...this.#store.members(accountId).map(viewOf),
      ...this.#store.invitations(accountId).map(invitedView),
    ];
  }

  async invite(
    actor: Actor,
    accountId: string,
    emailText: string,
    role: Role,
    own?: string,
  ): Promise<MemberView> {
    const { who: inviter, from } = actor;
    if (!this.#tasks.sendsEmails) throw noEmails();
    const email = this.#newEmail(accountId, emailText);
    const by = this.#store.get(inviter);
    if (by === null || (this.#isOpen && !by.emailVerified))
      throw new AssayError('FORBIDDEN', 'email: confirm your own email address before you invite others.', {
        field: 'email',
      });
    if (!(await this.#isConfirmed(actor, own)) && role === 'owner') throw unconfirmed();
    await this.#emailRequests.begin(`invite ${email}`, from);
    const createdMs = this.#clock.now();
    const invitation: Invitation = {
      id: this.#newId(INVITATION_PREFIX),
      accountId,
      email,
      role,
      invitedBy: inviter,
      createdMs,
      endsMs: createdMs + ACCOUNT_LIMITS.inviteTokenMs,
    };
    const token = await this.#store.invite(invitation, ACCOUNT_LIMITS.peoplePerAccountMax);
    if (token === null) throw tooMany();
    await this.#tasks.writeAudit(actor, 'person.invite', accountId, invitation.id, role);
    this.#tasks.runAfterAnswer('invitation', async () => {
      const isElsewhere = this.#store.byEmail(email) !== null && this.#store.unconfirmed(email) === null;
      this.#tasks.send(
        email,
        isElsewhere ? EMAILS.invitedElsewhere : EMAILS.invite(this.#publicUrl(), token, by.email),
      );
    });
    return invitedView(invitation);
  }

  async accept(token: string, password: string, from: string): Promise<Person> {
    const bad = (): AssayError => invalid('token', 'is used, expired or unknown; ask for a new invitation');
    // Before the password is derived, which takes a thread for a fifth of a second.
    if (this.#store.invitation(token) === null) throw bad();
    const hash = await this.#credentials.passwords.hash(password, 'password');
    const id = this.#newId(PERSON_PREFIX);
    const accepted = await this.#store.accept(token, ({ accountId, email, role }) =>
      // The token came by email, so its user owns the email address.
      this.#newPerson(id, accountId, email, role, hash, true),
    );
    if (accepted === 'unknown') throw bad();
    if (accepted === 'taken')
      throw invalid(
        'token',
        'its email address has got an account since; ask for an invitation to another one',
      );
    const { person, invitation, replaced } = accepted;
    const actor: Actor = { who: id, from };
    // The registration was of somebody who could not read the emails to the address, or of the same person.
    if (replaced !== null)
      await this.#tasks.writeAudit(actor, 'person.remove', replaced.id, replaced.id, 'never confirmed');
    const detail = `${invitation.id} ${invitation.role}`;
    await this.#tasks.writeAudit(actor, 'person.join', invitation.accountId, id, detail);
    return person;
  }

  async add(
    actor: Actor,
    accountId: string,
    emailText: string,
    role: Role,
    password: string,
    own?: string,
  ): Promise<MemberView> {
    const email = this.#newEmail(accountId, emailText);
    if (!(await this.#isConfirmed(actor, own)) && role === 'owner') throw unconfirmed();
    const hash = await this.#credentials.passwords.hash(password, 'password');
    const id = this.#newId(PERSON_PREFIX);
    const person = this.#newPerson(id, accountId, email, role, hash, false);
    const outcome = await this.#store.addMember(accountId, person, ACCOUNT_LIMITS.peoplePerAccountMax);
    if (outcome === 'full') throw tooMany();
    if (outcome === 'taken') throw invalid('email', 'already has an account');
    await this.#tasks.writeAudit(actor, 'person.create', accountId, id, role);
    return viewOf(person);
  }

  async setRole(actor: Actor, accountId: string, id: string, role: Role, own?: string): Promise<MemberView> {
    const isConfirmed = await this.#isConfirmed(actor, own);
    if (id.startsWith(INVITATION_PREFIX)) {
      if (!isConfirmed && role === 'owner') throw unconfirmed();
      const invitation = await this.#store.setInvitedRole(accountId, id, role);
      if (invitation === null) throw unknownPerson();
      await this.#tasks.writeAudit(actor, 'person.role', accountId, id, role);
      return invitedView(invitation);
    }
    const changed = this.#required(await this.#store.setRole(accountId, id, role, isConfirmed), 'role');
    await this.#tasks.writeAudit(actor, 'person.role', accountId, id, role);
    return viewOf(changed);
  }

  async remove(actor: Actor, accountId: string, id: string, own?: string): Promise<MemberView> {
    const isConfirmed = await this.#isConfirmed(actor, own);
    if (id.startsWith(INVITATION_PREFIX)) {
      const invitation = await this.#store.withdraw(accountId, id);
      if (invitation === null) throw unknownPerson();
      await this.#tasks.writeAudit(actor, 'person.withdraw', accountId, id);
      return invitedView(invitation);
    }
    const removed = this.#required(await this.#store.remove(accountId, id, isConfirmed), 'id');
    const detail = `${roleOf(removed)}${this.#keysOf(removed)}`;
    await this.#tasks.writeAudit(actor, 'person.remove', accountId, id, detail);
    return viewOf(removed);
  }

  async endSessions(actor: Actor, accountId: string, id: string): Promise<number> {
    this.#member(accountId, id);
    const ended = await this.#store.endSessions(id, null);
    await this.#tasks.writeAudit(actor, 'session.end', accountId, id, `${ended} sessions`);
    return ended;
  }

  async discardFactor(actor: Actor, accountId: string, id: string, own: string): Promise<void> {
    const person = this.#member(accountId, id);
    if (id === actor.who) throw invalid('id', 'is your own; use POST /auth/totp/disable');
    await this.#isConfirmed(actor, own);
    await this.#secondFactor.discard(person, actor);
  }

  /**
   * Whether a change of an owner is confirmed by a password. An operator at the command line needs none.
   *
   * @throws INVALID_REQUEST naming `currentPassword`; RATE_LIMITED, OVERLOADED
   */
  async #isConfirmed({ who, from }: Actor, own: string | undefined): Promise<boolean> {
    if (who === OPERATOR.who) return true;
    if (own === undefined) return false;
    await requirePassword(this.#credentials, this.#store.get(who), own, 'currentPassword', from);
    return true;
  }

  /** Returns the active keys of a removed person as text for the audit log; empty if there are none. */
  #keysOf(person: Person): string {
    const accountId = accountOfPerson(person);
    const creator = creatorOf({ who: person.id }, accountId);
    const own = this.#keys
      .list(accountId)
      .filter(({ createdBy, status }) => createdBy === creator && status === 'ACTIVE');
    const ids = own.map(({ id }) => id);
    if (ids.length === 0) return '';
    const more = ids.length > KEYS_NAMED_MAX ? ` and ${ids.length - KEYS_NAMED_MAX} more` : '';
    return `, keys stay active: ${ids.slice(0, KEYS_NAMED_MAX).join(' ')}${more}`;
  }

  #member(accountId: string, id: string): Person {
    const person = this.#store.get(id);
    if (person === null || accountOfPerson(person) !== accountId) throw unknownPerson();
    return person;
  }

  #required(outcome: Person | MemberRefusal, field: 'id' | 'role'): Person {
    if (outcome === 'unknown') throw unknownPerson();
    if (outcome === 'unconfirmed') throw unconfirmed();
    if (outcome === 'last owner') throw lastOwner(field);
    return outcome;
  }

  #newEmail(accountId: string, text: string): string {
    const email = emailOf(text);
    if (email === null) throw invalid('email', 'must be an email address');
    if (this.#store.members(accountId).some((person) => person.email === email))
      throw invalid('email', 'belongs to a person of this account');
    return email;
  }

  #newId(prefix: string): string {
    return `${prefix}${Buffer.from(this.#random.bytes(ID_BYTES)).toString('hex')}`;
  }

  #newPerson(
    id: string,
    accountId: string,
    email: string,
    role: Role,
    password: string,
    emailVerified: boolean,
  ): Person {
    const createdAt = isoTime(this.#clock.now());
    return { id, accountId, role, email, emailVerified, password, createdAt, sessionEpoch: 0 };
  }
}
