/**
 * Reads pages of the API of the FMA Liechtenstein: `data[]` with description (the name), tradenumber, lei, website and `grants[]`, each
 * with its category and the dates registered, expired, revoked and returned.
 */
import { readDate } from '../dates.ts';
import { fieldText, isObject, objectsIn } from '../json.ts';
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
  register: 'li-fma',
  jurisdiction: 'LI',
  authority: 'Financial Market Authority Liechtenstein (FMA)',
  registeredAs: 'TT service provider (TVTG)',
  sourceUrl: 'https://register.fma-li.li/search',
};

/** Yields the header, then the registrations of one file. Throws INVALID_FILE for a file of another layout. */
export const fmaliReader: RegisterReader = async function* (path) {
  const { header, rows } = await readApiPages(path, {
    ...{ register: SPEC.register, layout: 'FMA_LI_API' },
    ...{ list: 'data', total: 'maxResults', pages: "pages of the FMA's API with `data`" },
  });
  yield header;
  for (const [index, row] of rows.entries()) {
    const provenance = { file: header.file, line: index + 1 };
    const legalName = cleanText(fieldText(row, 'description'));
    if (legalName === '') {
      yield rejectedRow(provenance, 'description: is empty.', JSON.stringify(row));
      continue;
    }
    const grants = objectsIn(row.grants).map((grant) => ({
      name: isObject(grant.category) ? cleanText(fieldText(grant.category, 'descriptionEnglish')) : '',
      since: readDate(fieldText(grant, 'registered')),
      until: ['revoked', 'returned', 'expired'].map((end) => readDate(fieldText(grant, end))),
      isRevoked: readDate(fieldText(grant, 'revoked')) !== null,
    }));
    const inForce = grants.filter(({ until }) => until.every((day) => day === null));
    const isOver = grants.length > 0 && inForce.length === 0;
    const ends = grants.flatMap(({ until }) => until.filter((day) => day !== null)).sort();
    const number = fieldText(row, 'tradenumber');
    const lei = readLei(fieldText(row, 'lei'));
    yield registrationOf(
      SPEC,
      {
        legalName,
        status: !isOver ? 'REGISTERED' : grants.every(({ isRevoked }) => isRevoked) ? 'REVOKED' : 'WITHDRAWN',
        registrationId: number === '' ? lei : number,
        lei,
        domains: readHosts(fieldText(row, 'website')),
        registeredAt: grants.flatMap(({ since }) => since ?? []).sort()[0] ?? null,
        endedAt: isOver ? (ends.at(-1) ?? null) : null,
        services: [...new Set((isOver ? grants : inForce).map(({ name }) => name))].filter(
          (name) => name !== '',
        ),
      },
      provenance,
    );
  }
};
