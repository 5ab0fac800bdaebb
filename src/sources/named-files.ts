/** Readers of lists of names in JSON documents, in XML and in tables: each source states only how one row becomes a party. */
import { fromThreeLetters, readCountries } from './countries.ts';
import { readDate } from './dates.ts';
import { type JsonObject, readJsonDocuments } from './json.ts';
import { layoutError } from './layout-error.ts';
import { SOURCE_LIMITS } from './limits.ts';
import type { NamedParty, NamedReader, NamedRecord } from './named-party.ts';
import { listParts, partName } from './open.ts';
import type { PartyName } from './records.ts';
import { columnsOf, readRows, type TableOptions } from './rows.ts';
import { readXml, type XmlElement } from './xml.ts';

/** The party of one row. A field that the row does not have is left out. */
export interface NamedRow extends Pick<NamedParty, 'listType' | 'schema' | 'identifiers'> {
  readonly entityId: string;
  readonly name: string;
  readonly aliases?: readonly string[];
  readonly weakAliases?: readonly string[];
  /** As printed; dates that cannot be read are left out. */
  readonly birthDates?: readonly string[];
  /** Codes or English names; other words are left out. */
  readonly countries?: readonly string[];
  readonly programs?: readonly string[];
  readonly listedAt?: string | null;
  readonly sourceUrl?: string | null;
}

/** What a row is: a party, a text with the reason why it is rejected, or null for a valid row that is on no list. */
export type NamedRowResult = NamedRow | string | null;

/** Facts about a file that a reader collects. */
interface Tally {
  publishedAt: string | null;
  passedOver: number;
}

/** Collapses white space and cuts the text at the longest name of a list. */
const nameText = (text: string): string =>
  text.replace(/\s+/g, ' ').trim().slice(0, SOURCE_LIMITS.listedNameCharsMax);

function namesOf({ name, aliases = [], weakAliases = [] }: NamedRow): PartyName[] {
  const names = new Map<string, PartyName>();
  const add = (text: string, kind: PartyName['kind'], weak: boolean): void => {
    const plain = nameText(text);
    if (plain === '' || names.has(plain) || names.size >= SOURCE_LIMITS.listedNamesMax) return;
    names.set(plain, { text: plain, kind, weak, script: null });
  };
  add(name, 'primary', false);
  for (const alias of aliases) add(alias, 'alias', false);
  for (const alias of weakAliases) add(alias, 'alias', true);
  return [...names.values()];
}

const COUNTRY_CODE = /^[A-Z]{2}$/;
const WEB_PAGE = /^https?:\/\/\S+$/;

function recordOf(
  row: NamedRowResult,
  file: string,
  line: number,
  text: string,
  tally: Tally,
): NamedRecord[] {
  const provenance = { file, line };
  const reject = (reason: string): NamedRecord[] => [
    { type: 'reject', reason, text: text.slice(0, 500), provenance },
  ];
  if (row === null) {
    tally.passedOver++;
    return [];
  }
  if (typeof row === 'string') return reject(row);
  if (row.entityId.trim() === '') return reject('The row has no id.');
  const names = namesOf(row);
  if (names[0]?.kind !== 'primary') return reject('The row has no name.');
  const { identifiers, sourceUrl = null } = row;
  return [
    {
      type: 'named',
      listType: row.listType,
      entityId: row.entityId.trim().slice(0, 200),
      schema: row.schema,
      names,
      birthDates: [
        ...new Set((row.birthDates ?? []).map(readDate).filter((date): date is string => date !== null)),
      ],
      countries: readCountries((row.countries ?? []).map(fromThreeLetters)).filter((country) =>
        COUNTRY_CODE.test(country),
      ),
      programs: [...new Set((row.programs ?? []).map(nameText))]
        .filter((program) => program !== '')
        .slice(0, SOURCE_LIMITS.listedProgramsMax),
      listedAt: row.listedAt ?? null,
      sourceUrl: sourceUrl !== null && WEB_PAGE.test(sourceUrl) ? sourceUrl : null,
      ...(identifiers === undefined ? {} : { identifiers }),
      provenance,
    },
  ];
}

export interface JsonLayout {
  /** The publisher's layout, for reports. */
  readonly layout: string;
  /** Describes the layout in the error about any other file. */
  readonly expected: string;
  /** Returns the rows of a document; null if it is not in this layout. */
  readonly rowsOf: (document: JsonObject) => readonly JsonObject[] | null;
  readonly partyOf: (row: JsonObject, document: JsonObject) => NamedRowResult;
  /** Returns the id of a document of which a later one in the same file replaces it, as events of a stream do. Default: none is replaced. */
  readonly idOf?: (document: JsonObject) => string;
  /** Returns when a row was last changed, as ISO date or time: the newest is the publication of the file. */
  readonly changedOf?: (row: JsonObject) => string;
}

