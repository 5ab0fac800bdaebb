/** Contracts of layer-2 networks and bridges. */
import { source } from '../source.ts';

export const l2beat = source({
  id: 'l2beat',
  name: 'Contracts of layer-2 networks and bridges',
  publisher: 'L2BEAT',
  homepage: 'https://github.com/l2beat/l2beat',
  licence: 'MIT',
  files: [{ name: 'l2beat.tar.gz', url: 'https://github.com/l2beat/l2beat/archive/HEAD.tar.gz' }],
  byDefault: false,
  feeds: ['labels'],
  read: async () => (await import('./read.ts')).l2beatReader,
});
