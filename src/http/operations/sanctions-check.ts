/** `GET /sanctions/check`. */
import { operation } from '../operation.ts';
import { addressText, chainText, SanctionsCheck } from '../schemas/common.ts';

export const sanctionsCheck = operation({
  id: 'sanctionsCheck',
  tag: 'Labels',
  method: 'GET',
  path: '/sanctions/check',
  permission: 'intel',
  rateClass: 'sanctions',
  quota: { meter: 'intel', per: 'request' },
  query: { address: addressText('The address.'), chain: chainText('Chain of the address.') },
  response: SanctionsCheck,
  summary: 'Sanctions check',
  description: 'The lists of the US, the EU, the UN, the UK and Switzerland, each with its freshness.',
  write: ({ services, query }, out, offset) =>
    services.useCases.sanctionsCheck(query.chain, query.address, out, offset),
});
