/** Records whose retention has ended: which are deleted, in which steps, and what has ended when it is stopped. */
import { describe, expect, it } from 'vitest';
import { silentLogger } from '../../src/base/log.ts';
import { type RetentionDeps, startRetention } from '../../src/base/retention.ts';

const DAY_MS = 86_400_000;
const NOW = Date.UTC(2026, 10, 21);
const clock = { now: () => NOW, monotonic: () => 0 };
const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

function world(due: readonly number[], deps: Partial<RetentionDeps<number>> = {}) {
  const left = [...due];
  const asked: [number, number][] = [];
  const deleted: number[] = [];
  const retention = startRetention<number>(
    { days: 30, what: 'records', atOnce: 2 },
    {
      clock,
      log: silentLogger,
      deleteBefore: async (beforeMs, limit) => {
        asked.push([beforeMs, limit]);
        return left.splice(0, limit);
      },
      onDeleted: async (record) => void deleted.push(record),
      ...deps,
    },
  );
  return { retention, asked, deleted };
}

describe('retention', () => {
  it('deletes what is older than its days, in steps, and records each', async () => {
    for (const [count, steps] of [
      [0, 1],
      [1, 1],
      [2, 2],
      [5, 3],
    ] as const) {
      const due = Array.from({ length: count }, (_, at) => at);
      const { retention, asked, deleted } = world(due);
      for (let turns = 0; turns < 10; turns++) await turn();
      expect([deleted, asked], String(count)).toEqual([due, Array(steps).fill([NOW - 30 * DAY_MS, 2])]);
      await retention.stop();
    }
  });

  it('ends after the step that was begun when it is stopped', async () => {
    const { retention, deleted } = world([1, 2, 3, 4, 5]);
    await retention.stop();
    expect(deleted).toEqual([1, 2]);
  });

  it('returns how many it deleted', async () => {
    const rows = [1, 2, 3, 4, 5];
    const { retention, deleted } = world([], {
      deleteBefore: async (_, limit) => rows.splice(0, limit),
    });
    await turn();
    await turn();
    rows.push(6, 7);
    const count = await retention.look();
    await retention.stop();
    expect([count, deleted, rows]).toEqual([2, [1, 2, 3, 4, 5, 6, 7], []]);
  });

  it('records a deletion later if that failed', async () => {
    const recorded: number[] = [];
    let isFull = true;
    const { retention } = world([1, 2, 3], {
      onDeleted: async (record) => {
        if (isFull && record === 2) throw new Error('the disk is full');
        recorded.push(record);
      },
    });
    for (let turns = 0; turns < 10; turns++) await turn();
    expect(recorded).toEqual([1]);
    await expect(retention.look()).rejects.toThrow('the disk is full');
    isFull = false;
    expect(await retention.look()).toBe(1);
    expect(recorded).toEqual([1, 2, 3]);
    await retention.stop();
  });

  it('has stopped only when the deletion that was begun has ended, also if that fails', async () => {
    for (const fails of [false, true]) {
      let end = (): void => {};
      const { retention } = world([], {
        deleteBefore: () =>
          new Promise((resolve, reject) => {
            end = () => (fails ? reject(new Error('the disk is full')) : resolve([]));
          }),
      });
      let isStopped = false;
      const stopped = retention.stop().then(() => {
        isStopped = true;
      });
      await turn();
      expect(isStopped).toBe(false);
      end();
      await stopped;
      expect(isStopped).toBe(true);
    }
  });
});
