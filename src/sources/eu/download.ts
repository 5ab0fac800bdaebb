/** Location of the EU list. */
import type { PublisherSource } from '../publisher.ts';

export const euSource: PublisherSource = {
  id: 'eu',
  files: [
    {
      name: 'xmlFullSanctionsList_1_1.xml',
      url: 'https://webgate.ec.europa.eu/fsd/fsf/public/files/xmlFullSanctionsList_1_1/content?token=dG9rZW4tMjAxNw',
    },
  ],
  authority: 'European Union',
  homepage:
    'https://data.europa.eu/data/datasets/consolidated-list-of-persons-groups-and-entities-subject-to-eu-financial-sanctions',
  licence: 'reuse with attribution (Commission Decision 2011/833/EU)',
};
