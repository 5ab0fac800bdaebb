/** The public register of Dubai's Virtual Assets Regulatory Authority, a web page. */
import { registerSource } from '../source.ts';

const PAGE = 'https://www.vara.ae/en/licenses-and-register/public-register/';

export const vara = registerSource({
  id: 'vara',
  name: 'VARA public register',
  publisher: 'Virtual Assets Regulatory Authority, Dubai',
  homepage: PAGE,
  licence: 'terms of the authority',
  files: [{ name: 'vara-register.html', url: PAGE, webPage: true }],
  read: async () => (await import('./read.ts')).varaReader,
});
