/** The Swiss list of authorised institutions. */
import { registerSource } from '../source.ts';

export const finma = registerSource({
  id: 'finma',
  name: 'FINMA authorised institutions',
  publisher: 'Swiss Financial Market Supervisory Authority',
  homepage: 'https://www.finma.ch/en/finma-public/authorised-institutions-individuals-and-products/',
  licence: 'terms of the authority',
  files: [
    {
      name: 'uid.csv',
      url: 'https://www.finma.ch/en/~/media/finma/dokumente/bewilligungstraeger/csv/uid.csv',
    },
  ],
  read: async () => (await import('./read.ts')).finmaReader,
});
