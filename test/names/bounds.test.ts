/** The bounds of names: at exactly a limit and one beyond it, and each half of a condition. */
import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { openClearedStore } from '../../src/names/cleared.ts';
import { isOneEdit, jaroWinkler, weighedEdits } from '../../src/names/edits.ts';
import { keyHash, POSTING_CLASS } from '../../src/names/index/format.ts';
import { indexKeysOf, joinsOf, queryHashesOf, wholeKey } from '../../src/names/index/keys.ts';
import { Tally } from '../../src/names/index/tally.ts';
import { NAME_LIMITS } from '../../src/names/limits.ts';
import { coverageOf, reasonsOf } from '../../src/names/lists-coverage.ts';
import { FingerprintWriter, openFingerprints, versionOf } from '../../src/names/lists-fingerprints.ts';
import type { NameEntity } from '../../src/names/name.ts';
import type { NamePart } from '../../src/names/name-parts.ts';
import { parseName } from '../../src/names/parse.ts';
import { hangulPlain, hangulSpellings, isHangul } from '../../src/names/readings/hangul.ts';
import { abjadUnits } from '../../src/names/readings/letters.ts';
import { foreignUnits } from '../../src/names/readings/mandarin-foreign.ts';
import { heardOf, readingOf } from '../../src/names/readings/pattern.ts';
import { isPinyin, wadeOf } from '../../src/names/readings/wade.ts';
import { LEAST_SIMILARITY, meet, NO_MEETING } from '../../src/names/similarity.ts';
import { fold, skeleton, unvocalised } from '../../src/names/sound.ts';
import { LISTS } from '../../src/sources/lists.ts';
import { openLiveStore } from '../../src/state/live-store.ts';
import { type TempFolder, tempFolder } from '../accounts/temp-folder.ts';

let folder: TempFolder;
beforeEach(() => {
  folder = tempFolder();
});
afterEach(() => folder.remove());

describe('edits', () => {
  it('count one letter inserted, deleted, replaced or transposed, at any position', () => {
    const one = [
      ['abc', 'abcd'],
      ['abc', 'bc'],
      ['abc', 'axc'],
      ['abc', 'xbc'],
      ['abc', 'abx'],
      ['abc', 'bac'],
      ['abc', 'acb'],
      ['', 'a'],
      ['a', 'b'],
    ];
    const more = [
      ['abc', 'abc'],
      ['', ''],
      ['abc', 'abcde'],
      ['abc', 'xyc'],
      ['abcd', 'badc'],
      ['abc', 'cba'],
      ['ab', 'xay'],
      ['abc', 'axbx'],
    ];
    for (const [a, b] of one as [string, string][])
      expect([isOneEdit(a, b), isOneEdit(b, a)], `${a} ${b}`).toEqual([true, true]);
    for (const [a, b] of more as [string, string][])
      expect([isOneEdit(a, b), isOneEdit(b, a)], `${a} ${b}`).toEqual([false, false]);
  });

  it('cost less between vowels and similar letters, and more at the beginning', () => {
    expect([weighedEdits('abc', 'abc'), weighedEdits('', '')]).toEqual([0, 0]);
    expect(weighedEdits('xb', 'xp')).toBeCloseTo(0.75);
    expect(weighedEdits('xa', 'xe')).toBeCloseTo(0.6);
    expect(weighedEdits('xb', 'xr')).toBeCloseTo(1);
    expect(weighedEdits('bx', 'px')).toBeCloseTo(0.9);
    expect(
      [weighedEdits('x', 'xa'), weighedEdits('xh', 'x'), weighedEdits('x', 'xb')].map((cost) =>
        Math.round(cost * 100),
      ),
    ).toEqual([70, 70, 100]);
    expect(weighedEdits('xbr', 'xrb')).toBeCloseTo(0.8);
    expect(weighedEdits('x1', 'x2')).toBeCloseTo(1);
    const long = 'a'.repeat(60);
    expect(weighedEdits(long, `${long}bbbb`)).toBe(0);
  });

  it('match published Jaro-Winkler values', () => {
    for (const [a, b, alike] of [
      ['martha', 'marhta', 0.9611],
      ['dixon', 'dicksonx', 0.8133],
      ['dwayne', 'duane', 0.84],
    ] as const) {
      expect(jaroWinkler(a, b)).toBeCloseTo(alike, 3);
      expect(jaroWinkler(b, a)).toBeCloseTo(alike, 3);
    }
    expect([
      jaroWinkler('', ''),
      jaroWinkler('a', ''),
      jaroWinkler('', 'a'),
      jaroWinkler('abc', 'xyz'),
      jaroWinkler('a', 'a'),
    ]).toEqual([0, 0, 0, 0, 1]);
    expect(jaroWinkler('abcdx', 'abcdy')).toBeCloseTo(13 / 15 + 0.4 * (2 / 15));
    expect(jaroWinkler('abcdex', 'abcdey')).toBeCloseTo(8 / 9 + 0.4 / 9);
  });

  it('fold spelling to sound', () => {
    expect(
      [
        'nasreddine',
        'tschaika',
        'khan',
        'philipp',
        'schmidt',
        'xi',
        'cecil',
        'rachid',
        'ioannou',
        'mohammed',
        'ahmad',
      ].map(fold),
    ).toEqual([
      'nasrudin',
      'cheka',
      'han',
      'filip',
      'shmidt',
      'shi',
      'sesil',
      'rachid',
      'ioanu',
      'mohamed',
      'amad',
    ]);
    expect([skeleton('boris'), skeleton('shachi'), skeleton('aeiou'), skeleton('bab')]).toEqual([
      'brs',
      's',
      'a',
      'b',
    ]);
    expect(['philip', 'khalid', 'sheikh', 'mahmoud', 'zakariyah'].map(unvocalised)).toEqual([
      'blb',
      'hld',
      's',
      'mhmd',
      'skr',
    ]);
  });
});

