import { describe, expect, it } from 'vitest';
import {
  type AttemptLimits,
  CODE_ATTEMPTS,
  createAttempts,
  EMAIL_REQUESTS,
  PASSWORD_ATTEMPTS,
  tooMany,
} from '../../src/accounts/attempts.ts';
import { ACCOUNT_LIMITS } from '../../src/accounts/limits.ts';

function world(limits?: AttemptLimits) {
  let now = 0;
  const attempts = createAttempts({ clock: { now: () => now, monotonic: () => now } }, limits);
  return {
    attempts,
    wait(ms: number) {
      now += ms;
    },
  };
}

describe('failed attempts in memory', () => {
  it('removes expired accounts and addresses long before the table is full', () => {
    const { attempts, wait } = world();
    for (let index = 0; index < 1_000; index++) void attempts.begin(`a${index}`, `192.0.2.${index % 250}`);
    expect(attempts.tracked).toBe(1_250);
    wait(ACCOUNT_LIMITS.attemptWindowMs);
    void attempts.begin('late', '198.51.100.1');
    expect(attempts.tracked).toBe(2);
  });

  it('keeps counts that have not expired', () => {
    const { attempts, wait } = world();
    for (let count = 0; count < ACCOUNT_LIMITS.attemptsPerAccountMax; count++)
      void attempts.begin('a', '192.0.2.1');
    wait(ACCOUNT_LIMITS.attemptWindowMs - 1);
    for (let index = 0; index < 100; index++) void attempts.begin(`b${index}`, `198.51.100.${index}`);
    expect(() => attempts.begin('a', '192.0.2.3')).toThrow(/Too many failed attempts/);
  });

  it('starts a new count after the old one expires, in any order', () => {
    const { attempts, wait } = world();
    void attempts.begin('a', '192.0.2.1');
    wait(1_000);
    void attempts.begin('b', '192.0.2.2');
    wait(ACCOUNT_LIMITS.attemptWindowMs - 500);
    // The window of `a` has ended; that of `b` has not.
    for (let count = 0; count < ACCOUNT_LIMITS.attemptsPerAccountMax; count++)
      void attempts.begin('a', '192.0.2.3');
    expect(() => attempts.begin('a', '192.0.2.4')).toThrow(/Too many failed attempts/);
    void attempts.begin('b', '192.0.2.2');
    expect(attempts.tracked).toBe(5);
  });
});

describe('attempts of each kind', () => {
  it('tell how many are left to the account, whatever others use', () => {
    const { attempts } = world(CODE_ATTEMPTS);
    for (let left = ACCOUNT_LIMITS.codesPerAccountMax - 1; left >= 0; left--)
      expect(attempts.begin('a', '192.0.2.1')).toBe(left);
    expect(() => attempts.begin('a', '192.0.2.1')).toThrow(/Too many wrong codes/);
    expect(attempts.begin('b', '192.0.2.1')).toBe(ACCOUNT_LIMITS.codesPerAccountMax - 1);
    // Of codes, no address is counted.
    expect(attempts.tracked).toBe(2);
  });

  it('of codes give a right one back, and forget no wrong one', () => {
    const { attempts } = world(CODE_ATTEMPTS);
    for (let count = 0; count < 3; count++) void attempts.begin('a', '192.0.2.1');
    void attempts.succeeded('a', '192.0.2.1');
    expect(attempts.begin('a', '192.0.2.1')).toBe(ACCOUNT_LIMITS.codesPerAccountMax - 3);
    // A success without an attempt gives nothing.
    void attempts.succeeded('b', '192.0.2.1');
    expect(attempts.begin('b', '192.0.2.1')).toBe(ACCOUNT_LIMITS.codesPerAccountMax - 1);
  });

  it('of passwords forget those of the account after a success, and give one back to the address', () => {
    const { attempts } = world(PASSWORD_ATTEMPTS);
    for (let count = 0; count < 3; count++) void attempts.begin('a', '192.0.2.1');
    void attempts.succeeded('a', '192.0.2.1');
    expect(attempts.begin('a', '192.0.2.2')).toBe(ACCOUNT_LIMITS.attemptsPerAccountMax - 1);
    // Two of the address are left from before.
    for (let count = 2; count < ACCOUNT_LIMITS.attemptsPerAddressMax; count++)
      void attempts.begin(`b${count}`, '192.0.2.1');
    expect(() => attempts.begin('c', '192.0.2.1')).toThrow(/Too many failed attempts/);
  });

  it('count the addresses of one IPv6 network as one', () => {
    const { attempts } = world(EMAIL_REQUESTS);
    for (let count = 0; count < ACCOUNT_LIMITS.emailsPerClientMax; count++)
      void attempts.begin(`a${count}`, `2001:db8:1:2:3:4:5:${count.toString(16)}`);
    expect(() => attempts.begin('b', '2001:db8:1:2::9')).toThrow(/Too many emails/);
    expect(() => attempts.begin('b', '2001:db8:1:3::9')).not.toThrow();
  });

  it('say in whole seconds when the next one is allowed, at least one', () => {
    for (const [leftMs, seconds] of [
      [0, 1],
      [1, 1],
      [1_000, 1],
      [1_001, 2],
      [60_000, 60],
    ] as const)
      expect(tooMany(leftMs, EMAIL_REQUESTS)).toMatchObject({
        code: 'RATE_LIMITED',
        retryAfterSeconds: seconds,
      });
    const { attempts, wait } = world(CODE_ATTEMPTS);
    for (let count = 0; count < ACCOUNT_LIMITS.codesPerAccountMax; count++) void attempts.begin('a', 'x');
    wait(ACCOUNT_LIMITS.codeWindowMs - 5_000);
    expect(() => attempts.begin('a', 'x')).toThrow(/allowed in 5 s/);
    wait(5_000);
    expect(() => attempts.begin('a', 'x')).not.toThrow();
  });
});
