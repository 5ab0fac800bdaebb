/** Firms and individuals that the World Bank Group debarred or cross-debarred. */
import { nameSource } from '../source.ts';

export const worldBank = nameSource({
  id: 'worldbank-debarred',
  name: 'World Bank listing of ineligible firms and individuals',
  publisher: 'The World Bank Group',
  homepage: 'https://www.worldbank.org/en/projects-operations/procurement/debarred-firms',
  licence: 'terms of the World Bank',
  read: async () => (await import('./read.ts')).worldBankReader,
});