describe('matching name parts', () => {
  const part = (text: string, change: Partial<NamePart> = {}): NamePart => ({
    text,
    kind: 'name',
    script: 'latin',
    origin: '',
    letters: 0,
    rarity: 1,
    isPlace: false,
    wade: null,
    reading: readingOf(change.origin ?? ''),
    heard: heardOf(text),
    folded: text,
    skeleton: text,
    consonants: text,
    groups: [],
    weight: 1,
    ...change,
  });
  const both = (a: NamePart, b: NamePart) => {
    expect(meet(a, b)).toEqual(meet(b, a));
    return meet(a, b);
  };

  it('are equal words, numbers and legal forms, each with its kind', () => {
    expect(both(part('ab'), part('ab')).kind).toBe('exact');
    expect(both(part('5', { kind: 'number' }), part('5', { kind: 'number' }))).toEqual({
      kind: 'number',
      similarity: 1,
    });
    expect(both(part('ltd', { kind: 'form' }), part('ltd', { kind: 'form' })).kind).toBe('orgForm');
    expect(both(part('ltd', { kind: 'form' }), part('ltd'))).toBe(NO_MEETING);
    expect(both(part('5', { kind: 'number' }), part('6', { kind: 'number' }))).toBe(NO_MEETING);
    expect(both(part('ltd', { kind: 'form' }), part('plc', { kind: 'form' }))).toBe(NO_MEETING);
    expect(both(part('a', { kind: 'initial' }), part('anna')).kind).toBe('initial');
    expect(both(part('a', { kind: 'initial' }), part('berta'))).toBe(NO_MEETING);
    expect(both(part('a', { kind: 'initial' }), part('and', { kind: 'particle' }))).toBe(NO_MEETING);
  });

  it('sound alike, belong to a group, or differ by a typo', () => {
    expect(both(part('khan', { folded: 'han' }), part('han')).kind).toBe('phonetic');
    expect(both(part('bill', { groups: [1, 2] }), part('william', { groups: [2] })).kind).toBe('nickname');
    expect(
      both(
        part('bank', { kind: 'descriptive', groups: [2] }),
        part('banque', { kind: 'descriptive', groups: [2] }),
      ).kind,
    ).toBe('orgForm');
    expect(both(part('abc'), part('abd')).similarity).toBeGreaterThanOrEqual(LEAST_SIMILARITY);
    expect(both(part('ab'), part('cd'))).toBe(NO_MEETING);
    expect(both(part('a'), part('abc'))).toBe(NO_MEETING);
    expect(both(part('abcdefgh'), part('stuvwxyz'))).toBe(NO_MEETING);
    expect(both(part('ab'), part('abcde'))).toBe(NO_MEETING);
  });

  // The readings of a word decide first: consonants alone are weak, because many names share them.
  it('in Arabic script match weakly by their consonants, if no usual spelling explains the vowels', () => {
    const abjad = (consonants: string) => part('x', { script: 'abjad', origin: '٠', consonants });
    const latin = (consonants: string) => part('y', { consonants });
    expect(
      ['b', 'bl', 'blk', 'blkr', 'blkrs'].map((text) => both(abjad(text), latin(text)).similarity),
    ).toEqual([0, 0, 0.55, 0.72, 0.72]);
    expect(both(abjad('blkr'), latin('blks')).similarity).toBe(0.65);
    expect([
      both(abjad('blk'), latin('bls')),
      both(abjad('blkr'), latin('bsks')),
      both(abjad('blk'), latin('blkr')),
    ]).toEqual(Array(3).fill(NO_MEETING));
    expect(
      both(
        abjad('bl'),
        part('x', { script: 'abjad', origin: '١٢', consonants: 'bl', text: 'z', folded: 'z' }),
      ),
    ).toBe(NO_MEETING);
  });

  it('share the index keys by which they are found', () => {
    expect(indexKeysOf(part('12', { kind: 'number' }))).toEqual(['=12']);
    expect([indexKeysOf(part('a', { kind: 'initial' })), indexKeysOf(part('ltd', { kind: 'form' }))]).toEqual(
      [[], []],
    );
    const short = indexKeysOf(part('ab', { skeleton: 'bb', consonants: 'b' }));
    expect(short).toEqual([':ab']);
    const three = indexKeysOf(part('abc', { skeleton: 'bks', consonants: 'bk', groups: [7] }));
    expect(three.sort()).toEqual([':abc', ':bc', ':ac', ':ab', '~bks', "'bk", '#7'].sort());
    expect(indexKeysOf(part('aab', { skeleton: 'b', consonants: '' })).sort()).toEqual(
      [':aab', ':ab', ':aa'].sort(),
    );
    expect(indexKeysOf(part('x', { skeleton: 'bksr', consonants: '' }))).not.toContain('~bks');
    expect(indexKeysOf(part('x', { skeleton: 'bksrt', consonants: '' }))).toContain('~bksr');
    expect(indexKeysOf(part('x', { skeleton: '', consonants: 'bk', script: 'syllabic' }))).toEqual([':x']);
    expect(indexKeysOf(part('khan', { folded: 'han', skeleton: '', consonants: '' }))).toContain(':khn');
    const written = (text: string) => indexKeysOf(part(text, { folded: 'x', skeleton: '', consonants: '' }));
    expect(written('khe').sort()).toEqual([':x', ':khe', ':he', ':ke', ':kh'].sort());
    expect(written('ph').sort()).toEqual([':x', ':ph'].sort());
    expect(
      indexKeysOf(part('khan', { folded: 'han', skeleton: '', consonants: '', script: 'abjad' })),
    ).not.toContain(':khan');
  });

  it('look up Latin words and words in scripts without vowels by keys of their own', () => {
    const latin = part('hasan', { consonants: 'hsn' });
    expect(indexKeysOf(latin)).toContain("'hsn");
    expect(queryHashesOf(latin)).toContain(keyHash('"hsn'));
    expect(queryHashesOf(latin)).not.toContain(keyHash("'hsn"));
    const own = part('hsn', { origin: 'حسن', script: 'abjad', consonants: 'hsn' });
    expect(indexKeysOf(own)).toContain('"hsn');
    expect(indexKeysOf(own)).not.toContain("'hsn");
    expect(queryHashesOf(own)).toEqual(expect.arrayContaining([keyHash("'hsn"), keyHash('"hsn')]));
  });

  it('share the key of the whole name, and of joined neighbours', () => {
    expect(
      wholeKey([
        part('ab'),
        part('bank', { kind: 'descriptive', groups: [3, 4] }),
        part('co', { kind: 'descriptive' }),
      ]),
    ).toBe('= name latin ab #3 descriptive latin co');
    const parts = ['a', 'b', 'c', 'def'].map((text) => part(text));
    expect(joinsOf(parts, 4)).toEqual(['abc', 'abcdef', 'bcdef', 'cdef']);
    expect(joinsOf(parts, 2)).toEqual(['cdef']);
    expect(parseName('!!!').parts).toEqual([]);
  });
});

