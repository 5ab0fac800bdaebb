/** OpenSanctions: politically exposed persons and adverse media. */
import { nameSource } from '../source.ts';

export const openSanctions = nameSource({
  id: 'opensanctions',
  name: 'OpenSanctions data sets',
  publisher: 'OpenSanctions',
  homepage: 'https://www.opensanctions.org/datasets/',
  licence: 'CC BY-NC 4.0',
  read: async ({ dataset }) => (await import('./read.ts')).openSanctionsReader({ dataset }),
});
