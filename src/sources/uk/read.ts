/**
 * Reads the UK Sanctions List in its present and former layouts: XML, CSV, OFSI's former consolidated list (CSV), and JSON
 * lines with one designation per line. The content decides which layout it is.
 */
import { AssayError } from '../../base/errors.ts';
import { readDate } from '../dates.ts';
import { withUnreadableWallets } from '../free-text.ts';
import { unknownLayout } from '../layout-error.ts';
import { listParts, openLines, readTextHead, type SourcePart } from '../open.ts';
import type { FileHeader, IdentifierKind, SourceReader, SourceRecord } from '../records.ts';
import { columnsOf, readWholeTable } from '../rows.ts';
import { descend, readXml, textOf, type XmlElement } from '../xml.ts';
import { type Designation, joinName, nameOf, partyOf } from './designation.ts';

/**
 * Yields the header, then the parties. XML and JSON are streamed;
 * table rows are grouped at the end of the file. Throws INVALID_FILE.
 */
export const ukReader: SourceReader<'UK'> = (files) => readUk(files);

const HEAD_CHARS = 4_096;

async function* readUk(files: readonly string[]): AsyncGenerator<SourceRecord<'UK'>, void, undefined> {
  for (const file of files) {
    for (const part of await listParts(file)) {
      const head = await readTextHead(part, HEAD_CHARS, { legacyEncoding: 'windows-1252' });
      if (/<(?:\w+:)?Designations[\s>]/.test(head)) yield* readDesignationsXml(part);
      else if (head.trimStart().startsWith('{')) yield* readDesignationsJson(part);
      else if (/^"?Report Date/i.test(head)) yield* readTable(part, SANCTIONS_LIST);
      else if (/^"?Last Updated"?,"?\d/i.test(head)) yield* readTable(part, OFSI_CONLIST);
      else {
        throw unknownLayout(
          part.name,
          head,
          "the UK Sanctions List (XML, or CSV with its 'Report Date:' line) or OFSI's ConList CSV",
        );
      }
    }
  }
}

const header = (publishedAt: string | null, layout: string): FileHeader<'UK'> => ({
  type: 'header',
  lists: ['UK'],
  publishedAt,
  layout,
});

async function* readDesignationsXml(part: SourcePart): AsyncGenerator<SourceRecord<'UK'>, void, undefined> {
  let headed = false;
  const wanted = { roots: ['Designations'], elements: new Set(['DateGenerated', 'Designation']) };
  for await (const element of readXml(part, wanted)) {
    if (element.name === 'Designations') continue;
    if (!headed) {
      headed = true;
      const date = element.name === 'DateGenerated' ? readDate(element.text) : null;
      yield header(date, 'UK_XML');
    }
    if (element.name === 'Designation')
      yield* withUnreadableWallets(partyOf(designationOfXml(element, part.name)));
  }
  if (!headed) yield header(null, 'UK_XML');
}

const GIVEN_NAMES = [1, 2, 3, 4, 5] as const;

function designationOfXml(element: XmlElement, file: string): Designation {
  const texts = (...path: readonly string[]): string[] => descend(element, ...path).map((one) => one.text);
  return {
    uniqueId: textOf(element, 'UniqueID'),
    designatedOn: textOf(element, 'DateDesignated'),
    names: [
      ...descend(element, 'Names', 'Name').flatMap((name) =>
        nameOf(
          joinName(
            GIVEN_NAMES.map((n) => textOf(name, `Name${n}`)),
            textOf(name, 'Name6'),
          ),
          textOf(name, 'NameType'),
          textOf(name, 'AliasStrength'),
        ),
      ),
      ...descend(element, 'NonLatinNames', 'NonLatinName').flatMap((name) =>
        nameOf(
          textOf(name, 'NameNonLatinScript'),
          'alias',
          '',
          textOf(name, 'NonLatinScriptType') || 'non-Latin',
        ),
      ),
    ],
    regimes: [textOf(element, 'RegimeName')],
    kind: textOf(element, 'IndividualEntityShip'),
    births: texts('IndividualDetails', 'Individual', 'DOBs', 'DOB'),
    countries: [
      ...texts('IndividualDetails', 'Individual', 'Nationalities', 'Nationality'),
      ...texts('Addresses', 'Address', 'AddressCountry'),
      ...texts('ShipDetails', 'Ship', 'CurrentBelievedFlagOfShips', 'CurrentBelievedFlagOfShip'),
    ],
    remarks: [textOf(element, 'OtherInformation'), textOf(element, 'UKStatementofReasons')],
    measures: [textOf(element, 'SanctionsImposed')],
    assetFreeze: flagOf(texts('SanctionsImposedIndicators', 'AssetFreeze')[0]),
    numbers: NUMBER_ELEMENTS.flatMap(([kind, ...path]) =>
      texts(...path).map((text) => [kind, text] as const),
    ),
    provenance: { file, line: element.line },
  };
}

/** The elements with numbers of registers and documents. */
const NUMBER_ELEMENTS: readonly (readonly [IdentifierKind, ...string[]])[] = [
  ['imo', 'ShipDetails', 'Ship', 'IMONumbers', 'IMONumber'],
  ['passport', 'IndividualDetails', 'Individual', 'PassportDetails', 'Passport', 'PassportNumber'],
  [
    'nationalId',
    'IndividualDetails',
    'Individual',
    'NationalIdentifierDetails',
    'NationalIdentifier',
    'NationalIdentifierNumber',
  ],
  [
    'registrationNumber',
    'EntityDetails',
    'Entity',
    'BusinessRegistrationNumbers',
    'BusinessRegistrationNumber',
  ],
];

/** The columns with the same numbers, of both CSV layouts. */
const NUMBER_COLUMNS: readonly (readonly [IdentifierKind, string])[] = [
  ['imo', 'IMO number'],
  ['passport', 'Passport number'],
  ['nationalId', 'National Identifier number'],
  ['nationalId', 'National Identification Number'],
  ['registrationNumber', 'Business registration number (s)'],
];

/** Parses `true` or `false` as printed; returns null for anything else. */
function flagOf(text: string | undefined): boolean | null {
  const word = text?.trim().toLowerCase();
  return word === 'true' ? true : word === 'false' ? false : null;
}

async function* readDesignationsJson(part: SourcePart): AsyncGenerator<SourceRecord<'UK'>, void, undefined> {
  yield header(null, 'UK_JSON_LINES');
  for await (const { line, text } of openLines(part)) {
    if (text.trim() === '') continue;
    yield* withUnreadableWallets(
      partyOf(designationOfJson(parseObject(text, part.name, line), { file: part.name, line })),
    );
  }
}

type Json = Readonly<Record<string, unknown>>;

function parseObject(text: string, file: string, line: number): Json {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    throw new AssayError(
      'INVALID_FILE',
      `${file}, line ${line}: not a JSON object; the file may be truncated.`,
      {
        field: 'file',
        cause: error,
      },
    );
  }
  return isObject(value) ? value : {};
}

const isObject = (value: unknown): value is Json => typeof value === 'object' && value !== null;
const textIn = (value: unknown, key: string): string =>
  isObject(value) && typeof value[key] === 'string' ? value[key] : '';
const booleanIn = (value: unknown, key: string): boolean | null =>
  isObject(value) && typeof value[key] === 'boolean' ? (value[key] as boolean) : null;
/** Returns the list inside a wrapper of the same name, as in `{names: {names: [...]}}`. */
function listIn(value: unknown, key: string): readonly unknown[] {
  const wrapper = isObject(value) ? value[key] : undefined;
  if (Array.isArray(wrapper)) return wrapper;
  const inner = isObject(wrapper) ? Object.values(wrapper).find((one) => Array.isArray(one)) : undefined;
  return Array.isArray(inner) ? inner : [];
}

function designationOfJson(row: Json, provenance: Designation['provenance']): Designation {
  return {
    uniqueId: textIn(row, 'unique_id'),
    designatedOn: textIn(row, 'date_designated'),
    names: [
      ...listIn(row, 'names').flatMap((name) =>
        nameOf(
          joinName(
            GIVEN_NAMES.map((n) => textIn(name, `name${n}`)),
            textIn(name, 'name6'),
          ),
          textIn(name, 'name_type'),
          textIn(name, 'alias_strength'),
        ),
      ),
      ...listIn(row, 'non_latin_names').flatMap((name) =>
        nameOf(
          textIn(name, 'name_non_latin_script').trim(),
          'alias',
          '',
          textIn(name, 'non_latin_script_type') || 'non-Latin',
        ),
      ),
    ],
    regimes: [textIn(row, 'regime_name')],
    kind: textIn(row, 'individual_entity_ship'),
    births: [],
    countries: listIn(row, 'addresses').map((address) => textIn(address, 'address_country')),
    remarks: [textIn(row, 'other_information'), textIn(row, 'uk_statement_of_reasons')],
    measures: [textIn(row, 'sanctions_imposed')],
    assetFreeze: booleanIn(row.sanctions_imposed_indicators, 'asset_freeze'),
    numbers: [],
    provenance,
  };
}

/** The columns of the two CSV layouts. */
interface TableLayout {
  readonly layout: string;
  readonly idOf: (cell: (name: string) => string) => string;
  readonly designatedOn: string;
  readonly nameType: string;
  readonly strength: string;
  readonly regime: string;
  readonly kind: string;
  readonly birth: string;
  readonly countries: readonly string[];
  readonly remarks: readonly string[];
  /** Column of the measures; null if the list has no such column because all of its entries are asset freezes. */
  readonly measures: string | null;
  readonly script: string;
}

const SANCTIONS_LIST: TableLayout = {
  layout: 'UK_CSV',
  idOf: (cell) => cell('Unique ID'),
  designatedOn: 'Date Designated',
  nameType: 'Name type',
  strength: 'Alias strength',
  regime: 'Regime Name',
  kind: 'Designation Type',
  birth: 'D.O.B',
  countries: ['Nationality(/ies)', 'Address Country', 'Current believed flag of ship'],
  remarks: ['Other Information', 'UK Statement of Reasons'],
  measures: 'Sanctions Imposed',
  script: 'Non-latin script type',
};

const OFSI_CONLIST: TableLayout = {
  layout: 'OFSI_CONLIST',
  // The list's own reference is in the text; with it a party has the same id in every layout.
  idOf: (cell) =>
    /UK Sanctions List Ref\)?:?\s*([A-Z]{3}\d{4})/.exec(cell('Other Information'))?.[1] ?? cell('Group ID'),
  designatedOn: 'UK Sanctions List Date Designated',
  nameType: 'Alias Type',
  strength: 'Alias Quality',
  regime: 'Regime',
  kind: 'Group Type',
  birth: 'DOB',
  countries: ['Nationality', 'Country'],
  remarks: ['Other Information'],
  // "Consolidated List of Financial Sanctions Targets": those subject to an asset freeze.
  measures: null,
  script: 'Non-Latin Script Type',
};

