/** Payout addresses of Bitcoin mining pools. */
import { source } from '../source.ts';

export const pools = source({
  id: 'pools',
  name: 'Mining pools',
  publisher: 'mempool.space',
  homepage: 'https://github.com/mempool/mining-pools',
  licence: 'MIT',
  files: [
    {
      name: 'pools-v2.json',
      url: 'https://raw.githubusercontent.com/mempool/mining-pools/master/pools-v2.json',
    },
  ],
  feeds: ['labels'],
  read: async () => (await import('./read.ts')).poolsReader,
});
