/** `POST /screen`. */
import { Type } from 'typebox';
import { operation } from '../operation.ts';
import { AddressText, ChainText, EntityLabelSet } from '../schemas/common.ts';

export const screen = operation({
  id: 'screen',
  tag: 'Labels',
  method: 'POST',
  path: '/screen',
  permission: 'intel',
  rateClass: 'intel',
  quota: { meter: 'intel', per: 'request' },
  body: Type.Object({ address: AddressText, chain: ChainText }, { title: 'ScreenBody' }),
  response: EntityLabelSet,
  summary: 'Raw labels of one address',
  description: 'Labels only, without a derived score.',
  write: ({ services, body }, out, offset) =>
    services.useCases.labelSet(body.chain, body.address, out, offset),
});
