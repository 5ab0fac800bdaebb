/** Location of the list of mining pools. */
import type { PublisherSource } from '../publisher.ts';

export const poolsSource: PublisherSource = {
  id: 'pools',
  files: [
    {
      name: 'pools-v2.json',
      url: 'https://raw.githubusercontent.com/mempool/mining-pools/master/pools-v2.json',
    },
  ],
  authority: 'mempool.space',
  homepage: 'https://github.com/mempool/mining-pools',
  licence: 'MIT',
};
