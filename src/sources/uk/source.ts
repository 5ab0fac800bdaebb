/** The UK Sanctions List, which states the measures entry by entry. */
import { source } from '../source.ts';

export const uk = source({
  id: 'uk',
  name: 'UK Sanctions List',
  publisher: 'Foreign, Commonwealth & Development Office',
  homepage: 'https://www.gov.uk/government/publications/the-uk-sanctions-list',
  licence: 'Open Government Licence v3.0',
  files: [
    { name: 'UK-Sanctions-List.xml', url: 'https://sanctionslist.fcdo.gov.uk/docs/UK-Sanctions-List.xml' },
  ],
  lists: [
    {
      id: 'UK',
      group: 'UK',
      authority: 'FCDO / OFSI',
      required: true,
      partyUrl: 'https://search-uk-sanctions-list.service.gov.uk/',
      assetFreeze: 'stated',
      publishedAgainDays: 90,
    },
  ],
  rank: 97,
  feeds: ['labels', 'names'],
  read: async () => (await import('./read.ts')).ukReader,
});