/** A designation while its rows are being collected. */
type Group = {
  -readonly [Key in keyof Designation]: Designation[Key] extends readonly (infer Item)[]
    ? Item[]
    : Designation[Key];
};

async function* readTable(
  part: SourcePart,
  table: TableLayout,
): AsyncGenerator<SourceRecord<'UK'>, void, undefined> {
  const groups = new Map<string, Group>();
  let publishedAt: string | null = null;
  let columns: ReturnType<typeof columnsOf> | null = null;
  const rejects: SourceRecord<'UK'>[] = [];
  // The line with the date is above the header row and has fewer cells.
  for await (const row of readWholeTable(part, {
    delimiter: ',',
    legacyEncoding: 'windows-1252',
    linesAbove: 1,
  })) {
    if (row.kind === 'above') {
      publishedAt = readDate(row.cells.join(' ').replace(/^[^\d]*/, ''));
      continue;
    }
    if (row.kind === 'header') {
      columns = columnsOf(row.cells);
      continue;
    }
    if (row.kind === 'reject') {
      rejects.push(row.reject);
      continue;
    }
    const cell = (name: string): string => columns?.(row.cells, name) ?? '';
    const id = table.idOf(cell);
    let group = groups.get(id);
    if (!group) {
      group = {
        uniqueId: id,
        designatedOn: cell(table.designatedOn) || cell('Listed On'),
        names: [],
        regimes: [],
        kind: cell(table.kind),
        births: [],
        countries: [],
        remarks: [],
        measures: [],
        assetFreeze: table.measures === null ? true : null,
        numbers: [],
        provenance: { file: part.name, line: row.line },
      };
      groups.set(id, group);
    }
    const given = GIVEN_NAMES.map((n) => cell(`Name ${n}`));
    group.names.push(...nameOf(joinName(given, cell('Name 6')), cell(table.nameType), cell(table.strength)));
    const original = cell('Name non-latin script');
    group.names.push(...nameOf(original, 'alias', '', cell(table.script) || 'non-Latin'));
    group.regimes.push(cell(table.regime));
    group.births.push(cell(table.birth));
    group.countries.push(...table.countries.map(cell));
    group.remarks.push(...table.remarks.map(cell));
    for (const [kind, name] of NUMBER_COLUMNS) group.numbers.push([kind, cell(name)]);
    if (table.measures !== null) group.measures.push(cell(table.measures));
  }
  yield header(publishedAt, table.layout);
  yield* rejects;
  for (const group of groups.values()) yield* withUnreadableWallets(partyOf(group));
}
