/** The Croatian register of crypto-asset service providers. */
import { registerSource } from '../source.ts';

const PAGE =
  'https://www.hanfa.hr/registri/trziste-kriptoimovine/registar-drustava-ovlastenih-pruzati-usluge-povezane-s-kriptoimovinom/';

export const hanfa = registerSource({
  id: 'hanfa',
  name: 'HANFA register of crypto-asset service providers',
  publisher: 'Hrvatska agencija za nadzor financijskih usluga',
  homepage: PAGE,
  licence: 'terms of the authority',
  files: [{ name: 'hanfa-casp.xml', url: `${PAGE}?export=xml` }],
  read: async () => (await import('./read.ts')).hanfaReader,
});
