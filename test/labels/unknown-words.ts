/** Words, currencies and confidences in the files of a source that the rules do not know. */
import { loadTaxonomy } from '../../src/labels/categories.ts';
import { loadCurrencies } from '../../src/labels/currencies.ts';
import { loadSourceTable } from '../../src/labels/source-table.ts';
import type { SourceRecord } from '../../src/sources/records.ts';

export interface UnknownWords {
  readonly words: readonly string[];
  readonly currencies: readonly string[];
  readonly confidence: readonly string[];
  /** Addresses that were read. */
  readonly records: number;
}

/** What is found if the rules know all. */
export const NOTHING = { words: [], currencies: [], confidence: [] };

/** Returns a collector of what the rules do not know in the records that `take` gets. */
export function collectUnknown(source: string): {
  readonly take: (record: SourceRecord) => void;
  readonly found: () => UnknownWords;
} {
  const [taxonomy, currencies, sources] = [loadTaxonomy(), loadCurrencies(), loadSourceTable()];
  const words = new Set<string>();
  const hints = new Set<string>();
  const confidence = new Set<string>();
  let records = 0;
  const hint = (word: string | null): void => {
    if (currencies.hintOf(word).kind === 'unknown') hints.add(String(word));
  };
  return {
    take(record) {
      if (record.type === 'party') for (const one of record.addresses) hint(one.currency);
      if (record.type !== 'address') return;
      records++;
      for (const word of record.concepts) if (!taxonomy.knows(word)) words.add(word);
      hint(record.currency);
      if (sources.confidence(source, record.confidence) === null) confidence.add(String(record.confidence));
    },
    found: () => ({ words: [...words], currencies: [...hints], confidence: [...confidence], records }),
  };
}
