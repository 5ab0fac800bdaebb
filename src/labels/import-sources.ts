/** The sources that can be imported: the reader of their files, and the files that belong together. */
import { AssayError } from '../base/errors.ts';
import { chReader } from '../sources/ch/read.ts';
import { euReader } from '../sources/eu/read.ts';
import { exchangesReader } from '../sources/exchanges/read.ts';
import { graphsenseReader } from '../sources/graphsense/read.ts';
import { ofacReader } from '../sources/ofac/read.ts';
import { listParts, readTextHead } from '../sources/open.ts';
import type { OwnMapping } from '../sources/own/columns.ts';
import { ownReader } from '../sources/own/read.ts';
import { packagesReader } from '../sources/packages/read.ts';
import { poolsReader } from '../sources/pools/read.ts';
import type { SourceReader } from '../sources/records.ts';
import { scamsReader } from '../sources/scams/read.ts';
import { seedReader } from '../sources/seed/read.ts';
import { ukReader } from '../sources/uk/read.ts';
import { unReader } from '../sources/un/read.ts';

/** How the files of one call are grouped. */
type Grouping = 'each' | 'together' | 'legacy-together';

interface ImportSource {
  readonly reader: (mapping: OwnMapping | undefined) => SourceReader;
  readonly grouping: Grouping;
}

const plain = (reader: SourceReader, grouping: Grouping = 'each'): ImportSource => ({
  reader: () => reader,
  grouping,
});

const SOURCES = {
  ofac: plain(ofacReader, 'legacy-together'),
  un: plain(unReader),
  eu: plain(euReader),
  uk: plain(ukReader),
  ch: plain(chReader),
  graphsense: plain(graphsenseReader, 'together'),
  exchanges: plain(exchangesReader),
  pools: plain(poolsReader),
  scams: plain(scamsReader),
  packages: plain(packagesReader, 'together'),
  seed: plain(seedReader, 'together'),
  own: { reader: (mapping) => ownReader(mapping ? { mapping } : {}), grouping: 'each' },
} as const satisfies Record<string, ImportSource>;

export type ImportSourceId = keyof typeof SOURCES;

export const IMPORT_SOURCES = Object.keys(SOURCES) as readonly ImportSourceId[];

/**
 * Parses the id of a source.
 *
 * @param text the id, in any letter case
 * @param others ids that the caller reads by other means; the error lists them too
 * @returns the id
 * @throws INVALID_REQUEST with the list of sources if no source has this id
 */
export function parseImportSource(text: string, others: readonly string[] = []): ImportSourceId {
  const found = IMPORT_SOURCES.find((id) => id === text.toLowerCase());
  if (found) return found;
  throw new AssayError(
    'INVALID_REQUEST',
    `source: '${text.slice(0, 32)}' is not a source. Sources: ${[...IMPORT_SOURCES, ...others].join(', ')}.`,
    { field: 'source' },
  );
}

/** Returns the reader of a source. */
export const readerOf = (source: ImportSourceId, mapping: OwnMapping | undefined): SourceReader =>
  SOURCES[source].reader(mapping);

const HEAD_CHARS = 64;

/** Splits files into groups that are read, and counted as published, together. */
export async function groupFiles(source: ImportSourceId, files: readonly string[]): Promise<string[][]> {
  const { grouping } = SOURCES[source];
  if (grouping === 'together') return [[...files]];
  if (grouping === 'each') return files.map((file) => [file]);
  // OFAC's legacy tables form one list together; each of its XML files is a list of its own.
  const tables: string[] = [];
  const groups: string[][] = [];
  for (const file of files) {
    const [part] = await listParts(file);
    const head = part ? await readTextHead(part, HEAD_CHARS, { legacyEncoding: 'windows-1252' }) : '';
    if (head.trimStart().startsWith('<')) groups.push([file]);
    else tables.push(file);
  }
  return tables.length > 0 ? [...groups, tables] : groups;
}
