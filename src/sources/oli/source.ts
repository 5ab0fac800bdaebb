/** Labels of contracts that attesters publish. */
import { source } from '../source.ts';

export const oli = source({
  id: 'oli',
  name: 'Open Labels Initiative',
  publisher: 'Open Labels Initiative',
  homepage: 'https://www.openlabelsinitiative.org/',
  licence: 'MIT',
  grouping: 'together',
  byDefault: false,
  feeds: ['labels'],
  read: async () => (await import('./read.ts')).oliReader,
});
