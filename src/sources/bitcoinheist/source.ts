/** Ransom addresses of three studies, as the UCI repository publishes them. */
import { source } from '../source.ts';

export const bitcoinHeist = source({
  id: 'bitcoinheist',
  name: 'BitcoinHeist, ransom rows',
  publisher: 'UCI Machine Learning Repository (526)',
  homepage: 'https://archive.ics.uci.edu/dataset/526/bitcoinheistransomwareaddressdataset',
  licence: 'CC BY 4.0',
  files: [
    {
      name: 'bitcoinheist.zip',
      url: 'https://archive.ics.uci.edu/static/public/526/bitcoinheistransomwareaddressdataset.zip',
    },
  ],
  byDefault: false,
  feeds: ['labels'],
  read: async () => (await import('./read.ts')).bitcoinHeistReader,
});
