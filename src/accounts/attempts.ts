/**
 * Counts attempts per account and per client address, in memory: failed passwords and codes, and requested emails. After too many, further
 * attempts are rejected for a while.
 */
import type { Awaitable } from '../base/awaitable.ts';
import type { Clock } from '../base/clock.ts';
import { AssayError } from '../base/errors.ts';
import { ACCOUNT_LIMITS } from './limits.ts';

export interface Attempts {
  /**
   * Counts an attempt for each subject before it is made.
   *
   * @returns the attempts that the account has left
   * @throws RATE_LIMITED if a subject has had too many; none is counted then
   */
  begin(account: string, address: string): Awaitable<number>;
  /** Records success: the account's count is deleted, or gets its attempt back like that of the address, as the limits say. */
  succeeded(account: string, address: string): Awaitable<void>;
}

/** The limits of one kind of attempt. */
export interface AttemptLimits {
  /** Separates the counts of the kinds in a shared store; empty for passwords. */
  readonly kind: '' | 'email ' | 'code ';
  readonly windowMs: number;
  readonly perAccountMax: number;
  /** Null if addresses are not counted. */
  readonly perAddressMax: number | null;
  /** What becomes of the account's count after a success: all failures are forgotten, or only the success is not counted. */
  readonly afterSuccess: 'forget' | 'give back';
  /** First half of the error. */
  readonly refusal: string;
}

export const PASSWORD_ATTEMPTS: AttemptLimits = {
  kind: '',
  windowMs: ACCOUNT_LIMITS.attemptWindowMs,
  perAccountMax: ACCOUNT_LIMITS.attemptsPerAccountMax,
  perAddressMax: ACCOUNT_LIMITS.attemptsPerAddressMax,
  afterSuccess: 'forget',
  refusal: 'Too many failed attempts',
};

/** Requests that send an email to an address that the client names. They are counted whether or not the address has an account. */
export const EMAIL_REQUESTS: AttemptLimits = {
  kind: 'email ',
  windowMs: ACCOUNT_LIMITS.emailWindowMs,
  perAccountMax: ACCOUNT_LIMITS.emailsPerAddressMax,
  perAddressMax: ACCOUNT_LIMITS.emailsPerClientMax,
  afterSuccess: 'forget',
  refusal: 'Too many emails were requested for this email address or from this client',
};

/**
 * Wrong codes of authenticator apps, in addition to PASSWORD_ATTEMPTS. A code of the owner forgets none of them: the owner logs in every day,
 * and an attacker would begin again each time.
 */
export const CODE_ATTEMPTS: AttemptLimits = {
  kind: 'code ',
  windowMs: ACCOUNT_LIMITS.codeWindowMs,
  perAccountMax: ACCOUNT_LIMITS.codesPerAccountMax,
  perAddressMax: null,
  afterSuccess: 'give back',
  refusal: 'Too many wrong codes of the authenticator app; a recovery code is accepted',
};

interface Window {
  count: number;
  /** By the monotonic clock. */
  readonly endsMs: number;
}

/**
 * Returns the part of an address that identifies one client: for IPv6, the whole /64. In every address that a network assigns, the part
 * that `::` abbreviates is in the second half.
 */
export function clientUnit(address: string): string {
  if (!address.includes(':')) return address;
  return address.split('::')[0]?.split(':').slice(0, 4).join(':') ?? address;
}

/**
 * Returns the 429 error for too many attempts.
 *
 * @param leftMs - milliseconds until the next attempt is allowed
 */
export function tooMany(leftMs: number, { refusal }: Pick<AttemptLimits, 'refusal'>): AssayError {
  const seconds = Math.max(1, Math.ceil(leftMs / 1000));
  return new AssayError('RATE_LIMITED', `${refusal}; the next one is allowed in ${seconds} s.`, {
    retryAfterSeconds: seconds,
  });
}

/** Attempts counted in the memory of one process. */
export interface EmbeddedAttempts extends Attempts {
  /** Number of accounts and addresses that are currently counted. */
  readonly tracked: number;
}

/** Creates counters of one kind of attempt in memory. */
export function createAttempts(
  deps: { readonly clock: Clock },
  limits: AttemptLimits = PASSWORD_ATTEMPTS,
): EmbeddedAttempts {
  /** All windows have the same length and are in the order of their start, so ended ones come first. */
  const windows = new Map<string, Window>();

  /** Removes ended windows; if the table is full of open ones, removes the oldest. */
  function makeRoom(now: number): void {
    for (const [subject, window] of windows) {
      if (window.endsMs > now && windows.size < ACCOUNT_LIMITS.attemptWindowsMax) break;
      windows.delete(subject);
    }
  }

  function windowOf(subject: string, now: number): Window {
    const existing = windows.get(subject);
    if (existing !== undefined && existing.endsMs > now) return existing;
    windows.delete(subject);
    makeRoom(now);
    const window: Window = { count: 0, endsMs: now + limits.windowMs };
    windows.set(subject, window);
    return window;
  }

  const { perAccountMax, perAddressMax, afterSuccess } = limits;
  const subjects = (account: string, address: string): readonly (readonly [string, number])[] => [
    [`account ${account}`, perAccountMax],
    ...(perAddressMax === null ? [] : [[`address ${clientUnit(address)}`, perAddressMax] as const]),
  ];

  function giveBack(subject: string): void {
    const window = windows.get(subject);
    if (window !== undefined && window.count > 0) window.count--;
  }

  return {
    get tracked() {
      return windows.size;
    },
    begin(account, address) {
      const now = deps.clock.monotonic();
      const rows = subjects(account, address).map(([subject, max]) => ({
        window: windowOf(subject, now),
        max,
      }));
      const full = rows.find(({ window, max }) => window.count >= max);
      if (full !== undefined) throw tooMany(full.window.endsMs - now, limits);
      for (const { window } of rows) window.count++;
      return perAccountMax - (rows[0]?.window.count ?? 0);
    },
    succeeded(account, address) {
      for (const [subject] of subjects(account, address)) giveBack(subject);
      if (afterSuccess === 'forget') windows.delete(`account ${account}`);
    },
  };
}
