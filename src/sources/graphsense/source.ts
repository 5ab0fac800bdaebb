/** GraphSense TagPacks: attributions collected from public pages. */
import { source } from '../source.ts';

export const graphsense = source({
  id: 'graphsense',
  name: 'GraphSense public TagPacks',
  publisher: 'GraphSense',
  homepage: 'https://github.com/graphsense/graphsense-tagpacks',
  licence: 'MIT',
  files: [
    // HEAD is the default branch, whatever its name; GitHub redirects to codeload.github.com.
    {
      name: 'graphsense-tagpacks.tar.gz',
      url: 'https://github.com/graphsense/graphsense-tagpacks/archive/HEAD.tar.gz',
    },
  ],
  grouping: 'together',
  feeds: ['labels'],
  read: async () => (await import('./read.ts')).graphsenseReader,
});
