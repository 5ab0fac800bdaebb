import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { AssayError } from '../../src/base/errors.ts';
import { silentLogger } from '../../src/base/log.ts';
import { seededUint32 } from '../../src/base/random.ts';
import { parseCheckDate, parseList, requireAfterPublication } from '../../src/labels/attest.ts';
import { loadTaxonomy } from '../../src/labels/categories.ts';
import { loadCurrencies } from '../../src/labels/currencies.ts';
import { derivationOf } from '../../src/labels/derivation.ts';
import { loadEntityAliases, slugOf } from '../../src/labels/entities.ts';
import type { EntityParties } from '../../src/labels/entity-parties.ts';
import { type DesignatedOrganisation, proposeLinks } from '../../src/labels/entity-proposals.ts';
import { EVIDENCE_CLASSES, isDerived } from '../../src/labels/evidence-class.ts';
import { freshnessOf, openFreshness, readListChecks, writeListChecks } from '../../src/labels/freshness.ts';
import { dayFromBytes, dayFromIso, isoFromDay, NO_DAY, writeIsoDay } from '../../src/labels/index/days.ts';
import {
  buildFilter,
  filterShape,
  OPEN_FILTER,
  passesFilter,
  slotPlace,
  slotSecond,
} from '../../src/labels/index/filter.ts';
import {
  beginBuild,
  currentSnapshot,
  dataVersionOf,
  leaseCurrent,
  publicationMark,
  removeUnheld,
} from '../../src/labels/index/folder.ts';
import { snapshotChecksum } from '../../src/labels/index/format.ts';
import { createSegmentWriter, readSegment, segmentFiles } from '../../src/labels/index/segment.ts';
import { SLOT_WORDS, writeSlot } from '../../src/labels/index/slot.ts';
import type { Label } from '../../src/labels/label.ts';
import { labelToJson } from '../../src/labels/label-json.ts';
import { LABEL_LIMITS } from '../../src/labels/limits.ts';
import { isPlainCsv } from '../../src/labels/own-import.ts';
import { decisionOf, primaryOrder } from '../../src/labels/primary.ts';
import { createRejectsWriter } from '../../src/labels/rejects.ts';
import { countsAsSanction, OWNER_CONFIDENCE_MIN } from '../../src/labels/sanction-hit.ts';
import { shippedSources } from '../../src/labels/source-table.ts';
import { type TempFolder, tempFolder } from '../accounts/temp-folder.ts';
import { key, template } from './index/world.ts';

const NOW = Date.UTC(2026, 10, 21);

let folder: TempFolder;
beforeEach(() => {
  folder = tempFolder();
});
afterEach(() => folder.remove());

describe('the derivation of a label', () => {
  it('is that of its source, or the source without rates; lists and publishers have none', () => {
    expect(derivationOf({ source: 'no-such-source', class: 'structural' })).toEqual({
      rule: 'no-such-source',
      version: 1,
      precision: null,
      recall: null,
      measuredOn: null,
      measuredAt: null,
      notMeasured: 'The source names no rule.',
    });
    expect(derivationOf({ source: 'no-such-source', class: 'inferred' })?.rule).toBe('no-such-source');
    for (const evidence of EVIDENCE_CLASSES.filter((each) => !isDerived(each)))
      for (const source of ['no-such-source', 'own', 'ofac'])
        expect(derivationOf({ source, class: evidence }), `${source} ${evidence}`).toBeNull();
  });
});

