/**
 * Reads an export of BaFin's company database: CSV with semicolons. The first row of a firm has its name, BAFIN-ID, LEI and trade names;
 * the rows below it have only further permissions, each with the dates on which it was granted and ended. Only firms with a permission
 * for crypto-assets are registrations.
 */
import { readDate } from '../dates.ts';
import { unknownLayout } from '../layout-error.ts';
import { partName } from '../open.ts';
import {
  cleanText,
  dateInName,
  type RegisterReader,
  type Registration,
  readLei,
  registrationOf,
  splitNames,
} from '../registers/registration.ts';
import { columnsOf, readWholeTable } from '../rows.ts';

const SPEC = {
  register: 'de-bafin',
  jurisdiction: 'DE',
  authority: 'Federal Financial Supervisory Authority (BaFin)',
  registeredAs: 'Permission for crypto-assets',
  sourceUrl: 'https://portal.mvp.bafin.de/database/InstInfo/',
};

const NUMBER = 'BAFIN-ID';
const PERMISSION = 'ERLAUBNISSE/ZULASSUNG/TÄTIGKEITEN';
const LAYOUT = "BaFin's company database as CSV";
const CRYPTO = /krypto|crypto/i;

interface Permission {
  readonly text: string;
  readonly since: string | null;
  readonly until: string | null;
}

interface Firm {
  readonly legalName: string;
  readonly tradeNames: string[];
  readonly number: string;
  readonly lei: string | null;
  readonly line: number;
  readonly permissions: Permission[];
}

function registrationIn(firm: Firm, file: string): Registration | null {
  const { legalName, tradeNames, number, lei, line } = firm;
  const own = firm.permissions.filter(({ text }) => CRYPTO.test(text));
  if (own.length === 0) return null;
  const inForce = own.filter(({ until }) => until === null);
  const hasEnd = inForce.length === 0;
  const dates = own.flatMap(({ since }) => since ?? []).sort();
  const ends = own.flatMap(({ until }) => until ?? []).sort();
  return registrationOf(
    SPEC,
    {
      ...{ legalName, tradeNames, lei, registrationId: number === '' ? lei : number },
      status: 'AUTHORISED',
      registeredAt: dates[0] ?? null,
      endedAt: hasEnd ? (ends.at(-1) ?? null) : null,
      services: [...new Set((hasEnd ? own : inForce).map(({ text }) => text))],
    },
    { file, line },
  );
}

/** Yields the header, then the registrations of one file. Throws INVALID_FILE for a file of another layout. */
export const bafinReader: RegisterReader = async function* (path) {
  const file = partName(path);
  let cellOf: ReturnType<typeof columnsOf> | null = null;
  let firm: Firm | null = null;
  for await (const found of readWholeTable(path, {
    delimiter: ';',
    legacyEncoding: 'windows-1252',
    lenient: true,
  })) {
    if (found.kind === 'reject') {
      yield found.reject;
      continue;
    }
    const { cells, line } = found;
    if (cellOf === null) {
      const names = cells.map((name) => cleanText(name).toUpperCase());
      if (!['NAME', NUMBER, 'LEI', PERMISSION].every((name) => names.includes(name)))
        throw unknownLayout(file, cells.join(';'), LAYOUT);
      cellOf = columnsOf(cells);
      // A search finds some firms, and the file does not say which search it was.
      yield { type: 'register', whole: [], publishedAt: dateInName(file), layout: 'BAFIN_CSV', file };
      continue;
    }
    const columns = cellOf;
    const cell = (name: string): string => cleanText(columns(cells, name));
    const legalName = cell('NAME');
    if (legalName !== '') {
      const done = firm === null ? null : registrationIn(firm, file);
      if (done !== null) yield done;
      const tradeNames = splitNames(cell('HANDELSNAMEN'), legalName);
      firm = {
        ...{ legalName, tradeNames, number: cell(NUMBER), lei: readLei(cell('LEI')), line },
        permissions: [],
      };
    }
    const text = cell(PERMISSION);
    if (firm !== null && text !== '')
      firm.permissions.push({
        text,
        since: readDate(cell('ERTEILUNGSDATUM')),
        until: readDate(cell('ENDE AM')),
      });
  }
  if (cellOf === null) throw unknownLayout(file, '', LAYOUT);
  const last = firm === null ? null : registrationIn(firm, file);
  if (last !== null) yield last;
};
