/** `GET /entity/{address}`. */
import { operation } from '../operation.ts';
import { EntityLabelSet } from '../schemas/facts.ts';
import { addressText, chainText } from '../schemas/fields.ts';

export const entity = operation({
  id: 'entity',
  sdk: 'entity.get',
  tag: 'Labels',
  method: 'GET',
  path: '/entity/{address}',
  permission: 'entity',
  rateClass: 'entity',
  pathParameters: { address: addressText('The address.') },
  query: { chain: chainText('Chain of the address. Default ETH.', { default: 'ETH' }) },
  response: EntityLabelSet,
  summary: 'Labels of an address',
  description: 'Entity, category, threat level and sanctions status of an address.',
  write: ({ services, path, query }, out, offset) =>
    services.useCases.labelSet(query.chain, path.address, out, offset),
});
