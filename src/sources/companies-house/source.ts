/** Directors and companies that are disqualified from the management of companies in the United Kingdom. */
import { nameSource } from '../source.ts';

export const companiesHouse = nameSource({
  id: 'uk-disqualified',
  name: 'Companies House: disqualified officers',
  publisher: 'Companies House, United Kingdom',
  homepage: 'https://find-and-update.company-information.service.gov.uk/register-of-disqualifications/A',
  licence: 'free use, without a licence (public register; the API requires a free key)',
  account: 'a free key of the Companies House API',
  read: async () => (await import('./read.ts')).companiesHouseReader,
});
