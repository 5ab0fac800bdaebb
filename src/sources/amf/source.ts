/** The French white list of providers of services on crypto-assets. */
import { registerSource } from '../source.ts';

export const amf = registerSource({
  id: 'amf',
  name: 'AMF white list of crypto-asset service providers',
  publisher: 'Autorité des Marchés Financiers',
  homepage: 'https://www.data.gouv.fr/datasets/653135cf052c9a87787413c2',
  licence: 'Licence Ouverte 2.0',
  files: [
    {
      name: 'amf-white-list.csv',
      url: 'https://www.data.gouv.fr/api/1/datasets/r/e03f8899-2499-4826-aaae-6842f520bdac',
    },
  ],
  read: async () => (await import('./read.ts')).amfReader,
});
