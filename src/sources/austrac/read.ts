/** Reads pages of AUSTRAC's register: `content.data[]` with legalName and abn, the Australian Business Number. */
import { fieldText } from '../json.ts';
import { readApiPages } from '../registers/api-pages.ts';
import {
  cleanText,
  type RegisterReader,
  registrationOf,
  rejectedRow,
  splitNames,
} from '../registers/registration.ts';

const SPEC = {
  register: 'au-austrac',
  jurisdiction: 'AU',
  authority: 'Australian Transaction Reports and Analysis Centre (AUSTRAC)',
  registeredAs: 'Virtual asset service provider',
  sourceUrl: 'https://online.apps.austrac.gov.au/vaspr',
};

/** Yields the header, then the registrations of one file. Throws INVALID_FILE for a file of another layout. */
export const austracReader: RegisterReader = async function* (path) {
  const { header, rows } = await readApiPages(path, {
    ...{ register: SPEC.register, layout: 'AUSTRAC_API', within: 'content' },
    ...{ list: 'data', total: 'totalCount', pages: "pages of AUSTRAC's API with `content.data`" },
  });
  yield header;
  for (const [index, row] of rows.entries()) {
    const provenance = { file: header.file, line: index + 1 };
    const legalName = cleanText(fieldText(row, 'legalName'));
    const abn = fieldText(row, 'abn').replace(/\s/g, '');
    if (legalName === '' || abn === '') {
      const field = legalName === '' ? 'legalName' : 'abn';
      yield rejectedRow(provenance, `${field}: is empty.`, JSON.stringify(row));
      continue;
    }
    const names = Array.isArray(row.tradingNames)
      ? row.tradingNames.filter((name) => typeof name === 'string').join('|')
      : fieldText(row, 'tradingName', 'businessName');
    yield registrationOf(
      SPEC,
      { legalName, status: 'REGISTERED', registrationId: abn, tradeNames: splitNames(names, legalName) },
      provenance,
    );
  }
};
