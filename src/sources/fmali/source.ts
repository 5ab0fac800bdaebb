/** The register of the FMA Liechtenstein: service providers under the Token and TT Service Provider Act (TVTG). */
import { fieldCount, isObject } from '../json.ts';
import { registerSource } from '../source.ts';

/** The TVTG in the register. */
const LAW = 16;
const API = `https://ws-api.llv.li/fire-wsapi/api/v1/search?query=&registerNumber=&category=&searchType=active&law=${LAW}&sortColumn=name&ascending=true`;

export const fmali = registerSource({
  id: 'fmali',
  name: 'FMA Liechtenstein: TT service providers',
  publisher: 'Financial Market Authority Liechtenstein',
  homepage: 'https://register.fma-li.li/search',
  licence: 'terms of the authority',
  files: [
    {
      name: 'fma-li-tvtg.json',
      url: `${API}&page=0`,
      collect: async function* (fetchPart) {
        for (let page = 0; ; page++) {
          const body: unknown = JSON.parse((await fetchPart(`${API}&page=${page}`)).toString('utf8'));
          if (!isObject(body) || !Array.isArray(body.data))
            throw new Error('the response of the API has no data.');
          yield `${JSON.stringify(body)}\n`;
          if (body.data.length === 0 || page >= (fieldCount(body, 'maxPage') ?? 0)) return;
        }
      },
    },
  ],
  read: async () => (await import('./read.ts')).fmaliReader,
});