describe('days', () => {
  it('range from 2 January 1970 to 6 June 2149, and a day outside is unknown', () => {
    expect(['1970-01-01', '1970-01-02', '2149-06-06', '2149-06-07'].map(dayFromIso)).toEqual([
      NO_DAY,
      1,
      65_535,
      NO_DAY,
    ]);
    expect([null, '', 'x', '2019', '2019-08', '2019-08-06T23:59:59Z'].map(dayFromIso)).toEqual([
      0, 0, 0, 17_897, 18_109, 18_114,
    ]);
    expect(isoFromDay(NO_DAY)).toBeNull();
    expect([isoFromDay(1), isoFromDay(65_535)]).toEqual(['1970-01-02', '2149-06-06']);
  });

  it('are equal as text, number and bytes at every month boundary, and around leap days', () => {
    const bytes = new Uint8Array(12);
    for (let year = 1970; year <= 2149; year++)
      for (const rest of ['01-02', '01-31', '02-28', '03-01', '09-30', '10-01', '12-31']) {
        const text = `${year}-${rest}`;
        const day = dayFromIso(text);
        if (day === NO_DAY) continue;
        writeIsoDay(day, bytes, 1);
        expect(Buffer.from(bytes.subarray(1, 11)).toString()).toBe(text);
        expect(isoFromDay(day)).toBe(text);
        expect(dayFromBytes(bytes, 1)).toBe(day);
      }
  });

  it('reject any other ten bytes', () => {
    const of = (text: string) => dayFromBytes(Buffer.from(text), 0);
    expect(of('2024-02-29')).toBe(dayFromIso('2024-02-29'));
    for (const text of [
      '2023-02-29',
      '2024-00-10',
      '2024-13-10',
      '2024-01-00',
      '2024-04-31',
      '1969-12-31',
      '1970-01-01',
      '2149-06-07',
      '2150-01-01',
      '2024/01-10',
      '2024-01/10',
      '20x4-01-10',
      '2024-0:-10',
      '2024-01-1/',
    ])
      expect(of(text), text).toBe(-1);
    expect([of('1970-01-02'), of('2149-06-06'), of('2024-01-01'), of('2024-12-31')]).toEqual([
      1, 65_535, 19_723, 20_088,
    ]);
  });
});

describe('freshness', () => {
  const check = (checkedAt: string) => ({ checkedAt, publishedAt: '2026-11-01', records: 1 });

  it('ends a millisecond after the maximum age', () => {
    const at = new Date(NOW - 7 * 86_400_000).toISOString();
    const before = new Date(NOW - 7 * 86_400_000 - 1).toISOString();
    const stale = (checkedAt: string) =>
      freshnessOf({ EU: check(checkedAt) }, NOW, 7).staleLists.find(({ list }) => list === 'EU');
    expect(stale(at)).toBeUndefined();
    expect(stale(before)).toEqual({ list: 'EU', group: 'EU', checkedAt: before });
    expect(freshnessOf({ OFAC_SDN: check(at) }, NOW, 7)).toMatchObject({
      groups: { US: { loaded: false, fresh: false, records: 1, checkedAt: null } },
      asOf: at,
    });
    expect(freshnessOf({ OFAC_SDN: check(at) }, NOW, 7).staleLists.map(({ list }) => list)).toEqual([
      'OFAC_CONS',
      'EU',
      'UN',
      'UK',
      'CH',
    ]);
  });

  it('is read again after a second, and rejects a missing file or one of another format', () => {
    const reader = openFreshness({ labelsFolder: folder.path });
    const records = (now: number) => reader.listFreshness(now, 7).groups.EU.records;
    expect(records(NOW)).toBe(0);
    writeListChecks(folder.path, { EU: check('2026-11-20') });
    expect([records(NOW + 999), records(NOW + 1_000)]).toEqual([0, 1]);
    writeListChecks(folder.path, { UN: check('2026-11-20') });
    expect(Object.keys(readListChecks(folder.path))).toEqual(['EU', 'UN']);
    const path = join(folder.path, 'freshness.json');
    writeFileSync(path, '{"format":2,"lists":{}}');
    expect(() => readListChecks(folder.path)).toThrow('has format version 2');
    writeFileSync(path, '{');
    expect(() => readListChecks(folder.path)).toThrow(`${path} is damaged. Restore it`);
    expect(() => readListChecks(join(path, 'below'))).toThrow('ENOTDIR');
  });
});

