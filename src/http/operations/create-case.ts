/** `POST /cases`. */
import { accountOf, operation, principalOf } from '../operation.ts';
import { CaseBody, OneCase } from '../schemas/cases.ts';
import { ErrorBody } from '../schemas/envelopes.ts';
import { CASES, clientOf, loggedAnswer } from './support/cases.ts';
import { repeatHeader, repeatKeyOf } from './support/repeats.ts';

export const createCase = operation({
  ...CASES,
  id: 'createCase',
  sdk: 'cases.create',
  method: 'POST',
  path: '/cases',
  header: repeatHeader,
  body: CaseBody,
  response: OneCase,
  responseHeaders: ['Idempotency-Replayed'],
  statuses: {
    404: { description: 'A linked alert, wallet or saved screening does not exist.', schema: ErrorBody },
  },
  summary: 'Open a case',
  description: 'With its first note and links, if they are given.',
  async run({ services, call, body, header }) {
    const repeatKey = repeatKeyOf(call, accountOf(principalOf(call)), header['Idempotency-Key'], body);
    const written = await services.useCases.cases().create(clientOf(services, call), body, repeatKey);
    return loggedAnswer(services, call, 'case.create', written);
  },
});
