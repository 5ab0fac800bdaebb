/**
 * Counts failed password attempts per account and per client address, in memory; after too many, further attempts are rejected for a while.
 */
import type { Awaitable } from '../base/awaitable.ts';
import type { Clock } from '../base/clock.ts';
import { AssayError } from '../base/errors.ts';
import { ACCOUNT_LIMITS } from './limits.ts';

export interface Attempts {
  /** Counts an attempt for each subject before it is made. Throws RATE_LIMITED if a subject has had too many; none is counted then. */
  begin(account: string, address: string): Awaitable<void>;
  /** Records success: the account's count is deleted, and the address gets its attempt back. */
  succeeded(account: string, address: string): Awaitable<void>;
}

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
export function tooMany(leftMs: number): AssayError {
  const seconds = Math.max(1, Math.ceil(leftMs / 1000));
  return new AssayError(
    'RATE_LIMITED',
    `Too many failed attempts; the next one is allowed in ${seconds} s.`,
    {
      retryAfterSeconds: seconds,
    },
  );
}

/** Attempts counted in the memory of one process. */
export interface EmbeddedAttempts extends Attempts {
  /** Number of accounts and addresses that are currently counted. */
  readonly tracked: number;
}

/** Creates counters of failed attempts in memory. */
export function createAttempts(deps: { readonly clock: Clock }): EmbeddedAttempts {
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
    const window: Window = { count: 0, endsMs: now + ACCOUNT_LIMITS.attemptWindowMs };
    windows.set(subject, window);
    return window;
  }

  const subjects = (account: string, address: string): readonly (readonly [string, number])[] => [
    [`account ${account}`, ACCOUNT_LIMITS.attemptsPerAccountMax],
    [`address ${clientUnit(address)}`, ACCOUNT_LIMITS.attemptsPerAddressMax],
  ];

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
      if (full !== undefined) throw tooMany(full.window.endsMs - now);
      for (const { window } of rows) window.count++;
    },
    succeeded(account, address) {
      windows.delete(`account ${account}`);
      const window = windows.get(`address ${clientUnit(address)}`);
      if (window !== undefined && window.count > 0) window.count--;
    },
  };
}
