/** OFAC: the SDN list and the consolidated (non-SDN) list. */
import { source } from '../source.ts';

const EXPORTS = 'https://sanctionslistservice.ofac.treas.gov/api/PublicationPreview/exports';
const PARTY_URL = 'https://sanctionssearch.ofac.treas.gov/Details.aspx?id={id}';

export const ofac = source({
  id: 'ofac',
  name: 'OFAC sanctions lists',
  publisher: 'Office of Foreign Assets Control, US Treasury',
  homepage: 'https://sanctionslist.ofac.treas.gov/',
  licence: 'public domain (work of the US government)',
  files: [
    { name: 'SDN_ADVANCED.ZIP', url: `${EXPORTS}/SDN_ADVANCED.ZIP` },
    { name: 'CONS_ADVANCED.ZIP', url: `${EXPORTS}/CONS_ADVANCED.ZIP` },
  ],
  lists: [
    {
      id: 'OFAC_SDN',
      group: 'US',
      authority: 'OFAC',
      required: true,
      partyUrl: PARTY_URL,
      assetFreeze: 'all',
      publishedAgainDays: 90,
    },
    {
      id: 'OFAC_CONS',
      group: 'US',
      authority: 'OFAC',
      required: true,
      partyUrl: PARTY_URL,
      // The list restricts securities, correspondent accounts and the like.
      assetFreeze: 'none',
      publishedAgainDays: 730,
    },
  ],
  rank: 100,
  grouping: async (files) => (await import('./group.ts')).groupFiles(files),
  feeds: ['labels', 'names'],
  read: async () => (await import('./read.ts')).ofacReader,
});
