/** The Hong Kong list of licensed virtual asset trading platforms, a web page. */
import { registerSource } from '../source.ts';

const PAGE =
  'https://www.sfc.hk/en/Welcome-to-the-Fintech-Contact-Point/Virtual-assets/Virtual-asset-trading-platforms-operators/Lists-of-virtual-asset-trading-platforms';

export const sfc = registerSource({
  id: 'sfc',
  name: 'SFC licensed virtual asset trading platforms',
  publisher: 'Securities and Futures Commission',
  homepage: PAGE,
  licence: 'terms of the authority',
  files: [{ name: 'sfc-vatp.html', url: PAGE, webPage: true }],
  read: async () => (await import('./read.ts')).sfcReader,
});
