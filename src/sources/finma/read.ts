/**
 * Reads FINMA's list of authorised institutions: CSV with semicolons, one row for each authorisation, with UID, Name, City and
 * AuthorisationTypeDE, FR, IT and EN. Insurers, funds and portfolio managers are left out: they do not run exchanges.
 */
import { unknownLayout } from '../layout-error.ts';
import { partName } from '../open.ts';
import {
  cleanText,
  dateInName,
  type RegisterReader,
  registrationOf,
  rejectedRow,
} from '../registers/registration.ts';
import { columnsOf, readWholeTable } from '../rows.ts';

const SPEC = {
  register: 'ch-finma',
  jurisdiction: 'CH',
  authority: 'Swiss Financial Market Supervisory Authority (FINMA)',
  registeredAs: 'Authorised institution',
  sourceUrl: 'https://www.finma.ch/en/finma-public/authorised-institutions-individuals-and-products/',
};

/** Authorisations of the register of data/registers.json. Persons under article 1b of the Banking Act are FinTech companies. */
const READ =
  /\bbank\b|securities firm|article 1b|trading (?:venue|system)|\bDLT\b|central (?:counterparty|custodian)|self-regulatory/i;
const LEFT_OUT = /mortgage bond|representative office/i;

interface Institution {
  readonly name: string;
  readonly uid: string | null;
  readonly types: string[];
  readonly line: number;
}

/** Yields the header, then the institutions of one file. Throws INVALID_FILE for a file of another layout. */
export const finmaReader: RegisterReader = async function* (path) {
  const file = partName(path);
  let cellOf: ReturnType<typeof columnsOf> | null = null;
  // The file has 3,000 rows.
  const institutions = new Map<string, Institution>();
  for await (const found of readWholeTable(path, { delimiter: ';', lenient: true })) {
    if (found.kind === 'reject') {
      yield found.reject;
      continue;
    }
    if (cellOf === null) {
      cellOf = columnsOf(found.cells);
      const names = found.cells.map((name) => cleanText(name).toLowerCase());
      if (!['uid', 'name', 'authorisationtypeen'].every((name) => names.includes(name)))
        throw unknownLayout(file, found.cells.join(';'), "FINMA's list of authorised institutions (uid.csv)");
      yield {
        type: 'register',
        whole: ['ch-finma'],
        publishedAt: dateInName(file),
        layout: 'FINMA_UID',
        file,
      };
      continue;
    }
    const { cells, line } = found;
    const name = cleanText(cellOf(cells, 'Name'));
    const type = cleanText(cellOf(cells, 'AuthorisationTypeEN'));
    const uid = cleanText(cellOf(cells, 'UID'));
    if (name === '' || type === '') {
      const reason = name === '' ? 'Name: is empty.' : 'AuthorisationTypeEN: is empty.';
      yield rejectedRow({ file, line }, reason, cells.join(';'));
      continue;
    }
    if (!READ.test(type) || LEFT_OUT.test(type)) continue;
    const key = uid === '' ? `${name} ${cleanText(cellOf(cells, 'City'))}` : uid;
    const known = institutions.get(key);
    if (known === undefined)
      institutions.set(key, { name, uid: uid === '' ? null : uid, types: [type], line });
    else if (!known.types.includes(type)) known.types.push(type);
  }
  if (cellOf === null) throw unknownLayout(file, '', "FINMA's list of authorised institutions (uid.csv)");
  for (const { name, uid, types, line } of institutions.values())
    yield registrationOf(
      SPEC,
      { legalName: name, status: 'AUTHORISED', registrationId: uid, registeredAs: types.join('; ') },
      { file, line },
    );
};
