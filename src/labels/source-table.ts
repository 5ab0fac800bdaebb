/** The table of sources (data/sources.json): rank, default confidence, and what a confidence word is worth. */
import { readFileSync } from 'node:fs';
import { shippedData } from '../base/paths.ts';
import type { SanctionsList } from '../sources/records.ts';

export interface SourceRow {
  readonly id: string;
  readonly name: string;
  readonly publisher: string;
  readonly url: string | null;
  /** Which source speaks first where confidence is equal; higher first. */
  readonly rank: number;
  /** Confidence, 0 to 1, of a record that says nothing of its own. */
  readonly confidence: number;
  /** Sanctions lists that this source publishes. */
  readonly lists: readonly SanctionsList[];
}

export interface SourceTable {
  readonly rows: readonly SourceRow[];
  of(source: string): SourceRow | null;
  /** Confidence of a record of `source` that prints `said`: a word of the table, or a number from 0 to 1; null where it is neither. */
  confidence(source: string, said: string | null): number | null;
  /** Confidence of a sanctions entry that is no longer in force. */
  readonly historyConfidence: number;
  authority(list: SanctionsList): string;
  /** Where a person can read an entry of a list. */
  partyUrl(list: SanctionsList, entityId: string): string;
  /** The source that publishes a list. */
  sourceOf(list: SanctionsList): string;
}

interface SourcesFile {
  readonly sources: readonly SourceRow[];
  readonly confidenceWords: Readonly<Record<string, number>>;
  readonly historyConfidence: number;
  readonly authorities: Readonly<Record<SanctionsList, string>>;
  readonly partyUrls: Readonly<Record<SanctionsList, string>>;
}

/** Confidence where neither the record nor the table says anything. */
const CONFIDENCE_UNSAID = 0.5;

/** Reads data/sources.json. */
export function loadSourceTable(path: string = shippedData('sources.json')): SourceTable {
  const file = JSON.parse(readFileSync(path, 'utf8')) as SourcesFile;
  const rows = new Map(file.sources.map((row) => [row.id, row]));
  return {
    rows: file.sources,
    of: (source) => rows.get(source) ?? null,
    confidence(source, said) {
      if (said === null || said.trim() === '') return rows.get(source)?.confidence ?? CONFIDENCE_UNSAID;
      const word = file.confidenceWords[said.trim().toLowerCase()];
      if (word !== undefined) return word;
      const number = Number(said);
      return number >= 0 && number <= 1 ? number : null;
    },
    historyConfidence: file.historyConfidence,
    authority: (list) => file.authorities[list],
    partyUrl: (list, entityId) => file.partyUrls[list].replace('{id}', encodeURIComponent(entityId)),
    sourceOf: (list) => file.sources.find((row) => row.lists.includes(list))?.id ?? 'own',
  };
}
