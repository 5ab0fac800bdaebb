/**
 * The index of names: the same answers for any order of lists, filters that change no score, and matches of the real lists with themselves.
 */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fitModel, readAnsweredPairs, readScoredPairs } from '../../bench/name-fit.ts';
import { ordinaryNames, readParties, seeded } from '../../bench/name-lists.ts';
import {
  confidenceOf,
  heldOutQuality,
  hitRate,
  ofacCorrelation,
  pairQuality,
  recallOf,
  scriptQuality,
} from '../../bench/name-quality.ts';
import { crossScriptPairs, ownScriptRecall } from '../../bench/name-scripts.ts';
import type { Clock } from '../../src/base/clock.ts';
import { AssayError } from '../../src/base/errors.ts';
import { shippedData } from '../../src/base/paths.ts';
import { buildNameIndex } from '../../src/names/index/build.ts';
import { HASH_BITS, keyHash } from '../../src/names/index/format.ts';
import { openNameIndex } from '../../src/names/index/open.ts';
import type { NameEntity, NameIndex, NameMatch } from '../../src/names/name.ts';
import { MARCH_21, readOfacOnce } from '../setup/ofac-records.ts';
import { describeWithSharedData, sharedData } from '../setup/shared-data.ts';

const clock: Clock = { now: () => Date.parse('2026-11-21T12:00:00Z'), monotonic: () => 0 };
let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'assay-names-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function indexOf(name: string, entities: readonly NameEntity[]): Promise<NameIndex> {
  const path = join(folder, name);
  mkdirSync(path);
  await buildNameIndex(entities, path, { clock });
  return openNameIndex(path);
}

const entity = (entityId: string, names: readonly string[], more: Partial<NameEntity> = {}): NameEntity => ({
  entityId,
  list: 'OFAC_SDN',
  listType: 'sanctions',
  schema: 'Person',
  names: names.map((text, at) => ({ text, kind: at === 0 ? 'primary' : 'alias', weak: false, script: null })),
  birthDates: [],
  countries: [],
  programs: [],
  listedAt: null,
  delistedAt: null,
  sourceUrl: null,
  ...more,
});

/** What a match says without its explanation. */
const factsOf = ({ entityId, list, listType, primaryName, matchedName, score, weak }: NameMatch) => ({
  ...{ entityId, list, listType, primaryName, matchedName, score, weak },
});

const PEOPLE = [
  entity('1', ['Putin, Vladimir Vladimirovich', 'Путин Владимир'], {
    birthDates: ['1952-10-07'],
    countries: ['RU'],
  }),
  entity('2', ['Maduro Moros, Nicolás'], { birthDates: ['1962-11-23'], countries: ['VE'] }),
  entity('3', ['JSC Argument'], { schema: 'Organization' }),
  entity('4', ['Vanderbilt Shipping LLC'], { schema: 'Organization', list: 'EU' }),
  entity('5', ['Ivan Petrov'], { listType: 'pep', list: 'opensanctions' }),
];

