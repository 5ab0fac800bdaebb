/** The interim MiCA register. */
import { registerSource } from '../source.ts';

const FOLDER = 'https://www.esma.europa.eu/sites/default/files/2024-12';

export const esma = registerSource({
  id: 'esma',
  everySync: true,
  name: 'ESMA interim MiCA register',
  publisher: 'European Securities and Markets Authority',
  homepage:
    'https://www.esma.europa.eu/esmas-activities/digital-finance-and-innovation/markets-crypto-assets-regulation-mica',
  licence: 'reuse with attribution',
  files: ['CASPS.csv', 'NCASP.csv', 'EMTWP.csv', 'ARTZZ.csv', 'OTHER.csv'].map((name) => ({
    name,
    url: `${FOLDER}/${name}`,
  })),
  read: async () => (await import('./read.ts')).esmaReader,
});
