/** The gate of a thread beside the main thread: it decides as the main thread's gate, whichever of them counts. */
import fc from 'fast-check';
import { afterEach, describe, expect, it } from 'vitest';
import { type Accounting, openAccounting } from '../../src/accounts/accounting.ts';
import type { GateRequest } from '../../src/accounts/gate.ts';
import { ThreadGate } from '../../src/accounts/gate-thread.ts';
import type { QuotaMeterName, RateClass } from '../../src/accounts/plans.ts';
import type { QuotaDecision, QuotaMeter } from '../../src/accounts/quota.ts';
import { createRateLimiter, type RateDecision, type RateLimiter } from '../../src/accounts/rate-limit.ts';
import { allocateSharedCounters } from '../../src/accounts/shared-counters.ts';
import { silentLogger } from '../../src/base/log.ts';
import { gateConformance } from '../conformance/gate.ts';
import { quotaConformance } from '../conformance/quota.ts';
import { rateLimiterConformance } from '../conformance/rate-limit.ts';
import { type TempFolder, tempFolder } from './temp-folder.ts';

interface Limits {
  now: number;
  rate: number;
  quota: number | null;
  generation: number;
}

interface Threads {
  readonly accounting: Accounting;
  readonly gates: readonly ThreadGate[];
  /** Questions that the gates asked the main thread. */
  readonly asked: { count: number };
}

/** Opens accounts whose counters are shared with the gates of `count` threads. */
function threadsOver(folder: string, limits: Limits, count: number): Threads {
  const clock = { now: () => limits.now, monotonic: () => limits.now };
  const generation = (): number => limits.generation;
  const rateOf = (): number => limits.rate;
  const accounting = openAccounting(
    { folder, isShared: true },
    {
      ...{ clock, generation, rateOf, log: silentLogger },
      quotaOf: () => limits.quota,
      freeCredits: () => 10,
    },
  );
  const { sharing, gate, quota } = accounting;
  if (sharing === null) throw new Error('The counters are not shared.');
  const asked = { count: 0 };
  const main = {
    async admit(request: GateRequest, monotonicMs: number) {
      asked.count++;
      return { admission: await gate.admit(request, monotonicMs), counts: sharing.share(request) };
    },
    leaseMore: (accountId: string, meter: QuotaMeterName) => sharing.leaseMore(accountId, meter),
    give: (accountId: string, meter: QuotaMeterName, units: number) => quota.give(accountId, meter, units),
    uncount: (subject: string, rateClass: RateClass, second: number) =>
      void gate.uncount(subject, rateClass, second),
  };
  const gates = Array.from(
    { length: count },
    () => new ThreadGate({ ...{ clock, generation, rateOf, main }, memory: sharing.memory }),
  );
  return { accounting, gates, asked };
}

const NO_ADMISSION = { rate: null, storedAnswer: null, quota: null, reservation: null, refused: null };
const NOTHING: GateRequest = { rate: null, accountId: null, slot: null, quota: null, credits: null };

const take = async (
  gate: ThreadGate,
  accountId: string,
  meter: QuotaMeterName,
  units: number,
): Promise<QuotaDecision> => {
  const { quota } = await gate.admit({ ...NOTHING, accountId, quota: { meter, units } }, 0);
  return quota as QuotaDecision;
};

const check = async (
  gate: ThreadGate,
  subject: string,
  rateClass: RateClass,
  ms: number,
): Promise<RateDecision> => {
  const { rate } = await gate.admit({ ...NOTHING, rate: { subject, rateClass } }, ms);
  return rate as RateDecision;
};

gateConformance('shared', async () => {
  const folder = tempFolder();
  const limits = { now: Date.UTC(2026, 10, 21), rate: 3, quota: 5, generation: 0 };
  const { accounting, gates } = threadsOver(folder.path, limits, 1);
  return {
    get now() {
      return limits.now;
    },
    set now(now) {
      limits.now = now;
    },
    gate: gates[0] as ThreadGate,
    ledger: accounting.ledger(),
    quota: accounting.quota,
    async dispose() {
      await accounting.close();
      folder.remove();
    },
  };
});

