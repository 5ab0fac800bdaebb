/** Reads pages of AUSTRAC's register: `content.data[]` with legalName and abn, the Australian Business Number. */
import { fieldCount, fieldText, isObject, objectsIn, readJsonDocuments } from '../json.ts';
import { unknownLayout } from '../layout-error.ts';
import { partName } from '../open.ts';
import {
  cleanText,
  dateInName,
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
  const file = partName(path);
  const pages = (await readJsonDocuments(path)).map(({ content }) => (isObject(content) ? content : null));
  if (pages.length === 0 || pages.some((page) => !Array.isArray(page?.data)))
    throw unknownLayout(file, '', "pages of AUSTRAC's API with `content.data`");
  const rows = pages.flatMap((page) => objectsIn(page?.data));
  const total = pages.reduce((most, page) => Math.max(most, fieldCount(page ?? {}, 'totalCount') ?? 0), 0);
  yield {
    type: 'register',
    whole: total > 0 && rows.length >= total ? ['au-austrac'] : [],
    publishedAt: dateInName(file),
    layout: 'AUSTRAC_API',
    file,
  };
  for (const [index, row] of rows.entries()) {
    const provenance = { file, line: index + 1 };
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
