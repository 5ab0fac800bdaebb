/** Labelled addresses of TON. */
import { source } from '../source.ts';

export const tonLabels = source({
  id: 'ton-labels',
  name: 'TON address labels',
  publisher: 'TON Studio',
  homepage: 'https://github.com/ton-studio/ton-labels',
  licence: 'MIT',
  files: [{ name: 'ton-labels.tar.gz', url: 'https://github.com/ton-studio/ton-labels/archive/HEAD.tar.gz' }],
  byDefault: false,
  feeds: ['labels'],
  read: async () => (await import('./read.ts')).tonLabelsReader,
});
