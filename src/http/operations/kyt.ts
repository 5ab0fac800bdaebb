/** `POST /kyt`. */
import { operation } from '../operation.ts';
import { KytBody, KytResult } from '../schemas/kyt.ts';
import { attestedTask, wantedReceipt } from './support/receipts.ts';
import { requestOf, storeAs } from './support/saved-screenings.ts';

export const kyt = operation({
  id: 'kyt',
  sdk: 'kyt.check',
  tag: 'Screening',
  method: 'POST',
  path: '/kyt',
  permission: ['kyt', 'screening'],
  rateClass: 'kyt',
  credits: 1,
  body: KytBody,
  response: KytResult,
  examples: [
    {
      summary: 'A sender and a receiver',
      body: {
        chain: 'ETH',
        from: '0x098b716b8aaf21512996dc57eb0615e2383e2f96',
        to: '0x28c6c06298d514db089934071355e5743bf21d60',
      },
    },
    { summary: 'One address', body: { chain: 'ETH', address: 'vitalik.eth', direction: 'in' } },
  ],
  summary: 'Check a transfer',
  description:
    'BLOCK, REVIEW or ALLOW for a sender and a receiver, or for one address, with the flags that say why. Names that end in .eth are resolved. With `save`, the answer is kept and can be read again, compared and linked to cases. With `receipt`, it is signed.',
  subjects: ({ address = '', from = '', to = '', chain }) => [address, from, to, chain.toUpperCase()],
  run({ services, call, body }) {
    const { kyt: run } = services.useCases;
    const request = requestOf(body);
    const wanted = wantedReceipt(call, body);
    if (wanted === null) return run(request);
    return attestedTask({ services, call }, 'KYT', request, wanted, run);
  },
  store: storeAs('KYT'),
});