describe('an attested check', () => {
  it('is dated at most now, and not before the publication', () => {
    expect(parseCheckDate('2026-11-21T00:00:00Z', NOW)).toContain('2026-11-21');
    for (const text of ['2026-11-21T00:00:01Z', '2026-11-22', '2026-02-30', '21.11.2026', 'x'])
      expect(() => parseCheckDate(text, NOW), text).toThrow('checked:');
    const of = { list: 'EU', publishedAt: '2026-11-20T12:00:00.000Z' } as const;
    requireAfterPublication('2026-11-20T00:00:00.000Z', of);
    expect(() => requireAfterPublication('2026-11-19T23:59:59.000Z', of)).toThrow(
      'before the publication of the EU list',
    );
    expect(parseList('eu')).toBe('EU');
    expect(() => parseList('UKX')).toThrow("got 'UKX'");
  });
});

describe('suggested links', () => {
  const organisation = (
    entry: string,
    names: readonly string[],
    reference: string | null = null,
  ): DesignatedOrganisation => ({
    list: 'EU',
    entry,
    reference,
    names,
    program: null,
    listedAt: null,
    assetFreeze: null,
    measures: [],
    sourceUrl: '',
  });
  const propose = (organisations: DesignatedOrganisation[], linked: readonly string[] = []) =>
    proposeLinks({
      entities: [
        { entity: 'few', name: 'Few', labels: 1 },
        { entity: 'many', name: 'Many', labels: 9 },
        { entity: 'scam:many', name: 'Many', labels: 9 },
        { entity: 'ab', name: 'Ab', labels: 1 },
        { entity: 'abc', name: 'Abc', labels: 1 },
      ],
      otherNames: [
        { entity: 'many', name: 'Many!' },
        { entity: 'other', name: 'Many' },
      ],
      organisations,
      parties: {
        ofParty: (_: string, entry: string) => (linked.includes(entry) ? {} : null),
      } as unknown as EntityParties,
      fold: (name) => [name.toLowerCase().replace('!', '')],
      today: '2026-11-21',
    });

  it('require names of at least three characters, and list the entity with most labels first', () => {
    const found = propose([organisation('2', ['Few', 'Many']), organisation('1', ['Ab', 'Abc'])]);
    expect(found.map(({ entity, entry }) => `${entity} ${entry}`)).toEqual([
      'many 2',
      'abc 1',
      'few 2',
      'other 2',
    ]);
    expect(found[0]).toMatchObject({
      name: 'Few',
      verified: false,
      note: expect.stringContaining("'Many' of the entity (9 labels)"),
    });
    expect(found[3]?.note).toContain('(0 labels)');
  });

  it('omit linked parties, and include the reference if there is one', () => {
    expect(propose([organisation('1', ['Many'])], ['1'])).toEqual([]);
    expect(propose([organisation('1', ['Many'], 'REF')])[0]?.entry).toBe('REF');
    const all = propose(
      Array.from({ length: LABEL_LIMITS.entityProposalsMax }, (_, at) => organisation(`${at}`, ['Many'])),
    );
    expect(all).toHaveLength(LABEL_LIMITS.entityProposalsMax);
  });
});

