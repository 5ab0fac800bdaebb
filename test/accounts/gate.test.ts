/** The gate over accounts of this machine. */
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { createEmbeddedGate } from '../../src/accounts/gate-embedded.ts';
import { openLedger } from '../../src/accounts/ledger-lmdb.ts';
import { openQuotaMeter } from '../../src/accounts/quota-lmdb.ts';
import { createRateLimiter } from '../../src/accounts/rate-limit.ts';
import { AssayError } from '../../src/base/errors.ts';
import { silentLogger } from '../../src/base/log.ts';
import { gateConformance } from '../conformance/gate.ts';
import { tempFolder } from './temp-folder.ts';

gateConformance('LMDB', async () => {
  const folder = tempFolder();
  const world = { now: Date.UTC(2026, 10, 21) };
  const deps = {
    clock: { now: () => world.now, monotonic: () => world.now },
    log: silentLogger,
    generation: () => 0,
  };
  const limiter = createRateLimiter({}, { ...deps, limitOf: () => 3 });
  const quota = openQuotaMeter({ path: join(folder.path, 'quotas.mdb') }, { ...deps, limitOf: () => 5 });
  const ledger = openLedger({ path: join(folder.path, 'ledger.mdb') }, { ...deps, freeCredits: () => 10 });
  return Object.assign(world, {
    gate: createEmbeddedGate({ limiter, quota, ledger: () => ledger }),
    ledger,
    quota,
    async dispose() {
      await ledger.close();
      await quota.close();
      folder.remove();
    },
  });
});

describe('the gate over LMDB', () => {
  const asked = (account: number, units: number) => ({
    rate: null,
    accountId: `account-${account}`,
    slot: null,
    quota: { meter: 'oracle', units } as const,
    credits: null,
  });

  function gateOver(limit: number | null, path: string) {
    const quota = openQuotaMeter(
      { path },
      {
        clock: { now: () => Date.UTC(2026, 10, 22), monotonic: () => 0 },
        log: silentLogger,
        generation: () => 0,
        limitOf: () => limit,
      },
    );
    const limiter = createRateLimiter(
      {},
      {
        clock: { now: () => 0, monotonic: () => 0 },
        generation: () => 0,
        limitOf: () => 1,
      },
    );
    const ledger = () => {
      throw new Error('Nobody asked for credits.');
    };
    return { quota, gate: createEmbeddedGate({ limiter, quota, ledger }) };
  }

  it('makes the first request of an account wait for a lease, and admits later ones at once', async () => {
    const folder = tempFolder();
    const { gate, quota } = gateOver(10_000, join(folder.path, 'a.mdb'));
    const accounts = Array.from({ length: 100 }, (_, account) => account);
    const first = accounts.map((account) => gate.admit(asked(account, 1), 0));
    expect(first.every((admission) => admission instanceof Promise)).toBe(true);
    for (const admission of first)
      expect(await admission).toMatchObject({ refused: null, quota: { ok: true, remaining: 9_999 } });
    for (const account of accounts) {
      const second = gate.admit(asked(account, 1), 0);
      expect(second).toMatchObject({ refused: null, quota: { ok: true, remaining: 9_998 } });
      expect(quota.used(`account-${account}`, 'oracle')).toBe(2);
    }
    await quota.close();
    folder.remove();
  });

  it('admits as many as the quota has units, however many wait for one lease', async () => {
    const folder = tempFolder();
    const { gate, quota } = gateOver(50, join(folder.path, 'a.mdb'));
    const admissions = await Promise.all(Array.from({ length: 80 }, () => gate.admit(asked(1, 1), 0)));
    expect(admissions.filter(({ refused }) => refused === null)).toHaveLength(50);
    const refused = admissions.find((admission) => admission.refused !== null);
    expect(refused?.refused).toMatchObject({ code: 'QUOTA_EXHAUSTED' });
    expect(quota.used('account-1', 'oracle')).toBe(50);
    // No lease is left to wait for.
    expect(gate.admit(asked(1, 1), 0)).toMatchObject({ refused: { code: 'QUOTA_EXHAUSTED' } });
    expect(gate.admit(asked(2, 51), 0)).toMatchObject({ refused: { code: 'QUOTA_EXHAUSTED' } });
    await quota.close();
    folder.remove();
  });

  it('refuses for missing credits alone: another fault of the ledger is thrown', () => {
    const fault = new AssayError('STORAGE_FULL', 'The disk is full.');
    const asking = { ...asked(1, 1), quota: null, credits: { amount: 1, reference: 'a' } } as never;
    const gateWith = (error: Error) =>
      createEmbeddedGate({
        limiter: {} as never,
        quota: {} as never,
        ledger: () =>
          ({
            reserve() {
              throw error;
            },
          }) as never,
      });
    expect(() => gateWith(fault).admit(asking, 0)).toThrow(fault);
    expect(() => gateWith(new Error('broken')).admit(asking, 0)).toThrow('broken');
    const none = new AssayError('CREDITS_EXHAUSTED', 'No credits are left.');
    expect(gateWith(none).admit(asking, 0)).toMatchObject({ refused: none });
  });

  it('takes nothing for a request that needs no units', async () => {
    const folder = tempFolder();
    const { gate, quota } = gateOver(50, join(folder.path, 'a.mdb'));
    expect(gate.admit({ ...asked(1, 1), quota: null }, 0)).toMatchObject({ quota: null, refused: null });
    expect(quota.used('account-1', 'oracle')).toBe(0);
    await quota.close();
    folder.remove();
  });
});
