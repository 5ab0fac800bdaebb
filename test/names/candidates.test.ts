/** The search of candidates: it returns the best matches that a comparison with every name of the index returns. */
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { frequentNames, ordinaryNames, readParties, seeded } from '../../bench/name-lists.ts';
import type { Clock } from '../../src/base/clock.ts';
import { buildNameIndex } from '../../src/names/index/build.ts';
import { openNameIndex } from '../../src/names/index/open.ts';
import type { NameEntity, NameIndex, NameMatch, NameQuery } from '../../src/names/name.ts';
import type { PartySchema } from '../../src/sources/records.ts';
import { MARCH_21, readOfacOnce } from '../setup/ofac-records.ts';
import { describeWithSharedData } from '../setup/shared-data.ts';

/**
 * Each name is compared with all names of an index, which takes half a second for the whole list of OFAC. `npm test` takes every third party
 * of it, and as many names as there are kinds of change, twice.
 */
const LONG = process.env.ASSAY_TEST_LONG === '1';
const ASKED = LONG ? 400 : 16;
/** One of so many of 3,000 names is asked for. */
const STEP = LONG ? 8 : 20;
const clock: Clock = { now: () => Date.parse('2026-11-27T12:00:00Z'), monotonic: () => 0 };
let folder = '';
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'assay-candidates-'));
});
afterAll(() => rmSync(folder, { recursive: true, force: true }));

async function indexOf(name: string, entities: readonly NameEntity[]): Promise<NameIndex> {
  const path = join(folder, name);
  mkdirSync(path);
  await buildNameIndex(entities, path, { clock });
  return openNameIndex(path);
}

const entity = (entityId: string, text: string, schema: PartySchema = 'Person'): NameEntity => ({
  entityId,
  list: 'OFAC_SDN',
  listType: 'sanctions',
  schema,
  names: [{ text, kind: 'primary', weak: false, script: null }],
  birthDates: [],
  countries: [],
  programs: [],
  listedAt: null,
  delistedAt: null,
  sourceUrl: null,
});

/** Changes a name: one letter left out, doubled or turned, words in another order, joined, left out, or an initial. */
function altered(name: string, random: () => number): string {
  const at = Math.floor(random() * (name.length - 1));
  const words = name.split(/[ ,]+/);
  const word = Math.floor(random() * words.length);
  const changes: readonly (() => string)[] = [
    () => name,
    () => name.slice(0, at) + name.slice(at + 1),
    () => name.slice(0, at) + name[at] + name.slice(at),
    () => name.slice(0, at) + name[at + 1] + name[at] + name.slice(at + 2),
    () => [...words.slice(1), words[0]].join(' '),
    () => words.slice(0, 2).join('') + [' ', ...words.slice(2)].join(' '),
    () => (words.length > 2 ? words.filter((_, index) => index !== word).join(' ') : name),
    () => words.map((each, index) => (index === 0 ? `${each[0]}.` : each)).join(' '),
  ];
  return (changes[Math.floor(random() * changes.length)] as () => string)();
}

/** A name with more matches is common: the search compares only the most promising of its names. */
const COMMON = 40;

const keyOf = ({ entityId, score }: NameMatch): string => `${score} ${entityId}`;

/** Requires the first match, and all others, from a score on to be those of the comparison with every name; returns how many there were. */
function requireSame(index: NameIndex, query: NameQuery, sure: number, threshold = 0.7): number {
  const all = index.match(query, { exhaustive: true, limit: 1_000, threshold });
  const found = index.match(query, { limit: 1_000, threshold });
  if (all.length > COMMON) return all.length;
  if ((all[0]?.score ?? 0) >= sure) expect(found[0]?.score, query.name).toBe(all[0]?.score);
  const keys = new Set(found.map(keyOf));
  const every = new Set(all.map(keyOf));
  // Nothing is found that the comparison with every name does not find.
  expect(
    found.filter((match) => !every.has(keyOf(match))),
    query.name,
  ).toEqual([]);
  expect(
    all.filter((match) => match.score >= sure && !keys.has(keyOf(match))).map((match) => match.matchedName),
    query.name,
  ).toEqual([]);
  return all.length;
}

describe('the search of candidates', () => {
  it('returns the best matches of all names, for people of many countries', async () => {
    const random = seeded(31);
    const names = [...new Set([...ordinaryNames(1_500, 51), ...frequentNames(1_500, 52)])];
    const index = await indexOf(
      'people',
      names.map((name, at) => entity(String(at), name)),
    );
    let matches = 0;
    for (let at = 0; at < names.length; at += STEP) {
      const name = altered(names[at] as string, random);
      matches += requireSame(index, { name }, 0.9);
      if (at % (8 * STEP) === 0) matches += requireSame(index, { name, birthDate: '1970-01-01' }, 0.9);
    }
    expect(matches).toBeGreaterThan(2_400 / STEP);
    index.close();
  });

  it('keeps names whose words are found weakly, joined, or by initials only', async () => {
    const others = Array.from({ length: 300 }, (_, at) => entity(`o${at}`, `Muhamma Habu${at} Example`));
    const index = await indexOf('bounds', [
      ...others,
      entity('weak', 'Habu, Muhammad'),
      entity('joined', 'Islamic State in the Greater Sahara (ISGS)', 'Organization'),
      entity('letters', 'Lavrov S.V.'),
      entity('apart', 'Abubakr Hassan Said'),
      entity('single', 'Kornet Limited Liability Company', 'Organization'),
      entity('arabic', 'بسيج دانشجاوي', 'Organization'),
    ]);
    const asked: readonly (readonly [string, string])[] = [
      ['Habu, Muhamma', 'weak'],
      ['Islamic State in the Greatersahara (ISGS)', 'joined'],
      ['Islamic State in the Greatersahrra (ISGS)', 'joined'],
      ['Sergey Viktorovich Lavrov', 'letters'],
      ['S.V. Lavrov', 'letters'],
      ['Abu Bakar Hassan Said', 'apart'],
      ['Kornet Ihor Limited', 'single'],
      ['بسيج انشجاوي', 'arabic'],
    ];
    for (const [name, own] of asked) {
      requireSame(index, { name }, 0.9);
      expect(
        index.match({ name }).map((match) => match.entityId),
        name,
      ).toContain(own);
    }
    index.close();
  });
});

describeWithSharedData('the search of candidates of the list of OFAC', () => {
  it('returns the best matches of all names, with typos, other orders and ordinary people', async () => {
    const random = seeded(37);
    const all = await readParties(readOfacOnce, MARCH_21);
    const parties = LONG ? all : all.filter((_, at) => at % 3 === 0);
    const index = await indexOf('ofac', parties);
    const listed = parties.flatMap((party) => party.names.map((name) => name.text));
    const asked = Array.from({ length: ASKED }, () =>
      altered(listed[Math.floor(random() * listed.length)] as string, random),
    );
    let matches = 0;
    for (const name of [...asked, ...ordinaryNames(ASKED / 4, 53)]) {
      // Open: of one word that is two common names (`ABDELRAHMAN`), a spelling with rarer words may crowd out a better match.
      if (name.trim().includes(' ')) matches += requireSame(index, { name }, 0.95);
    }
    // A third of the list has fewer matches.
    expect(matches).toBeGreaterThan(LONG ? ASKED : ASKED / 2);
    index.close();
  }, 1_800_000);
});
