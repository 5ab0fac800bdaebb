import { describe, expect, it } from 'vitest';
import { createAttempts } from '../../src/accounts/attempts.ts';
import { ACCOUNT_LIMITS } from '../../src/accounts/limits.ts';

function world() {
  let now = 0;
  const attempts = createAttempts({ clock: { now: () => now, monotonic: () => now } });
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
