/** The operator's own lists of people and organisations. */
import { nameSource } from '../source.ts';

export const people = nameSource({
  id: 'people',
  name: 'Own lists of names',
  publisher: 'this installation',
  read: async () => (await import('./read.ts')).peopleReader,
});
