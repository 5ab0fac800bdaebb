/** Red notices of Interpol. */
import { nameSource } from '../source.ts';

export const interpolRed = nameSource({
  id: 'interpol-red',
  name: 'Interpol red notices',
  publisher: 'Interpol',
  homepage: 'https://www.interpol.int/en/How-we-work/Notices/Red-Notices/View-Red-Notices',
  licence: 'terms of Interpol',
  read: async () => (await import('./read.ts')).interpolReader,
});
