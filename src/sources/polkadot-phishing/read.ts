/** Reads `address.json` of polkadot-js/phishing: addresses by the site or case in which they were used. */
import { attributed, documentsOf, isMap, parseDocument, rejectDocument, textIn } from '../documents.ts';
import { layoutError } from '../layout-error.ts';
import type { SourceReader } from '../records.ts';

/** Yields the addresses, then the header. Throws INVALID_FILE if the file is no map of lists. */
export const polkadotPhishingReader: SourceReader = async function* (files) {
  for (const file of files) {
    for await (const document of documentsOf(file, (path) => /address\.json$/.test(path))) {
      const parsed = parseDocument(document);
      if ('reject' in parsed) throw layoutError(document.path, parsed.reject.reason);
      if (!isMap(parsed.value)) throw layoutError(document.path, 'expected a map of sites to addresses.');
      let line = 0;
      for (const [site, addresses] of Object.entries(parsed.value)) {
        const list: readonly unknown[] = Array.isArray(addresses) ? addresses : [addresses];
        for (const one of list) {
          line++;
          const address = textIn(one);
          if (address === null) {
            yield rejectDocument(
              document.path,
              `${site} ${JSON.stringify(one)}`,
              'address: is no text.',
              line,
            );
            continue;
          }
          yield attributed({
            address,
            currency: 'DOT',
            actorName: site.slice(0, 200),
            concepts: ['phishing'],
            sourceUrl: 'https://github.com/polkadot-js/phishing',
            provenance: { file: document.path, line },
          });
        }
      }
    }
  }
  yield { type: 'header', lists: [], publishedAt: null, layout: 'POLKADOT_PHISHING' };
};
