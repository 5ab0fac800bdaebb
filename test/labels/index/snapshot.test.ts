import { readFileSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { currentSnapshot } from '../../../src/labels/index/folder.ts';
import { type LabelReader, NOT_LABELLED } from '../../../src/labels/index/reader.ts';
import { openSnapshot } from '../../../src/labels/index/snapshot.ts';
import { readIndexStats } from '../../../src/labels/index/stats.ts';
import { assertSound, verifySnapshot } from '../../../src/labels/index/verify.ts';
import { labelToJson } from '../../../src/labels/label-json.ts';
import { build, key, type Row, sanction, template, temporaryFolder, writeSegment } from './world.ts';

let folder: ReturnType<typeof temporaryFolder>;
beforeEach(() => {
  folder = temporaryFolder();
});
afterEach(() => folder.remove());

async function open(rows: readonly Row[]): Promise<LabelReader> {
  await writeSegment(join(folder.path, 'one'), rows);
  await build(join(folder.path, 'snapshots'), [join(folder.path, 'one')]);
  return openSnapshot(currentSnapshot(join(folder.path, 'snapshots')) as string);
}

function json(reader: LabelReader, address: Uint8Array, chain: 'ETH' | 'BSC' | 'BTC'): string {
  const out = new Uint8Array(100_000);
  const end = reader.writeLabelsJson(reader.find(address, 0, address.length), chain, out, 7);
  return Buffer.from(out.subarray(7, end)).toString();
}

describe('a snapshot', () => {
  it('finds every label and nothing else, for keys of any length', async () => {
    const lengths = [1, 19, 20, 21, 22, 28, 32, 33, 57, 64, 200];
    const rows = lengths.flatMap((length) =>
      Array.from({ length: 200 }, (_, number) => ({
        key: key(number, length === 1 ? 4 : length),
        template: template(`Entity ${length} ${number % 10}`),
        firstSeen: '2019-08-06',
      })),
    );
    const reader = await open(rows);
    for (const row of rows) {
      const [label] = reader.lookup(row.key, 'ETH');
      expect(label?.entity.name).toBe(row.template.entity.name);
      expect(label?.firstSeen).toBe('2019-08-06');
      expect(label?.lastSeen).toBeNull();
    }
    for (let number = 1000; number < 3000; number++) {
      for (const length of lengths) {
        const absent = key(number, length === 1 ? 4 : length);
        expect(reader.find(absent, 0, absent.length)).toBe(NOT_LABELLED);
      }
    }
    expect(reader.find(new Uint8Array(1), 0, 1)).toBe(NOT_LABELLED);
  });

  it('does not find a key that differs from a labelled one in its last bytes only', async () => {
    const rows = [{ key: key(1), template: template('A') }];
    const reader = await open(rows);
    const other = key(1);
    const last = new DataView(other.buffer, other.length - 2);
    const labelled = last.getUint16(0);
    // One of 256 passes the filter, and is compared with the record.
    for (let tail = 0; tail < 0x10000; tail++) {
      last.setUint16(0, tail);
      if (tail !== labelled && reader.find(other, 0, other.length) !== NOT_LABELLED)
        expect.unreachable(`${tail}`);
    }
    last.setUint16(0, labelled);
    expect(reader.find(other, 0, other.length)).not.toBe(NOT_LABELLED);
  });

  it('distinguishes a short payload from a longer one with the same prefix', async () => {
    const short = key(5, 20);
    const long = new Uint8Array(24);
    long.set(short);
    const reader = await open([{ key: short, template: template('Short') }]);
    expect(reader.lookup(long, 'ETH')).toEqual([]);
    expect(reader.lookup(short, 'ETH')).toHaveLength(1);
  });

  it('writes the JSON of its labels for any text', async () => {
    const texts = fc.string({ unit: 'binary', minLength: 1, maxLength: 60 });
    const rows = fc
      .sample(
        fc.record({ name: texts, tag: texts, url: fc.option(texts), source: texts, day: fc.boolean() }),
        300,
      )
      .map(({ name, tag, url, source, day }, number) => ({
        key: key(number % 200),
        template: template(name, { tags: [tag, 'x'], sourceUrl: url, source, confidence: number / 300 }),
        ...(day ? { firstSeen: '2009-01-03', lastSeen: '2026-02-28' } : {}),
      }));
    const reader = await open(rows);
    for (let number = 0; number < 200; number++) {
      const labels = reader.lookup(key(number), 'ETH');
      expect(labels.length).toBeGreaterThan(0);
      expect(json(reader, key(number), 'ETH')).toBe(JSON.stringify(labels.map(labelToJson)));
    }
    expect(json(reader, key(100_000), 'ETH')).toBe('[]');
  });

  it('reports a buffer that is too small, and writes nothing beyond it', async () => {
    const reader = await open([
      { key: key(1), template: template('A') },
      { key: key(1), template: template('B') },
    ]);
    const handle = reader.find(key(1), 0, 22);
    const whole = json(reader, key(1), 'ETH').length;
    for (let size = 0; size <= whole + 40; size++) {
      const backing = new Uint8Array(size + 16).fill(255);
      const end = reader.writeLabelsJson(handle, 'ETH', backing.subarray(0, size), 0);
      expect(end).toBe(size < whole ? -1 : whole);
      expect(backing.subarray(size).every((byte) => byte === 255)).toBe(true);
    }
  });

  it('returns a label of one chain on that chain only, and labels of the family on all', async () => {
    const reader = await open([
      { key: key(1), template: template('Everywhere') },
      { key: key(1), template: template('Token', { scope: 'BSC', confidence: 0.5 }) },
      { key: key(2), template: template('Token', { scope: 'BSC' }) },
    ]);
    const names = (address: Uint8Array, chain: 'ETH' | 'BSC'): string[] =>
      reader.lookup(address, chain).map((label) => label.entity.name);
    expect(names(key(1), 'BSC')).toEqual(['Everywhere', 'Token']);
    expect(names(key(1), 'ETH')).toEqual(['Everywhere']);
    expect(names(key(2), 'ETH')).toEqual([]);
    expect(json(reader, key(2), 'ETH')).toBe('[]');
    expect(JSON.parse(json(reader, key(1), 'BSC'))).toHaveLength(2);
  });

  it('detects sanctions in force without decoding: not delisted ones, not clusters, not of another chain', async () => {
    const listed = (name: string, changes: object, scope: 'EVM' | 'ETH' = 'EVM') =>
      template(name, { scope, sanctions: [{ ...sanction, ...changes }] });
    const reader = await open([
      { key: key(1), template: listed('In force', {}) },
      { key: key(2), template: listed('Delisted', { delistedAt: '2025-03-21' }) },
      { key: key(3), template: listed('Cluster', { matchType: 'CLUSTER' }) },
      { key: key(4), template: listed('One chain', {}, 'ETH') },
      { key: key(5), template: template('Nothing') },
      { key: key(5), template: listed('One chain', {}, 'ETH') },
    ]);
    const sanctioned = (number: number, chain: 'ETH' | 'BSC'): boolean =>
      reader.isSanctioned(reader.find(key(number), 0, 22), chain);
    expect([1, 2, 3, 4, 5, 6].map((number) => sanctioned(number, 'ETH'))).toEqual([
      true,
      false,
      false,
      true,
      true,
      false,
    ]);
    expect([1, 2, 3, 4, 5, 6].map((number) => sanctioned(number, 'BSC'))).toEqual([
      true,
      false,
      false,
      false,
      false,
      false,
    ]);
    expect(reader.lookup(key(1), 'ETH')[0]?.sanctions).toEqual([sanction]);
    const all = (chain: 'ETH' | 'BSC'): string[] => {
      const found: string[] = [];
      reader.eachSanctioned(chain, (address) => found.push(Buffer.from(address).toString('hex')));
      return found.sort();
    };
    const payload = (number: number): string => Buffer.from(key(number).subarray(2)).toString('hex');
    expect(all('ETH')).toEqual([1, 4, 5].map(payload).sort());
    expect(all('BSC')).toEqual([payload(1)]);
    expect(() => reader.eachSanctioned('BTC' as 'ETH', () => {})).toThrow('not an EVM chain');
  });

  it('orders labels by the given rule and merges equal ones, with the longest period', async () => {
    const reader = await open([
      { key: key(1), template: template('Weak', { confidence: 0.1 }), firstSeen: '2020-01-01' },
      { key: key(1), template: template('Strong', { confidence: 0.8 }), firstSeen: '2020-01-01' },
      {
        key: key(1),
        template: template('Strong', { confidence: 0.8 }),
        firstSeen: '2019-01-01',
        lastSeen: '2021-01-01',
      },
    ]);
    const labels = reader.lookup(key(1), 'ETH');
    expect(labels.map(({ entity, firstSeen, lastSeen }) => [entity.name, firstSeen, lastSeen])).toEqual([
      ['Strong', '2019-01-01', '2021-01-01'],
      ['Weak', '2020-01-01', null],
    ]);
    expect(reader.meta.real).toEqual({ addresses: 1, labels: 2, entities: 2 });
  });

  it('holds thousands of labels of one address', async () => {
    const rows = Array.from({ length: 3000 }, (_, number) => ({
      key: key(1),
      template: template(`Entity ${number}`, { confidence: number / 3000 }),
    }));
    const reader = await open(rows);
    const labels = reader.lookup(key(1), 'ETH');
    expect(labels).toHaveLength(3000);
    expect(labels[0]?.entity.name).toBe('Entity 2999');
  });

  it('counts real and synthetic labels separately', async () => {
    await open([
      { key: key(1), template: template('Real') },
      { key: key(1), template: template('Made', { synthetic: true }) },
      { key: key(2), template: template('Made', { synthetic: true }) },
      { key: key(3, 20, 2), template: template('Coin', { scope: 'BTC', category: 'MIXER' }) },
    ]);
    const { meta } = await readIndexStats(join(folder.path, 'snapshots'));
    expect(meta.real).toEqual({ addresses: 2, labels: 2, entities: 2 });
    expect(meta.synthetic).toEqual({ addresses: 1, labels: 2, entities: 1 });
    expect(meta.byChain).toEqual({ EVM: 1, BTC: 1 });
    expect(meta.byCategory).toEqual({ EXCHANGE: 1, MIXER: 1 });
    expect(meta.syntheticByChain).toEqual({ EVM: 2 });
  });

  it('has a version that depends only on its content, not on order or division of the files', async () => {
    const rows = Array.from({ length: 500 }, (_, number) => ({
      key: key(number % 300),
      template: template(`Entity ${number % 40}`),
      firstSeen: `2020-01-${String((number % 28) + 1).padStart(2, '0')}`,
    }));
    const at = (name: string): string => join(folder.path, name);
    await writeSegment(at('all'), rows);
    await writeSegment(at('odd'), rows.filter((_, index) => index % 2 === 1).reverse());
    await writeSegment(
      at('even'),
      rows.filter((_, index) => index % 2 === 0),
    );
    await writeSegment(at('less'), rows.slice(1));
    const whole = await build(at('a'), [at('all')]);
    const divided = await build(at('b'), [at('odd'), at('even')]);
    const turned = await build(at('c'), [at('even'), at('odd'), at('all')]);
    const other = await build(at('d'), [at('less')]);
    expect(divided.dataVersion).toBe(whole.dataVersion);
    expect(turned.dataVersion).toBe(whole.dataVersion);
    expect(other.dataVersion).not.toBe(whole.dataVersion);
  });

  it('passes verification if it is intact, and fails if a byte has changed', async () => {
    await open(
      Array.from({ length: 5000 }, (_, number) => ({
        key: key(number % 4000),
        template: template(`E ${number % 7}`),
      })),
    );
    const path = currentSnapshot(join(folder.path, 'snapshots')) as string;
    expect((await verifySnapshot(path)).faults).toEqual([]);
    expect(await assertSound(path)).toEqual(await verifySnapshot(path));
    const file = join(path, 'labels.mdb');
    const bytes = readFileSync(file);
    // Pages that are no longer in use may hold the text too.
    for (let at = bytes.indexOf('E 3'); at >= 0; at = bytes.indexOf('E 3', at)) bytes[at] = 0x58;
    // Written in place: the environment is still mapped, as on a damaged disk.
    writeFileSync(file, bytes, { flag: 'r+' });
    expect((await verifySnapshot(path)).faults.join(' ')).toMatch(/checksum/);
    await expect(assertSound(path)).rejects.toMatchObject({
      code: 'STORE_CORRUPT',
      message: expect.stringMatching(/checksum.*assay index build --force/),
    });
  });

  it.each([0, 4096, 8192])(
    'truncated to %i bytes is rejected with an error, without a crash',
    async (bytes) => {
      await open([{ key: key(1, 20), template: template('One') }]);
      const path = currentSnapshot(join(folder.path, 'snapshots')) as string;
      truncateSync(join(path, 'labels.mdb'), bytes);
      expect(() => openSnapshot(path)).toThrow(
        expect.objectContaining({
          code: 'STORE_CORRUPT',
          message: expect.stringContaining('index build --force'),
        }),
      );
    },
  );

  it('rejects an empty build and a damaged segment', async () => {
    const at = join(folder.path, 'one');
    await writeSegment(at, []);
    await expect(build(join(folder.path, 's'), [at])).rejects.toMatchObject({ code: 'INVALID_REQUEST' });
    await writeSegment(at, [{ key: key(1), template: template('A') }]);
    const bytes = readFileSync(`${at}.records`);
    bytes[5] = (bytes[5] as number) ^ 1;
    writeFileSync(`${at}.records`, bytes);
    await expect(build(join(folder.path, 's'), [at])).rejects.toMatchObject({ code: 'STORE_CORRUPT' });
    expect(currentSnapshot(join(folder.path, 's'))).toBeNull();
  });
});
