/** Decides which of OFAC's two published lists a file is, if the file itself does not state it. */

/** The two lists that OFAC publishes. */
export type OfacList = 'OFAC_SDN' | 'OFAC_CONS';

/**
 * Programmes that do not block assets on their own: an entry with only these programmes is on the consolidated (non-SDN)
 * list. SDN entries can have them in addition to a blocking programme.
 */
const NON_SDN_PROGRAMS = new Set([
  'NS-PLC',
  'FSE-IR',
  'FSE-SY',
  '561-Related',
  'CMIC-EO13959',
  'NS-MBS',
  'CAPTA',
]);

/** Returns the list of a set of entries, each given by its programmes. */
export function listOfPrograms(entries: Iterable<readonly string[]>): OfacList {
  for (const programs of entries) {
    if (programs.length > 0 && programs.every((program) => NON_SDN_PROGRAMS.has(program))) return 'OFAC_CONS';
  }
  return 'OFAC_SDN';
}

const DIGITAL_CURRENCY = /^(?:alt\.\s+)?Digital Currency Address\s*-\s*(.*)$/i;

/** Returns the currency of an id or feature type such as `Digital Currency Address - XBT`; null for any other type. */
export function digitalCurrency(type: string): string | null {
  return DIGITAL_CURRENCY.exec(type.trim())?.[1]?.trim() ?? null;
}
