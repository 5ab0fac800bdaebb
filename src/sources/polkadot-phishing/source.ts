/** Addresses of Polkadot that were used in scams. */
import { source } from '../source.ts';

export const polkadotPhishing = source({
  id: 'polkadot-phishing',
  name: 'Addresses of scams on Polkadot',
  publisher: 'polkadot-js',
  homepage: 'https://github.com/polkadot-js/phishing',
  licence: 'Apache-2.0',
  files: [
    {
      name: 'address.json',
      url: 'https://raw.githubusercontent.com/polkadot-js/phishing/master/address.json',
    },
  ],
  byDefault: false,
  feeds: ['labels'],
  read: async () => (await import('./read.ts')).polkadotPhishingReader,
});
