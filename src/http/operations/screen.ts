/** `POST /screen`. */
import { Type } from 'typebox';
import { operation } from '../operation.ts';
import { EntityLabelSet } from '../schemas/facts.ts';
import { AddressText, ChainText } from '../schemas/fields.ts';

export const screen = operation({
  id: 'screen',
  sdk: 'labels.screen',
  retry: 'safe',
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
