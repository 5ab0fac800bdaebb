/** `GET /cases/{id}`. */
import { caseAnswer } from '../../cases/answers.ts';
import { accountOf, operation, principalOf } from '../operation.ts';
import { OneCase } from '../schemas/cases.ts';
import { CASES, casePath, NO_CASE } from './support/cases.ts';

export const oneCase = operation({
  ...CASES,
  id: 'oneCase',
  sdk: 'cases.get',
  method: 'GET',
  path: '/cases/{id}',
  pathParameters: casePath,
  response: OneCase,
  statuses: NO_CASE,
  summary: 'Get a case',
  description: 'With all of its links.',
  run: async ({ services, call, path }) => ({
    case: caseAnswer(services.useCases.cases().one(accountOf(principalOf(call)), path.id)),
  }),
});
