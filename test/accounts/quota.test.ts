import { copyFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';

import { type EmbeddedQuotaMeter, openQuotaMeter } from '../../src/accounts/quota-lmdb.ts';
import { silentLogger } from '../../src/base/log.ts';
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
