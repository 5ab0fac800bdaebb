/** Location of the TagPacks. */
import type { PublisherSource } from '../publisher.ts';

export const graphsenseSource: PublisherSource = {
  id: 'graphsense',
  // HEAD is the default branch, whatever its name; GitHub redirects to codeload.github.com.
  files: [
    {
      name: 'graphsense-tagpacks.tar.gz',
      url: 'https://github.com/graphsense/graphsense-tagpacks/archive/HEAD.tar.gz',
    },
  ],
  authority: 'GraphSense',
  homepage: 'https://github.com/graphsense/graphsense-tagpacks',
  licence: 'MIT',
};
