/**
 * The records of OFAC's real lists of 115 MB, each read once for all test files by a process of its own. A reading takes five seconds of
 * processor time. What was read is as old as dist/bundled, which is made again after each build.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { projectRoot } from '../../src/base/paths.ts';
import { SOURCES } from '../../src/sources/index.ts';
import { ofacReader } from '../../src/sources/ofac/read.ts';
import type { SourceReader, SourceRecord } from '../../src/sources/records.ts';
import type { Source } from '../../src/sources/source.ts';
import { spawnSync } from '../support/child-process.ts';
import { madeOnce } from './made-once.ts';
import { sharedData } from './shared-data.ts';

export const MARCH_4: string = sharedData('ofac', 'sdn_advanced_2025-03-04.xml.gz');
export const MARCH_21: string = sharedData('ofac', 'sdn_advanced_2025-03-21.xml.gz');

/** Writes records as lines as they are read. VmHWM, and not maxRSS, which begins with that of the process that started this one. */
const scriptOf = (file: string, out: string): string => `
  import { closeSync, openSync, readFileSync, writeSync } from 'node:fs';
  import { ofacReader } from ${JSON.stringify(join(projectRoot, 'dist', 'src', 'sources', 'ofac', 'read.js'))};
  const out = openSync(${JSON.stringify(out)}, 'w');
  for await (const record of ofacReader([${JSON.stringify(file)}])) writeSync(out, JSON.stringify(record) + '\\n');
  closeSync(out);
  const [, kilobytes] = /^VmHWM:\\s+(\\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'));
  console.log(Number(kilobytes) / 1024);`;

const folderOf = (file: string): string =>
  join(projectRoot, 'dist', 'bundled', 'records', basename(file, '.xml.gz'));

/** Reads a file, unless it was read already. */
function read(file: string): string {
  const folder = folderOf(file);
  madeOnce(folder, (into) => {
    const script = scriptOf(file, join(into, 'records.jsonl'));
    const { stdout, stderr, status } = spawnSync(
      process.execPath,
      ['--input-type=module', '--eval', script],
      { encoding: 'utf8' },
    );
    if (status !== 0 || stderr !== '') throw new Error(`${file} cannot be read: ${stderr}`);
    writeFileSync(join(into, 'memory-mib'), stdout);
  });
  return folder;
}

/** Returns the most memory in MiB that the process took which read `MARCH_4` or `MARCH_21`. */
export const memoryOfReading = (file: string): number =>
  Number(readFileSync(join(read(file), 'memory-mib'), 'utf8'));

/** Yields the records of `MARCH_4` and `MARCH_21` as they were read before. Reads all other files. */
export const readOfacOnce: SourceReader<'OFAC_SDN' | 'OFAC_CONS'> = async function* (files) {
  const [file] = files;
  if (files.length > 1 || (file !== MARCH_4 && file !== MARCH_21)) {
    yield* ofacReader(files);
    return;
  }
  const lines = readFileSync(join(read(file), 'records.jsonl'), 'utf8').split('\n');
  for (const line of lines) if (line !== '') yield JSON.parse(line) as SourceRecord<'OFAC_SDN' | 'OFAC_CONS'>;
};

/**
 * Returns a list with every tenth party of `MARCH_21` and some others, as the publisher writes it: importing it and indexing its names takes a
 * tenth of the time.
 *
 * @param texts - a party whose element has one of them is kept
 */
export function excerptOf21(texts: readonly string[]): string {
  const kept = new Set<string>();
  const without = (xml: string, element: string, isKept: (text: string) => boolean): string =>
    xml.replaceAll(new RegExp(`<${element} [^]*?</${element}>\\s*`, 'g'), (one) => (isKept(one) ? one : ''));
  let at = 0;
  const parties = without(gunzipSync(readFileSync(MARCH_21)).toString('utf8'), 'DistinctParty', (text) => {
    const isKept = at++ % 10 === 0 || texts.some((part) => text.includes(part));
    if (isKept) kept.add(/<Profile ID="(\d+)"/.exec(text)?.[1] ?? '');
    return isKept;
  });
  return without(parties, 'SanctionsEntry', (text) => kept.has(/ ProfileID="(\d+)"/.exec(text)?.[1] ?? ''));
}

/** The sources of the program, of which OFAC yields the records that were read before. */
export const SOURCES_READ_ONCE: readonly Source[] = SOURCES.map((source) =>
  source.id === 'ofac' ? { ...source, read: async () => readOfacOnce } : source,
);
