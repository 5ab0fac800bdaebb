/** Tokens that Trust Wallet lists, one list for each chain. */
import { source } from '../source.ts';

const FOLDER = 'https://raw.githubusercontent.com/trustwallet/assets/master/blockchains';

/** Folders of the repository with a token list of a supported chain. */
const CHAINS = [
  'ethereum',
  'smartchain',
  'polygon',
  'arbitrum',
  'optimism',
  'base',
  'avalanchec',
  'fantom',
  'celo',
  'cronos',
  'tron',
  'solana',
  'ton',
] as const;

export const trustWallet = source({
  id: 'trustwallet',
  name: 'Trust Wallet assets',
  publisher: 'Trust Wallet',
  homepage: 'https://github.com/trustwallet/assets',
  licence: 'MIT',
  files: CHAINS.map((chain) => ({
    name: `trustwallet-${chain}-tokenlist.json`,
    url: `${FOLDER}/${chain}/tokenlist.json`,
    optional: true,
  })),
  grouping: 'together',
  byDefault: false,
  feeds: ['labels'],
  read: async () => {
    const { tokenListReader } = await import('../token-list.ts');
    return tokenListReader('TRUSTWALLET', 'https://github.com/trustwallet/assets');
  },
});
