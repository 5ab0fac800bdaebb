/** The virtual currency businesses that New York regulates, a web page. */
import { registerSource } from '../source.ts';

const PAGE = 'https://www.dfs.ny.gov/virtual_currency_businesses';

export const nydfs = registerSource({
  id: 'nydfs',
  name: 'NYDFS virtual currency businesses',
  publisher: 'New York State Department of Financial Services',
  homepage: PAGE,
  licence: 'terms of the authority',
  // The site rejects other user agents.
  files: [{ name: 'nydfs-virtual-currency.html', url: PAGE, webPage: true, userAgent: 'Mozilla/5.0' }],
  read: async () => (await import('./read.ts')).nydfsReader,
});
