/** Snapshots and datasets of releases in which labels had no class and sanctions entries no `listedAtBasis`. */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { currentSnapshot } from '../../../src/labels/index/folder.ts';
import { TEMPLATE_WORDS } from '../../../src/labels/index/format.ts';
import type { LabelReader } from '../../../src/labels/index/reader.ts';
import { openSnapshotClosable } from '../../../src/labels/index/snapshot.ts';
import { openViews } from '../../../src/labels/index/snapshot-views.ts';
import { templateFromText, templateToText } from '../../../src/labels/index/template-text.ts';
import { verifySnapshot } from '../../../src/labels/index/verify.ts';
import { writeEnvironment } from '../../../src/labels/index/write-environment.ts';
import { labelToJson } from '../../../src/labels/label-json.ts';
import { build, key, sanction, template, temporaryFolder, writeSegment } from './world.ts';

const ROWS = [
  { key: key(1), template: template('Binance', { source: 'graphsense' }), firstSeen: '2021-05-01' },
  { key: key(2), template: template('Spread', { source: 'cluster' }) },
  { key: key(3), template: template('Listed', { source: 'ofac', sanctions: [sanction] }) },
  { key: key(3), template: template('Twice', { source: 'seed', confidence: 0.5 }) },
];

/** The words of a template's body: [4] holds the bits, of which the third to fifth are the class. */
const BITS_WORD = 4;

let folder: ReturnType<typeof temporaryFolder>;
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(() => folder.remove());

/** Writes the snapshot at `path` as the earlier release would have: without class, basis and the number of the fields. */
async function asEarlier(path: string): Promise<string> {
  const { environment, views } = openViews(path);
  const texts = Buffer.from(views.texts);
  const records = Buffer.from(views.records);
  const lookup = Buffer.from(views.lookup);
  const { labelFields: _, ...layout } = views.meta.layout;
  const meta = { ...views.meta, layout };
  await environment.close();
  for (let id = 0; id < layout.templates; id++) {
    const body = texts.readInt32LE((id * TEMPLATE_WORDS + 1) * 4) * 8;
    const at = body + BITS_WORD * 4;
    texts.writeInt32LE(texts.readInt32LE(at) & 3, at);
  }
  for (const field of [/"class":"[a-z]+",/g, /"listedAtBasis":"[A-Z]+",/g]) {
    const text = texts.toString('latin1');
    for (const { 0: found, index } of text.matchAll(field)) texts.fill(' ', index, index + found.length);
  }
  const earlier = join(folder.path, 'earlier');
  mkdirSync(earlier);
  await writeEnvironment(earlier, {
    texts,
    lookup,
    records: Promise.resolve({ bytes: records }),
    meta: Promise.resolve(meta),
  });
  return earlier;
}

const bytesOf = (reader: LabelReader, of: Uint8Array): string => {
  const out = Buffer.alloc(4096);
  return out.toString('utf8', 7, reader.writeLabelsJson(reader.find(of, 0, of.length), 'ETH', out, 7));
};

describe('a snapshot of an earlier release', () => {
  it('opens, and its labels have the class of their source and the basis of their date', async () => {
    await writeSegment(join(folder.path, 'segment'), ROWS);
    await build(join(folder.path, 'index'), [join(folder.path, 'segment')]);
    const path = currentSnapshot(join(folder.path, 'index')) ?? '';
    const now = openSnapshotClosable(path);
    const earlier = openSnapshotClosable(await asEarlier(path));
    try {
      for (const { key: of } of ROWS) {
        const labels = earlier.reader.lookup(of, 'ETH');
        expect(labels).toEqual(now.reader.lookup(of, 'ETH'));
        expect(bytesOf(earlier.reader, of)).toBe(JSON.stringify(labels.map(labelToJson)));
        expect(bytesOf(earlier.reader, of)).toBe(bytesOf(now.reader, of));
        const small = Buffer.alloc(40);
        expect(earlier.reader.writeLabelsJson(earlier.reader.find(of, 0, of.length), 'ETH', small, 0)).toBe(
          -1,
        );
      }
      expect(earlier.reader.lookup(key(2), 'ETH')[0]?.class).toBe('structural');
      expect(earlier.reader.lookup(key(3), 'ETH')).toMatchObject([
        { class: 'list', sanctions: [{ listedAtBasis: 'PARTY' }] },
        { class: 'published' },
      ]);
    } finally {
      await now.close();
      await earlier.close();
    }
    expect((await verifySnapshot(path)).faults).toEqual([]);
  });
});

describe('a dataset of an earlier release', () => {
  it('opens: its entries have the date of the party', () => {
    const text = templateToText(template('Listed', { sanctions: [sanction] }));
    expect(JSON.parse(text)[12][0]).toHaveLength(9);
    expect(templateFromText(text).sanctions).toEqual([sanction]);
  });

  it('is refused if a template does not have 15 fields, or a value that this version does not know', () => {
    const row = JSON.parse(templateToText(template('Listed'))) as unknown[];
    expect(row).toHaveLength(15);
    const changed = [row.slice(0, 14), [...row, 0], [], {}, null, 5, row.join()];
    for (const wrong of changed)
      expect(() => templateFromText(JSON.stringify(wrong)), JSON.stringify(wrong)).toThrow(
        expect.objectContaining({ code: 'STORE_CORRUPT', message: expect.stringContaining('15 fields') }),
      );
    for (const at of [2, 5, 6, 7])
      expect(() => templateFromText(JSON.stringify(row.with(at, 'NEW'))), `field ${at}`).toThrow(
        expect.objectContaining({ code: 'STORE_CORRUPT', message: expect.stringContaining('NEW') }),
      );
    expect(() => templateFromText('[')).toThrow('is not JSON');
  });

  it('keeps the date of a wallet separate', () => {
    const listed = template('Listed', { sanctions: [{ ...sanction, listedAtBasis: 'WALLET' }] });
    expect(templateFromText(templateToText(listed))).toEqual(listed);
  });
});
