/** Reads responses of the FCA's API about firms: `Data[]` with FRN, Organisation Name, Status and the dates of the status. */
import { readDate } from '../dates.ts';
import { fieldText, objectsIn, readJsonDocuments } from '../json.ts';
import { unknownLayout } from '../layout-error.ts';
import { partName } from '../open.ts';
import {
  cleanText,
  dateInName,
  type RegisterReader,
  type RegistrationStatus,
  registrationOf,
  rejectedRow,
} from '../registers/registration.ts';

const SPEC = {
  register: 'gb-fca',
  jurisdiction: 'GB',
  authority: 'Financial Conduct Authority (FCA)',
  registeredAs: 'Cryptoasset business (MLRs)',
  sourceUrl: 'https://register.fca.org.uk/',
};

/** Returns the status of a firm; null if the word is not known. `No longer registered` and `No longer authorised` are ends. */
function statusOf(text: string): RegistrationStatus | null {
  if (/^no longer|^cancelled|^lapsed/i.test(text)) return 'WITHDRAWN';
  if (/^revoked/i.test(text)) return 'REVOKED';
  if (/^authorised/i.test(text)) return 'AUTHORISED';
  if (/^(?:registered|temporary registration)/i.test(text)) return 'REGISTERED';
  if (/^(?:applied|pending)/i.test(text)) return 'PENDING';
  return null;
}

/** Yields the header, then the registrations of one file. Throws INVALID_FILE for a file of another layout. */
export const fcaReader: RegisterReader = async function* (path) {
  const file = partName(path);
  const documents = await readJsonDocuments(path);
  if (!documents.some(({ Data }) => Array.isArray(Data)))
    throw unknownLayout(file, '', "responses of the FCA's API with `Data`");
  // Firms that nobody asked for are absent, so the file is never the whole register.
  yield { type: 'register', whole: [], publishedAt: dateInName(file), layout: 'FCA_API', file };
  for (const [index, document] of documents.entries()) {
    const provenance = { file, line: index + 1 };
    const [firm] = objectsIn(document.Data);
    const frn = firm === undefined ? '' : fieldText(firm, 'FRN');
    const legalName = firm === undefined ? '' : cleanText(fieldText(firm, 'Organisation Name'));
    const word = firm === undefined ? '' : fieldText(firm, 'Status');
    const status = statusOf(word);
    if (firm === undefined || frn === '' || legalName === '' || status === null) {
      const reason =
        firm === undefined
          ? `The API found no firm (${fieldText(document, 'Message') || 'no message'}).`
          : frn === '' || legalName === ''
            ? 'FRN or Organisation Name is empty.'
            : `Status: '${word.slice(0, 32)}' is not known.`;
      yield rejectedRow(provenance, reason, JSON.stringify(document));
      continue;
    }
    const since =
      readDate(fieldText(firm, 'MLRs Status Effective Date')) ??
      readDate(fieldText(firm, 'Status Effective Date'));
    const isOver = status === 'WITHDRAWN' || status === 'REVOKED';
    yield registrationOf(
      SPEC,
      {
        legalName,
        status,
        registrationId: frn,
        registeredAs: status === 'AUTHORISED' ? 'Authorised firm' : SPEC.registeredAs,
        registeredAt: isOver ? null : since,
        endedAt: isOver ? since : null,
        sourceUrl: `https://register.fca.org.uk/s/search?q=${frn}&type=Companies`,
      },
      provenance,
    );
  }
};
