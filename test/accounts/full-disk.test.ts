/** Counts and charges on a full disk: limits hold, nothing is lost, and nothing is counted twice afterwards. */
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openKeyStore } from '../../src/accounts/keys-lmdb.ts';
import type { Charge } from '../../src/accounts/ledger.ts';
import { type EmbeddedLedger, openLedger } from '../../src/accounts/ledger-lmdb.ts';
import { type EmbeddedQuotaMeter, openQuotaMeter } from '../../src/accounts/quota-lmdb.ts';
import { systemClock } from '../../src/base/clock.ts';
import { silentLogger } from '../../src/base/log.ts';
import { systemRandom } from '../../src/base/random.ts';
import { openEnvironment } from '../../src/state/lmdb.ts';
import { type SmallDisk, smallDisk, smallDiskRefusal } from '../setup/small-disk.ts';
import { sleep } from '../support/wait.ts';

const refusal = smallDiskRefusal('tmpfs');
const FREE = 10;

describe.skipIf(refusal !== null)(`accounts on a full disk${refusal === null ? '' : ` (${refusal})`}`, () => {
  let disk: SmallDisk;
  beforeEach(() => {
    disk = smallDisk('tmpfs', 8);
  });
  afterEach(() => disk.remove());

  const pathOf = (name: string): string => join(disk.path, name);

  /**
   * Fills the disk while a reader holds the pages of the store at `path`, so that no commit finds a free page in its file. (Otherwise a
   * small commit may succeed for a while without growing the file.) Returns a function that frees the space.
   */
  async function fillFor(path: string): Promise<() => Promise<void>> {
    const reader = openEnvironment(path, { readOnly: true });
    const reading = reader.useReadTransaction();
    disk.fill();
    return async () => {
      reading.done();
      await reader.close();
      disk.free();
    };
  }

  const world = { limit: null as number | null, now: Date.UTC(2026, 10, 22), monotonic: 0 };
  const meterAt = (path: string): EmbeddedQuotaMeter =>
    openQuotaMeter(
      { path },
      {
        clock: { now: () => world.now, monotonic: () => world.monotonic },
        log: silentLogger,
        limitOf: () => world.limit,
        generation: () => 0,
      },
    );

  /** Reads what is stored. (A second meter would also write: in the same thread, it would wait for the first one for ever.) */
  async function storedUnits(path: string): Promise<number> {
    const root = openEnvironment(path, { readOnly: true });
    const units = [...root.openDB<number, string>({ name: 'taken', encoding: 'json' }).getRange()];
    await root.close();
    return units.reduce((sum, { value }) => sum + value, 0);
  }

  it('counts a quota in memory within its limit, and stores each unit once when there is space', async () => {
    world.limit = 5_000;
    const path = pathOf('quotas.mdb');
    const meter = meterAt(path);
    expect(meter.take('a', 'intel', 30).ok).toBe(true);
    const release = await fillFor(path);
    for (let call = 0; call < 400; call++) {
      expect(meter.take('a', 'intel', 10)).toMatchObject({
        ok: true,
        remaining: 5_000 - 30 - (call + 1) * 10,
      });
      if (call % 50 === 0) {
        world.monotonic += 1_000;
        await new Promise((resolve) => setImmediate(resolve));
      }
    }
    meter.give('a', 'intel', 10);
    expect(meter.take('a', 'intel', 1_000)).toMatchObject({ ok: false, remaining: 980 });
    expect(meter.take('a', 'intel', 980).ok).toBe(true);
    expect(meter.take('a', 'intel', 1)).toMatchObject({ ok: false, remaining: 0 });
    await release();
    world.monotonic += 1_000;
    // Written in the background, without a request, before the meter is closed.
    await expect.poll(() => storedUnits(path)).toBe(5_000);
    await meter.close();
    const after = meterAt(path);
    expect(after.used('a', 'intel')).toBe(5_000);
    expect(after.take('a', 'intel', 1).ok).toBe(false);
    await after.close();
  });

  it('keeps units that a write in the background could not store', async () => {
    world.limit = null;
    const path = pathOf('quotas.mdb');
    const meter = meterAt(path);
    meter.take('a', 'intel', 30);
    const release = await fillFor(path);
    // More than is leased: they are owed, and a second later the write of them fails again.
    meter.take('a', 'intel', 300_000);
    await sleep(1_500);
    expect(meter.used('a', 'intel')).toBe(300_030);
    await release();
    await expect.poll(() => storedUnits(path)).toBeGreaterThanOrEqual(300_030);
    await meter.close();
    expect(await storedUnits(path)).toBe(300_030);
  });

  it('starts a new month on the full disk, and stores both months later', async () => {
    world.limit = 1_000;
    world.now = Date.UTC(2026, 10, 30, 23);
    const path = pathOf('quotas.mdb');
    const meter = meterAt(path);
    meter.take('a', 'oracle', 5);
    const release = await fillFor(path);
    expect(meter.take('a', 'oracle', 100).ok).toBe(true);
    world.now = Date.UTC(2026, 11, 1, 1);
    expect(meter.take('a', 'oracle', 7)).toMatchObject({ ok: true, remaining: 993 });
    await release();
    world.monotonic += 1_000;
    await meter.close();
    const after = meterAt(path);
    expect(after.used('a', 'oracle')).toBe(7);
    world.now = Date.UTC(2026, 10, 30, 23);
    const november = meterAt(path);
    expect(november.used('a', 'oracle')).toBe(105);
    await after.close();
    await november.close();
  });

  it('rejects the units of a job, and takes none', async () => {
    world.limit = 1_000;
    world.now = Date.UTC(2026, 10, 22);
    const path = pathOf('quotas.mdb');
    const meter = meterAt(path);
    meter.take('a', 'intel', 10);
    const release = await fillFor(path);
    await expect(meter.settle('a', 'intel', 'job:1', 100)).rejects.toMatchObject({ code: 'STORAGE_FULL' });
    expect(meter.used('a', 'intel')).toBe(10);
    await release();
    expect(await meter.settle('a', 'intel', 'job:1', 100)).toMatchObject({ ok: true, remaining: 890 });
    expect(await meter.settle('a', 'intel', 'job:1', 100)).toMatchObject({ ok: true, remaining: 890 });
    await meter.close();
    const after = meterAt(path);
    expect(after.used('a', 'intel')).toBe(110);
    await after.close();
  });

  it('rejects charges and serves free requests, and stores every charge once when there is space', async () => {
    const path = pathOf('ledger.mdb');
    const open = (): EmbeddedLedger =>
      openLedger({ path }, { clock: systemClock, log: silentLogger, freeCredits: () => FREE });
    const ledger = open();
    const charge = (amount: number, more: Pick<Charge, 'keep'> = {}): Promise<unknown> =>
      ledger.commit(ledger.reserve('a', amount), {
        type: 'SCREENING',
        amount,
        reference: 'x',
        answer: (remaining) => Buffer.from(String(remaining)),
        ...more,
      });
    await charge(1);
    const release = await fillFor(path);
    for (let call = 0; call < 5; call++)
      await expect(charge(1)).rejects.toMatchObject({
        code: 'STORAGE_FULL',
        retryAfterSeconds: expect.any(Number),
        message: expect.stringContaining(path),
      });
    expect(await charge(0)).toMatchObject({ entry: null, remaining: FREE - 1, answer: Buffer.from('9') });
    // A response that must be replayed is not sent before it is stored.
    const keep = { slot: new Uint8Array(32), bodyHash: new Uint8Array(32) };
    await expect(charge(0, { keep })).rejects.toMatchObject({ code: 'STORAGE_FULL' });
    expect(ledger.balance('a')).toMatchObject({ balance: FREE - 1, held: 0 });
    expect((await ledger.usage('a', { limit: 10 })).history.at(0)).toMatchObject({ balance: FREE - 1 });
    await release();
    await charge(2);
    await ledger.close();
    const after = open();
    expect(after.balance('a').balance).toBe(FREE - 3);
    expect((await after.verify()).faults).toEqual([]);
    await after.close();
  });

  it('verifies keys, and writes their last use when there is space', async () => {
    const path = pathOf('keys.mdb');
    const open = () =>
      openKeyStore(
        { path, lastUsedFlushMs: 20 },
        { clock: systemClock, random: systemRandom, log: silentLogger },
      );
    const keys = open();
    const { apiKey, record } = await keys.create({ name: 'k' });
    const release = await fillFor(path);
    expect(keys.verify(apiKey)?.id).toBe(record.id);
    await expect(keys.create({ name: 'another' })).rejects.toMatchObject({ code: 'STORAGE_FULL' });
    // Batches that are refused in the meantime.
    await sleep(200);
    expect(keys.get(record.id)?.lastUsedAt).not.toBeNull();
    await release();
    await keys.close();
    const after = open();
    expect(after.get(record.id)?.lastUsedAt).not.toBeNull();
    expect(after.list()).toHaveLength(1);
    await after.close();
  });
});
