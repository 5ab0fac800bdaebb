/** Tokens of Cardano with their minting policies. */
import { source } from '../source.ts';

export const cardanoTokens = source({
  id: 'cardano-tokens',
  name: 'Cardano token registry',
  publisher: 'Cardano Foundation',
  homepage: 'https://github.com/cardano-foundation/cardano-token-registry',
  licence: 'terms of the registry (commercial use allowed)',
  files: [
    {
      name: 'cardano-token-registry.tar.gz',
      url: 'https://github.com/cardano-foundation/cardano-token-registry/archive/HEAD.tar.gz',
    },
  ],
  byDefault: false,
  feeds: ['labels'],
  read: async () => (await import('./read.ts')).cardanoTokensReader,
});
