/** What the service of people needs from its store: persons, sessions, one-time tokens and invitations. */
import type {
  Invitation,
  Person,
  SessionClient,
  SessionRow,
  StoredSession,
  TokenPurpose,
} from './people-records.ts';
import type { Role } from './roles.ts';

/** Why a change of a member was not made. `unconfirmed`: it concerns an owner, and was not confirmed by a password. */
export type MemberRefusal = 'unknown' | 'last owner' | 'unconfirmed';

/** The outcome of adding a member: the email address may belong to a person, or the account may be full. */
export type Addition = 'added' | 'taken' | 'full';

/** The outcome of accepting an invitation. */
export type Acceptance =
  | {
      readonly person: Person;
      readonly invitation: Invitation;
      /** The person of an unconfirmed registration of the address, which was removed; null if there was none. */
      readonly replaced: Person | null;
    }
  /** The token is used, expired or unknown; or the email address got an account meanwhile. */
  | 'unknown'
  | 'taken';

/** The store of people. Its tests run over one machine and over replicas. */
export interface PeopleStore {
  get(id: string): Person | null;
  byEmail(email: string): Person | null;
  /**
   * Returns the person of an email address if an invitation replaces them: they registered the address and are alone in their account, but
   * never confirmed that the address is theirs.
   */
  unconfirmed(email: string): Person | null;
  /** Oldest first. */
  list(): readonly Person[];
  /** Returns the people of an account, oldest first. */
  members(accountId: string): readonly Person[];
  /** Returns false if the email address already belongs to a person; nothing is changed then. */
  add(person: Person): Promise<boolean>;
  /** Adds a person to an account that has people, unless it has `peopleMax` people and invitations. */
  addMember(accountId: string, person: Person, peopleMax: number): Promise<Addition>;
  /** Changes a person inside a transaction, but not their account or email address; returns null if the person does not exist. */
  change(id: string, change: (person: Person) => Person): Promise<Person | null>;
  /**
   * Changes the role of a member of an account, which always keeps an owner.
   *
   * @param isConfirmed - whether owners may be changed; otherwise nobody becomes an owner or ceases to be one
   */
  setRole(accountId: string, id: string, role: Role, isConfirmed: boolean): Promise<Person | MemberRefusal>;
  /** Removes a member of an account with all their sessions; the last owner stays, and all owners unless `isConfirmed`. */
  remove(accountId: string, id: string, isConfirmed: boolean): Promise<Person | MemberRefusal>;
  /** Starts a session; returns its text, which only its owner knows. A person who has too many loses the oldest. */
  begin(
    person: Person,
    lifeMs: number,
    client?: SessionClient,
  ): Promise<{ readonly token: string; readonly session: SessionRow }>;
  /** Returns the session with this text, unless it has ended. */
  session(token: string): SessionRow | null;
  end(token: string): Promise<void>;
  /** Returns the sessions of a person that have not ended, newest first. */
  sessionsOf(id: string): readonly StoredSession[];
  /** Ends a session of a person by its id; returns false if the person has none of this id. */
  endSession(id: string, sessionId: string): Promise<boolean>;
  /** Ends all sessions of a person except one; returns how many. */
  endSessions(id: string, exceptId: string | null): Promise<number>;
  /** Writes the time of the last use of a session, if the session has not ended. */
  noteUse(token: string): Promise<void>;
  /** Creates a one-time token; returns its text. A reset token ends all earlier reset tokens of the person. */
  issue(id: string, purpose: TokenPurpose, lifeMs: number): Promise<string>;
  /**
   * Consumes a token; returns the person for whom it was issued, or null. A reset token is not accepted after a newer one was issued, one
   * was redeemed, or the password was changed.
   */
  redeem(token: string, purpose: TokenPurpose): Promise<string | null>;
  /** Returns whether `redeem` would accept a token now. */
  isRedeemable(token: string, purpose: TokenPurpose): boolean;
  /** Stores an invitation in place of one for the same address; returns its token. Returns null if the account has too many people. */
  invite(invitation: Invitation, peopleMax: number): Promise<string | null>;
  /** Returns the invitations of an account that have not expired, oldest first. */
  invitations(accountId: string): readonly Invitation[];
  /** Returns the invitation of a token without consuming it; null if it is used, expired or unknown. */
  invitation(token: string): Invitation | null;
  /** Changes the role of an invitation; returns null if no invitation has this id. */
  setInvitedRole(accountId: string, id: string, role: Role): Promise<Invitation | null>;
  /** Ends an invitation; returns null if no invitation has this id. */
  withdraw(accountId: string, id: string): Promise<Invitation | null>;
  /** Consumes the token of an invitation and adds the person that `make` returns, in place of an unconfirmed one of the address. */
  accept(token: string, make: (invitation: Invitation) => Person): Promise<Acceptance>;
  /** Whether the person of an account was replaced by an invitation before they confirmed their email address, so that nobody is in it. */
  isReplaced(accountId: string): boolean;
  /** Returns the text on which each node tests its encryption key; null if no node has stored one. */
  keyTrial(): string | null;
  /**
   * Stores the text that `choose` returns in place of the present one.
   *
   * @param choose - gets the present text, and all people with an active second factor; returns null to change nothing
   */
  setKeyTrial(choose: (present: string | null, people: readonly Person[]) => string | null): Promise<void>;
  /** Removes all sessions, tokens and invitations that have ended, some with each commit. The store does so every hour. */
  removeEnded(): Promise<void>;
  close(): Promise<void>;
}
