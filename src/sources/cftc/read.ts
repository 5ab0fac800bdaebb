/**
 * Reads the page of the CFTC's RED List: a table whose rows have a date (month/day/year) and the name of an entity, which may be several
 * names and web sites. Every row is a warning.
 */
import { readHtml } from '../html.ts';
import { unknownLayout } from '../layout-error.ts';
import { partName } from '../open.ts';
import {
  dateInName,
  type RegisterReader,
  readHosts,
  registrationOf,
  rejectedRow,
  splitNames,
} from '../registers/registration.ts';

const SPEC = {
  register: 'us-cftc',
  jurisdiction: 'US',
  authority: 'Commodity Futures Trading Commission (CFTC)',
  registeredAs: 'Registration deficient foreign entity (RED List)',
  sourceUrl: 'https://www.cftc.gov/LearnAndProtect/Resources/Check/redlist.htm',
};

const DATE = /^(\d{1,2})[/-](\d{1,2})[/-](\d{4})$/;

/** Returns the ISO date of an American one; null if it is none. */
function dayOf(text: string): string | null {
  const [, month = '', day = '', year = ''] = DATE.exec(text) ?? [];
  if (year === '') return null;
  const iso = `${year}-${month.padStart(2, '0')}-${day.padStart(2, '0')}`;
  return Number.isNaN(Date.parse(iso)) ? null : iso;
}

/** Yields the header, then the warnings of one page. Throws INVALID_FILE for a page of another layout. */
export const cftcReader: RegisterReader = async function* (path) {
  const file = partName(path);
  const { tables } = await readHtml(path);
  const rows = tables.flatMap((table) => table.rows).filter(({ cells }) => cells.length >= 2);
  if (!rows.some(({ cells }) => DATE.test(cells[0]?.text ?? '')))
    throw unknownLayout(file, '', "the CFTC's page with the table of the RED List");
  // The register also has markets and clearing organisations, which are on other pages.
  yield { type: 'register', whole: [], publishedAt: dateInName(file), layout: 'CFTC_RED', file };
  for (const { line, cells } of rows) {
    const [date = '', text = ''] = cells.map((cell) => cell.text);
    const listedAt = dayOf(date);
    const [legalName = '', ...tradeNames] = splitNames(text, '');
    // The header row.
    if (!/\d/.test(date)) continue;
    if (listedAt === null || legalName === '') {
      const reason = legalName === '' ? 'The name is empty.' : `'${date.slice(0, 20)}' is no date.`;
      yield rejectedRow({ file, line }, reason, `${date} | ${text}`);
      continue;
    }
    yield registrationOf(
      SPEC,
      { legalName, tradeNames, status: 'WARNING', domains: readHosts(text), registeredAt: listedAt },
      { file, line },
    );
  }
};
