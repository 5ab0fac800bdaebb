/**
 * Reads the AFM's workbook: some rows of title, a header row that begins with `Entity name`, then one row for each firm. The
 * columns are read by position: 0 name, 1 number, 2 kind, 3 home state, 4 date, 5 end, 7 services, 8 trade name, 9 LEI,
 * 11 websites, 12 passports.
 */
import { readCountry } from '../countries.ts';
import { readDate } from '../dates.ts';
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
  splitNames,
} from '../registers/registration.ts';
import { readSheet, serialDate } from '../xlsx.ts';

const SPEC = {
  register: 'nl-afm',
  jurisdiction: 'NL',
  authority: 'Netherlands Authority for the Financial Markets (AFM)',
  registeredAs: 'Crypto-asset service provider (MiCA)',
  sourceUrl: 'https://www.afm.nl/en/sector/registers',
};

const dateOf = (text: string): string | null => serialDate(text) ?? readDate(text);

/** Yields the header, then the registrations of one file. Throws INVALID_FILE for a file of another layout. */
export const afmReader: RegisterReader = async function* (path) {
  const file = partName(path);
  let inTable = false;
  for await (const { line, cells } of readSheet(path)) {
    const raw = (at: number): string => cells[at]?.trim() ?? '';
    const cell = (at: number): string => {
      const text = cleanText(raw(at));
      return /^(?:n\/?a|-)$/i.test(text) ? '' : text;
    };
    if (!inTable) {
      if (!/^(?:entity name|naam)/i.test(cell(0))) continue;
      inTable = true;
      yield { type: 'register', whole: ['nl-afm'], publishedAt: dateInName(file), layout: 'AFM_CASP', file };
      continue;
    }
    const provenance = { file, line };
    const legalName = cell(0);
    const lei = readLei(cell(9));
    if (legalName === '' || (cell(1) === '' && lei === null)) {
      const reason = legalName === '' ? 'The name is empty.' : 'The row has neither a number nor a LEI.';
      yield rejectedRow(provenance, reason, cells.join('\t'));
      continue;
    }
    const home = readCountry(cell(3));
    const kind = cell(2);
    // The column of the end holds other numbers too; only a date counts.
    const endedAt = dateOf(cell(5));
    const outgoing = /^outgoing/i.test(cell(12));
    yield registrationOf(
      SPEC,
      {
        legalName,
        status: 'AUTHORISED',
        registeredAs: kind === '' ? SPEC.registeredAs : `${SPEC.registeredAs}: ${kind}`,
        registrationId: cell(1) === '' ? lei : cell(1),
        lei,
        tradeNames: splitNames(raw(8), legalName),
        domains: readHosts(raw(11)),
        registeredAt: dateOf(cell(4)),
        endedAt,
        services: raw(7)
          .split(/[\r\n]+/)
          .map((text) => cleanText(text).replace(/;$/, ''))
          .filter((text) => text !== ''),
        passportedTo: outgoing ? passports(raw(12)) : [],
        note: home === null || home === 'NL' ? null : `Home member state: ${home}.`,
      },
      provenance,
    );
  }
  if (!inTable) throw unknownLayout(file, '', "the AFM's workbook with a row that begins with 'Entity name'");
};

/** Returns the countries of `Outgoing: BE, DE, …`. */
const passports = (text: string): string[] => [
  ...new Set(
    [...text.matchAll(/\b[A-Z]{2}\b/g)]
      .map(([code]) => (code === 'EL' ? 'GR' : readCountry(code)))
      .filter((code) => code !== null),
  ),
];
