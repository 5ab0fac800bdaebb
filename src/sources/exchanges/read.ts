/** Reads the DefiLlama list of exchange wallets: CSV of exchange slug, chain name, address. */
import { AssayError } from '../../base/errors.ts';
import { type CsvRow, readCsv, rejectRow } from '../csv.ts';
import { partName } from '../open.ts';
import type { AttributedAddress, Reject, SourceReader } from '../records.ts';

const COLUMNS = 'exchange,chain,address';
const PAGE = 'https://defillama.com/cexs';

/** Yields the header, then the addresses. Throws INVALID_FILE if a file does not have the header row. */
export const exchangesReader: SourceReader = async function* (files) {
  yield { type: 'header', lists: [], publishedAt: null, layout: 'DEFILLAMA_CEX_OWNERS' };
  for (const path of files) {
    const file = partName(path);
    let headed = false;
    for await (const row of readCsv(path)) {
      if (row.type === 'fault') {
        yield rejectRow(file, row, row.reason);
      } else if (headed) {
        yield readRow(file, row);
      } else {
        headed = true;
        if (row.cells.map((cell) => cell.trim().toLowerCase()).join() !== COLUMNS) {
          throw new AssayError('INVALID_FILE', `${file}: line ${row.line} must be the header '${COLUMNS}'.`, {
            field: 'file',
          });
        }
      }
    }
    if (!headed) throw new AssayError('INVALID_FILE', `${file}: the file has no header.`, { field: 'file' });
  }
};

function readRow(file: string, row: CsvRow): AttributedAddress | Reject {
  const [exchange, chain, address] = row.cells.map((cell) => cell.trim());
  if (row.cells.length !== 3)
    return rejectRow(file, row, `The row has ${row.cells.length} cells; expected 3.`);
  if (!exchange || !chain || !address) return rejectRow(file, row, 'Exchange, chain or address is empty.');
  return {
    type: 'address',
    address,
    currency: chain,
    actorId: exchange,
    actorName: exchange,
    concepts: ['exchange'],
    tags: [],
    confidence: null,
    jurisdiction: null,
    url: null,
    firstSeen: null,
    lastSeen: null,
    isContract: null,
    verified: true,
    sourceUrl: PAGE,
    provenance: { file, line: row.line },
  };
}
