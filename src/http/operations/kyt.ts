/** `POST /kyt`. */
import { operation } from '../operation.ts';
import { KytBody, KytResult } from '../schemas/kyt.ts';

export const kyt = operation({
  id: 'kyt',
  tag: 'Screening',
  method: 'POST',
  path: '/kyt',
  permission: ['kyt', 'screening'],
  rateClass: 'kyt',
  credits: 1,
  body: KytBody,
  response: KytResult,
  summary: 'Check a transfer',
  description:
    'BLOCK, REVIEW or ALLOW for a sender and a receiver, or for one address, with the flags that say why. Names that end in .eth are resolved.',
  subjects: ({ address = '', from = '', to = '', chain }) => [address, from, to, chain.toUpperCase()],
  run: ({ services, body }) => services.useCases.kyt(body),
});
