/** Location of the UN list. */
import type { PublisherSource } from '../publisher.ts';

export const unSource: PublisherSource = {
  id: 'un',
  files: [{ name: 'consolidated.xml', url: 'https://scsanctions.un.org/resources/xml/en/consolidated.xml' }],
  authority: 'United Nations Security Council',
  homepage: 'https://main.un.org/securitycouncil/en/content/un-sc-consolidated-list',
  licence: 'United Nations terms of use',
};
