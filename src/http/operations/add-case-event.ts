/** `POST /cases/{id}/events`. */
import { accountOf, operation, principalOf } from '../operation.ts';
import { CaseEventBody, OneCaseEvent } from '../schemas/cases.ts';
import { CASES, casePath, clientOf, loggedAnswer, NO_CASE } from './support/cases.ts';
import { repeatHeader, repeatKeyOf } from './support/repeats.ts';

export const addCaseEvent = operation({
  ...CASES,
  id: 'addCaseEvent',
  sdk: 'cases.addEvent',
  method: 'POST',
  path: '/cases/{id}/events',
  pathParameters: casePath,
  header: repeatHeader,
  body: CaseEventBody,
  response: OneCaseEvent,
  responseHeaders: ['Idempotency-Replayed'],
  statuses: NO_CASE,
  summary: 'Add an event to a case',
  description:
    'A note, a status, an assignee, a link or a step of a decision. Events are never changed or removed. With the four-eyes rule, the person who proposes a decision cannot approve it (403).',
  async run({ services, call, path, body, header }) {
    const repeatKey = repeatKeyOf(call, accountOf(principalOf(call)), header['Idempotency-Key'], body);
    const client = clientOf(services, call);
    const written = await services.useCases.cases().addEvent(client, path.id, body, repeatKey);
    return loggedAnswer(services, call, 'case.event', written);
  },
});
