/** Members of parliaments, and holders of public offices that Wikidata knows. */
import { nameSource } from '../source.ts';

export const everyPolitician = nameSource({
  id: 'everypolitician',
  name: 'EveryPolitician and Wikidata',
  publisher: 'EveryPolitician; Wikidata',
  homepage: 'https://everypolitician.org/',
  licence: 'EveryPolitician: terms of its sources; Wikidata: CC0-1.0',
  read: async () => (await import('./read.ts')).everyPoliticianReader,
});
