/** The Australian register of virtual asset service providers. */
import { fieldCount, isObject, objectsIn } from '../json.ts';
import { registerSource } from '../source.ts';

const pageUrl = (page: number): string =>
  `https://online.apps.austrac.gov.au/vaspr/remitters/?searchTerm=&page=${page}&orderBy=legalName&pageSize=100&direction=1&vasprSearch=true`;

export const austrac = registerSource({
  id: 'austrac',
  name: 'AUSTRAC virtual asset service provider register',
  publisher: 'Australian Transaction Reports and Analysis Centre',
  homepage: 'https://online.apps.austrac.gov.au/vaspr',
  licence: 'terms of the authority',
  files: [
    {
      name: 'austrac-vaspr.json',
      url: pageUrl(0),
      collect: async function* (fetchPart) {
        for (let page = 0, rows = 0; ; page++) {
          const body: unknown = JSON.parse((await fetchPart(pageUrl(page))).toString('utf8'));
          if (!isObject(body) || !isObject(body.content) || !Array.isArray(body.content.data))
            throw new Error('the response of the API has no content.data.');
          yield `${JSON.stringify(body)}\n`;
          const count = objectsIn(body.content.data).length;
          rows += count;
          if (count === 0 || rows >= (fieldCount(body.content, 'totalCount') ?? 0)) return;
        }
      },
    },
  ],
  read: async () => (await import('./read.ts')).austracReader,
});
