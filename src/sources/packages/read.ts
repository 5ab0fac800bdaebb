/**
 * Reads the contract labels that ship in data/packages: addresses that projects publish in their npm packages, as
 * extracted by scripts/packages-generate.ts. There is one NDJSON file per package; its first line names the package and
 * its licence.
 */
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { AssayError } from '../../base/errors.ts';
import { shippedData } from '../../base/paths.ts';
import { rejectRow } from '../csv.ts';
import { openLines, partName } from '../open.ts';
import type { AttributedAddress, SourceReader } from '../records.ts';

/** Returns the shipped files, ordered by name. */
export async function packagesFiles(): Promise<string[]> {
  const folder = shippedData('packages');
  return (await readdir(folder))
    .filter((name) => name.endsWith('.ndjson'))
    .sort()
    .map((name) => join(folder, name));
}

/** First line of a file. */
interface PackageHeader {
  readonly package: string;
  readonly version: string;
  readonly licence: string;
  /** Repository of the project. */
  readonly url: string;
  /** ISO date on which the version was published. */
  readonly date: string;
}

/** Yields the addresses, then the header. Throws INVALID_FILE if the first line of a file does not name the package. */
export const packagesReader: SourceReader = async function* (files) {
  let newest: string | null = null;
  for (const path of files) {
    const file = partName(path);
    let header: PackageHeader | null = null;
    for await (const row of openLines(path)) {
      const fields = parseObject(row.text);
      if (header === null) {
        header = headerOf(fields);
        if (header === null) {
          throw new AssayError(
            'INVALID_FILE',
            `${file}: line ${row.line} must name package, version, licence, url and date.`,
            {
              field: 'file',
            },
          );
        }
        if (newest === null || header.date > newest) newest = header.date;
        continue;
      }
      const record = fields === null ? null : recordOf(fields, header, { file, line: row.line });
      yield record ??
        rejectRow(file, row, 'The line is not a label: chain, address, entity, name, category, url, tags.');
    }
  }
  yield { type: 'header', lists: [], publishedAt: newest, layout: 'PACKAGES' };
};

type Fields = Readonly<Record<string, unknown>>;

function parseObject(text: string): Fields | null {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Fields) : null;
  } catch {
    return null;
  }
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';

function headerOf(fields: Fields | null): PackageHeader | null {
  if (fields === null) return null;
  const { package: name, version, licence, url, date } = fields;
  if (!isText(name) || !isText(version) || !isText(licence) || !isText(url) || !isText(date)) return null;
  return { package: name, version, licence, url, date };
}

function recordOf(
  fields: Fields,
  header: PackageHeader,
  provenance: AttributedAddress['provenance'],
): AttributedAddress | null {
  const { chain, address, entity, name, category, url, tags } = fields;
  if (!isText(chain) || !isText(address) || !isText(entity) || !isText(name) || !isText(category))
    return null;
  if (!Array.isArray(tags) || !tags.every(isText) || (url !== null && !isText(url))) return null;
  return {
    type: 'address',
    address,
    currency: chain,
    actorId: entity,
    actorName: name,
    concepts: [],
    category,
    tags,
    confidence: null,
    jurisdiction: null,
    url,
    sourceUrl: `https://www.npmjs.com/package/${header.package}/v/${header.version}`,
    firstSeen: null,
    lastSeen: header.date,
    isContract: true,
    verified: true,
    provenance,
  };
}
