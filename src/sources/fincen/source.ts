/** Money services businesses. The list needs a POST request, so it cannot be downloaded. */
import { registerSource } from '../source.ts';

export const fincen = registerSource({
  id: 'fincen',
  name: 'FinCEN MSB registrants',
  publisher: 'Financial Crimes Enforcement Network',
  homepage: 'https://www.fincen.gov/msb-registrant-search',
  licence: 'public domain (work of the US government)',
  read: async () => (await import('./read.ts')).fincenReader,
});
