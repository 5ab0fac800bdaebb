/** Failed attempts at a password, counted per account and per client address, here in memory; too many of them make everyone wait. */
import type { Awaitable } from '../base/awaitable.ts';
import type { Clock } from '../base/clock.ts';
import { AssayError } from '../base/errors.ts';
import { LIMITS } from '../base/limits.ts';

export interface Attempts {
  /** Counts an attempt at each subject before it is made. Fails with RATE_LIMITED where one had too many; then none is counted. */
  begin(account: string, address: string): Awaitable<void>;
  /** The attempt succeeded: the account's count is forgotten, and the address gets its attempt back. */
  succeeded(account: string, address: string): Awaitable<void>;
}

interface Window {
  count: number;
  /** By the monotonic clock. */
  readonly endsMs: number;
}

/**
 * An address as the unit that one client holds: all of an IPv6 /64 together. What an IPv6 address abbreviates with `::` stands in
 * its second half for every address that a network hands out.
 */
export function clientUnit(address: string): string {
  if (!address.includes(':')) return address;
  return address.split('::')[0]?.split(':').slice(0, 4).join(':') ?? address;
}

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

/** Attempts that are counted in the memory of one process. */
export interface EmbeddedAttempts extends Attempts {
  /** Accounts and addresses that are counted now. */
  readonly tracked: number;
}

export function createAttempts(deps: { readonly clock: Clock }): EmbeddedAttempts {
  /** All of one length, and in the order of their beginnings: those that ended come first. */
  const windows = new Map<string, Window>();

  /** Drops what has ended; if the table is full of others, the oldest. */
  function makeRoom(now: number): void {
    for (const [subject, window] of windows) {
      if (window.endsMs > now && windows.size < LIMITS.attemptWindowsMax) break;
      windows.delete(subject);
    }
  }

  function windowOf(subject: string, now: number): Window {
    const known = windows.get(subject);
    if (known !== undefined && known.endsMs > now) return known;
    windows.delete(subject);
    makeRoom(now);
    const window: Window = { count: 0, endsMs: now + LIMITS.attemptWindowMs };
    windows.set(subject, window);
    return window;
  }

  const subjects = (account: string, address: string): readonly (readonly [string, number])[] => [
    [`account ${account}`, LIMITS.attemptsPerAccountMax],
    [`address ${clientUnit(address)}`, LIMITS.attemptsPerAddressMax],
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
