/**
 * Reads the list of money services businesses from FinCEN's registrant search, which returns the whole list (a POST of
 * `site=AA` to https://msb.fincen.gov/retrieve.msb.list.php): tab-separated, one header row, footnotes after the last row. It
 * has no registration numbers. It cannot be downloaded with a GET request, so it is imported from a file.
 */
import { readCountry } from '../countries.ts';
import { readUsDate } from '../dates.ts';
import { unknownLayout } from '../layout-error.ts';
import { partName } from '../open.ts';
import { cleanText, type RegisterReader } from '../registers/registration.ts';
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

/** Yields the header, then the registrations of one file. Throws INVALID_FILE for a file of another layout. */
export const fincenReader: RegisterReader = async function* (path) {
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
      const day = /(20\d\d)-?(\d\d)-?(\d\d)/.exec(file);
      yield {
        type: 'register',
        whole: ['us-fincen-msb'],
        publishedAt: day ? `${day[1]}-${day[2]}-${day[3]}` : null,
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
    yield {
      type: 'registration',
      register: 'us-fincen-msb',
      jurisdiction: 'US',
      authority: 'Financial Crimes Enforcement Network (FinCEN)',
      legalName,
      tradeNames: cell('DBA NAME')
        .split(/\s*(?:;|\bdba\b[-:/]?)\s*/i)
        .filter((name) => name !== ''),
      lei: null,
      domains: [],
      registrationId: null,
      registeredAs: 'Money Services Business (MSB)',
      status: 'REGISTERED',
      registeredAt: received,
      endedAt: null,
      services: cell('MSB ACTIVITIES')
        .split(' ')
        .filter((code) => code !== '')
        .map((code) => ACTIVITIES[code] ?? code),
      passportedTo: [],
      note: noteOf(cell('STATES OF MSB ACTIVITIES'), cell('FOREIGN LOCATION')),
      sourceUrl: PAGE,
      provenance,
    };
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
