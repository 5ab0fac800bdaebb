import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { seededUint32 } from '../../../src/base/random.ts';
import { startBuildThread } from '../../../src/labels/index/build-thread.ts';
import {
  buildFilter,
  type Filter,
  type FilterUses,
  filterFrom,
  firstUses,
  slotPlace,
} from '../../../src/labels/index/filter.ts';
import { currentSnapshot } from '../../../src/labels/index/folder.ts';
import type { StoredMeta } from '../../../src/labels/index/format.ts';
import { NOT_LABELLED } from '../../../src/labels/index/reader.ts';
import { createSegmentWriter } from '../../../src/labels/index/segment.ts';
import { SLOT_WORDS, writeSlot } from '../../../src/labels/index/slot.ts';
import { openSnapshot } from '../../../src/labels/index/snapshot.ts';
import { LABEL_LIMITS } from '../../../src/labels/limits.ts';
import { build as buildIndex, key, template, writeSegment } from './world.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'assay-test-templates-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Two segments that share a template, and one template that has no labels. */
async function segments(): Promise<{ paths: string[]; used: Uint8Array<ArrayBuffer>[] }> {
  const paths = [join(folder, 'a'), join(folder, 'b')];
  const names = [
    ['Zeta', 'Alpha', 'Nobody'],
    ['Alpha', 'Müller & Söhne'],
  ];
  for (const [at, path] of paths.entries()) {
    const segment = createSegmentWriter(path);
    for (const name of names[at] ?? []) segment.template(template(name));
    await segment.close();
  }
  return { paths, used: [Uint8Array.of(1, 1, 0), Uint8Array.of(1, 1)] };
}

describe('the templates of a build', () => {
  it('are the same from a separate thread', async () => {
    const { paths, used } = await segments();
    const built = async (labels: number) => {
      const build = startBuildThread(
        { segments: paths.map((path) => ({ path, date: null })), designations: new Map() },
        labels,
      );
      try {
        return await build.templates(used);
      } finally {
        await build.close();
      }
    };
    const here = await built(5);
    const there = await built(LABEL_LIMITS.buildThreadFromLabels);
    expect([...here.numbers]).toEqual([2, 0, -1, 0, 1]);
    expect(here.count).toBe(3);
    expect([...there.numbers]).toEqual([...here.numbers]);
    expect(there.count).toBe(here.count);
    expect(Buffer.from(there.encoded.bytes).equals(here.encoded.bytes)).toBe(true);
    expect([...there.encoded.table]).toEqual([...here.encoded.table]);
    expect({ ...there.encoded, bytes: null, table: null }).toEqual({
      ...here.encoded,
      bytes: null,
      table: null,
    });
  });

  it('report the error of a segment also from a thread', async () => {
    const build = startBuildThread(
      { segments: [{ path: join(folder, 'missing'), date: null }], designations: new Map() },
      LABEL_LIMITS.buildThreadFromLabels,
    );
    await expect(build.templates([new Uint8Array(1)])).rejects.toMatchObject({ code: 'NOT_FOUND' });
    await build.close();
  });
});

/** Returns the slots of keys in the order of their places, as the build sorts them. */
function sortedSlots(keys: readonly Uint8Array[]): Int32Array {
  const slots = keys.map((each) => {
    const slot = new Int32Array(SLOT_WORDS);
    writeSlot(each, 0, each.length, slot, 0);
    return slot;
  });
  slots.sort((a, b) => (slotPlace(a, 0) >>> 0) - (slotPlace(b, 0) >>> 0));
  return Int32Array.from(slots.flatMap((slot) => [...slot]));
}

const usesOf = (slots: Int32Array): FilterUses => {
  const keys = slots.length / SLOT_WORDS;
  const uses = firstUses(slots, SLOT_WORDS, keys, keys);
  if (uses === null) throw new Error('Too many keys have one position.');
  return uses;
};

const keysFrom = (random: () => number, count: number): Uint8Array[] =>
  Array.from({ length: count }, () => key(random() >>> 0));

describe('the filter of a build', () => {
  it('is the same from a separate thread, and so are bytes with their checksum', async () => {
    const slots = sortedSlots(keysFrom(seededUint32(1), 20_000));
    const done = async (labels: number) => {
      const thread = startBuildThread({ segments: [], designations: new Map() }, labels);
      try {
        const [filter, hashed] = await Promise.all([
          thread.filter(usesOf(slots)),
          thread.hashed(Uint8Array.of(97, 98, 99)),
        ]);
        return { filter, hashed };
      } finally {
        await thread.close();
      }
    };
    const here = await done(5);
    const there = await done(LABEL_LIMITS.buildThreadFromLabels);
    expect(there).toEqual(here);
    expect(here.filter).toEqual(buildFilter(slots, SLOT_WORDS, 20_000) satisfies Filter);
    expect(here.hashed).toEqual({
      bytes: Uint8Array.of(97, 98, 99),
      sha256: 'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
    });
  });

  it('is built from the merged records if the first attempt fails', async () => {
    const random = seededUint32(2);
    const failing = (): Uint8Array[] => {
      // Of few keys, some per cent of all sets need a second attempt.
      for (let attempt = 0; attempt < 10_000; attempt++) {
        const keys = keysFrom(random, 40);
        const slots = sortedSlots(keys);
        const isBuilt = buildFilter(slots, SLOT_WORDS, keys.length).shape.bytes > 0;
        if (isBuilt && filterFrom(usesOf(slots)) === null) return keys;
      }
      throw new Error('Every first attempt succeeded.');
    };
    const keys = failing();
    const path = join(folder, 'segment');
    await writeSegment(
      path,
      // Two labels each, which are merged before the second attempt.
      keys.flatMap((each) => [
        { key: each, template: template('One') },
        { key: each, template: template('Two') },
      ]),
    );
    const meta = (await buildIndex(join(folder, 'snapshots'), [path])) as StoredMeta;
    expect(meta.layout.filter.bytes).toBeGreaterThan(0);
    const reader = openSnapshot(currentSnapshot(join(folder, 'snapshots')) as string);
    for (const each of keys) expect(reader.lookup(each, 'ETH')).toHaveLength(2);
    const others = keysFrom(random, 2_000);
    expect(others.filter((each) => reader.find(each, 0, each.length) !== NOT_LABELLED)).toEqual([]);
  });
});
