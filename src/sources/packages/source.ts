/** Contract addresses that ship with Assay, from npm packages of their projects. */
import { source } from '../source.ts';

export const packages = source({
  id: 'packages',
  name: 'Contract registries in npm packages',
  publisher: 'their projects',
  licence: 'Apache-2.0, ISC and MIT, by package (data/packages)',
  grouping: 'together',
  feeds: ['labels'],
  read: async () => (await import('./read.ts')).packagesReader,
});
