/** Lists of Ethereum scams. */
import { source } from '../source.ts';

const FOLDER = 'https://raw.githubusercontent.com/forta-network/labelled-datasets/main/labels/1';

export const scams = source({
  id: 'scams',
  name: 'Malicious address labels',
  publisher: 'Forta',
  homepage: 'https://github.com/forta-network/labelled-datasets',
  licence: 'MIT',
  files: ['phishing_scams.csv', 'malicious_smart_contracts.csv', 'etherscan_malicious_labels.csv'].map(
    (name) => ({ name, url: `${FOLDER}/${name}` }),
  ),
  feeds: ['labels'],
  read: async () => (await import('./read.ts')).scamsReader,
});
