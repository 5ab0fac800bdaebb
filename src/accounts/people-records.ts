/** Records of the people of accounts: persons, their sessions, one-time tokens and invitations. people-store.ts stores them. */
import { createHash } from 'node:crypto';
import { ACCOUNT_LIMITS } from './limits.ts';
import type { Role } from './roles.ts';

/** The second factor of a person. */
export interface SecondFactorRow {
  /** The shared secret, encrypted at rest. */
  readonly secret: string;
  /** ISO 8601 UTC; null until the first code is confirmed. Until then, a login does not ask for a code. */
  readonly confirmedAt: string | null;
  /** Number of the newest time step with a used code: a code is accepted once. */
  readonly lastStep: number;
  /** SHA-256 of the recovery codes that were not used, hex. */
  readonly recovery: readonly string[];
}

/** A person who can log in to an account. */
export interface Person {
  /** The first person of an account has the id of the account. */
  readonly id: string;
  /** Absent for the first person of an account: the account of their id. */
  readonly accountId?: string;
  /** Absent in stores of an earlier version: their accounts have one owner each. */
  readonly role?: Role;
  /** Lower case. */
  readonly email: string;
  readonly emailVerified: boolean;
  /** In the format of password.ts. */
  readonly password: string;
  /** ISO 8601 UTC with milliseconds. */
  readonly createdAt: string;
  /** Incremented to end all sessions at once. */
  readonly sessionEpoch: number;
  /** Incremented to end all reset tokens at once. Absent, which means 0, in stores of an earlier version. */
  readonly resetEpoch?: number;
  /** Absent without a second factor. */
  readonly secondFactor?: SecondFactorRow;
}

/** Prefix of the ids of people who are not the first of their account. */
export const PERSON_PREFIX = 'per_';

/** Returns true if a text is the id of a person who is not the first of an account. */
export const isPersonId = (text: string | null): boolean => text?.startsWith(PERSON_PREFIX) ?? false;

/** Returns the account of a person. */
export const accountOfPerson = ({ id, accountId }: Person): string => accountId ?? id;

/** Returns the role of a person. */
export const roleOf = ({ role }: Person): Role => role ?? 'owner';

/** Returns the second factor of a person, if a login asks for it. */
export const activeFactorOf = ({ secondFactor }: Person): SecondFactorRow | null =>
  secondFactor === undefined || secondFactor.confirmedAt === null ? null : secondFactor;

/** The client that began a session. */
export interface SessionClient {
  /** Its address; empty if it is not known. */
  readonly from: string;
  /** Its User-Agent header, truncated; empty if it sent none. */
  readonly userAgent: string;
}

export interface SessionRow extends Partial<SessionClient> {
  /** Id of the person. The name is that of stores of an earlier version, in which accounts had one person each. */
  readonly accountId: string;
  /** Milliseconds since the epoch, both. */
  readonly createdMs: number;
  readonly endsMs: number;
  /** The person's `sessionEpoch` when the session began. */
  readonly epoch: number;
  /** Time of the last use in milliseconds, up to `sessionUseMs` old. Absent before the first write of it. */
  readonly usedMs?: number;
}

/** A session that has not ended. */
export interface StoredSession extends SessionRow {
  readonly id: string;
}

export type TokenPurpose = 'verify' | 'reset';

/** A one-time token, or that of an invitation. */
export interface TokenRow {
  /** Id of the person; of an invitation, that of its account. */
  readonly accountId: string;
  readonly purpose: TokenPurpose | 'invite';
  readonly endsMs: number;
  /** Absent in stores of an earlier version. */
  readonly createdMs?: number;
  /** The person's `resetEpoch` when a reset token was issued. Absent, which means 0, in stores of an earlier version. */
  readonly resetEpoch?: number;
  /** Id of the invitation. */
  readonly invitation?: string;
}

/** An invitation to an account that was neither accepted nor withdrawn. */
export interface Invitation {
  readonly id: string;
  readonly accountId: string;
  /** Lower case. */
  readonly email: string;
  readonly role: Role;
  /** Id of the person or key that invited. */
  readonly invitedBy: string;
  /** Milliseconds since the epoch, both. */
  readonly createdMs: number;
  readonly endsMs: number;
}

/** Returns the number by which reset tokens of a person end. */
export const resetEpochOf = (of: { readonly resetEpoch?: number } | undefined): number => of?.resetEpoch ?? 0;

/** Returns the person with all reset tokens ended. */
export const withoutResets = (person: Person): Person => ({
  ...person,
  resetEpoch: resetEpochOf(person) + 1,
});

/** Returns the person without a second factor. */
export function withoutFactor({ secondFactor: _, ...person }: Person): Person {
  return person;
}

/**
 * Returns true if a session or token has not expired. If its creation lies further in the future than its lifetime, because the clock was
 * set back, it counts as expired: none lives longer than twice its lifetime.
 */
export function isCurrent(
  of: { readonly createdMs?: number; readonly endsMs: number },
  nowMs: number,
): boolean {
  const { createdMs = Number.NEGATIVE_INFINITY, endsMs } = of;
  return nowMs < endsMs && createdMs - nowMs < endsMs - createdMs;
}

/** Form of the tokens of sessions, emails and invitations. */
export const TOKEN_SHAPE = /^[0-9A-Za-z_-]{43}$/;

/** Returns the hash of a secret. Secrets are looked up by it, so the time of a lookup does not reveal how much of a guess is right. */
export const hashOf = (secret: string): string => createHash('sha256').update(secret).digest('hex');

/** Hexadecimal characters of a session's hash that are its id: 96 bits. The id does not reveal the token. */
const SESSION_ID_CHARS = 24;

/** Returns the id of a session, by the hash of its token. */
export const sessionIdOfHash = (hash: string): string => `ses_${hash.slice(0, SESSION_ID_CHARS)}`;

/** Returns the id of a session, by its token. */
export const sessionIdOf = (token: string): string => sessionIdOfHash(hashOf(token));

/** Normalises an email address to lower case without surrounding spaces; returns null if the text is not an email address. */
export function emailOf(text: string): string | null {
  const email = text.trim().toLowerCase();
  if (email.length > ACCOUNT_LIMITS.emailCharsMax) return null;
  return /^[^\s@<>"',;:\\()[\]\p{Cc}]+@[0-9a-z](?:[0-9a-z.-]*[0-9a-z])?$/u.test(email) ? email : null;
}
