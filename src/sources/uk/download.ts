/** Location of the UK list. */
import type { PublisherSource } from '../publisher.ts';

export const ukSource: PublisherSource = {
  id: 'uk',
  files: [
    {
      name: 'UK-Sanctions-List.xml',
      url: 'https://sanctionslist.fcdo.gov.uk/docs/UK-Sanctions-List.xml',
    },
  ],
  authority: 'UK Foreign, Commonwealth and Development Office',
  homepage: 'https://www.gov.uk/government/publications/the-uk-sanctions-list',
  licence: 'Open Government Licence v3.0',
};
