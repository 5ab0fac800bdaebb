/** Reads FINTRAC's registry of money services businesses: CSV with all registrations, also those that ended. */
import { readDate } from '../dates.ts';
import { unknownLayout } from '../layout-error.ts';
import { partName } from '../open.ts';
import {
  cleanText,
  dateInName,
  type RegisterReader,
  type RegistrationStatus,
  registrationOf,
  rejectedRow,
  splitNames,
} from '../registers/registration.ts';
import { columnsOf, readWholeTable } from '../rows.ts';

const SPEC = {
  register: 'ca-fintrac-msb',
  jurisdiction: 'CA',
  authority: 'Financial Transactions and Reports Analysis Centre of Canada (FINTRAC)',
  registeredAs: 'Money services business (MSB)',
  sourceUrl: 'https://fintrac-canafe.canada.ca/msb-esm/reg-eng',
};

const NUMBER = 'MSB Registration Number';
const NAMES = 'Organization Names (Legal and Operating)';
const STATUS = 'MSB Registration Status';
const SINCE = 'Date Initial MSB Registration Approval';
const EXPIRES = 'MSB Registration Expiry Date';

const STATUSES: Readonly<Record<string, RegistrationStatus>> = {
  registered: 'REGISTERED',
  pending: 'PENDING',
  expired: 'WITHDRAWN',
  ceased: 'WITHDRAWN',
  revoked: 'REVOKED',
};

/** Splits `Legal Name: A, Inc., Operating Name: B, Operating Name: C`. Without labels, the cell is the legal name. */
function namesIn(text: string): { readonly legalName: string; readonly tradeNames: string[] } {
  const parts = text.split(/(?:^|[,;\s])\s*(legal|operating|trade|business) names?\s*:\s*/i);
  if (parts.length < 3) return { legalName: cleanText(text), tradeNames: [] };
  let legalName = '';
  const others: string[] = [];
  for (let at = 1; at + 1 < parts.length; at += 2) {
    const name = cleanText(parts[at + 1] ?? '').replace(/[,;]$/, '');
    if (parts[at]?.toLowerCase() === 'legal' && legalName === '') legalName = name;
    else if (name !== '') others.push(name);
  }
  legalName ||= others[0] ?? '';
  return { legalName, tradeNames: splitNames(others.join('|'), legalName) };
}

/** Yields the header, then the registrations of one file. Throws INVALID_FILE for a file of another layout. */
export const fintracReader: RegisterReader = async function* (path) {
  const file = partName(path);
  let cellOf: ReturnType<typeof columnsOf> | null = null;
  for await (const found of readWholeTable(path, {
    delimiter: ',',
    legacyEncoding: 'windows-1252',
    lenient: true,
  })) {
    if (found.kind === 'reject') {
      yield found.reject;
      continue;
    }
    if (cellOf === null) {
      const names = new Set(found.cells.map((name) => cleanText(name).toLowerCase()));
      if ([NUMBER, NAMES, STATUS].some((column) => !names.has(column.toLowerCase())))
        throw unknownLayout(file, found.cells.join(','), "FINTRAC's registry as CSV (reg-eng.csv)");
      cellOf = columnsOf(found.cells);
      yield {
        type: 'register',
        whole: ['ca-fintrac-msb'],
        publishedAt: dateInName(file),
        layout: 'FINTRAC_MSB',
        file,
      };
      continue;
    }
    const { cells, line } = found;
    const cell = (name: string): string => cellOf?.(cells, name) ?? '';
    const provenance = { file, line };
    const registrationId = cleanText(cell(NUMBER));
    const { legalName, tradeNames } = namesIn(cell(NAMES));
    const status = STATUSES[cleanText(cell(STATUS)).toLowerCase()];
    if (registrationId === '' || legalName === '' || status === undefined) {
      const reason =
        registrationId === ''
          ? `${NUMBER}: is empty.`
          : legalName === ''
            ? `${NAMES}: is empty.`
            : `${STATUS}: must be one of ${Object.keys(STATUSES).join(', ')} (got '${cell(STATUS).slice(0, 32)}').`;
      yield rejectedRow(provenance, reason, cells.join(','));
      continue;
    }
    const expires = readDate(cell(EXPIRES));
    const isOver = status === 'WITHDRAWN' || status === 'REVOKED';
    yield registrationOf(
      SPEC,
      {
        legalName,
        tradeNames,
        status,
        registrationId,
        registeredAt: readDate(cell(SINCE)),
        endedAt: isOver ? expires : null,
        note: expires === null || isOver ? null : `Expires ${expires}.`,
      },
      provenance,
    );
  }
  if (cellOf === null) throw unknownLayout(file, '', "FINTRAC's registry as CSV (reg-eng.csv)");
};