quotaConformance(
  'shared',
  async () => {
    const folder = tempFolder();
    const limits = { now: 0, rate: 1, quota: null as number | null, generation: 0 };
    return {
      get now() {
        return limits.now;
      },
      set now(now) {
        limits.now = now;
      },
      get limit() {
        return limits.quota;
      },
      set limit(limit) {
        limits.quota = limit;
      },
      open(): QuotaMeter {
        const { accounting, gates } = threadsOver(folder.path, limits, 1);
        const [gate] = gates as [ThreadGate];
        const { quota } = accounting;
        return {
          take: (accountId, meter, units) => take(gate, accountId, meter, units),
          give: (accountId, meter, units) => gate.give(accountId, meter, units),
          settle: (...event) => quota.settle(...event),
          used: (...counter) => quota.used(...counter),
          monthUse: (...counter) => quota.monthUse(...counter),
          close: () => accounting.close(),
        };
      },
      dispose: async () => folder.remove(),
    };
  },
  2_000,
);

rateLimiterConformance('shared', (limit) => {
  const limits = { rate: limit, generation: 0 };
  const memory = allocateSharedCounters();
  const clock = { now: () => Date.UTC(2026, 10, 21), monotonic: () => 0 };
  const generation = (): number => limits.generation;
  const rateOf = (): number => limits.rate;
  const counter = createRateLimiter({ shared: memory }, { clock, generation, limitOf: rateOf });
  const elsewhere = (): never => {
    throw new Error('The main thread was asked.');
  };
  const main = {
    async admit({ rate }: GateRequest, ms: number) {
      const { subject, rateClass } = rate as NonNullable<GateRequest['rate']>;
      const counted = counter.check(subject, rateClass, ms);
      const window = counter.share(subject, rateClass);
      return { admission: { ...NO_ADMISSION, rate: counted }, counts: { window, units: null } };
    },
    uncount: (...counted: Parameters<RateLimiter['uncount']>) => void counter.uncount(...counted),
    leaseMore: elsewhere,
    give: elsewhere,
  };
  const gate = new ThreadGate({ clock, generation, rateOf, main, memory });
  const limiter: RateLimiter = {
    check: (subject, rateClass, ms = 0) => check(gate, subject, rateClass, ms),
    uncount: (...counted) => gate.uncount(...counted),
    // The first request of a key is left to the main thread.
    refuses: (subject, rateClass, ms = 0) => gate.refuses(subject, rateClass, ms),
  };
  return {
    limiter,
    setLimit(next: number) {
      limits.rate = next;
      limits.generation++;
    },
  };
});

