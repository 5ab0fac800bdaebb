/**
 * Reads the SFC's page of virtual asset trading platforms: the table after the marker `table-vatp-licensed`, with CE reference,
 * legal name, Chinese name, platform and date. The tables of applicants and of platforms that close are not read.
 */
import { readDate } from '../dates.ts';
import { readHtml } from '../html.ts';
import { unknownLayout } from '../layout-error.ts';
import { partName } from '../open.ts';
import {
  dateInName,
  type RegisterReader,
  registrationOf,
  rejectedRow,
  splitNames,
} from '../registers/registration.ts';

const SPEC = {
  register: 'hk-sfc',
  jurisdiction: 'HK',
  authority: 'Securities and Futures Commission (SFC)',
  registeredAs: 'Virtual asset trading platform operator',
  sourceUrl:
    'https://www.sfc.hk/en/Welcome-to-the-Fintech-Contact-Point/Virtual-assets/Virtual-asset-trading-platforms-operators/Lists-of-virtual-asset-trading-platforms',
};

/** Yields the header, then the registrations of one page. Throws INVALID_FILE for a page of another layout. */
export const sfcReader: RegisterReader = async function* (path) {
  const file = partName(path);
  const { tables } = await readHtml(path);
  const table = tables.find(({ before }) => before.includes('table-vatp-licensed'));
  if (table === undefined)
    throw unknownLayout(file, '', "the SFC's page with the table 'table-vatp-licensed'");
  // Applicants are on the register too, so a firm that is absent from this table may be one of them.
  yield { type: 'register', whole: [], publishedAt: dateInName(file), layout: 'SFC_VATP', file };
  for (const { line, cells } of table.rows) {
    const provenance = { file, line };
    const text = (at: number): string => cells[at]?.text ?? '';
    const reference = /^[A-Z]{3}\d{3}/.exec(text(0))?.[0];
    if (reference === undefined) {
      // The header row has no reference.
      if (table.rows[0]?.line !== line)
        yield rejectedRow(
          provenance,
          'The CE reference must be three letters and three digits.',
          cells.map((cell) => cell.text).join(' | '),
        );
      continue;
    }
    const legalName = text(1);
    if (legalName === '') {
      yield rejectedRow(provenance, 'The legal name is empty.', cells.map((cell) => cell.text).join(' | '));
      continue;
    }
    yield registrationOf(
      SPEC,
      {
        legalName,
        status: 'AUTHORISED',
        registrationId: reference,
        tradeNames: splitNames([text(2), text(3)].filter((name) => name !== '').join('|'), legalName),
        registeredAt: readDate(text(4)),
      },
      provenance,
    );
  }
};
