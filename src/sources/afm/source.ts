/** The Dutch register of crypto-asset service providers. */
import { registerSource } from '../source.ts';

export const afm = registerSource({
  id: 'afm',
  name: 'AFM register of crypto-asset service providers',
  publisher: 'Autoriteit Financiële Markten',
  homepage: 'https://www.afm.nl/en/sector/registers',
  licence: 'terms of the authority',
  files: [
    {
      name: 'register-cryptopartijen.xlsx',
      url: 'https://www.afm.nl/~/profmedia/files/registers/register-cryptopartijen.xlsx',
    },
  ],
  read: async () => (await import('./read.ts')).afmReader,
});
