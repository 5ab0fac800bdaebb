/**
 * Reads the money services businesses of FinCEN's registrant search: the whole list (a POST of `site=AA` to
 * https://msb.fincen.gov/retrieve.msb.list.php; tab-separated, one header row, footnotes after the last row), or a saved page of results.
 * The list has no registration numbers; the pages have the BSA id of each registration, and are a part of the list.
 */
import { readCountry } from '../countries.ts';
import { readUsDate } from '../dates.ts';
import { readHtml } from '../html.ts';
import { unknownLayout } from '../layout-error.ts';
import { partName, readTextHead } from '../open.ts';
import {
  cleanText,
  dateInName,
  type RegisterReader,
  registrationOf,
  rejectedRow,
  splitNames,
} from '../registers/registration.ts';
import { columnsOf, readRows } from '../rows.ts';

const COLUMNS = [
  'LEGAL NAME',
  'DBA NAME',
  'STATE',
  'MSB ACTIVITIES',
  'STATES OF MSB ACTIVITIES',
  'RECEIVED DATE',
] as const;

/** Activity codes of FinCEN Form 107, in the words of the form. */
const ACTIVITIES: Readonly<Record<string, string>> = {
  401: "Issuer of traveler's checks",
  402: "Seller of traveler's checks",
  403: "Redeemer of traveler's checks",
  404: 'Issuer of money orders',
  405: 'Seller of money orders',
  406: 'Redeemer of money orders',
  407: 'Currency dealer or exchanger',
  408: 'Check casher',
  409: 'Money transmitter',
  413: 'Seller of prepaid access',
  414: 'Provider of prepaid access',
  415: 'Dealer in foreign exchange',
};

const PAGE = 'https://www.fincen.gov/msb-registrant-search';

const SPEC = {
  register: 'us-fincen-msb',
  jurisdiction: 'US',
  authority: 'Financial Crimes Enforcement Network (FinCEN)',
  registeredAs: 'Money Services Business (MSB)',
  sourceUrl: PAGE,
};

const servicesOf = (codes: string): string[] =>
  codes
    .split(' ')
    .filter((code) => code !== '')
    .map((code) => ACTIVITIES[code] ?? code);

/** Cells of a row of results. */
const RESULT_CELLS = 13;

/** Reads a saved page of results: the link in the first cell contains the BSA id. */
const pageReader: RegisterReader = async function* (path) {
  const file = partName(path);
  const { tables } = await readHtml(path);
  const rows = tables
    .flatMap((table) => table.rows)
    .filter(({ cells }) => cells.length >= RESULT_CELLS && (cells[0]?.links.length ?? 0) > 0);
  if (rows.length === 0) throw unknownLayout(file, '<html>', "FinCEN's list, or a page of its results");
  yield { type: 'register', whole: [], publishedAt: dateInName(file), layout: 'FINCEN_RESULTS', file };
  for (const { line, cells } of rows) {
    const text = (at: number): string => cells[at]?.text ?? '';
    const registrationId = cells[0]?.links.map((href) => /[?&;]ID=(\d{6,16})/.exec(href)?.[1]).find(Boolean);
    const legalName = text(0);
    if (registrationId === undefined || legalName === '') {
      yield rejectedRow(
        { file, line },
        'The legal name or the BSA id cannot be read.',
        cells.map((cell) => cell.text).join(' | '),
      );
      continue;
    }
    yield registrationOf(
      SPEC,
      {
        legalName,
        status: 'REGISTERED',
        registrationId,
        tradeNames: splitNames(text(1), legalName),
        registeredAt: readUsDate(text(12)) ?? readUsDate(text(11)),
        services: servicesOf(text(6)),
      },
      { file, line },
    );
  }
};

/** Yields the header, then the registrations of one file. Throws INVALID_FILE for a file of another layout. */
export const fincenReader: RegisterReader = async function* (path) {
  const head = await readTextHead(path, 1_000, { legacyEncoding: 'windows-1252', lenient: true });
  yield* /<(?:html|table|!doctype)\b/i.test(head) ? pageReader(path) : listReader(path);
};

const listReader: RegisterReader = async function* (path) {
  const file = partName(path);
  let cellOf: ReturnType<typeof columnsOf> | null = null;
  let columns = 0;
  for await (const { line, cells } of readRows(path, {
    delimiter: '\t',
    legacyEncoding: 'windows-1252',
    lenient: true,
  })) {
    if (cellOf === null) {
      const names = new Set(cells.map((name) => cleanText(name).toUpperCase()));
      if (COLUMNS.some((column) => !names.has(column))) {
        throw unknownLayout(file, cells.join('\t'), "FinCEN's tab-separated list of registrants");
      }
      cellOf = columnsOf(cells);
      columns = cells.length;
      yield {
        type: 'register',
        whole: ['us-fincen-msb'],
        publishedAt: dateInName(file),
        layout: 'FINCEN_MSB',
        file,
      };
      continue;
    }
    const row = cells;
    const cell = (name: string): string => cleanText(cellOf?.(row, name) ?? '');
    const provenance = { file, line };
    const legalName = cell('LEGAL NAME');
    const received = readUsDate(cell('RECEIVED DATE'));
    // The footnotes about codes and asterisks have text in their first cell only.
    if (cells.slice(1).every((text) => text.trim() === '')) continue;
    if (cells.length !== columns || legalName === '' || received === null) {
      yield {
        type: 'reject',
        reason:
          cells.length === columns
            ? 'The legal name or the received date cannot be read.'
            : `The row has ${cells.length} cells; expected ${columns}.`,
        text: cells.join('\t').slice(0, 500),
        provenance,
      };
      continue;
    }
    yield registrationOf(
      SPEC,
      {
        legalName,
        status: 'REGISTERED',
        tradeNames: splitNames(cell('DBA NAME'), legalName),
        // A later layout of the list may have the number.
        registrationId: cell('BSA ID') || cell('MSB REGISTRATION NUMBER') || null,
        registeredAt: received,
        services: servicesOf(cell('MSB ACTIVITIES')),
        note: noteOf(cell('STATES OF MSB ACTIVITIES'), cell('FOREIGN LOCATION')),
      },
      provenance,
    );
  }
  if (cellOf === null) throw unknownLayout(file, '', "FinCEN's tab-separated list of registrants");
};

function noteOf(states: string, foreign: string): string | null {
  const parts = [
    states === '' ? '' : `States of activity: ${states}.`,
    foreign === '' ? '' : `Located in ${readCountry(foreign) ?? foreign}.`,
  ].filter((part) => part !== '');
  return parts.length === 0 ? null : parts.join(' ').slice(0, 1_000);
}
