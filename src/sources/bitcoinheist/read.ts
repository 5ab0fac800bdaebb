/**
 * Reads the ransom rows of BitcoinHeist (UCI 526): `address,year,day,length,weight,count,looped,neighbors,income,label`. Rows with the
 * label `white` are addresses without a known owner, and state nothing. Three studies named the ransom addresses; the label begins
 * with the place of the study.
 */
import { readCsv, rejectRow } from '../csv.ts';
import { attributed } from '../documents.ts';
import { layoutError } from '../layout-error.ts';
import { listParts } from '../open.ts';
import type { SourceReader } from '../records.ts';

const COLUMNS = ['address', 'year', 'day', 'label'] as const;

/** The study behind a label, and the page of its data. */
const STUDIES: Readonly<Record<string, string>> = {
  // Paquet-Clouston et al., which Ransomwhere took over: the two are one voice (data/sources.json, origins).
  montreal: 'https://zenodo.org/record/1238041',
  princeton: 'https://archive.ics.uci.edu/dataset/526/bitcoinheistransomwareaddressdataset',
  padua: 'https://archive.ics.uci.edu/dataset/526/bitcoinheistransomwareaddressdataset',
};

/** Returns the ISO date of a day of a year; null if there is no such day. */
function dateOf(year: string, day: string): string | null {
  const [y, d] = [Number(year), Number(day)];
  if (!Number.isInteger(y) || !Number.isInteger(d) || y < 2009 || y > 2100 || d < 1 || d > 366) return null;
  return new Date(Date.UTC(y, 0, d)).toISOString().slice(0, 10);
}

/** Yields the ransom rows, then the header. Throws INVALID_FILE if a column is missing. */
export const bitcoinHeistReader: SourceReader = async function* (files) {
  for (const file of files) {
    for (const part of await listParts(file)) {
      let columns: readonly string[] | null = null;
      for await (const row of readCsv(part)) {
        if (row.type === 'fault') {
          yield rejectRow(part.name, row, row.reason);
          continue;
        }
        if (columns === null) {
          columns = row.cells.map((cell) => cell.trim().toLowerCase());
          const missing = COLUMNS.filter((name) => !columns?.includes(name));
          if (missing.length > 0)
            throw layoutError(part.name, `line 1 lacks the columns ${missing.join(', ')}.`);
          continue;
        }
        const cell = (name: (typeof COLUMNS)[number]): string =>
          (row.cells[columns?.indexOf(name) ?? -1] ?? '').trim();
        const label = cell('label');
        if (label === 'white') continue;
        const [, place, family] = /^(montreal|princeton|padua)(.+)$/.exec(label) ?? [];
        if (place === undefined || family === undefined) {
          yield rejectRow(part.name, row, `label: names no study (got '${label.slice(0, 32)}').`);
          continue;
        }
        const day = dateOf(cell('year'), cell('day'));
        yield attributed({
          address: cell('address'),
          currency: 'bitcoin',
          actorName: family,
          concepts: ['ransomware'],
          tags: [`study:${place}`],
          firstSeen: day,
          lastSeen: day,
          sourceUrl: STUDIES[place] ?? null,
          provenance: { file: part.name, line: row.line },
        });
      }
    }
  }
  yield { type: 'header', lists: [], publishedAt: '2020-06-17', layout: 'BITCOINHEIST' };
};
