/** Money services businesses. FinCEN's search returns the whole list as the answer to a form. */
import { registerSource } from '../source.ts';

export const fincen = registerSource({
  id: 'fincen',
  name: 'FinCEN MSB registrants',
  publisher: 'Financial Crimes Enforcement Network',
  homepage: 'https://www.fincen.gov/msb-registrant-search',
  licence: 'public domain (work of the US government)',
  files: [
    {
      name: 'fincen-msb.txt',
      url: 'https://msb.fincen.gov/retrieve.msb.list.php',
      collect: async function* (fetchPart) {
        // The form gives the cookie without which the list is empty.
        await fetchPart('https://msb.fincen.gov/msbstateselector.php');
        yield await fetchPart('https://msb.fincen.gov/retrieve.msb.list.php', { form: { site: 'AA' } });
      },
    },
  ],
  read: async () => (await import('./read.ts')).fincenReader,
});
