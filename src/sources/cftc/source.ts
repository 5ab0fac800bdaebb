/** The RED List of the CFTC: foreign entities that appear to act without a required registration. */
import { registerSource } from '../source.ts';

const PAGE = 'https://www.cftc.gov/LearnAndProtect/Resources/Check/redlist.htm';

export const cftc = registerSource({
  id: 'cftc',
  name: 'CFTC RED List',
  publisher: 'Commodity Futures Trading Commission',
  homepage: PAGE,
  licence: 'public domain (work of the US government)',
  files: [
    {
      name: 'cftc-red-list.html',
      url: `${PAGE}?items_per_page=All`,
      webPage: true,
      userAgent: 'Mozilla/5.0 (compatible; assay)',
    },
  ],
  read: async () => (await import('./read.ts')).cftcReader,
});