describe('the coverage of names', () => {
  const NOW = Date.UTC(2026, 10, 21);
  const row = (list: string, listType = 'sanctions', ageMs = 0) =>
    ({
      list,
      listType,
      publishedAt: '2026-11-01',
      checkedAt: new Date(NOW - ageMs).toISOString(),
      parties: 1,
      verified: true,
    }) as never;
  const official = LISTS.required.map((list) => row(list));
  const week = 7 * 86_400_000;

  it('is complete if every official list is loaded and within the maximum age', () => {
    const of = (rows: never[]) => coverageOf(rows, NOW, 7).sanctions;
    expect(of(official)).toMatchObject({
      status: 'COMPLETE',
      missing: [],
      asOf: new Date(NOW).toISOString(),
    });
    expect(of([...official.slice(1), row('OFAC_SDN', 'sanctions', week)])).toMatchObject({
      status: 'COMPLETE',
      asOf: new Date(NOW - week).toISOString(),
    });
    expect(of([...official.slice(1), row('OFAC_SDN', 'sanctions', week + 1)]).status).toBe('PARTIAL');
    expect(of([...official, row('own', 'sanctions', week + 1)]).status).toBe('COMPLETE');
    expect(of(official.slice(1))).toMatchObject({ status: 'PARTIAL', missing: ['OFAC_SDN'] });
    expect(of([])).toMatchObject({ status: 'NONE', asOf: null });
  });

  it('of other types needs a complete collection, and states the problem otherwise', () => {
    const rows = [...official, row('seed', 'pep'), row('opensanctions:x', 'adverse_media', week + 1)];
    const coverage = coverageOf(rows, NOW, 7);
    expect([
      coverage.pep.status,
      coverage.adverse_media.status,
      coverageOf([row('opensanctions:x', 'pep')], NOW, 7).pep.status,
    ]).toEqual(['PARTIAL', 'PARTIAL', 'COMPLETE']);
    const [pep, media] = reasonsOf(coverage).map(({ message }) => message);
    expect(pep).toContain('Only part of the lists of type pep is loaded: seed');
    expect(media).toContain('too old: opensanctions:x (checked 2026-11-13)');
    expect(reasonsOf(coverageOf([row('EU')], NOW, 7))[0]?.message).toContain(
      'not loaded: OFAC_SDN, OFAC_CONS, UN, UK, CH',
    );
    expect(reasonsOf(coverageOf([], NOW, 7)).map(({ message }) => message.slice(0, 7))).toEqual(
      Array(3).fill('No list'),
    );
  });
});

