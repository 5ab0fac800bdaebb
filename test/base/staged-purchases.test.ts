/** The order of the steps of a purchase that is undone, and what becomes of purchases that no request works on any more. */
import { describe, expect, it } from 'vitest';
import { AssayError } from '../../src/base/errors.ts';
import { silentLogger } from '../../src/base/log.ts';
import { StagedPurchases, type StagedRow } from '../../src/base/staged-purchases.ts';

it('refunds an abandoned purchase before its row is removed, and keeps the row if it could not', async () => {
  const steps: string[] = [];
  let isDown = false;
  const purchases = new StagedPurchases<string>(
    {
      ...{ what: 'record', graceMs: 0, lookRows: 1 },
      describe: (id) => ({ id, stagedAtMs: 0, isRepeatable: false, isAbandoned: true }),
    },
    {
      rows: {
        activate: async () => false,
        abandon: async () => true,
        remove: async (row) => void steps.push(`remove ${row}`),
        list: () => [],
      },
      billing: {
        charge: () => Promise.reject(new Error('unused')),
        async refund(row) {
          steps.push(`begin ${row}`);
          await new Promise((resolve) => setImmediate(resolve));
          if (isDown) throw new Error('the ledger is away');
          steps.push(`refund ${row}`);
        },
      },
      clock: { now: () => 0, monotonic: () => 0 },
      log: silentLogger,
      onActive: () => {},
    },
  );
  await purchases.discard('a');
  isDown = true;
  await expect(purchases.discard('b')).rejects.toThrow('the ledger is away');
  expect(steps).toEqual(['begin a', 'refund a', 'remove a', 'begin b']);
});

describe('staged purchases', () => {
  const NOW = 1_000_000;
  const GRACE_MS = 5_000;

  /** Purchases over rows in memory. The name of a row says what its charge does. */
  function world(names: readonly string[], { stagedAtMs = 0, isRepeatable = false, isDown = false } = {}) {
    const rows = new Map<string, StagedRow>(
      names.map((id) => [id, { id, stagedAtMs, isRepeatable, isAbandoned: id.startsWith('abandoned') }]),
    );
    const done: string[] = [];
    const purchases = new StagedPurchases<StagedRow>(
      { what: 'record', graceMs: GRACE_MS, lookRows: 10, describe: (row) => row },
      {
        rows: {
          async activate({ id }) {
            if (id.startsWith('late')) return false;
            if (id.startsWith('full')) throw new AssayError('STORAGE_FULL', 'No room.');
            done.push(`activate ${id}`);
            rows.delete(id);
            return true;
          },
          async abandon(row) {
            if (isDown) throw new AssayError('STORAGE_FULL', 'No room.');
            done.push(`abandon ${row.id}`);
            return rows.has(row.id);
          },
          async remove({ id }) {
            done.push(`remove ${id}`);
            rows.delete(id);
          },
          list: (limit) => [...rows.values()].slice(0, limit),
        },
        billing: {
          async charge({ id }) {
            if (id.startsWith('poor')) throw new AssayError('CREDITS_EXHAUSTED', 'No credits.');
            if (id.startsWith('wrong')) throw new AssayError('INVALID_REQUEST', 'Wrong.');
            if (id.startsWith('away')) throw new AssayError('NOT_READY', 'Away.');
            done.push(`charge ${id}`);
            return { body: Buffer.from(id), replayed: false };
          },
          refund: async ({ id }) => void done.push(`refund ${id}`),
        },
        clock: { now: () => NOW, monotonic: () => 0 },
        log: silentLogger,
        onActive: () => done.push('active'),
      },
    );
    /** Looks once at the rows. */
    const look = async (): Promise<void> => {
      const stop = new AbortController();
      const finished = purchases.finish(stop.signal);
      for (let turns = 0; turns < 50; turns++) await new Promise((resolve) => setImmediate(resolve));
      stop.abort();
      await finished;
    };
    const [row] = [...rows.values()] as [StagedRow];
    return {
      purchases,
      done,
      look,
      row,
      left: () => [...rows.keys()],
      setDown: (to: boolean) => (isDown = to),
    };
  }

  it('are completed, or undone if the credits are spent, and one that fails holds up no other', async () => {
    const { done, look, left } = world(['away', 'poor', 'abandoned', 'wrong', 'a']);
    await look();
    expect(done).toEqual([
      ...['abandon poor', 'refund poor', 'remove poor'],
      ...['refund abandoned', 'remove abandoned'],
      ...['abandon wrong', 'refund wrong', 'remove wrong'],
      ...['charge a', 'activate a', 'active'],
    ]);
    expect(left()).toEqual(['away']);
  });

  it.each([
    [NOW - GRACE_MS - 1, true],
    [NOW - GRACE_MS, true],
    [NOW - GRACE_MS + 1, false],
    [NOW + GRACE_MS, false],
    // Of a clock that was set back since.
    [NOW + GRACE_MS + 1, true],
  ])('staged at %i are completed: %s', async (stagedAtMs, isCompleted) => {
    const { look, left } = world(['a'], { stagedAtMs });
    await look();
    expect(left()).toEqual(isCompleted ? [] : ['a']);
  });

  it('are left to the request that works on them', async () => {
    const { purchases, done, look, row } = world(['a']);
    let store = (): void => {};
    const bought = purchases.buy(row, () => new Promise((resolve) => (store = () => resolve(row))));
    await look();
    expect(done).toEqual([]);
    store();
    expect(Buffer.from((await bought).body).toString()).toBe('a');
    expect(done).toEqual(['charge a', 'activate a', 'active']);
  });

  it('are kept for a repeated request only if the outcome is unknown and the request can be repeated', async () => {
    for (const [name, isRepeatable, isKept] of [
      ['away', true, true],
      ['away', false, false],
      ['poor', true, false],
      ['poor', false, false],
    ] as const) {
      const { purchases, row, left } = world([name], { isRepeatable });
      await expect(purchases.resume(row)).rejects.toThrow();
      expect(left(), `${name} ${isRepeatable}`).toEqual(isKept ? [name] : []);
    }
  });

  it('answer a paid request although the record is not active yet', async () => {
    const { purchases, done, row, left } = world(['full']);
    expect(await purchases.resume(row)).toMatchObject({ replayed: false });
    expect([done, left()]).toEqual([['charge full'], ['full']]);
  });

  it('are refunded if they were abandoned while they were charged', async () => {
    const { purchases, done, row } = world(['late'], { isRepeatable: true });
    await expect(purchases.resume(row)).rejects.toMatchObject({ code: 'NOT_READY' });
    expect(done).toEqual(['charge late', 'refund late']);
  });

  it('that could not be undone are undone later, and are not charged meanwhile', async () => {
    const { purchases, done, look, row, left, setDown } = world(['poor'], { isDown: true });
    await expect(purchases.resume(row)).rejects.toMatchObject({ code: 'CREDITS_EXHAUSTED' });
    await look();
    expect([done, left()]).toEqual([[], ['poor']]);
    setDown(false);
    await look();
    expect([done, left()]).toEqual([['abandon poor', 'refund poor', 'remove poor'], []]);
  });
});
