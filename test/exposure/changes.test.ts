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
  hubShare: { in: 0.25, out: null },
  cutShare: { in: null, out: null },
  earlier: [],
  notes: [],
  flows: { in: true, out: false },
};

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'assay-changes-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

describe('the nodes that changed', () => {
  it('are those with an entry, computed or waiting, also after the changes are opened again', async () => {
    const first = openChanges(folder);
    first.write(() => {
      first.put(7, RECORD);
      first.wait(600_000, 5, false);
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

  it('are none without a state, and any if the changes are of a version that did not note them', async () => {
    const changes = openChanges(folder);
    expect(changes.changedNodes().mayHave(1)).toBe(false);
    changes.write(() => changes.setState(STATE));
    expect(changes.changedNodes().mayHave(1)).toBe(true);
    await changes.close();
  });

  it('keep those of a write that failed and came again', async () => {
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
