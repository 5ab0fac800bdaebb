/**
 * Reads the World-Check data file: a table with tabs and the columns `UID`, `LAST NAME`, `FIRST NAME`, `ALIASES`, `CATEGORY`, `E/I` and
 * others. Political categories are politically exposed persons, all others adverse media: the official sanctions lists are read from their
 * own publishers.
 */
import { readDate } from '../dates.ts';
import { IdentifierList } from '../identifiers.ts';
import { namedTableReader, splitCell } from '../named-files.ts';

const POLITICAL = /\bPEP\b|POLITICAL|DIPLOMAT/i;

const identifiersOf = (cell: (column: string) => string, isPerson: boolean) => {
  const identifiers = new IdentifierList();
  // Passports are printed with their country: `AB123456 (IRAN)`.
  for (const text of splitCell(cell('PASSPORTS'))) identifiers.add('passport', text);
  if (isPerson) for (const text of splitCell(cell('SSN'))) identifiers.add('nationalId', text);
  return identifiers.property();
};

function partyOf(cell: (column: string) => string) {
  const isEntity = cell('E/I').toUpperCase() === 'E';
  const category = cell('CATEGORY');
  const sub = cell('SUB-CATEGORY');
  const [family, given] = [cell('LAST NAME'), cell('FIRST NAME')];
  const name = isEntity || given === '' ? [given, family].filter(Boolean).join(' ') : `${family}, ${given}`;
  return {
    listType: POLITICAL.test(`${category} ${sub}`) ? 'pep' : 'adverse_media',
    entityId: cell('UID'),
    schema: isEntity ? 'Organization' : 'Person',
    name,
    aliases: [...splitCell(cell('ALIASES')), ...splitCell(cell('ALTERNATIVE SPELLING'))],
    weakAliases: splitCell(cell('LOW QUALITY ALIASES')),
    // Unknown parts of a date are zero: `1963/00/00`.
    birthDates: splitCell(cell('DOB')).map((date) => date.replaceAll('/', '-')),
    countries: [...splitCell(cell('COUNTRIES')), ...splitCell(cell('CITIZENSHIP'))],
    programs: [category, sub, cell('POSITION')],
    listedAt: readDate(cell('ENTERED').replaceAll('/', '-')),
    sourceUrl: splitCell(cell('EXTERNAL SOURCES'), /[\s;]+/).find((text) => text.startsWith('http')) ?? null,
    ...identifiersOf(cell, !isEntity),
  } as const;
}

/** Yields the parties, then the header. Throws INVALID_FILE if the header lacks a required column. */
export const worldCheckReader = namedTableReader({
  layout: 'WORLD_CHECK_TSV',
  delimiter: '\t',
  required: ['UID', 'LAST NAME', 'FIRST NAME', 'CATEGORY', 'E/I'],
  partyOf,
  changedOf: (cell) => cell('UPDATED').replaceAll('/', '-'),
});