describe('an index of names', () => {
  it('finds names across scripts, typos, joined words and order, and explains the match', async () => {
    const index = await indexOf('small', PEOPLE);
    const first = (name: string): string | undefined => index.match({ name })[0]?.entityId;
    expect(
      ['Владимир Путин', 'Vladmir Putin', 'Maduro Nicolas Moros', 'JSCARGUMENT', 'van der bilt shipping'].map(
        first,
      ),
    ).toEqual(['1', '1', '2', '3', '4']);
    expect(first('Gertrude Ordinary')).toBeUndefined();
    const [match] = index.match({ name: 'Ivan Petrov' });
    expect(match).toMatchObject({
      score: 1,
      listType: 'pep',
      primaryName: 'Ivan Petrov',
      matchedName: 'Ivan Petrov',
    });
    expect(match?.explanation.map((reason) => reason.kind)).toEqual(['exact', 'exact']);
    expect(index.match({ name: '!!!' })).toEqual([]);
    index.close();
  });

  it('shows of names that match alike the one that the list has first', async () => {
    const index = await indexOf('alike', [
      entity('1', ['Omari Ali Hasan', 'Ali Hasan Omari']),
      entity('2', ['Viktorov Pavel Yegorkin', 'Pavel Yegorkin Viktorov', 'Pavel Viktorov']),
    ]);
    const shown = (name: string): string | undefined => index.match({ name })[0]?.matchedName;
    expect(['Hasan Ali Omari', 'Yegorkin Pavel Viktorov', 'Pavel Yegorkin'].map(shown)).toEqual([
      'Omari Ali Hasan',
      'Viktorov Pavel Yegorkin',
      'Viktorov Pavel Yegorkin',
    ]);
    index.close();
  });

  it('returns a single name that is the same before one of another script that may be read so', async () => {
    const index = await indexOf('readings', [entity('1', ['بثينة شعبان']), entity('2', ['Putin, Vladimir'])]);
    const found = index.match({ name: 'Putin' });
    expect(found.map(({ entityId, score }) => [entityId, score])).toEqual([
      ['2', 0.8],
      ['1', 0.8],
    ]);
    index.close();
  });

  it('finds every entity with a common name, and a name that consists only of a title', async () => {
    const bearers = Array.from({ length: 90 }, (_, at) => entity(`a${at}`, ['Abdul Rahman']));
    const others = Array.from({ length: 400 }, (_, at) => entity(`0${at}`, [`Abdul Rahman ${at} Example`]));
    const index = await indexOf('common', [
      ...others,
      ...bearers,
      entity('m', ['Aung Example Win', 'Major']),
      entity('n', ['Major Tom Example']),
    ]);
    const found = index.match({ name: 'Abdul Rahman' }, { limit: 500 });
    expect(found.filter((match) => match.score === 1)).toHaveLength(90);
    expect(found.slice(0, 90).every((match) => match.entityId.startsWith('a'))).toBe(true);
    // The only name of a person does not identify by itself.
    expect(index.match({ name: 'Major' })[0]).toMatchObject({ entityId: 'm', score: 0.8, partial: true });
    index.close();
  });

  it('calls every single name of a query about a person partial, and puts the same word before similar ones', async () => {
    const index = await indexOf('singles', [
      entity('s1', ['Salmane']),
      entity('s2', ['Salman']),
      entity('s3', ['Salman Example']),
    ]);
    const found = index.match({ name: 'Salman' });
    expect(found[0]).toMatchObject({ entityId: 's2', score: 0.8, partial: true });
    expect(found.every((match) => match.partial && match.score <= 0.8)).toBe(true);
    index.close();
  });

  it('calls a single word partial against a company or a vessel too, unless it is the same word', async () => {
    const index = await indexOf('single-words', [
      entity('p', ['Hassan']),
      entity('o', ['Hassam'], { schema: 'Organization' }),
      entity('v', ['Hassan'], { schema: 'Vessel' }),
    ]);
    const found = index
      .match({ name: 'Hassan' })
      .map(({ entityId, score, partial }) => [entityId, score, partial]);
    expect(found).toEqual([
      ['v', 1, false],
      ['p', 0.8, true],
      ['o', 0.8, true],
    ]);
    // A legal form says that the word is a company's whole name.
    const [firm] = index.match({ name: 'Hassamm Ltd' });
    expect(firm).toMatchObject({ entityId: 'o', partial: false });
    expect(firm?.score).toBeGreaterThan(0.9);
    index.close();
  });

  it('finds an organisation with an abbreviation in capitals in spite of a wrong letter', async () => {
    const index = await indexOf('abbreviations', [
      entity('aqy', ['Al-Qaida in Yemen (AQY)'], { schema: 'Organization' }),
      entity('setad', ['Setad-PV'], { schema: 'Organization' }),
    ]);
    const first = (name: string) => index.match({ name })[0]?.entityId;
    expect(['Al-Qaida in Ygemen (AQY)', 'Stad-PV'].map(first)).toEqual(['aqy', 'setad']);
    // A surname in capitals beside a given name is still a person's.
    expect(index.match({ name: 'Ivan YEMEN' })).toEqual([]);
    index.close();
  });

  it('omits a name without a readable letter, and keeps a name as weak only if each occurrence is', async () => {
    const named = (text: string, weak: boolean) => ({ text, kind: 'alias', weak, script: null }) as const;
    const several = { ...entity('6', []), names: [named('!!!', false), named('Tamsin Ellery', true)] };
    const both = { ...entity('7', []), names: [...several.names, named('Tamsin Ellery', false)] };
    const index = await indexOf('unreadable', [several, both]);
    expect(index.meta).toMatchObject({ entities: 2, names: 2 });
    const found = index.match({ name: 'Tamsin Ellery' });
    const scoreOf = (id: string): number => found.find((match) => match.entityId === id)?.score ?? 0;
    expect(scoreOf('6')).toBeLessThan(scoreOf('7'));
    index.close();
  });

  it('hashes keys as in every index of this format', () => {
    const hashes = ['', ':a', ':putin', '~ptn', '#7'].map(keyHash);
    expect(hashes).toEqual([27_987_900, 146_900_626, 139_897_922, 257_672_643, 182_812_225]);
    expect(Math.max(...hashes)).toBeLessThan(2 ** HASH_BITS);
  });

  it('returns the same matches in any order of entities and queries', async () => {
    const [one, other] = [await indexOf('there', PEOPLE), await indexOf('back', [...PEOPLE].reverse())];
    expect(one.meta.version).toBe(other.meta.version);
    const queries = ['Vladimir Putin', 'Ivan Petrov', 'Nicolas Maduro'];
    const answers = queries.map((name) => one.match({ name }).map(factsOf));
    expect(
      [...queries]
        .reverse()
        .map((name) => other.match({ name }).map(factsOf))
        .reverse(),
    ).toEqual(answers);
    one.close();
    other.close();
  });

  it('reads the list type of each match, and refuses to read a match after it is closed', async () => {
    const trap = entity('6', ['Petrov Ivan'], {
      entityId: '",\\"listType":"sanctions',
      listType: 'adverse_media',
      list: 'media',
    });
    const index = await indexOf('types', [...PEOPLE, trap, entity('7', ['Petrov Ivan'])]);
    const matches = index.match({ name: 'Ivan Petrov' });
    expect(new Set(matches.map(({ listType, list }) => `${listType} ${list}`))).toEqual(
      new Set(['sanctions OFAC_SDN', 'pep opensanctions', 'adverse_media media']),
    );
    const unread = index.match({ name: 'Ivan Petrov' })[0];
    index.close();
    expect(matches[0]?.list).toBe('opensanctions');
    expect(unread?.score).toBeGreaterThan(0.9);
    expect(() => unread?.primaryName).toThrow(/closed/);
    expect(() => unread?.matchedName).toThrow(/closed/);
  });

  it('keeps scores at any threshold or limit, and weighs evidence', async () => {
    const index = await indexOf('filters', PEOPLE);
    const name = 'Vladimir Putin';
    const all = index.match({ name }, { threshold: 0 });
    for (const threshold of [0.1, 0.5, 0.8]) {
      const some = index.match({ name }, { threshold });
      expect(some.map(factsOf)).toEqual(all.filter((match) => match.score >= threshold).map(factsOf));
    }
    expect(index.match({ name }, { threshold: 0, limit: 1 }).map(factsOf)).toEqual(
      all.slice(0, 1).map(factsOf),
    );
    const scoreOf = (birthDate: string): number =>
      index.match({ name, birthDate }, { threshold: 0 })[0]?.score ?? 0;
    expect(scoreOf('1952-10-07')).toBeGreaterThan(all[0]?.score ?? 1);
    expect(scoreOf('1999-01-01')).toBeLessThan(all[0]?.score ?? 0);
    index.close();
  });

  it('matches no person with a company or a vessel, unless the names are equal and no kind is asked for', async () => {
    const index = await indexOf('kinds', [
      entity('yard', ['Tao Yang Shipyard'], { schema: 'Organization' }),
      entity('ship', ['MARIA GARCIA'], { schema: 'Vessel' }),
      entity('firm', ['Ivan Petrov Ltd'], { schema: 'Organization' }),
    ]);
    expect(index.match({ name: 'Tao Yang' })).toEqual([]);
    expect(index.match({ name: 'Maria Garcia' })[0]).toMatchObject({ entityId: 'ship', score: 1 });
    expect(index.match({ name: 'Maria Garcia', schema: 'Person' })).toEqual([]);
    expect(index.match({ name: 'Maria Elena Garcia' })).toEqual([]);
    expect(index.match({ name: 'Ivan Petrov', schema: 'Person' })).toEqual([]);
    expect(index.match({ name: 'Ivan Petrov GmbH' })[0]).toMatchObject({ entityId: 'firm' });
    index.close();
  });

  it('reads words of people that are also legal forms as names, and those of firms as forms', async () => {
    const firm = { schema: 'Organization' } as const;
    const index = await indexOf('two-readings', [
      entity('1', ['Pak, Han Se']),
      entity('2', ['PAO, Hua Chiang']),
      entity('3', ['AL-DURI, Izzat Ibrahim']),
      entity('4', ['اتابک, سید محمد']),
      entity('5', ['Khun Sa']),
      entity('6', ['Acuario Delta'], firm),
      entity('7', ['Se Han Pak SA'], { schema: 'Unknown' }),
    ]);
    const ids = (name: string, schema?: NameEntity['schema']): string[] =>
      index
        .match(schema ? { name, schema } : { name })
        .filter(({ score }) => score >= 0.85)
        .map(({ entityId }) => entityId);
    expect(ids('Han Pak Se')).toEqual(['1', '7']);
    expect(ids('Han Pak Se', 'Person')).toEqual(['1', '7']);
    expect(ids('Han Pak Se', 'Organization')).toEqual(['7']);
    expect([ids('Hua Chiang Pao'), ids('Ad-Duri Izzat Ibrahim'), ids('سید محمد اتابک')]).toEqual([
      ['2'],
      ['3'],
      ['4'],
    ]);
    // The form of a firm is no name of a person, whatever the person is called.
    expect(index.match({ name: 'Acuario Delta SA' }).map(({ entityId }) => entityId)).toEqual(['6']);
    expect(ids('Pak Han Ltd')).toEqual([]);
    const [match] = index.match({ name: 'Hua Chiang Pao' });
    expect(match?.explanation.map(({ kind, asked }) => [kind, asked])).toEqual([
      ['exact', 'Hua'],
      ['exact', 'Chiang'],
      ['exact', 'Pao'],
      ['order', null],
    ]);
    index.close();
  });

  it('shows a party without a Latin primary name under its first strong Latin name', async () => {
    const index = await indexOf('latin', [
      {
        ...entity('q', ['базата', 'The Base', 'Al-Qaida']),
        names: [
          { text: 'базата', kind: 'primary', weak: false, script: null },
          { text: 'The Base', kind: 'alias', weak: true, script: null },
          { text: 'Al-Qaida', kind: 'alias', weak: false, script: null },
        ],
      },
    ]);
    expect(index.match({ name: 'al qaeda' })[0]?.primaryName).toBe('Al-Qaida');
    index.close();
  });

  it('finds Latin names by names in other scripts, and the reverse', async () => {
    const index = await indexOf('scripts', [
      entity('kim', ['KIM, Jong Un']),
      entity('putin', ['PUTIN, Vladimir Vladimirovich']),
      entity('nasrallah', ['NASRALLAH, Hasan']),
      entity('xi', ['习近平']),
      entity('qadhafi', ['القذافي, معمر']),
      entity('lavrov', ['LAVROV, Sergey Viktorovich']),
    ]);
    const first = (name: string): string | undefined => index.match({ name })[0]?.entityId;
    expect(
      [
        '金正恩',
        '김정은',
        '普京',
        '弗拉基米尔·普京',
        'プーチン',
        'حسن نصر الله',
        'Xi Jinping',
        'Muammar Gaddafi',
        'S.V. Lavrov',
      ].map(first),
    ).toEqual(['kim', 'kim', 'putin', 'putin', 'putin', 'nasrallah', 'xi', 'qadhafi', 'lavrov']);
    index.close();
  });

  it('finds Japanese names in kanji, and Arabic names with an article or compounds, in both directions', async () => {
    const pairs = [
      ['小泉純一郎', 'KOIZUMI, Junichiro'],
      ['長谷川誠', 'Makoto Hasegawa'],
      ['佐々木健太郎', 'SASAKI Kentaro'],
      ['太田くみ子', 'Kumiko Ota'],
      ['صالح الراشد', 'Saleh AL-RASHED'],
      ['خالد السكيني', 'Alskeni, Khalid'],
      ['علیرضا بلالی', 'Ali Reza Balali'],
      ['يحيى حقاني', 'Yahya Haqqani'],
    ] as const;
    const own = await indexOf(
      'own-letters',
      pairs.map(([name, latin]) => entity(latin, [name])),
    );
    const latin = await indexOf(
      'latin-letters',
      pairs.map(([name, spelled]) => entity(name, [spelled])),
    );
    for (const [name, spelled] of pairs) {
      expect(own.match({ name: spelled })[0]?.entityId, spelled).toBe(spelled);
      expect(latin.match({ name })[0]?.entityId, name).toBe(name);
    }
    own.close();
    latin.close();
  });

  it('returns no match from an empty index, and rejects a file that is not an index', async () => {
    const empty = await indexOf('empty', []);
    expect(empty.match({ name: 'Anybody' })).toEqual([]);
    empty.close();
    const broken = join(folder, 'broken');
    mkdirSync(broken);
    writeFileSync(join(broken, 'names.mdb'), 'not an index');
    expect(() => openNameIndex(broken)).toThrow(AssayError);
    (await indexOf('short', PEOPLE)).close();
    const file = join(folder, 'short', 'names.mdb');
    truncateSync(file, statSync(file).size - 4096);
    expect(() => openNameIndex(join(folder, 'short'))).toThrow('truncated');
  });
});

