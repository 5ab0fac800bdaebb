/** Reads the export of Ransomwhere: `{"result": [{"address", "blockchain", "family", "createdAt", …}]}`. */
import {
  attributed,
  dateIn,
  documentsOf,
  isMap,
  parseDocument,
  rejectDocument,
  textIn,
} from '../documents.ts';
import { layoutError } from '../layout-error.ts';
import type { SourceReader } from '../records.ts';

/** Yields the addresses, then the header. Throws INVALID_FILE if the file has no list `result`. */
export const ransomwhereReader: SourceReader = async function* (files) {
  for (const file of files) {
    for await (const document of documentsOf(file, (path) => /\.json$/.test(path))) {
      const parsed = parseDocument(document);
      if ('reject' in parsed) throw layoutError(document.path, parsed.reject.reason);
      const rows = isMap(parsed.value) ? parsed.value.result : undefined;
      if (!Array.isArray(rows)) throw layoutError(document.path, "expected a list 'result' of addresses.");
      for (const [at, row] of rows.entries()) {
        const address = isMap(row) ? textIn(row.address) : null;
        const family = isMap(row) ? textIn(row.family) : null;
        if (!isMap(row) || address === null || family === null) {
          yield rejectDocument(document.path, JSON.stringify(row), 'address or family: is missing.', at + 1);
          continue;
        }
        yield attributed({
          address,
          currency: textIn(row.blockchain) ?? 'bitcoin',
          actorName: family,
          concepts: ['ransomware'],
          firstSeen: dateIn(row.createdAt),
          lastSeen: dateIn(row.updatedAt),
          sourceUrl: 'https://ransomwhe.re/',
          provenance: { file: document.path, line: at + 1 },
        });
      }
    }
  }
  yield { type: 'header', lists: [], publishedAt: null, layout: 'RANSOMWHERE' };
};
