/** The Singapore directory of financial institutions: payment institutions for digital payment token services. */
import { parseHtml } from '../html.ts';
import { registerSource } from '../source.ts';

const SITE = 'https://eservices.mas.gov.sg/fid';
const CATEGORIES = ['Major Payment Institution', 'Standard Payment Institution'] as const;

const query = (category: string): string =>
  `sector=Payments&category=${encodeURIComponent(category)}&activity=Digital%20Payment%20Token%20Service`;

export const mas = registerSource({
  id: 'mas',
  name: 'MAS digital payment token service providers',
  publisher: 'Monetary Authority of Singapore',
  homepage: `${SITE}/institution`,
  licence: 'terms of the authority',
  files: [
    {
      name: 'mas-dpt.html',
      url: `${SITE}/institution?${query(CATEGORIES[0])}`,
      webPage: true,
      collect: async function* (fetchPart) {
        for (const category of CATEGORIES) {
          const first = (await fetchPart(`${SITE}/institution?${query(category)}`)).toString('utf8');
          const pages = Number(parseHtml(first).data.get('data-total') ?? 1);
          yield `<section data-category="${category}">\n`;
          for (let page = 1; page <= pages; page++)
            yield await fetchPart(
              `${SITE}/custom/resultpartial?${query(category)}&term=&subactivity=&page=${page}`,
            );
          yield '\n</section>\n';
        }
        // Only a file that was collected to its end has this mark, so only it counts as the whole list.
        yield '<hr data-collected="all">\n';
      },
    },
  ],
  read: async () => (await import('./read.ts')).masReader,
});
