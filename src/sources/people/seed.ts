/** Reads the politically exposed persons that ship with the product: NDJSON in the format of data/pep/README.md. */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { shippedData } from '../../base/paths.ts';
import { rejectRow } from '../csv.ts';
import type { NamedParty, NamedReader } from '../named-party.ts';
import { openLines, partName } from '../open.ts';
import type { Provenance } from '../records.ts';
import { FieldFault, readDate, readJurisdiction, readText, readUrl } from '../statement.ts';

/** Returns the shipped files, ordered by name. */
export async function pepSeedFiles(): Promise<string[]> {
  const names = await readdir(shippedData('pep'));
  return names
    .filter((name) => name.endsWith('.ndjson'))
    .sort()
    .map((name) => join(shippedData('pep'), name));
}

/** Reads the shipped heads of state. The publication date of a file is the newest `asOf` date of its facts. */
export const pepSeedReader: NamedReader = async function* (files) {
  let newest: string | null = null;
  for (const path of files) {
    const file = partName(path);
    for await (const row of openLines(path)) {
      if (row.text.trim() === '') continue;
      try {
        const { party, asOf } = readFact(row.text, { file, line: row.line });
        if (newest === null || asOf > newest) newest = asOf;
        yield party;
      } catch (error) {
        if (!(error instanceof FieldFault)) throw error;
        yield rejectRow(file, row, error.message);
      }
    }
  }
  yield { type: 'header', publishedAt: newest, layout: 'PEP_SEED', passedOver: 0 };
};

function readFact(text: string, provenance: Provenance): { party: NamedParty; asOf: string } {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new FieldFault('line', 'is not JSON');
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new FieldFault('line', 'is not an object');
  const row = value as Readonly<Record<string, unknown>>;
  const textOf = (field: string): string => {
    const cell = row[field];
    const read = typeof cell === 'string' ? readText(field, cell) : null;
    if (read === null) throw new FieldFault(field, 'must be a text that is not empty');
    return read;
  };
  const { aliases } = row;
  if (
    !Array.isArray(aliases) ||
    !aliases.every((alias): alias is string => typeof alias === 'string' && alias !== '')
  ) {
    throw new FieldFault('aliases', 'must be an array of texts');
  }
  if (row.verified !== false)
    throw new FieldFault('verified', 'must be false: the shipped facts are not checked against a register');
  const country = readJurisdiction('country', textOf('country'));
  const asOf = readDate('asOf', textOf('asOf'));
  if (asOf === null || country === null) throw new FieldFault('asOf', 'is empty');
  return {
    asOf,
    party: {
      type: 'named',
      listType: 'pep',
      entityId: textOf('id'),
      schema: 'Person',
      names: [
        { text: textOf('name'), kind: 'primary' as const, weak: false, script: null },
        ...aliases.map((alias) => ({ text: alias, kind: 'alias' as const, weak: false, script: null })),
      ],
      birthDates: [],
      countries: [country],
      programs: [`${textOf('position')} (as of ${asOf})`],
      listedAt: null,
      sourceUrl: readUrl('sourceUrl', textOf('sourceUrl')),
      provenance,
    },
  };
}
