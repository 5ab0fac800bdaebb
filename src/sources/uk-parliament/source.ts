/** Members of the House of Commons and the House of Lords. */
import { nameSource } from '../source.ts';

export const ukParliament = nameSource({
  id: 'uk-parliament',
  name: 'Members of the UK Parliament',
  publisher: 'UK Parliament',
  homepage: 'https://members-api.parliament.uk/',
  licence: 'Open Parliament Licence v3.0',
  read: async () => (await import('./read.ts')).ukParliamentReader,
});
