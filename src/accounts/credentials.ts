/** Checks of a person's password that count failed attempts, for login and for changes that need the password again. */
import { AssayError } from '../base/errors.ts';
import type { Attempts } from './attempts.ts';
import type { Passwords } from './password.ts';
import type { Person } from './people-records.ts';

/** Returns the validation error of a field. */
export const invalid = (field: string, expected: string): AssayError =>
  new AssayError('INVALID_REQUEST', `${field}: ${expected}.`, { field });

export interface Credentials {
  readonly passwords: Passwords;
  /** Counter of failed attempts. */
  readonly attempts: Attempts;
  /** Counter of wrong codes of authenticator apps in the longer window. */
  readonly codeAttempts: Attempts;
}

/**
 * Requires the current password of a person who is logged in.
 *
 * @param field - field of the request, for the error
 * @throws INVALID_REQUEST naming the field; RATE_LIMITED after too many failed attempts; OVERLOADED if too many passwords are being checked
 */
export async function requirePassword(
  { passwords, attempts }: Pick<Credentials, 'passwords' | 'attempts'>,
  person: Person | null,
  password: string,
  field: string,
  from: string,
): Promise<Person> {
  await attempts.begin(person?.email ?? '', from);
  if (person === null || !(await passwords.matches(password, person.password)))
    throw invalid(field, 'is wrong');
  await attempts.succeeded(person.email, from);
  return person;
}
