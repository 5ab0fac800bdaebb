/** `GET /address/{chain}/{address}/attribution`. */
import { operation } from '../operation.ts';
import { Attribution } from '../schemas/attribution.ts';
import { addressText, chainText } from '../schemas/fields.ts';

export const attribution = operation({
  id: 'attribution',
  sdk: 'labels.attribution',
  tag: 'Labels',
  method: 'GET',
  path: '/address/{chain}/{address}/attribution',
  permission: 'intel',
  rateClass: 'intel',
  quota: { meter: 'intel', per: 'request' },
  pathParameters: { chain: chainText('Chain of the address.'), address: addressText('The address.') },
  response: Attribution,
  summary: 'Evidence of derived labels',
  description:
    'What the rules found about an address (deposit addresses of exchanges, contracts of factories, freezes by issuers): rule, version, measured error rate, and the transactions and blocks behind it. Derived labels name an address; they never make it a service, end a walk or lower a score.',
  run: ({ services, path }) => services.useCases.attribution(path.chain, path.address),
});