describe('fingerprints', () => {
  const entity = (entityId: string, change: Partial<NameEntity> = {}): NameEntity =>
    ({
      entityId,
      list: 'EU',
      listType: 'sanctions',
      schema: 'Person',
      names: [{ text: 'A', kind: 'primary', weak: false }],
      birthDates: [],
      countries: [],
      programs: [],
      listedAt: null,
      delistedAt: null,
      sourceUrl: null,
      ...change,
    }) as NameEntity;

  it('identify each entity of a list, and no other', () => {
    const writer = new FingerprintWriter();
    const entities = Array.from({ length: 9 }, (_, at) =>
      entity(`e${at}`, { listedAt: `2026-01-0${at + 1}` }),
    );
    for (const each of entities) writer.add(each);
    mkdirSync(join(folder.path, 'f'));
    writer.write(join(folder.path, 'f'));
    const { of } = openFingerprints(join(folder.path, 'f'));
    for (const each of entities) expect(of('EU', each.entityId)).toBe(versionOf(each));
    expect([of('UN', 'e0'), of('EU', 'e9')]).toEqual([null, null]);
    const path = join(folder.path, 'f', 'fingerprints.bin');
    const written = readFileSync(path);
    const flipped = Buffer.from(written);
    flipped[0] = (flipped[0] as number) ^ 1;
    for (const bytes of [written.subarray(1), written.subarray(16), flipped]) {
      writeFileSync(path, bytes);
      expect(() => openFingerprints(join(folder.path, 'f'))).toThrow('fingerprints.bin is damaged');
    }
    // A file of an earlier version has no checksum.
    rmSync(path.replace('.bin', '.json'));
    expect(() => openFingerprints(join(folder.path, 'f'))).not.toThrow();
  });

  it('change with each field of an entity', () => {
    const changes: Partial<NameEntity>[] = [
      {},
      { schema: 'Organization' as never },
      { listedAt: 'x' },
      { countries: ['US'] },
      { programs: ['US'] },
      { birthDates: ['US'] },
      { names: [{ text: 'A', kind: 'primary', weak: true }] as never },
      { names: [{ text: 'A', kind: 'alias', weak: false }] as never },
    ];
    expect(new Set(changes.map((change) => versionOf(entity('e', change)))).size).toBe(changes.length);
  });
});