describeWithSharedData('pairs with known answers', () => {
  const pairs = sharedData('names', 'nomenklatura_pairs_dev.csv');
  const scores = sharedData('names', 'ofac_search_scores.csv');

  it('are classified with the required quality', () => {
    const quality = pairQuality(pairs);
    expect(quality.f1).toBeGreaterThanOrEqual(0.9);
    expect(quality.auc).toBeGreaterThanOrEqual(0.94);
    expect(quality.nine.right).toBeGreaterThanOrEqual(0.85);
  });

  it('are classified with the required quality by models that were fitted without them', () => {
    const held = heldOutQuality(pairs, scores);
    expect(held.pairs.f1).toBeGreaterThanOrEqual(0.9);
    expect(held.pairs.auc).toBeGreaterThanOrEqual(0.94);
    expect(held.pairs.nine.right).toBeGreaterThanOrEqual(0.85);
  });

  // OFAC's search scores a query that is part of a name at 100; here it is partial, and a namesake scores low.
  it("are ranked much like in OFAC's own search", () => {
    expect(ofacCorrelation(scores, false)).toBeGreaterThanOrEqual(0.7);
    expect(ofacCorrelation(scores, true)).toBeGreaterThanOrEqual(0.7);
  });

  it('reproduce the shipped weights', () => {
    const shipped = JSON.parse(readFileSync(shippedData('names', 'model.json'), 'utf8')) as {
      model: unknown;
    };
    expect(fitModel(readAnsweredPairs(pairs), readScoredPairs(scores)).model).toEqual(shipped.model);
  });
});

