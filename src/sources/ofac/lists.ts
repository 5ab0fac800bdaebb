/** Which of OFAC's two published lists a file is, where the file itself does not say. */

/**
 * Programmes that do not block on their own: an entry under nothing but these stands on the consolidated (non-SDN) list.
 * SDN entries can carry them beside a blocking programme.
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

/** The list that a set of entries, each given by its programmes, belongs to. */
export function listOfPrograms(entries: Iterable<readonly string[]>): 'OFAC_SDN' | 'OFAC_CONS' {
  for (const programs of entries) {
    if (programs.length > 0 && programs.every((program) => NON_SDN_PROGRAMS.has(program))) return 'OFAC_CONS';
  }
  return 'OFAC_SDN';
}

const DIGITAL_CURRENCY = /^(?:alt\.\s+)?Digital Currency Address\s*-\s*(.*)$/i;

/** The currency of an id or feature type `Digital Currency Address - XBT`; null for any other type. */
export function digitalCurrency(type: string): string | null {
  return DIGITAL_CURRENCY.exec(type.trim())?.[1]?.trim() ?? null;
}
