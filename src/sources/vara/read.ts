/** Reads VARA's page: table cells with `data-label` (Reference, VASP Name, Licensed Activities, Licence Issued). */
import { readDate } from '../dates.ts';
import { readHtml } from '../html.ts';
import { unknownLayout } from '../layout-error.ts';
import { partName } from '../open.ts';
import {
  dateInName,
  type RegisterReader,
  type RegistrationStatus,
  registrationOf,
  rejectedRow,
  splitNames,
} from '../registers/registration.ts';

const SPEC = {
  register: 'ae-vara',
  jurisdiction: 'AE',
  authority: 'Virtual Assets Regulatory Authority (VARA), Dubai',
  registeredAs: 'Virtual asset service provider (Dubai)',
  sourceUrl: 'https://www.vara.ae/en/licenses-and-register/public-register/',
};

const REFERENCE = /^VL\/\d{2}\/\d{2}\/\d{1,4}$/;

/** The page states a status only for licences that are not in force. */
const statusOf = (text: string): RegistrationStatus =>
  /revok/i.test(text)
    ? 'REVOKED'
    : /withdraw|cancel|expire|surrender/i.test(text)
      ? 'WITHDRAWN'
      : 'AUTHORISED';

/** Yields the header, then the registrations of one page. Throws INVALID_FILE for a page of another layout. */
export const varaReader: RegisterReader = async function* (path) {
  const file = partName(path);
  const { tables } = await readHtml(path);
  const rows = tables
    .flatMap((table) => table.rows)
    .map(({ line, cells }) => ({
      line,
      text: cells.map((cell) => cell.text).join(' | '),
      labels: new Map(
        cells.map(({ attributes, text }) => [(attributes['data-label'] ?? '').trim().toLowerCase(), text]),
      ),
    }))
    .filter(({ labels }) => labels.has('reference'));
  if (rows.length === 0) throw unknownLayout(file, '', "VARA's page with cells labelled 'Reference'");
  yield { type: 'register', whole: ['ae-vara'], publishedAt: dateInName(file), layout: 'VARA_PAGE', file };
  for (const { line, labels, text } of rows) {
    const provenance = { file, line };
    const label = (name: string): string => labels.get(name) ?? '';
    const reference = label('reference');
    const legalName = label('vasp name');
    if (!REFERENCE.test(reference) || legalName === '') {
      const reason =
        legalName === '' ? 'VASP Name: is empty.' : 'Reference: must be a number such as VL/26/03/003.';
      yield rejectedRow(provenance, reason, text);
      continue;
    }
    yield registrationOf(
      SPEC,
      {
        legalName,
        status: statusOf(label('status') || label('licence status')),
        registrationId: reference,
        tradeNames: splitNames(label('trade name') || label('brand name'), legalName),
        registeredAt: readDate(label('licence issued').replaceAll('/', '-')),
        services: activities(label('licensed activities')),
      },
      provenance,
    );
  }
};

/** Splits `Broker-Dealer Services Management and Investment Services`: each activity ends with `Services`, `Lending and Borrowing` too. */
const activities = (text: string): string[] =>
  text
    .split(/(?<=\bServices)\s*[,;|]?\s+/)
    .map((part) => part.trim())
    .filter((part) => part !== '');