describe('the gates of several threads', () => {
  let threads: Threads | null = null;
  let folder: TempFolder;
  const open = (limits: Limits, count = 3): Threads => {
    folder = tempFolder();
    threads = threadsOver(folder.path, limits, count);
    return threads;
  };
  afterEach(async () => {
    await threads?.accounting.close();
    threads = null;
    folder.remove();
  });

  it('take exactly the units of a quota, with the main thread, in any order', async () => {
    const limits = { now: Date.UTC(2026, 10, 21), rate: 1, quota: 500, generation: 0 };
    const { accounting, gates } = open(limits);
    let account = 0;
    const step = fc.record({
      thread: fc.integer({ min: 0, max: 3 }),
      units: fc.integer({ min: 1, max: 60 }),
      gives: fc.boolean(),
      waits: fc.boolean(),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), async (steps) => {
        const name = `account-${account++}`;
        let used = 0;
        for (const { thread, units, gives, waits } of steps) {
          if (waits) await new Promise((resolve) => setImmediate(resolve));
          const gate = gates[thread];
          if (gives) {
            (gate ?? accounting.quota).give(name, 'intel', units);
            used = Math.max(0, used - units);
            continue;
          }
          const fits = used + units <= 500;
          if (fits) used += units;
          const taken =
            gate === undefined
              ? await accounting.quota.take(name, 'intel', units)
              : await take(gate, name, 'intel', units);
          expect(taken).toMatchObject({ ok: fits, remaining: 500 - used });
        }
        expect(await accounting.quota.used(name, 'intel')).toBe(used);
      }),
      { numRuns: 60 },
    );
  });

  it('ask the main thread once for a key, and again only if they cannot decide', async () => {
    const limits = { now: Date.UTC(2026, 10, 21), rate: 1_000_000, quota: 1_000_000, generation: 0 };
    const { gates, asked } = open(limits, 2);
    const request: GateRequest = {
      ...NOTHING,
      rate: { subject: 'key', rateClass: 'oracle' },
      accountId: 'a',
      quota: { meter: 'oracle', units: 1 },
    };
    for (let sent = 0; sent < 1_000; sent++) await gates[sent % 2]?.admit(request, limits.now);
    expect(asked.count).toBe(2);
    limits.generation++;
    for (let sent = 0; sent < 100; sent++) await gates[sent % 2]?.admit(request, limits.now);
    expect(asked.count).toBe(4);
  });

  it('apply a lowered limit and quota at once', async () => {
    const limits = { now: Date.UTC(2026, 10, 21), rate: 100, quota: 10_000, generation: 0 };
    const { gates } = open(limits, 2);
    for (const gate of gates) for (let sent = 0; sent < 20; sent++) await take(gate, 'a', 'intel', 10);
    for (const gate of gates)
      for (let sent = 0; sent < 5; sent++) await check(gate, 'key', 'intel', limits.now);
    limits.quota = 405;
    limits.rate = 11;
    limits.generation++;
    const [one, two] = gates as [ThreadGate, ThreadGate];
    expect(await take(one, 'a', 'intel', 5)).toMatchObject({ ok: true, limit: 405, remaining: 0 });
    expect(await take(two, 'a', 'intel', 1)).toMatchObject({ ok: false, remaining: 0 });
    expect(await check(two, 'key', 'intel', limits.now)).toMatchObject({ allowed: true, remaining: 0 });
    expect(await check(one, 'key', 'intel', limits.now)).toMatchObject({ allowed: false });
  });

  it('count in the new month, and return the unused units of the old one', async () => {
    const limits = { now: Date.UTC(2026, 10, 30, 23, 59), rate: 1, quota: 1_000, generation: 0 };
    const { accounting, gates } = open(limits, 2);
    const [one, two] = gates as [ThreadGate, ThreadGate];
    for (let sent = 0; sent < 30; sent++) await take(one, 'a', 'intel', 1);
    limits.now = Date.UTC(2026, 11, 1);
    const renewed = { remaining: 999, resetAt: '2027-01-01T00:00:00.000Z' };
    expect(await take(two, 'a', 'intel', 1)).toMatchObject(renewed);
    expect(await take(one, 'a', 'intel', 1)).toMatchObject({ remaining: 998 });
    await accounting.close();
    // A later start reads the months as they were written.
    limits.now = Date.UTC(2026, 10, 30, 23, 59);
    threads = threadsOver(folder.path, limits, 1);
    expect(await threads.accounting.quota.used('a', 'intel')).toBe(30);
    limits.now = Date.UTC(2026, 11, 1);
    expect(await threads.accounting.quota.used('a', 'intel')).toBe(2);
  });

  it('notice that a window was freed and given to another key', async () => {
    const limits = { now: 0, rate: 5, quota: null, generation: 0 };
    const { accounting, gates } = open(limits, 1);
    const [gate] = gates as [ThreadGate];
    for (let sent = 0; sent < 5; sent++) await check(gate, 'first', 'oracle', 1_000);
    // A minute later, enough other keys start a sweep, and the freed place goes to one of them.
    for (let key = 0; key < 1_100; key++) await accounting.limiter.check(`key-${key}`, 'oracle', 100_000);
    for (let sent = 0; sent < 5; sent++) await check(gate, 'second', 'oracle', 100_000);
    expect(await check(gate, 'first', 'oracle', 100_000)).toMatchObject({ allowed: true, remaining: 4 });
    expect(await check(gate, 'second', 'oracle', 100_000)).toMatchObject({ allowed: false });
  });
});
