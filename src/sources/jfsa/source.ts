/** The Japanese list of crypto-asset exchange service providers. */
import { registerSource } from '../source.ts';

export const jfsa = registerSource({
  id: 'jfsa',
  name: 'JFSA crypto-asset exchange service providers',
  publisher: 'Financial Services Agency of Japan',
  homepage: 'https://www.fsa.go.jp/en/regulated/licensed/index.html',
  licence: 'terms of the authority',
  files: [
    {
      name: 'en_kasoutuka.xlsx',
      url: 'https://www.fsa.go.jp/en/regulated/licensed/en_kasoutuka.xlsx',
    },
  ],
  read: async () => (await import('./read.ts')).jfsaReader,
});
