/** Reads a user's own list of names: a CSV with a header. The format is in docs/own-names.md. */
import { separatorHint } from '../../base/separator-hint.ts';
import { readCountry } from '../countries.ts';
import { readCsv, rejectRow } from '../csv.ts';
import { readDate as readAnyDate } from '../dates.ts';
import { identifierRule, normaliseIdentifier } from '../identifiers.ts';
import { layoutError } from '../layout-error.ts';
import { SOURCE_LIMITS } from '../limits.ts';
import { NAMED_LIST_TYPES, type NamedListType, type NamedParty, type NamedReader } from '../named-party.ts';
import { partName } from '../open.ts';
import type { IdentifierKind, PartyIdentifier, PartyName, PartySchema } from '../records.ts';
import { FieldFault, readDate, readText, readUrl } from '../statement.ts';

/** Columns, by the names of the header, in any order and letter case. */
export const PEOPLE_COLUMNS = [
  'id',
  'name',
  'list',
  'schema',
  'aliases',
  'weak_aliases',
  'birth_date',
  'countries',
  'programs',
  'listed_at',
  'source_url',
  'imo',
  'tail_number',
  'lei',
  'registration_number',
  'passport',
  'national_id',
] as const;

type PeopleColumn = (typeof PEOPLE_COLUMNS)[number];

/** The columns with identifiers. */
const IDENTIFIER_COLUMNS = {
  imo: 'imo',
  tail_number: 'tailNumber',
  lei: 'lei',
  registration_number: 'registrationNumber',
  passport: 'passport',
  national_id: 'nationalId',
} as const satisfies Partial<Record<PeopleColumn, IdentifierKind>>;

/** A row without these columns is not a listed party. */
const REQUIRED: readonly PeopleColumn[] = ['name', 'list'];

const SCHEMATA: ReadonlyMap<string, PartySchema> = new Map([
  ['', 'Unknown'],
  ['person', 'Person'],
  ['organization', 'Organization'],
  ['organisation', 'Organization'],
  ['company', 'Organization'],
  ['vessel', 'Vessel'],
  ['aircraft', 'Aircraft'],
]);

/** Yields the parties, then the header. Throws INVALID_FILE if the header row is missing or invalid. */
export const peopleReader: NamedReader = async function* (files) {
  for (const path of files) {
    const file = partName(path);
    let header: readonly string[] | null = null;
    for await (const row of readCsv(path)) {
      if (row.type === 'fault') {
        yield rejectRow(file, row, row.reason);
      } else if (header === null) {
        header = headerOf(row.cells, file);
        const unknown = header.filter((name) => !PEOPLE_COLUMNS.some((known) => known === name));
        if (unknown.length > 0) {
          yield rejectRow(
            file,
            row,
            `Columns that mean nothing are ignored: ${unknown.map((name) => `'${name.slice(0, 60)}'`).join(', ')}.`,
          );
        }
      } else if (row.cells.length !== header.length) {
        yield rejectRow(file, row, `The row has ${row.cells.length} cells; expected ${header.length}.`);
      } else {
        const columns = header;
        const cell = (name: PeopleColumn): string => row.cells[columns.indexOf(name)] ?? '';
        try {
          yield readPerson(cell, file, row.line);
        } catch (error) {
          if (!(error instanceof FieldFault)) throw error;
          yield rejectRow(file, row, error.message);
        }
      }
    }
    if (header === null) throw layoutError(file, 'the file has no header.');
  }
  yield { type: 'header', publishedAt: null, layout: 'PEOPLE_CSV', passedOver: 0 };
};

function headerOf(cells: readonly string[], file: string): readonly string[] {
  const header = cells.map((cell) =>
    cell
      .replace(/^\uFEFF/, '')
      .trim()
      .toLowerCase(),
  );
  const missing = REQUIRED.filter((name) => !header.includes(name));
  if (missing.length > 0)
    throw layoutError(file, `the header lacks ${missing.join(', ')}.${separatorHint(cells)}`);
  const twice = PEOPLE_COLUMNS.find((name) => header.indexOf(name) !== header.lastIndexOf(name));
  if (twice !== undefined) throw layoutError(file, `the header has ${twice} twice.`);
  return header;
}

/** Splits the values of one cell at semicolons. */
const split = (field: string, text: string): string[] =>
  (readText(field, text) ?? '')
    .split(';')
    .map((part) => part.trim())
    .filter((part) => part !== '');

function readListType(text: string): NamedListType {
  const word = (readText('list', text) ?? '').toLowerCase().replace(/[\s-]/g, '_');
  const found = NAMED_LIST_TYPES.find((listType) => listType === word);
  if (found === undefined) {
    throw new FieldFault(
      'list',
      `must be one of ${NAMED_LIST_TYPES.join(', ')} (got '${text.slice(0, 60)}')`,
    );
  }
  return found;
}

function readSchema(text: string): PartySchema {
  const schema = SCHEMATA.get((readText('schema', text) ?? '').toLowerCase());
  if (schema === undefined) {
    throw new FieldFault(
      'schema',
      `must be one of person, organization, vessel, aircraft (got '${text.slice(0, 60)}')`,
    );
  }
  return schema;
}

function readBirthDate(text: string): string {
  const date = readAnyDate(text);
  if (date === null) {
    throw new FieldFault(
      'birth_date',
      `'${text.slice(0, 60)}' is not a date such as 1972-05-09, 1972-05 or 1972`,
    );
  }
  return date;
}

function readIdentifiers(cell: (name: PeopleColumn) => string): { identifiers?: readonly PartyIdentifier[] } {
  const identifiers: PartyIdentifier[] = [];
  for (const [column, kind] of Object.entries(IDENTIFIER_COLUMNS)) {
    for (const text of split(column, cell(column as PeopleColumn))) {
      const value = normaliseIdentifier(kind, text);
      if (value === null) throw new FieldFault(column, `must be ${identifierRule(kind)}`);
      identifiers.push({ kind, value });
    }
  }
  return identifiers.length === 0 ? {} : { identifiers };
}

function readPerson(cell: (name: PeopleColumn) => string, file: string, line: number): NamedParty {
  const name = readText('name', cell('name'), SOURCE_LIMITS.listedNameCharsMax);
  if (name === null) throw new FieldFault('name', 'is empty');
  const named = (texts: readonly string[], weak: boolean): PartyName[] =>
    texts.map((text) => ({ text, kind: 'alias', weak, script: null }));
  return {
    type: 'named',
    listType: readListType(cell('list')),
    // If the user gives no id, the name identifies the party: the same name is the same party.
    entityId: readText('id', cell('id'), 200) ?? name,
    schema: readSchema(cell('schema')),
    names: [
      { text: name, kind: 'primary' as const, weak: false, script: null },
      ...named(split('aliases', cell('aliases')), false),
      ...named(split('weak_aliases', cell('weak_aliases')), true),
    ].slice(0, SOURCE_LIMITS.listedNamesMax),
    birthDates: split('birth_date', cell('birth_date')).map(readBirthDate),
    countries: split('countries', cell('countries'))
      .map(readCountry)
      .filter((country) => country !== null),
    programs: split('programs', cell('programs')).slice(0, SOURCE_LIMITS.listedProgramsMax),
    listedAt: readDate('listed_at', cell('listed_at')),
    sourceUrl: readUrl('source_url', cell('source_url')),
    ...readIdentifiers(cell),
    provenance: { file, line },
  };
}
