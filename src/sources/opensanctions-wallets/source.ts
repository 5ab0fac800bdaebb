/** Crypto wallets of OpenSanctions. */
import { source } from '../source.ts';

const FOLDER = 'https://data.opensanctions.org/datasets/latest';

export const openSanctionsWallets = source({
  id: 'opensanctions-wallets',
  name: 'OpenSanctions crypto wallets',
  publisher: 'OpenSanctions',
  homepage: 'https://www.opensanctions.org/reference/#schema.CryptoWallet',
  licence: 'CC BY-NC 4.0',
  restriction: 'not for commercial use without a licence of OpenSanctions',
  files: ['il_mod_crypto', 'us_fbi_lazarus_crypto', 'us_ofac_sdn'].map((dataset) => ({
    name: `opensanctions-${dataset}.ftm.json`,
    url: `${FOLDER}/${dataset}/entities.ftm.json`,
  })),
  grouping: 'together',
  byDefault: false,
  feeds: ['labels'],
  read: async () => (await import('./read.ts')).openSanctionsWalletsReader,
});
