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
