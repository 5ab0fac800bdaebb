/** Reads registrations from the CSV format in docs/registers-csv.md, for registers without a supported file of their own. */
import { AssayError } from '../../base/errors.ts';
import { separatorHint } from '../../base/separator-hint.ts';
import { readCountry } from '../countries.ts';
import { readDate } from '../dates.ts';
import { partName } from '../open.ts';
import { columnsOf, readWholeTable } from '../rows.ts';
import {
  cleanText,
  dateInName,
  REGISTRATION_STATUSES,
  type RegisterReader,
  type RegistrationStatus,
  readHosts,
  readLei,
  splitNames,
} from './registration.ts';

const REQUIRED = ['register', 'jurisdiction', 'authority', 'legal_name', 'status', 'registered_as'] as const;

const list = (text: string): string[] =>
  text
    .split(';')
    .map((part) => part.trim())
    .filter((part) => part !== '');

const DATES = ['registered_at', 'ended_at'] as const;

/**
 * Returns true if a cell is empty or a date of which every part is valid. Of a date such as `2024-13` the year alone would remain, which ends a
 * registration too early, and of a date that cannot be read nothing, so that it would never end.
 */
function isDateCell(text: string): boolean {
  if (text === '') return true;
  const parts = readDate(text)?.split('-').length ?? 0;
  return parts > 0 && parts >= Math.min(3, text.match(/\d+|[a-z]{3,}/gi)?.length ?? 0);
}

/** Returns what is wrong with the dates of a row, or null. */
function dateFault(cell: (name: string) => string): string | null {
  const name = DATES.find((one) => !isDateCell(cell(one)));
  return name === undefined
    ? null
    : `${name}: must be a date such as 2024-05-31, 31/05/2024, 2024-05 or 2024 (got '${cell(name).slice(0, 32)}').`;
}

/**
 * Creates a reader of register CSV files.
 *
 * @param options.whole The file contains every firm of its registers, so that an absent firm is off the register.
 */
export function registersReader(options: { readonly whole?: boolean } = {}): RegisterReader {
  const { whole = false } = options;
  return async function* (path) {
    const file = partName(path);
    const registers = new Set<string>();
    let cellOf: ReturnType<typeof columnsOf> | null = null;
    for await (const found of readWholeTable(path, { delimiter: ',' })) {
      if (found.kind === 'reject') {
        yield found.reject;
        continue;
      }
      if (cellOf === null) {
        const names = found.cells.map((name) => cleanText(name).toLowerCase());
        const missing = REQUIRED.filter((name) => !names.includes(name));
        if (missing.length > 0) {
          throw new AssayError(
            'INVALID_FILE',
            `${file}, line ${found.line}: the header lacks ${missing.join(', ')}.${separatorHint(found.cells)}`,
            { field: 'file' },
          );
        }
        cellOf = columnsOf(found.cells);
        continue;
      }
      const { cells, line } = found;
      const cell = (name: string): string => cleanText(cellOf?.(cells, name) ?? '');
      const register = cell('register').toLowerCase();
      const jurisdiction = readCountry(cell('jurisdiction').toUpperCase());
      const status = cell('status').toUpperCase();
      const fault = !/^[a-z0-9][a-z0-9-]{1,63}$/.test(register)
        ? 'register: must be 2 to 64 small letters, digits and hyphens.'
        : jurisdiction === null || !/^[A-Z]{2}$/.test(jurisdiction)
          ? 'jurisdiction: must be a country code (ISO 3166-1 alpha-2).'
          : !(REGISTRATION_STATUSES as readonly string[]).includes(status)
            ? `status: must be one of ${REGISTRATION_STATUSES.join(', ')} (got '${status.slice(0, 32)}').`
            : ['legal_name', 'authority', 'registered_as'].some((name) => cell(name) === '')
              ? 'legal_name, authority or registered_as is empty.'
              : dateFault(cell);
      const provenance = { file, line };
      if (fault !== null || jurisdiction === null) {
        yield {
          type: 'reject',
          reason: fault ?? 'jurisdiction: is empty.',
          text: cells.join(',').slice(0, 500),
          provenance,
        };
        continue;
      }
      registers.add(register);
      const url = cell('source_url');
      yield {
        type: 'registration',
        register,
        jurisdiction,
        authority: cell('authority'),
        legalName: cell('legal_name'),
        tradeNames: list(cell('trade_names')).flatMap((name) => splitNames(name, cell('legal_name'))),
        lei: readLei(cell('lei')),
        domains: readHosts(cell('domains')),
        // A register without numbers of its own identifies firms by their LEI.
        registrationId: cell('registration_id') || readLei(cell('lei')),
        registeredAs: cell('registered_as'),
        status: status as RegistrationStatus,
        registeredAt: readDate(cell('registered_at')),
        endedAt: readDate(cell('ended_at')),
        services: list(cell('services')),
        passportedTo: list(cell('passported_to'))
          .map((code) => readCountry(code.toUpperCase()))
          .filter((code) => code !== null),
        note: cell('note').slice(0, 1_000) || null,
        sourceUrl: /^https?:\/\/\S+$/.test(url) ? url : null,
        provenance,
      };
    }
    if (cellOf === null)
      throw new AssayError('INVALID_FILE', `${file}: the file is empty.`, { field: 'file' });
    yield {
      type: 'register',
      whole: whole ? [...registers].sort() : [],
      publishedAt: dateInName(file),
      layout: 'REGISTERS_CSV',
      file,
    };
  };
}
