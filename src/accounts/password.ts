/**
 * Stored passwords: scrypt (RFC 7914) with an individual salt; the parameters are stored with the hash, so that they can be raised later.
 * The derivation is a dependency, because it must run on a thread that serves no requests.
 */
import { timingSafeEqual } from 'node:crypto';
import { AssayError } from '../base/errors.ts';
import type { Random } from '../base/random.ts';
import type { ScryptRequest } from '../base/scrypt.ts';
import { ACCOUNT_LIMITS } from './limits.ts';

export type DeriveKey = (request: ScryptRequest) => Promise<Uint8Array>;

/** OWASP's recommendation for scrypt at 32 MiB: N = 2^15, r = 8, p = 3. */
const COST = { log2N: 15, r: 8, p: 3 } as const;
const SALT_BYTES = 16;
const HASH_BYTES = 32;
const STORED = /^scrypt\$(\d{1,2})\$(\d{1,2})\$(\d{1,2})\$([0-9A-Za-z_-]+)\$([0-9A-Za-z_-]+)$/;

export interface Passwords {
  /**
   * Returns the text to store.
   *
   * @throws INVALID_REQUEST naming `field` if the password is too short or too long; OVERLOADED if too many passwords are being checked
   */
  hash(password: string, field: string): Promise<string>;
  /**
   * Returns whether the password matches; takes as long if `stored` is null (the account does not exist).
   *
   * @throws OVERLOADED if too many passwords are being checked; STORE_CORRUPT if `stored` is damaged
   */
  matches(password: string, stored: string | null): Promise<boolean>;
}

/**
 * Checks the length of a password.
 *
 * @throws INVALID_REQUEST naming `field`
 */
export function checkPassword(password: string, field: string): void {
  const { passwordCharsMin, passwordCharsMax } = ACCOUNT_LIMITS;
  if (password.length >= passwordCharsMin && password.length <= passwordCharsMax) return;
  throw new AssayError(
    'INVALID_REQUEST',
    `${field}: must have from ${passwordCharsMin} to ${passwordCharsMax} characters.`,
    { field },
  );
}

/** Creates the hashing and checking of passwords. */
export function createPasswords(deps: { readonly random: Random; readonly derive: DeriveKey }): Passwords {
  /** Derivations that wait or run: each takes a fifth of a second of a core. */
  let running = 0;

  async function derive(request: ScryptRequest): Promise<Uint8Array> {
    if (running >= ACCOUNT_LIMITS.passwordDerivationsMax)
      throw new AssayError('OVERLOADED', 'Too many passwords are being checked.', { retryAfterSeconds: 2 });
    running++;
    try {
      return await deps.derive(request);
    } finally {
      running--;
    }
  }

  return {
    async hash(password, field) {
      checkPassword(password, field);
      const salt = deps.random.bytes(SALT_BYTES);
      const hash = await derive({ ...COST, password, salt, bytes: HASH_BYTES });
      const text = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64url');
      return `scrypt$${COST.log2N}$${COST.r}$${COST.p}$${text(salt)}$${text(hash)}`;
    },

    async matches(password, stored) {
      const parts = stored === null ? null : STORED.exec(stored);
      if (stored !== null && parts === null)
        throw new AssayError('STORE_CORRUPT', 'The stored hash of a password is damaged.');
      if (password.length > ACCOUNT_LIMITS.passwordCharsMax) return false;
      const [, log2N, r, p, salt = '', hash = ''] = parts ?? [];
      const cost = parts === null ? COST : { log2N: Number(log2N), r: Number(r), p: Number(p) };
      const expected = Buffer.from(hash, 'base64url');
      const derived = await derive({
        ...cost,
        password,
        salt: parts === null ? new Uint8Array(SALT_BYTES) : Buffer.from(salt, 'base64url'),
        bytes: HASH_BYTES,
      });
      return expected.length === HASH_BYTES && timingSafeEqual(expected, derived);
    },
  };
}
