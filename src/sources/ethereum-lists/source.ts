/** Tokens and contracts of the EVM chains, maintained as one file each. */
import { source } from '../source.ts';

export const ethereumTokens = source({
  id: 'ethereum-tokens',
  name: 'Token contracts',
  publisher: 'ethereum-lists',
  homepage: 'https://github.com/ethereum-lists/tokens',
  licence: 'MIT',
  files: [
    {
      name: 'ethereum-lists-tokens.tar.gz',
      url: 'https://github.com/ethereum-lists/tokens/archive/HEAD.tar.gz',
    },
  ],
  byDefault: false,
  feeds: ['labels'],
  read: async () => (await import('./read.ts')).ethereumTokensReader,
});

export const ethereumContracts = source({
  id: 'ethereum-contracts',
  name: 'Contracts by project',
  publisher: 'ethereum-lists',
  homepage: 'https://github.com/ethereum-lists/contracts',
  licence: 'MIT',
  files: [
    {
      name: 'ethereum-lists-contracts.tar.gz',
      url: 'https://github.com/ethereum-lists/contracts/archive/HEAD.tar.gz',
    },
  ],
  byDefault: false,
  feeds: ['labels'],
  read: async () => (await import('./read.ts')).ethereumContractsReader,
});