describeWithSharedData('the whole list of OFAC', () => {
  let index: NameIndex;
  let parties: NameEntity[];
  beforeAll(async () => {
    parties = await readParties(readOfacOnce, MARCH_21);
    index = await indexOf('ofac', parties);
  });
  afterAll(() => index.close());

  it.each([
    ['none', 600, 1],
    ['typo', 500, 0.97],
    ['swapped', 400, 0.97],
    // A missing family name costs, so a namesake with a common name is not a match.
    ['dropped', 400, 0.85],
  ] as const)('finds names changed by %s', (change, count, least) => {
    expect(recallOf(index, parties, change, count).first).toBeGreaterThanOrEqual(least);
  });

  it('has names in other scripts that match a Latin name of their party', () => {
    const own = ownScriptRecall(parties, confidenceOf);
    const share = (script: string): number => (own[script]?.found ?? 0) / (own[script]?.names ?? 0);
    expect(share('Arabic')).toBeGreaterThanOrEqual(0.94);
    expect(share('Cyrillic')).toBeGreaterThanOrEqual(0.98);
    expect(share('Han')).toBeGreaterThanOrEqual(0.96);
  });

  it('gives pairs across scripts of which 95 % are right at 0.7, also of names in kanji', () => {
    const { right, byScript } = scriptQuality(crossScriptPairs(parties));
    expect(right).toBeGreaterThanOrEqual(0.95);
    const { Japanese } = byScript;
    expect((Japanese?.right ?? 0) / (Japanese?.pairs ?? 0)).toBeGreaterThanOrEqual(0.92);
  });

  it('rarely matches ordinary names', () => {
    expect(hitRate(index, ordinaryNames(1_000, 5), 0.85)).toBeLessThanOrEqual(0.01);
  });

  it('keeps scores at any threshold or limit', () => {
    const random = seeded(23);
    for (let round = 0; round < 40; round++) {
      const party = parties[Math.floor(random() * parties.length)] as NameEntity;
      const name = (party.names[0]?.text ?? '').slice(0, -1);
      const all = index.match({ name }, { threshold: 0.5, limit: 1_000 });
      const some = index.match({ name }, { threshold: 0.8, limit: 1_000 });
      expect(some.map(factsOf)).toEqual(all.filter((match) => match.score >= 0.8).map(factsOf));
      const best = index.match({ name }, { threshold: 0.5, limit: 3 });
      expect(best.map(factsOf)).toEqual(all.slice(0, 3).map(factsOf));
    }
  });
});
