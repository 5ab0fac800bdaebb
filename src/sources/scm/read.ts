/**
 * Reads the page of the Securities Commission Malaysia: the table under `Registered Recognized Market Operators`, with number of the row,
 * name and address. The tables below it are historical. The register has no numbers of firms.
 */
import { readHtml } from '../html.ts';
import { unknownLayout } from '../layout-error.ts';
import { partName } from '../open.ts';
import { dateInName, type RegisterReader, registrationOf, rejectedRow } from '../registers/registration.ts';

const SPEC = {
  register: 'my-sc',
  jurisdiction: 'MY',
  authority: 'Securities Commission Malaysia (SC)',
  registeredAs: 'Recognized Market Operator: Digital Asset Exchange',
  sourceUrl:
    'https://www.sc.com.my/regulation/guidelines/recognizedmarkets/list-of-registered-digital-asset-exchanges',
};

/** Yields the header, then the registrations of one page. Throws INVALID_FILE for a page of another layout. */
export const scmReader: RegisterReader = async function* (path) {
  const file = partName(path);
  const { tables } = await readHtml(path);
  const table = tables.find(({ before }) => /registered recogni[sz]ed market operators/i.test(before));
  if (table === undefined)
    throw unknownLayout(file, '', "the page with 'Registered Recognized Market Operators'");
  // The register also has custodians, which are on another page.
  yield { type: 'register', whole: [], publishedAt: dateInName(file), layout: 'SCM_DAX', file };
  for (const { line, cells } of table.rows) {
    const [number = '', legalName = ''] = cells.map((cell) => cell.text);
    if (/^name/i.test(legalName)) continue;
    if (!/^\d{1,3}\.?$/.test(number) || legalName === '') {
      yield rejectedRow(
        { file, line },
        legalName === '' ? 'The name is empty.' : 'The first cell must be the number of the row.',
        cells.map((cell) => cell.text).join(' | '),
      );
      continue;
    }
    yield registrationOf(SPEC, { legalName, status: 'REGISTERED' }, { file, line });
  }
};