describe('the tally of a query', () => {
  const newTally = (weights: readonly number[]): Tally =>
    new Tally(Float32Array.from(weights), new Uint8Array(weights.length));
  const bestOf = (tally: Tally, total: number, most: number, least: number, leastShare: number) =>
    tally.best({ ...{ total, most, least, leastShare }, mostBeyond: 0, bound: null }).within;

  it('adds a gain once for each part, and further ones only to names that have gained', () => {
    const tally = newTally([1, 1, 1, 1, 1, 1, 1, 1]);
    tally.addAll(Int32Array.of(9, 5, 3, 9), 1, 3, 0.5, 1, true);
    tally.add(5, 0.25, 2);
    tally.add(5, 9, 2);
    tally.addAll(Int32Array.of(3, 7), 0, 2, 0.375, 2, false);
    expect(tally.count).toBe(2);
    const asked: number[] = [];
    tally.addKnown(4, (name) => (asked.push(name) > 0 && name === 5 ? 0.125 : 0));
    tally.addKnown(4, (name) => (name === 5 ? 0.125 : 0));
    tally.addKnown(1, () => 0.0625);
    expect(asked).toEqual([5, 3]);
    // 5 has 0.5 + 0.25 + 0.125, and 3 has 0.5 + 0.375: equal, so the lower number is first.
    expect([tally.count, bestOf(tally, 1, 8, 0, 0)]).toEqual([2, [3, 5]]);
    expect([tally.count, bestOf(tally, 1, 8, 0, 0)]).toEqual([0, []]);
  });

  it('returns the best names, and none below the least rank or share', () => {
    const tally = newTally([1, 2, 1, 4]);
    const best = (total: number, most: number, least: number, share: number) => {
      for (const [name, gain] of [
        [0, 0.5],
        [1, 1],
        [2, 0.25],
        [3, 1],
      ] as const)
        tally.add(name, gain, 1);
      return bestOf(tally, total, most, least, share);
    };
    expect(best(1, 4, 0, 0)).toEqual([1, 0, 3, 2]);
    expect([best(1, 1, 0, 0), best(1, 2, 0, 0), best(1, 3, 0, 0)]).toEqual([[1], [1, 0], [1, 0, 3]]);
    // A name is left out only if both the query and the name have too much that does not match.
    expect([best(1, 4, 0, 0.5), best(1, 4, 0, 0.51), best(4, 4, 0, 0.26), best(4, 4, 0, 0.25)]).toEqual([
      [1, 0, 3],
      [1, 3],
      [1, 0],
      [1, 3, 0, 2],
    ]);
    expect(best(1, 4, 0.6, 0)).toEqual([1]);
  });

  it('counts any number of names, and as many again for the next query', () => {
    const tally = newTally(new Array<number>(140_000).fill(1));
    for (const names of [10, 5_000, 12_000, 20_000, 3]) {
      // Numbers that lie apart, each with the class 3.
      const postings = Int32Array.from({ length: names }, (_, at) => (3 << POSTING_CLASS) | (at * 7));
      tally.addAll(postings, 0, names, 0.5, 1, true);
      tally.addAll(postings.slice(0, 2), 0, 2, 0.25, 2, false);
      expect(tally.count).toBe(names);
      tally.addKnown(4, (name) => (name === 14 ? 0.5 : 0));
      expect(bestOf(tally, 1, 4, 0, 0)).toEqual(names === 3 ? [14, 0, 7] : [14, 0, 7, 21]);
    }
  });
});

describe('readings of names', () => {
  const matches = (units: readonly { readonly pattern: string }[] | null, word: string): boolean =>
    new RegExp(`^${units?.map(({ pattern }) => pattern).join('')}$`).test(word);

  it('of Hangul are those of syllables only', () => {
    expect([hangulSpellings('가'), hangulPlain('가')]).toEqual([['ga', 'ka'], 'ga']);
    expect(hangulSpellings('힣')).toContain('hih');
    for (const other of ['\uabff', '\ud7a4', 'a', '金']) expect(hangulSpellings(other), other).toEqual([]);
    expect(['\uabff', '가', '힣', '\ud7a4'].map(isHangul)).toEqual([false, true, true, false]);
  });

  it('of pinyin are one to three syllables', () => {
    expect(
      ['wang', 'xiaoming', 'wangxiaoming', 'wangxiaomingli', '', 'smith', 'wangx'].map(isPinyin),
    ).toEqual([true, true, true, false, false, false, false]);
    expect(['zhang', 'zhangdong', 'zhangdongxi', 'zhangdongxizhu', 'wang'].map(wadeOf)).toEqual([
      'chang',
      'changtung',
      'changtunghsi',
      null,
      null,
    ]);
  });

  it('of foreign names in Chinese need the nasal only of a syllable without a consonant', () => {
    for (const [origin, spelled, missing] of [
      ['安娜', 'anna', 'ae'],
      ['恩佐', 'enzo', 'ezo'],
      ['延森', 'yansen', 'yase'],
    ] as const) {
      expect(matches(foreignUnits(origin), spelled), spelled).toBe(true);
      expect(matches(foreignUnits(origin), missing), missing).toBe(false);
    }
    for (const spelled of ['manna', 'mana']) expect(matches(foreignUnits('曼娜'), spelled)).toBe(true);
    expect(foreignUnits('曼x')).toBeNull();
  });

  it('of Arabic words ignore signs without a sound', () => {
    expect(abjadUnits('محـم٭د')).toEqual(abjadUnits('محمد'));
    expect(matches(abjadUnits('سليـم'), 'salim')).toBe(true);
  });
});

