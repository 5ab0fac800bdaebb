/**
 * Reads the page of the NYDFS: the table with the summary `List of Licensed Virtual Currency Entities`, with name, licensure and month.
 * The register has no numbers.
 */
import { readDate } from '../dates.ts';
import { readHtml } from '../html.ts';
import { unknownLayout } from '../layout-error.ts';
import { partName } from '../open.ts';
import { dateInName, type RegisterReader, registrationOf, rejectedRow } from '../registers/registration.ts';

const SPEC = {
  register: 'us-ny-dfs',
  jurisdiction: 'US',
  authority: 'New York State Department of Financial Services (NYDFS)',
  registeredAs: 'Virtual currency business',
  sourceUrl: 'https://www.dfs.ny.gov/virtual_currency_businesses',
};

/** Yields the header, then the registrations of one page. Throws INVALID_FILE for a page of another layout. */
export const nydfsReader: RegisterReader = async function* (path) {
  const file = partName(path);
  const { tables } = await readHtml(path);
  const table = tables.find(({ attributes }) =>
    /list of licensed virtual currency entities/i.test(attributes.summary ?? ''),
  );
  if (table === undefined)
    throw unknownLayout(file, '', "the page with the 'List of Licensed Virtual Currency Entities'");
  yield { type: 'register', whole: ['us-ny-dfs'], publishedAt: dateInName(file), layout: 'NYDFS_PAGE', file };
  for (const { line, cells } of table.rows) {
    const [legalName = '', licensure = '', month = ''] = cells.map((cell) => cell.text);
    if (/^entity$/i.test(legalName)) continue;
    const provenance = { file, line };
    if (legalName === '' || !/licen[sc]e|charter/i.test(licensure)) {
      const reason =
        legalName === '' ? 'The name is empty.' : 'The licensure must name a license or a charter.';
      yield rejectedRow(provenance, reason, cells.map((cell) => cell.text).join(' | '));
      continue;
    }
    yield registrationOf(
      SPEC,
      { legalName, status: 'AUTHORISED', registeredAs: licensure, registeredAt: readDate(month) },
      provenance,
    );
  }
};
