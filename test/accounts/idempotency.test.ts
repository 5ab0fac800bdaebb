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

it('removes all responses that have expired, without a further one', async () => {
  const folder = tempFolder();
  let now = Date.UTC(2026, 10, 21);
  const path = join(folder.path, 'ledger.mdb');
  const open = () =>
    openLedger(
      { path },
      { clock: { now: () => now, monotonic: () => 0 }, log: silentLogger, freeCredits: () => 0 },
    );
  const ledger = open();
  const keep = (name: number) =>
    ledger.commit(ledger.reserve('a', 0), {
      ...{ type: 'DEDUCTION', amount: 0, reference: null, answer: () => new Uint8Array(4) },
      keep: { slot: new Uint8Array(32).fill(name), bodyHash: new Uint8Array(32) },
    });
  for (let name = 0; name < ACCOUNT_LIMITS.endedSweptAtOnce + 5; name++) await keep(name);
  now += LIMITS.idempotencyMs - 1;
  await keep(250);
  await ledger.removeExpiredAnswers();
  expect(ledger.storedAnswer('a', new Uint8Array(32).fill(0))).not.toBeNull();
  now += 1;
  await ledger.removeExpiredAnswers();
  expect(ledger.storedAnswer('a', new Uint8Array(32).fill(250))).not.toBeNull();
  await ledger.close();
  const { root } = openLiveStore(path, 1);
  const rows = ['answers', 'endings'].map((name) => [
    ...root.openDB({ name, encoding: 'binary', keyEncoding: 'binary' }).getKeys(),
  ]);
  expect(rows.map(({ length }) => length)).toEqual([1, 1]);
  await root.close();
  folder.remove();
});
