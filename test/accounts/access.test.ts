import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Access, createAccess } from '../../src/accounts/access.ts';
import { silentLogger } from '../../src/base/log.ts';
import { systemRandom } from '../../src/base/random.ts';
import { type TempFolder, tempFolder } from './temp-folder.ts';

describe('access', () => {
  let folder: TempFolder;
  let access: Access;
  const clock = { now: () => Date.UTC(2026, 10, 21), monotonic: () => 1000 };

  beforeEach(() => {
    folder = tempFolder();
    access = createAccess({ folder: folder.path }, { clock, random: systemRandom, log: silentLogger });
  });
  afterEach(async () => {
    await access.close();
    folder.remove();
  });

  it('applies the limits of the plan to a key, unless the key has its own', async () => {
    const plain = await access.keys.create({ name: 'plain' });
    const own = await access.keys.create({ name: 'own', rateLimits: { oracle: 1_000_000 } });
    expect((await access.limiter.check(plain.record.id, 'oracle')).limit).toBe(600);
    expect((await access.limiter.check(own.record.id, 'oracle')).limit).toBe(1_000_000);
    expect((await access.limiter.check(own.record.id, 'screening')).limit).toBe(20);
  });

  it('gives the local account of a fresh store the plan of the option, and leaves an existing one', async () => {
    const deps = { clock, random: systemRandom, log: silentLogger };
    const reopen = async (folderPath: string, localPlan: 'SELF_HOSTED' | 'FREE') => {
      await access.close();
      access = createAccess({ folder: folderPath, localPlan }, deps);
    };
    const own = await access.keys.create({ name: 'of an earlier release' });
    await reopen(folder.path, 'SELF_HOSTED');
    expect(access.keys.verify(own.apiKey)?.plan).toBe('FREE');
    expect((await access.keys.create({ name: 'another' })).record.plan).toBe('FREE');
    expect(await access.ledger().balance('local')).toMatchObject({ balance: 10 });

    const fresh = tempFolder();
    await reopen(fresh.path, 'SELF_HOSTED');
    expect((await access.keys.create({ name: 'first', isFirst: true })).record.plan).toBe('SELF_HOSTED');
    expect((await access.keys.create({ name: 'of a customer', accountId: 'acme' })).record.plan).toBe('FREE');
    expect(await access.quota.take('local', 'oracle', 10_000)).toMatchObject({ ok: true, limit: null });
    expect(await access.ledger().balance('local')).toMatchObject({ balance: 1_000_000_000, granted: 0 });
    expect(await access.ledger().balance('acme')).toMatchObject({ balance: 10 });
    await reopen(folder.path, 'FREE');
    fresh.remove();
  });

  it('applies a changed plan to the quota at once', async () => {
    await access.keys.create({ name: 'k', accountId: 'acme' });
    expect((await access.quota.take('acme', 'intel', 1001)).ok).toBe(false);
    await access.keys.setPlan('acme', 'STARTER');
    expect(await access.quota.take('acme', 'intel', 1001)).toMatchObject({ ok: true, remaining: 98_999 });
    await access.keys.setPlan('acme', 'ENTERPRISE');
    expect(await access.quota.take('acme', 'intel', 1)).toMatchObject({
      ok: true,
      limit: null,
      remaining: null,
    });
  });
});