describe('the legal form of a name', () => {
  it('is its name if it has no other word', () => {
    const kinds = (name: string) => parseName(name).parts.map(({ kind }) => kind);
    for (const form of ['GmbH', 'Ltd', 'LLC']) {
      expect(kinds(form), form).not.toContain('form');
      expect(parseName(`Alpha ${form}`).forms, form).toHaveLength(1);
    }
  });
});

describe('cleared matches', () => {
  it('are at most the limit of an account; a pair that is cleared already may be cleared again', async () => {
    const more = NAME_LIMITS.clearedMatchesMax - 2;
    const store = openClearedStore(
      { path: join(folder.path, 'cleared.mdb') },
      {
        clock: { now: () => 0, monotonic: () => 0 },
        openStore: (...args) => {
          const opened = openLiveStore(...args);
          const root = Object.create(opened.root) as typeof opened.root;
          // Counts further matches: the limit is too high to write all of them.
          root.openDB = ((options: never) => {
            const database = opened.root.openDB(options);
            const count = database.getKeysCount.bind(database);
            database.getKeysCount = (range) => count(range) + more;
            return database;
          }) as never;
          return { ...opened, root };
        },
      },
    );
    const clear = (entityId: string) =>
      store.clear('a', { name: 'A', list: 'EU', entityId, entityName: 'N', entityVersion: 'v', note: null });
    await clear('1');
    await clear('2');
    await expect(clear('3')).rejects.toMatchObject({
      code: 'INVALID_REQUEST',
      message: expect.stringContaining('the maximum'),
    });
    await clear('1');
    expect(store.of('a', ['A'])[0]!).toHaveLength(2);
    await store.close();
  });

  it('are paged to exactly the last one, and deleted once', async () => {
    const store = openClearedStore(
      { path: join(folder.path, 'cleared.mdb') },
      { clock: { now: () => 0, monotonic: () => 0 } },
    );
    const clear = (name: string, entityId: string) =>
      store.clear('a', { name, list: 'EU', entityId, entityName: 'N', entityVersion: 'v', note: null });
    const [one, two] = [await clear('A b', '1'), await clear('a  B', '2')];
    await clear('C', '3');
    expect(
      store
        .of('a', [' a B '])[0]!
        .map(({ entityId }) => entityId)
        .sort(),
    ).toEqual(['1', '2']);
    expect(store.list('a', { limit: 3 })).toMatchObject({ cleared: { length: 3 }, nextCursor: null });
    const page = store.list('a', { limit: 2 });
    expect([page.cleared.length, page.nextCursor]).toEqual([2, page.cleared[1]?.id]);
    expect(store.list('a', { limit: 2, cursor: page.nextCursor! })).toMatchObject({
      cleared: { length: 1 },
      nextCursor: null,
    });
    expect(store.list('a', { limit: 2, name: 'a b' })).toMatchObject({
      cleared: { length: 2 },
      nextCursor: null,
    });
    const ofName = store.list('a', { limit: 1, name: 'a b' });
    expect(store.list('a', { limit: 1, name: 'a b', cursor: ofName.nextCursor! })).toMatchObject({
      cleared: { length: 1 },
      nextCursor: null,
    });
    expect(() => store.list('a', { limit: 1, name: 'c', cursor: ofName.nextCursor! })).toThrow(
      'cursor: not a cursor',
    );
    await expect(store.remove('b', one.id)).rejects.toThrow('no cleared match');
    expect((await store.remove('a', two.id)).entityId).toBe('2');
    await expect(store.remove('a', two.id)).rejects.toThrow('no cleared match');
    await store.close();
  });
});
