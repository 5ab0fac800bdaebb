import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { type EmbeddedQuotaMeter, openQuotaMeter } from '../../src/accounts/quota-lmdb.ts';
import { silentLogger } from '../../src/base/log.ts';
import { openLiveStore } from '../../src/state/live-store.ts';
import { quotaConformance } from '../conformance/quota.ts';
import { sleep } from '../support/wait.ts';
import { tempFolder } from './temp-folder.ts';

interface World {
  now: number;
  limit: number | null;
  generation: number;
}

const openAt = (path: string, world: World): EmbeddedQuotaMeter =>
  openQuotaMeter(
    { path },
    {
      clock: { now: () => world.now, monotonic: () => 0 },
      log: silentLogger,
      limitOf: () => world.limit,
      generation: () => world.generation,
    },
  );

quotaConformance('LMDB', async () => {
  const folder = tempFolder();
  const world = {
    now: 0,
    limit: null as number | null,
    generation: 0,
    open: () => openAt(join(folder.path, 'quotas.mdb'), world),
    dispose: async () => folder.remove(),
  };
  return world;
});

describe('the meter on LMDB', () => {
  it('counts a lease once, even while its commit is on the disk but has not resolved', async () => {
    const folder = tempFolder();
    const world = { now: Date.UTC(2026, 10, 21), limit: 1000, generation: 0 };
    const meter = openAt(join(folder.path, 'a.mdb'), world);
    for (let account = 0; account < 100; account++) {
      let used = 0;
      for (let step = 0; step < 60; step++) {
        const units = (account * 31 + step * 37) % 121;
        // One turn of the event loop, in which a started lease may reach the disk.
        if ((account + step) % 3 === 0) await new Promise((resolve) => setImmediate(resolve));
        else if ((account + step) % 7 === 0) {
          meter.give(`a${account}`, 'intel', units);
          used = Math.max(0, used - units);
        }
        const fits = used + units <= 1000;
        if (fits) used += units;
        expect(meter.take(`a${account}`, 'intel', units)).toMatchObject({ ok: fits, remaining: 1000 - used });
      }
    }
    await meter.close();
    folder.remove();
  });

  it('keeps the limit if another process has taken the rest of the quota meanwhile', async () => {
    const folder = tempFolder();
    const world = { now: Date.UTC(2026, 10, 21), limit: 1000, generation: 0 };
    const [meter, other] = [0, 1].map(() => openAt(join(folder.path, 'a.mdb'), world)) as [
      EmbeddedQuotaMeter,
      EmbeddedQuotaMeter,
    ];
    expect(meter.used('a', 'intel')).toBe(0);
    expect(other.take('a', 'intel', 1000).ok).toBe(true);
    expect(meter.take('a', 'intel', 1)).toMatchObject({ ok: false, remaining: 0 });
    await other.close();
    await meter.close();
    folder.remove();
  });

  it('over-counts by at most 1 % of the quota after a crash, and never under-counts', async () => {
    const folder = tempFolder();
    const world = { now: Date.UTC(2026, 10, 21), limit: 10_000, generation: 0 };
    const meter = openAt(join(folder.path, 'a.mdb'), world);
    for (let call = 0; call < 1234; call++) {
      meter.take('a', 'oracle', 1);
      if (call % 20 === 0) await new Promise((resolve) => setImmediate(resolve));
    }
    await sleep(50);
    // The file that a process which dies now would leave.
    copyFileSync(join(folder.path, 'a.mdb'), join(folder.path, 'crashed.mdb'));
    const after = openAt(join(folder.path, 'crashed.mdb'), world);
    expect(after.used('a', 'oracle')).toBeGreaterThanOrEqual(1234);
    expect(after.used('a', 'oracle')).toBeLessThanOrEqual(1234 + 200);
    await after.close();
    await meter.close();
    folder.remove();
  });

  it('applies a lowered plan at once, also to leased units', async () => {
    const folder = tempFolder();
    const world = { now: Date.UTC(2026, 10, 21), limit: 100_000, generation: 0 };
    const meter = openAt(join(folder.path, 'a.mdb'), world);
    expect(meter.take('a', 'intel', 500).ok).toBe(true);
    world.limit = 400;
    world.generation++;
    expect(meter.take('a', 'intel', 1)).toMatchObject({ ok: false, limit: 400, remaining: 0 });
    await meter.close();
    folder.remove();
  });
});