describe('the primary label', () => {
  const sources = shippedSources();
  const [best, second] = [...sources.rows].sort((a, b) => b.rank - a.rank).map(({ id }) => id) as [
    string,
    string,
  ];
  const base = {
    entity: { id: 'e', name: 'E', category: 'OTHER', jurisdiction: null, url: null },
    scope: 'ETH',
    category: 'OTHER',
    source: second,
    confidence: 0.5,
    sanctions: [],
    class: 'published',
    firstSeen: null,
    lastSeen: null,
  } as unknown as Label;
  const order = primaryOrder(sources);
  const decision = decisionOf(sources);
  const wins = (better: Partial<Label>, worse: Partial<Label> = {}) => {
    const [a, b] = [
      { ...base, ...better },
      { ...base, ...worse },
    ];
    expect(order(a, b)).toBeLessThan(0);
    expect(order(b, a)).toBeGreaterThan(0);
    return [decision(a, b), decision(b, a)];
  };
  const entry = { matchType: 'DIRECT', delistedAt: null } as unknown as Label['sanctions'][number];

  it('is chosen by one rule after the other', () => {
    expect(wins({ sanctions: [entry] }, { class: 'list', confidence: 1 })).toEqual(['SANCTION', 'SANCTION']);
    expect(wins({ class: 'published' }, { class: 'structural', confidence: 1 })).toEqual(['CLASS', 'CLASS']);
    // A label of a list that is no longer in force counts as published.
    expect(wins({ confidence: 0.6 }, { class: 'list' })).toEqual(['CONFIDENCE', 'CONFIDENCE']);
    expect(
      wins({ sanctions: [entry], source: best }, { sanctions: [entry], lastSeen: '2026-01-01' }),
    ).toEqual(['RANK', 'RANK']);
    expect(wins({ lastSeen: '2026-01-01' }, { source: best })).toEqual(['DATE', 'DATE']);
    expect(wins({ firstSeen: '2026-01-01' })).toEqual(['DATE', 'DATE']);
    expect(
      wins(
        { firstSeen: '2020-01-02', lastSeen: '2026-01-01' },
        { firstSeen: '2020-01-01', lastSeen: '2026-01-01' },
      ),
    ).toEqual(['DATE', 'DATE']);
    expect(wins({ source: best })).toEqual(['RANK', 'RANK']);
    expect(wins({}, { entity: { ...base.entity, id: 'f' } })).toEqual(['CONTENT', 'CONTENT']);
    expect(wins({ category: 'MIXER' })).toEqual(['CONTENT', 'CONTENT']);
    expect(wins({ scope: 'BTC' })).toEqual(['CONTENT', 'CONTENT']);
    expect([order(base, base), decision(base, base)]).toEqual([0, 'CONTENT']);
  });

  it('treats an owner as sanctioned from the minimum confidence on', () => {
    const owner = (confidence: number) =>
      ({
        ...entry,
        matchType: 'OWNER',
        attribution: { source: 's', confidence, date: null },
      }) as typeof entry;
    expect(
      [OWNER_CONFIDENCE_MIN, OWNER_CONFIDENCE_MIN - 0.01].map((confidence) =>
        countsAsSanction(owner(confidence)),
      ),
    ).toEqual([true, false]);
    expect(countsAsSanction({ ...entry, matchType: 'OWNER' })).toBe(false);
    expect(countsAsSanction({ ...owner(1), matchType: 'CLUSTER' })).toBe(false);
    expect(
      wins({ sanctions: [entry] }, { sanctions: [{ ...entry, delistedAt: '2026-01-01' }], confidence: 1 }),
    ).toEqual(['SANCTION', 'SANCTION']);
    expect(['list', 'published', 'structural', 'inferred'].map((one) => isDerived(one as never))).toEqual([
      false,
      false,
      true,
      true,
    ]);
  });
});

describe('rejected rows', () => {
  const provenance = { file: 'f', line: 1 } as never;
  it('are quoted by the first three, with their place and reason', () => {
    const writer = createRejectsWriter(join(folder.path, 'partial'));
    for (let line = 1; line <= 4; line++)
      writer.add(`why ${line}`, `row ${line}`, { file: 'f', line } as never);
    expect(writer.first).toEqual(
      [1, 2, 3].map((line) => ({
        type: 'reject',
        reason: `why ${line}`,
        text: `row ${line}`,
        provenance: { file: 'f', line },
      })),
    );
    expect(writer.count).toBe(4);
    writer.abort();
  });

  it('are written with 500 characters of their text, and an earlier file is removed if there are none', () => {
    const path = join(folder.path, 'below', 'rejects.jsonl');
    const writer = createRejectsWriter(join(folder.path, 'partial'));
    writer.add('why', 'x'.repeat(501), provenance);
    for (let count = 0; count < 200; count++) writer.add('why', 'x'.repeat(499), provenance);
    expect(writer.count).toBe(201);
    expect(writer.close(path)).toBe(path);
    const lines = readFileSync(path, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as { text: string });
    expect([lines.length, lines[0]?.text.length, lines[200]?.text.length]).toEqual([201, 500, 499]);
    expect(createRejectsWriter(join(folder.path, 'partial')).close(path)).toBeNull();
    expect(existsSync(path)).toBe(false);
    const aborted = createRejectsWriter(join(folder.path, 'partial'));
    aborted.add('why', 'x', provenance);
    aborted.abort();
    expect(existsSync(join(folder.path, 'partial'))).toBe(false);
  });
});

