/**
 * Geographic risk of an address: which of its countries are on a list (data/high-risk-countries.json), and the score that
 * follows.
 */
import { shippedData } from '../base/paths.ts';
import { documentFields, type Fact, isInForceOn, readDocument } from './jurisdictions.ts';

export const COUNTRY_LISTS = ['FATF_BLACK', 'FATF_GREY', 'SANCTIONED'] as const;

export type CountryListId = (typeof COUNTRY_LISTS)[number];

/** A list of countries as of its date. It does not contain later decisions of its publisher. */
export interface CountryList extends Fact {
  readonly id: CountryListId;
  readonly name: string;
  /** Geographic score, 0 to 100, if the owner's country is on the list or all value is traded with countries on it. */
  readonly score: number;
  readonly jurisdictions: readonly string[];
}

/**
 * A part of a country that a list names without the rest. Labels know only countries, so answers report the part but cannot match
 * it.
 */
export interface ListedTerritory extends Fact {
  readonly name: string;
  /** ISO 3166-1 alpha-2 of the country that contains it. */
  readonly within: string;
  readonly list: CountryListId;
}

export interface CountryLists {
  readonly version: string;
  readonly lists: readonly CountryList[];
  readonly territories: readonly ListedTerritory[];
}

/**
 * Reads a document of country lists.
 *
 * @throws INVALID_FILE naming the field.
 */
export function parseCountryLists(document: unknown): CountryLists {
  const { wrong, object, list, text, fact, country } = documentFields('high-risk-countries.json');
  const top = object(document, 'the document');
  const idIn = (value: unknown, field: string): CountryListId => {
    const id = COUNTRY_LISTS.find((known) => known === value);
    if (id === undefined) throw wrong(field, `one of ${COUNTRY_LISTS.join(', ')}`);
    return id;
  };
  const lists = list(top.lists, 'lists').map((value, index): CountryList => {
    const field = `lists[${index}]`;
    const row = object(value, field);
    const { score } = row;
    if (typeof score !== 'number' || !(score > 0 && score <= 100))
      throw wrong(`${field}.score`, 'a number above 0 and up to 100');
    return {
      id: idIn(row.id, `${field}.id`),
      name: text(row.name, `${field}.name`),
      score,
      jurisdictions: list(row.jurisdictions, `${field}.jurisdictions`).map((code, place) =>
        country(code, `${field}.jurisdictions[${place}]`),
      ),
      ...fact(row, field),
    };
  });
  const territories = list(top.territories, 'territories').map((value, index): ListedTerritory => {
    const field = `territories[${index}]`;
    const row = object(value, field);
    return {
      name: text(row.name, `${field}.name`),
      within: country(row.within, `${field}.within`),
      list: idIn(row.list, `${field}.list`),
      ...fact(row, field),
    };
  });
  return { version: text(top.version, 'version'), lists, territories };
}

/**
 * Reads data/high-risk-countries.json.
 *
 * @throws INVALID_FILE naming the field.
 */
export const loadCountryLists = (path: string = shippedData('high-risk-countries.json')): CountryLists =>
  parseCountryLists(readDocument(path));

/** A country that is on a list, with the percentage of the address's value that is tied to it. */
export interface HighRiskCountry extends Fact {
  readonly jurisdiction: string;
  readonly list: CountryListId;
  readonly listName: string;
  /** Percentage of all value that moved; 100 if it is the address's own country. */
  readonly percentage: number;
}

export interface GeographicRisk {
  /** ISO 3166-1 alpha-2: the address's own country first, then by value. */
  readonly jurisdictions: readonly string[];
  /** The countries of `jurisdictions` that are on a list. */
  readonly highRisk: readonly string[];
  /** One row for each of them and each list that names it, with the source and the dates of the list. */
  readonly listed: readonly HighRiskCountry[];
  /** Listed parts of these countries. It is not known if the address is connected to them. */
  readonly territories: readonly ListedTerritory[];
  /** 0 to 100; null if no country is known. */
  readonly score: number | null;
}

export interface GeographicFacts {
  /** Country of the entity that owns the address. */
  readonly home: string | null;
  /** Countries of the entities that it traded with, each with its percentage of all value that moved. */
  readonly shares: readonly { readonly jurisdiction: string; readonly percentage: number }[];
}

/**
 * Returns the geographic risk of an address on a day. Pure. Only lists and territories that are in force on that day count.
 *
 * If the home country is on a list, it brings that list's whole score. For trade, the value of listed countries counts by the
 * square root of its share, as shares do in the risk score. Countries are taken from the highest list score down, and each adds
 * only what its value adds to the root. So the score never falls when more value goes to a listed country, or to one with a
 * higher list score.
 *
 * @param day - ISO date.
 */
export function geographicRisk(
  { home, shares }: GeographicFacts,
  countryLists: CountryLists,
  day: string,
): GeographicRisk {
  const lists = countryLists.lists.filter((list) => isInForceOn(list, day));
  const territories = countryLists.territories.filter((territory) => isInForceOn(territory, day));
  const byCountry = new Map<string, number>();
  for (const { jurisdiction, percentage } of shares)
    byCountry.set(jurisdiction, (byCountry.get(jurisdiction) ?? 0) + percentage);
  const traded = [...byCountry].sort(([a, x], [b, y]) => y - x || (a < b ? -1 : 1));
  const known = [...new Set([...(home === null ? [] : [home]), ...traded.map(([code]) => code)])];
  const percentageOf = (code: string): number =>
    code === home ? 100 : Math.min(100, byCountry.get(code) ?? 0);
  const scoreOf = (code: string): number =>
    Math.max(0, ...lists.filter((list) => list.jurisdictions.includes(code)).map((list) => list.score));

  let share = 0;
  let trade = 0;
  for (const [code, percentage] of [...traded].sort(([a], [b]) => scoreOf(b) - scoreOf(a))) {
    const next = Math.min(1, share + percentage / 100);
    trade += scoreOf(code) * (Math.sqrt(next) - Math.sqrt(share));
    share = next;
  }
  const listed = known.flatMap((code) =>
    lists
      .filter((list) => list.jurisdictions.includes(code))
      .map(
        (list): HighRiskCountry => ({
          jurisdiction: code,
          list: list.id,
          listName: list.name,
          percentage: percentageOf(code),
          sourceUrl: list.sourceUrl,
          date: list.date,
          verified: list.verified,
          validFrom: list.validFrom,
          validUntil: list.validUntil,
        }),
      ),
  );
  return {
    jurisdictions: known,
    highRisk: [...new Set(listed.map((row) => row.jurisdiction))],
    listed,
    territories: territories.filter((territory) => known.includes(territory.within)),
    score:
      known.length === 0
        ? null
        : Math.round(Math.max(home === null ? 0 : scoreOf(home), Math.min(100, trade))),
  };
}
