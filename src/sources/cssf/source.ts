/** The Luxembourg register of supervised entities: crypto-asset service providers. */
import { fieldCount, isObject, objectsIn } from '../json.ts';
import { registerSource } from '../source.ts';

const API = 'https://edesk.apps.cssf.lu/search-entities-api/api/v1/entite';

export const cssf = registerSource({
  id: 'cssf',
  name: 'CSSF supervised entities: crypto-asset service providers',
  publisher: 'Commission de Surveillance du Secteur Financier',
  homepage: 'https://edesk.apps.cssf.lu/search-entities/search',
  licence: 'terms of the authority',
  files: [
    {
      name: 'cssf-casp.json',
      url: `${API}?page=0&size=200&entType=CASP`,
      collect: async function* (fetchPart) {
        for (let page = 0, rows = 0; ; page++) {
          const body: unknown = JSON.parse(
            (await fetchPart(`${API}?page=${page}&size=200&entType=CASP`)).toString('utf8'),
          );
          if (!isObject(body) || !Array.isArray(body.content))
            throw new Error('the response of the API has no content.');
          yield `${JSON.stringify(body)}\n`;
          const count = objectsIn(body.content).length;
          rows += count;
          if (count === 0 || rows >= (fieldCount(body, 'totalElements') ?? 0)) return;
        }
      },
    },
  ],
  read: async () => (await import('./read.ts')).cssfReader,
});