describe('entity names', () => {
  it('make slugs of up to 64 characters, with a hash if they are longer', () => {
    expect(slugOf(' An Exchange! ')).toBe('an-exchange');
    expect(slugOf('x'.repeat(64))).toBe('x'.repeat(64));
    expect(slugOf('x'.repeat(65))).toMatch(/^x{53}-[0-9a-f]{10}$/);
    expect(slugOf('!!!')).toMatch(/^x-[0-9a-f]{10}$/);
  });

  it('are found by alias and suffix', () => {
    const path = join(folder.path, 'aliases.json');
    const row = {
      id: 'acme',
      name: 'Acme',
      category: 'EXCHANGE',
      jurisdiction: null,
      url: null,
      aliases: ['The Acme'],
    };
    writeFileSync(path, JSON.stringify({ suffixes: ['.com'], entities: [row] }));
    const aliases = loadEntityAliases(path);
    expect(['ACME', 'the-acme', 'Acme.com'].map((text) => aliases.byName(text)?.id)).toEqual([
      'acme',
      'acme',
      'acme',
    ]);
    expect(['Other', 'Other.com', 'Acme.org'].map((text) => aliases.byName(text))).toEqual([
      null,
      null,
      null,
    ]);
    expect([aliases.byId('acme')?.name, aliases.byId('x')]).toEqual(['Acme', null]);
    expect(aliases.names()).toEqual([
      { entity: 'acme', name: 'Acme' },
      { entity: 'acme', name: 'The Acme' },
    ]);
  });

  it('of currencies give a chain, no hint, or an unknown word', () => {
    const { hintOf, preferred } = loadCurrencies();
    expect([hintOf(null), hintOf('  ')]).toEqual([{ kind: 'none' }, { kind: 'none' }]);
    expect([hintOf(' eth '), hintOf('EIP155:1')]).toEqual(Array(2).fill({ kind: 'chain', chain: 'ETH' }));
    expect(hintOf(` ${'y'.repeat(40)}`)).toEqual({ kind: 'unknown', word: 'y'.repeat(32) });
    expect([preferred([]), preferred(['BTC'])]).toEqual([null, 'BTC']);
  });
});

describe('the taxonomy', () => {
  const shipped = JSON.parse(readFileSync('data/categories.json', 'utf8')) as {
    categories: { id: string; weight: number; threatLevel: string }[];
    words: Record<string, { category: string }>;
  };
  const load = (change: (file: typeof shipped) => void) => {
    const file = structuredClone(shipped);
    change(file);
    const path = join(folder.path, 'categories.json');
    writeFileSync(path, JSON.stringify(file));
    return loadTaxonomy(path);
  };

  it('accepts weights from 0 to 100, known threats and known categories', () => {
    for (const weight of [0, 100]) load((file) => (file.categories[0]!.weight = weight));
    for (const weight of [-1, 101])
      expect(() => load((file) => (file.categories[0]!.weight = weight))).toThrow('weight of');
    expect(() => load((file) => (file.categories[0]!.threatLevel = 'NONE'))).toThrow('threatLevel of');
    expect(() => load((file) => file.categories.pop())).toThrow('has no row');
    expect(() => load((file) => file.categories.push({ ...file.categories[0]!, id: 'NEW' }))).toThrow(
      "'NEW' is not a category",
    );
    expect(() => load((file) => (Object.values(file.words)[0]!.category = 'NEW'))).toThrow(
      "'NEW' is not a category",
    );
  });
});

