/**
 * The company database of BaFin. Its result pages offer an export as CSV to people; robots are excluded from the whole host, so nothing is
 * downloaded.
 */
import { registerSource } from '../source.ts';

export const bafin = registerSource({
  id: 'bafin',
  name: 'BaFin company database',
  publisher: 'Federal Financial Supervisory Authority',
  homepage: 'https://portal.mvp.bafin.de/database/InstInfo/',
  licence: 'terms of the authority',
  read: async () => (await import('./read.ts')).bafinReader,
});
