/**
 * Reads the files of OpenSanctions: entities of the FollowTheMoney model as JSON lines (`entities.ftm.json`,
 * `targets.nested.json`), and the flat table `targets.simple.csv`. https://www.opensanctions.org/docs/bulk/
 */
import { basename } from 'node:path';
import { isoTime } from '../../base/clock.ts';
import { utcTimeOf } from '../../base/iso-times.ts';
import { readCsv, rejectRow } from '../csv.ts';
import { readDate as readAnyDate } from '../dates.ts';
import { IdentifierList } from '../identifiers.ts';
import { layoutError } from '../layout-error.ts';
import { SOURCE_LIMITS } from '../limits.ts';
import type { NamedListType, NamedParty, NamedReader, NamedRecord } from '../named-party.ts';
import { openLines, partName, readTextHead } from '../open.ts';
import type { IdentifierKind, PartyName, PartySchema, Provenance, Reject } from '../records.ts';
import { listTypeOfDataset, listTypesOf } from './topics.ts';

export interface OpenSanctionsOptions {
  /**
   * Name of the dataset (`peps`, `crime`); default: the name of the file. It decides the list type of a table, which has
   * no topics.
   */
  readonly dataset?: string;
}

/** Schemata that can be screened by name; all others (addresses, passports, links) are skipped. */
const SCHEMATA: Readonly<Record<string, PartySchema>> = {
  Person: 'Person',
  Organization: 'Organization',
  Company: 'Organization',
  PublicBody: 'Organization',
  LegalEntity: 'Unknown',
  Vessel: 'Vessel',
  Airplane: 'Aircraft',
};

const ENTITY_PAGE = 'https://www.opensanctions.org/entities/';

/**
 * Creates a reader of OpenSanctions files, which yields the parties, then the header. It throws INVALID_FILE if a table
 * has no header or lacks a required column.
 */
export function openSanctionsReader(options: OpenSanctionsOptions = {}): NamedReader {
  return async function* (files) {
    const tally: Tally = { publishedAt: null, passedOver: 0 };
    const layouts = new Set<string>();
    for (const path of files) {
      const json = (await readTextHead(path, 1)) === '{';
      layouts.add(json ? 'FTM_JSON' : 'TARGETS_SIMPLE_CSV');
      yield* json ? readEntities(path, tally) : readTargets(path, options.dataset ?? basename(path), tally);
    }
    yield { type: 'header', ...tally, layout: [...layouts].sort().join('+') };
  };
}

/** Values that are collected while a file is read. */
interface Tally {
  publishedAt: string | null;
  passedOver: number;
}

/**
 * Records when an entity was last seen: the newest such time is the publication time of the file. OpenSanctions writes times in UTC, without
 * a zone.
 */
function see(tally: Tally, lastSeen: string | undefined): void {
  if (lastSeen === undefined) return;
  const ms = utcTimeOf(lastSeen);
  if (Number.isNaN(ms)) return;
  const seen = lastSeen.length > 10 ? isoTime(ms) : lastSeen;
  if (tally.publishedAt === null || seen > tally.publishedAt) tally.publishedAt = seen;
}

// --- entities of the FollowTheMoney model -------------------------------------------------------------------------------

type Properties = Readonly<Record<string, unknown>>;

async function* readEntities(path: string, tally: Tally): AsyncGenerator<NamedRecord> {
  const file = partName(path);
  for await (const row of openLines(path)) {
    if (row.text.trim() === '') continue;
    const read = readEntity(row.text, { file, line: row.line }, tally);
    if (typeof read === 'string') yield rejectRow(file, row, read);
    else yield* read;
  }
}

/** Returns the texts of a property, an array of texts by the model. Nested entities and other values are left out. */
function textsOf(properties: Properties, name: string): readonly string[] {
  const value = properties[name];
  if (!Array.isArray(value)) return [];
  return value.filter((text): text is string => typeof text === 'string' && text.trim() !== '');
}

/** Returns the records of one entity, or the reason if the line is not valid. */
function readEntity(text: string, provenance: Provenance, tally: Tally): readonly NamedParty[] | string {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return 'The line is not JSON.';
  }
  if (typeof value !== 'object' || value === null) return 'The line is not an entity.';
  const { id, schema, caption, properties, last_seen, first_seen } = value as Properties;
  if (typeof id !== 'string' || id === '' || typeof schema !== 'string') {
    return 'The entity has no id or no schema.';
  }
  if (typeof properties !== 'object' || properties === null) return 'The entity has no properties.';
  see(tally, typeof last_seen === 'string' ? last_seen : undefined);
  const facts = properties as Properties;
  const partySchema = SCHEMATA[schema];
  const listTypes = listTypesOf(textsOf(facts, 'topics'));
  if (partySchema === undefined || listTypes.size === 0) {
    tally.passedOver++;
    return [];
  }
  const names = namesOf(
    typeof caption === 'string' ? caption : null,
    textsOf(facts, 'name'),
    textsOf(facts, 'alias'),
    textsOf(facts, 'weakAlias'),
    textsOf(facts, 'previousName'),
  );
  if (names.length === 0) return 'The entity has no name.';
  const basis = {
    type: 'named',
    entityId: id,
    schema: partySchema,
    names,
    birthDates: datesOf(textsOf(facts, 'birthDate')),
    countries: countriesOf(
      ['nationality', 'citizenship', 'country', 'jurisdiction', 'flag'].flatMap((name) =>
        textsOf(facts, name),
      ),
    ),
    listedAt: typeof first_seen === 'string' ? readAnyDate(first_seen) : null,
    sourceUrl: `${ENTITY_PAGE}${encodeURIComponent(id)}/`,
    ...identifiersOf(facts, partySchema === 'Aircraft'),
    provenance,
  } as const;
  const positions = textsOf(facts, 'position');
  return [...listTypes].map(([listType, topics]) => ({
    ...basis,
    listType,
    programs: [...topics, ...(listType === 'pep' ? positions : [])].slice(0, SOURCE_LIMITS.listedProgramsMax),
  }));
}

