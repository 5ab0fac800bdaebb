/** The records that one step of a list of cases reads. */
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { systemClock } from '../../src/base/clock.ts';
import { CASE_LIMITS } from '../../src/cases/limits.ts';
import type { CaseRecord, CaseStatus } from '../../src/cases/records.ts';
import type { CaseStore } from '../../src/cases/store.ts';
import { openCaseStore } from '../../src/cases/store-lmdb.ts';
import { memoryFolder, type TempFolder } from '../accounts/temp-folder.ts';
import { countedStore } from '../support/counted-store.ts';

describe('a step of a list', () => {
  const counts = countedStore();
  let folder: TempFolder;
  let store: CaseStore;
  beforeEach(() => {
    folder = memoryFolder();
    store = openCaseStore({ path: join(folder.path, 'cases.mdb') }, { clock: systemClock, ...counts });
  });
  afterEach(async () => {
    await store.close();
    folder.remove();
  });

  const add = (count: number, status: CaseStatus, links = 0) =>
    Promise.all(
      Array.from({ length: count }, () =>
        store.add(
          'a',
          (number) => {
            const id = number.toString().padStart(28, '0');
            const link = { id: null, address: null, chain: null, name: 'x'.repeat(50), label: null };
            const record = {
              ...{
                id,
                accountId: 'a',
                number,
                status,
                title: `case ${number}`,
                priority: 'LOW',
                assignee: 'ann',
              },
              ...{ dueAtMs: null, links: Array(links).fill(link), files: [], events: 0, outcome: null },
            } as unknown as CaseRecord;
            return { record, events: [], answer: '{}', detail: null };
          },
          null,
        ),
      ),
    );
  const stepOf = (filter: Parameters<CaseStore['list']>[1]) => {
    counts.reads();
    const { cases, nextCursor } = store.list('a', filter, { limit: 10 });
    return { numbers: cases.map(({ number }) => number), nextCursor, reads: counts.reads() };
  };

  it('reads the cases of the open states, not the closed ones', async () => {
    const open = { status: ['OPEN', 'IN_REVIEW', 'ESCALATED'] } as const;
    await add(1, 'IN_REVIEW');
    await add(1, 'OPEN');
    const few = stepOf(open);
    await add(CASE_LIMITS.searchRecordsMax + 1, 'CLOSED');
    expect(stepOf(open)).toEqual(few);
    await add(1, 'ESCALATED');
    expect(stepOf(open)).toMatchObject({
      numbers: [CASE_LIMITS.searchRecordsMax + 4, 2, 1],
      nextCursor: null,
    });
    expect(stepOf({ status: ['OPEN'] }).numbers).toEqual([2]);
  });

  it('ends sooner if cases have many links', async () => {
    const filter = { dueBeforeMs: 1 };
    await add(CASE_LIMITS.searchRecordsMax + 1, 'OPEN');
    const plain = stepOf(filter);
    expect(plain.nextCursor).toBe('2');
    await add(CASE_LIMITS.searchRecordsMax, 'OPEN', 4 * CASE_LIMITS.searchLinksOfRecord);
    expect(stepOf(filter).reads).toBeLessThan(plain.reads / 4);
  });
});
