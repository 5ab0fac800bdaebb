/** The consolidated list of the UN Security Council. */
import { source } from '../source.ts';

export const un = source({
  id: 'un',
  name: 'UN Security Council Consolidated List',
  publisher: 'United Nations Security Council',
  homepage: 'https://main.un.org/securitycouncil/en/content/un-sc-consolidated-list',
  licence: 'United Nations terms of use',
  files: [{ name: 'consolidated.xml', url: 'https://scsanctions.un.org/resources/xml/en/consolidated.xml' }],
  lists: [
    {
      id: 'UN',
      group: 'UN',
      authority: 'UN Security Council',
      required: true,
      partyUrl: 'https://main.un.org/securitycouncil/en/content/un-sc-consolidated-list',
      assetFreeze: 'all',
      publishedAgainDays: 180,
    },
  ],
  rank: 99,
  feeds: ['labels', 'names'],
  read: async () => (await import('./read.ts')).unReader,
});
