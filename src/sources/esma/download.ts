/** Location of ESMA's interim MiCA register. */
import type { PublisherSource } from '../publisher.ts';

const FOLDER = 'https://www.esma.europa.eu/sites/default/files/2024-12';

export const esmaSource: PublisherSource = {
  id: 'esma',
  files: ['CASPS.csv', 'NCASP.csv', 'EMTWP.csv', 'ARTZZ.csv', 'OTHER.csv'].map((name) => ({
    name,
    url: `${FOLDER}/${name}`,
  })),
  authority: 'European Securities and Markets Authority',
  homepage:
    'https://www.esma.europa.eu/esmas-activities/digital-finance-and-innovation/markets-crypto-assets-regulation-mica',
  licence: 'reuse with attribution',
};
