/** `POST /screening`. */
import { operation } from '../operation.ts';
import { ScreeningBody, ScreeningResult } from '../schemas/screening.ts';
import { attestedTask, wantedReceipt } from './support/receipts.ts';
import { requestOf, storeAs } from './support/saved-screenings.ts';

export const screening = operation({
  id: 'screening',
  sdk: 'screening.create',
  tag: 'Screening',
  method: 'POST',
  path: '/screening',
  permission: 'screening',
  rateClass: 'screening',
  credits: 1,
  chargeType: 'SCREENING',
  body: ScreeningBody,
  response: ScreeningResult,
  summary: 'Screen an address',
  description:
    'Score with breakdown, sanctions, labels, counterparties, exposure and legal interpretation; all of it, or the named `sections`. With `save`, the answer is kept and can be read again, compared and linked to cases. With `receipt`, it is signed.',
  subjects: ({ address, chain }) => [address, chain.toUpperCase()],
  run({ services, call, body }) {
    const { screening: run } = services.useCases;
    const request = requestOf(body);
    const wanted = wantedReceipt(call, body);
    if (wanted === null) return run(request);
    return attestedTask({ services, call }, 'SCREENING', request, wanted, run);
  },
  store: storeAs('SCREENING'),
});
