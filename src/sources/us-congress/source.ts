/** Members of the Congress of the United States. */
import { nameSource } from '../source.ts';

export const usCongress = nameSource({
  id: 'us-congress',
  name: 'Members of the United States Congress',
  publisher: 'the unitedstates project',
  homepage: 'https://github.com/unitedstates/congress-legislators',
  licence: 'public domain (CC0-1.0)',
  read: async () => (await import('./read.ts')).usCongressReader,
});
