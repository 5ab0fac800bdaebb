/** The Swiss list. */
import { source } from '../source.ts';

export const seco = source({
  id: 'ch',
  name: 'SECO sanctions list',
  publisher: 'State Secretariat for Economic Affairs, Switzerland',
  homepage:
    'https://www.seco.admin.ch/seco/en/home/Aussenwirtschaftspolitik_Wirtschaftliche_Zusammenarbeit/Wirtschaftsbeziehungen/exportkontrollen-und-sanktionen/sanktionen-embargos.html',
  licence: 'free re-use (Swiss federal publication)',
  files: [
    {
      name: 'consolidated-list.xml',
      url: 'https://www.sesam.search.admin.ch/sesam-search-web/pages/downloadXmlGesamtliste.xhtml?lang=en&action=downloadXmlGesamtlisteAction',
    },
  ],
  lists: [
    {
      id: 'CH',
      group: 'CH',
      authority: 'SECO',
      required: true,
      partyUrl: 'https://www.sesam.search.admin.ch/sesam-search-web/pages/search.xhtml',
      assetFreeze: 'all',
      publishedAgainDays: 120,
    },
  ],
  rank: 96,
  feeds: ['labels', 'names'],
  read: async () => (await import('./read.ts')).secoReader,
});
