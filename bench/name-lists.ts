/** Real names for measurements: the sanctions lists of the shared data, and ordinary people drawn from name lists of many languages. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { allLocales } from '@faker-js/faker';
import { projectRoot } from '../src/base/paths.ts';
import type { NameEntity } from '../src/names/name.ts';
import { readCountryNames } from '../src/names/vocabulary.ts';
import { ofacReader } from '../src/sources/ofac/read.ts';
import type { PartyName, PartySchema, SourceReader } from '../src/sources/records.ts';
import { unReader } from '../src/sources/un/read.ts';

/**
 * Reads the lists of OFAC, the UN, the EU and the UK.
 *
 * @param file - returns the path of a file of the shared data
 * @param sdnReader - reads the SDN list
 */
export async function readRealNames(
  file: (...path: string[]) => string,
  sdnReader: SourceReader = ofacReader,
): Promise<NameEntity[]> {
  return [
    ...(await readParties(sdnReader, file('ofac', 'sdn_advanced_2025-03-21.xml.gz'))),
    ...(await readParties(ofacReader, file('ofac', 'consolidated_2022-02-24.xml'))),
    ...(await readParties(unReader, file('un', 'un_consolidated_2026-02-27.xml'))),
    ...readEuNames(file('eu', 'eu_fsf_names_2026-05-01.jsonl.gz')),
    ...readUkNames(file('uk', 'uk_sanctions_list_2026-08-22.jsonl.gz')),
  ];
}

export async function readParties(reader: SourceReader, path: string): Promise<NameEntity[]> {
  const entities: NameEntity[] = [];
  for await (const record of reader([path])) {
    if (record.type !== 'party' || record.names.length === 0) continue;
    const { entityId, list, schema, names, birthDates, countries, programs, listedAt, delistedAt } = record;
    const numbers = record.identifiers === undefined ? {} : { identifiers: record.identifiers };
    const facts = { birthDates, countries, programs, listedAt, delistedAt, sourceUrl: null };
    entities.push({ entityId, list, listType: 'sanctions', schema, names, ...facts, ...numbers });
  }
  return entities;
}

const linesOf = (path: string): string[] =>
  gunzipSync(readFileSync(path))
    .toString('utf8')
    .split('\n')
    .filter((line) => line !== '');

function plainEntity(entityId: string, list: string, schema: PartySchema, names: PartyName[]): NameEntity {
  const facts = {
    birthDates: [],
    countries: [],
    programs: [],
    listedAt: null,
    delistedAt: null,
    sourceUrl: null,
  };
  return { entityId, list, listType: 'sanctions', schema, names, ...facts };
}

/** The first name is the primary one. The layout does not mark weak names. */
function readEuNames(path: string): NameEntity[] {
  return linesOf(path).flatMap((line, at) => {
    const row = JSON.parse(line) as { names?: string[]; entity_type: string };
    if (!row.names || row.names.length === 0) return [];
    const names = row.names.map(
      (text, index): PartyName => ({
        text,
        kind: index === 0 ? 'primary' : 'alias',
        weak: false,
        script: null,
      }),
    );
    return [plainEntity(`eu-${at}`, 'EU', row.entity_type === 'person' ? 'Person' : 'Organization', names)];
  });
}

interface UkRow {
  readonly unique_id: string;
  readonly individual_entity_ship: string;
  readonly names?: { readonly names?: readonly Record<string, string>[] };
  readonly non_latin_names?: { readonly names?: readonly Record<string, string>[] };
}

function readUkNames(path: string): NameEntity[] {
  return linesOf(path).flatMap((line) => {
    const row = JSON.parse(line) as UkRow;
    const names: PartyName[] = (row.names?.names ?? []).map((name) => ({
      text: [1, 2, 3, 4, 5, 6]
        .map((part) => name[`name${part}`] ?? '')
        .filter(Boolean)
        .join(' '),
      kind: name.name_type?.startsWith('Primary') ? 'primary' : 'alias',
      weak: (name.alias_strength ?? '').toLowerCase().includes('low'),
      script: null,
    }));
    for (const name of row.non_latin_names?.names ?? []) {
      const text = name.name_non_latin_script;
      if (text) names.push({ text, kind: 'alias', weak: false, script: 'non-latin' });
    }
    const schema = { Individual: 'Person', Entity: 'Organization', Ship: 'Vessel' }[
      row.individual_entity_ship
    ];
    return names.length === 0
      ? []
      : [plainEntity(row.unique_id, 'UK', (schema ?? 'Unknown') as PartySchema, names)];
  });
}

/** A small seeded generator: the same names in every run. */
export function seeded(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** Languages for which the package takes its lists of given names and surnames from statistics offices and registers. */
export const ORDINARY_LOCALES = [
  'en',
  'de',
  'fr',
  'es',
  'it',
  'pl',
  'cs_CZ',
  'pt_BR',
  'nl',
  'sv',
  'tr',
  'ru',
] as const;

/** Ordinary people: given name and surname of one language, with all entries of a list equally likely. */
export function ordinaryNames(count: number, seed: number): string[] {
  const random = seeded(seed);
  const flat = (lists: object | null | undefined): string[] =>
    Object.values(lists ?? {})
      .flat()
      .filter((name): name is string => typeof name === 'string');
  const languages = ORDINARY_LOCALES.map((locale) => {
    const person = allLocales[locale].person;
    return { given: flat(person?.first_name), family: flat(person?.last_name) };
  });
  const pick = (list: readonly string[]): string => list[Math.floor(random() * list.length)] as string;
  return Array.from({ length: count }, (_, at) => {
    const { given, family } = languages[at % languages.length] as (typeof languages)[number];
    return `${pick(given)} ${pick(family)}`;
  });
}

/** People of ten countries: given name and surname of one country, each drawn by its frequency there. */
export function frequentNames(count: number, seed: number): string[] {
  const random = seeded(seed);
  const countries = Object.values(readCountryNames()).filter(({ given }) => Object.keys(given).length > 0);
  const drawn = (names: Readonly<Record<string, number>>): string => {
    const rows = Object.entries(names);
    let left = random() * rows.reduce((sum, [, share]) => sum + share, 0);
    for (const [name, share] of rows) {
      left -= share;
      if (left <= 0) return name;
    }
    return rows.at(-1)?.[0] ?? '';
  };
  return Array.from({ length: count }, (_, at) => {
    const { given, family } = countries[at % countries.length] as (typeof countries)[number];
    return `${drawn(given)} ${drawn(family)}`;
  });
}

/** People of the Arab countries, Iran and Pakistan in Arabic script: a frequent given name and surname of one region (`name-arabic.json`). */
export function arabicNames(count: number, seed: number): string[] {
  const random = seeded(seed);
  const { groups } = JSON.parse(readFileSync(join(projectRoot, 'bench', 'name-arabic.json'), 'utf8')) as {
    groups: Record<string, { given: string; family: string }>;
  };
  const regions = Object.values(groups).map(({ given, family }) => ({
    given: given.split(' '),
    family: family.split(' '),
  }));
  const pick = (list: readonly string[]): string =>
    (list[Math.floor(random() * list.length)] as string).replaceAll('_', ' ');
  return Array.from({ length: count }, (_, at) => {
    const { given, family } = regions[at % regions.length] as (typeof regions)[number];
    return `${pick(given)} ${pick(family)}`;
  });
}
