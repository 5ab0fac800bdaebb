/** Location of the Swiss list. */
import type { PublisherSource } from '../publisher.ts';

export const chSource: PublisherSource = {
  id: 'ch',
  files: [
    {
      name: 'consolidated-list.xml',
      url: 'https://www.sesam.search.admin.ch/sesam-search-web/pages/downloadXmlGesamtliste.xhtml?lang=en&action=downloadXmlGesamtlisteAction',
    },
  ],
  authority: 'Swiss State Secretariat for Economic Affairs',
  homepage: 'https://www.seco.admin.ch/en/searching-subjects-sanctions',
  licence: 'free re-use (Swiss federal publication)',
};
