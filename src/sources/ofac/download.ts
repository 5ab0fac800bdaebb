/** Location of the OFAC lists. */
import type { PublisherSource } from '../publisher.ts';

const EXPORTS = 'https://sanctionslistservice.ofac.treas.gov/api/PublicationPreview/exports';

export const ofacSource: PublisherSource = {
  id: 'ofac',
  files: [
    { name: 'SDN_ADVANCED.ZIP', url: `${EXPORTS}/SDN_ADVANCED.ZIP` },
    { name: 'CONS_ADVANCED.ZIP', url: `${EXPORTS}/CONS_ADVANCED.ZIP` },
  ],
  authority: 'US Department of the Treasury, Office of Foreign Assets Control',
  homepage: 'https://ofac.treasury.gov/sanctions-list-service',
  licence: 'public domain (work of the US government)',
};