describe('the address filter', () => {
  const recordsOf = (count: number) => {
    const records = new Int32Array(count * SLOT_WORDS);
    for (let at = 0; at < count; at++) {
      const key = Buffer.alloc(22);
      key.writeUInt32LE((at * 2_654_435_761) % 4_294_967_296, 2);
      writeSlot(key, 0, 22, records, at * SLOT_WORDS);
    }
    return records;
  };

  it.each([0, 1, 2, 3, 1_000])('passes every one of %i keys, and few others', (count) => {
    const records = recordsOf(count + 1_000);
    const { shape, bytes } = buildFilter(records, SLOT_WORDS, count);
    expect(shape).not.toEqual(OPEN_FILTER);
    expect(bytes).toHaveLength(shape.bytes);
    const passes = (from: number, to: number) => {
      let passed = 0;
      for (let at = from * SLOT_WORDS; at < to * SLOT_WORDS; at += SLOT_WORDS)
        if (passesFilter(bytes, shape, slotPlace(records, at), slotSecond(records, at))) passed++;
      return passed;
    };
    expect(passes(0, count)).toBe(count);
    expect(passes(count, count + 1_000)).toBeLessThan(50);
  });

  it('counts a repeated key once, and passes every key if it is empty', () => {
    const records = recordsOf(2);
    records.copyWithin(SLOT_WORDS, 0, SLOT_WORDS);
    const { shape, bytes } = buildFilter(records, SLOT_WORDS, 2);
    expect(passesFilter(bytes, shape, slotPlace(records, 0), slotSecond(records, 0))).toBe(true);
    expect(passesFilter(new Uint8Array(0), OPEN_FILTER, 1, 2)).toBe(true);
    expect(filterShape(1, 1)).toEqual(filterShape(2, 1));
    expect(filterShape(1_000_000, 1).segmentBits).toBeLessThanOrEqual(16);
    expect(filterShape(1_000_000_000_000, 1).segmentBits).toBe(16);
  });
});

describe('an address slot', () => {
  const slot = (length: number, fill = 7, change: (key: Buffer) => void = () => {}) => {
    const key = Buffer.alloc(length, fill);
    change(key);
    const words = new Int32Array(SLOT_WORDS);
    writeSlot(key, 0, length, words, 0);
    return Buffer.from(words.buffer).toString('hex');
  };

  it('has six words, and changes no word before or behind them', () => {
    for (const length of [22, 24, 34, 200]) {
      const words = new Int32Array(SLOT_WORDS + 2).fill(-1);
      // Longer than the address, as a key in a shared buffer.
      writeSlot(Buffer.alloc(length + 8, 7), 0, length, words, 1);
      expect([words[0], words[SLOT_WORDS + 1]], `${length}`).toEqual([-1, -1]);
      expect(words.subarray(1, SLOT_WORDS + 1).includes(-1), `${length}`).toBe(false);
    }
  });

  it('holds 20 and 22 bytes directly, and a digest of any other length or of 22 bytes that end in zeros', () => {
    expect(slot(22)).toBe(`${'07'.repeat(22)}0000`);
    expect(slot(24)).toBe('07'.repeat(24));
    expect(slot(24, 7, (key) => key.writeUInt16LE(0, 22))).not.toBe(`${'07'.repeat(22)}0000`);
    expect(slot(24, 7, (key) => key.writeUInt8(0, 23))).toBe(`${'07'.repeat(23)}00`);
    expect(slot(24, 7, (key) => key.writeUInt8(0, 22))).toBe(`${'07'.repeat(22)}0007`);
    const lengths = [21, 23, 34, 57, 58, 66, 130].map((length) => slot(length));
    expect(new Set(lengths).size).toBe(lengths.length);
    for (const hex of lengths) expect(hex.startsWith('0707')).toBe(true);
  });
});

