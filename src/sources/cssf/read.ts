/** Reads pages of the CSSF's API: `content[]` with entiteName, entiteCode and leiCode. */
import { readDate } from '../dates.ts';
import { fieldText } from '../json.ts';
import { readApiPages } from '../registers/api-pages.ts';
import {
  cleanText,
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
  const { header, rows } = await readApiPages(path, {
    ...{ register: SPEC.register, layout: 'CSSF_API' },
    ...{ list: 'content', total: 'totalElements', pages: "pages of the CSSF's API with `content`" },
  });
  yield header;
  for (const [index, row] of rows.entries()) {
    const provenance = { file: header.file, line: index + 1 };
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
        status: 'AUTHORISED',
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
