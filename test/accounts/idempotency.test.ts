import { join } from 'node:path';
import { expect, it } from 'vitest';
import { openLedger } from '../../src/accounts/ledger-lmdb.ts';
import { ACCOUNT_LIMITS } from '../../src/accounts/limits.ts';
import { LIMITS } from '../../src/base/limits.ts';
import { silentLogger } from '../../src/base/log.ts';
import { openLiveStore } from '../../src/state/live-store.ts';
import { idempotencyConformance } from '../conformance/idempotency.ts';
import { tempFolder } from './temp-folder.ts';

idempotencyConformance('LMDB', async () => {
  const folder = tempFolder();
  const world = {
    now: 0,
    freeCredits: 10,
    open: () =>
      openLedger(
        { path: join(folder.path, 'ledger.mdb') },
        {
          clock: { now: () => world.now, monotonic: () => 0 },
          log: silentLogger,
          freeCredits: () => world.freeCredits,
        },
      ),
    dispose: async () => folder.remove(),
  };
  return world;
});

function openWorld() {
  const folder = tempFolder();
  const path = join(folder.path, 'ledger.mdb');
  const time = { now: Date.UTC(2026, 10, 21) };
  const ledger = openLedger(
    { path },
    { clock: { now: () => time.now, monotonic: () => 0 }, log: silentLogger, freeCredits: () => 0 },
  );
  const slotOf = (name: number): Uint8Array => new Uint8Array(32).fill(name);
  const keep = (name: number) =>
    ledger.commit(ledger.reserve('a', 0), {
      ...{ type: 'DEDUCTION', amount: 0, reference: null, answer: () => new Uint8Array(4) },
      keep: { slot: slotOf(name), bodyHash: new Uint8Array(32) },
    });
  const isKept = (name: number): boolean => ledger.storedAnswer('a', slotOf(name)) !== null;
  return { folder, path, time, ledger, keep, isKept };
}

it('removes all responses that have expired, without a further one', async () => {
  const { folder, path, time, ledger, keep, isKept } = openWorld();
  for (let name = 0; name < ACCOUNT_LIMITS.endedSweptAtOnce + 5; name++) await keep(name);
  time.now += LIMITS.idempotencyMs - 1;
  await keep(250);
  await ledger.removeExpiredAnswers();
  expect(isKept(0)).toBe(true);
  time.now += 1;
  await ledger.removeExpiredAnswers();
  expect(isKept(250)).toBe(true);
  await ledger.close();
  const { root } = openLiveStore(path, 1);
  const rows = ['answers', 'endings'].map((name) => [
    ...root.openDB({ name, encoding: 'binary', keyEncoding: 'binary' }).getKeys(),
  ]);
  expect(rows.map(({ length }) => length)).toEqual([1, 1]);
  await root.close();
  folder.remove();
});

it('keeps the response to a request that was sent again after a day, until it expires', async () => {
  const { folder, time, ledger, keep, isKept } = openWorld();
  const last = ACCOUNT_LIMITS.idempotencyPurgeMax;
  for (let name = 0; name <= last; name++) await keep(name);
  time.now += LIMITS.idempotencyMs;
  await keep(last);
  await ledger.removeExpiredAnswers();
  expect([isKept(0), isKept(last)]).toEqual([false, true]);
  await ledger.close();
  folder.remove();
});