/** Properties of the model with identifiers: https://followthemoney.tech/explorer/ (schemata LegalEntity, Person, Vessel, Airplane). */
const IDENTIFIERS: readonly (readonly [property: string, kind: IdentifierKind])[] = [
  ['imoNumber', 'imo'],
  ['registrationNumber', 'registrationNumber'],
  ['leiCode', 'lei'],
  ['passportNumber', 'passport'],
  ['idNumber', 'nationalId'],
];

function identifiersOf(facts: Properties, isAircraft: boolean): ReturnType<IdentifierList['property']> {
  const identifiers = new IdentifierList();
  for (const [property, kind] of IDENTIFIERS) {
    const own = isAircraft && kind === 'registrationNumber' ? 'tailNumber' : kind;
    for (const text of textsOf(facts, property)) identifiers.add(own, text);
  }
  return identifiers.property();
}

// --- the flat table -----------------------------------------------------------------------------------------------------

/** Required columns; the table has others, and gains some over the years. */
const REQUIRED = ['id', 'schema', 'name'] as const;

async function* readTargets(path: string, dataset: string, tally: Tally): AsyncGenerator<NamedRecord> {
  const file = partName(path);
  const named = listTypeOfDataset(dataset);
  let header: readonly string[] | null = null;
  for await (const row of readCsv(path)) {
    if (row.type === 'fault') {
      yield rejectRow(file, row, row.reason);
    } else if (header === null) {
      header = row.cells.map((cell) =>
        cell
          .replace(/^\uFEFF/, '')
          .trim()
          .toLowerCase(),
      );
      const columns = header;
      const missing = REQUIRED.filter((name) => !columns.includes(name));
      if (missing.length > 0) throw layoutError(file, `the header lacks ${missing.join(', ')}.`);
    } else if (row.cells.length !== header.length) {
      yield rejectRow(file, row, `The row has ${row.cells.length} cells; expected ${header.length}.`);
    } else {
      const columns = header;
      const cell = (name: string): string => row.cells[columns.indexOf(name)] ?? '';
      yield* readTarget(cell, named, file, row, tally);
    }
  }
  if (header === null) throw layoutError(file, 'the file has no header.');
}

const LIST_TYPE_UNKNOWN =
  'Nothing says whether this is a politically exposed person or adverse media: the table has no topics. Name the dataset, as in --dataset peps.';

function* readTarget(
  cell: (name: string) => string,
  named: NamedListType | null,
  file: string,
  row: { readonly line: number; readonly text: string },
  tally: Tally,
): Generator<NamedParty | Reject> {
  see(tally, cell('last_seen') || undefined);
  const schema = SCHEMATA[cell('schema')];
  if (schema === undefined) {
    tally.passedOver++;
    return;
  }
  const listType = named ?? listTypeOfDataset(cell('dataset'));
  const names = namesOf(cell('name'), [], split(cell('aliases')), [], []);
  const reason =
    cell('id') === ''
      ? 'The row has no id.'
      : names.length === 0
        ? 'The row has no name.'
        : listType === null
          ? LIST_TYPE_UNKNOWN
          : null;
  if (reason !== null || listType === null) {
    yield rejectRow(file, row, reason ?? LIST_TYPE_UNKNOWN);
    return;
  }
  yield {
    type: 'named',
    listType,
    entityId: cell('id'),
    schema,
    names,
    birthDates: datesOf(split(cell('birth_date'))),
    countries: countriesOf(split(cell('countries'))),
    programs: split(cell('dataset')).slice(0, SOURCE_LIMITS.listedProgramsMax),
    listedAt: readAnyDate(cell('first_seen')),
    sourceUrl: `${ENTITY_PAGE}${encodeURIComponent(cell('id'))}/`,
    provenance: { file, line: row.line },
  };
}

const split = (text: string): string[] =>
  text
    .split(';')
    .map((part) => part.trim())
    .filter((part) => part !== '');

// --- what both layouts share --------------------------------------------------------------------------------------------

function namesOf(
  caption: string | null,
  names: readonly string[],
  aliases: readonly string[],
  weak: readonly string[],
  former: readonly string[],
): PartyName[] {
  const kinds: readonly [readonly string[], PartyName['kind'], boolean][] = [
    [caption === null ? names.slice(0, 1) : [caption], 'primary', false],
    [names, 'alias', false],
    [aliases, 'alias', false],
    [former, 'former', false],
    [weak, 'alias', true],
  ];
  const found = new Map<string, PartyName>();
  for (const [texts, kind, isWeak] of kinds) {
    for (const printed of texts) {
      const text = printed.trim().slice(0, SOURCE_LIMITS.listedNameCharsMax);
      if (text === '' || found.has(text) || found.size >= SOURCE_LIMITS.listedNamesMax) continue;
      found.set(text, { text, kind, weak: isWeak, script: null });
    }
  }
  return [...found.values()];
}

const datesOf = (texts: readonly string[]): string[] => [
  ...new Set(texts.map(readAnyDate).filter((date) => date !== null)),
];

/**
 * Normalises country codes. They are lower-case, some with a region (`gb-sct`), and some are not countries (`eu`, `suhh`).
 */
const countriesOf = (codes: readonly string[]): string[] => [
  ...new Set(codes.map((code) => (/^[a-z]{2}(?:-|$)/i.test(code) ? code.slice(0, 2) : code).toUpperCase())),
];
