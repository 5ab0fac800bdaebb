import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type ChangesState, openChanges } from '../../src/exposure/changes.ts';
import type { ExposureRecord } from '../../src/exposure/record.ts';

const STATE: ChangesState = {
  position: { store: 'one', ordinal: 3, transfers: 3 },
  processedAtMs: 1,
  allWaitSinceMs: null,
  computed: 1,
  added: 0,
  waiting: 1,
};
const RECORD: ExposureRecord = {
  factors: [],
  pointsWithoutDerived: null,
  factorsLeftOut: null,
  unfollowed: [{ code: 'HUB_NOT_FOLLOWED', direction: 'in', asset: null, share: 0.25 }],
  earlier: [],
  notes: [],
  flows: { in: true, out: false },
};

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'assay-changes-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

describe('changed nodes', () => {
  it('are those with an entry, computed or pending, also after a reopen', async () => {
    const first = openChanges(folder);
    first.write(() => {
      first.put(7, RECORD);
      first.wait(600_000, 5);
      first.setState(STATE);
    });
    await first.close();
    const second = openChanges(folder);
    second.write(() => {
      second.put(9, RECORD);
      second.setState(STATE);
    });
    const nodes = second.changedNodes();
    expect([7, 9, 600_000].filter((node) => nodes.mayHave(node))).toEqual([7, 9, 600_000]);
    expect([1, 8, 599_999].filter((node) => nodes.mayHave(node))).toEqual([]);
    await second.close();
  });

  it('are empty without a state, and any if the changes are of a version that did not record them', async () => {
    const changes = openChanges(folder);
    expect(changes.changedNodes().mayHave(1)).toBe(false);
    changes.write(() => changes.setState(STATE));
    expect(changes.changedNodes().mayHave(1)).toBe(true);
    await changes.close();
  });

  it('keep those of a failed write that was retried', async () => {
    const changes = openChanges(folder);
    const store = (): void => {
      changes.put(7, RECORD);
      changes.setState(STATE);
    };
    expect(() =>
      changes.write(() => {
        store();
        throw new Error('The disk is full.');
      }),
    ).toThrow('full');
    changes.write(store);
    expect(changes.entry(7)?.record).toEqual(RECORD);
    expect(changes.changedNodes().mayHave(7)).toBe(true);
    await changes.close();
  });
});

describe('a pending entry', () => {
  it('keeps its verdict and the start of its wait until it is recomputed', async () => {
    const changes = openChanges(folder);
    changes.write(() => {
      changes.put(7, RECORD);
      expect([changes.wait(7, 5), changes.wait(7, 6), changes.wait(3, 9), changes.wait(11, 8)]).toEqual([
        true,
        false,
        true,
        true,
      ]);
    });
    expect(changes.entry(7)).toEqual({ waitsSinceMs: 5, record: RECORD });
    expect(changes.entry(3)).toEqual({ waitsSinceMs: 9, record: null });
    expect(changes.entry(8)).toBeNull();
    expect(changes.waiting(0, 10)).toEqual([
      { node: 3, sinceMs: 9 },
      { node: 7, sinceMs: 5 },
      { node: 11, sinceMs: 8 },
    ]);
    expect(changes.waiting(7, 1)).toEqual([{ node: 7, sinceMs: 5 }]);
    changes.write(() => changes.put(7, RECORD));
    expect(changes.entry(7)).toEqual({ waitsSinceMs: 0, record: RECORD });
    expect(changes.waiting(0, 10).map(({ node }) => node)).toEqual([3, 11]);
    await changes.close();
  });

  it('is stored for an address that may be new, and for blocks until these are forgotten', async () => {
    const changes = openChanges(folder);
    const [known, unknown] = [Buffer.from([1, 2]), Buffer.from([1, 3])];
    const block = { hash: 'h', firstOrdinal: 1, count: 2, nodes: [4, 5] };
    changes.write(() => {
      changes.add(known, 300);
      changes.setBlock(9, block);
      changes.setBlock(10, block);
      changes.removeBlock(9);
    });
    expect([changes.nodeOf(known), changes.nodeOf(unknown)]).toEqual([300, 0]);
    expect([...changes.blocks()]).toEqual([[10, block]]);
    await changes.close();
  });
});
