/** Location of the lists of Ethereum scams. */
import type { PublisherSource } from '../publisher.ts';

const FOLDER = 'https://raw.githubusercontent.com/forta-network/labelled-datasets/main/labels/1';

export const scamsSource: PublisherSource = {
  id: 'scams',
  files: ['phishing_scams.csv', 'malicious_smart_contracts.csv', 'etherscan_malicious_labels.csv'].map(
    (name) => ({ name, url: `${FOLDER}/${name}` }),
  ),
  authority: 'Forta',
  homepage: 'https://github.com/forta-network/labelled-datasets',
  licence: 'MIT',
};
