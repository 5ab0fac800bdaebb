/** The operator's own labels. */
import { source } from '../source.ts';

export const own = source({
  id: 'own',
  name: 'Own labels',
  publisher: 'this installation',
  feeds: ['labels'],
  read: async ({ mapping }) => (await import('./read.ts')).ownReader(mapping ? { mapping } : {}),
});
