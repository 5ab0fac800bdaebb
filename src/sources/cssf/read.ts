/** Reads pages of the CSSF's API: `content[]` with entiteName, entiteCode and leiCode. */
import { readDate } from '../dates.ts';
import { fieldCount, fieldText, objectsIn, readJsonDocuments } from '../json.ts';
import { unknownLayout } from '../layout-error.ts';
import { partName } from '../open.ts';
import {
  cleanText,
  dateInName,
  type RegisterReader,
  readHosts,
  readLei,
  registrationOf,
  rejectedRow,
} from '../registers/registration.ts';

const SPEC = {
  register: 'lu-cssf',
  jurisdiction: 'LU',
  authority: 'Commission de Surveillance du Secteur Financier (CSSF)',
  registeredAs: 'Crypto-asset service provider (MiCA)',
  sourceUrl: 'https://edesk.apps.cssf.lu/search-entities/search',
};

/** Yields the header, then the registrations of one file. Throws INVALID_FILE for a file of another layout. */
export const cssfReader: RegisterReader = async function* (path) {
  const file = partName(path);
  const pages = await readJsonDocuments(path);
  if (pages.length === 0 || pages.some(({ content }) => !Array.isArray(content)))
    throw unknownLayout(file, '', "pages of the CSSF's API with `content`");
  const rows = pages.flatMap(({ content }) => objectsIn(content));
  const total = pages.reduce((most, page) => Math.max(most, fieldCount(page, 'totalElements') ?? 0), 0);
  yield {
    type: 'register',
    // Fewer rows than the API announces are some of its pages.
    whole: total > 0 && rows.length >= total ? ['lu-cssf'] : [],
    publishedAt: dateInName(file),
    layout: 'CSSF_API',
    file,
  };
  for (const [index, row] of rows.entries()) {
    const provenance = { file, line: index + 1 };
    const legalName = cleanText(fieldText(row, 'entiteName', 'entiteNom', 'name', 'nom'));
    const number = fieldText(row, 'entiteCode');
    const lei = readLei(fieldText(row, 'leiCode', 'lei'));
    if (legalName === '' || (number === '' && lei === null)) {
      yield rejectedRow(
        provenance,
        legalName === '' ? 'entiteName: is empty.' : 'entiteCode and leiCode are empty.',
        JSON.stringify(row),
      );
      continue;
    }
    const endedAt = readDate(fieldText(row, 'dtFinValid'));
    yield registrationOf(
      SPEC,
      {
        legalName,
        status: endedAt === null ? 'AUTHORISED' : 'WITHDRAWN',
        registrationId: number === '' ? lei : number,
        lei,
        domains: readHosts(fieldText(row, 'entiteWebsite', 'website')),
        registeredAt: readDate(fieldText(row, 'dtDebValid')),
        endedAt,
      },
      provenance,
    );
  }
};
