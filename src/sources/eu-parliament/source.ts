/** Members of the European Parliament. */
import { nameSource } from '../source.ts';

export const euParliament = nameSource({
  id: 'eu-parliament',
  name: 'Members of the European Parliament',
  publisher: 'European Parliament',
  homepage: 'https://www.europarl.europa.eu/meps/en/full-list/all',
  licence: 'reuse with acknowledgement of the source (legal notice of the European Parliament)',
  read: async () => (await import('./read.ts')).euParliamentReader,
});
