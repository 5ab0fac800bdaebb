/** Facts that ship with Assay. They can name an entry of any sanctions list. */
import { source } from '../source.ts';

export const seed = source({
  id: 'seed',
  name: 'Shipped facts',
  publisher: 'Assay',
  grouping: 'together',
  feeds: ['labels'],
  read: async ({ lists }) => (await import('./read.ts')).seedReader(lists),
});
