/** The refresher of wallets: when it plans, which chains it screens, and what it logs. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { type Logger, silentLogger } from '../../src/base/log.ts';
import { MONITORING_LIMITS } from '../../src/monitoring/limits.ts';
import type { Duty } from '../../src/monitoring/listener.ts';
import type { MonitoringChain } from '../../src/monitoring/records.ts';
import { createRefresher, type RefresherDeps } from '../../src/monitoring/refresher.ts';
import type { HeldLease, Leases } from '../../src/state/leases.ts';

const LOOK_MS = MONITORING_LIMITS.walletRefreshLookMs;

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Wallets of the account `a`, named by their chain and number, that are due until they were screened or put off. */
function started(
  due: Readonly<Record<string, number>>,
  {
    duties,
    plan = async () => null,
  }: {
    readonly duties?: ReadonlyMap<MonitoringChain, Duty>;
    /** Plans a page after the given one; returns the next, or null after the last. */
    readonly plan?: (after: unknown) => Promise<unknown>;
  } = {},
) {
  const stop = new AbortController();
  const seen = {
    planned: [] as unknown[],
    screened: [] as string[],
    putOff: [] as string[],
    warned: [] as unknown[],
    taken: [] as string[],
    released: 0,
  };
  const world = {
    isHeld: true,
    isFree: true,
    screen: async (): Promise<Uint8Array> => Buffer.from('{}'),
    listings: {
      isDue: (_: MonitoringChain) => false,
      recheck: async () => ({ wallets: 0, alerts: 0 }),
      reassess: async () => {},
    },
  };
  const waiting = new Map(Object.entries(due).map(([chain, count]) => [chain, count]));
  const done = (walletId: string): void => {
    const chain = walletId.split('-')[0] ?? '';
    waiting.set(chain, (waiting.get(chain) ?? 0) - 1);
  };
  const lease = { fence: null, isHeld: () => world.isHeld, release: async () => void seen.released++ };
  const store = {
    planRefreshes: (after: unknown) => {
      seen.planned.push(after);
      return plan(after);
    },
    isWatched: (chain: MonitoringChain) => waiting.has(chain),
    refreshesDue: (chain: MonitoringChain) =>
      Array.from({ length: waiting.get(chain) ?? 0 }, (_, at) => ({
        accountId: 'a',
        walletId: `${chain}-${at}`,
        changes: 0,
      })),
    wallet: (_: string, id: string) => ({ id, walletAddress: id }) as never,
    refreshed: async ({ walletId }: { readonly walletId: string }) => {
      seen.screened.push(walletId);
      done(walletId);
    },
    putOffRefresh: async ({ walletId }: { readonly walletId: string }, untilMs: number) => {
      seen.putOff.push(`${walletId} ${untilMs}`);
      done(walletId);
    },
  } as unknown as RefresherDeps['store'];
  const leases = {
    take: async (_: string, name: string) => {
      seen.taken.push(name);
      return world.isFree ? (lease as unknown as HeldLease) : null;
    },
  } as unknown as Leases;
  const warn = (fields: { readonly error: string }): void => void seen.warned.push(fields.error);
  const running = createRefresher(
    { intervalMs: 1_000 },
    {
      store,
      leases,
      listings: world.listings,
      screen: () => world.screen(),
      clock: { now: () => 5, monotonic: () => 5 },
      jitter: () => 0.5,
      log: { ...silentLogger, warn } as unknown as Logger,
      ...(duties ? { dutyOf: () => duties } : {}),
    },
  ).run(stop.signal);
  const look = (): Promise<unknown> => vi.advanceTimersByTimeAsync(LOOK_MS);
  const end = async (): Promise<void> => {
    stop.abort();
    await vi.advanceTimersByTimeAsync(0);
    await running;
  };
  return { seen, world, stop, waiting, look, end };
}

it('plans all pages once, and screens the due wallets of each chain under its lease', async () => {
  const pages = ['second', 'third'];
  const plan = async () => pages.shift() ?? null;
  const { seen, look, end, waiting } = started({ ETH: 3, BSC: 1 }, { plan });
  await vi.advanceTimersByTimeAsync(0);
  expect(seen.planned).toEqual([null, 'second', 'third']);
  await look();
  expect([...seen.screened].sort()).toEqual(['BSC-0', 'ETH-0', 'ETH-1', 'ETH-2']);
  expect(seen.taken.sort()).toEqual(['refresh:BSC', 'refresh:ETH']);
  expect(seen.released).toBe(2);
  waiting.set('ETH', 1);
  await look();
  expect(seen.screened).toHaveLength(5);
  expect(seen.planned).toHaveLength(3);
  await end();
});

it('leaves alone the chains of other nodes, and those whose lease is held elsewhere', async () => {
  const duties = new Map<MonitoringChain, Duty>([
    ['ETH', 'OTHERS'],
    ['BSC', 'MINE'],
  ]);
  const { seen, world, look, end } = started({ ETH: 1, BSC: 1 }, { duties });
  world.isFree = false;
  await look();
  expect([seen.taken.includes('refresh:ETH'), seen.screened, seen.released]).toEqual([false, [], 0]);
  world.isFree = true;
  await look();
  expect([seen.screened, seen.released]).toEqual([['BSC-0'], 1]);
  await end();
});

it('screens nothing more once its lease is lost, and releases it', async () => {
  const { seen, world, look, end } = started({ ETH: 2 });
  world.isHeld = false;
  await look();
  expect(seen.screened).toEqual([]);
  expect(seen.released).toBeGreaterThan(0);
  await end();
});

it('puts off a wallet that cannot be screened, and screens the others', async () => {
  const { seen, world, look, end } = started({ ETH: 2 });
  let isFirst = true;
  world.screen = async () => {
    if (isFirst) {
      isFirst = false;
      throw new Error('the graph is away');
    }
    return Buffer.from('{}');
  };
  await look();
  expect(seen.putOff).toEqual([`ETH-0 ${5 + MONITORING_LIMITS.walletRefreshRetryMs}`]);
  expect([seen.screened, seen.warned]).toEqual([['ETH-1'], ['the graph is away']]);
  await end();
});

it('logs an interruption once until it works again, and plans anew', async () => {
  let problem: Error | null = new Error('Redis is away');
  const plan = async () => {
    if (problem !== null) throw problem;
    return null;
  };
  const { seen, look, end, world, waiting } = started({ ETH: 0 }, { plan });
  await look();
  await look();
  expect([seen.warned, seen.planned.length > 1]).toEqual([['Redis is away'], true]);
  problem = null;
  await look();
  const planned = seen.planned.length;
  world.isFree = true;
  waiting.set('ETH', 1);
  await look();
  expect([seen.planned.length, seen.screened]).toEqual([planned, ['ETH-0']]);
  expect(seen.warned).toHaveLength(1);
  await end();
});

it('does not log what its stop interrupts', async () => {
  let interrupt = (): void => {};
  const plan = () =>
    new Promise((_, reject) => {
      interrupt = () => reject(new Error('the store is closed'));
    });
  const { seen, stop, end } = started({}, { plan });
  stop.abort();
  interrupt();
  await end();
  expect(seen).toMatchObject({ planned: [null], warned: [] });
});
