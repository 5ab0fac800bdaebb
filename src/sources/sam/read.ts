/** Reads the public extract of exclusions of SAM.gov (`SAM_Exclusions_Public_Extract_V2_….CSV`, plain or in its zip archive). */
import { readDate, readUsDate } from '../dates.ts';
import { namedTableReader } from '../named-files.ts';
import type { PartySchema } from '../records.ts';

const SCHEMATA: Readonly<Record<string, PartySchema>> = {
  individual: 'Person',
  firm: 'Organization',
  vessel: 'Vessel',
  // "Special Entity Designation": an organisation that cannot be registered as a firm.
  'special entity designation': 'Organization',
};

const dateOf = (text: string): string | null => readUsDate(text) ?? readDate(text);

function partyOf(cell: (column: string) => string) {
  const status = cell('Record Status').toLowerCase();
  if (status !== '' && status !== 'active') return null;
  const given = [cell('First'), cell('Middle')].filter((part) => part !== '').join(' ');
  const person = cell('Last') === '' ? given : `${cell('Last')}, ${given}`.replace(/, $/, '');
  const until = cell('Termination Date');
  const reason = [
    cell('Exclusion Type'),
    until === '' ? '' : `until ${dateOf(until) ?? until.toLowerCase()}`,
  ];
  return {
    listType: 'adverse_media',
    entityId: cell('SAM Number') || cell('Unique Entity ID'),
    schema: SCHEMATA[cell('Classification').toLowerCase()] ?? 'Unknown',
    name: cell('Name') || person,
    countries: [cell('Country')],
    programs: [
      reason.filter((part) => part !== '').join(' '),
      cell('Exclusion Program'),
      cell('Excluding Agency'),
    ],
    listedAt: dateOf(cell('Active Date')),
    sourceUrl: 'https://sam.gov/search/?index=ex',
  } as const;
}

/** Yields the parties, then the header. Throws INVALID_FILE if the header lacks a required column. */
export const samReader = namedTableReader({
  layout: 'SAM_EXCLUSIONS_CSV',
  delimiter: ',',
  required: ['Classification', 'Name', 'First', 'Last', 'Exclusion Type', 'SAM Number'],
  partyOf,
});