describe('the counters of earlier months', () => {
  const DAY = 86_400_000;
  const storedIn = async (path: string): Promise<readonly (readonly [string, number])[]> => {
    const { root } = openLiveStore(path, 1);
    const rows = [
      ...root.openDB<number, [string, string, string]>({ name: 'taken', encoding: 'json' }).getRange(),
    ];
    await root.close();
    return rows.map(({ key, value }) => [`${key[0]} ${key[1]}`, value] as const);
  };
  const store = async (path: string, months: readonly string[], count: number): Promise<void> => {
    const { root } = openLiveStore(path, 1);
    const taken = root.openDB<number, [string, string, string]>({ name: 'taken', encoding: 'json' });
    root.transactionSync(() => {
      for (const month of months)
        for (let at = 0; at < count; at++) taken.putSync([month, `a${at}`, 'oracle'], 1);
    });
    await root.close();
  };

  it('get their unspent leases back in the background, and at the latest at the end', async () => {
    for (const isWaiting of [true, false]) {
      const folder = tempFolder();
      const path = join(folder.path, 'quotas.mdb');
      const world = { now: Date.UTC(2026, 10, 30, 23), limit: 1000, generation: 0 };
      const meter = openAt(path, world);
      for (let at = 0; at < 300; at++) expect(meter.take(`a${at}`, 'oracle', 2).ok).toBe(true);
      await sleep(50);
      world.now += DAY;
      expect(meter.take('a1', 'oracle', 1)).toMatchObject({ ok: true, remaining: 999 });
      if (isWaiting) await sleep(200);
      await meter.close();
      const rows = await storedIn(path);
      expect(rows.filter(([name]) => name.startsWith('2026-11')).map(([, units]) => units)).toEqual(
        Array(300).fill(2),
      );
      expect(rows.filter(([name]) => name.startsWith('2026-12'))).toEqual([['2026-12 a1', 1]]);
      folder.remove();
    }
  });

  it('does not write them in the request that begins a month', async () => {
    const folder = tempFolder();
    const path = join(folder.path, 'quotas.mdb');
    const world = { now: Date.UTC(2026, 10, 30, 23), limit: 1000, generation: 0 };
    const meter = openAt(path, world);
    for (let at = 0; at < 300; at++) meter.take(`a${at}`, 'oracle', 2);
    await sleep(50);
    world.now += DAY;
    meter.used('a1', 'oracle');
    copyFileSync(path, `${path}-copy`);
    expect(new Set((await storedIn(`${path}-copy`)).map(([, units]) => units))).not.toContain(2);
    await meter.close();
    folder.remove();
  });

  it('are deleted after a year, and the others stay', async () => {
    const folder = tempFolder();
    const path = join(folder.path, 'quotas.mdb');
    await store(path, ['2024-12', '2025-09', '2025-10', '2026-11'], 300);
    const world = { now: Date.UTC(2026, 10, 30, 23), limit: 1000, generation: 0 };
    const meter = openAt(path, world);
    world.now += DAY;
    expect(meter.take('a1', 'oracle', 1)).toMatchObject({ ok: true });
    await expect
      .poll(async () => {
        copyFileSync(path, `${path}-copy`);
        return [...new Set((await storedIn(`${path}-copy`)).map(([name]) => name.slice(0, 7)))];
      })
      .toEqual(['2026-11', '2026-12']);
    await meter.close();
    expect((await storedIn(path)).filter(([name]) => name.startsWith('2026-11'))).toHaveLength(300);
    folder.remove();
  });
});

it('deletes all events that are months old, though their names are in no order of time', async () => {
  const folder = tempFolder();
  const path = join(folder.path, 'quotas.mdb');
  const world = { now: Date.UTC(2026, 4, 1), limit: 1_000_000, generation: 0 };
  const meter = openAt(path, world);
  const settle = async (count: number, of: string): Promise<void> => {
    for (let at = 0; at < count; at++) await meter.settle('a', 'intel', `${at % 9}-${of}${at}`, 1);
  };
  await settle(100, 'old');
  world.now = Date.UTC(2026, 10, 1);
  await settle(60, 'new');
  await meter.close();
  const { root } = openLiveStore(path, 1);
  const names = [...root.openDB<unknown, string>({ name: 'events', encoding: 'json' }).getKeys()];
  await root.close();
  expect(names).toHaveLength(60);
  expect(names.filter((name) => name.includes('old'))).toEqual([]);
  folder.remove();
});
