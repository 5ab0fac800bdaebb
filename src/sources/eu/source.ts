/** The consolidated list of the European Union. */
import { source } from '../source.ts';

export const eu = source({
  id: 'eu',
  name: 'EU consolidated list of financial sanctions',
  publisher: 'European Union',
  homepage:
    'https://data.europa.eu/data/datasets/consolidated-list-of-persons-groups-and-entities-subject-to-eu-financial-sanctions',
  licence: 'reuse with attribution (Commission Decision 2011/833/EU)',
  files: [
    {
      name: 'xmlFullSanctionsList_1_1.xml',
      url: 'https://webgate.ec.europa.eu/fsd/fsf/public/files/xmlFullSanctionsList_1_1/content?token=dG9rZW4tMjAxNw',
    },
  ],
  lists: [
    {
      id: 'EU',
      group: 'EU',
      authority: 'European Union',
      required: true,
      partyUrl: 'https://data.europa.eu/apps/eusanctionstracker/',
      assetFreeze: 'all',
      publishedAgainDays: 90,
    },
  ],
  rank: 98,
  feeds: ['labels', 'names'],
  read: async () => (await import('./read.ts')).euReader,
});