describe('a plain file of own labels', () => {
  const isPlain = (content: string | Uint8Array) => {
    const path = join(folder.path, 'own.csv');
    writeFileSync(path, content);
    return isPlainCsv(path);
  };

  it('is text of one byte per character with a header of plain names', async () => {
    expect(await isPlain('address,name\n')).toBe(true);
    expect(await isPlain('address')).toBe(true);
    expect(await isPlain('\ufeffaddress,name\n')).toBe(true);
    for (const header of ['', '\n', ' \r\naddress\n', '"address",name\n', ' {"address":"a"}\n'])
      expect(await isPlain(header), JSON.stringify(header)).toBe(false);
  });

  it('is neither compressed nor UTF-16 in either order of bytes, with or without a mark', async () => {
    const wide = Buffer.from('address,name\n', 'utf16le');
    const turned = Buffer.from(wide).swap16();
    for (const content of [
      wide,
      turned,
      Buffer.concat([Buffer.from([0xff, 0xfe]), wide]),
      Buffer.concat([Buffer.from([0xfe, 0xff]), turned]),
      gzipSync('address,name\n'),
      Buffer.from('PK\u0003\u0004address,name\n'),
    ])
      expect(await isPlain(content), content.toString('hex', 0, 4)).toBe(false);
  });
});

describe('the snapshot folder', () => {
  const deps = { clock: { now: () => NOW, monotonic: () => 0 }, log: silentLogger } as never;
  const version = '0123456789abcdef';

  it('publishes two builds of one moment, and removes those that no process uses', () => {
    const root = join(folder.path, 'index');
    mkdirSync(root);
    expect([currentSnapshot(root), publicationMark(root), leaseCurrent(root)]).toEqual([null, null, null]);
    const publish = () => {
      const building = beginBuild(root, deps);
      expect(() => beginBuild(root, deps)).toThrow('Another process');
      building.publish(version);
      building.end();
      return currentSnapshot(root) as string;
    };
    const first = publish();
    const mark = publicationMark(root);
    const held = leaseCurrent(root)!;
    expect(held.path).toBe(first);
    const second = publish();
    expect(second).toBe(`${first}-2`);
    expect(publicationMark(root)).not.toBe(mark);
    expect([dataVersionOf(first), dataVersionOf(second)]).toEqual([version, version]);
    expect(existsSync(first)).toBe(true);
    held.lease.release();
    mkdirSync(join(root, 'waste-snapshot-1'));
    mkdirSync(join(root, 'other'));
    removeUnheld(root, silentLogger);
    expect(
      [first, second, join(root, 'waste-snapshot-1'), join(root, 'other')].map((path) => existsSync(path)),
    ).toEqual([false, true, false, true]);
  });

  it('are built without the lock that a killed build had moved aside', () => {
    const root = join(folder.path, 'index');
    mkdirSync(root);
    writeFileSync(join(root, 'build.lock.7-0'), '999999999 -');
    const building = beginBuild(root, deps);
    building.publish(version);
    building.end();
    expect(readdirSync(root).filter((name) => name.startsWith('build'))).toEqual([]);
  });

  it('are opened in a copy that has no folder of leases, as a restored backup', () => {
    const root = join(folder.path, 'index');
    mkdirSync(root);
    const building = beginBuild(root, deps);
    building.publish(version);
    building.end();
    const path = currentSnapshot(root) as string;
    rmSync(join(path, 'leases'), { recursive: true });
    const leased = leaseCurrent(root);
    expect([leased?.path, readdirSync(join(path, 'leases')).length]).toEqual([path, 1]);
    leased?.lease.release();
    rmSync(path, { recursive: true });
    expect(() => leaseCurrent(root)).toThrow('names a snapshot that does not exist');
    expect(existsSync(path)).toBe(false);
  });

  it('rejects a name that is not a snapshot of the folder, and a missing one', () => {
    for (const name of ['other', 'snapshot-1/x', 'snapshot-..']) {
      writeFileSync(join(folder.path, 'CURRENT'), `${name}\n`);
      expect(() => currentSnapshot(folder.path), name).toThrow(
        'does not name a snapshot. Remove it: the index is then built or pulled again.',
      );
    }
    writeFileSync(join(folder.path, 'CURRENT'), `snapshot-1-${version}\n`);
    expect(currentSnapshot(folder.path)).toBe(join(folder.path, `snapshot-1-${version}`));
    expect(() => leaseCurrent(folder.path)).toThrow('names a snapshot that does not exist');
    for (const name of [`snapshot-x-${version}`, `snapshot-1-${version.slice(1)}`, `snapshot-1-${version}-x`])
      expect(() => dataVersionOf(`/x/${name}`), name).toThrow('data version');
  });

  it('has a checksum of its content, including designations', () => {
    const sha256 = { records: 'a', lookup: 'b', texts: 'c' };
    const plain = snapshotChecksum(sha256, []);
    expect(snapshotChecksum({ ...sha256, texts: 'd' }, [])).not.toBe(plain);
    expect(snapshotChecksum(sha256, [{ entity: 'e' } as never])).not.toBe(plain);
  });
});

