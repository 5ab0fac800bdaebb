/** Passwords for tests of something else: the derivation of the program takes a fifth of a second of a core, by design. */
import { scryptSync } from 'node:crypto';
import type { DeriveKey } from '../../src/accounts/password.ts';

/** Derives with scrypt at its lowest cost. */
export const cheapPasswords: DeriveKey = async ({ password, salt, bytes }) =>
  scryptSync(password, salt, bytes, { N: 2 });