/**
 * Creates a reader of JSON documents: one document, or one on each line. The line of a record is the number of its row in the file.
 *
 * @returns A reader that throws INVALID_FILE if a document is not in the layout.
 */
export const namedJsonReader = (layout: JsonLayout): NamedReader =>
  async function* (files) {
    const tally: Tally = { publishedAt: null, passedOver: 0 };
    for (const path of files) {
      const file = partName(path);
      let number = 0;
      const documents = await readJsonDocuments(path);
      if (documents.length === 0) throw layoutError(file, 'the file is empty.');
      const last = new Map(documents.map((document, at) => [layout.idOf?.(document) ?? '', at]));
      for (const [at, document] of documents.entries()) {
        const rows = layout.rowsOf(document);
        if (rows === null) throw layoutError(file, `expected ${layout.expected}.`);
        const id = layout.idOf?.(document) ?? '';
        for (const row of rows) {
          see(tally, layout.changedOf?.(row) ?? '');
          if (id !== '' && last.get(id) !== at) {
            number++;
            tally.passedOver++;
            continue;
          }
          yield* recordOf(layout.partyOf(row, document), file, ++number, JSON.stringify(row), tally);
        }
      }
    }
    yield { type: 'header', ...tally, layout: layout.layout };
  };

export interface XmlLayout {
  readonly layout: string;
  readonly root: string;
  /** The element of one party. */
  readonly element: string;
  readonly partyOf: (element: XmlElement) => NamedRowResult;
}

/**
 * Creates a reader of XML with one element for each party.
 *
 * @returns A reader that throws INVALID_FILE if the file is not complete, or has another root.
 */
export const namedXmlReader = (layout: XmlLayout): NamedReader =>
  async function* (files) {
    const tally: Tally = { publishedAt: null, passedOver: 0 };
    const wanted = { roots: [layout.root], elements: new Set([layout.element]) };
    for (const path of files) {
      for (const part of await listParts(path)) {
        for await (const element of readXml(part, wanted)) {
          if (element.name !== layout.element) continue;
          const text = element.children.map((child) => child.text).join(' ');
          yield* recordOf(layout.partyOf(element), part.name, element.line, text, tally);
        }
      }
    }
    yield { type: 'header', ...tally, layout: layout.layout };
  };

export interface TableLayout extends Pick<TableOptions, 'delimiter'> {
  readonly layout: string;
  /** Columns without which the file is not this list. */
  readonly required: readonly string[];
  readonly partyOf: (cell: (column: string) => string) => NamedRowResult;
  readonly changedOf?: (cell: (column: string) => string) => string;
}

/**
 * Creates a reader of tables with a header row. Columns may be in any order, and further ones are ignored.
 *
 * @returns A reader that throws INVALID_FILE if the header lacks a required column.
 */
export const namedTableReader = (layout: TableLayout): NamedReader =>
  async function* (files) {
    const tally: Tally = { publishedAt: null, passedOver: 0 };
    for (const path of files) {
      for (const part of await listParts(path)) {
        let header: readonly string[] | null = null;
        let cellOf: ReturnType<typeof columnsOf> | null = null;
        const options = { delimiter: layout.delimiter, legacyEncoding: 'windows-1252' } as const;
        for await (const { line, cells } of readRows(part, options)) {
          if (header === null || cellOf === null) {
            header = cells;
            cellOf = columnsOf(cells);
            const missing = layout.required.filter((name) => !hasColumn(cells, name));
            if (missing.length > 0) throw layoutError(part.name, `the header lacks ${missing.join(', ')}.`);
            continue;
          }
          const columns = cellOf;
          const cell = (name: string): string => columns(cells, name);
          const short = `The row has ${cells.length} cells; expected ${header.length}.`;
          const row = cells.length === header.length ? layout.partyOf(cell) : short;
          see(tally, layout.changedOf?.(cell) ?? '');
          yield* recordOf(row, part.name, line, cells.join(layout.delimiter), tally);
        }
        if (header === null) throw layoutError(part.name, 'the file has no header.');
      }
    }
    yield { type: 'header', ...tally, layout: layout.layout };
  };

const hasColumn = (header: readonly string[], name: string): boolean =>
  columnsOf(header)(
    header.map(() => 'x'),
    name,
  ) !== '';

function see(tally: Tally, changed: string): void {
  const date = /^\d{4}-\d{2}-\d{2}/.exec(changed)?.[0] ?? null;
  if (date !== null && (tally.publishedAt === null || date > tally.publishedAt)) tally.publishedAt = date;
}

/** Splits the values of a cell, without empty ones. */
export const splitCell = (text: string, at: string | RegExp = ';'): string[] =>
  text
    .split(at)
    .map((part) => part.trim())
    .filter((part) => part !== '');
