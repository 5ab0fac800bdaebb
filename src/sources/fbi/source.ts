/** People whom the FBI seeks. */
import { nameSource } from '../source.ts';

export const fbiWanted = nameSource({
  id: 'fbi-wanted',
  name: 'FBI wanted persons',
  publisher: 'Federal Bureau of Investigation',
  homepage: 'https://www.fbi.gov/wanted/api',
  licence: 'public domain (US government work)',
  read: async () => (await import('./read.ts')).fbiReader,
});
