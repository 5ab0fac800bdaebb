/**
 * The legacy CSV tables (sdn, add, alt, sdn_comments), joined by entity number. They have no header row and write null as
 * `-0-`. A remark is cut after 1,000 characters and continues in sdn_comments.
 */
import { AssayError } from '../../base/errors.ts';
import { readCountries } from '../countries.ts';
import { readDates } from '../dates.ts';
import { IdentifierList, identifierKindOf } from '../identifiers.ts';
import type { SourcePart } from '../open.ts';
import {
  type DesignatedParty,
  type ListedAddress,
  type PartyName,
  type PartySchema,
  partyOfRow,
  type Reject,
  type SourceRecord,
} from '../records.ts';
import { readWholeTable, type TableRow } from '../rows.ts';
import { digitalCurrency, listOfPrograms, type OfacList } from './lists.ts';

export type LegacyKind = 'sdn' | 'add' | 'alt' | 'sdn_comments';

const TABLE = { delimiter: ',', legacyEncoding: 'windows-1252' } as const;
/** Cells per row: the only difference between the four tables, which have no headers. */
const CELLS: Readonly<Record<LegacyKind, number>> = { sdn: 12, add: 6, alt: 5, sdn_comments: 2 };
const REMARK_CHARS_MAX = 1_000;
const COMPANIONS: readonly { readonly kind: LegacyKind; readonly lost: string }[] = [
  { kind: 'alt', lost: 'aliases are missing' },
  { kind: 'add', lost: 'countries of addresses are missing' },
  { kind: 'sdn_comments', lost: 'remarks end after 1,000 characters' },
];

const SCHEMAS: Readonly<Record<string, PartySchema>> = {
  individual: 'Person',
  vessel: 'Vessel',
  aircraft: 'Aircraft',
  '': 'Organization',
};

/**
 * Returns the kind of table that starts with `head`; null if it is not one of them.
 *
 * @param head The beginning of the file, at least one whole row.
 */
export function legacyKind(head: string): LegacyKind | null {
  const firstRow = /^[^\r\n]*/.exec(head)?.[0] ?? '';
  if (!/^"?\d+"?\s*,/.test(firstRow)) return null;
  const cells =
    firstRow.match(/("(?:[^"]|"")*"|[^",]*)(?:\s*)(,|$)/g)?.filter((cell) => cell !== '').length ?? 0;
  return (Object.keys(CELLS) as LegacyKind[]).find((kind) => CELLS[kind] === cells) ?? null;
}

/** Yields the header, a notice for each missing table, and the parties. Throws INVALID_FILE. */
export async function* readLegacy(
  tables: ReadonlyMap<LegacyKind, SourcePart>,
): AsyncGenerator<SourceRecord<OfacList>, void, undefined> {
  const main = tables.get('sdn');
  if (!main) {
    const given = [...tables.values()].map((part) => part.name).join(', ');
    throw new AssayError(
      'INVALID_FILE',
      `${given}: the legacy tables need sdn.csv, which contains the parties; add it to the files of this import.`,
      { field: 'file' },
    );
  }
  const rejects: Reject[] = [];
  const companions = new Map<LegacyKind, Map<string, TableRow[]>>();
  for (const { kind, lost } of COMPANIONS) {
    const part = tables.get(kind);
    if (part) companions.set(kind, await readCompanion(kind, part, rejects));
    else rejects.push(reject(`The companion table ${kind}.csv was not given: ${lost}.`, '', main.name, 1));
  }

  const parties: Omit<DesignatedParty, 'list'>[] = [];
  const numbers = new Set<string>();
  let cut = 0;
  for await (const row of readWholeTable(main, { ...TABLE, cells: CELLS.sdn })) {
    if (row.kind === 'reject') {
      rejects.push(row.reject);
      continue;
    }
    const entityId = cell(row, 0);
    if (!/^\d+$/.test(entityId) || cell(row, 1) === '') {
      rejects.push(
        reject(
          'The row has no entity number or no name.',
          row.cells.join(','),
          main.name,
          row.line,
          entityId,
        ),
      );
      continue;
    }
    numbers.add(entityId);
    if (isCutOff(row)) cut++;
    const own = (kind: LegacyKind): readonly TableRow[] => companions.get(kind)?.get(entityId) ?? [];
    parties.push(readParty(row, { own, file: main.name, rejects }));
  }
  // The wallets behind the cut would count as removed from the list.
  if (cut > 0 && !companions.has('sdn_comments')) {
    throw new AssayError(
      'INVALID_FILE',
      `${main.name}: ${cut} remarks end after ${REMARK_CHARS_MAX} characters and may go on with wallets; add sdn_comments.csv of the same day to the files of this import.`,
      { field: 'file' },
    );
  }
  for (const [kind, rows] of companions) {
    for (const [entityId, own] of rows) {
      if (numbers.has(entityId)) continue;
      for (const row of own) {
        rejects.push(
          reject(
            `No party has the number ${entityId}.`,
            row.cells.join(','),
            tables.get(kind)?.name ?? kind,
            row.line,
          ),
        );
      }
    }
  }

  const list = listOfPrograms(parties.map((party) => party.programs));
  yield { type: 'header', lists: [list], publishedAt: null, layout: 'LEGACY_CSV' };
  yield* rejects;
  for (const party of parties) yield { ...party, list };
}

