/** Reserve wallets of exchanges, as DefiLlama lists them. */
import { source } from '../source.ts';

export const exchanges = source({
  id: 'exchanges',
  name: 'Exchange reserve wallets',
  publisher: 'DefiLlama',
  homepage: 'https://defillama.com/cexs',
  feeds: ['labels'],
  read: async () => (await import('./read.ts')).exchangesReader,
});