describe('a segment', () => {
  const path = () => join(folder.path, 'segment');
  beforeEach(async () => {
    const writer = createSegmentWriter(path());
    for (const name of ['A', 'B']) writer.add(key(1), 0, 22, writer.template(template(name)), NO_DAY, NO_DAY);
    await writer.close();
  });
  const records = (check: boolean): number => {
    let all = 0;
    for (const [, count] of readSegment(path()).chunks(check)) all += count;
    return all;
  };
  const change = (suffix: string, edit: (bytes: Buffer) => Uint8Array): void =>
    writeFileSync(`${path()}.${suffix}`, edit(readFileSync(`${path()}.${suffix}`)));
  const flipped = (bytes: Buffer): Buffer => {
    bytes[5] = (bytes[5] as number) ^ 1;
    return bytes;
  };

  it('is verified on request, and always rejected if it is truncated', () => {
    expect([records(true), records(false)]).toEqual([2, 2]);
    change('records', flipped);
    expect(records(false)).toBe(2);
    expect(() => records(true)).toThrow('does not match its checksum');
    change('records', (bytes) => bytes.subarray(0, -1));
    expect(() => records(false)).toThrow('ends before its 2 records do');
  });

  it('is rejected with a different number of templates, different templates, another format or no header', () => {
    const texts = () => readSegment(path()).templateTexts;
    expect(texts()).toHaveLength(2);
    const edit = (from: string, to: string): void =>
      change('templates', (bytes) => Buffer.from(bytes.toString().replace(from, to)));
    edit('hot wallet', 'cold wallet');
    expect(texts).toThrow('does not match its checksum');
    change('templates', (bytes) => Buffer.concat([bytes, Buffer.from('{}\n')]));
    expect(texts).toThrow('has 3 templates, but its header states 2');
    edit('"format":1', '"format":2');
    expect(() => readSegment(path())).toThrow(
      'has format version 2; this version of Assay reads format version 1',
    );
    change('templates', () => Buffer.from('x\n'));
    expect(() => readSegment(path())).toThrow('has no readable header');
    expect(() => readSegment(join(folder.path, 'none'))).toThrow('No label segment at');
  });

  it('is rejected with a flipped bit in any byte of its templates', () => {
    const sound = readFileSync(segmentFiles(path()).templates);
    const random = seededUint32(20_261_123);
    const unseen: string[] = [];
    for (let at = 0; at < sound.length; at++) {
      const bit = random() % 8;
      change('templates', () => {
        const bytes = Buffer.from(sound);
        bytes[at] = (bytes[at] as number) ^ (1 << bit);
        return bytes;
      });
      try {
        records(true);
        void readSegment(path()).templateTexts;
        unseen.push(`bit ${bit} of byte ${at}`);
      } catch (error) {
        expect(error).toBeInstanceOf(AssayError);
      }
    }
    expect(unseen).toEqual([]);
  });
});

it('marks a label as synthetic only if it is', () => {
  const label: Label = { ...template('A'), class: 'published', firstSeen: null, lastSeen: null };
  expect(labelToJson(label)).not.toHaveProperty('synthetic');
  expect(labelToJson({ ...label, synthetic: true })).toMatchObject({
    name: 'A',
    chain: 'EVM',
    synthetic: true,
  });
});
