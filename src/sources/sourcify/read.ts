/**
 * Reads the Parquet files of Sourcify's export v2: `contract_deployments` has the chain and the address of each verified contract. The
 * files are compressed with Zstandard; they are read in groups of rows, so memory does not depend on their size.
 */
import { open } from 'node:fs/promises';
import { decompress } from 'fzstd';
import { type AsyncBuffer, parquetMetadataAsync, parquetReadObjects } from 'hyparquet';
import { AssayError, messageOf } from '../../base/errors.ts';
import { attributed, rejectDocument } from '../documents.ts';
import { layoutError } from '../layout-error.ts';
import { SOURCE_LIMITS } from '../limits.ts';
import { partName } from '../open.ts';
import type { SourceReader } from '../records.ts';

const compressors = {
  ZSTD: (input: Uint8Array, outputLength: number): Uint8Array =>
    decompress(input, new Uint8Array(outputLength)),
};

/** Returns the address in a cell: 20 bytes, or hex text. */
function addressOf(cell: unknown): string | null {
  if (cell instanceof Uint8Array && cell.length === 20) return `0x${Buffer.from(cell).toString('hex')}`;
  const text = typeof cell === 'string' ? cell.replace(/^\\x/, '0x') : '';
  return /^0x[0-9a-fA-F]{40}$/.test(text) ? text : null;
}

/** Yields a label for each contract, then the header. Throws INVALID_FILE if a file has no chain_id or address. */
export const sourcifyReader: SourceReader = async function* (files) {
  for (const path of files) {
    const name = partName(path);
    const handle = await open(path, 'r');
    try {
      const { size } = await handle.stat();
      const file: AsyncBuffer = {
        byteLength: size,
        async slice(start, end = size) {
          const bytes = Buffer.alloc(end - start);
          const { bytesRead } = await handle.read(bytes, 0, bytes.length, start);
          if (bytesRead !== bytes.length) throw layoutError(name, 'ends early.');
          return bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length);
        },
      };
      const metadata = await parquetMetadataAsync(file);
      const columns = new Set(metadata.schema.map((column) => column.name));
      for (const column of ['chain_id', 'address'])
        if (!columns.has(column)) throw layoutError(name, `has no column '${column}'.`);
      const rows = Number(metadata.num_rows);
      for (let from = 0; from < rows; from += SOURCE_LIMITS.parquetRowsRead) {
        const found = await parquetReadObjects({
          file,
          metadata,
          compressors,
          columns: ['chain_id', 'address'],
          rowStart: from,
          rowEnd: Math.min(rows, from + SOURCE_LIMITS.parquetRowsRead),
          utf8: false,
        });
        for (const [at, row] of found.entries()) {
          const line = from + at + 1;
          const address = addressOf(row.address);
          if (address === null) {
            yield rejectDocument(name, String(row.chain_id), 'address: is not an EVM address.', line);
            continue;
          }
          yield attributed({
            address,
            currency: `eip155:${String(row.chain_id)}`,
            actorId: 'sourcify:verified-contract',
            actorName: 'Verified contract',
            concepts: ['smart_contract'],
            isContract: true,
            sourceUrl: 'https://sourcify.dev/',
            provenance: { file: name, line },
          });
        }
      }
    } catch (error) {
      if (error instanceof AssayError) throw error;
      throw new AssayError('INVALID_FILE', `${name}: is not a readable Parquet file (${messageOf(error)}).`, {
        field: 'file',
        cause: error,
      });
    } finally {
      await handle.close();
    }
  }
  yield { type: 'header', lists: [], publishedAt: null, layout: 'SOURCIFY_V2' };
};
