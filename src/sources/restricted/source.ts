/** Lists under the GPL: an operator may use them, and must accept the licence; they are never shipped. */
import { source } from '../source.ts';

const GPL = 'GPL-3.0: whoever passes the data on must pass it on under the same licence';

export const scamDatabase = source({
  id: 'scam-database',
  name: 'Scam database',
  publisher: 'ScamSniffer',
  homepage: 'https://github.com/scamsniffer/scam-database',
  licence: 'GPL-3.0',
  restriction: GPL,
  files: [
    {
      name: 'scamsniffer-address.json',
      url: 'https://raw.githubusercontent.com/scamsniffer/scam-database/main/blacklist/address.json',
    },
  ],
  byDefault: false,
  feeds: ['labels'],
  read: async () => (await import('./read.ts')).scamDatabaseReader,
});

export const uniswapTokens = source({
  id: 'uniswap-tokens',
  name: 'Uniswap default token list',
  publisher: 'Uniswap Labs',
  homepage: 'https://github.com/Uniswap/default-token-list',
  licence: 'GPL-3.0',
  restriction: GPL,
  files: [{ name: 'uniswap.tokenlist.json', url: 'https://tokens.uniswap.org/' }],
  byDefault: false,
  feeds: ['labels'],
  read: async () => {
    const { tokenListReader } = await import('../token-list.ts');
    return tokenListReader('UNISWAP_TOKENS', 'https://github.com/Uniswap/default-token-list');
  },
});
