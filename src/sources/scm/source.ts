/** The Malaysian list of digital asset exchanges, a web page. */
import { registerSource } from '../source.ts';

const PAGE =
  'https://www.sc.com.my/regulation/guidelines/recognizedmarkets/list-of-registered-digital-asset-exchanges';

export const scm = registerSource({
  id: 'scm',
  name: 'SC Malaysia registered digital asset exchanges',
  publisher: 'Securities Commission Malaysia',
  homepage: PAGE,
  licence: 'terms of the authority',
  files: [{ name: 'scm-dax.html', url: PAGE, webPage: true }],
  read: async () => (await import('./read.ts')).scmReader,
});
