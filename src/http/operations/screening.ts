/** `POST /screening`. */
import { operation } from '../operation.ts';
import { ScreeningBody, ScreeningResult } from '../schemas/screening.ts';

export const screening = operation({
  id: 'screening',
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
    'Score with breakdown, sanctions, labels, counterparties, exposure and legal interpretation; all of it, or the named `sections`.',
  subjects: ({ address, chain }) => [address, chain.toUpperCase()],
  run: ({ services, body }) => services.useCases.screening(body),
});
