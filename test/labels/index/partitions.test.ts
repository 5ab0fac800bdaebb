/** An index of several partitions gives the same answers as one of a single partition. */
import { mkdtempSync, readdirSync, rmSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { silentLogger } from '../../../src/base/log.ts';
import { seededUint32 } from '../../../src/base/random.ts';
import { chainOf } from '../../../src/chains/registry.ts';
import { buildSnapshot } from '../../../src/labels/index/build.ts';
import type { BuildOptions } from '../../../src/labels/index/build-types.ts';
import { currentSnapshot } from '../../../src/labels/index/folder.ts';
import { type LabelReader, NOT_LABELLED } from '../../../src/labels/index/reader.ts';
import { createSegmentWriter } from '../../../src/labels/index/segment.ts';
import { openSnapshotClosable } from '../../../src/labels/index/snapshot.ts';
import { readIndexStats } from '../../../src/labels/index/stats.ts';
import { assertSound } from '../../../src/labels/index/verify.ts';
import type { LabelTemplate } from '../../../src/labels/label.ts';

const folder = mkdtempSync(join(tmpdir(), 'assay-partitions-'));
const clock = { now: () => Date.UTC(2026, 10, 26), monotonic: () => 0 };
const deps = { clock, log: silentLogger };
const LABELS = 4_000;

const template = (name: string, sanctioned: boolean): LabelTemplate => ({
  entity: { id: name, name, category: 'EXCHANGE', jurisdiction: null, url: null },
  scope: 'EVM',
  category: 'EXCHANGE',
  threatLevel: 'SAFE',
  source: 'own',
  sourceUrl: null,
  tags: [],
  confidence: 0.5,
  sanctions: sanctioned
    ? [
        {
          list: 'OFAC_SDN',
          authority: 'OFAC',
          program: 'TEST',
          entityName: name,
          entityId: '1',
          listedAt: '2020-01-01',
          listedAtBasis: 'PARTY',
          delistedAt: null,
          sourceUrl: 'https://example.org/',
          matchType: 'DIRECT',
        },
      ]
    : [],
  verified: true,
  synthetic: false,
});

/** Keys of the labels; every third key is in both segments, and keys of Solana have another length. */
const keys: Uint8Array[] = [];

beforeAll(async () => {
  const next = seededUint32(5);
  for (let at = 0; at < LABELS; at++) {
    const isSolana = at % 10 === 9;
    const key = Buffer.alloc(isSolana ? 34 : 22);
    for (let byte = 2; byte < key.length; byte++) key[byte] = next() >>> 24;
    key[0] = chainOf(isSolana ? 'SOL' : 'ETH').keyByte;
    key[1] = 0;
    keys.push(key);
  }
  for (const number of [0, 1]) {
    const writer = createSegmentWriter(join(folder, `segment-${number}`));
    for (const [at, key] of keys.entries()) {
      if (number === 1 && at % 3 !== 0) continue;
      const id = writer.template(
        template(`entity ${(at % 50) + number * 100}`, at % 40 === 0 && number === 1),
      );
      writer.add(key, 0, key.length, id, 100 + number, 200);
    }
    await writer.close();
  }
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const source = (dataset: string) => ({
  id: 'own',
  dataset,
  publishedAt: null,
  importedAt: '',
  url: null,
  lists: [],
});

const build = (
  name: string,
  partitionLabels: number,
  options: Pick<BuildOptions, 'signal' | 'onProgress'> = {},
) =>
  buildSnapshot(
    {
      ...options,
      segments: [0, 1].map((number) => ({
        path: join(folder, `segment-${number}`),
        source: source(String(number)),
      })),
      folder: join(folder, name),
      compareLabels: (a, b) => (a.entity.id < b.entity.id ? -1 : 1),
      partitionLabels,
    },
    deps,
  );

const pathOf = (name: string): string => currentSnapshot(join(folder, name)) ?? '';

function jsonOf(reader: LabelReader, key: Uint8Array): string {
  const out = Buffer.alloc(8_192);
  const end = reader.writeLabelsJson(reader.find(key, 0, key.length), 'ETH', out, 0);
  return out.toString('utf8', 0, end);
}

it.each([LABELS * 2, 700])('ends wherever it is aborted, and publishes nothing (%s labels)', async (most) => {
  const seen: string[] = [];
  await build(`whole-${most}`, most, { onProgress: ({ phase, done }) => void seen.push(`${phase} ${done}`) });
  expect(seen.pop()).toBe('publish 1');
  const phaseAt = (at: number): string | undefined => seen[at]?.split(' ')[0];
  // The first and the last look of each phase in turn.
  const looksAt = [...seen.keys()].filter(
    (at) => phaseAt(at - 1) !== phaseAt(at) || phaseAt(at + 1) !== phaseAt(at),
  );
  expect(looksAt.map(phaseAt)).toContain('merge');
  for (const at of looksAt.slice(0, 12)) {
    const name = `stopped-${most}-${at}`;
    const stop = new AbortController();
    let [looks, later] = [0, 0];
    const onProgress = (): void => {
      if (stop.signal.aborted) later++;
      if (looks++ === at) stop.abort(new Error('stopped by the test'));
    };
    await expect(build(name, most, { signal: stop.signal, onProgress }), seen[at]).rejects.toThrow(
      'stopped by the test',
    );
    expect(later, seen[at]).toBe(0);
    expect(currentSnapshot(join(folder, name))).toBeNull();
  }
});

describe('several partitions', () => {
  it('answer every look-up as one does, with the same counts', async () => {
    const one = await build('one', LABELS * 2);
    const many = await build('many', 700);
    expect(readdirSync(pathOf('one')).filter((name) => name.endsWith('.mdb'))).toEqual(['labels.mdb']);
    expect(readdirSync(pathOf('many')).filter((name) => name.endsWith('.mdb'))).toHaveLength(9);
    expect(readdirSync(pathOf('many'))).not.toContain('parts');
    for (const field of ['real', 'synthetic', 'byChain', 'byCategory', 'sources'] as const)
      expect(many[field]).toEqual(one[field]);
    expect(many.real.addresses).toBe(LABELS);

    const whole = openSnapshotClosable(pathOf('one'));
    const parts = openSnapshotClosable(pathOf('many'));
    const handles = new Set<number>();
    for (const key of keys) {
      const handle = parts.reader.find(key, 0, key.length);
      handles.add(handle);
      const chain = key.length === 22 ? 'ETH' : 'SOL';
      const expected = whole.reader.labels(whole.reader.find(key, 0, key.length), chain);
      expect(parts.reader.labels(handle, chain)).toEqual(expected);
      expect(jsonOf(parts.reader, key)).toBe(jsonOf(whole.reader, key));
      expect(parts.reader.isSanctioned(handle, 'ETH')).toBe(
        whole.reader.isSanctioned(whole.reader.find(key, 0, key.length), 'ETH'),
      );
    }
    expect(handles.size).toBe(LABELS);
    expect(handles.has(NOT_LABELLED)).toBe(false);
    const other = Buffer.from(keys[0] as Uint8Array);
    other[10] = (other[10] as number) ^ 0xff;
    expect(parts.reader.find(other, 0, other.length)).toBe(NOT_LABELLED);
    expect(jsonOf(parts.reader, other)).toBe('[]');

    const sanctioned = (reader: LabelReader): string[] => {
      const found: string[] = [];
      reader.eachSanctioned('ETH', (address) => found.push(Buffer.from(address).toString('hex')));
      return found.sort();
    };
    expect(sanctioned(parts.reader)).toEqual(sanctioned(whole.reader));
    expect(sanctioned(parts.reader).length).toBeGreaterThan(10);
    await whole.close();
    await parts.close();
  });

  it('find many keys at once as they find each alone', async () => {
    const next = seededUint32(6);
    const others = Array.from({ length: 9_000 }, () => Buffer.alloc(22).map(() => next() >>> 24));
    const looked = [...keys, ...others, Buffer.alloc(1)].sort((a, b) => (a[9] ?? 0) - (b[9] ?? 0));
    const lengths = Int32Array.from(looked, (key) => key.length);
    let end = 0;
    const offsets = lengths.map((length) => {
      end += length;
      return end - length;
    });
    const bytes = Buffer.concat(looked);
    for (const name of ['one', 'many']) {
      const { reader, close } = openSnapshotClosable(pathOf(name));
      const handles = new Float64Array(looked.length);
      reader.findMany(bytes, offsets, lengths, looked.length, handles);
      expect([...handles]).toEqual(looked.map((key) => reader.find(key, 0, key.length)));
      expect(handles.filter((handle) => handle !== NOT_LABELLED)).toHaveLength(LABELS);
      await close();
    }
  });

  it('have the same labels and texts after their memory was read ahead', async () => {
    for (const name of ['one', 'many']) {
      const ahead = openSnapshotClosable(pathOf(name));
      const alone = openSnapshotClosable(pathOf(name));
      const handles = Float64Array.from(keys, (key, index) =>
        index % 7 === 0 ? NOT_LABELLED : ahead.reader.find(key, 0, key.length),
      );
      // Blocks of one item and of more labels than one call reads ahead; twice, so that templates are cached.
      for (const size of [1, 128, 1_000, 128])
        for (let from = 0; from < handles.length; from += size === 1 ? 97 : size) {
          const block = handles.subarray(from, from + size);
          ahead.reader.readLabelsAhead(block, block.length);
          ahead.reader.readJsonAhead(block, block.length);
          for (const [index, handle] of block.entries()) {
            const chain = keys[from + index]?.length === 22 ? 'ETH' : 'SOL';
            expect(ahead.reader.labels(handle, chain)).toEqual(alone.reader.labels(handle, chain));
          }
        }
      await ahead.close();
      await alone.close();
    }
  });

  it('name the template of an address with one label, which all its addresses share', async () => {
    for (const name of ['one', 'many']) {
      const { reader, close } = openSnapshotClosable(pathOf(name));
      const byTemplate = new Map<number, object>();
      for (const key of keys) {
        const handle = reader.find(key, 0, key.length);
        const chain = key.length === 22 ? 'ETH' : 'SOL';
        const labels = reader.labels(handle, chain);
        const template = reader.loneTemplate(handle, chain);
        expect(template >= 0).toBe(labels.length === 1);
        expect(reader.loneTemplate(handle, 'BTC')).toBe(-1);
        if (template < 0) continue;
        const { firstSeen: _, lastSeen: __, ...judged } = labels[0] as (typeof labels)[number];
        expect(byTemplate.get(template) ?? judged).toEqual(judged);
        byTemplate.set(template, judged);
      }
      expect(byTemplate.size).toBeGreaterThan(40);
      expect(reader.loneTemplate(NOT_LABELLED, 'ETH')).toBe(-1);
      await close();
    }
  });

  it('are sound, give the same data version again, and count in the statistics', async () => {
    const report = await assertSound(pathOf('many'));
    expect(report.addresses).toBe(LABELS);
    const before = report.dataVersion;
    expect((await build('many', 700)).dataVersion).toBe(before);
    await expect(readIndexStats(join(folder, 'none'))).rejects.toMatchObject({ code: 'NOT_READY' });
    const stats = await readIndexStats(join(folder, 'many'));
    expect(stats.meta.real.addresses).toBe(LABELS);
    expect(stats.bytesOnDisk).toBeGreaterThan(LABELS * 40);
  });

  it('are refused if one of them is truncated', () => {
    truncateSync(join(pathOf('many'), 'labels-3.mdb'), 8_192);
    expect(() => openSnapshotClosable(pathOf('many'))).toThrow(/labels-3\.mdb is missing or truncated/);
  });
});