/** Returns whether a remark is as long as the table permits, and does not end there. */
function isCutOff(row: TableRow): boolean {
  const printed = row.cells[11] ?? '';
  return printed.length >= REMARK_CHARS_MAX && !printed.endsWith('.');
}

const reject = (reason: string, text: string, file: string, line: number, entityId = ''): Reject => ({
  type: 'reject',
  reason,
  text: text.slice(0, 500),
  ...partyOfRow(entityId),
  provenance: { file, line },
});

/** Returns a cell without its padding; empty for OFAC's null. */
function cell(row: TableRow, index: number): string {
  const text = row.cells[index]?.trim() ?? '';
  return text === '-0-' ? '' : text;
}

async function readCompanion(
  kind: LegacyKind,
  part: SourcePart,
  rejects: Reject[],
): Promise<Map<string, TableRow[]>> {
  const rows = new Map<string, TableRow[]>();
  for await (const row of readWholeTable(part, { ...TABLE, cells: CELLS[kind] })) {
    if (row.kind === 'reject') {
      rejects.push(row.reject);
      continue;
    }
    const entityId = cell(row, 0);
    const own = rows.get(entityId);
    if (own) own.push(row);
    else rows.set(entityId, [row]);
  }
  return rows;
}

interface PartyContext {
  readonly own: (kind: LegacyKind) => readonly TableRow[];
  readonly file: string;
  readonly rejects: Reject[];
}

function readParty(row: TableRow, { own, file, rejects }: PartyContext): Omit<DesignatedParty, 'list'> {
  const provenance = { file, line: row.line };
  const printed = row.cells[11] ?? '';
  const comments = own('sdn_comments').map((comment) => comment.cells[1] ?? '');
  const remark = cell(row, 11) === '' ? comments.join('') : printed + comments.join('');
  const segments = remark
    .split(';')
    .map((segment) => segment.trim().replace(/\.$/, ''))
    .filter((segment) => segment !== '');
  if (comments.length === 0 && isCutOff(row)) {
    const cut = segments.pop() ?? '';
    rejects.push(
      reject(
        'The remark is cut off and is not continued in sdn_comments.',
        cut,
        file,
        row.line,
        cell(row, 0),
      ),
    );
  }

  const names: PartyName[] = [{ text: cell(row, 1), kind: 'primary', weak: false, script: null }];
  for (const alt of own('alt')) {
    if (cell(alt, 3) === '') continue;
    names.push({
      text: cell(alt, 3),
      kind: cell(alt, 2) === 'fka' ? 'former' : 'alias',
      weak: false,
      script: null,
    });
  }
  const addresses: ListedAddress[] = [];
  const birthDates: string[] = [];
  const countries: string[] = [];
  const schema = SCHEMAS[cell(row, 2).toLowerCase()] ?? 'Unknown';
  const identifiers = new IdentifierList();
  for (const segment of segments) {
    // `Passport A0010 (Iran)`, `Vessel Registration Identification IMO 9187629`, `Aircraft Tail Number EP-MNA`.
    const [, words = '', number = ''] = /^(?:alt\.\s+)?(\D+?)\s+((?:IMO )?\S*\d\S*)/.exec(segment) ?? [];
    identifiers.add(identifierKindOf(words, schema), number);
    const weak = /^(?:alt\.\s+)?(a\.k\.a|f\.k\.a|n\.k\.a)\.\s+'(.+)'$/i.exec(segment);
    if (weak?.[2]) {
      const former = weak[1]?.toLowerCase().startsWith('f') === true;
      names.push({ text: weak[2], kind: former ? 'former' : 'alias', weak: true, script: null });
    }
    const born = /^(?:alt\.\s+)?DOB\s+(.+)$/.exec(segment)?.[1];
    if (born) birthDates.push(...readDates(born));
    const country = /^(?:alt\.\s+)?(?:nationality of registration|nationality|citizen)\s+(.+)$/i.exec(
      segment,
    )?.[1];
    if (country) countries.push(country);
    const wallet = digitalCurrency(segment);
    if (wallet === null) continue;
    const [currency = '', address = ''] = wallet.split(/\s+/);
    if (address === '') {
      rejects.push(
        reject('A digital currency entry without an address.', segment, file, row.line, cell(row, 0)),
      );
      continue;
    }
    addresses.push({ address, currency, provenance });
  }
  for (const address of own('add')) countries.push(cell(address, 4));
  countries.push(cell(row, 9));
  return {
    type: 'party',
    entityId: cell(row, 0),
    schema,
    ...identifiers.property(),
    names,
    programs: cell(row, 3)
      .split(/\]\s*\[/)
      .map((program) => program.replace(/[[\]]/g, '').trim())
      .filter((program) => program !== ''),
    birthDates,
    countries: readCountries(countries),
    listedAt: null,
    delistedAt: null,
    addresses,
    remarks: remark.trim() === '' ? null : remark.trim(),
    provenance,
  };
}
