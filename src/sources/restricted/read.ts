/** Reads the address list of ScamSniffer: a JSON array of addresses, or a map of sites to addresses. */
import { attributed, documentsOf, isMap, parseDocument, rejectDocument, textIn } from '../documents.ts';
import { layoutError } from '../layout-error.ts';
import type { SourceReader } from '../records.ts';

/** Yields the addresses, then the header. Throws INVALID_FILE for another layout. */
export const scamDatabaseReader: SourceReader = async function* (files) {
  for (const file of files) {
    for await (const document of documentsOf(file, (path) => /\.json$/.test(path))) {
      const parsed = parseDocument(document);
      if ('reject' in parsed) throw layoutError(document.path, parsed.reject.reason);
      const { value } = parsed;
      const rows: readonly (readonly [site: string, address: unknown])[] = Array.isArray(value)
        ? value.map((address: unknown) => ['ScamSniffer blacklist', address] as const)
        : isMap(value)
          ? Object.entries(value).flatMap(([site, list]) =>
              (Array.isArray(list) ? list : [list]).map((address: unknown) => [site, address] as const),
            )
          : [];
      if (!Array.isArray(value) && !isMap(value))
        throw layoutError(document.path, 'expected a list of addresses.');
      for (const [at, [site, printed]] of rows.entries()) {
        const address = textIn(printed);
        if (address === null || !/^0x[0-9a-f]{40}$/i.test(address)) {
          yield rejectDocument(
            document.path,
            JSON.stringify(printed),
            'address: is not an EVM address.',
            at + 1,
          );
          continue;
        }
        yield attributed({
          address,
          currency: 'ETH',
          actorName: site.slice(0, 200),
          concepts: ['phishing'],
          sourceUrl: 'https://github.com/scamsniffer/scam-database',
          provenance: { file: document.path, line: at + 1 },
        });
      }
    }
  }
  yield { type: 'header', lists: [], publishedAt: null, layout: 'SCAM_DATABASE' };
};
