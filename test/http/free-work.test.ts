import { describe, expect, it } from 'vitest';
import { HTTP_LIMITS } from '../../src/http/limits.ts';
import { FreeWork } from '../../src/http/pipeline/free-work.ts';

const { freeWorkMsMax, freeWorkMsPerSecond, freeWorkStepMs } = HTTP_LIMITS;

describe('the free work of an account', () => {
  function world() {
    let now = 0;
    const work = new FreeWork({ monotonic: () => now });
    /** Runs a step of this duration; returns whether it was admitted. */
    const takes = (account: string | null, ms: number): boolean => {
      try {
        work.run(account, () => {
          now += ms;
        });
        return true;
      } catch {
        return false;
      }
    };
    const pass = (ms: number): void => {
      now += ms;
    };
    return { work, takes, pass };
  }

  it('is the sum of its steps, and not that of another account', () => {
    const { takes } = world();
    const step = freeWorkMsMax / 2;
    expect([takes('a', step), takes('a', step), takes('a', step), takes('a', 0)]).toEqual([
      true,
      true,
      true,
      false,
    ]);
    expect(takes('b', 0)).toBe(true);
  });

  it('is covered by its share of the time, however often the account asks', () => {
    const { takes, pass } = world();
    takes('a', freeWorkMsMax + 2 * freeWorkMsPerSecond);
    for (let quarter = 0; quarter < 8; quarter++) {
      expect(takes('a', 0)).toBe(false);
      pass(250);
    }
    pass(1);
    expect(takes('a', 0)).toBe(true);
  });

  it('includes steps that fail', () => {
    const { work, takes, pass } = world();
    const failing = (): void => {
      pass(freeWorkMsMax + freeWorkStepMs);
      throw new Error('failed');
    };
    expect(() => work.run('a', failing)).toThrow('failed');
    expect(takes('a', 0)).toBe(false);
  });

  it('is not counted of clients without an account', () => {
    const { takes } = world();
    expect([takes(null, 2 * freeWorkMsMax), takes(null, 0)]).toEqual([true, true]);
  });
});
