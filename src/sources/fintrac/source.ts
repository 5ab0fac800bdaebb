/** The Canadian registry of money services businesses. */
import { registerSource } from '../source.ts';

export const fintrac = registerSource({
  id: 'fintrac',
  name: 'FINTRAC MSB registry',
  publisher: 'Financial Transactions and Reports Analysis Centre of Canada',
  homepage: 'https://fintrac-canafe.canada.ca/msb-esm/reg-eng',
  licence: 'terms of the authority',
  files: [{ name: 'reg-eng.csv', url: 'https://fintrac-canafe.canada.ca/msb-esm/reg-eng.csv' }],
  read: async () => (await import('./read.ts')).fintracReader,
});
