/** Groups of values that are ready at the same time. */
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { readyGroups } from '../../src/base/ready-groups.ts';

const all = async <T>(source: AsyncIterable<T>): Promise<T[]> => {
  const values: T[] = [];
  for await (const value of source) values.push(value);
  return values;
};

describe('groups of ready values', () => {
  it('hold what is ready, and do not wait for more', async () => {
    async function* source(): AsyncGenerator<number> {
      yield* [1, 2, 3, 4, 5];
      await sleep(20);
      yield 6;
      await sleep(20);
      yield* [7, 8];
    }
    expect(await all(readyGroups(source(), () => 3))).toEqual([[1, 2, 3], [4, 5], [6], [7, 8]]);
  });

  it('yield the values before an error, then throw it', async () => {
    async function* source(): AsyncGenerator<number> {
      yield* [1, 2];
      throw new Error('the source failed');
    }
    const groups = readyGroups(source(), () => 9);
    expect((await groups.next()).value).toEqual([1, 2]);
    await expect(groups.next()).rejects.toThrow('the source failed');
  });

  it('ask for nothing beyond a full group, and end the source', async () => {
    let asked = 0;
    let isEnded = false;
    async function* source(): AsyncGenerator<number> {
      try {
        for (;;) yield ++asked;
      } finally {
        isEnded = true;
      }
    }
    for await (const group of readyGroups(source(), () => 2)) {
      expect(group).toEqual([1, 2]);
      break;
    }
    expect([asked, isEnded]).toEqual([2, true]);
  });

  it('end without the value that the source waits for', async () => {
    async function* source(): AsyncGenerator<number> {
      yield 1;
      await new Promise(() => {});
    }
    for await (const group of readyGroups(source(), () => 2)) {
      expect(group).toEqual([1]);
      break;
    }
  });
});
